#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kills.py [--kills N] [--seed N] [--one]: kill -9 at random moments of a recording: the recorder, a recorder that stands still, the
program that it records, or everything in their control group; with and without --lossless, with small and large rings. Needs root.

The program writes the numbers 0, 1, 2, ... each at its place, so its file says how many writes were made. Of each kill is checked:

- A program that was not killed itself goes on: it writes on, sees that it may end, and ends well.
- `weir report` shows the trace, `weir check` finds it sound. Where the recorder was killed both say that it was not closed;
  where it was killed before it began to record there may be no trace, or an empty one.
- The rows are the first N writes without a hole, none twice, but for calls of 100 ms and more and what ended beside them (they
  lie in blocks of their own, and one of two blocks may have been written), and none is of a write that was not made.
- A row is there for every write that had ended before the time up to which the trace says that it is complete. How many these
  are was read off the file meanwhile, beside the clock.
- No event that the blocks of the trace number is missing, and with --lossless none is counted as lost.
- Where the recorder lives and its program is killed, record exits with 128 + 9, and the trace has every write."""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.join(HERE, '..', '..', 'build')
sys.path.insert(0, HERE)
from attack import Attack  # noqa: E402
from robust import Bad, Bench, end, need, numbered, wait_for  # noqa: E402

WHOM = ['recorder', 'stopped recorder', 'program', 'group']
STARTING_S, RUNNING_S = 0.3, 1.2  # the longest moments
SLEW_NS = 1_000_000  # what a clock that is being set right may differ by
NUMBER = 8  # bytes


class Case:
    """One recording and its kill, all from one seed"""

    def __init__(self, seed):
        r = random.Random(seed)
        self.seed, self.whom, self.lossless = seed, r.choice(WHOM), r.random() < 0.6
        # Without --lossless a machine that stalls must not fill the ring: what is lost then is counted, but a count that was
        # not written yet dies with the recorder.
        self.ring = r.choice(['64KiB', '256KiB', '1MiB', None] if self.lossless else ['1MiB', '4MiB', None])
        self.pause = r.choice([0, 0, 1000, 5000]) if self.lossless else 5000
        self.attach = self.whom != 'program' and r.random() < 0.4  # -p: the program is no child of the recorder, nor in its group
        self.starting = self.whom != 'program' and r.random() < 0.1
        self.moment = r.uniform(0, STARTING_S if self.starting else RUNNING_S)

    def group(self):
        return self.whom + (', lossless' if self.lossless else '')

    def __str__(self):
        return (f'{self.group()}, ring {self.ring or "default"}, {"-p" if self.attach else "command"}, pause {self.pause} us, '
                f'killed {self.moment:.3f} s after {"record" if self.starting else "the program"} began')


class Group:
    """A control group, where one can be made"""

    def __init__(self):
        self.path = None
        for mount in ('/sys/fs/cgroup', '/sys/fs/cgroup/unified'):
            path = os.path.join(mount, f'weir-kills-{os.getpid()}')
            if os.path.exists(os.path.join(mount, 'cgroup.controllers')):
                try:
                    os.mkdir(path)
                    self.path = path
                    break
                except OSError:
                    pass

    def enter(self):
        if self.path:
            with open(os.path.join(self.path, 'cgroup.procs'), 'w', encoding='ascii') as procs:
                procs.write('0')
        os.setsid()

    def kill(self, leader):
        """All at once where the kernel can (Linux 5.14), else as a process group."""
        try:
            with open(os.path.join(self.path or '/', 'cgroup.kill'), 'w', encoding='ascii') as kill:
                kill.write('1')
        except OSError:
            os.killpg(leader, signal.SIGKILL)

    def remove(self):
        for _ in range(500):
            try:
                if self.path:
                    os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def runs(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


class Run:
    """The processes of a case, and what was seen of them"""

    def __init__(self, bench, case, group):
        self.bench, self.case, self.group = bench, case, group
        self.folder = bench.folder()
        self.count, self.trace = os.path.join(self.folder, 'w', 'count'), os.path.join(self.folder, 'trace')
        self.env = dict(os.environ, WORK_SECONDS='300', WORK_PAUSE=str(case.pause))
        self.program, self.child = None, None  # with -p; else a process number
        self.seen = []  # (ns since the epoch, writes that had ended)
        work = bench.work('load_count', self.folder)
        with open(os.path.join(self.folder, 'out'), 'wb') as out, open(os.path.join(self.folder, 'err'), 'wb') as err:
            if case.attach:
                self.program = subprocess.Popen(work, stdout=out, stdin=subprocess.DEVNULL, env=self.env)
                wait_for('the program', 60, lambda: size_of(self.count))
            target = ['-p', str(self.program.pid)] if case.attach else ['--', *work]
            self.recorder = subprocess.Popen(
                [bench.weir, 'record', '-o', self.trace, *(['--lossless'] if case.lossless else []),
                 *(['--ring', case.ring] if case.ring else []), *target],
                stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=self.env, preexec_fn=group.enter)

    def error(self):
        with open(os.path.join(self.folder, 'err'), encoding='utf-8', errors='replace') as f:
            return f.read()

    def command(self):
        """The process number of the recorder's command, None: it has none yet."""
        try:
            with open(f'/proc/{self.recorder.pid}/task/{self.recorder.pid}/children', encoding='ascii') as f:
                return int((f.read().split() or [0])[0]) or None
        except OSError:
            return None

    def look(self):
        """The last of the writes may still be about to end."""
        writes = size_of(self.count) // NUMBER
        self.seen.append((time.time_ns(), max(writes - 1, 0)))

    def wait(self):
        """Until the moment."""
        if not self.case.starting and self.case.attach:
            wait_for('the trace', 60, lambda: os.path.exists(self.trace) or self.recorder.poll() is not None)
        elif not self.case.starting:
            wait_for('the program', 60, lambda: size_of(self.count) or self.recorder.poll() is not None)
        stop = time.monotonic() + self.case.moment
        while (left := stop - time.monotonic()) > 0:
            time.sleep(min(left, 0.01))
            self.look()

    def kill(self):
        whom, self.child = self.case.whom, self.command()
        need(self.recorder.poll() is None, f'record ended by itself, with {self.recorder.returncode}: {self.error()}')
        if whom == 'program':
            need(self.child, 'record has no child')
            os.kill(self.child, signal.SIGKILL)
            status = end(self.recorder, 60, 'record')
            need(status == 128 + signal.SIGKILL, f'record exits with {status}: {self.error()}')
            return
        if whom == 'stopped recorder':
            self.recorder.send_signal(signal.SIGSTOP)
            time.sleep(self.case.moment / 4)  # the rings fill: the program is held up
            self.look()
        if whom == 'group':
            self.group.kill(self.recorder.pid)
        else:
            self.recorder.kill()
        end(self.recorder, 60, 'a recorder that was killed')

    def program_ends(self):
        """The program that lived on: it makes progress, and ends when it may. How many writes it made."""
        if self.case.whom == 'program' or (self.case.whom == 'group' and not self.case.attach):
            return size_of(self.count) // NUMBER
        if not self.case.attach:  # where the recorder was killed before it let its command go this ends unrun
            wait_for('the program', 60, lambda: size_of(self.count) or not self.child or not runs(self.child))
            if not size_of(self.count):
                return 0
        before = size_of(self.count)
        wait_for('progress of the program', 60, lambda: size_of(self.count) > before + 100 * NUMBER)
        with open(os.path.join(self.folder, 'w', 'end'), 'wb'):
            pass
        wait_for('the end of the program', 60, lambda: 'calls' in self.bench.said(self.folder))
        need(not self.program or end(self.program, 60, 'the program') == 0, 'the program failed')
        return self.bench.said(self.folder)['calls']

    def check(self):
        """What the trace says. Rows, and whether it was closed."""
        writes = self.program_ends()
        if self.case.starting and not size_of(self.trace):
            return 0, False
        report = subprocess.run([self.bench.weir, 'report', self.trace], capture_output=True, text=True, errors='replace', check=False)
        found = subprocess.run([self.bench.weir, 'check', self.trace], capture_output=True, text=True, errors='replace', check=False)
        need(report.returncode == 0, f'report exits with {report.returncode}: {report.stderr}')
        rows, damage = numbered(self.bench, self.trace, self.case.attach)
        count = self.bench.count(self.trace)
        events, lost = count['events'], count['loss']
        need(damage['next'] <= writes, f'a row of write {damage["next"] - 1} of {writes}')
        need(not damage['blocks'], f'damage: {damage}')
        need(not events['gaps'], f'numbers of events: {events}')
        need(not self.case.lossless or not (lost or events['missing']), f'with --lossless: loss {lost}, numbers of events {events}')
        if self.case.whom == 'program':
            need(found.returncode == 0 and not damage['unclosed'], f'check says {found.stdout}, {damage}')
            need(rows == writes or lost.get('ring_full', 0) >= writes - rows, f'{rows} rows of {writes} writes, loss {lost}')
            return rows, True
        need(damage['unclosed'] and 'NOT CLOSED' in report.stdout, f'report says {report.stdout[:300]}')
        need(found.returncode == 1 and 'NOT CLOSED' in found.stdout and 'amage' not in found.stdout, f'check says {found.stdout} {found.stderr}')
        ended = max((n for at, n in self.seen if at + SLEW_NS < damage['until']), default=0)
        need(damage['next'] >= ended, f'rows up to {damage["next"]}, but {ended} writes had ended before {damage["until"]}, up to when it is complete')
        return rows, False

    def stop(self):
        """Whatever still runs."""
        for p in (self.recorder, self.program):
            if p and p.poll() is None:
                p.kill()
                p.wait()
        if self.child and runs(self.child):
            os.kill(self.child, signal.SIGKILL)


def one(bench, attack, table, case, group):
    run = Run(bench, case, group)
    row = table.setdefault(case.group(), dict(kills=0, traces=0, closed=0, rows=0, writes=0, found=0))
    row['kills'] += 1
    attack.tried(case.group())
    try:
        run.wait()
        run.kill()
        rows, closed = run.check()
        row['rows'] += rows
        row['traces'] += size_of(run.trace) > 0
        row['closed'] += closed
        row['writes'] += size_of(run.count) // NUMBER
    except Bad as e:
        row['found'] += 1
        attack.found(f'{case}: {e}', os.path.join(HERE, 'kills.py'), '--seed', case.seed, '--one')
    finally:
        run.stop()
        shutil.rmtree(run.folder, ignore_errors=True)


def print_table(table):
    heads = ['killed', 'kills', 'traces', 'closed', 'rows', 'writes', 'found']
    rows = [heads] + [[name, *(f'{row[h]:,}' for h in heads[1:])] for name, row in sorted(table.items())]
    widths = [max(len(r[i]) for r in rows) for i in range(len(heads))]
    for r in rows:
        print('# ' + '  '.join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--weir', default=os.path.join(BUILD, 'src/cli/weir'))
    parser.add_argument('--workload', default=os.path.join(BUILD, 'tests/programs/workload'))
    parser.add_argument('--dump', default=os.path.join(BUILD, 'tests/oracles/trace_dump'))
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--one', action='store_true', help='the one kill of this seed')
    options = parser.parse_args()
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    options.soak = False
    attack, table = Attack(options.seed), {}
    with tempfile.TemporaryDirectory(prefix='weir-kills-', dir='/var/tmp') as folder:
        bench, group = Bench(options, folder), Group()
        try:
            for i in range(1 if options.one else options.kills):
                one(bench, attack, table, Case(options.seed + i), group)
        finally:
            group.remove()
    print_table(table)
    return attack.end()


sys.exit(main())
