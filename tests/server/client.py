# SPDX-License-Identifier: Apache-2.0
"""A `weir serve` that runs for a test, what asks it, and TAP, which the tests of it speak."""
import http.client
import json
import os
import signal
import struct
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402,F401


ASKS_MAX = 10  # of a question that the server gives up: on a busy machine, under a sanitizer


class Serve:
    def __init__(self, weir, *args, folder=None, environment=None):
        self.process = subprocess.Popen([weir, 'serve', '--json', *args], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=folder, env=environment)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.stderr.read().decode())
        self.url = json.loads(line)['url']
        self.port = int(self.url.split(':')[2].split('/')[0])
        self.token = self.url.split('#token=')[1]

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        code = self.stop()
        said = f'weir serve ended with {code}: {self.said[-4000:]}'
        if code and failure:  # why the test failed
            print(said, file=sys.stderr)
        elif code:  # a leak or a race that a sanitizer found is told at the end
            raise RuntimeError(said)

    def stop(self, sig=signal.SIGINT):
        if self.process.stderr.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            said = self.process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[1]
        self.said = said.decode(errors='replace')
        return self.process.returncode

    def cpu_s(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def ask(self, path, method='GET', body=None, headers=None, token=True, timeout=120, **params):
        """status, headers, body of /api/v1/path"""
        if path.startswith('/'):
            url = path
        else:
            url = '/api/v1/' + path
        if params:
            params = {k.rstrip('_'): v for k, v in params.items()}
            url += '?' + urllib.parse.urlencode(params)
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout)
        h = {'Authorization': f'Bearer {self.token}'} if token else {}
        h.update(headers or {})
        try:
            try:
                c.request(method, url, body=body, headers=h)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of the body was sent
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        finally:
            c.close()

    def get(self, path, **params):
        for _ in range(ASKS_MAX):
            status, _, body = self.ask(path, **params)
            if status != 408:
                break
        if status != 200:
            raise RuntimeError(f'{path}: {status} {body[:500]!r}')
        return json.loads(body)

    def columns(self, path, **params):
        status, headers, body = self.ask(path, headers={'Accept': 'application/vnd.weir.columns'}, **params)
        if status != 200:
            raise RuntimeError(f'{path}: {status} {body[:500]!r}')
        assert headers['content-type'] == 'application/vnd.weir.columns', headers
        return decode_columns(body)


def decode_columns(data):
    """{name: list}; written after docs/openapi.yaml alone"""
    assert data[:8] == b'weircol1', data[:8]
    length, = struct.unpack_from('<I', data, 8)
    head = json.loads(data[12:12 + length])
    base = (12 + length + 7) // 8 * 8
    assert not any(data[12 + length:base])
    out = {}
    for c in head['columns']:
        at = base + c['offset']
        assert c['offset'] % 8 == 0 and at + c['length'] <= len(data)
        if c['encoding'] == 'f64':
            assert c['length'] == 8 * head['rows']
            values = struct.unpack_from(f'<{head["rows"]}d', data, at)
            out[c['name']] = [None if v != v else v for v in values]
        else:
            assert c['encoding'] == 'u32' and c['length'] == 4 * head['rows']
            codes = struct.unpack_from(f'<{head["rows"]}I', data, at)
            out[c['name']] = [None if v == 0xffffffff else c['words'][v] for v in codes]
    return out
