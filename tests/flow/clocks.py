#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clocks.py WEIR MARK: two hosts whose clocks are 5 s and 100 ppm apart, or slewed: the truth lies within the bounds that
`weir flow` gives; no edge is lost for it. Traces are made of rows by MARK. TAP on standard output."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
from hosts import LENGTH, ORIGIN, Host, line, messages  # noqa: E402
from tap import Tap  # noqa: E402

weir, mark = map(os.path.abspath, sys.argv[1:3])
tap = Tap()


def run(name, clock, both_ways=True, count=1000, lost=None, missing=None, machine=None):
    rng = random.Random(name)
    with tempfile.TemporaryDirectory() as folder:
        a, b = Host('alpha', 1, lambda t: t, machine), Host('beta', 2, clock, machine)
        a.call('connect', ORIGIN, ORIGIN + 1000, file_id=0, ret=0)
        b.call('accept', ORIGIN + 2000, ORIGIN + 200_000, file2_id=0, ret=5)
        messages(a, b, count, rng)
        if both_ways:
            messages(b, a, count, rng)
        if missing:
            lost = missing
            b.rows = [row for i, row in enumerate(sorted(b.rows)) if row[0] < clock(lost) or i % 40]
        loss = [line('loss', start=clock(lost), stop=clock(lost) + 1000, cause='ring_full', events=10)] if lost else []
        traces = [a.write(mark, folder), b.write(mark, folder, *loss)]
        r = subprocess.run([weir, 'flow', *traces, '--json'], capture_output=True, text=True, check=True, timeout=120)
        screen = subprocess.run([weir, 'flow', *traces], capture_output=True, text=True, check=True, timeout=120)
    document = json.loads(r.stdout)
    edges = {row['via']: (row['certain'], row['contested']) for row in document['tables']['edges']['rows']}
    if lost:
        return edges, document, screen.stdout
    tap.check(f'{name}: each message is one certain edge', edges.get('stream') == (count * (1 + both_ways), 0) and edges.get('connect') == (1, 0), edges)
    return document['tables']['clocks']['rows'], int(document['origin']), screen.stdout


def within(name, rows, origin, clock, most=None):
    bad = []
    for w in rows:
        for at, offset, half in ((w['from'], w['offset'], w['half']), (w['to'], w['offset_end'], w['half_end'])):
            t = origin + at
            if abs(clock(t) - t - offset) > half + 1 or (most and half > most):
                bad.append(f'at {at}: {clock(t) - t} is not {offset} +- {half}')
    tap.none(f'{name}: the truth is within the bounds', bad or ([] if rows else ['no bounds']))


def skewed(t):
    return t + 5 * 10**9 + (t - ORIGIN) // 10000


def slewed(t):
    return t + int(2e5 * math.sin((t - ORIGIN) / LENGTH * 2 * math.pi))


rows, origin, text = run('5 s and 100 ppm', skewed)
within('5 s and 100 ppm', rows, origin, skewed, 200_000)
tap.check('5 s and 100 ppm: one line, its drift within', len(rows) == 1 and rows[0]['drift_low'] <= 100 <= rows[0]['drift_high'] and
          rows[0]['drift_high'] - rows[0]['drift_low'] < 20, rows)
tap.check('5 s and 100 ppm: printed', 'clocks against alpha: beta +5.0' in text and 'drifts' in text, text)
rows, origin, text = run('equal', lambda t: t)
within('equal', rows, origin, lambda t: t)
tap.check('equal: no drift is claimed', rows[0]['drift_low'] <= 0 <= rows[0]['drift_high'] and 'drifts' not in text, text)
rows, origin, text = run('slewed by 200 us', slewed, count=20000)
tap.check('slewed by 200 us: in several stretches', len(rows) > 1, rows)
rows, origin, text = run('one way', skewed, both_ways=False)
tap.check('one way: not known, and said', not rows and 'one way' in text, text)
rows, origin, text = run('one way within a machine', lambda t: t, both_ways=False, machine='alpha')
tap.check('one way within a machine: one clock, of which nothing is said', not rows and '1 host,' in text and 'clocks' not in text, text)
edges, document, text = run('lost', lambda t: t, lost=ORIGIN + LENGTH // 2)
certain, contested = edges['stream']
tap.check('calls are missing: what counts on them is contested from then on, and only that', certain > 500 and contested > 500 and
          certain + contested == 2000, edges)
edges, document, _ = run('missing', skewed, missing=ORIGIN + LENGTH // 2)
within('calls are missing', document['tables']['clocks']['rows'], int(document['origin']), skewed, 400_000)
tap.check('calls are missing: the first line counts them', 'calls lost 10' in text.splitlines()[0], text)
sys.exit(tap.end())
