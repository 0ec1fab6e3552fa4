#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""forks.py [--children N] [--seed N]: a storm of children under a recorder. Each child writes its number and ends: the trace holds
one row for each, each of a process of its own, or counts what is missing; with --lossless nothing is. Needs root."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.join(HERE, '..', '..', 'build')
sys.path.insert(0, HERE)
from attack import Attack  # noqa: E402

ROUND = 20000  # children in one recording, so that its trace stays small
SECONDS = 600


def storm(options, attack, folder, children, seed, more):
    at_once = random.Random(seed).choice([1, 20, 200, 1000])
    name = f'{children} children, {at_once} at once {" ".join(more)}'.rstrip()
    repeat = [os.path.join(HERE, 'forks.py'), '--children', children, '--seed', seed, '--one', 'lossless' if more else 'default']
    trace = os.path.join(folder, 'trace')
    done = subprocess.run([options.weir, 'record', '-q', '-o', trace, *more, '--', options.workload, 'load_forks', folder],
                          capture_output=True, text=True, timeout=SECONDS, check=False,
                          env=dict(os.environ, WORK_CALLS=str(children), WORK_THREADS=str(at_once)))
    attack.tried('children in a storm' + (', lossless' if more else ''), children)
    if done.returncode or f'calls={children} failed=0' not in done.stdout:
        return attack.found(f'{name}: status {done.returncode}: {done.stderr}', *repeat)
    rows, who, lost, unfollowed = set(), set(), 0, False
    with subprocess.Popen([options.dump, trace], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            if b'"pwrite64"' in line:
                rows.add(int(re.search(rb'"pos":(\d+)', line)[1]) // 8)
                who.add(int(re.search(rb'"thread_id":(\d+)', line)[1]))
            elif b'"table":"loss"' in line:
                events = json.loads(line).get('events')
                lost, unfollowed = lost + (events or 0), unfollowed or events is None
    missing = children - len(rows)
    if not rows <= set(range(children)) or len(who) != len(rows):
        return attack.found(f'{name}: {len(rows)} children are there as {len(who)} threads', *repeat)
    if missing and (more or (missing > lost and not unfollowed)):
        return attack.found(f'{name}: {missing} are missing, {lost} counted as lost', *repeat)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--weir', default=os.path.join(BUILD, 'src/cli/weir'))
    parser.add_argument('--workload', default=os.path.join(BUILD, 'tests/programs/workload'))
    parser.add_argument('--dump', default=os.path.join(BUILD, 'tests/oracles/trace_dump'))
    parser.add_argument('--children', type=int, default=2000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--one', choices=['default', 'lossless'], help='one storm of all children alone')
    options = parser.parse_args()
    for name in ('weir', 'workload', 'dump'):
        setattr(options, name, os.path.realpath(getattr(options, name)))
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    attack = Attack(options.seed)
    seed, left = options.seed, options.children
    with tempfile.TemporaryDirectory(prefix='weir-forks-', dir='/var/tmp') as folder:
        if options.one:
            storm(options, attack, folder, left, seed, ['--lossless'] if options.one == 'lossless' else [])
            return attack.end()
        while left > 0:
            part = min(ROUND, max(left // 2, 1))
            for more in ([], ['--lossless']):
                storm(options, attack, folder, part, seed, more)
                seed, left = seed + 1, left - part
    return attack.end()


sys.exit(main())
