#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py WEIR: `weir periods --follow` beside a recording. The program goes on only once the matches of its last step were printed; in
the end all of them are what `weir periods` finds in the trace. TAP on standard output."""
import csv
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap, wait_attached  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
STEPS, FILES = 4, 5
PROGRAM = f"""
import os, sys, time
for step in range({STEPS}):
    sys.stdin.readline()
    for i in range({FILES}):
        f = os.open('data', os.O_RDONLY)
        for _ in range(i + 1):
            os.pread(f, 100, 0)
        if i == 2:
            time.sleep(0.15)
        os.close(f)
sys.stdin.readline()
left = os.open('data', os.O_RDONLY)
"""
OPEN = 'file : op == openat && path ~ "**/data" : op == close && end.file == begin.file : fd = begin.ret, last = end.start - begin.start'
SLEEP = 'rest(file) : enter op == clock_nanosleep && thread == parent.thread : op == clock_nanosleep && end.thread == begin.thread'
PATIENCE = 120  # s; then something is wrong


def env():
    return {**os.environ, 'NO_COLOR': '1', 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'}


def start(folder, *args, **more):
    return subprocess.Popen([weir, *args], cwd=folder, env=env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class Lines:
    """Whole lines of what a process prints, with patience."""
    def __init__(self, process):
        self.fd, self.rest = process.stdout.fileno(), b''
        self.wait = selectors.DefaultSelector()
        self.wait.register(self.fd, selectors.EVENT_READ)

    def next(self, until):
        while b'\n' not in self.rest:
            if not self.wait.select(max(until - time.monotonic(), 0)):
                return None
            got = os.read(self.fd, 65536)
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b'\n', 1)
        return line.decode()


def rows_of(document):
    return [{**r, 'start': r['start'] + int(document['origin'])} for r in document['rows']]


def key(r):
    return tuple(r[c] for c in ('start', 'dur', 'name', 'status', 'number', 'parent', 'thread_id', 'attributes'))


def followed(folder, recorder, follower):
    """All documents. Each step is told to go on when the matches of the one before are there."""
    lines, rows, documents, waits = Lines(follower), [], [], []
    for step in range(STEPS + 1):
        recorder.stdin.write(b'\n')
        recorder.stdin.flush()
        began, until = time.monotonic(), time.monotonic() + PATIENCE
        while step < STEPS and sum(r['name'] == 'file' for r in rows) < FILES * (step + 1):
            line = lines.next(until)
            if line is None:
                return documents, rows, step
            documents.append(json.loads(line))
            rows += rows_of(documents[-1])
        waits.append(time.monotonic() - began)
    recorder.stdin.close()
    while (line := lines.next(time.monotonic() + PATIENCE)) is not None:
        documents.append(json.loads(line))
        rows += rows_of(documents[-1])
    print(f'# a step and its matches took {", ".join(f"{w:.2f}" for w in waits[:-1])} s')
    return documents, rows, None


def live(folder):
    recorder = start(folder, 'record', '-q', '-o', 't.trace', '--', 'python3', '-c', PROGRAM, stdin=subprocess.PIPE)
    wait_attached(recorder)
    until = time.monotonic() + PATIENCE
    while not os.path.exists(f'{folder}/t.trace') and time.monotonic() < until:
        time.sleep(0.05)
    follower = start(folder, 'periods', '--follow', '--json', '-i', 't.trace', OPEN, SLEEP)
    documents, rows, stuck = followed(folder, recorder, follower)
    tap.check('matches are printed as they end, while the program waits for them', stuck is None, stuck, rows)
    recorder.stdin.close() if stuck is not None else None
    recorder.wait(PATIENCE)
    status = follower.wait(PATIENCE)
    tap.check('it ends with the recording', status == 0, status, follower.stderr.read())
    whole = json.loads(subprocess.run([weir, 'periods', '--json', '-i', 't.trace', OPEN, SLEEP], cwd=folder, env=env(),
                                      capture_output=True, check=True).stdout)
    last = documents[-1]
    names = ('file', 'rest') if not last['late'] else ('file',)  # what came late on a machine that is busy is counted
    got, want = ([sorted(key(r) for r in of if r['name'] in names) for of in (rows, rows_of(whole))])
    tap.check(f'the same {len(want)} as of the trace that ended, {last["late"]} late', got == want and len(want) > STEPS * FILES, got, want)
    tap.check('counts are those of the whole', all(last[c] == whole[c] for c in ('calls', 'cut', 'running')) or last['late'], last, whole)
    tap.check('what is open when the trace ends runs, and comes last', rows[-1]['status'] == 'running' and whole['running'] == 1, rows[-1])


def ended(folder):
    """Of a trace that has ended: all at once, in every format"""
    def run(*args):
        return subprocess.run([weir, 'periods', *args], cwd=folder, env=env(), capture_output=True, text=True, timeout=PATIENCE)

    args = ('-i', 't.trace', OPEN, SLEEP)
    want = sorted(tuple(r.items()) for r in csv.DictReader(run('--csv', *args).stdout.splitlines()))
    got = sorted(tuple(r.items()) for r in csv.DictReader(run('--follow', '--csv', *args).stdout.splitlines()))
    tap.check('comma-separated values: the same rows', got == want and got, got, want)
    text = run('--follow', '--select', 'rest', *args).stdout.splitlines()
    tap.check('a table: a line of titles, then the rows', len(text) == 1 + STEPS and 'attributes' in text[0] and
              all(' rest ' in line for line in text[1:]), *text)
    bad = []
    for more in (['--keep'], ['--aggregate-by', 'file'], ['--group-by', 'file.fd'], ['--order-by', 'time'], ['-i', 'u.trace']):
        with open(f'{folder}/u.trace', 'wb') as f, open(f'{folder}/t.trace', 'rb') as t:
            f.write(t.read())
        p = run('--follow', *more, *args)
        if p.returncode != 2 or len(p.stderr.splitlines()) != 1 or '--follow' not in p.stderr:
            bad.append(f'{more}: exit {p.returncode}, {p.stderr!r}')
    tap.none('what needs a whole trace is refused', bad)


def texts(folder):
    """Texts that nothing needs any more are forgotten meanwhile: what is open and what waits keeps its own"""
    subprocess.run([weir, 'synth', '-q', '-o', 's.trace', '--rows', '220000', '--seed', '3'], cwd=folder, check=True)
    args = [weir, 'periods', '--csv', '-i', 's.trace',
            'outer : op == openat : op == close && comm == begin.comm && path == begin.path : p = begin.path, s = text(begin.stop)',
            'inner(outer) : op in (pread64, read, write, close) && text(dur) != "" && comm == parent.comm : thread == begin.thread && text(stop) != text(begin.stop) : s = text(begin.stop)']
    got, want = (sorted(subprocess.run([*args, *more], cwd=folder, env=env(), capture_output=True, text=True, check=True, timeout=PATIENCE).stdout.splitlines())
                 for more in (['--follow'], []))
    tap.check(f'the same {len(want)} rows, with texts that are forgotten', got == want and len(want) > 1000, len(got),
              *sorted(set(got) ^ set(want))[:6])


def main():
    if os.geteuid() != 0:
        tap.skip('periods of a growing trace', 'needs root')
        return tap.end()
    with tempfile.TemporaryDirectory(prefix='weir-follow-') as folder:
        with open(f'{folder}/data', 'wb') as f:
            f.write(bytes(1000))
        live(folder)
        ended(folder)
        texts(folder)
    return tap.end()


sys.exit(main())
