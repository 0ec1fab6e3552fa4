#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""datagrams.py WEIR SEVERAL: datagrams over IP: of every one that arrives the sender is found, by two senders at once, over IPv4 and IPv6, while others
are lost; certain where content tells them apart, contested where they are equal or content was not recorded. The same of calls that move
several. TAP on standard output."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, several = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
# Sizes are all different, but for those of 64 bytes, which are equal. Each hundredth goes to a port where nobody is. Prints "size sent
# received", with the numbers of threads.
WORK = '''
import os, socket
def run(family, host, first, connected):
    r = socket.socket(family, socket.SOCK_DGRAM)
    r.bind((host, 0))
    r.settimeout(5)
    nobody = socket.socket(family, socket.SOCK_DGRAM)
    nobody.bind((host, 0))
    lost = nobody.getsockname()
    nobody.close()
    ready, go = os.pipe()
    pid = os.fork()
    if not pid:
        s = socket.socket(family, socket.SOCK_DGRAM)
        if connected:
            s.connect(r.getsockname())
        for i in range(200):
            data = os.urandom(first + i) if i % 10 else bytes(64)
            if i % 100 == 99:
                socket.socket(family, socket.SOCK_DGRAM).sendto(data, lost)
            elif connected:
                s.send(data)
            else:
                s.sendto(data, r.getsockname())
            if i % 20 == 19:
                os.read(ready, 1)
        os._exit(0)
    for i in range(198):
        data = r.recv(4000) if connected else r.recvfrom(4000)[0]
        os.write(1, f'{len(data)} {pid} {os.getpid()}\\n'.encode())
        if i % 20 == 0:
            os.write(go, b'x')
    os.waitpid(pid, 0)
if not os.fork():
    run(socket.AF_INET6, '::1', 1000, True)
    os._exit(0)
run(socket.AF_INET, '127.0.0.1', 500, False)
os.wait()
'''

for mode in ('content', 'plain'):
    with tempfile.TemporaryDirectory() as folder:
        args = [weir, 'record', '--lossless', '-q', *(['--content'] if mode == 'content' else []), '-o', 't.weir', '--', sys.executable, '-c', WORK]
        out = subprocess.run(args, cwd=folder, check=True, timeout=60, capture_output=True, text=True).stdout
        r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    document = json.loads(r.stdout)
    truth = collections.Counter(tuple(map(int, line.split())) for line in out.splitlines())
    rows = [row for row in document['tables']['list']['rows'] if row['via'] == 'datagram']
    found = collections.Counter((row['bytes'], row['from_tid'], row['to_tid']) for row in rows)
    tap.check(f'{mode}: 396 datagrams arrive, and each has its sender', truth.total() == 396 and found == truth, truth - found, found - truth)
    certain = [row for row in rows if row['certainty'] == 'certain']
    if mode == 'content':
        tap.check(f'certain are those whose content is theirs alone: {len(certain)}', len(certain) >= 396 - 40, len(certain))
    else:
        tap.check('without content none is certain', not certain, *certain[:5])
    tap.check('those that nobody received are counted', document['unfollowed'] >= 4, document['unfollowed'])

# A pair of calls is certain where the addresses of all of its datagrams are known.
for mode, content in (('named', True), ('connected', True), ('bound', True), ('unix', True), ('unix', False), ('bound', False)):
    with tempfile.TemporaryDirectory() as folder:
        args = [weir, 'record', '--lossless', '-q', *(['--content'] if content else []), '-o', 't.weir', '--', several, mode]
        sizes = list(map(int, subprocess.run(args, cwd=folder, check=True, timeout=60, capture_output=True, text=True).stdout.split()))
        r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
        calls = subprocess.run([weir, 'query', 'from op | where op == sendmmsg || op == recvmmsg | select op, start, dur, ret', '-i', 't.weir', '--json'], cwd=folder,
                               check=True, timeout=60, capture_output=True, text=True)
    document, calls = json.loads(r.stdout), json.loads(calls.stdout)['rows']
    sent, taken = ([c['start'] + (c['dur'] if op == 'recvmmsg' else 0) for c in calls if c['op'] == op for _ in range(c['ret'])] for op in ('sendmmsg', 'recvmmsg'))
    rows = [row for row in document['tables']['list']['rows'] if row['via'] == 'datagram']
    name = f'{mode}, {"content" if content else "plain"}'
    pairs = set(zip(sent, taken))
    found = {(row['from_start'], row['to_end']) for row in rows}
    known = content or mode == 'unix'
    tap.check(f'{name}: 36 datagrams of {len(pairs)} pairs of calls', len(sent) == len(taken) == 36 and found == (pairs if known else set()), pairs ^ found)
    if known and mode != 'unix':
        tap.check(f'{name}: the size of each', sorted(row['bytes'] for row in rows) == sorted(sizes), sorted(row['bytes'] for row in rows))
    certain = [row for row in rows if row['certainty'] == 'certain']
    tap.check(f'{name}: certain', len(certain) == len(rows), len(certain), len(rows))
    tap.check(f'{name}: nothing contradicts, and what is not known is counted', document['contradictions'] == 0 and not document['rows'] and
              (document['unfollowed'] > 0) == (not known), document['contradictions'], document['unfollowed'], *document['rows'])

# Of calls to and from several peers, each datagram has its own address.
with tempfile.TemporaryDirectory() as folder:
    args = [weir, 'record', '--lossless', '-q', '--content', '-o', 't.weir', '--', several, 'peers']
    out = subprocess.run(args, cwd=folder, check=True, timeout=60, capture_output=True, text=True).stdout
    r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    named = subprocess.run([weir, 'sql', '--json', "SELECT c.op, c.size, f.peer FROM chunk c JOIN file f ON f.id = c.peer_id WHERE c.form = 'buffer'", 't.weir'],
                           cwd=folder, check=True, timeout=60, capture_output=True, text=True)
document = json.loads(r.stdout)
sent = [tuple(map(int, line.split())) for line in out.splitlines()]
for op, at in (('sendmmsg', 2), ('recvmmsg', 1)):
    want = sorted((row[0], f'127.0.0.1:{row[at]}') for row in sent)
    got = sorted((row['size'], row['peer']) for row in json.loads(named.stdout)['rows'] if row['op'] == op)
    tap.check(f'{op}: the address of each of 72 datagrams', len(want) == 72 and got == want, want, got)
rows = [row for row in document['tables']['list']['rows'] if row['via'] == 'datagram']
tap.check('of several peers: each has its sender, for certain', sorted(row['bytes'] for row in rows) == sorted(row[0] for row in sent) and
          {row['certainty'] for row in rows} == {'certain'} and document['unfollowed'] == 0, rows)
sys.exit(tap.end())
