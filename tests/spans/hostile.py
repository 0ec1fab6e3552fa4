#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py WEIR MARK: spans that make no sense: parents in circles, ids and numbers used twice, threads that nobody knows, times
before the epoch and of centuries, attributes that are no JSON. Each view ends well, and the parts of each span add up. The rows come
from seeds. TAP on standard output."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
ORIGIN = 1_795_000_000_000_000_000
TIMES = ('program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other', 'unselected')
ATTRIBUTES = ('{', '{"a', '{"a":', '{"a":[1,{"b":2}],"c":"x\\\\"}', '[]', 'nonsense', '{"a":1}')
VIEWS = ((), ('--log', '--name', '*'), ('--tree', 'slowest'), ('--compare',), ('--clusters',), ('--freq', '--by', 'attr.a'), ('--stats',),
         ('--log', '--name', '*', '--where', 'class == "data"'), ('--heat',), ('--keep',))
QUERIES = ('by span.name | count()', 'from span | by span.attributes.a | count()', 'span.attributes.a is not null | by span.attributes.b.c | count()',
           'from span_op | by span.name, via | count()', 'span.dur > 1ms | count()')


def a_span(r, i, n):
    start = ORIGIN + r.randrange(1000000) - (r.random() < 0.02) * 2 * ORIGIN
    dur = r.choice([0, 1, 1000, 100000, None, 2**62, r.randrange(300000)])
    fields = {'start': start, 'number': r.choice([i, i, i, 0, -5, 2**63 - 1]), 'name': r.choice('abc'), 'dur': dur,
              'parent': r.randrange(n) if r.random() < 0.7 else None,
              'span_id': f'{r.randrange(20):016x}' if r.random() < 0.3 else None,
              'parent_id': f'{r.randrange(20):016x}' if r.random() < 0.3 else None,
              'thread_id': r.choice([0, 1, 2, 3, 77, 2**41]) if r.random() < 0.9 else None,
              'attributes': r.choice(ATTRIBUTES) if r.random() < 0.5 else None}
    return start + (dur or 0), 'span', fields


def a_context(r):
    start, dur = ORIGIN + r.randrange(1000000), r.randrange(100000)
    return start + dur, 'context', {'start': start, 'dur': dur, 'thread_id': r.randrange(5), 'span_id': f'{r.randrange(30):016x}'}


def a_join(r):
    """Reads, writes, polls and waits for children that no kernel would let a thread do: two at once, of nothing, of others' ends"""
    start, dur = ORIGIN + r.randrange(1000000), r.choice([0, 10, 3000, 200000])
    op, what = r.choice([('read', 'wait'), ('recvfrom', 'net'), ('write', 'data'), ('sendto', 'net'), ('splice', 'data'), ('epoll_wait', 'wait'),
                         ('accept4', 'wait'), ('wait4', 'wait'), ('futex', 'wait')])
    size = r.choice([0, 1, 3, 2**62, -11, -110])
    return start + dur, 'op', {'start': start, 'dur': dur, 'thread_id': r.randrange(5), 'tid': 5, 'op': op, 'class': what, 'ret': size,
                               'bytes': max(size, 0), 'file_id': r.choice([0, 1, 2, 3, 4, 99]), 'file2_id': r.randrange(5), 'fd': r.choice([3, None]),
                               'fd2': 4, 'a0': r.choice([None, 64, 68, 2**62]), 'a1': r.choice([0, 137]), 'a3': r.choice([None, 0, 99]), 'waker_id': r.choice([0, 1, 4, 2**41, None]), 'runq': r.choice([None, 5, 2**62]),
                               'kind': r.choice(['syscall', 'syscall', 'io_uring'])}


def a_call(r):
    start, dur = ORIGIN + r.randrange(1000000), r.randrange(3000)
    if r.random() < 0.4:
        return a_join(r)
    waits = {'op': 'futex', 'class': 'wait', 'a1': 137, 'waker_id': r.randrange(5)}
    reads = {'op': 'read', 'class': 'data', 'bytes': 3}
    return start + dur, 'op', {'start': start, 'dur': dur, 'thread_id': r.randrange(5), 'tid': 5, **(waits if r.random() < 0.2 else reads)}


def story(seed):
    r = random.Random(seed)
    n = r.choice([3, 50, 400])
    rows = [(0, 'thread', {'id': i, 'task': i, 'tid': 100 + i, 'comm': 'x'}) for i in range(4)]
    rows += [(0, 'file', {'id': i, 'inode': i, 'ino': 7 + i, **f}) for i, f in enumerate((
        {'type': 'pipe'}, {'type': 'socket', 'family': 'AF_UNIX', 'peer_ino': 9}, {'type': 'socket', 'family': 'AF_UNIX', 'peer_ino': 8},
        {'type': 'anon', 'path': 'anon_inode:[eventfd]'}, {'type': 'socket', 'local': '1.2.3.4:5', 'peer': '1.2.3.4:5'}))]
    rows += [(ORIGIN + 5, 'span', {'start': ORIGIN, 'number': n + 1, 'name': 'a', 'dur': 5, 'thread_id': 0, 'attributes': '{"a":1}'})]
    rows += [a_span(r, i, n) for i in range(n)] + [a_context(r) for _ in range(30)] + [a_call(r) for _ in range(2000)]
    return ''.join('\t'.join((table, *(f'{k}={v}' for k, v in fields.items() if v is not None))) + '\n'
                   for _, table, fields in sorted(rows, key=lambda row: row[0]))


def main():
    for seed in range(5):
        bad = []
        with tempfile.TemporaryDirectory(prefix='weir-hostile-') as folder:
            subprocess.run((mark, '-', 't.trace'), input=story(seed), text=True, cwd=folder, check=True)
            for view in VIEWS:
                for form in ((), ('--json',)):
                    r = subprocess.run((weir, 'requests', '-i', 't.trace', *view, *form), capture_output=True, text=True, cwd=folder, timeout=120)
                    if r.returncode:
                        bad.append((view, form, r.returncode, r.stderr[-300:]))
                    elif form and view[:1] == ('--tree',):
                        path = json.loads(r.stdout)['critical_path']
                        bad += [path] if min(path['parts'].values()) < 0 else []
                    elif form and view[:1] == ('--log',):
                        bad += [row for row in json.loads(r.stdout)['rows']
                                if sum(row[t] for t in TIMES) != row['dur'] or min(row[t] for t in TIMES) < 0 or row['self'] < 0]
            for query in QUERIES:
                r = subprocess.run((weir, 'query', '-i', 't.trace', query), capture_output=True, text=True, cwd=folder, timeout=120)
                if r.returncode and not (r.returncode in (1, 2) and 'several spans have the number' in r.stderr):
                    bad.append((query, r.returncode, r.stderr[-300:]))
            r = subprocess.run((weir, 'diagnose', '-i', 't.trace', '--json'), capture_output=True, text=True, cwd=folder, timeout=120)
            if r.returncode:
                bad.append(('diagnose', r.returncode, r.stderr[-300:]))
        tap.check(f'seed {seed}', not bad, *bad[:5])
    return tap.end()


sys.exit(main())
