#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""equal.py WEIR MANY: `weir flow --similar` and `--groups` over many calls: how many kinds of data there are, and which calls moved the
same as one of them, as the rows of table chunk say. TAP on standard output."""
import collections
import csv
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, many = (os.path.abspath(a) for a in sys.argv[1:3])
tap = Tap()
SANITIZED = b'__asan_init' in open(weir, 'rb').read()  # its allocator keeps what was freed
with tempfile.TemporaryDirectory() as folder:
    def run(*args):
        return subprocess.run([weir, *args], cwd=folder, capture_output=True, text=True, check=True).stdout

    subprocess.run([many, 'a.weir', '200000', '0', '30000'], cwd=folder, check=True)
    data = collections.defaultdict(tuple)
    for row in csv.DictReader(run('query', '--csv', '-i', 'a.weir', 'from chunk | select thread_id, start, hash').splitlines()):
        data[row['thread_id'], row['start']] += (row['hash'],)
    calls = collections.defaultdict(list)
    for row in csv.DictReader(run('query', '--csv', '-i', 'a.weir', 'from op | where bytes > 0 | select row_id, thread_id, start').splitlines()):
        calls[data[row['thread_id'], row['start']]].append(int(row['row_id']))
    groups = json.loads(run('flow', '-i', 'a.weir', '--groups', '--least', '100', '--json'))
    tap.check(f'{len(calls)} kinds of data', groups['kinds'] == len(calls) and groups['calls'] == sum(map(len, calls.values())), groups['kinds'])
    tap.check('as many groups as there are data that several calls moved', len(groups['rows']) == sum(len(c) > 1 for c in calls.values()),
              len(groups['rows']))
    for parts in (1, 2):
        most = max((c for d, c in calls.items() if len(d) == parts), key=len)
        similar = json.loads(run('flow', '-i', 'a.weir', '--similar', str(most[0]), '--json'))
        tap.check(f'{len(most)} calls moved the same data, of {parts} parts', sorted(r['op'] for r in similar['rows'] if r['similarity'] == 1) == sorted(most),
                  similar['rows'][:3])
    # a million calls, nearly all of different data
    subprocess.run([many, 'b.weir', '1000000', '0', '1000000'], cwd=folder, check=True)
    for option in ('--groups', '--order'):
        with subprocess.Popen([weir, 'flow', '-i', 'b.weir', option, '--json'], cwd=folder, stdout=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        tap.check(f'{option} of a million calls takes at most 256 MiB', not status and (usage.ru_maxrss < 256 << 10 or SANITIZED), status, usage.ru_maxrss)
    # any values in all columns, alone and beside another host, whose clock nothing ties to that of the first
    run('synth', '-q', '-o', 'c.weir', '-n', '60000', '--profile', 'hostile')
    run('synth', '-q', '-o', 'd.weir', '-n', '20000', '--host', 'd')
    for args in (('c.weir',), ('c.weir', '--list', '--json'), ('c.weir', 'd.weir')):
        r = subprocess.run([weir, 'flow', *args], cwd=folder, capture_output=True, text=True)
        tap.check(f'flow {" ".join(args)}: a hostile trace', not r.returncode, r.returncode, r.stderr[-500:])
sys.exit(tap.end())
