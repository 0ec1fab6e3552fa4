#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""host.py WEIR: the tables sched, irq and mem of a recording, against what /proc counts: context switches of the program's own
thread exactly, interrupts, softirqs and pages between what was counted within the recording and around it. Needs root. Speaks
TAP."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

COUNTERS = r'''
import itertools
def counters():
    got = {}
    for file in '/proc/softirqs', '/proc/interrupts':
        for line in open(file).readlines()[1:]:
            name, *rest = line.split()
            numbers = [int(n) for n in itertools.takewhile(str.isdigit, rest)]
            if file == '/proc/softirqs' or name[:-1].isdigit():
                got[file[6:] + ' ' + name[:-1]] = sum(numbers)
    for line in open('/proc/vmstat'):
        name, n = line.split()
        kind = 'allocated' if name.startswith('pgalloc_') else 'freed' if name == 'pgfree' else None
        if kind:
            got[kind] = got.get(kind, 0) + int(n)
    return got
'''
PROGRAM = COUNTERS + r'''
import json, mmap, os, time
def switches():
    got = dict(l.split(':') for l in open('/proc/self/status') if 'ctxt' in l)
    return [int(got[k + '_ctxt_switches']) for k in ('voluntary', 'nonvoluntary')]

began = counters()
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
to_child, to_parent = os.pipe(), os.pipe()
turns, naps, pages = 500, 20, 20000
child = os.fork()
if not child:
    for i in range(turns):
        os.read(to_child[0], 1)
        os.write(to_parent[1], b'x')
    os._exit(0)
before = switches()
for i in range(turns):
    os.write(to_child[1], b'x')
    os.read(to_parent[0], 1)
for i in range(naps):
    time.sleep(0.001)
after = switches()
os.access('/nowhere/until', os.R_OK)  # a time of the trace's own clock
os.waitpid(child, 0)

# Takes the CPU from this thread again and again: what runs besides may be what took it, and then went first.
spinner = os.fork()
if not spinner:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # nobody else gets the CPU meanwhile
    except PermissionError:
        pass
    for _ in range(40):
        time.sleep(0.004)
        end = time.monotonic() + 0.002
        while time.monotonic() < end:
            pass
    os._exit(0)
while not os.waitpid(spinner, os.WNOHANG)[0]:
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass

m = mmap.mmap(-1, pages * mmap.PAGESIZE)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(pages):
    m[i * mmap.PAGESIZE] = 1
m.close()
ended = counters()
print(json.dumps({'tid': os.getpid(), 'child': child, 'spinner': spinner, 'turns': turns, 'naps': naps, 'pages': pages,
                  'switches': [b - a for a, b in zip(before, after)],
                  'counters': {k: n - began.get(k, 0) for k, n in ended.items()}}))
'''

weir = os.path.abspath(sys.argv[1])
tap = Tap()
exec(COUNTERS)  # pylint: disable=exec-used


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120)


def rows(trace, text):
    r = run(weir, 'query', '--json', text, trace)
    if r.returncode:
        sys.exit(r.stderr)
    answer = json.loads(r.stdout)
    return [row | {'start': row['start'] + int(answer['origin'])} if 'start' in row else row for row in answer['rows']]


def sched(trace, truth, lost):
    """Now and then the kernel does not show a switch: then a row is counted as lost."""
    fields = 'select start, dur, why, blocked, runq, woken_by, waker_id, waker_tid, instead_tid, op, thread_id'
    until = rows(trace, 'where file == "/nowhere/until" | select start')[0]['start']
    # The kernel's numbers are those of a moment within each of these calls.
    before, after = rows(trace, f'where file ~ "/proc/*/status" && op == read && ret > 0 && tid == {truth["tid"]} | select start, dur')
    mine = rows(trace, f'from sched | where thread ~ "* {truth["tid"]}" | {fields}')
    during = [r for r in mine if before['start'] <= r['start'] < after['start'] + after['dur']]
    certain = [r for r in during if before['start'] + before['dur'] <= r['start'] < after['start']]
    sleeps, sure = ([r for r in some if r['why'] in ('sleep', 'io')] for some in (during, certain))
    voluntary, involuntary = truth['switches']
    tap.check('voluntary context switches', len(sure) <= voluntary <= len(sleeps) + lost, lost, len(sure), len(sleeps), truth['switches'],
              [r for r in during if r['op'] == 'clock_nanosleep' and r not in sleeps])
    tap.check('and the others', len(certain) - len(sure) <= involuntary <= len(during) - len(sleeps) + lost,
              lost, len(certain) - len(sure), len(during) - len(sleeps), truth['switches'])
    unseen = [r for r in mine if r['blocked'] is None]  # the wake-up
    tap.check('each time is blocked and waiting', len(unseen) <= lost and
              all(r['blocked'] + r['runq'] == r['dur'] for r in mine if r not in unseen), lost, unseen)
    reads = [r for r in sleeps if r['op'] == 'read']
    tap.check('the thread was woken by the one that it played with', len(reads) > 0 and
              all(r['woken_by'] == 'thread' and r['waker_tid'] == truth['child'] and r['waker_id'] is not None for r in reads),
              [r for r in reads if r['waker_tid'] != truth['child']][:3])
    naps = [r for r in sleeps if r['op'] == 'clock_nanosleep']
    tap.check('from a nap by an interrupt', 0 <= truth['naps'] - len(naps) <= lost and all(r['woken_by'] == 'interrupt' for r in naps), len(naps),
              naps[:3])
    instead = collections.Counter(r['instead_tid'] for r in mine if r['start'] > until)
    tap.check('a spinner ran instead', instead[truth['spinner']] > 0, instead, truth)
    theirs = rows(trace, f'from sched | where thread ~ "* {truth["child"]}" && op == read && why == sleep | by waker_tid | count() as n')
    tap.check('the chain leads back', [r['waker_tid'] for r in theirs] == [truth['tid']], theirs)


def bounds(name, counted, inner, outer, spurious=0):
    """What was recorded lies between what was counted within and around."""
    wrong = [f'{k}: {inner.get(k, 0)} <= {counted.get(k, 0)} <= {n}' for k, n in outer.items()
             if not inner.get(k, 0) - spurious <= counted.get(k, 0) <= n]
    tap.none(name, wrong)


def irq(trace, inner, outer):
    got = rows(trace, 'from irq | by irq_kind, number, handler | sum(runs) as n, sum(time) as t, min(shortest) as s, max(longest) as l')
    soft = {'softirqs ' + r['handler']: r['n'] for r in got if r['irq_kind'] == 'soft'}
    hard = {f'interrupts {r["number"]}': r['n'] for r in got if r['irq_kind'] == 'hard'}
    bounds('softirqs are those of /proc/softirqs', soft, inner, {k: n for k, n in outer.items() if k.startswith('softirqs')})
    bounds('interrupts are those of /proc/interrupts', hard, inner, {k: n for k, n in outer.items() if k.startswith('interrupts')},
           3)  # the kernel counts one for which no handler runs, too
    tap.check('there were some', soft, got)
    tap.none('sums agree with the shortest and the longest', [r for r in got if not r['s'] * r['n'] <= r['t'] <= r['l'] * r['n']])


def mem(trace, truth, outer):
    mine = rows(trace, f'from mem | where thread ~ "* {truth["tid"]}" | sum(allocated) as a, sum(freed) as f, sum(reclaimed) as r')[0]
    everything = rows(trace, 'from mem | sum(allocated) as a, sum(freed) as f')[0]
    tap.check('pages of the thread', truth['pages'] <= mine['a'] <= truth['pages'] + 6000 and truth['pages'] <= mine['f'], mine)
    tap.check('no more than the kernel allocated and freed', mine['a'] <= everything['a'] <= outer['allocated'] and
              mine['f'] <= everything['f'] <= outer['freed'], everything, {k: outer[k] for k in ('allocated', 'freed')})
    inner = truth['counters']
    tap.check('and most of it', everything['a'] >= 0.9 * inner['allocated'] and everything['f'] >= 0.9 * inner['freed'], everything,
              {k: inner[k] for k in ('allocated', 'freed')})


def reports(trace, truth):
    for which, column in ('sched', 'thread'), ('irq', 'handler'), ('mem', 'process'):
        r = run(weir, 'report', which, '--json', trace)
        got = json.loads(r.stdout)['rows'] if r.returncode == 0 else []
        tap.check(f'report {which}', got and any(f' {truth["tid"]}' in r[column] or column == 'handler' for r in got), r.stderr, got[:3])
    r = run(weir, 'report', 'sched', '-p', str(truth['child']), '--json', trace)
    got = [row['thread'].split()[-1] for row in json.loads(r.stdout)['rows']]
    tap.check('of a selected process', got == [str(truth['child'])], got)


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 't.trace')
        began = counters()  # noqa: F821
        r = run(weir, 'record', '-q', '--with', 'sched,irq,mem', '-o', trace, '--', sys.executable, '-I', '-S', '-c', PROGRAM)
        ended = counters()  # noqa: F821
        if 'cannot load the kernel programs' in r.stderr:
            print('1..0 # SKIP ' + r.stderr.splitlines()[0])
            return 0
        if r.returncode:
            sys.exit(r.stderr)
        truth = json.loads(r.stdout)
        outer = {k: n - began.get(k, 0) for k, n in ended.items()}
        losses = {row['cause']: row['n'] or 0 for row in rows(trace, 'from loss | by cause | sum(events) as n')}
        lost = sum(losses.values())  # an interrupt comes upon a program, too: on a busy machine pages are missing
        tap.none('no call is lost', [cause for cause in losses if not cause.startswith('side_')])
        sched(trace, truth, lost)
        irq(trace, truth['counters'], outer)
        mem(trace, truth, outer)
        reports(trace, truth)
    return tap.end()


sys.exit(main())
