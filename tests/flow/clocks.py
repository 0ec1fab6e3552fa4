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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
ORIGIN = 1700000000 * 10**9
LENGTH = 60 * 10**9


def line(table, **fields):
    return '\t'.join((table, *(f'{k}={v}' for k, v in fields.items()))) + '\n'


class Host:
    """A recording with one thread, whose clock shows clock(t) at the time t."""

    def __init__(self, name, number, clock):
        self.name, self.clock, self.rows = name, clock, []
        other = 3 - number
        self.head = (line('host', id=0, name=name, boot=f'boot-{name}') + line('process', id=0, pid=100 + number, host_id=0) +
                     line('thread', id=0, task=0, tid=100 + number, tid_ns=100 + number, process_id=0, comm=name, pid_ns=1, net_ns=number) +
                     line('file', id=0, inode=0, type='socket', family='AF_INET', proto=1 << 16 | 6, ino=50 + number,
                          local=f'10.0.0.{number}:{4000 + number}', peer=f'10.0.0.{other}:{4000 + other}'))

    def call(self, op, start, end, **fields):
        a, b = self.clock(start), self.clock(end)
        self.rows.append((b, line('op', start=a, dur=b - a, thread_id=0, tid=101, op=op, kind='syscall', **fields)))

    def write(self, folder, *more):
        path = os.path.join(folder, f'{self.name}.weir')
        text = self.head + ''.join(row for _, row in sorted(self.rows)) + ''.join(more)
        subprocess.run([mark, '-', path], input=text, text=True, check=True, timeout=60)
        return path


def messages(a, b, count, rng):
    """From a to b, each a send and a receive, which end in order."""
    free_a = free_b = ORIGIN + 10**6
    for at in sorted(rng.randrange(10**7, LENGTH - 10**8) for _ in range(count)):
        send = max(ORIGIN + at, free_a)
        delay = 50_000 + int(min(rng.expovariate(1 / 2e6), 2e7))
        end = max(send + delay, free_b + 2000)
        a.call('sendto', send, send + 5000, file_id=0, bytes=100, ret=100)
        b.call('recvfrom', end - 1000, end, file_id=0, bytes=100, ret=100)
        free_a, free_b = send + 6000, end


def run(name, clock, both_ways=True, count=1000, lost=None):
    rng = random.Random(name)
    with tempfile.TemporaryDirectory() as folder:
        a, b = Host('alpha', 1, lambda t: t), Host('beta', 2, clock)
        a.call('connect', ORIGIN, ORIGIN + 1000, file_id=0, ret=0)
        b.call('accept', ORIGIN + 2000, ORIGIN + 200_000, file2_id=0, ret=5)
        messages(a, b, count, rng)
        if both_ways:
            messages(b, a, count, rng)
        traces = [a.write(folder), b.write(folder, *([line('loss', start=lost, stop=lost + 1000, cause='ring_full', events=10)] if lost else []))]
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
edges, document, text = run('lost', lambda t: t, lost=ORIGIN + LENGTH // 2)
certain, contested = edges['stream']
tap.check('calls are missing: what counts on them is contested from then on, and only that', certain > 500 and contested > 500 and
          certain + contested == 2000, edges)
tap.check('calls are missing: the first line counts them', 'lost 10' in text.splitlines()[0], text)
sys.exit(tap.end())
