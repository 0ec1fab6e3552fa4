#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""selection.py WEIR MARK: what a selection of calls leaves of requests: parts that still add up, with the time of the other calls apart, and
the same members; names that no span has; requests to disks below calls that lie within one another. TAP on standard output."""
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
CALLS = (('read', 'data'), ('openat', 'meta'), ('fsync', 'sync'), ('recvfrom', 'net'), ('nanosleep', 'wait'))
KEPT = ('data', 'sync')


def trace(folder, name, rows):
    ends = sorted(rows, key=lambda r: r[1].get('start', 0) + (r[1].get('dur') or 0))
    text = ''.join('\t'.join((table, *(f'{k}={v}' for k, v in fields.items()))) + '\n' for table, fields in ends)
    subprocess.run((mark, '-', name), input=text, text=True, cwd=folder, check=True)


def weir_of(folder, *args):
    return subprocess.run((weir, 'requests', *args), capture_output=True, text=True, cwd=folder, timeout=60)


def rows_of(folder, *args):
    return json.loads(weir_of(folder, *args, '--json').stdout)['rows']


def threads(count):
    return [('thread', {'id': i, 'task': i, 'tid': 100 + i, 'comm': f't{i}'}) for i in range(count)]


def length(pieces):
    total, until = 0, 0
    for start, stop in sorted(pieces):
        total += max(stop - max(start, until), 0)
        until = max(until, stop)
    return total


def parts(folder):
    """Calls of a span on two threads at once, some without a CPU between, against plain loops over what was put in"""
    r = random.Random(7)
    rows, calls, off = threads(2), [], []
    rows.append(('span', {'start': ORIGIN, 'dur': 1000000, 'number': 1, 'name': 'note', 'thread_id': 0, 'trace_id': '1' * 32, 'span_id': '2' * 16}))
    rows.append(('context', {'start': ORIGIN, 'dur': 1000000, 'thread_id': 1, 'trace_id': '1' * 32, 'span_id': '2' * 16}))
    for thread in (0, 1):
        at = 0
        for _ in range(60):
            op, what = r.choice(CALLS)
            dur = r.randrange(100, 9000)
            rows.append(('op', {'start': ORIGIN + at, 'dur': dur, 'thread_id': thread, 'tid': 100 + thread, 'op': op, 'class': what, 'bytes': 1}))
            calls.append((at, at + dur, what))
            at += dur + r.randrange(5000)
            rows.append(('sched', {'start': ORIGIN + at, 'dur': 2000, 'thread_id': thread}))
            off.append((at, at + 2000))
            at += 3000
    trace(folder, 'parts.trace', rows)
    everything, = rows_of(folder, '-i', 'parts.trace', '--log')
    some, = rows_of(folder, '-i', 'parts.trace', '--log', '--where', 'class == "data" or class == "sync"')
    every, kept = [c[:2] for c in calls], [c[:2] for c in calls if c[2] in KEPT]
    want = {'unselected': length(every) - length(kept), 'stalled': length(every + off) - length(every), 'program': 1000000 - length(every + off)}
    tap.check('without a selection nothing is left out', everything['unselected'] == 0 and everything['calls'] == 120)
    tap.check('calls that are left out are a part of their own', {k: some[k] for k in want} == want and some['calls'] == len(kept), some, want)
    tap.check('the program and the time without a CPU stay', all(some[k] == everything[k] for k in ('program', 'stalled')), some, everything)
    tap.check('parts add up', sum(some[t] for t in TIMES) == 1000000 and some['data'] + some['sync'] == length(kept), some)
    names, = rows_of(folder, '-i', 'parts.trace', '--where', 'class == "data"')
    tap.check('so they do by name', sum(names[t] for t in TIMES) == 1000000 and names['data'] > 0 and names['unselected'] > 0, names)


def handed(folder):
    """A thread that waits for work: the futex that hands it on is not selected, what the thread then reads is a member all the same"""
    call = {'thread_id': 1, 'tid': 101}
    trace(folder, 'handed.trace', threads(2) + [
        ('span', {'start': ORIGIN, 'dur': 1000000, 'number': 1, 'name': 'note', 'thread_id': 0}),
        ('op', {'start': ORIGIN + 1000, 'dur': 3000, 'op': 'futex', 'class': 'wait', 'a1': 137, 'waker_id': 0, **call}),
        ('op', {'start': ORIGIN + 5000, 'dur': 700, 'op': 'read', 'class': 'data', 'bytes': 9, **call})])
    got, = rows_of(folder, '-i', 'handed.trace', '--log', '--where', 'class == "data"')
    tap.check('work is handed on by calls that are left out', (got['calls'], got['data'], got['bytes']) == (1, 700, 9), got)
    tree = rows_of(folder, '-i', 'handed.trace', '--tree', '1', '--where', 'class == "data"')
    tap.check('the tree has the selected calls alone', [(r['op'], r['via']) for r in tree] == [(None, None), ('read', 'work')], tree)


def unknown_names(folder):
    for args, part in ((('--name', 'nope'), "did you mean 'note'?"), (('--name', 'not'), "did you mean 'note'?"),
                       (('--log', '--name', 'quite*different'), 'weir requests lists them'), (('--tree', 'slowest', '--name', 'nope'), "'note'")):
        r = weir_of(folder, '-i', 'parts.trace', *args)
        tap.check(f'{" ".join(args)} is refused in a line', r.returncode == 2 and part in r.stderr and r.stderr.count('\n') == 1 and not r.stdout,
                  r.returncode, r.stderr, r.stdout)
    r = weir_of(folder, '-i', 'parts.trace', '--log', '--min', '10s')
    tap.check('none is long enough: that is said', 'none of them took 10.0 s or more' in r.stdout and r.returncode == 0, r.stdout, r.stderr)
    for name in ('note', 'n*', '*'):
        tap.check(f'--name {name} is found', len(rows_of(folder, '-i', 'parts.trace', '--name', name)) == 1)


def disks(folder):
    """Requests to io_uring within the call that waits for them, over one another: those to disks belong to the innermost at their time"""
    call = {'thread_id': 0, 'tid': 100, 'class': 'data'}
    rows = threads(1) + [('span', {'start': ORIGIN, 'dur': 1000000, 'number': 1, 'name': 'note', 'thread_id': 0}),
                         ('op', {'start': ORIGIN + 1000, 'dur': 500000, 'op': 'io_uring_enter', **call})]
    for i, (start, dur) in enumerate(((2000, 400000), (3000, 1000), (5000, 200000), (6000, 1000))):
        rows.append(('op', {'start': ORIGIN + start, 'dur': dur, 'op': 'read', 'kind': 'io_uring', 'bytes': i, **call}))
    times = (1500, 3500, 4500, 100000, 300000, 450000)
    for i, start in enumerate(times + (600000,)):
        rows.append(('block_part', {'start': ORIGIN + start, 'dur': 10000, 'request': i, 'disk': 'sda', 'kind': 'read', 'bytes': 4096, 'thread_id': 0,
                                    'via': 'current'}))
    trace(folder, 'disks.trace', rows)
    tree = rows_of(folder, '-i', 'disks.trace', '--tree', '1')
    got = [r['at'] for r in tree if r['what'] == 'disk']
    tap.check('each request to a disk within a call has its line', got == list(times), got)
    call = {'thread_id': 1, 'tid': 101, 'op': 'fsync', 'class': 'sync'}
    trace(folder, 'waited.trace', threads(2) + [
        ('span', {'start': ORIGIN, 'dur': 1000000, 'number': 1, 'name': 'note', 'thread_id': 0}), ('op', {'start': ORIGIN + 2000, 'dur': 8000, **call}),
        ('op', {'start': ORIGIN + 1000, 'dur': 12000, 'thread_id': 0, 'tid': 100, 'op': 'futex', 'class': 'wait', 'a1': 128, 'waker_id': 1}),
        ('block_part', {'start': ORIGIN + 3000, 'dur': 5000, 'request': 0, 'disk': 'sda', 'kind': 'write', 'bytes': 4096, 'thread_id': 1,
                        'via': 'current'})])
    got = [(r['what'], r['via'], r['time']) for r in rows_of(folder, '-i', 'waited.trace', '--tree', '1')[1:]]
    tap.check('one of a call that is waited for has its time', sorted(got) == [('call', 'thread', 12000), ('call', 'wait', 8000), ('disk', 'wait', 5000)],
              got)


def hangs(folder):
    """A request that hangs in a call at the end of the recording"""
    call = {'thread_id': 0, 'tid': 100, 'op': 'read', 'class': 'data'}
    trace(folder, 'hangs.trace', threads(1) + [
        ('op', {'start': ORIGIN, 'dur': 1000, **call}), ('span', {'start': ORIGIN + 5000, 'number': 1, 'name': 'note', 'thread_id': 0}),
        ('op', {'start': ORIGIN + 6000, 'dur': 994000, 'status': 1, **call}),
        ('op', {'start': ORIGIN + 999000, 'dur': 1000, 'thread_id': 1, 'tid': 101, 'op': 'read', 'class': 'data'})])
    got, = rows_of(folder, '-i', 'hangs.trace', '--log')
    tap.check('its time is in the call', (got['status'], got['dur'], got['data'], got['calls']) == ('running', 995000, 994000, 1), got)
    tap.check('which the tree has', [r['op'] for r in rows_of(folder, '-i', 'hangs.trace', '--tree', '1')] == [None, 'read'])


def late(folder):
    """A range that begins amid the trace and is open: the spans that ended in it have all of their calls, also those that ended before it, that
    a thread made under their ids before they were recorded to begin, or that never ended"""
    call = {'op': 'read', 'class': 'data', 'bytes': 1}
    ids = {'trace_id': 'a' * 32, 'span_id': 'b' * 16}
    rows = threads(2)
    for n in range(100):
        rows.append(('span', {'start': ORIGIN + n * 10000, 'dur': 9000, 'number': n + 1, 'name': 'step', 'thread_id': 0}))
        rows += [('op', {'start': ORIGIN + n * 10000 + k * 2000 + 10, 'dur': 1000, 'thread_id': 0, 'tid': 100, **call}) for k in range(5)]
    rows.append(('span', {'start': ORIGIN + 500000, 'dur': 490000, 'number': 900, 'name': 'carried', 'thread_id': 1, **ids}))
    rows.append(('context', {'start': ORIGIN + 400000, 'dur': 600000, 'thread_id': 1, **ids}))
    rows += [('op', {'start': ORIGIN + 390000 + k * 20000, 'dur': 500, 'thread_id': 1, 'tid': 101, **call}) for k in range(10)]
    rows.append(('op', {'start': ORIGIN + 980000, 'dur': 19000, 'status': 1, 'thread_id': 1, 'tid': 101, **call}))
    trace(folder, 'late.trace', rows)
    every = {r['number']: r for r in rows_of(folder, '-i', 'late.trace', '--log')}
    some = {r['number']: r for r in rows_of(folder, '-i', 'late.trace', '--log', '--from', '+0.00095s')}
    same = ('dur', 'calls', 'bytes', *TIMES)
    bad = [(n, [(c, r[c], every[n][c]) for c in same if r[c] != every[n][c]]) for n, r in some.items() if any(r[c] != every[n][c] for c in same)]
    tap.check('the late spans of an open range have what they have of the whole', not bad and 3 < len(some) < 10 and some[900]['calls'] == 10, bad, sorted(some))
    tree = rows_of(folder, '-i', 'late.trace', '--tree', '900', '--from', '+0.00095s')
    tap.check('so has the tree', sum(r['count'] for r in tree if r['what'] == 'call') == 10, tree)


def numbers(folder):
    """Two traces whose spans have the same numbers: the listed request is meant, and an id where two are"""
    for name, below in (('one', {}), ('two', {'parent': 2})):
        spans = [{'number': 1, **below}, {'number': 2}]
        trace(folder, f'{name}.trace', [('host', {'id': 0, 'name': name, 'boot': name}), *threads(1)] +
              [('span', {'start': ORIGIN + n * 100, 'dur': 1000, 'name': ('', f'{name}1', 'both')[s["number"]], 'thread_id': 0, 'trace_id': f'{name:x>32}',
                         'span_id': f'{name:x>15}{n}', **s}) for n, s in enumerate(spans)])
    both = ('-i', 'one.trace', '-i', 'two.trace', '--tree')
    tap.check('the request of two spans with a number', rows_of(folder, *both, '1')[0]['name'] == 'one1')
    r = weir_of(folder, *both, '2')
    tap.check('of two requests with a number, their ids', r.returncode and '2 spans' in r.stderr and 'xone1, ' in r.stderr and 'xtwo1' in r.stderr,
              r.stderr, r.stdout[:300])
    tap.check('one of which is an answer', rows_of(folder, *both, f'{"two":x>15}1')[0]['number'] == 2)
    text = weir_of(folder, *both[:-1], '--compare', '--name', 'both').stdout
    tap.check('and in the next command', '--tree xxxxxxxxxxxx' in text, text[-300:])


def main():
    with tempfile.TemporaryDirectory(prefix='weir-selection-') as folder:
        parts(folder)
        handed(folder)
        unknown_names(folder)
        disks(folder)
        hangs(folder)
        late(folder)
        numbers(folder)
    return tap.end()


sys.exit(main())
