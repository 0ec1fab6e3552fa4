#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verdicts.py WEIR: what a node of a small replicated store did wrong is found, at the process, file and range at fault, with bytes and with
hashes alone; a healthy run is clean. TAP on standard output."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
relay = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cases', 'relay.py')
tap = Tap()
# fault: verdict, from, to, the call at fault
WANT = {
    'none': None,
    'store': ('altered', 9000, 9016, 'pwrite64'),
    'forward': ('altered', 9000, 9016, 'sendto'),
    'flip': ('altered', 9000, 9001, 'pwrite64'),
    'drop': ('sent-never-stored', 0, 20000, 'sendto'),
    'keep': ('stored-never-sent', 0, 20000, 'pwrite64'),
    'twice': ('sent-twice', 0, None, 'sendto'),
    'reorder': ('re-ordered', 0, None, 'sendto'),
}


def flow(fault, mode, cut, late):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'record', f'--content={mode}', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, relay, fault, str(cut)] + late,
                       cwd=folder, check=True, timeout=60)
        r = subprocess.run([weir, 'flow', 't.weir', '--json', '--of', 'op == "sendto" && bytes > 20000'], cwd=folder, check=True, timeout=60,
                           capture_output=True, text=True)
    return json.loads(r.stdout)


def check(fault, mode, cut, exact, want, late=()):
    document = flow(fault, mode, cut, list(late))
    rows = document['rows']
    name = ', '.join([fault, mode, f'cut {cut}', *late])
    if not want:
        tap.check(f'{name}: clean', not rows, *rows)
        return document
    what, start, stop, call = want
    good = len(rows) == 1 and rows[0]['verdict'] == what
    row = rows[0] if rows else {}
    if good and exact:
        good = row['from'] == start and (stop is None or row['to'] == stop)
    elif good and stop is not None:
        good = row['from'] <= start and row['to'] >= stop and row['to'] - row['from'] <= max(stop - start, 8192)
    tap.check(f'{name}: {what} in bytes {start}..{stop}', good, *rows)
    calls = [e['call'] or '' for e in document['tables']['evidence']['rows'] if e['verdict'] == row.get('number')]
    tap.check(f'{name}: by {call} of object-5', any(c.startswith(call) for c in calls) and 'object-5' in (row.get('file') or ''), *calls, row)
    return document


document = check('none', 'bytes', 1 << 20, True, None)
chains = document['tables']['replication']['rows']
tap.check('one chain of 12 objects', len(chains) == 1 and chains[0]['objects'] == 12, chains)
hops = document['tables']['hops']['rows']
tap.check('as a graph: from the client to the first folder, from there to the second',
          [(h['from'], h['to'], h['objects'], h['bytes']) for h in hops] ==
          [(a, b, 12, 240000) for a, b in itertools.pairwise(chains[0]['way'].split(' -> '))], hops, chains)
tap.check('each hop has the delay of its folder', 0 < hops[0]['lag'] < hops[1]['lag'], hops)
stores = [r for r in document['tables']['tree']['rows'] if r['call'] == 'pwrite64']
tap.check('--of: all bytes are found in both folders', sum(r['bytes'] for r in stores) == 12 * 2 * 20000, *stores)
for fault, want in list(WANT.items())[1:]:
    check(fault, 'bytes', 1 << 20, True, want)
for fault in ('none', 'forward'):
    check(fault, 'bytes', 3001, True, WANT[fault])
check('none', 'hash', 8192, False, None)
check('store', 'hash', 8192, False, WANT['store'])
for late in ((), ('late',)):
    check('drop', 'hash', 8192, False, ('never-stored', 0, 20000, 'pwrite64'), late)
check('none', 'hash', 8192, False, None, ('late',))
SENTENCES = {
    'cat wrote a': 'comm == "cat" && bytes > 0 && (op == "copy_file_range" && path2 ~ "**/a" || op == "write" && path ~ "**/a")',
    'tee wrote b': 'comm == "tee" && op == "write" && path ~ "**/b"',
    'tee read': 'comm == "tee" && op in ("read", "pread64") && bytes > 0',
    'cp read b': 'comm == "cp" && bytes > 0 && op in ("copy_file_range", "read") && path ~ "**/b"',
}
with tempfile.TemporaryDirectory() as folder:
    def tree(option, text):
        r = subprocess.run([weir, 'flow', 't.weir', '--json', option, text], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
        return json.loads(r.stdout)['tables']['tree']['rows']

    subprocess.run([weir, 'record', '--content', '-q', '-o', 't.weir', '--', 'sh', '-c', 'cat /etc/services >a; cat a | tee b >c; cp b d'], cwd=folder, check=True,
                   timeout=60)
    for sentence, expr in SENTENCES.items():
        want, of, since = tree('--of', expr), tree('--of', sentence), tree('--from', sentence)
        tap.check(f'"{sentence}" selects what the expression does, with --from too', want and want == of == since, len(want), len(of), len(since))
    for expr in ('op==write', 'bytes>1'):
        want, since = tree('--of', expr), tree('--from', expr)
        tap.check(f'--from takes "{expr}", which has no space', want and want == since, len(want), len(since))
MADE = """
import os, socket
a, b = socket.socketpair()
with open('made', 'wb', 0) as f:
    for i in range(3):
        data = os.urandom(5000)
        f.write(data)
        a.sendall(data[:50] if i == 1 else data)
"""
for mode in 'hash', 'bytes':
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'record', f'--content={mode}', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', MADE], cwd=folder, check=True,
                       timeout=60)
        r = subprocess.run([weir, 'flow', 't.weir', '--json', '--of', 'path ~ "**/made" && bytes > 0'], cwd=folder, check=True, timeout=60,
                           capture_output=True, text=True)
    rows = json.loads(r.stdout)['tables']['tree']['rows']
    tap.check(f'{mode}: what a process made, stored and then sent is found where it was sent, as equal content',
              [(r['depth'], r['call'], r['via']) for r in rows] ==
              [(0, 'write', None), (1, 'sendto', 'equal content'), (0, 'write', None), (0, 'write', None), (1, 'sendto', 'equal content')], *rows)
SPARSE = """
import os
for folder, last in ('a', b'x'), ('b', b'y'):
    os.mkdir(folder)
    for i in range(4):
        with open(f'{folder}/object-{i}', 'wb', 0) as f:
            f.write(bytes([65 + i]) * 9000)
    with open(f'{folder}/volume', 'wb', 0) as f:
        f.write(b'v' * 4096)
        f.seek(1 << 40)
        f.write(last * 4096)
"""
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', SPARSE], cwd=folder, check=True, timeout=60)
    r = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
rows = json.loads(r.stdout)['rows']
tap.check('copies with a hole of 1 TiB: they differ behind it', [(r['verdict'], r['from'], r['to']) for r in rows] ==
          [('replicas-differ', 1 << 40, (1 << 40) + 4096)], *rows)
# what git does with a push: it writes the objects that it receives in another file format. Deflate stores data that cannot be
# compressed in blocks, which then begin a few bytes further on
BLOCKS = """
import os, random, socket, zlib
with socket.create_server(('127.0.0.1', 0)) as server:
    to = socket.create_connection(server.getsockname())
    of = server.accept()[0].makefile('rb')
random.seed(7)
if not os.fork():
    for i in range(4):
        data = zlib.compress(random.randbytes(100000 + i))
        to.sendall(b'%8d' % len(data) + data)
    os._exit(0)
to.close()
i = 0
while head := of.read(8):
    data = zlib.decompress(of.read(int(head)))
    data = zlib.compress(b'blob %d\\0' % len(data) + data)
    with open(f'object-{i}', 'wb', 0) as f:
        for at in range(0, len(data), 4096):
            f.write(data[at:at + 4096])
    i += 1
"""
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([weir, 'record', '--content=bytes', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', BLOCKS], cwd=folder, check=True, timeout=60)
    r = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
rows = json.loads(r.stdout)['rows']
tap.check('data stored in blocks that begin elsewhere is not altered', not rows, *rows)
MANY = """
import os
for folder, last in ('a', 1100), ('b', 0):
    os.mkdir(folder)
    for i in range(4800):
        with open(f'{folder}/object-{i}', 'wb', 0) as f:
            f.write(b'x' * 100 if i < last else b'y' * 100)
for i in range(20):
    os.mkdir(f'more-{i}')
    with open(f'more-{i}/one', 'wb', 0) as f:
        f.write(bytes([i]) * 100)
"""
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', MANY], cwd=folder, check=True, timeout=60)
    r = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    shown = subprocess.run([weir, 'flow', 't.weir'], cwd=folder, check=True, timeout=60, capture_output=True, text=True).stdout
document = json.loads(r.stdout)
tap.check('verdicts beyond the limit are counted', (len(document['rows']), document['left_out']) == (1000, 100), len(document['rows']), document['left_out'])
tap.check('so are files in more folders than are compared', document['uncompared'] == 6 and '6 files not compared' in shown, document['uncompared'],
          *[line for line in shown.splitlines() if 'compared' in line])
sys.exit(tap.end())
