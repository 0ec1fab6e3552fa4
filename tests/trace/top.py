#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top.py WEIR: `weir top` on a pseudo-terminal: the host, a command and a trace; every key, and sizes of the window down to
nothing. Speaks TAP."""
import fcntl
import os
import signal
import struct
import subprocess
import sys
import tempfile
import termios

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'common'), os.path.join(HERE, '..', 'query_cli')]
from tap import Tap  # noqa: E402
from terminal import Terminal  # noqa: E402

SLOW_S = 60  # a machine that is busy, a program full of checks
tap = Tap()
ok = tap.check


def resize(t, rows, columns):
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def headings(t, what):
    """Each key that chooses a grouping changes the heading."""
    for key, heading in (('o', 'OPERATION'), ('t', 'THREAD'), ('f', 'FILE'), ('e', 'ERROR'), ('p', 'PROCESS')):
        t.send(key)
        ok(f'{what}: {key}', t.expect(heading, SLOW_S), t.output[-500:].decode(errors='replace'))


def goes_into(weir, folder):
    """What iotop shows; the processes of a file, the files of a process; nothing that is opened is empty."""
    for columns in (80, 200):
        load = subprocess.Popen(['sh', '-c', 'while :; do cat /etc/passwd >kept; done'], cwd=folder, start_new_session=True)
        try:
            t = Terminal([weir, 'top', '-p', str(load.pid), '--every', '200ms'], folder, os.environ)
            resize(t, 30, columns)
            what = f'{columns} columns'
            for heading in ('calls/s', 'read/s', 'write/s', 'I/O %', 'p99'):
                ok(f'{what}: {heading}', t.expect(heading, SLOW_S), t.output[-500:].decode(errors='replace'))
            t.send('f')
            ok(f'{what}: files', t.expect('FILES', SLOW_S))
            t.send('W\n')
            ok(f'{what}: the processes of a file', t.expect('PROCESSES', SLOW_S))
            t.send('\x7f')
            ok(f'{what}: back', t.expect('FILES', SLOW_S))
            t.send('p')
            ok(f'{what}: processes', t.expect('PROCESSES', SLOW_S))
            t.send('c\n')
            ok(f'{what}: the files of a process', t.expect('FILES', SLOW_S))
            os.killpg(load.pid, signal.SIGSTOP)
            ok(f'{what}: never empty', b'nothing here' in t.output or t.expect('nothing here', SLOW_S))
            t.send('/kept')
            ok(f'{what}: a filter, as it is typed', t.expect('kept_', SLOW_S))
            t.send('\x1bq')
            t.wait()
        finally:
            os.killpg(load.pid, signal.SIGKILL)
            load.wait()


def play(t, what):
    """All keys in many windows, then the end: none of it may stop the program."""
    for rows, columns in ((40, 100), (24, 80), (5, 20), (1, 1), (2, 300), (100, 250), (40, 100)):
        resize(t, rows, columns)
        t.send('cbTxmi  ?h \x1b[B\x1b[B\x1b[A\n\x7f\x7ffo\nt\ne\n\x7f\x7f\x7f/re\n/\x1b/\x7f\nrri')
        t.expect('\x1b', 1)
    # Where the keys left it is not known: the help or a text that is typed may be open. Only what changes is drawn.
    goes_on = False
    for _ in range(20):
        t.send('\no')
        t.expect('OPERATION', SLOW_S / 20)
        t.send('p')
        goes_on = goes_on or bool(t.expect('PROCESS', SLOW_S / 20))
        if goes_on:
            break
    ok(f'{what}: goes on', goes_on, t.output[-1500:].decode(errors='replace'))
    t.send('q')
    status = t.wait()
    ok(f'{what}: leaves with 0', status == 0, f'status {status}: ' + t.output[-1500:].decode(errors='replace'))


def main():
    weir = os.path.realpath(sys.argv[1])
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        load = ['sh', '-c', 'while :; do ls -l /usr/bin /nonexistent; cat /etc/passwd; done >/dev/null 2>&1']
        other = subprocess.Popen(load, start_new_session=True)
        try:
            t = Terminal([weir, 'top', '-a', '--every', '200ms'], folder, os.environ)
            if not t.expect('PROCESS', SLOW_S):
                ok('the host: begins', False, t.output.decode(errors='replace')[-500:])
            else:
                headings(t, 'the host')
                play(t, 'the host')
        finally:
            os.killpg(other.pid, 9)
            other.wait()
        t = Terminal([weir, 'top', '--every', '200ms', '--', *load], folder, os.environ)
        if t.expect('PROCESS', SLOW_S):
            headings(t, 'a command')
        play(t, 'a command')
        goes_into(weir, folder)
        trace = os.path.join(folder, 'trace')
        made = subprocess.run([weir, 'synth', '-o', trace, '--rows', '200000', '--seed', '3'], capture_output=True, text=True)
        ok('a trace is made', made.returncode == 0, made.stderr)
        t = Terminal([weir, 'top', '-i', trace, '--every', '200ms'], folder, os.environ)
        if t.expect('PROCESS', SLOW_S):
            t.send('i')
            headings(t, 'a trace')
        play(t, 'a trace')
    return tap.end()


sys.exit(main())
