#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""waits.py WEIR: the tables stall and press of a recording, against what the program itself counted and against plain sums of
its calls. Speaks TAP."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

PROGRAM = r'''
import errno, fcntl, json, os, socket, sys, threading, time
truth = {}
def note(name, began, n=1):
    t = truth.setdefault(name, [0, 0])
    t[0] += n
    t[1] += time.monotonic_ns() - began

# a name server that does not answer: waits of 20 ms
dead = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
dead.bind(('127.0.0.1', 0))
for i in range(5):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(0.02)
    began = time.monotonic_ns()
    s.sendto(b'query', dead.getsockname())
    try:
        s.recvfrom(100)
    except TimeoutError:
        note('dead', began)
    s.close()

# nobody listens: refused and tried again
free = socket.socket()
free.bind(('127.0.0.1', 0))
began = time.monotonic_ns()
for i in range(6):
    s = socket.socket()
    try:
        s.connect(free.getsockname())
    except ConnectionRefusedError:
        pass
    s.close()
    if i < 5:
        time.sleep(0.01)
note('refused', began, 6)

# a server with a server behind it; clients that wait for both
back, front = socket.socket(), socket.socket()
for s in back, front:
    s.bind(('127.0.0.1', 0))
    s.listen()
def serve_back():
    c, _ = back.accept()
    while c.recv(100):
        time.sleep(0.005)
        c.send(b'row')
def serve_front():
    b = socket.create_connection(back.getsockname())
    for i in range(8):
        c, _ = front.accept()
        c.recv(100)
        b.send(b'select')
        b.recv(100)
        c.send(b'page')
        c.close()
pids = []
for serve in serve_back, serve_front:
    pids.append(os.fork())
    if not pids[-1]:
        serve()
        os._exit(0)
for i in range(8):
    c = socket.create_connection(front.getsockname())
    began = time.monotonic_ns()
    c.send(b'get')
    c.recv(100)
    note('page', began)
    c.close()
    time.sleep(0.002)
for p in pids:
    os.waitpid(p, 0)

# a lock that another process holds
lock = os.open('lock', os.O_CREAT | os.O_RDWR)
r, w = os.pipe()
for i in range(4):
    pid = os.fork()
    if not pid:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        os.write(w, b'x')
        time.sleep(0.01)
        os._exit(0)
    os.read(r, 1)
    began = time.monotonic_ns()
    fcntl.lockf(lock, fcntl.LOCK_EX)
    note('lock', began)
    fcntl.lockf(lock, fcntl.LOCK_UN)
    os.waitpid(pid, 0)

# asked until it is there
until = time.monotonic() + 0.1
n = 0
began = time.monotonic_ns()
while not os.path.exists('flag'):
    n += 1
    time.sleep(0.005)
    if time.monotonic() > until:
        break
note('asked', began, n)

# and syncs
f = os.open('data', os.O_CREAT | os.O_WRONLY)
for i in range(50):
    os.write(f, b'x' * 100)
    os.fsync(f)
json.dump(truth, open('truth.json', 'w'))
'''

WAITS = set('''accept accept4 recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg connect poll ppoll select pselect6 epoll_wait epoll_pwait
    epoll_pwait2 nanosleep clock_nanosleep futex wait4 waitid flock fcntl pause semop semtimedop msgrcv rt_sigtimedwait
    rt_sigsuspend mq_timedreceive restart_syscall futex_waitv futex_wait io_getevents io_pgetevents io_uring_enter'''.split())
TRANSFERS = {'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'sendfile', 'splice', 'copy_file_range', 'vmsplice', 'tee'}
READS = {'read', 'readv', 'pread64', 'preadv', 'preadv2'}
FUTEX_WAITS = {0, 6, 9, 11, 13}
LOCKS = {6, 7, 37, 38}
NOWHERE = {'tmpfs', 'devtmpfs', 'proc', 'sysfs', 'cgroup', 'cgroup2', 'devpts', 'ramfs', 'tracefs', 'debugfs', 'mqueue'}
WRITES = {'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'sendfile', 'fallocate'}
SLEPT, UNFINISHED, NO_START = 1 << 10, 1 << 0, 1 << 6


def is_wait(c, files):
    """A call that waited for somebody, a lock, or time."""
    if not (c['status'] or 0) & (SLEPT | UNFINISHED | NO_START) and not (c['class'] == 'wait' and c['dur'] >= 50000):
        return False
    if c['op'] in READS:
        return c['class'] == 'wait'
    if c['op'] in TRANSFERS:
        return files.get(c['file_id'], {}).get('type') in ('socket', 'pipe', 'char')
    if c['op'] == 'futex':
        return c['a1'] & 0x7f in FUTEX_WAITS
    if c['op'] == 'fcntl':
        return c['a1'] in LOCKS
    return c['op'] in WAITS


def main():
    weir = os.path.realpath(sys.argv[1])
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    tap = Tap()

    def query(q):
        out = subprocess.run([weir, 'query', '--json', '-i', 't.trace', q], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)['rows']

    with tempfile.TemporaryDirectory(prefix='weir-waits-') as folder:
        os.chdir(folder)
        subprocess.run([weir, 'record', '-o', 't.trace', '--', sys.executable, '-c', PROGRAM], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open('truth.json', encoding='utf-8') as f:
            truth = json.load(f)
        stalls = query('from stall | select what, op, err, times, timeouts, time, paused, longest, path, peer_id, first_start, last_stop')
        calls = query('select start, dur, op, class, status, a1, bytes, thread_id, file_id')

        files = {f['id']: f for f in query('from file | select id, dev, fs, type')}

        # ---- what the program counted ----
        def own(what, op, test=lambda r: True):
            return [r for r in stalls if r['what'] == what and r['op'] == op and test(r)]

        def near(name, rows, key, times=lambda r: r['times']):
            n, ns = truth[key]
            good = len(rows) == 1 and times(rows[0]) == n and rows[0]['time'] <= ns
            tap.check(name, good, truth[key], rows)

        near('a server that does not answer is waited for', own('work', 'poll'), 'dead', lambda r: r['timeouts'])
        near('a connection that is refused is tried again', own('retry', 'connect'), 'refused')
        fcntl = own('work', 'fcntl')
        near('a lock that another process holds', fcntl, 'lock')
        tap.check('the lock is named', fcntl and fcntl[0]['path'].endswith('/lock'), fcntl)
        near('a file is asked for until it is there',
             own('poll', 'newfstatat', lambda r: (r['path'] or '').endswith('/flag')), 'asked')
        answers = own('work', 'recvfrom')
        pages = [r for r in answers if r['times'] <= 8 and r['time'] <= truth['page'][1]]
        tap.check('clients and the server in the middle wait for answers', len(answers) == 2 == len(pages), truth, answers)
        tap.check('waiting for requests is idle', sum(r['times'] for r in own('idle', 'accept4')) >= 1, stalls)

        # ---- plain sums ----
        waits = [c for c in calls if is_wait(c, files)]
        by_op = collections.Counter()
        for c in waits:
            by_op[c['op']] += c['dur']
        got = collections.Counter()
        for r in stalls:
            if r['what'] in ('idle', 'work'):
                got[r['op']] += r['time']
        paused = sum(r['paused'] for r in stalls)
        tap.check('each wait is in one row, or a pause of one', sum(by_op.values()) == sum(got.values()) + paused,
                  by_op, got, paused)
        tap.none('no operation has more than its waits', [f'{op} {got[op]} {by_op[op]}' for op in got if got[op] > by_op[op]])
        tap.none('a row is as long as its waits', [str(r) for r in stalls if r['longest'] > r['time']])

        # ---- press ----
        threads = {t['id']: (t['process_id'], t['comm']) for t in query('from thread | select id, process_id, comm')}
        want = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
        # times are those since the recording began, windows those of the clock
        origin = min(r['window_start'] for r in query('from press')) % 10**8 - 10**8
        for c in calls:
            f = files.get(c['file_id'])
            if not f or f['type'] not in ('regular', 'directory', 'block') or f['fs'] in NOWHERE or c['start'] is None:
                continue
            slept = (c['status'] or 0) & SLEPT
            if not (c['class'] == 'sync' or c['class'] in ('data', 'meta') and (c['op'] in WRITES or slept)
                    and c['op'] not in ('flock', 'fcntl')):
                continue
            start = c['start'] - origin
            stop = start + c['dur']
            for w in range(start // 10**8, stop // 10**8 + 1):
                cell = want[w * 10**8 + origin, f['dev'], *threads[c['thread_id']]]
                cell[2] += min(stop, (w + 1) * 10**8) - max(start, w * 10**8)
                if w == stop // 10**8:
                    cell[0] += 1
                    cell[1] += c['bytes'] or 0
                    cell[3] = max(cell[3], c['dur'])
                    cell[4] += c['class'] == 'sync'
        have = {(r['window_start'], r['dev'], *threads[r['thread_id']]):
                [r['calls'], r['bytes'], r['time'], r['longest'], r['syncs']] for r in query('from press') if r['process_id'] is not None}
        tap.check('there is I/O on a device', sum(v[4] for v in have.values()) == 50, have)
        few = len({k[2:] for k in want}) <= 64
        tap.none('windows are the sums of their calls',
                 [f'{k} {want.get(k)} {have.get(k)}' for k in have.keys() | want.keys() if have.get(k) != want.get(k)] if few else [])
        os.chdir('/')
    return tap.end()


sys.exit(main())
