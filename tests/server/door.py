#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""door.py WEIR OPENAPI: every route of the contract by every method, without the token in every way that may look like one.

Nothing but an empty 401 (or 4xx, 5xx without a word of the trace) may come, nothing may change on disk, and a connection on
which the token was shown before is no way in either.
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'robust')]
from attack import Attack  # noqa: E402
from client import Serve  # noqa: E402

METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'G']
OTHERS = ['/api', '/api/', '/api/v1', '/api/v1/', '/api/v2/trace', '/api/v1/nothing', '/api/v1/trace/', '//api/v1/trace', '/api//v1/trace',
          '/API/V1/TRACE', '/api/v1/%74race', '/%61pi/v1/trace', '/./api/v1/trace', '/x/../api/v1/trace', '/api/v1/../v1/trace',
          '/api/v1/trace%00', '/api/v1/trace;x', '/api/v1/trace?x', '/api/v1/trace#x', '/api/v1/dashboards/../trace',
          '/api/v1/op/../trace', '/api\\v1\\trace', '*', 'http://127.0.0.1:{PORT}/api/v1/trace', 'http://evil.example/api/v1/trace']
BODY = b'{"title": "left behind", "tiles": [], "q": "count()", "language": "query"}'


def routes(openapi):
    with open(openapi, encoding='utf-8') as f:
        paths = re.findall(r'^  (/(?:api|v1)/\S*):', f.read(), re.M)
    assert len(paths) > 15, paths
    return [re.sub(r'\{name\}', 'mine', re.sub(r'\{\w*(row|id)\w*\}', '0', p)) for p in paths]


def attempts(server):
    """Headers that may look like a right to enter, by name"""
    wrong = server.token[:-1] + ('0' if server.token[-1] != '0' else '1')
    host = f'Host: 127.0.0.1:{server.port}'
    right = f'Authorization: Bearer {server.token}'
    return {
        'nothing': [host],
        'a wrong token': [host, f'Authorization: Bearer {wrong}'],
        'a part of it': [host, f'Authorization: Bearer {server.token[:8]}'],
        'an empty one': [host, 'Authorization: Bearer '],
        'another scheme': [host, f'Authorization: Basic {server.token}'],
        'no scheme': [host, f'Authorization: {server.token}'],
        'a cookie with a wrong value': [host, f'Cookie: weir_token={wrong}; weir_token_{server.port}={wrong}'],
        'a cookie of another name': [host, f'Cookie: token={server.token}; x={server.token}'],
        'a header that some proxies set': [host, 'X-Forwarded-For: 127.0.0.1', f'X-Auth-Token: {server.token}', 'X-HTTP-Method-Override: GET'],
        'another host': ['Host: evil.example', right],
        'no host': [right],
        'another port': [f'Host: 127.0.0.1:{server.port + 1}', right],
        'a name that leads here': [f'Host: localhost.evil.example:{server.port}', right],
        'a second host': [host, 'Host: evil.example', right],
    }


def answers(data):
    """Status and body of each answer in what came; the body of the last may be cut"""
    found = []
    while data:
        head, _, rest = data.partition(b'\r\n\r\n')
        m = re.match(rb'HTTP/1\.[01] (\d{3})', head)
        if not m:
            return found + [(None, data)]
        length = re.search(rb'(?i)^content-length: (\d+)', head, re.M)
        chunked = re.search(rb'(?i)^transfer-encoding: chunked', head, re.M)
        size = int(length[1]) if length else len(rest) if chunked else 0
        found.append((int(m[1]), rest[:size]))
        data = rest[size:]
    return found


def send(port, data):
    with socket.create_connection(('127.0.0.1', port), timeout=60) as c:
        got = b''
        try:
            c.sendall(data)
            c.shutdown(socket.SHUT_WR)
            while part := c.recv(65536):
                got += part
        except (ConnectionError, TimeoutError):
            pass
    return got


def request(method, path, headers, version='1.1'):
    body = BODY if method in ('POST', 'PUT', 'PATCH') else b''
    more = [f'Content-Length: {len(body)}'] if body else []
    return f'{method} {path} HTTP/{version}\r\n'.encode() + '\r\n'.join([*headers, *more, '', '']).encode() + body


class Door:
    def __init__(self, weir, openapi, folder, attack):
        self.weir, self.openapi, self.folder, self.attack = weir, openapi, folder, attack
        self.words = [b'crafted', b'origin', b'traces', b'openapi:', b'redis', b'"op"']

    def listing(self):
        return sorted(os.path.join(base, n) for base, _, names in os.walk(self.folder) for n in names)

    def refuse(self, what, data, server):
        """Each answer but to a page is empty and no success"""
        self.attack.tried('requests without the token')
        for status, body in answers(send(server.port, data)):
            # None: libmicrohttpd puts the head of its own 400 twice into what it sends
            if (status or 400) < 400 or (status == 401 and body) or any(w in body for w in self.words):
                self.attack.found(f'{what}: {status} {body[:200]!r}', os.path.join(HERE, 'door.py'), self.weir, self.openapi)

    def run(self, server):
        before = self.listing()
        ways = attempts(server)
        for path in routes(self.openapi) + OTHERS:
            path = path.replace('{PORT}', str(server.port))
            page = not path.startswith(('/api', '/v1', 'http')) and path != '*'  # may be one of the pages, which need no token
            for method in METHODS:
                for name in ways if method in ('GET', 'POST') else ('nothing', 'a wrong token', 'another host'):
                    if page and 'host' not in name and 'port' not in name:
                        continue
                    self.refuse(f'{method} {path} with {name}', request(method, path, ways[name]), server)
        for path in routes(self.openapi):
            self.refuse(f'{path} with the token in the address', request('GET', f'{path}?token={server.token}', ways['nothing']), server)
            self.refuse(f'{path} over HTTP/1.0', request('GET', path, ways['nothing'], '1.0'), server)
        self.after_right_one(server, ways)
        if self.listing() != before:
            self.attack.found(f'files changed: {sorted(set(self.listing()) ^ set(before))}', os.path.join(HERE, 'door.py'), self.weir, self.openapi)

    def after_right_one(self, server, ways):
        """On a connection on which the token was shown, a request without"""
        right = [*ways['nothing'], f'Authorization: Bearer {server.token}']
        with socket.create_connection(('127.0.0.1', server.port), timeout=60) as c:
            c.sendall(request('GET', '/api/v1/check?q=count()', right))
            first = answers(c.recv(65536))
            self.attack.tried('requests without the token')
            c.sendall(request('GET', '/api/v1/trace', ways['nothing']))
            second = answers(c.recv(65536))
        if not first or first[0][0] != 200 or not second or second[0] != (401, b''):
            self.attack.found(f'a second request on one connection: {first[:1]} {second[:1]}', os.path.join(HERE, 'door.py'), self.weir, self.openapi)


def main():
    weir, openapi = (os.path.abspath(p) for p in sys.argv[1:3])
    attack = Attack()
    with tempfile.TemporaryDirectory(prefix='weir-door-') as folder:
        subprocess.run([weir, 'synth', '-q', '-o', 'd.trace', '--rows', '2000'], cwd=folder, check=True)
        with Serve(weir, 'd.trace', folder=folder) as server:
            Door(weir, openapi, folder, attack).run(server)
            if server.ask('trace')[0] != 200:
                attack.found('the server does not answer any more', os.path.join(HERE, 'door.py'), weir, openapi)
    return attack.end()


sys.exit(main())
