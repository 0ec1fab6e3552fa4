#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""habit.py WEIR: the tables `habit` and `fdlife` against what a program knows that it did, and against a plain recomputation from
the calls of a recorded and of a synthetic trace. Speaks TAP."""
import collections
import csv
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

TIMES = 60
PROGRAM = '''
import os, socket, sys, threading, time
N = int(sys.argv[1])
def write_line_by_line():
    for i in range(N):
        fd = os.open('app.log', os.O_WRONLY | os.O_CREAT)
        os.lseek(fd, 0, 2)
        os.write(fd, b'line\\n')
        os.fstat(fd)
        os.close(fd)
def poll_for_a_file():
    for i in range(N):
        try:
            os.stat(here + '/never')
        except OSError:
            pass
        time.sleep(0.0005)
def probe():
    for i in range(N):
        fd = os.open(here + '/probe.%d' % i, os.O_CREAT | os.O_WRONLY)
        os.write(fd, b'x')
        os.fsync(fd)
        os.close(fd)
        os.unlink(here + '/probe.%d' % i)
def copy():
    a = os.open('in.bin', os.O_RDWR | os.O_CREAT)
    os.write(a, b'x' * 4096 * N)
    os.lseek(a, 0, 0)
    b = os.open('out.bin', os.O_RDWR | os.O_CREAT)
    for i in range(N):
        os.write(b, os.read(a, 4096))
    os.close(a)
    os.close(b)
def serve(s):
    for i in range(N):
        c, x = s.accept()
        c.recv(100)
        c.sendall(b'answer')
        c.close()
def ask():
    for i in range(N):
        c = socket.socket()
        c.connect(('127.0.0.1', port))
        c.sendall(b'question')
        c.recv(100)
        c.close()
def leak():
    for i in range(N):
        leaked.append(os.open(here + '/leak.%d' % i, os.O_CREAT | os.O_WRONLY))
        os.write(leaked[-1], b'0123456789')
        os.unlink(here + '/leak.%d' % i)
        time.sleep(0.002)
here = os.path.realpath('.')
leaked = []
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(5)
port = s.getsockname()[1]
for work in (write_line_by_line, poll_for_a_file, probe, copy, leak):
    work()
t = threading.Thread(target=serve, args=(s,))
t.start()
ask()
t.join()
open_now = len(os.listdir('/proc/self/fd')) - 1
print(port, open_now)
'''
STEPS_MAX, FILES, PREFIX_MAX = 16, 8, 4
OPENS = {'open', 'openat', 'creat', 'openat2', 'socket', 'eventfd2', 'epoll_create1', 'memfd_create', 'timerfd_create', 'signalfd4',
         'inotify_init1', 'pipe2', 'pipe', 'socketpair', 'dup', 'dup2', 'dup3', 'accept', 'accept4'}
BY_PATH = {'stat', 'lstat', 'newfstatat', 'access', 'faccessat', 'faccessat2', 'readlink', 'readlinkat', 'unlink', 'unlinkat', 'rename',
           'renameat', 'renameat2', 'link', 'linkat', 'mkdir', 'mkdirat', 'rmdir', 'chmod', 'fchmodat', 'chdir', 'getcwd', 'truncate',
           'statfs', 'symlink', 'symlinkat', 'statx', 'utimensat', 'chown', 'lchown', 'fchownat', 'inotify_add_watch'}
LEFT_OUT = {'futex', 'sched_yield', 'restart_syscall', 'exit', 'exit_group'}
UNFINISHED, NO_START = 1, 64


def query(weir, trace, text):
    out = subprocess.run([weir, 'query', '-i', trace, text, '--csv'], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def calls_of(weir, trace):
    """The calls in order of their end, with threads and files over their versions."""
    tasks = {r['id']: r['task'] for r in query(weir, trace, 'from thread | select id, task')}
    inodes = {r['id']: r['inode'] for r in query(weir, trace, 'from file | select id, inode')}
    rows = query(weir, trace, 'from op | select start, dur, thread_id, op, class, err, ret, bytes, file_id, file2_id, status')
    rows = [r for r in rows if r['start'] and not int(r['status'] or 0) & (UNFINISHED | NO_START)]
    for r in rows:
        r['task'] = tasks.get(r['thread_id'], r['thread_id'])
        r['file'] = inodes.get(r['file_id'], r['file_id'])
        r['file2'] = inodes.get(r['file2_id'], r['file2_id'])
        r['end'] = int(r['start']) + int(r['dur'])
    rows.sort(key=lambda r: r['end'])
    return rows


class Session:
    def __init__(self):
        self.ops, self.depth, self.whole = [], 0, False
        self.calls = self.bytes = self.time = self.errors = 0

    def take(self, r):
        if not self.ops or self.ops[-1] != r['op']:
            self.ops.append(r['op'])
        self.calls += 1
        self.bytes += int(r['bytes'] or 0)
        self.time += int(r['dur'])
        self.errors += r['err'] != ''


class Thread:
    """Sessions of a thread with its last files; those that are open wait without a limit."""
    def __init__(self, found):
        self.at, self.parked, self.found = collections.OrderedDict(), {}, found

    def end(self, task, s):
        if s.whole and not s.depth and 2 <= len(s.ops) <= STEPS_MAX:
            sums = self.found[task, ' '.join(s.ops)]
            for i, v in enumerate((1, s.calls, s.bytes, s.time, s.errors)):
                sums[i] += v

    def leave(self, task, file, s):
        if s.whole and s.depth:
            self.parked[file] = s
        else:
            self.end(task, s)

    def call(self, r, file):
        task, op = r['task'], r['op']
        opens = op in OPENS and not r['err']
        s = self.at.get(file)
        if s is None:
            s = self.parked.pop(file, None)
            if s is None:
                if not opens and op != 'connect' and op not in BY_PATH:
                    return
                s = Session()
            if len(self.at) == FILES:
                old, gone = self.at.popitem(last=False)
                self.leave(task, old, gone)
            self.at[file] = s
        self.at.move_to_end(file)
        starts = opens or (op == 'connect' and not s.whole)
        if starts and not s.depth:
            self.end(task, s)
            if s.whole or len(s.ops) > PREFIX_MAX:
                s = self.at[file] = Session()
            s.whole = True
        s.depth += starts
        s.take(r)
        if op == 'close' and s.depth:
            s.depth -= 1
        elif op == 'close' and not s.whole:
            self.at[file] = Session()


def sessions(rows):
    """task, operations -> times, calls, bytes, time, errors"""
    found = collections.defaultdict(lambda: [0] * 5)
    threads = collections.defaultdict(lambda: Thread(found))
    for r in rows:
        if r['op'] in LEFT_OUT or (r['class'] == 'other' and not r['file']):
            continue
        file = r['file2'] if r['op'] in ('accept', 'accept4') and r['file2'] else r['file']
        if file:
            threads[r['task']].call(r, file)
        if r['op'] in ('sendfile', 'splice', 'copy_file_range') and r['file2'] and r['file2'] != file:
            threads[r['task']].call(r, r['file2'])
    for task, t in threads.items():
        for file, s in list(t.at.items()):
            t.leave(task, file, s)
    return found


def check_sessions(weir, trace, check, name):
    tasks = {r['id']: r['task'] for r in query(weir, trace, 'from thread | select id, task')}
    want = {k: v for k, v in sessions(calls_of(weir, trace)).items() if v[0] >= 3}
    have = collections.defaultdict(lambda: [0] * 5)
    inexact = 0
    for r in query(weir, trace, 'from habit | where scope == "file"'):
        sums = have[tasks[r['thread_id']], r['sequence'].replace('+', '')]
        inexact += int(r['inexact'])
        for i, column in enumerate(('times', 'calls', 'bytes', 'time', 'errors')):
            sums[i] += int(r[column])
    def same(h, w):
        # what ran less than three times with the files of the others has no row
        return h == w or (h and w and 0 < w[0] - h[0] < 3 and all(a <= b for a, b in zip(h, w)))
    bad = [f'{k}: {have.get(k)}, want {want.get(k)}' for k in sorted(set(want) | set(have)) if not same(have.get(k), want.get(k))]
    check(f'{name}: {len(want)} sequences on one file are those of a plain recomputation', bool(want) and not bad, *bad[:10])


def one(rows, **wanted):
    """The row in which these columns hold this."""
    found = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    return found[0] if len(found) == 1 else collections.defaultdict(str, wanted, rows=len(found))


def check_program(weir, folder, check):
    trace = os.path.join(folder, 'trace')
    p = subprocess.run([weir, 'record', '-q', '-o', trace, '--', sys.executable, '-c', PROGRAM, str(TIMES)], cwd=folder,
                       capture_output=True, text=True, check=False)
    words = p.stdout.split()
    check('recorded', p.returncode == 0 and len(words) == 2, p.stdout, p.stderr)
    if p.returncode or len(words) != 2:
        return None
    port, open_now = words[0], int(words[1])
    rows = query(weir, trace, 'from habit')
    for r in rows:
        # a C library's choice; the name of the folder has # where it looks random
        r['sequence'] = r['sequence'].replace('newfstatat', 'stat').replace('fstat', 'stat')
        r['pattern'] = os.path.basename(r['pattern']) if r['pattern'].startswith('/') else r['pattern']
    for scope, sequence, pattern, files, calls, size, errors in (
            ('file', 'openat lseek write stat close', 'app.log', 1, 5, 5, 0),
            ('thread', 'stat clock_nanosleep', 'never', 1, 2, 0, 1),
            ('file', 'openat write fsync close unlink', 'probe.#', TIMES, 5, 1, 0),
            ('thread', 'read write', '*.bin', 2, 2, 8192, 0),
            ('thread', 'openat write unlink clock_nanosleep', 'leak.#', TIMES, 4, 10, 0),
            ('file', 'socket connect sendto recvfrom close', f'tcp #->127.0.0.1:{port}', TIMES, 5, 14, 0)):
        r = one(rows, scope=scope, sequence=sequence, pattern=pattern)
        have = [r[k] for k in ('files', 'times', 'calls', 'bytes', 'errors', 'inexact')]
        want = [str(v) for v in (files, TIMES, calls * TIMES, size * TIMES, errors * TIMES, 0)]
        check(f'{sequence}, {TIMES} times', have == want, r, want, *(x['sequence'] + ' ' + x['pattern'] for x in rows[:20]))
    rows = query(weir, trace, 'from fdlife')
    for pattern, opened, closed, end, deleted, size, requests in (
            ('leak.#', TIMES, 0, TIMES, TIMES, 10 * TIMES, 0), ('app.log', TIMES, TIMES, 0, 0, 0, 0),
            (f'tcp #->127.0.0.1:{port}', TIMES, TIMES, 0, 0, 0, TIMES)):
        found = [r for r in rows if r['pattern'] == pattern or os.path.basename(r['pattern']) == pattern]
        have = [found[0][k] for k in ('opened', 'closed', 'open_end', 'deleted', 'deleted_bytes', 'requests', 'inexact')] if found else []
        if pattern == 'leak.#':
            check('leaked descriptors rise', found and int(found[0]['open_most']) == TIMES and open_now >= TIMES, found, open_now)
        want = [str(v) for v in (opened, closed, end, deleted, size, requests, 0)]
        check(f'descriptors of {pattern.replace("#", "*")}', len(found) == 1 and have == want, found, want)
    return trace


def main():
    weir = os.path.realpath(sys.argv[1])
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        trace = check_program(weir, folder, tap.check)
        if trace:
            check_sessions(weir, trace, tap.check, 'recorded')
        made = os.path.join(folder, 'made')
        subprocess.run([weir, 'synth', '-q', '-o', made, '--rows', '150000', '--seed', '3'], check=True)
        check_sessions(weir, made, tap.check, 'synthetic')
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
