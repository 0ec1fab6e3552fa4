#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trouble.py WEIR: what can go wrong while a trace is loaded into ClickHouse: the trace is cut, the loader is interrupted, two loaders run
at once. Nothing is lost or doubled, and each message says what to do."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../common'))
import click  # noqa: E402
from tap import Tap  # noqa: E402

WEIR = os.path.abspath(sys.argv[1])
ROWS = 1000000


def run(*args):
    r = subprocess.run([WEIR, *args], capture_output=True, timeout=120, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def cut(tap, server, trace):
    with open(trace, 'rb') as f:
        whole = f.read()
    part = trace + '.cut'
    with open(part, 'wb') as f:
        f.write(whole[:len(whole) * 2 // 3])
    for again in ('', ' again'):
        code, _, said = run('load', '--to', server.address('cut'), part)
        tap.check(f'a cut trace is loaded{again}, with a word', code == 0 and '1 traces were not closed' in said, code, said)
    losses = server.ask("SELECT count(), any(cause) FROM loss WHERE cause = 'torn'", 'cut')
    tap.check('its end is one row of loss', losses == '1\ttorn\n', losses)
    got, want = (run('query', '--csv', '-i', at, 'count()') for at in (server.address('cut'), part))
    tap.check('answers count what is there, and say that calls are missing', got[:2] == want[:2] and 'torn' in got[2] and 'torn' in want[2], got, want)
    # a copy that was made during the recording is loaded like this one
    code, _, said = run('load', '--to', server.address('cut'), trace)
    for _ in range(100):  # the server removes rows in its own time
        got = run('query', '--csv', '-i', server.address('cut'), 'count()')
        if 'torn' not in got[2]:
            break
        time.sleep(0.1)
    tap.check('the whole trace takes its place: nothing is missing any more', code == 0 and got == (0, f'count\n{ROWS}\n', ''), code, said, got)


def refused(tap):
    for address in ('clickhouse:/weir', 'http://localhost/weir', 'weir'):
        code, out, said = run('load', '--to', address, 'x.weir')
        tap.check(f'{address} is no store', code == 2 and not out and said.count('\n') == 1 and 'clickhouse://HOST' in said, code, said)


def interrupted(tap, server, trace):
    address = server.address('half')
    with subprocess.Popen([WEIR, 'load', '--to', address, trace], stderr=subprocess.PIPE) as loader:
        while loader.poll() is None:
            try:
                if server.ask('SELECT count() FROM op', 'half') != '0\n':
                    break
            except OSError:  # the table is not there yet
                pass
            time.sleep(0.02)
        loader.send_signal(signal.SIGINT)
        said = loader.communicate(timeout=60)[1].decode()
    tap.check('an interrupted loader says so', loader.returncode == 130 and 'interrupted' in said, loader.returncode, said)
    code, _, said = run('load', '--to', address, trace)
    count = server.ask('SELECT count(), uniqExact(block_no, row_no) FROM op', 'half')
    tap.check('loading again adds the rest', code == 0 and count == f'{ROWS}\t{ROWS}\n', code, said, count)


def at_once(tap, server, trace):
    with subprocess.Popen([WEIR, 'load', '-q', '--to', server.address('one'), trace], stderr=subprocess.PIPE) as first, \
            subprocess.Popen([WEIR, 'load', '-q', '--to', server.address('two'), trace], stderr=subprocess.PIPE) as second:
        said = [p.communicate(timeout=120)[1].decode() for p in (first, second)]
    counts = [server.ask('SELECT count() FROM op', d) for d in ('one', 'two')]
    tap.check('two databases of a server, loaded at once', first.returncode == second.returncode == 0 and counts == [f'{ROWS}\n'] * 2, said, counts)


class Server(click.Server):
    def ask(self, sql, database):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/?database={database}', sql.encode()) as answer:
            return answer.read().decode()


def main():
    if not click.program():
        print('1..0 # SKIP clickhouse-server is not installed')
        return 77
    tap = Tap()
    refused(tap)
    with tempfile.TemporaryDirectory(prefix='weir-trouble-') as folder:
        trace = os.path.join(folder, 'a.weir')
        run('synth', '-q', '-o', trace, '--rows', str(ROWS), '--seed', '4')
        with Server(folder) as server:
            for check in (cut, interrupted, at_once):
                check(tap, server, trace)
    return tap.end()


sys.exit(main())
