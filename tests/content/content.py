#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The content that calls move (record --content), against a hash made here over the bytes that a program knows it moved."""
import json
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
import tap  # noqa: E402

WEIR = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
MASK = (1 << 64) - 1
STEP = 0x9e3779b97f4a7c15
PIECE = 4096


def mix(x):
    """The finaliser of SplitMix64, as its authors print it."""
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


KEYS = [mix((i + 1) * STEP & MASK) for i in range(512)]
ZEROS = [mix(k) for k in KEYS]


def words_hash(words, first):
    return sum(mix(w ^ KEYS[first + i]) - ZEROS[first + i] for i, w in enumerate(words)) & MASK


def part_hash(data, at):
    """Of bytes that begin at a place of their piece: hash, bytes before the first whole word, bytes behind the last."""
    head = min(-at % 8, len(data))
    tail = (len(data) - head) % 8
    whole = data[head:len(data) - tail]
    words = [int.from_bytes(whole[i:i + 8], 'little') for i in range(0, len(whole), 8)]
    return words_hash(words, (at + head) // 8), data[:head], data[len(data) - tail:] if tail else b''


def buffer_hash(data):
    h = 0
    for n, at in enumerate(range(0, len(data), PIECE)):
        cut = data[at:at + PIECE]
        p = part_hash(cut + bytes(-len(cut) % 8), 0)[0]
        h = p if not n else h + mix((p + n * STEP) & MASK) - mix(n * STEP & MASK)
    return h & MASK


class Trace:
    def __init__(self, folder, *options, program=None, lossless=True):
        self.path = os.path.join(folder, 'trace')
        args = [WEIR, 'record', *options, *['--lossless'][:lossless], '-q', '-o', self.path, '--', *program]
        self.done = subprocess.run(args, capture_output=True, timeout=60, check=False)

    def rows(self, query):
        out = subprocess.run([WEIR, 'query', '-i', self.path, '--json', query], capture_output=True, timeout=60,
                             check=True).stdout
        return json.loads(out.decode('utf-8', 'surrogateescape'))['rows']


def text_bytes(text):
    """What a column of bytes holds: JSON has text, with what is none as \\xHH."""
    return re.sub(rb'\\(x[0-9a-f]{2}|\\)', lambda m: b'\\' if m[1] == b'\\' else bytes([int(m[1][1:], 16)]), (text or '').encode())


def chunks_of(trace):
    """The rows between the program's marks, by call."""
    marks = {r['path']: r['start'] for r in trace.rows('op == access && path ~ "/weir-*" | select start, path')}
    rows = trace.rows('from chunk')
    return [r for r in rows if marks['/weir-begins'] < (r['start'] or 0) < marks['/weir-ends']]


def positions(at, size):
    """Pieces and parts of a range: (position, size)."""
    end = at + size
    while at < end:
        n = min(PIECE - at % PIECE, end - at)
        yield at, n
        at += n


def check_call(fact, rows):
    """What is wrong with the rows of a call."""
    op, way, pos, data, how, end = fact
    if how == 'perhaps absent':
        how = 'absent' if all(r['hash'] is None for r in rows) else None
    if any(r['op'] != op or r['way'] != way for r in rows):
        return f'{fact[:2]}: {rows[0]}'
    counted = [r for r in rows if r['outcome'] or (how is None and r['form'] != 'buffer')]
    if how is None and data is None:
        return None if all(r['hash'] is None for r in rows) else f'{op}: a hash of what was not read'
    if how is None and any(r['outcome'] for r in rows):
        return f'{op}: bytes are counted twice'
    if how and sum(r['size'] for r in counted) != len(data) or any(r['outcome'] != how for r in counted if how):
        return f'{op} {pos}: {len(data)} bytes, {[(r["size"], r["outcome"]) for r in counted]}'
    if how == 'absent':
        return None if all(r['hash'] is None for r in rows) else f'{op}: a hash of what was not read'
    file = pos not in ('tcp', -1)
    if pos == 'tcp':
        pos = min(r['pos'] for r in rows)
    at0 = min((r['call_pos'] for r in rows), default=0)
    if pos == -1:
        good = len(rows) == 1 and rows[0]['form'] == 'buffer' and rows[0]['hash'] == buffer_hash(data) and rows[0]['pos'] is None
        return None if good else f'{op} {len(data)}: want {buffer_hash(data):#x}: {rows}'
    whole = [r for r in rows if r['form'] == 'buffer']
    # Of a read within a piece, the buffer is counted. Whole pieces are hashed, too, and the last one if the file ends there.
    inner = file and way == 'in' and op in ('read', 'pread64') and end is not None and pos % PIECE and len(data) <= 65536
    want = []
    for at, n in positions(pos, len(data)):
        h, head, tail = part_hash(data[at - pos:at - pos + n], at % PIECE)
        if not inner or n == PIECE or (end and at % PIECE == 0 and at + n == pos + len(data)):
            want.append((at, at - pos, n, 'piece' if n == PIECE else 'part', h, head, tail))
    got = sorted((r['pos'], r['call_pos'] - at0, r['size'], r['form'], r['hash'], text_bytes(r['head']), text_bytes(r['tail']))
                 for r in rows if r['form'] in ('piece', 'part'))
    if want != got:
        return f'{op} at {pos}: want {want}\ngot {got}'
    if how and (counted != whole if inner else any(r['form'] not in ('piece', 'part') for r in counted)):
        return f'{op} at {pos}: counted {counted}'
    if file and pos % PIECE and len(data) > 65536:
        return f'{op} at {pos}: buffer {whole}' if whole else None
    if pos % PIECE and (len(whole) != 1 or whole[0]['hash'] != buffer_hash(data) or whole[0]['size'] != len(data)):
        return f'{op} at {pos}: buffer {whole}, want {buffer_hash(data):#x}'
    return None


def check_moves(t, folder, name, what):
    own = os.path.join(folder, what)
    os.mkdir(own)
    trace = Trace(folder, '--content', program=[sys.executable, os.path.join(HERE, name), own])
    t.check(f'{what}: a program is recorded with its content', trace.done.returncode == 0, trace.done.stderr.decode())
    with open(os.path.join(own, 'facts'), 'rb') as f:
        facts = pickle.load(f)
    calls, bad = [], []
    rows = chunks_of(trace)
    if 'requests' in what:  # they end in another order than they begin
        rows.sort(key=lambda r: r['start'])
    for r in rows:
        key = (r['start'], r['call_pos'] if r['op'] in ('sendmmsg', 'recvmmsg') else r['way'])
        if not calls or calls[-1][0] != key:
            calls.append((key, []))
        calls[-1][1].append(r)
    t.check(f'{what}: each that moved bytes has rows', len(calls) == len(facts),
            f'{len(facts)} calls, {len(calls)} with rows: {[(a[0], b[1][0]["op"]) for a, b in zip(facts, calls)]}')
    for fact, (_, rows) in zip(facts, calls):
        bad.append(check_call(fact, rows))
    t.none(f'{what}: hashes, positions, sizes and edges are those of the bytes', [b for b in bad if b][:3])
    by = by_outcome(trace)
    t.check(f'{what}: the sizes by outcome add up to the bytes that were moved', sum(by.values()) == moved_by(trace), by, moved_by(trace))
    t.check(f'{what}: nothing is incomplete, truncated, lost or discarded', set(by) <= {'handled', 'absent'}, by)


def by_outcome(trace):
    return {r['outcome']: r['sum(size)'] for r in trace.rows('from chunk | by outcome | sum(size)') if r['outcome']}


def moved_by(trace):
    return trace.rows('sum(bytes)')[0]['sum(bytes)']


def program(folder, text):
    return [sys.executable, '-S', '-c', f'import os, random; os.chdir({folder!r})\n{text}']


def check_bytes(t, folder):
    text = program(folder, """
r, w = os.pipe()
os.write(w, b'a needle in a stack of hay')
os.write(w, random.Random(7).randbytes(20000).replace(bytes([92]), b'/'))
os.read(r, 30000)""")
    trace = Trace(folder, '--content=bytes', program=text)
    found = trace.rows('from chunk | where content ~ "*needle in*" | select op, way, content, call_pos, form')
    t.check('payload is found by what it says', [(r['op'], r['way'], r['form'], r['call_pos']) for r in found] ==
            [('write', 'out', 'payload', 0), ('read', 'in', 'payload', 0)], found, trace.done.stderr)
    rows = [r for r in trace.rows('from chunk') if r['op'] == 'write' and r['form'] == 'payload']
    t.check('and is what was written', [text_bytes(r['content']) for r in rows if r['size'] == 26] == [b'a needle in a stack of hay'] and
            b''.join(text_bytes(r['content']) for r in rows if r['size'] != 26) ==
            random.Random(7).randbytes(20000).replace(b'\\', b'/'), rows[:1])
    trace = Trace(folder, '--content=bytes:5000', program=text)
    by = by_outcome(trace)
    kept = sum(r['size'] for r in trace.rows('from chunk | where form == payload && op == write'))
    t.check('beyond a limit it is truncated, which is counted', by.get('truncated', 0) >= 40026 and kept == 5026 and
            sum(by.values()) == moved_by(trace), by, kept)


def check_chunks(t, folder):
    trace = Trace(folder, '--content=chunks', program=program(folder, """
data = random.Random(8).randbytes(300000)
f, g = (os.open(n, os.O_RDWR | os.O_CREAT) for n in ('cut', 'moved'))
for at in range(0, 300000, 10000):
    os.write(f, data[at:at + 10000])
os.write(g, b'a header of 37 bytes before the same.')
for at in range(0, 300000, 7777):
    os.write(g, data[at:at + 7777])"""))
    data = random.Random(8).randbytes(300000)
    cuts = {}
    for r in trace.rows('from chunk | where form == cut && op == write | select file, pos, size, hash'):
        cuts.setdefault(os.path.basename(r['file']), []).append(r)
    same = {name: sorted(rows, key=lambda r: r['pos']) for name, rows in cuts.items()}
    moved = b'a header of 37 bytes before the same.' + data
    bad = [r for name, all_of in (('cut', data), ('moved', moved)) for r in same[name]
           if r['hash'] != buffer_hash(all_of[r['pos']:r['pos'] + r['size']])]
    t.none('the hash of a cut is that of a buffer with its bytes', bad[:3])
    tiles = [sum(r['size'] for r in same[n]) == size and all(a['pos'] + a['size'] == b['pos'] for a, b in zip(same[n], same[n][1:]))
             for n, size in (('cut', 300000), ('moved', 300037))]
    t.check('cuts go on over calls and leave nothing out', all(tiles), same)
    first, second = ({r['hash'] for r in same[n]} for n in ('cut', 'moved'))
    t.check('data that was moved by 37 bytes is cut alike', len(first & second) >= len(first) - 2, len(first), len(first & second))
    by = by_outcome(trace)
    t.check('and every byte is handled', set(by) <= {'handled', 'absent'} and sum(by.values()) == moved_by(trace), by)


def check_sample(t, folder):
    trace = Trace(folder, '--content=hash,1/4', program=program(folder, """
f = os.open('sampled', os.O_RDWR | os.O_CREAT)
os.write(f, random.Random(9).randbytes(4096 * 400))
for at in range(0, 4096 * 400, 10000):
    os.pread(f, 10000, at)"""))
    rows = [r for r in trace.rows('from chunk | select op, file, pos, size, outcome, hash') if (r['file'] or '').endswith('/sampled')]
    pieces = [{r['pos'] // PIECE for r in rows if r['op'] == op and r['outcome'] == 'handled'} for op in ('write', 'pread64')]
    t.check('sampling takes the same pieces of a file from every call', pieces[0] == pieces[1] and 50 < len(pieces[0]) < 150,
            [len(p) for p in pieces])
    by = by_outcome(trace)
    t.check('and counts what it leaves out as discarded', set(by) <= {'handled', 'absent', 'discarded'} and by['discarded'] > 0 and
            sum(by.values()) == moved_by(trace) and all(r['hash'] is None for r in rows if r['outcome'] == 'discarded'), by)


def check_lost(t, folder):
    """A ring that cannot hold what is moved at once."""
    trace = Trace(folder, '--content=bytes', '--ring', '64KiB', program=program(folder, """
f = os.open('lost', os.O_RDWR | os.O_CREAT)
data = random.Random(9).randbytes(1 << 20)
for i in range(20):
    os.pwrite(f, data, 0)"""), lossless=False)
    by = by_outcome(trace)
    t.check('what finds no room is lost, byte by byte', by.get('lost', 0) > 10 << 20 and sum(by.values()) == moved_by(trace), by,
            moved_by(trace), trace.done.stderr.decode())
    page = subprocess.run([WEIR, 'report', '-i', trace.path], capture_output=True, check=True).stdout.decode()
    t.check('the report says so', re.search(r'^CONTENT .* handled .* lost .*pwrite64', page, re.M) is not None, page[:600])
    beside = trace.rows('from loss | by cause, of_table | sum(events)')
    calls = [r for r in beside if r['of_table'] is None]
    content = [r for r in beside if r['of_table'] == 'chunk']
    t.check('that is a loss of content, not of calls, and every byte of it has its cause', not calls and len(content) == 1 and
            content[0]['cause'] == 'side_full' and content[0]['sum(events)'] > 0 and
            all(r['outcome'] != 'absent' for r in trace.rows('from chunk | where op == pwrite64')), beside)
    said = trace.done.stderr.decode() + page
    t.check('the recorder names the remedy', 'lost 0 calls' in said and '--lossless, or a larger --ring' in said, said)
    with_ring = Trace(folder, '--content', '--ring', '64KiB', program=program(folder, """
f = os.open('/dev/zero', os.O_RDONLY)
for i in range(300000):
    os.read(f, 8)"""), lossless=False)
    by = by_outcome(with_ring)
    t.check('calls that are lost take their content with them', sum(by.values()) >= moved_by(with_ring), by, moved_by(with_ring))


def check_contested(t, folder):
    """Threads that send over one connection: what is not contested lies where it says."""
    trace = Trace(folder, '--content', program=program(folder, """
import socket, threading
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(1)
c = socket.socket()
c.connect(s.getsockname())
a = s.accept()[0]
def send(n):
    for i in range(150):
        c.sendall(bytes([n, i]) * random.Random(n * 150 + i).randrange(1, 1500))
threads = [threading.Thread(target=send, args=(n,)) for n in range(3)]
for x in threads:
    x.start()
closer = threading.Thread(target=lambda: ([x.join() for x in threads], c.shutdown(socket.SHUT_WR)))
closer.start()
got = []
while part := a.recv(5000):
    got.append(part)
closer.join()
open('stream', 'wb').write(b''.join(got))"""))
    with open(os.path.join(folder, 'stream'), 'rb') as f:
        stream = f.read()
    rows = trace.rows('from chunk | where form != buffer && (op == sendto || op == recvfrom) | select op, pos, size, hash, contested')
    base = min((r['pos'] for r in rows if r['op'] == 'recvfrom'), default=0)
    wrong, known = [], {'sendto': 0, 'recvfrom': 0}
    for r in rows:
        at = r['pos'] - base
        if not r['contested']:
            known[r['op']] += r['size']
            if r['hash'] != part_hash(stream[at:at + r['size']], r['pos'] % PIECE)[0]:
                wrong.append(r)
    t.none('of threads that share a connection no position is wrong that is not contested', wrong[:3])
    t.check('and that is all of what one thread receives, half of what is sent', known['recvfrom'] == len(stream) and
            known['sendto'] > len(stream) / 2, known, len(stream))


def check_held(t, folder):
    """More than the ring holds, where the program waits for the recorder."""
    trace = Trace(folder, '--content=bytes', '--ring', '4MiB', program=program(folder, """
f = os.open('held', os.O_RDWR | os.O_CREAT)
data = random.Random(9).randbytes(1 << 20)
for i in range(60):
    os.pwrite(f, data, 0)"""))
    by = by_outcome(trace)
    t.check('with --lossless nothing is lost where the ring is too small', set(by) <= {'handled', 'absent'} and
            sum(by.values()) == moved_by(trace), by, moved_by(trace), trace.done.stderr.decode())


def check_damaged(t, folder):
    """A block of content that cannot be read."""
    trace = Trace(folder, '--content=bytes', program=program(folder, """
f = os.open('damaged', os.O_RDWR | os.O_CREAT)
os.pwrite(f, random.Random(9).randbytes(200000), 0)"""))
    with open(trace.path, 'rb') as f:
        whole = f.read()
    at, found = 64, False
    while at + 64 < len(whole) and not found:  # docs/FORMAT.md: a block's header has the lengths of its own and of what follows
        header, payload = struct.unpack_from('<II', whole, at + 24)
        at += header + payload
        with open(trace.path, 'wb') as f:
            f.write(whole[:at - 1] + bytes([whole[at - 1] ^ 1]) + whole[at:])
        found = b'(chunk,' in subprocess.run([WEIR, 'check', trace.path], capture_output=True, check=False).stdout
    for args in ('report',), ('report', 'content'):
        page = subprocess.run([WEIR, *args, trace.path], capture_output=True, check=True).stdout.decode()
        t.check(f'{" ".join(args)} shows that content is damaged', found and re.search('^DAMAGED 1 block', page, re.M), page[:600])


def check_workloads(t, folder, workload):
    for case in 'plain vectored append_two race tcp6 unix threads uring_plain aio_plain'.split():
        os.mkdir(os.path.join(folder, f'{case}-work'))
        trace = Trace(folder, '--content', program=[workload, case, os.path.join(folder, f'{case}-work')])
        by = by_outcome(trace)
        t.check(f'workload {case}: nothing is incomplete, truncated or lost', set(by) <= {'handled', 'absent'} and
                sum(by.values()) == moved_by(trace), by, moved_by(trace))


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip('content', 'needs root')
        return t.end()
    with tempfile.TemporaryDirectory(prefix='weir-content-') as folder:
        check_moves(t, folder, 'moves.py', 'calls')
        check_moves(t, folder, 'requests.py', 'requests')
        check_bytes(t, folder)
        check_chunks(t, folder)
        check_sample(t, folder)
        check_lost(t, folder)
        check_held(t, folder)
        check_contested(t, folder)
        check_damaged(t, folder)
        check_workloads(t, folder, sys.argv[2])
    return t.end()


sys.exit(main())
