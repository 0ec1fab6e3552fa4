#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""alike.py WEIR: `weir flow` --similar, --groups and --order over reads of data that the test makes: similarity against a plain loop
over the bytes, orders against loops over pairs. TAP on standard output."""
import functools
import hashlib
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
M = (1 << 64) - 1
LEAST, MOST, BITS, PIECE = 1024, 32768, 12, 4096

READER = '''
import os, sys
for line in open(sys.argv[1]):
    name, size = line.split()
    fd = os.open(name, os.O_RDONLY)
    while os.read(fd, int(size)): pass
    os.close(fd)
'''


def equal(name, got, want):
    tap.check(name, got == want, f'want {want!r}', f'got  {got!r}')


def run(folder, *args):
    r = subprocess.run(args, capture_output=True, text=True, cwd=folder, timeout=120, check=False)
    if r.returncode:
        raise RuntimeError(f'{args}: {r.returncode} {r.stderr[-500:]}')
    return r.stdout


def record(folder, mode, trace, reads):
    with open(f'{folder}/reads', 'w', encoding='ascii') as f:
        f.writelines(f'{name} {size}\n' for name, size in reads)
    with open(f'{folder}/reader.py', 'w', encoding='ascii') as f:
        f.write(READER)
    run(folder, weir, 'record', '-q', mode, '--lossless', '-o', trace, '--', sys.executable, 'reader.py', 'reads')


def flow(folder, trace, *args):
    return json.loads(run(folder, weir, 'flow', trace, '--where', 'path ~ "**/data-*" && op == read', '--json', *args))


# ---- what is in common, from the bytes ----

def gear(i):
    x = (i + 1) * 0x9e3779b97f4a7c15 & M
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & M
    x = (x ^ x >> 27) * 0x94d049bb133111eb & M
    return x ^ x >> 31


GEARS = [gear(i) for i in range(256)]


@functools.cache
def cuts(data):
    found, start, h = set(), 0, 0
    for i, byte in enumerate(data):
        h = (h << 1) + GEARS[byte] & M
        if (i + 1 - start >= LEAST and not h >> 64 - BITS) or i + 1 - start == MOST:
            found.add(hashlib.sha1(data[start:i + 1]).digest())
            start, h = i + 1, 0
    if start < len(data):
        found.add(hashlib.sha1(data[start:]).digest())
    return found


def pieces(data):
    return {hashlib.sha1(data[i:i + PIECE]).digest() for i in range(0, len(data), PIECE)}


def read_parts(data, size):
    """Of a file that is read by small calls: whole pieces, and the last part of the file if it begins at a piece boundary. A call that
    begins within a piece and contains none is a part."""
    found = set()
    for at in range(0, len(data), size):
        end, whole = min(at + size, len(data)), False
        for p in range(at // PIECE * PIECE, end, PIECE):
            whole |= p >= at and p + PIECE <= end
            if p >= at and (p + PIECE <= end or end == len(data) or at % PIECE == 0):
                found.add(data[p:min(p + PIECE, end)])
        if at % PIECE and not whole:
            found.add(b'call' + data[at:end])
    return found


def jaccard(a, b):
    return len(a & b) / len(a | b)


def linked(sets, least):
    """Names that are joined by pairs of that similarity."""
    group = {n: {n} for n in sets}
    for a, b in itertools.combinations(sets, 2):
        if jaccard(sets[a], sets[b]) >= least and group[a] is not group[b]:
            group[a] |= group[b]
            for n in group[b]:
                group[n] = group[a]
    return {frozenset(g) for g in group.values() if len(g) > 1}


def made(rng):
    base = rng.randbytes(400000)

    def edited(places):
        data = bytearray(base)
        for p in rng.sample(range(len(base) // PIECE), places):
            data[p * PIECE + 7] ^= 0xff
        return bytes(data)
    return {'base': base, 'copy': base, 'edited-2': edited(2), 'edited-8': edited(8), 'edited-20': edited(20), 'edited-60': edited(60),
            'shifted': b'a header of 31 bytes, no more.\n' + base, 'inserted': base[:200000] + b'inserted' + base[200000:],
            'half': base[:200000] + rng.randbytes(200000), 'unrelated': rng.randbytes(400000), 'zeros': bytes(400000)}


def base_name(row):
    return os.path.basename(row['file'])[5:]


def check_similar(folder, what, trace, files, parts, by):
    sets = {n: parts(d) for n, d in files.items()}
    got = flow(folder, trace, '--similar', 'path ~ "**/data-base" && op == read', '--by', by, '--least', '50')
    rows = {base_name(r): r for r in got['rows']}
    truth = {n: jaccard(sets['base'], s) for n, s in sets.items()}
    equal(f'{what}: those of 50 % and more', sorted(rows), sorted(n for n, j in truth.items() if j >= 0.5))
    tap.none(f'{what}: each similarity is exact',
             [f'{n}: {r["similarity"]} instead of {truth[n]}' for n, r in rows.items() if abs(r['similarity'] - truth[n]) > 1e-9])
    tap.none(f'{what}: estimates lie within five standard errors',
             [f'{n}: {r["estimate"]} for {truth[n]}' for n, r in rows.items()
              if abs(r['estimate'] - truth[n]) > 5 * math.sqrt(truth[n] * (1 - truth[n]) / got['hashes'])])
    words = {n: r['data'] for n, r in rows.items()}
    equal(f'{what}: what was asked for, and its copy', (words['base'], words['copy']), ('asked for', 'equal' if by == 'call' else 'same parts'))
    for least in (50, 80, 95):
        got = flow(folder, trace, '--groups', '--by', by, '--least', str(least), '--list')
        groups = {}
        for r in got['tables']['members']['rows']:
            groups.setdefault(r['group'], set()).add(base_name(r))
        equal(f'{what}: groups from {least} % on', {frozenset(g) for g in groups.values()}, linked(sets, least / 100))
        equal(f'{what}: members as the list of groups has them ({least} %)', {r['group']: r['members'] for r in got['rows']},
              {n: len(g) for n, g in groups.items()})
        names = {r['kind']: base_name(r) for r in got['tables']['members']['rows']}
        tap.none(f'{what}: links are exact ({least} %)',
                 [f'{x}' for x in got['tables']['links']['rows'] if x['a'] in names and x['b'] in names and
                  abs(jaccard(sets[names[x['a']]], sets[names[x['b']]]) - x['similarity']) > 1e-6])
    equal(f'{what}: nothing was left out', [got[k] for k in got if k.endswith('left_out')], [0] * 5)


def similar(folder):
    files = made(random.Random(18))
    for name, data in files.items():
        with open(f'{folder}/data-{name}', 'wb') as f:
            f.write(data)
    whole = [(f'data-{n}', 1 << 20) for n in files]
    record(folder, '--content=chunks', 'chunks.trace', whole)
    check_similar(folder, 'cuts of calls', 'chunks.trace', files, cuts, 'call')
    check_similar(folder, 'cuts of files', 'chunks.trace', files, cuts, 'file')
    record(folder, '--content=hash', 'hash.trace', whole)
    check_similar(folder, 'pieces of calls', 'hash.trace', files, pieces, 'call')
    record(folder, '--content=chunks', 'small.trace', [(f'data-{n}', 5003) for n in files])
    check_similar(folder, 'cuts of files that were read by small calls', 'small.trace', files, cuts, 'file')
    for size in (3001, 5003):
        record(folder, '--content=hash', 'pieces.trace', [(f'data-{n}', size) for n in files])
        check_similar(folder, f'pieces of files that were read by calls of {size} bytes', 'pieces.trace', files,
                      functools.partial(read_parts, size=size), 'file')
    asked = [r for r in flow(folder, 'hash.trace', '--similar', 'path ~ "**/data-copy" && op == read')['rows'] if r['data'] == 'asked for'][0]
    same = flow(folder, 'hash.trace', '--similar', str(asked['op']))['rows']
    equal('a call by its number', [(base_name(r), r['data']) for r in same[:2]], [('base', 'equal'), ('copy', 'asked for')])
    p = subprocess.run([weir, 'flow', 'hash.trace', '--similar', 'op == close'], cwd=folder, capture_output=True, text=True, check=False)
    equal('calls without content are refused', (p.returncode != 0, 'was not recorded' in p.stderr), (True, True))


def very_much_alike(folder):
    """100 that are nearly the same: more than are compared with each other, which is counted, and all are one group."""
    rng = random.Random(5)
    base = rng.randbytes(100 * PIECE)
    for i in range(100):
        with open(f'{folder}/data-{i}', 'wb') as f:
            f.write(base[:i * PIECE] + rng.randbytes(PIECE) + base[(i + 1) * PIECE:])
    record(folder, '--content', 'much.trace', [(f'data-{i}', 1 << 20) for i in range(100)])
    got = flow(folder, 'much.trace', '--groups')
    equal('100 files that are much alike are one group', [(r['members'], r['kinds'], r['files']) for r in got['rows']], [(100, 100, 100)])
    equal('pairs that were not compared are counted', got['pairs_left_out'] > 0, True)


# ---- order ----

def tau_of(before, after):
    place = {d: i for i, d in enumerate(before)}
    order = [place[d] for d in after if d in place]
    n = len(order)
    score = sum((order[i] < order[k]) - (order[i] > order[k]) for i in range(n) for k in range(i + 1, n))
    kept = sum(order[i + 1] == order[i] + 1 for i in range(n - 1))
    return score / (n * (n - 1) / 2), kept / (n - 1)


def order(folder):
    rng = random.Random(7)
    names = [f'data-{i:02}' for i in range(60)]
    for n in names:
        with open(f'{folder}/{n}', 'wb') as f:
            f.write(rng.randbytes(rng.randrange(2000, 12000)))
    for n in ('data-twin-a', 'data-twin-b'):  # the same data twice in each epoch: read two times, it is of one epoch
        with open(f'{folder}/{n}', 'wb') as f:
            f.write(names[0].encode() * 999)
    with open(f'{folder}/data-once', 'wb') as f:
        f.write(b'once' * 1000)
    every = names[:30] + ['data-twin-a'] + names[30:] + ['data-twin-b']
    shuffled = rng.sample(every, len(every))
    runs = [n for at in rng.sample(range(0, len(every), 10), 7) for n in every[at:at + 10]]
    epochs = [every, every, every[::-1], shuffled, runs]
    record(folder, '--content', 'order.trace', [(n, 1 << 20) for n in ['data-once', *itertools.chain(*epochs)]])
    got = flow(folder, 'order.trace', '--order')
    equal('epochs, and the reads of each', [r['reads'] for r in got['rows']], [62] * 5)
    equal('what is read once', got['once'], 1)
    equal('bytes of each epoch', {r['bytes'] for r in got['rows']}, {sum(os.path.getsize(f'{folder}/{n}') for n in every)})
    reads = [[] for _ in epochs]
    for r in got['tables']['reads']['rows']:
        reads[r['epoch'] - 1].append(os.path.basename(r['file']))
    equal('the reads of each epoch in order', reads, epochs)
    data = {}
    for r in got['tables']['reads']['rows']:
        data.setdefault(r['data'], set()).add(os.path.basename(r['file']))
    equal('data by its content, not by its file', sorted(map(sorted, data.values())), sorted([[n] for n in names] + [['data-twin-a', 'data-twin-b']]))
    truth = [tau_of([n for n in a if 'twin' not in n], [n for n in b if 'twin' not in n]) for a, b in zip(epochs, epochs[1:])]
    tap.none('tau and neighbours of each epoch', [f'{r["tau"]}, {r["neighbours"]} instead of {t}' for r, t in zip(got['rows'][1:], truth)
                                                  if abs(r['tau'] - t[0]) > 1e-9 or abs(r['neighbours'] - t[1]) > 1e-9])
    equal('orders in a word', [r['order'] for r in got['rows']], [None, 'same', 'reversed', 'shuffled', 'shuffled'])
    record(folder, '--content', 'runs.trace', [(n, 1 << 20) for n in [*every, *runs]])
    got = flow(folder, 'runs.trace', '--order')
    t = tau_of([n for n in every if 'twin' not in n], [n for n in runs if 'twin' not in n])
    equal('runs that were shuffled keep neighbours', (got['rows'][1]['order'], round(got['rows'][1]['neighbours'], 9), round(got['rows'][1]['tau'], 9)),
          ('shuffled in runs' if abs(t[0]) < 3 * math.sqrt(2 * 125 / (9 * 60 * 59)) else 'much the same' if t[0] > 0 else 'much reversed', round(t[1], 9), round(t[0], 9)))
    text = run(folder, weir, 'flow', 'order.trace', '--where', 'path ~ "**/data-*" && op == read', '--order').splitlines()
    strip = [line.split(None, 1)[1].strip() for line in text[-5:]]
    equal('the strip on the terminal', (strip[0] == strip[1], strip[0][0], strip[2][::-1] == strip[1]), (True, 'a', True))


def main():
    if os.geteuid():
        tap.skip('equal and similar data', 'recording needs root')
        return tap.end()
    for test in (similar, very_much_alike, order):
        with tempfile.TemporaryDirectory(prefix='weir-alike.') as folder:
            test(folder)
    return tap.end()


sys.exit(main())
