#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py WEIR OBJSTORE CLOCK THIN [RUN...]: nodes of the object store that each do one thing wrong, recorded on four hosts with the
content of their calls: `weir flow` has to name the host, the object, the bytes and the two calls, as the processes print them, and to
find nothing in a healthy run; with 1 % of the calls or of their content lost it must not be wrong without a word of that; with clocks that
differ, drift and are slewed it has to find how. Needs root. Speaks TAP."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
import hosts  # noqa: E402
import truth  # noqa: E402
from tap import Tap  # noqa: E402

weir = truth.Weir(sys.argv[1])
OBJSTORE, CLOCK, THIN = map(os.path.abspath, sys.argv[2:5])
SIZES = (4096, 100000, 5000, 300001)
OBJECTS = 12
RECORDING = 40  # bits of a call's number below those of its recording
# How each node cuts what it gets anew.
CUTS = {'n1': ['--recv', '30000', '--send', '7000', '--how', 'writev'], 'n2': ['--recv', '5000', '--send', '20000', '--how', 'sendmsg', '--store', '10000'],
        'n3': ['--storers', '0']}


class Fault:
    """What a node is told to do, and the verdict that it must get: (what, kind of the first call, of the second one)."""

    def __init__(self, host, kind, *numbers):
        self.host, self.kind, self.object = host, kind, numbers[0]
        self.option = f'{kind}:{":".join(map(str, numbers))}'
        size = SIZES[self.object % len(SIZES)]
        self.start, self.stop = 0, size
        if kind in ('alter-store', 'alter-forward'):
            self.start, self.stop = numbers[1], numbers[1] + numbers[2]
        elif kind == 'flip':
            self.start, self.stop = numbers[1], numbers[1] + 1
        self.verdict, self.first, self.second = {
            'alter-store': ('altered', 'receive', 'store'), 'alter-forward': ('altered', 'receive', 'forward'), 'flip': ('altered', 'receive', 'store forward'),
            'drop': ('never-stored', None, None) if host == 'n3' else ('sent-never-stored', 'receive', 'forward'),
            'keep': ('stored-never-sent', 'receive', 'store'), 'duplicate': ('sent-twice', 'forward', 'forward'),
            'reorder': ('re-ordered', None, 'forward')}[kind]

    def is_about(self, verdict):
        """Whether the verdict is this one, as far as it goes without the bytes and the calls."""
        return verdict['verdict'] == self.verdict and self.object == object_of(verdict)

    def shows_as(self, verdict):
        """Whether it is this one without the content of all calls: a file that is missing here or at the next node, or a replica that differs."""
        if self.object != object_of(verdict):
            return False
        if self.kind in ('drop', 'keep'):
            return verdict['verdict'] == 'never-stored'
        return verdict['verdict'] == 'replicas-differ' and verdict['host'] == self.host


# Several nodes that are wrong at once, each on an object of its own.
RUNS = {
    'healthy': (),
    'altered': (Fault('n1', 'alter-forward', 5, 70000, 300), Fault('n2', 'alter-store', 1, 5000, 100), Fault('n3', 'alter-store', 7, 299000, 1001)),
    'flipped': (Fault('n1', 'flip', 3, 123456, 5), Fault('n2', 'keep', 6), Fault('n3', 'drop', 1)),
    # the dropped object is not a large part of its connection, whichever thread sends it: only then is it the exception
    'delivered': (Fault('n1', 'duplicate', 5), Fault('n2', 'drop', 6)),
    'reordered': (Fault('n1', 'reorder', 1),),
}


def object_of(verdict):
    name = os.path.basename(verdict['file'] or '').removesuffix('.tmp')
    return int(name[4:]) if name.startswith('obj-') else None


def options_of(faults, depth):
    options = {h: list(c) for h, c in CUTS.items()}
    for f in faults:
        options[f.host] += ['--fault', f.option]
    options['client'] = ['--threads', '2', '--objects', str(OBJECTS), '--sizes', ','.join(map(str, SIZES)), '--depth', str(depth)]
    return options


class Calls:
    """The calls of the processes by the number that `weir flow` gives them."""

    def __init__(self, run, folder):
        self.of = {}
        for place, (trace, host) in enumerate(zip(run.traces, hosts.HOSTS)):
            for call, row in truth.match(weir, trace, run.truth[host], folder)[0]:
                self.of[place << RECORDING | row['row_id']] = (host, call)

    def is_one(self, number, host, what, fault):
        """Whether it is a call of that host which did that with bytes of the object, of the fault's range if it has one."""
        got_host, call = self.of.get(number, (None, None))
        return got_host == host and call['what'] in what.split() and call['object'] == fault.object and call['pos'] < fault.stop and \
            call['pos'] + call['bytes'] > fault.start

    def name(self, number):
        host, call = self.of.get(number, (None, None))
        return call and f'{host} {call["what"]} {call["call"]} object {call["object"]} {call["pos"]}+{call["bytes"]}'


def judge(t, what, run, folder, faults):
    """All verdicts, none besides."""
    doc = weir.document('flow', run.traces)
    calls = Calls(run, folder)
    rest = list(doc['rows'])
    for f in faults:
        of = [v for v in rest if f.is_about(v)]
        good = len(of) == 1 and (of[0]['from'], of[0]['to']) == (f.start, f.stop) and of[0]['host'] == f.host
        good = good and (not f.first or calls.is_one(of[0]['first_op'], f.host, f.first, f)) and \
            (not f.second or calls.is_one(of[0]['second_op'], f.host, f.second, f))
        t.check(f'{what}: {f.host} {f.option}: {f.verdict}, the node, the bytes, the two calls', good,
                *(f'{v} {calls.name(v["first_op"])}, {calls.name(v["second_op"])}' for v in of), f'{f.start} {f.stop}', len(of))
        rest = [v for v in rest if not f.is_about(v)]
    t.check(f'{what}: nothing else', not rest, *rest[:5])
    t.check(f'{what}: no contradiction, nothing lost', not doc['contradictions'] and not doc['cycles'] and not doc['loss']['events'], doc['loss'])
    return doc


def contents(t, what, run):
    """Every byte that a process moved has its fingerprint."""
    bad, total = [], 0
    for trace, host in zip(run.traces, hosts.HOSTS):
        got = {r['outcome']: r['sum(size)'] for r in weir.rows(trace, 'from chunk | where outcome is not null | by outcome | sum(size)')}
        total += sum(got.values())
        if set(got) != {'handled'}:
            bad.append((host, got))
    moved = 2 * 3 * sum(SIZES[i % len(SIZES)] for i in range(OBJECTS))
    t.check(f'{what}: all content was recorded', not bad and total >= moved, bad, total, moved)


def thinned(t, what, run, faults, seed, table):
    """With calls or content missing, what is said and is not so comes with a word of the loss."""
    traces = []
    for trace in run.traces:
        traces.append(f'{trace[:-5]}.thin{seed}.{table}.weir')
        subprocess.run([THIN, trace, traces[-1], str(seed), '1' if seed % 2 else '20', table], check=True, capture_output=True, timeout=60)
    doc = weir.document('flow', traces)
    wrong = [v for v in doc['rows'] if not any((f.is_about(v) and v['host'] == f.host) or f.shows_as(v) for f in faults)]
    silent = [v for v in wrong if not any(w in (v['note'] or '') for w in ('lost', 'loss', 'missing'))]
    lost = doc['loss']['events'] if table == 'op' else doc['content']['lost']
    t.check(f'{what}, 1 % of table {table} lost ({seed}): {len(doc["rows"])} verdicts, of {len(wrong)} wrong ones each says that loss may be why',
            not silent and lost, doc['loss'], *silent[:5])


class Clock:
    """Another clock of a host: at a time it shows so much more, and drifts by so many millionths; it may be slewed for a while."""

    def __init__(self, at, skew, drift, slew=0, begin=0, end=0):
        self.at, self.skew, self.drift, self.slew, self.begin, self.end = at, skew, drift, slew, begin, end

    def args(self):
        return map(str, (self.at, self.skew, self.drift, self.slew, self.begin, self.end))

    def offset(self, t):
        """At a time of the true clock."""
        passed = t - self.at
        return self.skew + (passed * self.drift + (min(max(passed, self.begin), self.end) - self.begin) * self.slew) / 1e6


def clocks(t):
    """n1 is 5 s ahead, n2 drifts, n3 is slewed in the middle of the run."""
    with tempfile.TemporaryDirectory(prefix='weir-objst-', dir='/var/tmp') as folder, hosts.Hosts(folder) as h:
        options = {'client': ['--threads', '2', '--objects', '400', '--sizes', '4096,37', '--pace', '5000']}
        run = hosts.Run(h, OBJSTORE, weir.path, 'each', ['--content'], options)
        t.check('clocks: the store ran', run.good() and run.result['puts'] == 400, *run.why())
        if not run.truth:
            return
        doc = weir.document('query', run.traces[:1], 'from op | where op == "sendto" | select start')
        starts = [int(doc['origin']) + r['start'] for r in doc['rows']]
        first, length = min(starts), max(starts) - min(starts)
        changed = {'n1': Clock(first, 5000000000, 0), 'n2': Clock(first, 0, 100), 'n3': Clock(first, 0, 0, 4000, length // 3, 2 * length // 3)}
        traces = [run.traces[0]]
        for trace, host in zip(run.traces[1:], hosts.NODES):
            traces.append(f'{trace[:-5]}.clock.weir')
            subprocess.run([CLOCK, trace, traces[-1], *changed[host].args()], check=True, capture_output=True, timeout=60)
        doc = weir.document('flow', traces)
        table = doc['tables']['clocks']['rows']
        bad = []
        for r in table:
            clock, times = changed[r['host']], (int(doc['origin']) + r['from'], int(doc['origin']) + r['to'])
            if any(times[0] < clock.at + bend < times[1] for bend in (clock.begin, clock.end) if clock.slew):
                continue  # a stretch in which it begins or ends to be slewed is no straight line
            for at, offset, half in ((r['from'], r['offset'], r['half']), (r['to'], r['offset_end'], r['half_end'])):
                true = clock.offset(int(doc['origin']) + at)
                if not abs(offset - true) <= half:
                    bad.append((r, true))
            if not clock.slew and not r['drift_low'] <= clock.drift <= r['drift_high']:
                bad.append((r, 'drift'))
        hosts_of = [r['host'] for r in table]
        t.check('clocks: 5 s, 100 ppm and a slewed one lie within their bounds', not bad and set(hosts_of) == set(hosts.NODES), *bad[:4])
        t.check('clocks: the slewed one has stretches, the others do not', hosts_of.count('n3') > 1 and hosts_of.count('n1') == hosts_of.count('n2') == 1, *table)
        t.check('clocks: they make no verdict', not doc['rows'] and not doc['cycles'], *doc['rows'][:3])


def one(t, what, faults):
    with tempfile.TemporaryDirectory(prefix='weir-objst-', dir='/var/tmp') as folder, hosts.Hosts(folder) as h:
        run = hosts.Run(h, OBJSTORE, weir.path, 'each', ['--content=bytes'], options_of(faults, 2 if what == 'reordered' else 1))
        t.check(f'{what}: the store ran', run.good() and run.result['puts'] == OBJECTS, *run.why())
        if not run.truth:
            return
        contents(t, what, run)
        judge(t, what, run, folder, faults)
        for seed in (1, 2):
            for table in ('op', 'chunk'):
                thinned(t, what, run, faults, seed, table)


def main():
    t = Tap()
    why = hosts.missing()
    if why:
        t.skip('faults of an object store', why)
        return t.end()
    for what, faults in RUNS.items():
        if len(sys.argv) == 5 or what in sys.argv[5:]:
            one(t, what, faults)
    if len(sys.argv) == 5 or 'clocks' in sys.argv[5:]:
        clocks(t)
    return t.end()


sys.exit(main())
