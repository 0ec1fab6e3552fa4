#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""edges.py WEIR WORK: edges of `weir flow` against those that the program WORK prints, and against plain loops over positions: all
are found, none that is marked certain is wrong. TAP on standard output."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, work = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
PORT = 47231
COLUMNS = 'start, dur, tid, op, ret, bytes, size, a0, path'


def run(folder, *args):
    r = subprocess.run(args, capture_output=True, text=True, cwd=folder, timeout=120, check=False)
    if r.returncode:
        raise RuntimeError(f'{args}: {r.returncode} {r.stderr[-500:]}')
    return r.stdout


class Calls:
    """The calls of a trace, found by TID:NAME:KEY=VALUE."""

    def __init__(self, folder, trace):
        document = json.loads(run(folder, weir, 'query', '-i', trace, f'sort start | select {COLUMNS}', '--json'))
        self.by_tid = collections.defaultdict(list)
        for call in document['rows']:
            if call['dur'] is None:  # before recording: of a sanitizer's own thread
                continue
            call['start'] = int(document['origin']) + (call['start'] or 0)
            self.by_tid[call['tid']].append(call)
        self.ends = {(t, c['op'], c['start'] + c['dur']): c for t, calls in self.by_tid.items() for c in calls}
        self.starts = {(t, c['op'], c['start']): c for t, calls in self.by_tid.items() for c in calls}
        self.by_key = {}

    def find(self, spec):
        tid, name, key = spec.split(':')
        key, value = key.split('=')
        if key not in ('first', 'last', 'count') and key not in self.by_key:
            self.by_key[key] = collections.defaultdict(list)
            for t, of_thread in self.by_tid.items():
                for c in of_thread:
                    if c[key] is not None:
                        self.by_key[key][t, int(str(c[key]), 0)].append(c)
        some = self.by_key[key][int(tid), int(value)] if key in self.by_key else self.by_tid[int(tid)]
        calls = [c for c in some if name == '*' or c['op'] in name.split('|')]
        if key == 'first':
            return calls[0]
        if key == 'last':
            return calls[-1]
        if key == 'count':
            return calls[int(value)]
        if len(calls) != 1:
            raise RuntimeError(f'{spec}: {len(calls)} calls')
        return calls[0]


def identity(c):
    return c['tid'], c['op'], c['start']


def edges_of(folder, traces, calls):
    """{(via, from, to): certainty}; calls: those of each trace"""
    document = json.loads(run(folder, weir, 'flow', *traces, '--list', '--json'))
    origin = int(document['origin'])
    found, lamport = {}, True
    for row in document['tables']['list']['rows']:
        key = row['to_tid'], row['to_call'], origin + row['to_end']
        to = next(c.ends[key] for c in calls if key in c.ends)
        found[row['via'], (row['from_tid'], row['from_call'], origin + row['from_start']), identity(to)] = row['certainty']
        lamport &= row['certainty'] != 'certain' or row['from_lamport'] < row['to_lamport']
    return found, lamport, document


def stream_truth(lines, find):
    """Edges by position: the k-th byte that was sent is the k-th that was received."""
    ends = collections.defaultdict(lambda: {'out': [], 'in': [], 'via': ''})
    for _, number, via, way, spec, size in lines:
        ends[number][way].append((identity(find(spec)), int(size)))
        ends[number]['via'] = via
    truth = set()
    for end in ends.values():
        owner = [c for c, size in end['out'] for _ in range(size)]
        at = 0
        for c, size in end['in']:
            truth |= {(end['via'], o, c) for o in owner[at:at + size]}
            at += size
    return truth


def file_truth(lines, find):
    """The last writer of each task among the last writers of the bytes that were read."""
    writer, number, truth = {}, {}, set()
    for n, (_, what, spec, pos, size) in enumerate(lines):
        c, pos, size = identity(find(spec)), int(pos), int(size)
        if what == 'write':
            number[c] = n
            writer.update((p, c) for p in range(pos, pos + size))
            continue
        last = {}
        for w in {writer[p] for p in range(pos, pos + size) if p in writer}:
            if w[0] != c[0] and (w[0] not in last or number[last[w[0]]] < number[w]):
                last[w[0]] = w
        truth |= {('storage', w, c) for w in last.values()}
    return truth


def lock_truth(lines, find):
    order, counts = [], collections.Counter()
    for _, tid, _n in lines:
        order.append((tid, counts[tid]))
        counts[tid] += 1
    return {('lock', identity(find(f'{a}:flock:count={2 * i + 1}')), identity(find(f'{b}:flock:count={2 * k}')))
            for (a, i), (b, k) in zip(order, order[1:]) if a != b}


def compare(name, truth, found, vias, certain=True):
    """All of the truth is found; of what is marked certain all is true."""
    ours = {e: k for e, k in found.items() if e[0] in vias}
    tap.none(f'{name}: all {len(truth)} are found', [f'missing {e}' for e in sorted(truth - set(ours))][:5])
    tap.none(f'{name}: none marked certain is wrong', [f'wrong {e}' for e, k in ours.items() if k == 'certain' and e not in truth][:5])
    if certain:
        unsure = sum(ours.get(e) != 'certain' for e in truth)
        tap.check(f'{name}: {len(truth) - unsure} of {len(truth)} are certain', unsure * 10 <= len(truth), f'{unsure} contested')
    return ours


def one_trace(folder):
    out = run(folder, weir, 'record', '--lossless', '-q', '-o', 'one.weir', '--', work, 'all')
    lines = [line.split() for line in out.splitlines()]
    calls = Calls(folder, 'one.weir')
    find = calls.find
    of = lambda word: [line for line in lines if line[0] == word]  # noqa: E731
    found, lamport, document = edges_of(folder, ['one.weir'], [calls])
    exact = collections.defaultdict(set)
    for _, via, a, b in of('edge'):
        exact[via].add((via, identity(find(a)), identity(find(b))))
    for via in ('fork', 'join', 'exec', 'publish', 'sync', 'eventfd', 'uring', 'signal'):
        certainty = 'contested' if via == 'signal' else 'certain'  # signals that are pending become one
        # a request that completed before the call that waits for it began may have been reaped before
        free = {e for e in exact[via] if via == 'uring' and e[1][1] == 'write' and e in found}
        tap.none(f'{via}: all {len(exact[via])} are found, {certainty}', [f'{e}: {found.get(e)}' for e in exact[via] - free if found.get(e) != certainty])
    futexes = {e: k for e, k in found.items() if e[0] == 'futex'}
    tap.check(f'futex: all {len(exact["futex"])} hand-overs are found', len(exact['futex']) > 50 and exact['futex'] <= set(futexes),
              *[e for e in exact['futex'] if e not in futexes][:5])
    addresses = {e[1] for e in exact['futex']} | {e[2] for e in exact['futex']}
    tap.none('futex: none marked certain is wrong', [e for e, k in futexes.items() if k == 'certain' and e not in exact['futex'] and
                                                     (e[1] in addresses or e[2] in addresses)])
    truth = stream_truth(of('stream'), find)
    crowd = {(via, identity(find(a)), identity(find(b))) for _, via, a, b in of('true')}
    readers, writers = {e[2][0] for e in crowd}, {e[1][0] for e in crowd}
    alone = {e: k for e, k in found.items() if not (e[0] == 'pipe' and e[1][0] in writers)}
    compare('pipe and unix stream', truth, alone, ('pipe', 'stream'))
    ours = {e: k for e, k in found.items() if e[0] == 'pipe' and e[1][0] in writers and e[2][0] in readers}
    compare('three writers of a pipe', crowd, ours, ('pipe',), certain=False)
    kinds = collections.Counter(ours.values())
    tap.check(f'three writers of a pipe: {kinds["contested"]} contested for {len(crowd)} true', len(ours) < 6 * len(crowd), kinds)
    compare('storage', file_truth(of('file'), find), found, ('storage',))
    compare('locks', lock_truth(of('locked'), find), found, ('lock',))
    tap.check('Lamport numbers rise along each certain edge', lamport)
    tap.check('nothing contradicts, nothing is left out', not any(document[k] for k in ('contradictions', 'cycles', 'left_out')),
              {k: document[k] for k in ('contradictions', 'cycles', 'left_out')})
    followed = json.loads(run(folder, weir, 'flow', 'one.weir', '--of', 'bytes > 0', '--json'))
    tap.check('the same edges if calls are followed', followed['tables']['edges'] == document['tables']['edges'],
              followed['tables']['edges']['rows'], document['tables']['edges']['rows'])
    return found, document


def kept(folder, found):
    run(folder, weir, 'flow', 'one.weir', '--keep')
    rows = json.loads(run(folder, weir, 'query', '-i', 'one.weir', 'from edge | by via, certainty | count()', '--json'))['rows']
    want = collections.Counter((e[0], k) for e, k in found.items())
    got = {(r['via'], r['certainty']): r['count'] for r in rows}
    tap.check('kept in the trace: as many of each kind', all(got.get(k, 0) >= n for k, n in want.items()) and set(got) == set(want), want, got)


def exported(folder, found):
    dot = run(folder, weir, 'flow', 'one.weir', '--as', 'dot')
    tap.check('GraphViz: each edge is a line', sum('->' in line and 'label' in line for line in dot.splitlines()) == len(found) and dot.endswith('}\n'),
              dot[-300:])
    lines = run(folder, weir, 'flow', 'one.weir', '--as', 'shiviz').splitlines()
    last, bad = collections.Counter(), []
    for host, clock in (line.split(' ', 1) for line in lines[::2]):
        clock = json.loads(clock)
        last[host] += 1
        bad += [host, clock] if clock[host] != last[host] or any(n > last[h] for h, n in clock.items()) else []
    tap.none('ShiViz: clocks count events, and know of none that comes later', bad)


def past(folder, found, document):
    """--past against a plain walk over the certain edges and the order of each thread's calls."""
    certain = [(a, b) for (_, a, b), k in found.items() if k == 'certain']
    numbers = sorted({row['to_op'] for row in document['tables']['list']['rows'] if row['to_op'] is not None and row['certainty'] == 'certain'})
    wrong, threads = [], 0
    for number in numbers[::len(numbers) // 8]:
        told = json.loads(run(folder, weir, 'flow', 'one.weir', '--past', str(number), '--json'))
        row = next(r for r in document['tables']['list']['rows'] if r['to_op'] == number)
        key = row['to_tid'], row['to_call'], int(document['origin']) + row['to_end']
        reached = {key[0]: max(b[2] for a, b in certain if b[:2] == key[:2] and b[2] <= key[2])}
        more = True
        while more:
            more = False
            for a, b in certain:
                if b[2] <= reached.get(b[0], -1) and a[2] > reached.get(a[0], -1):
                    reached[a[0]], more = a[2], True
        del reached[key[0]]
        rows = [r for r in told['tables']['past']['rows'] if r['certainty'] == 'certain']
        got = {}
        for r in rows:  # beside a thread's last call, its requests, of which each is a thread to the graph
            if r['tid'] != key[0]:
                got[r['tid']] = max(got.get(r['tid'], 0), int(told['origin']) + r['start'])
        threads += len(got)
        wrong += [] if got == reached else [(number, {k: (got.get(k), reached.get(k)) for k in got.keys() ^ reached.keys()})]
        wrong += [r for r in rows if r['before'] <= 0]
    tap.check(f'--past: of {threads} threads the last call before', threads >= 8)
    tap.none('--past: as a walk over the edges finds them', wrong)
    bad = subprocess.run([weir, 'flow', 'one.weir', '--past', 'op == read'], capture_output=True, text=True, cwd=folder, check=False)
    tap.check('--past of several calls: one line says which to name', bad.returncode != 0 and ' calls match; name one of them: --past ' in bad.stderr,
              bad.stderr)


def two_traces(folder):
    with subprocess.Popen([weir, 'record', '--lossless', '-q', '-o', 'server.weir', '--', work, 'server', str(PORT)], cwd=folder, text=True,
                          stdout=subprocess.PIPE) as server:
        first = server.stdout.readline()
        client = run(folder, weir, 'record', '--lossless', '-q', '-o', 'client.weir', '--', work, 'client', str(PORT))
        rest = server.communicate(timeout=60)[0]
    tap.check('client and server ran', first == 'ready\n' and not server.returncode)
    lines = [line.split() for line in (client + rest).splitlines()]
    calls = [Calls(folder, t) for t in ('client.weir', 'server.weir')]

    def find(spec):
        return next(c for c in calls if c.by_tid.get(int(spec.split(':')[0]))).find(spec)

    found, _, document = edges_of(folder, ['client.weir', 'server.weir'], calls)
    truth = stream_truth([line for line in lines if line[0] == 'stream'], find)
    compare('TCP in two traces', truth, found, ('stream',))
    ends = {line[1]: identity(find(line[2])) for line in lines if line[0] == 'tcp'}
    got = {key: certainty for key, certainty in found.items() if key[0] == 'connect'}
    tap.check('connect to accept, and not from the call that asked for the result',
              got == {('connect', ends['connect'], ends['accept']): 'certain'}, got)
    clocks = document['tables']['clocks']
    tap.check('one machine: the clocks are one', not document['contradictions'] and len(clocks['rows']) <= 1, clocks['rows'])


def spliced(folder):
    """Which end of a pipe a vmsplice used only the content shows; without it nothing about the pipe is certain."""
    for mode in ((), ('--content',)):
        out = run(folder, weir, 'record', '--lossless', '-q', *mode, '-o', 'spliced.weir', '--', work, 'vmsplice')
        calls = Calls(folder, 'spliced.weir')
        truth = stream_truth([line.split() for line in out.splitlines()], calls.find)
        found, _, _ = edges_of(folder, ['spliced.weir'], [calls])
        if mode:
            compare('a pipe emptied by vmsplice, with content', truth, found, ('pipe',))
        else:
            first = min(c['start'] for thread in calls.by_tid.values() for c in thread if c['op'] == 'vmsplice')
            tap.none('a pipe emptied by vmsplice: nothing is certain from then on, without content',
                     [e for e, k in found.items() if e[0] == 'pipe' and k == 'certain' and e[2][2] >= first])


with tempfile.TemporaryDirectory() as room:
    spliced(room)
    edges, listed = one_trace(room)
    past(room, edges, listed)
    kept(room, edges)
    exported(room, edges)
    two_traces(room)
sys.exit(tap.end())
