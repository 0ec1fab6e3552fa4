#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz.py WEIR [--seed N] [--seconds S]: malformed HTTP, by a seed: the server answers, or closes, and goes on."""
import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from client import Serve, Tap

parser = argparse.ArgumentParser()
parser.add_argument('weir')
parser.add_argument('--seed', type=int, default=1)
parser.add_argument('--seconds', type=float, default=10)
args = parser.parse_args()
weir = os.path.abspath(args.weir)
tap = Tap()
rnd = random.Random(args.seed)

PATHS = ['trace', 'query', 'explain', 'check', 'complete', 'overview', 'latency', 'lanes', 'timeline', 'op/1', 'op/65536/next',
         'files', 'file/0', 'file/0/density', 'dashboards', 'dashboards/x', 'queries', 'queries/x', 'sql', 'session', 'openapi.yaml']
NAMES = ['q', 'filter', 'from', 'to', 'width', 'limit', 'format', 'lanes', 'near', 'same', 'back', 'dir', 'by', 'pos', 'height',
         'pos_from', 'pos_to', 'brief', 'within', 'download', 'at', 'find', 'section']
UNKNOWN = ['where', 'widht', 'x', '<b>', '%f0%9f%92%a9']
VALUES = ['', '0', '1', '-1', '9223372036854775807', '-9223372036854775808', '99999999999999999999', '1e9', 'NaN', '%00', '%ff%fe',
          '%f0%9f%92%a9', "'", '"', '(((((((', '))', 'op', 'op==read', 'dur>1ms', 'by op|count()', '|', '||', 'a' * 3000, '(' * 500,
          '!' * 500, '%25', '../../etc/passwd', '<script>', 'path=~"(a*)*b"', 'path~"' + '*a' * 50 + '"', '/', '//', '/tmp', '0,1,2',
          ',', 'op,file,thread,error,slow', 'json', 'columns', 'csv', 'parquet', 'from file', 'by path|count()|head 3']
METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'get', 'G' * 300, '']


def request(s):
    """One request, mostly right, as bytes; and whether it has a parameter that no route knows and is right otherwise."""
    if rnd.random() < 0.05:
        return rnd.randbytes(rnd.randrange(1, 400)), False
    names = NAMES + UNKNOWN if rnd.random() < 0.1 else NAMES
    query = '&'.join(f'{rnd.choice(names)}={rnd.choice(VALUES)}' for _ in range(rnd.randrange(0, 5))).replace(' ', '+')
    path = '/api/v1/' + rnd.choice(PATHS) if rnd.random() < 0.9 else rnd.choice(['/', '//', '*', '/..', '/%2e%2e/', '/index.html'])
    method = 'GET' if rnd.random() < 0.8 else rnd.choice(METHODS)
    headers = [f'Host: 127.0.0.1:{s.port}', f'Authorization: Bearer {s.token}']
    body = b''
    if rnd.random() < 0.2:
        headers.append(rnd.choice(['Content-Length: 99999999999', 'Content-Length: -1', 'Content-Length: x', 'Expect: 100-continue',
                                   'Transfer-Encoding: chunked', 'Accept: ' + 'a' * 5000, 'X: \x01\x02', ': y', 'Cookie: =;;;=',
                                   'If-None-Match: "', 'Accept-Encoding: gzip;q=0', 'Range: bytes=5-1', 'Upgrade: h2c',
                                   'Accept: application/vnd.weir.columns', 'Connection: close', 'Host: again']))
    if rnd.random() < 0.1:
        body = rnd.randbytes(rnd.randrange(0, 3000))
        if rnd.random() < 0.7:
            headers.append(f'Content-Length: {len(body)}')
    text = f'{method} {path}{"?" + query if query else ""} HTTP/1.{rnd.choice("0111119")}\r\n' + '\r\n'.join(headers) + '\r\n\r\n'
    data = bytearray(text.encode() + body)
    whole = bytes(data)
    unknown = path.startswith('/api/') and any(p.split('=')[0] in UNKNOWN for p in query.split('&'))
    for _ in range(rnd.choice([0, 0, 0, 1, 3])):
        at = rnd.randrange(len(data))
        what = rnd.randrange(3)
        if what == 0:
            data[at] = rnd.randrange(256)
        elif what == 1:
            del data[at:at + rnd.randrange(1, 5)]
        else:
            data[at:at] = rnd.randbytes(rnd.randrange(1, 5))
        if not data:
            break
    return bytes(data), unknown and data == whole


def send(s, data):
    """The status, or None where the connection was closed or stays open for more."""
    with socket.create_connection(('127.0.0.1', s.port), timeout=60) as c:
        try:
            c.sendall(data)
            c.shutdown(socket.SHUT_WR) if rnd.random() < 0.9 else c.settimeout(0.3)
            answer = c.recv(65536)
        except (TimeoutError, ConnectionError):
            return None
    if not answer:
        return None
    return int(answer.split()[1]) if answer.startswith(b'HTTP/') else -1


def main(folder):
    subprocess.run([weir, 'synth', '-q', '-o', 'f.trace', '--rows', '5000', '--profile', 'hostile'], cwd=folder, check=True)
    with Serve(weir, 'f.trace', folder=folder) as s:
        until = time.time() + args.seconds
        tried, strange = 0, []
        while time.time() < until and s.process.poll() is None:
            data, unknown = request(s)
            status = send(s, data)
            tried += 1
            if status is not None and not (100 <= status < 500 or status in (500, 501, 503, 505)):
                strange.append((status, data))
            if status == 500 or (unknown and status and 200 <= status < 400):
                strange.append((status, data))
        print(f'# {tried} requests, seed {args.seed}')
        tap.check('it runs still', s.process.poll() is None, s.process.poll())
        tap.check('each answer was one of HTTP, none a failure of the server, none to parameters that are not known', not strange, strange[:3])
        tap.check('and it answers', s.ask('trace')[0] == 200)
        with open(f'/proc/{s.process.pid}/status', encoding='utf-8') as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith('VmRSS'))
        print(f'# {rss} KiB of memory')
        tap.check('Ctrl-C ends it', s.stop() == 0, s.said)
    return tap.end()


tmp = tempfile.mkdtemp(prefix='weir-serve-fuzz-')
try:
    sys.exit(main(tmp))
finally:
    shutil.rmtree(tmp, ignore_errors=True)
