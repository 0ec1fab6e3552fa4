#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nonsense.py WEIR [--seed N] [--cases N] [--case I]: `weir load`, and commands that query a store, before a server that
misbehaves: it closes, cuts answers short, redirects, sends noise, or answers the right thing a little wrong. Each case lets it
answer well until a request that the seed chooses. Right answers are those of a real ClickHouse, where one is installed, and
plausible ones of OpenSearch. A finding is a crash, a hang, a report of a sanitizer, memory without bound, a message of several
lines or with a terminal's escapes, a redirect that is followed, and an exit status 0 where a load was not acknowledged."""
import argparse
import http.client
import json
import os
import random
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'robust'), os.path.join(HERE, '..', 'common')]
import click  # noqa: E402
from attack import Attack  # noqa: E402

SECONDS = 60
MEMORY_MAX = 700 << 20  # resident bytes of one command, without a sanitizer
ENDLESS = 3 << 30  # bytes after which the server gives up
SANITIZER = re.compile(r'ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer')
ESCAPES = b'\x1b]0;title\x07\x1b[2J\r\n\nsecond line\n\x00third'
COMMANDS = {
    'load': ['load', '-q', '--patience', '1s', '--to', 'STORE', 'TRACE'],
    'query': ['query', '--json', '-i', 'STORE', 'by op | count(), sum(dur), p99(dur)'],
    'query rows': ['query', '--json', '-i', 'STORE', 'select start, op, dur, path, comm | head 100'],
    'report': ['report', '-i', 'STORE'],
    'diff': ['diff', '--json', 'TRACE', 'STORE'],
    'requests': ['requests', '--json', '-i', 'STORE'],
    'flow': ['flow', '--json', '-i', 'STORE'],
}
DAMAGES = ('closed', 'cut', 'noise', 'random body', 'flipped', 'flipped', 'flipped', 'redirected', 'refused', 'empty', 'endless body',
           'endless head', 'continues', 'chunks', 'deep', 'truncated json', 'partial', 'object')
OF_OPENSEARCH = 'partial', 'object'  # a search of which a shard failed; {}


def read_request(f):
    """Method, path, headers, body; None at the end"""
    line = f.readline(1 << 20)
    if not line.strip():
        return None
    method, path, _ = line.decode('latin-1').split(' ', 2)
    headers = http.client.parse_headers(f)
    if headers.get('Transfer-Encoding') == 'chunked':
        body = b''
        while (size := int(f.readline().split(b';')[0], 16)):
            body += f.read(size)
            f.readline()
        f.readline()
    else:
        body = f.read(int(headers.get('Content-Length', 0)))
    return method, path, headers, body


def plausible(rnd, method, path, body):
    """As OpenSearch may answer"""
    if path == '/':
        return {'version': {'number': '2.11.0', 'distribution': 'opensearch'}}
    if '/_bulk' in path:
        docs = [json.loads(x) for x in body.splitlines()[::2]]
        return {'errors': False, 'items': [{next(iter(d)): {'status': 201, '_id': next(iter(d.values())).get('_id')}} for d in docs]}
    if method in ('PUT', 'DELETE') or '_refresh' in path or '_flush' in path:
        return {'acknowledged': True}
    text = body.decode(errors='replace')
    source = {'start': rnd.randrange(1 << 60), 'dur': rnd.randrange(10 ** 9), 'op': 'read', 'path': '/a', 'comm': 'c', 'table': 'op',
              '@timestamp': '2026-01-01T00:00:00.000000000Z', 'host': 'h', 'id': 1, 'thread_id': 1, 'file_id': 1, 'rows': 10}
    hit = {'_index': 'weir-op', '_id': '1', '_source': source, 'sort': [1, 2], 'fields': {k: [v] for k, v in source.items()}}
    hits = {'total': {'value': 3, 'relation': 'eq'}, 'hits': [hit] * rnd.randrange(4)}

    def aggregation(of, depth=0):
        if not isinstance(of, dict) or depth > 5:
            return {}
        inner = {k: aggregation(v, depth + 1) for k, v in (of.get('aggs') or of.get('aggregations') or {}).items()}
        bucket = {'key': rnd.choice([{'op': 'read'}, 'read', 1]), 'doc_count': 3, **inner}
        return {'buckets': [bucket] * rnd.randrange(3), 'value': 1.5, 'values': {'50.0': 1.0}, 'doc_count': 3, 'count': 3, 'min': 1.0,
                'max': 2.0, 'avg': 1.5, 'sum': 3.0, 'hits': hits, **inner}
    try:
        asked = json.loads(text) if text else {}
    except ValueError:
        asked = {}
    aggs = asked.get('aggs', asked.get('aggregations', {})) if isinstance(asked, dict) else {}
    return {'_scroll_id': 'x', 'pit_id': 'x', 'took': 1, 'timed_out': False, '_shards': {'total': 1, 'successful': 1, 'failed': 0},
            'hits': hits, 'aggregations': {k: aggregation(v) for k, v in aggs.items()}, 'indices': ['weir-op'], 'count': 3,
            'fields': {'start': {'long': {'type': 'long'}}}}


def strange(rnd, value, depth=0):
    """The JSON with some of its values replaced, left out, or of another type"""
    odd = [None, True, -1, 0, 1e308, -1e308, 2 ** 63, -2 ** 63, '', 'x' * 70000, '\x1b[2J\n', [], {}, [[]], '9' * 400, '\ud83d\ude00', [None] * 3]
    if rnd.random() < 0.12 and depth:
        return rnd.choice(odd)
    if isinstance(value, dict):
        return {k: strange(rnd, v, depth + 1) for k, v in value.items() if rnd.random() > 0.05}
    if isinstance(value, list):
        return [strange(rnd, v, depth + 1) for v in value if rnd.random() > 0.05] * rnd.choice([1, 1, 1, 2])
    return value


class Nonsense:
    """A server for one command. Answers well up to a request, then wrong."""

    def __init__(self, seed, good, how, click_port):
        self.rnd, self.good, self.how, self.click_port = random.Random(seed), good, how, click_port
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=50)
        self.port = self.listener.getsockname()[1]
        self.trap = socket.create_server(('127.0.0.1', 0))
        self.trap.settimeout(0)
        self.served, self.wrong, self.lock = 0, 0, threading.Lock()
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(conn)
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        with conn, conn.makefile('rb') as f:
            try:
                while (request := read_request(f)):
                    with self.lock:
                        self.served += 1
                        well = self.served <= self.good
                        well |= self.how in OF_OPENSEARCH and not ('/_search' in request[1] and request[0] == 'POST' or '/_bulk' in request[1])
                        self.wrong += not well
                    if not self.answer(conn, well, *request):
                        return
            except (OSError, ValueError, http.client.HTTPException):
                pass

    def right(self, method, path, headers, body):
        if not self.click_port:
            return 200, [('Content-Type', 'application/json')], plausible(self.rnd, method, path, body)
        c = http.client.HTTPConnection('127.0.0.1', self.click_port, timeout=SECONDS)
        try:
            c.request(method, path, body, {k: v for k, v in headers.items() if k.lower() not in ('host', 'content-length', 'transfer-encoding')})
            r = c.getresponse()
            kept = [(k, v) for k, v in r.getheaders() if k.lower() not in ('transfer-encoding', 'content-length', 'connection', 'keep-alive')]
            return r.status, kept, r.read()
        finally:
            c.close()

    def answer(self, conn, well, method, path, headers, body):
        """False: the connection is to be closed"""
        if not well and self.how in ('closed', 'noise', 'redirected', 'refused', 'empty', 'endless body', 'endless head', 'continues',
                                     'random body', 'deep', 'chunks'):
            return self.misbehave(conn)
        status, heads, data = self.right(method, path, headers, body)
        if not well and self.how.startswith('flipped') and not isinstance(data, bytes):
            data = strange(self.rnd, data)
        if not well and self.how == 'partial':
            data['_shards'] = {'total': 2, 'successful': 1, 'failed': 1}
        if not isinstance(data, bytes):
            data = json.dumps({} if not well and self.how == 'object' else data).encode()
        if not well and self.how == 'flipped' and self.click_port and data:
            data = bytearray(data)
            for _ in range(self.rnd.choice([1, 1, 3, 20])):
                at = self.rnd.randrange(len(data))
                data[at] = self.rnd.choice([data[at] ^ 1 << self.rnd.randrange(8), 0, 255, 0x80, self.rnd.randrange(256)])
        if not well and self.how == 'truncated json':
            data = data[:self.rnd.randrange(len(data) + 1)]
        length = len(data) + (self.rnd.choice([1, 1000]) if not well and self.how == 'cut' else 0)
        head = f'HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n' + ''.join(f'{k}: {v}\r\n' for k, v in heads) + '\r\n'
        if method == 'HEAD':
            data = b''
        conn.sendall(head.encode('latin-1') + data)
        return well or self.how != 'cut'

    def misbehave(self, conn):
        rnd, how = self.rnd, self.how
        if how == 'noise':
            conn.sendall(rnd.randbytes(rnd.choice([1, 10, 5000])))
        elif how == 'random body':
            data = rnd.randbytes(rnd.choice([0, 1, 8, 100, 5000]))
            conn.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(data) + data)
            return True
        elif how == 'deep':
            data = rnd.choice([b'[', b'{"a":']) * 200000
            conn.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(data) + data)
            return True
        elif how == 'redirected':
            conn.sendall(b'HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n' %
                         (rnd.choice([301, 302, 303, 307, 308]), self.trap.getsockname()[1]))
            return True
        elif how == 'refused':
            data = rnd.choice([ESCAPES, b'Code: 60. DB::Exception: ' + ESCAPES, json.dumps({'error': {'reason': ESCAPES.decode()}}).encode(),
                               b'x' * 3000000, b'', b'Code: 999999999999999999999999. DB::Exception: ' + b'y' * 5000])
            status = rnd.choice([400, 401, 403, 404, 429, 500, 503, 204, 304, 999, 100])
            conn.sendall(b'HTTP/1.1 %d \x1b[2J\r\nContent-Length: %d\r\n\r\n' % (status, len(data)) + data)
        elif how == 'empty':
            conn.sendall(rnd.choice([b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', b'HTTP/1.1 200\r\n\r\n', b'\r\n\r\n', b'HTTP/1.1 200 OK\r\n']))
        elif how == 'chunks':
            conn.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' +
                         rnd.choice([b'zz\r\n', b'ffffffffffffffff\r\nx', b'-1\r\n', b'5\r\nab', b'5\r\nabcdefgh\r\n', b'1\r\n']))
        elif how == 'continues':
            for _ in range(200000):
                conn.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
        elif how in ('endless body', 'endless head'):
            conn.sendall(b'HTTP/1.1 200 OK\r\n' + (b'Transfer-Encoding: chunked\r\n\r\n' if how == 'endless body' else b''))
            part = b'100000\r\n' + (rnd.choice([b' ', b'[', b'\0', b'x']) * (1 << 20)) + b'\r\n' if how == 'endless body' else b'X-Y: ' + b'z' * 1000 + b'\r\n'
            sent = 0
            while sent < ENDLESS:
                conn.sendall(part)
                sent += len(part)
        return False

    def followed(self):
        try:
            self.trap.accept()
            return True
        except OSError:
            return False

    def close(self):
        for s in (self.listener, self.trap, *self.open):
            s.close()


class Trial:
    def __init__(self, options, attack, folder, click_port):
        self.options, self.attack, self.folder, self.click_port = options, attack, folder, click_port
        self.weir = os.path.abspath(options.weir)
        with open(self.weir, 'rb') as f:
            self.checked = b'__asan_init' in f.read()
        self.trace = os.path.join(folder, 'a.trace')
        subprocess.run([self.weir, 'synth', '-q', '-o', self.trace, '--rows', '3000'], check=True)
        self.database = 0
        if click_port:
            subprocess.run([self.weir, 'load', '-q', '--to', f'clickhouse://127.0.0.1:{click_port}/full', self.trace], check=True)

    def run(self, words, server):
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with subprocess.Popen([self.weir, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              preexec_fn=limit, env={**os.environ, 'WEIR_USER': 'default', 'WEIR_PASSWORD': '', 'NO_COLOR': '1'}) as p:
            timer = threading.Timer(SECONDS * (5 if self.checked else 1), p.kill)
            timer.start()
            out, err = [], []
            readers = [threading.Thread(target=lambda to, s: to.append(s.read()), args=(to, s)) for to, s in ((out, p.stdout), (err, p.stderr))]
            for t in readers:
                t.start()
            _, status, usage = os.wait4(p.pid, 0)
            hung = not timer.is_alive()
            timer.cancel()
            for t in readers:
                t.join()
            p.returncode = os.waitstatus_to_exitcode(status)
        return p.returncode, out[0], err[0].decode(errors='replace'), usage.ru_maxrss << 10, hung, server.wrong

    def case(self, case):
        rnd = random.Random(f'{self.options.seed}/{case}')
        name = rnd.choice(['load', *COMMANDS])
        how = rnd.choice(DAMAGES)
        good = rnd.choice([0, 1, 2, 3, 5, 8, 13, 30])
        port = self.click_port if rnd.random() < 0.5 and how not in OF_OPENSEARCH else None
        server = Nonsense(f'{self.options.seed}/{case}', good, how, port)
        database = f'd{case}' if name == 'load' else 'full'
        store = f'{"clickhouse" if port else "opensearch"}://127.0.0.1:{server.port}/{database}?timeout=5s'
        try:
            result = self.run([{'STORE': store, 'TRACE': self.trace}.get(w, w) for w in COMMANDS[name]], server)
            why = self.judge(name, how, *result) or (server.followed() and 'it followed a redirect') or None
        finally:
            server.close()
        if self.options.case is not None:
            print(f'# {name} of {store}, {how} after {good}: {result}')
        self.attack.tried(name)
        if why:
            self.attack.found(f'{name} of {"ClickHouse" if port else "OpenSearch"}, {how} after {good} requests: {why}', os.path.join(HERE, 'nonsense.py'),
                              self.options.weir, '--seed', self.options.seed, '--case', case)

    def judge(self, name, how, status, out, err, memory, hung, wrong):
        if hung:
            return f'did not end within {SECONDS} s'
        if status not in (0, 1, 2) or SANITIZER.search(err):
            return f'status {status}: {err[-400:]}'
        if not self.checked and memory > MEMORY_MAX:
            return f'{memory >> 20} MiB of memory'
        if re.search(r'[^\x20-\x7e\n\u2026\ufffd\u00a0-\uffff]', err):
            return f'escapes in its message: {err[:300]!r}'
        if status and (not err.startswith('weir: ') or err.count('\n') != 1):
            return f'status {status}, and not one line: {err[:300]!r}'
        if wrong and not status and (how == 'object' or (how == 'partial' and name != 'load')):
            return f'status 0 after {wrong} answers that were none: {err[:300]!r} {out[-300:]!r}'
        if wrong and not status and how in ('closed', 'cut', 'noise', 'redirected', 'endless head') and name == 'load':
            return f'status 0 after {wrong} requests without an answer: {err[:300]!r} {out[:100]!r}'
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weir')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--cases', type=int, default=100)
    parser.add_argument('--case', type=int, help='this one alone')
    options = parser.parse_args()
    attack = Attack(options.seed)
    with tempfile.TemporaryDirectory(prefix='weir-nonsense-') as folder:
        def trials(port):
            trial = Trial(options, attack, folder, port)
            for i in range(options.cases) if options.case is None else [options.case]:
                trial.case(i)
        if click.program():
            with click.Server(folder) as server:
                trials(server.port)
        else:
            trials(None)
    return attack.end()


if __name__ == '__main__':
    sys.exit(main())
