#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""locks.py WEIR LOCKS: edges through locks against the order in which the program LOCKS took and released them: every release precedes
every later lock that conflicts with it, over certain edges and what each thread did; and no certain edge is other than that. TAP."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, program = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
END, MOST = 1000000, 0xffffffff  # in lines of LOCKS, in edges: to the end
NAMES = ('fcntl', 'flock', 'close', 'close_range', 'exit_group')
Line = collections.namedtuple('Line', 'number what scope owner start stop kind tid count')


def run(folder, *args):
    return subprocess.run(args, capture_output=True, text=True, cwd=folder, timeout=120, check=True).stdout


def lines_of(text):
    for line in text.splitlines():
        number, what, scope, owner, start, stop, kind, tid, count = line.split()
        yield Line(int(number), what, scope, int(owner), int(start), int(stop), kind, int(tid), int(count))


def conflicts(freed, held):
    return (freed.scope == held.scope and freed.owner != held.owner and freed.start < held.stop and held.start < freed.stop and
            'exclusive' in (freed.kind, held.kind))


def calls_of(folder):
    """The calls of each thread, in order, as when they began and ended."""
    names = ' || '.join(f'op == "{n}"' for n in NAMES)
    rows = json.loads(run(folder, weir, 'query', '-i', 't.weir', f'{names} | sort start | select start, dur, tid', '--json'))
    calls = collections.defaultdict(list)
    for row in rows['rows']:
        start = int(rows['origin']) + (row['start'] or 0)
        calls[row['tid']].append((row['tid'], start, start + row['dur']))
    return calls


with tempfile.TemporaryDirectory() as folder:
    lines = list(lines_of(run(folder, weir, 'record', '--lossless', '-q', '-o', 't.weir', '--', program)))
    document = json.loads(run(folder, weir, 'flow', 't.weir', '--list', '--json'))
    calls = calls_of(folder)
edges = [r for r in document['tables']['list']['rows'] if r['via'] == 'lock']
origin = int(document['origin'])
starts, ends = ({(c[0], c[when]): c for some in calls.values() for c in some} for when in (1, 2))
certain = {(starts[r['from_tid'], origin + r['from_start']], ends[r['to_tid'], origin + r['to_end']])
           for r in edges if r['certainty'] == 'certain'}
freed, held = ([line for line in lines if line.what == what] for what in ('freed', 'held'))
call = {line.number: calls[line.tid][line.count] for line in lines}
by_call = collections.defaultdict(list)
for line in lines:
    by_call[call[line.number]].append(line)

# which calls each lock follows, over certain edges and the order of each thread's calls
before = collections.defaultdict(list)
for a, b in certain:
    before[b].append(a)
known = collections.defaultdict(dict)  # per thread the last call of each thread that it follows
at = {}
for line in lines:
    mine = known[line.tid]
    for a in before[call[line.number]]:
        for tid, n in at.get(a, {}).items():
            mine[tid] = max(mine.get(tid, -1), n)
    mine[line.tid] = line.count
    at[call[line.number]] = dict(mine)
pairs = [(f, h) for h in held for f in freed if f.number < h.number and conflicts(f, h)]
missing = [p for p in pairs if at[call[p[1].number]].get(p[0].tid, -1) < p[0].count]
tap.check(f'{len(lines)} locks and releases, {len(pairs)} pairs of them in order', len(lines) > 1000 and len(pairs) > 10000)
tap.none('all are found', [f'missing: {f} before {h}' for f, h in missing][:5])


def is_true(a, b):
    """A release and a later lock that conflicts; or what its owner released, through another thread."""
    return any((conflicts(x, y) and x.what == 'freed' and y.what == 'held') or
               (x.owner == y.owner and x.what == 'held' and y.what == 'freed' and x.tid != y.tid)
               for x in by_call[a] for y in by_call[b] if x.number < y.number)


tap.none(f'none of {len(certain)} marked certain is wrong', [e for e in certain if not is_true(*e)][:5])
tap.none('none is contested', [(r['from_call'], r['to_call']) for r in edges if r['certainty'] != 'certain'][:5])


def has_range(a, b, pos, size):
    """Whether an edge is of a range that two calls have in common, perhaps of a part that nobody else had in between."""
    start, stop = (0, END) if pos < 0 else (pos, END if size == MOST else pos + size)
    return any(max(x.start, y.start) <= start and stop <= min(x.stop, y.stop) for x in by_call[a] for y in by_call[b])


found = [(starts[r['from_tid'], origin + r['from_start']], ends[r['to_tid'], origin + r['to_end']], r['pos'], r['bytes']) for r in edges]
tap.none('edges have the range that both have', [e for e in found if not has_range(*e)][:5])
sys.exit(tap.end())
