#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py WEIR: `weir export --perfetto` and `--chrome` against `weir query` over the same traces.

Perfetto's protobuf is read by the few lines below, which know the wire format and the numbers of fields from the public definition, and
by Perfetto's own Python package where it is installed.
"""
import collections
import decimal
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'common')]
from protobuf import fields  # noqa: E402
from tap import Tap  # noqa: E402

WEIR = os.path.abspath(sys.argv[1])
BEGIN, END, COUNTER = 1, 2, 4


def equal(t, got, want, name):
    t.check(name, got == want, f'want {want!r}', f'got  {got!r}')


def weir(*args, ok=True):
    p = subprocess.run([WEIR, *args], capture_output=True, check=False)
    assert not ok or p.returncode == 0, (args, p.stderr)
    return p


def rows(trace, query):
    return json.loads(weir('query', '-i', trace, query, '--json').stdout)['rows']


def message(data):
    """Fields of a message: number -> list of numbers or bytes."""
    out = collections.defaultdict(list)
    for field, kind, value in fields(data):
        assert (kind == 1) == (field in (47, 48)), f'field {field} of wire type {kind}'
        out[field].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Perfetto:
    """What a viewer makes of the file: tracks, slices with their arguments, counters."""

    def __init__(self, data):
        self.tracks, self.slices, self.counts, self.arrows, events = {}, [], [], {}, []
        names, args, texts = {}, {}, {}
        for n, packet in enumerate(message(data)[1]):
            p = message(packet)
            for interned in p[12]:
                for field, to in ((2, names), (3, args), (29, texts)):
                    for one in message(interned)[field]:
                        m = message(one)
                        to[m[1][0]] = m[2][0].decode('utf-8')
            for track in p[60]:
                self.track(message(track))
            for event in p[11]:
                e = message(event)
                notes = {}
                for note in e[4]:
                    m = message(note)
                    notes[args[m[1][0]]] = (texts[m[17][0]] if m[17] else m[6][0].decode('utf-8') if m[6] else signed(m[4][0]))
                events.append((p[8][0], n, e[9][0], e[11][0], names[e[10][0]] if e[10] else None, notes, e[30], e[47], e[48]))
        self.play(sorted(events, key=lambda e: e[:2]))

    def track(self, t):
        kind = 'process' if t[3] else 'thread' if t[4] else 'counter' if t[8] else 'lane'
        inner = message((t[3] or t[4] or [b''])[0])
        name = (t[2] or inner[6] or inner[5] or [b''])[0].decode('utf-8')
        self.tracks[t[1][0]] = {'kind': kind, 'parent': t[5][0] if t[5] else 0, 'name': name, 'pid': inner[1], 'tid': inner[2]}

    def play(self, events):
        """As the viewer does: sorted by time, an end closes what was begun last on its track."""
        open_slices = collections.defaultdict(list)
        for at, _, kind, track, name, notes, count, leave, arrive in events:
            assert track in self.tracks, 'an event of a track that was not described'
            if kind == BEGIN:
                open_slices[track].append((at, name, notes))
                for number in leave:
                    self.arrows.setdefault(number, []).append((at, name))
            elif kind == END:
                start, name, notes = open_slices[track].pop()
                self.slices.append((track, start, at, name, notes))
                for number in arrive:
                    self.arrows.setdefault(number, []).append((start, name, at))
            else:
                assert kind == COUNTER and self.tracks[track]['kind'] == 'counter'
                self.counts.append((track, at, signed(count[0])))
        assert not any(open_slices.values()), 'slices without an end'


def export(trace, folder, *options):
    out = os.path.join(folder, 'out')
    p = weir('export', '-i', trace, '-o', out, *options)
    with open(out, 'rb') as f:
        return f.read(), p.stderr.decode()


def wanted(trace, where='true'):
    """Calls by op: count, time, bytes."""
    got = rows(trace, f'where {where} | by op | count() as n, sum(dur) as dur, sum(bytes) as moved')
    return {r['op']: (r['n'], r['dur'] or 0, r['moved'] or 0) for r in got}


def compare_perfetto(t, what, trace, folder, where='true', *options):
    data, said = export(trace, folder, '--perfetto', *options)
    p = Perfetto(data)
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for _, start, stop, name, notes in p.slices:
        s = sums[name]
        s[0] += 1
        s[1] += stop - start
        s[2] += notes.get('bytes', 0)
    expected = wanted(trace, where)
    equal(t, {k: tuple(v) for k, v in sums.items()}, expected, f'{what}: calls, time and bytes by operation')
    equal(t, f"weir: {sum(v[0] for v in expected.values()):,} slices" in said, True, f'{what}: the message has the number of slices')
    moved = sum(v[2] for v in expected.values())
    equal(t, sum(v for _, _, v in p.counts) // 10, moved, f'{what}: the counters add up to the bytes that were moved')
    return p


def compare_chrome(t, what, trace, folder, where='true', *options):
    data, _ = export(trace, folder, '--chrome', *options)
    events = json.loads(data.decode('utf-8'), parse_float=decimal.Decimal)['traceEvents']
    sums = collections.defaultdict(lambda: [0, 0, 0])
    begun = {}
    for e in events:
        if e['ph'] in 'Xb':
            s = sums[e['name']]
            s[0] += 1
            s[2] += e['args'].get('bytes', 0)
        if e['ph'] == 'X':
            sums[e['name']][1] += int(e['dur'] * 1000)
        elif e['ph'] == 'b':
            begun[e['id']] = e['ts']
        elif e['ph'] == 'e':
            sums[e['name']][1] += int((e['ts'] - begun.pop(e['id'])) * 1000)
    equal(t, {k: tuple(v) for k, v in sums.items()}, wanted(trace, where), f'{what}: calls, time and bytes by operation in JSON')
    equal(t, begun, {}, f'{what}: each asynchronous event has its end')


def compare_with_package(t, data, ours):
    try:
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace  # pylint: disable=import-outside-toplevel
    except ImportError:
        t.skip("Perfetto's own package reads the same", "Python's package perfetto is not installed")
        return
    trace = Trace()
    trace.ParseFromString(data)
    begins = sum(p.HasField('track_event') and p.track_event.type == BEGIN for p in trace.packet)
    equal(t, begins, len(ours.slices), "Perfetto's own package reads the same")


def compare_arrows(t, folder):
    """An arrow for each edge that is kept: from the start of the first call to the end of the second."""
    if os.geteuid():
        t.skip('an arrow for each edge', 'recording needs root')
        return
    trace = os.path.join(folder, 'pipe')
    weir('record', '-q', '-o', trace, '--', 'sh', '-c', 'head -c 300000 /dev/zero | cat | wc -c')
    equal(t, Perfetto(export(trace, folder, '--perfetto')[0]).arrows, {}, 'no arrows without edges')
    listed = json.loads(weir('flow', trace, '--keep', '--list', '--json').stdout)
    origin = int(listed['origin'])
    want = sorted((origin + e['from_start'], e['from_call'], e['to_call'], origin + e['to_end']) for e in listed['tables']['list']['rows'])
    data, said = export(trace, folder, '--perfetto')
    p = Perfetto(data)
    got = sorted((first[0], first[1], *second[1:]) for first, second in p.arrows.values())
    equal(t, (len(want) > 10, got), (True, want), 'an arrow for each edge, from the first call to the end of the second')
    equal(t, f'{len(want)} arrows' in said, True, 'the message has the number of arrows')
    late = sum(first[0] < second[0] for first, second in p.arrows.values())
    equal(t, 0 < late <= len(want), True, 'and some lead to calls that began later')
    compare_with_package(t, data, p)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory(prefix='weir-timeline.') as folder:
        compare_arrows(t, folder)
        for profile, n in (('mixed', 70000), ('network', 20000), ('hostile', 20000)):
            trace = os.path.join(folder, profile)
            weir('synth', '-q', '-o', trace, '--rows', str(n), '--seed', '3', '--profile', profile)
            p = compare_perfetto(t, profile, trace, folder)
            compare_chrome(t, profile, trace, folder)
        trace = os.path.join(folder, 'mixed')
        where = 'op == pread64 && dur > 10us'
        p = compare_perfetto(t, 'a selection', trace, folder, where, '--where', where)
        compare_chrome(t, 'a selection', trace, folder, where, '--where', where)
        threads = {r['tid'] for r in rows(trace, f'where {where} | by tid | count()')}
        equal(t, {v['tid'][0] for v in p.tracks.values() if v['kind'] == 'thread'}, threads, 'a track for each thread that made calls')
        compare_with_package(t, export(trace, folder, '--perfetto', '--where', where)[0], p)
        p = weir('export', '-i', trace, '--perfetto', '--zipkin', ok=False)
        equal(t, (p.returncode, b'exclude each other' in p.stderr), (2, True), 'two formats at once are refused')
        p = weir('export', '-i', trace, '--zipkin', '-e', 'read', ok=False)
        equal(t, (p.returncode != 0, b'--perfetto' in p.stderr), (True, True), 'calls cannot be chosen for spans')
        p = weir('export', '-i', trace, '--chrome', '--name', 'x', ok=False)
        equal(t, (p.returncode, b'select spans' in p.stderr), (2, True), 'spans cannot be chosen for a timeline')
    return t.end()


sys.exit(main())
