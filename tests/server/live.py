#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""live.py WEIR: a trace that grows while it is shown: events, generations, what is kept and what is not."""
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from client import Serve, Tap

weir = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp(prefix='weir-serve-live-')
tap = Tap()
check = tap.check
ROWS = 3000000


def read_events(s, out):
    c = http.client.HTTPConnection('127.0.0.1', s.port, timeout=120)
    c.request('GET', '/api/v1/events', headers={'Authorization': f'Bearer {s.token}'})
    r = c.getresponse()
    name = None
    for line in r:
        line = line.decode().rstrip('\n')
        if line.startswith('event: '):
            name = line[7:]
        elif line.startswith('data: '):
            out.append((name, json.loads(line[6:])))
            if name == 'end':
                break
    c.close()


def ask_on(s, writer, number, out):
    """Asks anew each time, while others ask and blocks come; 503: there is no engine here."""
    while writer.poll() is None:
        out.append(s.ask('query', q=f'by comm | count() | head {len(out) + 1}' if number else f'by file | count() | head {len(out) + 1}')[0])


def main():
    path = os.path.join(folder, 'l.trace')
    writer = subprocess.Popen([weir, 'synth', '-q', '-o', path, '--rows', str(ROWS), '--seed', '4'])
    while not os.path.exists(path) or os.path.getsize(path) < 100000:
        time.sleep(0.01)
    with Serve(weir, path) as s:
        live = s.get('trace')['live']
        heard = [[] for _ in range(10)]
        viewers = [threading.Thread(target=read_events, args=(s, h), daemon=True) for h in heard]
        for v in viewers:
            v.start()
        calls, asked = [], []
        askers = [threading.Thread(target=ask_on, args=(s, writer, i, asked), daemon=True) for i in range(2)]
        for a in askers:
            a.start()
        while writer.poll() is None:
            calls.append(s.get('overview', width=100)['totals']['calls'])
        writer.wait()
        for a in askers:
            a.join(120)
        check('queries are answered while it grows', asked and set(asked) <= {200, 408, 503}, asked)
        for v in viewers:
            v.join(120)
        check('what grows is live', live is True or len(calls) < 2)
        check('ten viewers hear the end', all(h and h[-1][0] == 'end' for h in heard), [len(h) for h in heard])
        for h in heard:
            generations = [d['generation'] for _, d in h]
            if generations != sorted(set(generations)):
                check('generations grow', False, generations)
                break
        else:
            check('generations grow', True)
        check('at the end all of it is told', all(h[-1][1]['ops'] == ROWS and h[-1][1]['live'] is False for h in heard if h))
        t = s.get('overview', width=100)['totals']
        check('and in the sums', t['calls'] + t['running'] == ROWS, t)
        check('sums only grew', calls == sorted(calls), calls)
        etag = s.ask('trace')[1]['etag']
        check('what has ended stays', s.ask('trace', headers={'If-None-Match': etag})[0] == 304)
    # a viewer holds no stop up
    writer = subprocess.Popen([weir, 'synth', '-q', '-o', os.path.join(folder, 'm.trace'), '--rows', str(ROWS * 10)])
    while not os.path.exists(os.path.join(folder, 'm.trace')):
        time.sleep(0.01)
    with Serve(weir, os.path.join(folder, 'm.trace')) as s:
        v = threading.Thread(target=read_events, args=(s, []), daemon=True)
        v.start()
        time.sleep(0.5)
        for sig in (signal.SIGTERM,):
            code = s.stop(sig)
            check('SIGTERM ends it while somebody looks on', code == 0, code, s.said)
    writer.terminate()
    writer.wait()
    served_folder()
    annotated()
    blocked()
    blocked_elsewhere()
    began_before()
    return tap.end()


def annotated():
    """A table that a user appends to a closed trace is known without a new start."""
    path = os.path.join(folder, 'c.trace')
    subprocess.run([weir, 'synth', '-q', '-o', path, '--rows', '5000'], check=True)
    with Serve(weir, path) as s:
        before = s.get('trace')['generation']
        if subprocess.run([weir, 'annotate', path, "SELECT 'db_bench' AS comm, 7 AS shade"], capture_output=True, check=False).returncode:
            return  # there is no engine here
        until = time.monotonic() + 300
        while s.get('trace')['generation'] == before and time.monotonic() < until:
            time.sleep(0.05)
        status, _, body = s.ask('query', q='annotation.shade == 7 | count()')
        check('what a user appends is known', status == 200 and json.loads(body)['rows'][0]['count'] > 0, status, body[:300])


BLOCKS = '''
import os, threading, time
a, b = os.pipe()
t = threading.Thread(target=os.read, args=(a, 1))
t.start()
until = time.monotonic() + 4
while time.monotonic() < until:
    time.sleep(0.1)
os.write(b, b'x')
t.join()
time.sleep(3)
'''


def blocked():
    """A call that does not return is drawn before it does, up to now, and once when it has."""
    if os.geteuid():
        return
    path = os.path.join(folder, 'b.trace')
    recorder = subprocess.Popen([weir, 'record', '-q', '-o', path, '--', sys.executable, '-c', BLOCKS])
    until = time.monotonic() + 60
    while (not os.path.exists(path) or os.path.getsize(path) < 1000) and time.monotonic() < until:
        time.sleep(0.05)

    def reads(s, **scope):
        lanes = s.get('lanes')['lanes']
        d = s.columns('timeline', lanes=','.join(str(x['id']) for x in lanes) or '0', width=1000, **scope)
        last = s.get('trace')['last']
        rows = [dict(zip(d, values)) for values in zip(*d.values())]
        return [r for r in rows if r['op'] == 'read' and r['dur'] > 900e6], last

    with Serve(weir, path) as s:
        runs, twice = [], []
        while recorder.poll() is None and time.monotonic() < until:
            found, last = reads(s)
            runs += [(r['dur'], r['start'] + r['dur'], last) for r in found if r['row'] == -1]
            twice += [found] if len(found) > 1 else []
            time.sleep(0.2)
        check('a call that blocks is drawn before it returns', len(runs) > 3, runs)
        check('it grows with the trace', runs and max(d for d, _, _ in runs) > 2e9 and all(end <= last + 1e9 for _, end, last in runs), runs)
        check('never as two', not twice, twice)
        filtered = [len(reads(s, filter=f)[0]) for f in ('op == read', 'op == write')]
        until = time.monotonic() + 20
        while s.get('trace')['live'] and time.monotonic() < until:
            time.sleep(0.1)
        found, _ = reads(s)
        check('and is one call once it has returned', [r['row'] >= 0 and r['dur'] > 3.5e9 for r in found] == [True], found)
        check('as a filter has it', filtered == [1, 0], filtered)


ELSEWHERE = '''
import os, socket, sys, threading, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[2])
s.listen()
fd = os.open(sys.argv[1], os.O_RDWR)
for call in (s.accept, lambda: os.read(fd, 1)):
    threading.Thread(target=call, daemon=True).start()
time.sleep(4)
os._exit(0)
'''


def blocked_elsewhere():
    """With a selection by path, an accept() that waits is not drawn: its socket is not selected."""
    if os.geteuid():
        return
    path, fifo = os.path.join(folder, 'e.trace'), os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    recorder = subprocess.Popen([weir, 'record', '-q', '-P', fifo, '-o', path, '--', sys.executable, '-c', ELSEWHERE, fifo,
                                 os.path.join(folder, 'socket')])
    until = time.monotonic() + 60
    while (not os.path.exists(path) or os.path.getsize(path) < 1000) and time.monotonic() < until:
        time.sleep(0.05)
    drawn = set()
    with Serve(weir, path) as s:
        while recorder.poll() is None and time.monotonic() < until:
            lanes = s.get('lanes')['lanes']
            d = s.columns('timeline', lanes=','.join(str(x['id']) for x in lanes) or '0', width=1000)
            drawn |= {op for op, row in zip(d['op'], d['row']) if row == -1}
            time.sleep(0.2)
    check('of calls that block those are drawn that are selected', drawn == {'read'}, drawn)


WAITS = '''
import os, threading, time
fd, other = os.pipe()
threading.Thread(target=os.read, args=(fd, 1), daemon=True).start()
print(flush=True)
while True:
    time.sleep(0.01)
'''


def began_before():
    """A call that began before the recording and outlasts it is drawn up to its end, however much is on the screen; its thread counts."""
    if os.geteuid():
        return
    path = os.path.join(folder, 'w.trace')
    waits = subprocess.Popen([sys.executable, '-c', WAITS], stdout=subprocess.PIPE)
    waits.stdout.readline()
    try:
        subprocess.run([weir, 'record', '-q', '-o', path, '--duration', '0.5s', '-p', str(waits.pid)], check=True)
    finally:
        waits.kill()
        waits.wait()
    with Serve(weir, path) as s:
        trace = s.get('trace')
        last = trace['last']
        check('the pages can tell what was selected', trace['selection'] == f'-p {waits.pid}', trace['selection'])
        lanes = ','.join(str(x['id']) for x in s.get('lanes')['lanes'])
        for margin in (0, last):
            d = s.columns('timeline', lanes=lanes, width=1000, **{'from': -margin, 'to': last + margin})
            found = [(start, start + dur) for op, start, dur in zip(d['op'], d['start'], d['dur']) if op == 'read']
            check(f'a read that began before the recording, drawn with a margin of {margin}', len(found) == 1 and
                  0 <= found[0][0] < last / 2 and found[0][1] == last, found, last)
        check('a thread of which no call returned is one of the threads', s.get('overview')['totals']['threads'] == 2,
              s.get('overview')['totals'])


def served_folder():
    """A folder in which no recording runs: events tell of traces that come, and nothing ends."""
    many = os.path.join(folder, 'many')
    os.mkdir(many)

    def synth(name, seed):
        subprocess.run([weir, 'synth', '-q', '-o', os.path.join(folder, name), '--rows', '5000', '--seed', str(seed)], check=True)
        os.rename(os.path.join(folder, name), os.path.join(many, name))

    synth('a.trace', 1)
    with Serve(weir, many) as s:
        t = s.get('trace')
        check('a folder is followed, though nothing is live', t['live'] is False and t['follow'] is True, t)
        heard = []
        v = threading.Thread(target=read_events, args=(s, heard), daemon=True)
        v.start()
        synth('b.trace', 2)
        until = time.monotonic() + 300
        while not any(d['ops'] == 10000 for _, d in heard) and v.is_alive() and time.monotonic() < until:
            time.sleep(0.05)
        check('a trace that came is told', heard and heard[-1][0] == 'trace' and heard[-1][1]['ops'] == 10000 and
              len(heard[-1][1]['traces']) == 2, heard[-1:])
        check('and who listens goes on to', v.is_alive())
        check('it ends while somebody listens', s.stop() == 0, s.said)


try:
    sys.exit(main())
finally:
    shutil.rmtree(folder, ignore_errors=True)
