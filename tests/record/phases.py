#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""phases.py WEIR: where the time of calls went, against what the programs themselves know. Needs root.

No test asserts how long something takes; what is compared was measured by two clocks over the same calls.
"""
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
import disks  # noqa: E402
from tap import Tap, columns_of, wait_attached  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
check = tap.check
PYTHON = [sys.executable, '-I', '-S', '-c']
COLUMNS = 'op, tid, dur, io_wait, sleep, runq, cpu_time, misses, read_bytes, status, start, ret, file_id, bytes'
UNFINISHED, INTERRUPTED, NO_START, NORETURN = 1 << 0, 1 << 1, 1 << 6, 1 << 7
MS = 1000000
SET_MAX = MS // 10  # a timer runs from before the thread gives its CPU up
RUN_DELAY_ERROR = MS * 3 // 10  # of the kernel's own figure, for each wait
# The clock of the kernel's scheduler is another one: on a virtual machine CPU time and run_delay exceeded the wall clock by a tenth.
CPU_ERROR = MS // 20  # of each call


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **more)


def record(trace, *args, beside='phases', **more):
    r = run(weir, 'record', '-q', '--with', beside, '-o', trace, *args, **more)
    if 'cannot load the kernel programs' in r.stderr or 'does not show where the time' in r.stderr:
        print('1..0 # SKIP ' + r.stderr.splitlines()[0])
        sys.exit(0)
    return r


def python(trace, program, *args, **more):
    """Records a Python program; the JSON that it printed."""
    r = record(trace, '--', *PYTHON, textwrap.dedent(program), *args, **more)
    if r.returncode:
        sys.exit(r.stderr)
    return json.loads(r.stdout)


def rows(trace, text=f'select {COLUMNS}'):
    r = run(weir, 'query', '--json', text, trace)
    if r.returncode:
        sys.exit(r.stderr)
    return json.loads(r.stdout)['rows']


def total(of, column):
    return sum(row[column] or 0 for row in of)


PHASES = 'io_wait', 'sleep', 'runq', 'cpu_time'


def is_known(row):
    return all(row[c] is not None for c in PHASES)


def least(row, column, ns):
    """It was so long, or is not known."""
    return not is_known(row) or row[column] >= ns


def is_exact(row):
    """All or none: some hosts hide what happens while certain processes of theirs run, and then it is not known."""
    parts = [row[c] for c in PHASES]
    return parts == [None] * 4 or (row['dur'] is not None and None not in parts and min(parts) >= 0 and sum(parts) == row['dur'])


def check_exact(name, of):
    wrong = [row for row in of if not is_exact(row)]
    unknown = [row for row in of if row['dur'] is not None and not is_known(row)]
    check(f'{name}: phases sum to the duration of each call', of and not wrong, wrong[:3])
    check(f'{name}: nearly all calls have them', len(unknown) <= max(2, len(of) // 20), f'{len(unknown)} of {len(of)} have not',
          unknown[:3])


def sleeps(folder):
    """Timers, pipes, locks between threads, polls: blocked, and not on I/O."""
    trace = folder + '/sleeps'
    truth = python(trace, '''
        import json, os, select, threading, time
        time.sleep(0.1)
        for i in range(300):
            time.sleep(0.0003)
        r, w = os.pipe()
        def write():
            time.sleep(0.05)
            os.write(w, b'x')
        t = threading.Thread(target=write)
        t.start()
        begin = time.monotonic_ns()
        os.read(r, 1)
        waited = time.monotonic_ns() - begin
        t.join()
        poll = select.poll()
        poll.register(r, select.POLLIN)
        poll.poll(20)
        for i in range(4000):
            os.getppid()
            os.stat('/')
        print(json.dumps({'waited': waited, 'cpu': time.process_time_ns()}))
    ''')
    all_rows = rows(trace)
    slept = [row for row in all_rows if row['op'] == 'clock_nanosleep' and is_known(row)]
    check_exact('a program that sleeps', all_rows)
    check('a program that sleeps: every call counts', len(all_rows) > 8000, len(all_rows))
    check('timers: each thread slept as long as it asked to', len(slept) > 100 and
          sum(row['sleep'] >= 100 * MS for row in slept) <= 1 and
          # one that lost its CPU in between slept less
          sum(row['sleep'] + SET_MAX < 0.3 * MS for row in slept) <= len(slept) // 10, len(slept), slept[:2])
    check('timers are no I/O', not total(slept, 'io_wait') and not total(slept, 'misses'), slept[:2])
    pipe = [row for row in all_rows if row['op'] == 'read' and row['bytes'] == 1 and row['dur'] > 10 * MS]
    check('an empty pipe: its reader slept, less long than it measured', len(pipe) == 1 and least(pipe[0], 'sleep', 10 * MS) and
          (pipe[0]['sleep'] or 0) < truth['waited'] and not pipe[0]['io_wait'], pipe, truth)
    poll = [row for row in all_rows if row['op'] in ('poll', 'ppoll') and row['dur'] >= 20 * MS]
    check('poll slept until its time was up', len(poll) == 1 and least(poll[0], 'sleep', 10 * MS), poll)
    plain = [row for row in all_rows if row['op'] == 'getppid']
    check('calls that do not block: no phase but the CPU',
          len(plain) == 4000 and all(not row['sleep'] and not row['io_wait'] and not row['misses'] for row in plain))


class Disk:
    """A file system on a loop device whose image is read from a disk."""

    def __init__(self, folder):
        self.image, self.mount, self.device = folder + '/image', folder + '/mount', None
        os.makedirs(self.mount, exist_ok=True)
        with open(self.image, 'wb') as f:
            f.truncate(96 << 20)
        if run('mkfs.ext4', '-q', '-F', self.image).returncode:
            return
        made = run('losetup', '--find', '--show', self.image)
        if made.returncode:
            return
        self.device = made.stdout.strip()
        if run('mount', self.device, self.mount).returncode:
            self.close()

    def close(self):
        if self.device:
            disks.unmount(self.mount)
            run('losetup', '-d', self.device)
        self.device = None


READS = '''
    import json, mmap, os, sys, time
    path, how = sys.argv[1:]
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # the clocks of CPU time differ by CPU
    def counted():
        with open('/proc/thread-self/io') as f:
            return int(f.read().split('read_bytes: ')[1].split()[0])
    f = os.open(path, os.O_RDONLY | (os.O_DIRECT if how == 'direct' else 0))
    if how == 'cold':
        os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    counted()
    room = mmap.mmap(-1, 65536)
    before, cpu, wall, step = counted(), time.thread_time_ns(), time.monotonic_ns(), 4096 if how == 'direct' else 65536
    for i in range(0, 16 << 20, step):
        os.preadv(f, [memoryview(room)[:step]], i)
    wall, cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu
    print(json.dumps({'read_bytes': counted() - before, 'wall': wall, 'cpu': cpu}))
'''


def reads(folder):
    """What comes from a disk and what does not."""
    disk = Disk(folder)
    if not disk.device:
        return tap.skip('reads of a disk', 'no file system on a loop device can be mounted here')
    try:
        path = disk.mount + '/file'
        with open(path, 'wb') as f:
            f.write(os.urandom(1 << 20) * 16)
            os.fsync(f.fileno())
        for how in 'cold', 'warm', 'direct':
            trace = folder + '/' + how
            truth = python(trace, READS, path, how)
            all_rows = rows(trace)
            of = [row for row in all_rows if row['op'] in ('preadv', 'preadv2') and (row['bytes'] or 0) > 0]
            check_exact(f'{how} reads', all_rows)
            check(f'{how} reads: all were recorded', len(of) == (4096 if how == 'direct' else 256), len(of))
            check(f'{how} reads: as many bytes as /proc has', total(of, 'read_bytes') == truth['read_bytes'],
                  (total(of, 'read_bytes'), truth))
            evicted = how == 'warm' and truth['read_bytes'] > 0  # by a machine that is short of memory
            check(f'{how} reads: {"some folios" if how == "cold" else "no folio"} missed',
                  evicted or (how == 'cold') == (total(of, 'misses') > 0), total(of, 'misses'))
            check(f'{how} reads: {"no wait" if how == "warm" else "waits"} for I/O',
                  evicted or (how != 'warm') == (total(of, 'io_wait') > 0), total(of, 'io_wait'))
            away, rest = sum(total(of, c) for c in ('io_wait', 'sleep', 'runq')), truth['wall'] - truth['cpu']
            check(f'{how} reads: the calls lie within what the program measured', total(of, 'dur') <= truth['wall'], truth)
            check(f'{how} reads: the thread was not away for longer than it did not run',
                  away <= rest + truth['wall'] // 10 + len(of) * CPU_ERROR, away, truth)
        check('direct reads: what was read is what was asked for', truth['read_bytes'] == 16 << 20, truth)
    finally:
        disk.close()


class Spinner:
    """A program that keeps a CPU busy."""

    def __init__(self, cpu):
        self.process = subprocess.Popen(PYTHON + [f'import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass'])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def split(folder):
    """The wait for I/O, beside the requests of each call."""
    disk = Disk(folder)
    if not disk.device:
        return tap.skip('requests that calls wait for', 'no file system on a loop device can be mounted here')
    try:
        path = disk.mount + '/file'
        with open(path, 'wb') as f:
            f.write(os.urandom(1 << 20) * 16)
            os.fsync(f.fileno())
        for how in 'direct', 'cold':
            trace = folder + '/split-' + how
            python(trace, READS, path, how, beside='phases,block')
            of = rows(trace, 'where io_wait is not null | select start, dur, op, io_wait, io_queued, io_device')
            known = [row for row in of if row['io_queued'] is not None]
            device = {}
            for request in rows(trace, 'from block | where op_start is not null | select op_start, d2c'):
                device[request['op_start']] = device.get(request['op_start'], 0) + (request['d2c'] or 0)
            check(f'requests of {how} reads: the parts of nearly all waits are known', len(known) >= len(of) * 9 // 10,
                  len(known), len(of))
            tap.none(f'requests of {how} reads: no part exceeds the wait',
                     [row for row in known if row['io_queued'] + row['io_device'] > row['io_wait']][:3])
            tap.none(f'requests of {how} reads: none was longer in a device than its requests',
                     [row for row in known if row['io_device'] > device.get(row['start'], 0)][:3])
            check(f'requests of {how} reads: they were in the device', total(known, 'io_device') > 0, known[:3])
            if how == 'direct':
                check('requests of direct reads: the device is what calls waited for',
                      total(known, 'io_device') + total(known, 'io_queued') > total(known, 'io_wait') // 2,
                      [total(known, c) for c in ('io_wait', 'io_queued', 'io_device')])
    finally:
        disk.close()


def contention(folder):
    """A program that is woken often, of little weight, and one that spins on the same CPU."""
    trace, cpu = folder + '/contention', min(os.sched_getaffinity(0))
    with Spinner(cpu):
        truth = python(trace, '''
            import json, os, sys, threading, time
            r, w = os.pipe()
            writer = os.fork()
            if not writer:
                for i in range(100):
                    time.sleep(0.002)
                    os.write(w, b'x')
                os._exit(0)
            os.sched_setaffinity(0, [int(sys.argv[1])])
            os.nice(19)
            schedstat = os.open('/proc/thread-self/schedstat', os.O_RDONLY)
            delay, cpu, wall = int(os.pread(schedstat, 99, 0).split()[1]), time.thread_time_ns(), time.monotonic_ns()
            for i in range(100):
                os.read(r, 1)
            wall, cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu
            delay = int(os.pread(schedstat, 99, 0).split()[1]) - delay
            print(json.dumps({'delay': delay, 'wall': wall, 'cpu': cpu, 'tid': threading.get_native_id()}))
        ''', str(cpu))
    all_rows = rows(trace)
    of = [row for row in all_rows if row['op'] == 'read' and row['bytes'] == 1 and row['tid'] == truth['tid']]
    runq = total(of, 'runq')
    check_exact('beside a spinner', all_rows)
    check('beside a spinner: each byte was read', len(of) == 100, len(of))
    check('beside a spinner: it waited for its CPU, and for no I/O', runq > 0 and not total(of, 'io_wait'), runq)
    check('beside a spinner: no more than the time in which it did not run', runq <= truth['wall'] - truth['cpu'] + truth['wall'] // 10,
          runq, truth)
    # the rest it waited on its way back from a call
    check("beside a spinner: not more than the kernel's run_delay", runq <= truth['delay'] * 21 // 20 + len(of) * RUN_DELAY_ERROR,
          runq, truth)


def ends(folder):
    """Calls that a signal interrupts, that never return, that have not ended."""
    trace = folder + '/ends'
    truth = python(trace, '''
        import json, os, signal, subprocess, sys, time
        signal.signal(signal.SIGALRM, lambda *a: None)
        signal.siginterrupt(signal.SIGALRM, False)
        r, w = os.pipe()
        child = os.fork()
        if not child:
            os.read(r, 1)  # killed in it
        time.sleep(0.02)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        time.sleep(0.25)  # interrupted, and begun again
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = os.fork()
        if not left:
            os.close(1)
            os.close(2)
            time.sleep(30)
        print(json.dumps({'left': left}))
        sys.stdout.flush()
        time.sleep(0.05)
    ''')
    os.kill(truth['left'], signal.SIGKILL)
    all_rows = rows(trace)
    check_exact('calls that end in their own ways', all_rows)
    killed = [row for row in all_rows if (row['status'] or 0) & NORETURN and row['op'] == 'read']
    check('a read in which the process was killed: it slept', len(killed) == 1 and least(killed[0], 'sleep', 10 * MS), killed)
    broken = [row for row in all_rows if row['op'] == 'clock_nanosleep' and row['status'] and row['status'] & INTERRUPTED]
    check('a sleep that a signal interrupted', len(broken) == 1 and least(broken[0], 'sleep', 5 * MS), broken)
    left = [row for row in all_rows if (row['status'] or 0) & UNFINISHED and row['op'] == 'clock_nanosleep']
    check('a sleep that had not ended: its time so far', len(left) == 1 and least(left[0], 'sleep', left[0]['dur'] // 2), left)


def before(folder):
    """A process that was in a call when recording began."""
    trace = folder + '/before'
    program = subprocess.Popen(PYTHON + ['import os\nos.read(0, 1)\nfor i in range(100): os.getppid()'], stdin=subprocess.PIPE)
    time.sleep(0.3)  # until it is in its read
    recorder = subprocess.Popen([weir, 'record', '-q', '--phases', '-o', trace, '-p', str(program.pid)])
    wait_attached(recorder)
    program.communicate(b'x')
    recorder.wait()
    all_rows = rows(trace)
    old = [row for row in all_rows if row['start'] is None]
    check_exact('a process that runs already', all_rows)
    check('a call that began before the recording has no phases',
          len(old) == 1 and old[0]['dur'] is None and old[0]['sleep'] is None and old[0]['cpu_time'] is None, old)


def on_terminal(columns, *args):
    """What a terminal of this width shows, without its styles."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    process = subprocess.Popen([weir, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=dict(os.environ, PAGER='cat', TERM='xterm'))
    os.close(theirs)
    text = b''
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    process.wait()
    os.close(ours)
    return [re.sub('\x1b\\[[0-9;?]*[a-zA-Z]|\x1b[=>]', '', line) for line in text.decode().replace('\r', '').split('\n')]


def screens(folder):
    """report phases and trace --phases."""
    trace = folder + '/screens'
    python(trace, '''
        import os, time
        for i in range(4):
            time.sleep(0.01)
        r, w = os.pipe()
        if not os.fork():
            time.sleep(0.03)
            os.write(w, b'x')
            os._exit(0)
        os.read(r, 1)
        os.wait()
        print({})
    ''')
    of = [row for row in rows(trace, f'where class != wait | select {COLUMNS}') if not (row['status'] or 0) & UNFINISHED]
    told = json.loads(run(weir, 'report', 'phases', '--json', trace).stdout)['rows']
    check('report phases: as many calls, and as much time of each kind, as the rows have',
          [total(told, c) for c in ('calls', 'cpu', 'runq', 'io_wait', 'sleep')] ==
          [len(of)] + [sum(row[c] or 0 for row in of if is_known(row)) for c in ('cpu_time', 'runq', 'io_wait', 'sleep')],
          told[:3])
    tap.none('report phases: the phases of each line sum to its time',
             [row for row in told if row['cpu'] + row['runq'] + row['io_wait'] + row['sleep'] != row['time']][:3])
    for columns in 80, 200:
        lines = on_terminal(columns, 'report', 'phases', trace)
        check(f'report phases: at most {columns} columns, with every phase',
              max(columns_of(line) for line in lines) <= columns and
              re.match(r'calls +time +cpu +runq +io_wait +sleep', next((line for line in lines if 'calls' in line), '')), *lines[:4])
    lines = run(weir, 'trace', '--phases', '-i', trace).stdout.splitlines()
    check('trace --phases: what slept says so', any('nanosleep' in line and re.search(r'> \(.*sleep \d', line) for line in lines) and
          any('not known' not in line and line.endswith('>') for line in lines), lines[-5:])
    check('trace without --phases does not', not any('(CPU' in line for line in run(weir, 'trace', '-i', trace).stdout.splitlines()))


def without(folder):
    """The default: nothing of it."""
    trace = folder + '/without'
    r = run(weir, 'record', '-q', '-o', trace, '--', 'sleep', '0.01')
    all_rows = rows(trace) if r.returncode == 0 else []
    check('without --phases none are recorded', all_rows and
          all(row[c] is None for row in all_rows for c in ('io_wait', 'sleep', 'cpu_time', 'misses', 'read_bytes')), r.stderr)
    r = run(weir, 'report', 'phases', trace)
    check('report phases names the option that is missing', r.returncode == 0 and '--phases' in r.stderr and len(r.stdout.splitlines()) == 1, r.stderr)


def main():
    if os.geteuid():
        print('1..0 # SKIP needs root')
        return 0
    disks.alone()
    folder = tempfile.mkdtemp(prefix='weir-phases-', dir='/var/tmp')
    try:
        for test in sleeps, reads, split, contention, ends, before, screens, without:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                test(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
