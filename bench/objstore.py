#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""objstore.py WEIR [--rounds N] [--seconds N] [--sizes BYTES,...] [--dir DIR] [--loopback]: the cost of recording a replicated object
store (tests/objstore) that is instrumented with BlkKin's interface: puts per second of a client through a chain of three nodes, alone
and with spans, calls and requests to disks recorded by one recorder for all four processes. Rounds alternate the side that goes
first; prints medians, and the median of the ratios within a round. CPU is that of the four processes per put, and of the recorder.
It also checks that nothing was lost and that every put has its nine spans. Needs root."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tests', 'objstore'))
import hosts  # noqa: E402

GOAL_PERCENT = 3
SIDES = {'alone': None, 'recorded': 'all'}


SPANS_OF_PUT = 9


def rows(weir, trace, query):
    return json.loads(subprocess.run([weir, 'query', '-i', trace, '--json', query], capture_output=True, check=True).stdout)['rows']


class Once:
    """One run of the store; what to record, or None."""

    def __init__(self, o, objstore, record, size):
        folder = tempfile.mkdtemp(prefix='objst-bench-', dir=o.dir)
        try:
            with hosts.Hosts(folder, loopback=o.loopback) as h:
                options = {'nodes': ['--threads', str(o.threads), '--storers', str(o.storers)],
                           'client': ['--threads', str(o.threads), '--objects', '4000000', '--sizes', str(size), '--seconds', str(o.seconds)]}
                run = hosts.Run(h, objstore, o.weir, record, ['--with', 'block'], options, truth=False)
                if not run.good():
                    sys.exit(f'the store failed: {run.why()}')
                puts = run.result['puts']
                self.rate, self.cpu_us = puts / run.result['seconds'], run.cpu / puts * 1e6
                self.lost, self.weir_us, self.calls, spans = 0, 0, 0, 0
                for trace in run.traces:
                    loss = rows(o.weir, trace, 'from loss')
                    self.lost += sum(r['events'] or 1 for r in loss)
                    for m in rows(o.weir, trace, 'from mark | where name == "weir.spans"') if loss else ():
                        print(m['text'])
                    spans += rows(o.weir, trace, 'from span | count()')[0]['count']
                    self.calls += rows(o.weir, trace, 'from op | count()')[0]['count'] / puts
                    cost = next(m['text'] for m in rows(o.weir, trace, 'from mark') if m['name'] == 'weir.cost')
                    self.weir_us += int(dict(w.split('=') for w in cost.split())['cpu_ns']) / puts / 1e3
                if record and spans != SPANS_OF_PUT * puts:
                    print(f'{puts} puts are {SPANS_OF_PUT * puts} spans, {spans} recorded')
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('weir')
    p.add_argument('--rounds', type=int, default=9)
    p.add_argument('--seconds', type=int, default=2)
    p.add_argument('--sizes', default='4096,65536')
    p.add_argument('--threads', type=int, default=4)
    p.add_argument('--storers', type=int, default=2)
    p.add_argument('--dir', default='/var/tmp')
    p.add_argument('--loopback', action='store_true')
    p.add_argument('--each', action='store_true', help='a recorder for each process instead of one for all')
    o = p.parse_args()
    o.weir = os.path.abspath(o.weir)
    why = None if o.loopback else hosts.missing()
    if why:
        sys.exit(why)
    if o.each:
        SIDES['recorded'] = 'each'
    objstore = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(o.weir))), 'tests', 'objstore', 'objstore')
    print(f'{"":8}{"puts/s":>16}{"":>18}{"CPU us/put":>22}{"recorder":>10}{"calls":>8}')
    print(f'{"bytes":>8}{"alone":>8}{"recorded":>10}{"slower":>8}{"quartiles":>16}{"goal":>5}{"alone":>8}{"recorded":>10}{"":8}{"/put":>8}{"lost":>6}')
    for size in map(int, o.sizes.split(',')):
        got, slower = {s: [] for s in SIDES}, []
        for turn in range(o.rounds):
            for side in (list(SIDES) if turn % 2 else list(SIDES)[::-1]):
                got[side].append(Once(o, objstore, SIDES[side], size))
            slower.append(100 * (1 - got['recorded'][-1].rate / got['alone'][-1].rate))

        def middle(side, what):
            return statistics.median(getattr(r, what) for r in got[side])
        low, half, high = statistics.quantiles(slower, n=4) if len(slower) > 1 else slower * 3
        print(f'{size:8}{middle("alone", "rate"):8.0f}{middle("recorded", "rate"):10.0f}{half:7.1f}%{low:7.1f} .. {high:4.1f}%{GOAL_PERCENT:4}%'
              f'{middle("alone", "cpu_us"):8.0f}{middle("recorded", "cpu_us"):10.0f}{middle("recorded", "weir_us"):8.0f}{middle("recorded", "calls"):8.0f}'
              f'{sum(r.lost for r in got["recorded"]):6}', flush=True)
    return 0


sys.exit(main())
