#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""made.py WEIR MARK: what the rules of weir diagnose find in calls that are made of rows by MARK. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
ORIGIN = 1700000000 * 10**9
MS = 10**6


def line(table, **fields):
    return '\t'.join((table, *(f'{k}={v}' for k, v in fields.items()))) + '\n'


def program(number, name):
    """A process with one thread, both of this number."""
    return (line('process', id=number, pid=100 + number, host_id=0, exe='/bin/' + name) +
            line('thread', id=number, task=number, tid=100 + number, tid_ns=100 + number, process_id=number, comm=name, pid_ns=1, net_ns=1))


def findings(name, rows, rule):
    """The findings of a rule in a trace of these rows."""
    subprocess.run([mark, '-', name], input=line('host', id=0, name='made', boot='made') + rows, text=True, check=True, timeout=60)
    out = subprocess.run([weir, 'diagnose', '--json', '-i', name, '--only', rule], capture_output=True, text=True, timeout=60, check=False)
    return json.loads(out.stdout)['rows'] if out.stdout else [out.stderr]


def cpu_contention():
    """Waits for a CPU at the end of calls whose time is not that of blocked work are no part of it."""
    for op, share in (('fsync', True), ('rt_sigtimedwait', False), ('accept4', False), ('msgrcv', False), ('io_getevents', False)):
        rows = program(0, 'waiter') + program(1, 'spinner')
        for i in range(100):
            start = ORIGIN + i * 10 * MS
            rows += line('op', start=start, dur=4 * MS, thread_id=0, tid=100, op=op, kind='syscall', ret=0, **{'class': 'sync' if share else 'wait'})
            rows += line('sched', start=start + MS, dur=3 * MS, thread_id=0, cpu=0, why='sleep', blocked=MS, runq=2 * MS, instead_id=1, op=op,
                         op_start=start)
            rows += line('op', start=start + 5 * MS, dur=1000, thread_id=0, tid=100, op='fsync', kind='syscall', ret=0, **{'class': 'sync'})
        found = findings(op + '.trace', rows, 'cpu-contention')
        tap.check(f'cpu-contention in {op}', len(found) == 1 and 'waiter waits 2.00 ms' in found[0]['sentence'] and
                  (0 < found[0]['share'] <= 1 if share else found[0]['share'] is None), found)


def main():
    with tempfile.TemporaryDirectory(prefix='weir-made-') as folder:
        os.chdir(folder)
        cpu_contention()
        os.chdir('/')
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
