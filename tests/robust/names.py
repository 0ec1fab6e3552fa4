#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py WEIR [--sample N] [--make FOLDER]: programs, threads, files, arguments, addresses, hosts and control groups whose names attack a terminal.

Records them (as root) and writes synthetic ones, and runs every command that prints names on a pseudo-terminal: no byte that a
terminal obeys may come out of a name. What is printed as JSON for a pipe must be JSON. --make only writes the traces
hostile.trace and, as root, recorded.trace.
"""
import argparse
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'query_cli')]
from attack import Attack  # noqa: E402
from terminal import Terminal  # noqa: E402

NAMES = [b'\x1b[31337mred', b'\x1b]0;PWNED\x07', b'\x1b]8;;mailto:evil\x07link', b'\x1bP1$r\x1b\\', b'\x1bc', b'\x1b[2J\x1b[31337H', b'\xc2\x9b31337m',
         b'\x9b31337m', b'a\nPWNED', b'a\rPWNED', b'a\tPWNED', b'\x08\x08\x08', b'\x7f', b'\x0e\x0f', b'\x05', b'\xff\xfe\xc0\x80', b'\xed\xa0\x80',
         '\u202egnp.exe'.encode(), '\u2066x\u2069'.encode(), '\u200b\ufeff\u2028'.encode(), '\U000e0041\U000e0042'.encode(),
         b'<img src=x onerror=window.pwned=1>', b'<script>window.pwned=1<', b'"><svg onload=window.pwned=1>', b'{{constructor}}', b"'; drop table op; --",
         b'"quoted\\', b'=cmd|calc', b'@SUM(1)', b'%s%n%d', b'$(id)`id`', b'..\\..\\x', b'javascript:alert(1)', b' ', b'-rf', b'x' * 200]
# Sequences with which weir itself colours, moves and clears; those of the names have a number of their own
OWN = re.compile(rb'\x1b\[(?!31337)[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[78=>M]|\r\n|\n')
HARM = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff\udc80-\udcff]|[\r\n]PWNED')
HOSTILE_FILE = b'\x1b[31337m\xc2\x9b31337m\x07.trace'
SECONDS = 120

ACTOR = r'''
import ctypes, os, shutil, socket, subprocess, sys, threading
names = [bytes.fromhex(n) for n in sys.argv[2:]]
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
for i, name in enumerate(names):
    folder = b'd%d' % i
    os.mkdir(folder)
    path = folder + b'/' + name
    with open(path, 'wb') as f:
        f.write(b'x' * 100)
    os.stat(path)
    os.rename(path, path + b'2')
    try:
        open(path + b'/none/' + name)
    except OSError:
        pass
    shutil.copy('/bin/true', path)
    os.chmod(path, 0o755)
    subprocess.run([path, name, b'--' + name], executable=path)
    libc.prctl(15, name[:15], 0, 0, 0)
    for address in (folder + b'/s' + name[:60], b'\0' + name[:60]):
        with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as c:
            s.bind(address)
            s.listen()
            c.connect(address)
            a, _ = s.accept()
            c.send(b'1')
            a.recv(1)
            a.close()
    t = threading.Thread(target=lambda: (libc.prctl(15, name[:15], 0, 0, 0), os.stat(b'/')))
    t.start()
    t.join()
'''

READ = [['report', 'T'], *(['report', what, 'T'] for what in ('ops', 'files', 'dirs', 'processes', 'threads', 'peers', 'errors', 'slow')),
        *(['report', what, '--json', 'T'] for what in ('files', 'threads')), ['query', 'select *', 'T'], ['trace', '-i', 'T'],
        *(['query', f'by {what} | count()', 'T'] for what in ('path', 'comm', 'exe', 'argv', 'peer', 'process', 'thread', 'file', 'dir(path)', 'container', 'unit')),
        ['query', 'by path | hist(dur)', 'T'], ['query', 'by every 1s, comm | heat(dur)', 'T'], ['query', '--csv', 'by path, comm | count()', 'T'],
        ['query', '--json', 'by path, comm, peer | count()', 'T'], ['query', '--explain', 'by path | count()', 'T'], ['sql', 'select * from file', 'T'],
        ['sql', 'select * from thread', 'T'], ['sql', 'select * from process', 'T'], ['sql', '--csv', 'select path from file', 'T'],
        ['sql', '--json', 'select * from file', 'T'], ['diff', 'T', 'T'], ['diff', 'T', 'O'], ['diff', '--csv', 'T', 'O'], ['doctor'], ['annotate', '--list', 'T'],
        ['check', 'T'], *([*words, 'H'] for words in (['report'], ['trace', '-i'], ['query', 'count()'], ['sql', 'select 1'], ['check'], ['diff', 'T']))]
ERRORS = [['report', 'N'], ['report', '-i', 'N'], ['report', '-e', 'N'], ['report', '--unit', 'N', 'T'], ['report', '--comm', 'N', 'T'], ['report', '-P', 'N', 'T'],
          ['report', '--where', 'N', 'T'], ['report', '--from', 'N', 'T'], ['report', '--sort', 'N', 'T'], ['query', 'N', 'T'], ['query', 'path == "N" | count()', 'T'],
          ['query', 'by path | frob(N)', 'T'], ['query', 'count()', 'N'], ['sql', 'N', 'T'], ['sql', 'select "N" from op', 'T'], ['diff', 'N', 'T'], ['trace', '-i', 'N'],
          ['help', 'N'], ['N'], ['--N'], ['record', '--N'], ['record', '-o', '/nonexistent/N', '--', 'true'], ['record', '--', '/nonexistent/N'], ['serve', 'N'],
          ['annotate', '--name', 'N', 'T', 'select 1'], ['stat', '--by', 'N'], ['synth', '--profile', 'N'], ['completion', 'N']]
LIVE = [['trace', '--', 'ACTOR'], ['stat', '--by', 'file', '--', 'ACTOR'], ['stat', '--by', 'process', '--', 'ACTOR'], ['stat', '--by', 'thread', '--', 'ACTOR'],
        ['record', '-o', 'live.trace', '--', 'ACTOR'], ['record', '-q', '-o', '/nonexistent/x', '--', 'ACTOR'], ['top', '--by', 'file', '--', 'ACTOR'], ['top', '--by', 'process', '--', 'ACTOR'],
        ['top', '--by', 'thread', '-i', 'T'], ['top', '--by', 'file', '-i', 'T']]


def harm_in(output, screen, lines):
    """What of a terminal's output it would obey, or None. screen: curses moves by CR and BS. lines: a name may have several."""
    text = OWN.sub(lambda m: b'\n' if m[0].endswith(b'\n') else b'', output).decode('utf-8', 'surrogateescape')
    if screen:
        text = re.sub('\r(?!PWNED)|\x08(?!\x08)', '', text)
    if lines:
        text = text.replace('\nPWNED', '')
    found = HARM.search(text)
    return found and repr(text[max(0, found.start() - 30):found.end() + 20])


class Names:
    def __init__(self, weir, folder):
        self.weir, self.folder = weir, folder
        self.actor = os.path.join(folder, 'actor.py')
        with open(self.actor, 'w', encoding='utf-8') as f:
            f.write(ACTOR)
        self.number = 0

    def acting(self):
        """The words of a command that does everything under hostile names, in a folder of its own"""
        self.number += 1
        work = os.path.join(self.folder, f'work{self.number}')
        os.mkdir(work)
        return [sys.executable, self.actor, work, *(n.hex() for n in NAMES)]

    def make(self):
        """The traces, whose names are returned"""
        subprocess.run([self.weir, 'synth', '-q', '-o', 'hostile.trace', '--rows', '3000', '--profile', 'hostile'], cwd=self.folder, check=True)
        if os.geteuid():
            return ['hostile.trace']
        with open('/proc/mounts', encoding='utf-8') as f:
            mounts = [line.split()[1] for line in f if line.split()[2] == 'cgroup2']
        group = os.fsencode((mounts or [self.folder])[0]) + b'/weir-' + NAMES[0] + b'-' + NAMES[17]

        def enter():  # another host name, another control group
            libc = ctypes.CDLL(None)
            if libc.unshare(0x04000000) == 0:
                libc.sethostname(NAMES[0], len(NAMES[0]))
            if mounts:
                os.mkdir(group)
                with open(group + b'/cgroup.procs', 'w', encoding='ascii') as f:
                    f.write('0')

        try:
            done = subprocess.run([self.weir, 'record', '-q', '-o', 'recorded.trace', '--', *self.acting()], cwd=self.folder, preexec_fn=enter,
                                  capture_output=True, timeout=SECONDS, check=False)
        finally:
            for _ in range(50):
                try:
                    os.rmdir(group)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.1)
        if done.returncode:
            raise RuntimeError(f'record: {done.stderr.decode(errors="replace")[-500:]}')
        return ['hostile.trace', 'recorded.trace']

    def on_terminal(self, words, columns=200):
        t = Terminal([self.weir, *words], self.folder, dict(os.environ), columns=columns)
        if words[0] == 'top':
            t.expect('\x1b[', SECONDS)
            until = time.monotonic() + (8 if words[-2] != '-i' else 3)
            while time.monotonic() < until and t._more(0.2):
                pass
            try:
                t.send('q')
                t.send('q')
            except OSError:
                pass
        # pylint: disable=protected-access
        until = time.monotonic() + SECONDS
        while t._more(1):
            if time.monotonic() > until:
                os.kill(t.pid, signal.SIGKILL)
                os.waitpid(t.pid, 0)
                os.close(t.fd)
                return None, t.output
        status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
        os.close(t.fd)
        return status, t.output


class Trial:
    def __init__(self, options, attack, names):
        self.options, self.attack, self.names = options, attack, names

    def judge(self, group, words):
        shown = [w if len(w) < 300 else w[:40] + '...' for w in words]
        repeat = [os.path.join(HERE, 'names.py'), self.options.weir, '--only', ' '.join(shown)[:60]]
        if self.options.only and not ' '.join(shown).startswith(self.options.only):
            return
        self.attack.tried(group)
        status, output = self.names.on_terminal(words)
        if status is None or status < 0 or status > 128 + 31:
            self.attack.found(f'{shown!r}: status {status}', *repeat)
        harm = harm_in(output, words[0] == 'top', group == 'hostile arguments')
        if harm:
            self.attack.found(f'{shown!r} prints {harm}', *repeat)
        if '--json' in words:
            done = subprocess.run([self.names.weir, *words], cwd=self.names.folder, capture_output=True, timeout=SECONDS, check=False)
            try:
                json.loads(done.stdout.decode('utf-8'))
            except ValueError as e:
                self.attack.found(f'{shown!r}: no JSON in UTF-8: {e}', *repeat)

    def commands(self, traces):
        for trace in traces:
            for words in READ:
                yield f'{trace}: commands on a terminal', [{'T': trace, 'O': traces[0], 'H': os.fsdecode(HOSTILE_FILE)}.get(w, w) for w in words]
        for words in ERRORS:
            for name in NAMES[:21]:
                text = name.decode('utf-8', 'surrogateescape')
                yield 'hostile arguments', [traces[0] if w == 'T' else w.replace('N', text) for w in words]
        for words in LIVE if len(traces) > 1 else []:
            yield 'live on a terminal', [{'T': traces[1]}.get(w, w) for w in words]

    def run(self, traces):
        commands = list(self.commands(traces))
        if self.options.sample:
            commands = random.Random(self.options.seed).sample(commands, min(self.options.sample, len(commands)))
        for group, words in commands:
            self.judge(group, words[:-1] + self.names.acting() if words[-1] == 'ACTOR' else words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weir')
    parser.add_argument('--make')
    parser.add_argument('--only', help='commands that begin so')
    parser.add_argument('--sample', type=int, help='so many of the commands, by --seed')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    weir = os.path.abspath(options.weir)
    if options.make:
        print(*Names(weir, os.path.abspath(options.make)).make(), sep='\n')
        return 0
    attack = Attack()
    folder = tempfile.mkdtemp(prefix='weir-names-')
    try:
        names = Names(weir, folder)
        traces = names.make()
        shutil.copy(os.path.join(folder, traces[-1]).encode(), os.path.join(folder.encode(), HOSTILE_FILE))
        Trial(options, attack, names).run(traces)
    finally:
        shutil.rmtree(folder.encode(), ignore_errors=True)
    return attack.end()


sys.exit(main())
