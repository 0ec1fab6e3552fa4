#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The content that calls move (record --content), against a hash made here over the bytes that a program knows it moved."""
import json
import os
import pickle
import re
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
    def __init__(self, folder, *options, program=None):
        self.path = os.path.join(folder, 'trace')
        args = [WEIR, 'record', *options, '--lossless', '-q', '-o', self.path, '--', *program]
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
    op, way, pos, data, how = fact
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
    if pos == 'tcp':
        pos = min(r['pos'] for r in rows)
    at0 = min((r['call_pos'] for r in rows), default=0)
    if pos == -1:
        good = len(rows) == 1 and rows[0]['form'] == 'buffer' and rows[0]['hash'] == buffer_hash(data) and rows[0]['pos'] is None
        return None if good else f'{op} {len(data)}: want {buffer_hash(data):#x}: {rows}'
    want = []
    for at, n in positions(pos, len(data)):
        h, head, tail = part_hash(data[at - pos:at - pos + n], at % PIECE)
        want.append((at, at - pos, n, 'piece' if n == PIECE else 'part', h, head, tail))
    got = sorted((r['pos'], r['call_pos'] - at0, r['size'], r['form'], r['hash'], text_bytes(r['head']), text_bytes(r['tail']))
                 for r in counted)
    if want != got:
        return f'{op} at {pos}: want {want}\ngot {got}'
    whole = [r for r in rows if r['form'] == 'buffer']
    if pos % PIECE and (len(whole) != 1 or whole[0]['hash'] != buffer_hash(data) or whole[0]['size'] != len(data)):
        return f'{op} at {pos}: buffer {whole}, want {buffer_hash(data):#x}'
    return None


def check_moves(t, folder):
    trace = Trace(folder, '--content', program=[sys.executable, os.path.join(HERE, 'moves.py'), folder])
    t.check('a program is recorded with its content', trace.done.returncode == 0, trace.done.stderr.decode())
    with open(os.path.join(folder, 'facts'), 'rb') as f:
        facts = pickle.load(f)
    calls, bad = [], []
    for r in chunks_of(trace):
        key = (r['start'], r['call_pos'] if r['op'] in ('sendmmsg', 'recvmmsg') else r['way'])
        if not calls or calls[-1][0] != key:
            calls.append((key, []))
        calls[-1][1].append(r)
    t.check('every call that moved bytes has rows', len(calls) == len(facts),
            f'{len(facts)} calls, {len(calls)} with rows: {[(a[0], b[1][0]["op"]) for a, b in zip(facts, calls)]}')
    for fact, (_, rows) in zip(facts, calls):
        bad.append(check_call(fact, rows))
    t.none('hashes, positions, sizes and edges are those of the bytes', [b for b in bad if b][:3])
    by = {r['outcome']: r['sum(size)'] for r in trace.rows('from chunk | by outcome | sum(size)') if r['outcome']}
    moved = trace.rows('sum(bytes)')[0]['sum(bytes)']
    t.check('the sizes by outcome add up to the bytes that calls moved', sum(by.values()) == moved, by, moved)
    t.check('nothing is incomplete, truncated, lost or discarded', set(by) <= {'handled', 'absent'}, by)


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip('content', 'needs root')
        return t.end()
    with tempfile.TemporaryDirectory(prefix='weir-content-') as folder:
        check_moves(t, folder)
    return t.end()


sys.exit(main())
