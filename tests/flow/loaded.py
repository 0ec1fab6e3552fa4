#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loaded.py WEIR MARK: two hosts, the clock of one of which is shifted: what `weir flow --keep` found is in the times that ClickHouse gets,
as in those of the files; what was loaded before stays as it was, which is said. TAP on standard output."""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(HERE, '..', folder) for folder in ('common', 'server'))]
import click  # noqa: E402
from client import Serve  # noqa: E402
from hosts import ORIGIN, Host, messages  # noqa: E402
from tap import Tap  # noqa: E402

SHIFT = 5_037_123_456
QUESTIONS = ['select host, op, start | head 100', 'by op every 100ms | count() | sort window, op', 'by host | count(), min(start), max(stop), p99(dur)',
             'from thread | select comm, since | sort since', 'from clock | select of_host, against, ahead, bound, since, until',
             'where host == "beta" | select row_id, dur | head 10']


def run(weir, *args):
    r = subprocess.run([weir, *args], capture_output=True, text=True, timeout=120, check=False)
    return r.returncode, r.stdout, r.stderr


def clocks_of_pages(weir, where):
    with Serve(weir, *where, '--port', str(click.free_ports(1)[0])) as s:
        return [(h['name'], h.get('ahead'), h.get('bound')) for h in json.loads(s.ask('trace')[2])['hosts']]


def main():
    if not click.program():
        print('1..0 # SKIP clickhouse-server is not installed')
        return 77
    tap = Tap()
    weir, mark = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix='weir-clocks-') as folder:
        rng = random.Random(1)
        a, b = Host('alpha', 1, lambda t: t), Host('beta', 2, lambda t: t + SHIFT)
        a.call('connect', ORIGIN, ORIGIN + 1000, file_id=0, ret=0)
        b.call('accept', ORIGIN + 2000, ORIGIN + 200_000, file2_id=0, ret=5)
        messages(a, b, 300, rng)
        messages(b, a, 300, rng)
        files = [x.write(mark, folder) for x in (a, b)]
        inputs = [x for f in files for x in ('-i', f)]
        with click.Server(folder) as server:
            early, address = server.address('early'), server.address()
            before = run(weir, 'query', '--csv', *inputs, QUESTIONS[0])
            loaded = run(weir, 'load', '--to', early, *files)
            kept = run(weir, 'flow', '--keep', *files)
            tap.check('clocks are stored', loaded[0] == 0 and kept[0] == 0 and '1 clock stored' in kept[1], loaded, kept)
            again = run(weir, 'load', '--to', early, *files)
            tap.check('loaded before: said', again[0] == 0 and '1 traces were loaded before' in again[2], again)
            tap.check('loaded before: as it was', run(weir, 'query', '--csv', '-i', early, QUESTIONS[0])[:2] == before[:2])
            tap.check('loaded before: no clock is claimed', run(weir, 'query', '--csv', '-i', early, 'from clock | count()')[1].splitlines()[1:] in (['0'], []))
            loaded = run(weir, 'load', '--to', address, *files)
            again = run(weir, 'load', '--to', address, *files)
            tap.check('loaded, twice', loaded[0] == again[0] == 0 and 'loaded 0 calls' in again[2] and 'before' not in again[2], loaded, again)
            for q in QUESTIONS:
                want, got = [run(weir, 'query', '--csv', *where, q) for where in (inputs, ['-i', address])]
                tap.check(f'as of the files: {q}', want[:2] == got[:2] and want[0] == 0 and want[1].count('\n') > 1, want, got)
            tap.check('the order is another one than before', run(weir, 'query', '--csv', '-i', address, QUESTIONS[0])[1] != before[1])
            want, got, old = [[line for line in run(weir, 'report', '--utc', *where)[1].splitlines() if line.startswith('clocks: ')]
                              for where in (inputs, ['-i', address], ['-i', early])]
            tap.check('weir report: whose times were corrected', want == got and len(want) == 1 and 'beta corrected by -5.0371' in got[0], want, got)
            tap.check('weir report of what was loaded before: none were', old == [], old)
            want, got = [clocks_of_pages(weir, where) for where in (inputs, ['-i', address])]
            tap.check('weir serve: the same', want == got and want[0][1] is None and abs(want[1][1] - SHIFT) < 1e6, want, got)
            want, got = [run(weir, 'trace', '--utc', *where) for where in (inputs, ['-i', address])]
            tap.check('the merged stream', want[:2] == got[:2] and want[0] == 0, want[2], got[2])
    return tap.end()


sys.exit(main())
