#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corrected.py WEIR MARK: the clock of one of two hosts is shifted by a known amount. `weir flow --keep` stores that in its trace;
then calls of both come in the order in which they happened, as in traces of the same calls without the shift. TAP on standard output."""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
from hosts import LENGTH, ORIGIN, Host, messages  # noqa: E402
from tap import Tap  # noqa: E402

weir, mark = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
SHIFT = 5_037_123_456  # not a multiple of a window of 100 ms


def run(*args):
    r = subprocess.run([weir, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, (args, r.stderr)
    return r.stdout


def traces(folder, clock, name):
    os.mkdir(os.path.join(folder, name))
    rng = random.Random(1)
    a, b = Host('alpha', 1, lambda t: t), Host('beta', 2, clock)
    a.call('connect', ORIGIN, ORIGIN + 1000, file_id=0, ret=0)
    b.call('accept', ORIGIN + 2000, ORIGIN + 200_000, file2_id=0, ret=5)
    messages(a, b, 1000, rng)
    messages(b, a, 1000, rng)
    return [x.write(mark, os.path.join(folder, name)) for x in (a, b)]


def rows(question, paths, *more):
    return json.loads(run('query', *more, '--json', question, *paths))['rows']


def starts(paths):
    """When beta's calls began, ns since the epoch."""
    document = json.loads(run('query', '--json', 'where host == "beta" | select start', *paths))
    return sorted(int(document['origin']) + r['start'] for r in document['rows'])


def merged(paths):
    """host and operation of every call, in the order of their ends."""
    return [(r['host'], r['op']) for r in rows('select host, op', paths)]


def windows(paths, step):
    all_of_them = []
    for by in ('op', 'host'):
        document = json.loads(run('query', '--json', f'by {by} every {step} | count() as n | sort window, {by}', *paths))
        all_of_them.append([(int(document['origin']) + r['window'], r[by], r['n']) for r in document['rows']])
    return all_of_them


BY_OP = 'by host, op | count() as n, sum(dur) as d, p99(dur) as p, max(dur) as m'

with tempfile.TemporaryDirectory() as folder:
    truth = traces(folder, lambda t: t, 'truth')
    skewed = traces(folder, lambda t: t + SHIFT, 'skewed')
    with open(skewed[1], 'rb') as f:
        recorded = f.read()
    before = {q: rows(q, skewed) for q in (BY_OP, 'select row_id, thread_id, file_id, dur')}
    tap.check('before: the order is that of the clocks', merged(skewed) != merged(truth))
    said = run('flow', '--keep', *skewed)
    tap.check('--keep: said', '1 clock stored' in said, said)
    with open(skewed[1], 'rb') as f:
        tap.check('what was recorded is as it was', f.read().startswith(recorded))
    tap.check('the file is whole', subprocess.run([weir, 'check', skewed[1]], capture_output=True, timeout=60).returncode == 0)
    (clock,) = rows('from clock | select of_host, against, ahead, bound, pairs', skewed)
    tap.check('the shift is within the bound', abs(clock['ahead'] - SHIFT) <= clock['bound'] < 100_000 and
              (clock['of_host'], clock['against'], clock['pairs']) == ('beta', 'alpha', 2000), clock)
    off = clock['ahead'] - SHIFT

    tap.check('calls come in the order in which they happened', merged(skewed) == merged(truth))
    printed = [line.split() for line in run('trace', '-i', skewed[0], '-i', skewed[1]).splitlines()]
    right = [line.split() for line in run('trace', '-i', truth[0], '-i', truth[1]).splitlines()]
    tap.check('the merged stream, likewise', len(printed) == len(right) and
              ['sendto' in str(p) for p in printed] == ['sendto' in str(p) for p in right], (printed[:3], right[:3]))
    for step in ('100ms', '1s', '250ms'):
        tap.check(f'windows of {step} hold the same calls', windows(skewed, step) == windows(truth, step) and len(windows(truth, step)[0]) > 50)
    tap.check('sums, durations and percentiles are what they were', before[BY_OP] == rows(BY_OP, skewed) and
              before[BY_OP] == rows(BY_OP, truth))
    same = 'select row_id, thread_id, file_id, dur'
    tap.check('rows keep their identity', sorted(map(str, before[same])) == sorted(map(str, rows(same, skewed))))
    times = [starts(paths) for paths in (skewed, truth, skewed[1:])]
    tap.none('each time is off by what the clock is', [(a, b) for a, b in zip(times[0], times[1]) if a - b != -off][:3])
    tap.check('a trace alone has the times that it has among others', times[2] == times[0])
    ranged = [rows('by host | count() as n', paths, '--from', '+30s', '--to', '+37s') for paths in (skewed, truth)]
    tap.check('a range takes the same calls', ranged[0] == ranged[1] and ranged[0], ranged)
    since = [json.loads(run('sql', '--json', 'SELECT min(since) AS t FROM thread', *paths))['rows'] for paths in (skewed, truth)]
    tap.check('threads, too, where their rows have times', since[0] == since[1], since)

    text = run('report', *skewed)
    tap.check('report: whose times were corrected, and by how much', 'clocks: alpha as recorded, beta corrected by -5.0371' in text, text[:600])
    text = run('flow', *skewed)
    tap.check('flow: the same offset, and that it is corrected', 'beta +5.0371' in text and '(corrected)' in text, text)
    run('flow', '--keep', *skewed)
    (again,) = rows('from clock | select ahead, since, until', skewed)
    first = min(times[0])
    tap.check('stored again it is the same', abs(again['ahead'] - clock['ahead']) <= 1, (again, clock))
    tap.check('since and until are times as all others', 0 < again['since'] < again['until'] < LENGTH, again)

    run('annotate', '-n', 'mine', skewed[1], 'SELECT row_id, make_timestamp_ns(start) AS began FROM weir_op(row_id := true)')
    mine = rows('where began != start | count() as n', skewed[1:])
    known = rows('where began == start | count() as n', skewed[1:])
    tap.check('a table of the user has the times that it was made with', mine[0]['n'] == 0 and known[0]['n'] > 1000, (mine, known))

    run('annotate', '--drop', 'clock', skewed[1])
    tap.check('without the table times are as they were recorded', set(starts(skewed)) == {t + SHIFT for t in starts(truth)})

    drift = traces(folder, lambda t: t + SHIFT + (t - ORIGIN) // 10000, 'drift')
    run('flow', '--keep', *drift)
    (clock,) = rows('from clock | select ahead, bound, drift_low, drift_high', drift)
    ends = [abs(SHIFT + at // 10000 - clock['ahead']) for at in (10**7, LENGTH - 10**8)]
    tap.check('a drift is in the bound', max(ends) <= clock['bound'] < 10**7 and clock['drift_low'] <= 100_000 <= clock['drift_high'], (clock, ends))
sys.exit(tap.end())
