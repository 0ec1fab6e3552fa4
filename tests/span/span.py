#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""span.py WEIR MARKS HOSTILE BLKIN EXAMPLE [CASE...]: spans that programs mark, as weir recorded them, against what the programs print of
them: ids, parents, names, errors, notes, times, and in which span each call was made. Needs root. Speaks TAP."""
import bisect
import collections
import glob
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from sanitized import runtime_of  # noqa: E402
from tap import Tap  # noqa: E402

WEIR, MARKS, HOSTILE, BLKIN, EXAMPLE = sys.argv[1:6]
NONE = '0' * 16
CASES = []
AGAIN_MAX = 20  # only one recorder at a time reads a program's spans: on a shared machine another may come first


def case(f):
    CASES.append(f)
    return f


class Held(Tap):
    """Keeps what was checked until it is known to count."""

    def __init__(self):
        super().__init__()
        self.checks = []

    def check(self, name, good, *why):
        self.failed |= not good
        self.checks.append((name, good, *why))


def taken(traces):
    """Whether another recorder, of the whole host, was there first and read the spans."""
    for trace in traces:
        p = subprocess.run([WEIR, 'query', '-i', trace, '--csv', 'from mark | where name == "weir.spans"'],
                           capture_output=True, text=True, timeout=60, check=False)
        if 'another recorder reads them' in p.stdout:
            return True
    return False


class Recording:
    """What a command printed, and the tables of its trace."""

    def __init__(self, folder, args, before=(), **env):
        self.trace = os.path.join(folder, 't')
        p = subprocess.run([WEIR, 'record', '-o', self.trace, *before, '--', *args], capture_output=True, text=True,
                           timeout=120, env=dict(os.environ) | env, check=False)
        self.out, self.err, self.status = p.stdout, p.stderr, p.returncode
        self.lines = [l.split() for l in p.stdout.splitlines()]

    def rows(self, pipeline):
        p = subprocess.run([WEIR, 'query', '-i', self.trace, '--json', pipeline], capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(p.stdout)
        for r in answer['rows']:
            if 'start' in r and r['start'] is not None:
                r['start'] += int(answer['origin'])
        return answer['rows']

    def offset(self):
        return self.rows('from host')[0]['clock_offset']

    def marks(self):
        return [m['text'] for m in self.rows('from mark') if m['name'] == 'weir.spans']

    def kind(self, word):
        return [l[1:] for l in self.lines if l[0] == word]


def compare(t, what, r):
    """Every span, note and call that the program printed."""
    spans = {s['span_id']: s for s in r.rows('from span')}
    truth = r.kind('span')
    offset = r.offset()
    t.check(f'{what}: each span has one row', sorted(spans) == sorted(w[0] for w in truth),
            f'{len(spans)} rows, {len(truth)} spans', r.err, *r.marks())
    bad, late = [], []
    threads = {x['id']: x['tid'] for x in r.rows('from thread')}
    numbers = {s['number']: i for i, s in spans.items()}
    for i, parent, name, status, tid, begin, end in truth:
        s = spans.get(i, {})
        got = (s.get('parent_id') or NONE, s.get('name'), s.get('span_status'), threads.get(s.get('thread_id')), s.get('service'))
        if got != (parent, name, status, int(tid), 'marks') or numbers.get(s.get('parent'), NONE) != (parent if parent in spans else NONE):
            bad.append(f'{i}: {got}, not {(parent, name, status, tid)}')
        if status not in ('running', 'cut') and not (int(begin) + offset <= s.get('start', 0) and s.get('start', 0) + s.get('dur', 0) <= int(end) + offset):
            late.append(f'{i} {name}: {s.get("start", 0) - offset} + {s.get("dur")}, not in {begin} .. {end}')
    t.none(f'{what}: parent, name, status, thread, service', bad)
    t.none(f'{what}: its time is that of the program', late)
    notes = collections.Counter((n['span_id'], n['name'], n['text']) for n in r.rows('from note'))
    t.check(f'{what}: notes', notes == collections.Counter(map(tuple, r.kind('note'))), f'{len(notes)} rows')
    compare_calls(t, what, r, spans)


def compare_calls(t, what, r, spans):
    """A call belongs to the innermost span that is open on its thread at its start; it lies in it."""
    calls = {o['pos']: o for o in r.rows('from op | where op == pread64 && path == "/dev/zero" | select start, dur, pos, thread_id')}
    by_thread = collections.defaultdict(list)
    for s in spans.values():
        by_thread[s['thread_id']].append((s['start'], s['start'] + (s['dur'] if s['dur'] is not None else 1 << 60), s['span_id']))
    for of_thread in by_thread.values():
        of_thread.sort()
    bad = []
    for span, _, pos in r.kind('call'):
        o = calls.get(int(pos), {'start': 0, 'dur': 0, 'thread_id': None})
        of_thread = by_thread[o['thread_id']]
        at = bisect.bisect_right(of_thread, (o['start'],))
        inner = next((s for s in reversed(of_thread[max(at - 4, 0):at]) if s[1] > o['start']), (0, 0, None))
        if inner[2] != span or o['start'] + o['dur'] > inner[1]:
            bad.append(f'call at {pos}: in {inner[2]}, not {span}')
    t.check(f'{what}: each call lies in its span', not bad and len(calls) == len(r.kind('call')), *bad[:20], len(calls))


def no_loss(t, what, r):
    t.none(f'{what}: nothing is lost', [str(x) for x in r.rows('from loss')] + r.marks())


@case
def threads(t, folder):
    r = Recording(folder, [MARKS, 'threads', '/dev/zero'])
    compare(t, 'threads', r)
    no_loss(t, 'threads', r)


@case
def fork(t, folder):
    r = Recording(folder, [MARKS, 'fork', '/dev/zero'])
    compare(t, 'fork', r)
    no_loss(t, 'fork', r)


@case
def daemon(t, folder):
    r = Recording(folder, ['sh', '-c', f'{MARKS} daemon /dev/zero; sleep 0.6'])
    compare(t, 'a child whose first span begins after its parent ended', r)
    no_loss(t, 'a child whose first span begins after its parent ended', r)


@case
def handover(t, folder):
    r = Recording(folder, [MARKS, 'handover', '/dev/zero'])
    truth = {w[0]: w for w in r.kind('span')}
    spans = {s['span_id']: s for s in r.rows('from span')}
    t.check('a span that another thread ends', set(truth) == set(spans) and all(s['span_status'] == 'unset' for s in spans.values()), r.err, *r.marks())
    remote = [s for s in spans.values() if s['name'] == 'remote']
    parents = [s for s in spans.values() if remote and s['number'] == remote[0]['parent']]
    t.check('a span of another process is below the one that the traceparent names',
            len(remote) == 1 and len(parents) == 1 and parents[0]['name'] == 'request' and remote[0]['span_kind'] == 'server' and
            remote[0]['service'] == 'remote' and remote[0]['trace_id'] == parents[0]['trace_id'], remote, parents)


@case
def cut(t, folder):
    r = Recording(folder, [MARKS, 'exec', '/dev/zero'])
    spans = {s['name']: s for s in r.rows('from span')}
    t.check('exec cuts an open span', spans.get('before', {}).get('span_status') == 'cut' and spans['before']['dur'] is not None, spans, *r.marks())
    t.check('and the program after it marks its own', spans.get('after', {}).get('span_status') == 'unset', spans, *r.marks())


@case
def still_open(t, folder):
    trace = os.path.join(folder, 't')
    with open(os.path.join(folder, 'out'), 'w+', encoding='utf-8') as f:
        subprocess.run([WEIR, 'record', '-q', '-o', trace, '--duration', '1s', '--', MARKS, 'open', '/dev/zero'], stdout=f, timeout=60, check=True)
        f.seek(0)
        lines = [l.split() for l in f]
    os.kill(next(int(l[2]) for l in lines if l[0] == 'count'), signal.SIGKILL)
    r = Recording.__new__(Recording)
    r.trace = trace
    got = {s['name']: (s['span_status'], s['dur']) for s in r.rows('from span')}
    want = {l[3]: l[4] for l in lines if l[0] == 'span'}
    t.check('spans that are open as recording ends are running, without a duration',
            {n: s for n, (s, _) in got.items()} == want and [d is None for n, (_, d) in sorted(got.items())] == [False, True, True], got, want)


@case
def killed(t, folder):
    trace = os.path.join(folder, 't')
    recorder = subprocess.Popen([WEIR, 'record', '-q', '-o', trace, '--', 'sh', '-c', f'{MARKS} open /dev/zero & sleep 0.3; kill -9 $!; wait'],
                                stdout=subprocess.PIPE, text=True)
    out = recorder.communicate(timeout=60)[0]
    r = Recording.__new__(Recording)
    r.trace = trace
    got = {s['name']: s['span_status'] for s in r.rows('from span')}
    t.check('spans of a process that was killed are cut', got == {'outer': 'cut', 'inner': 'cut', 'done': 'unset'}, got, out)


@case
def older(t, folder):
    p = subprocess.Popen([MARKS, 'older', '/dev/zero'], stdout=subprocess.PIPE, text=True)
    try:
        said = p.stdout.readline().strip()
        t.check('after a second without a recorder nothing is kept', said == 'idle', said)
        trace = os.path.join(folder, 't')
        subprocess.run([WEIR, 'record', '-q', '-o', trace, '-p', str(p.pid), '--duration', '1s'], check=True, timeout=60)
        r = Recording.__new__(Recording)
        r.trace = trace
        names = collections.Counter(s['name'] for s in r.rows('from span'))
        t.check('a process that is older than the recorder is found', set(names) == {'seen'} and names['seen'] > 10, names, *r.marks())
        subprocess.run([WEIR, 'record', '-q', '-o', trace, '-p', str(p.pid), '--duration', '1s'], check=True, timeout=60)
        names = collections.Counter(s['name'] for s in r.rows('from span'))
        t.check('and by the next recorder too', set(names) == {'seen'} and names['seen'] > 10, names, *r.marks())
        first = subprocess.Popen([WEIR, 'record', '-q', '-o', trace, '-p', str(p.pid)])
        time.sleep(1)
        other = trace + '2'
        subprocess.run([WEIR, 'record', '-q', '-o', other, '-p', str(p.pid), '--duration', '1s'], check=True, timeout=60)
        first.send_signal(signal.SIGINT)
        first.wait(timeout=60)
        r.trace = other
        t.check('a second recorder reports that another one reads them', any('another recorder' in m for m in r.marks()), r.marks())
    finally:
        p.kill()
        p.wait()


@case
def older_child(t, folder):
    p = subprocess.Popen([MARKS, 'older_child', '/dev/zero'], stdout=subprocess.PIPE, text=True)
    child = int(p.stdout.readline())
    try:
        r = Recording.__new__(Recording)
        r.trace = os.path.join(folder, 't')
        subprocess.run([WEIR, 'record', '-q', '-o', r.trace, '-p', str(child), '--duration', '1s'], check=True, timeout=60)
        names = collections.Counter(s['name'] for s in r.rows('from span'))
        t.check('a child that has nothing but the memory of its parent makes its own', set(names) == {'seen'} and names['seen'] > 10, names, *r.marks())
        r.trace += '2'
        subprocess.run([WEIR, 'record', '-q', '-o', r.trace, '-p', str(child), '-p', str(p.pid), '--duration', '1s'], check=True, timeout=60)
        names = collections.Counter(s['name'] for s in r.rows('from span'))
        t.check('both are recorded, where the child is seen first', set(names) == {'seen', 'of the parent'} and min(names.values()) > 10, child, p.pid, names)
        no_loss(t, 'both are recorded', r)
    finally:
        os.kill(child, signal.SIGKILL)
        p.kill()
        p.wait()


class Orphan:
    """A recording of a program whose child has outlived it and has marked nothing yet"""

    def __init__(self, folder):
        self.r = Recording.__new__(Recording)
        self.r.trace = os.path.join(folder, 't')
        self.recorder = subprocess.Popen([WEIR, 'record', '-q', '-o', self.r.trace, '--', 'sh', '-c', f'{MARKS} orphan /dev/zero | cat'],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = next(l.split()[1] for l in self.recorder.stdout if l.startswith('orphan'))
        time.sleep(0.5)  # until the recorder has seen the end of the program

    def mark(self):
        self.recorder.stdin.write('\n')
        self.recorder.stdin.flush()
        time.sleep(0.5)

    def orphans(self):
        """How many of its spans were recorded, when it has ended"""
        self.recorder.communicate(timeout=60)
        return len(self.r.rows('from span | where name == "orphan"'))


@case
def left(t, folder):
    orphan = Orphan(folder)
    other = os.path.join(folder, 't2')
    subprocess.run([WEIR, 'record', '-q', '-o', other, '-p', orphan.pid, '--duration', '200ms'], timeout=60, check=True)
    orphan.mark()
    count = orphan.orphans()
    t.check('a recorder that leaves does not turn off the memory of a parent that has ended, in which another one asked its child for its own', count == 5, count, *orphan.r.marks())


@case
def second(t, folder):
    orphan = Orphan(folder)
    r = Recording.__new__(Recording)
    r.trace = os.path.join(folder, 't2')
    with subprocess.Popen([WEIR, 'record', '-q', '-o', r.trace, '-p', orphan.pid]) as other:
        time.sleep(0.5)
        other.send_signal(signal.SIGSTOP)
        orphan.mark()
        other.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        count = orphan.orphans()
    t.check('the recorder that comes first reads the memory of the child', count == 5, count, *orphan.r.marks())
    t.check('the other, which has only the memory of the parent, reports that another recorder reads it', any('another recorder' in m for m in r.marks()) and
            'span_unread' in {x['cause'] for x in r.rows('from loss')}, r.marks(), r.rows('from span'))


@case
def brief(t, folder):
    r = Recording(folder, ['sh', '-c', f'for i in 1 2 3 4 5 6 7 8 9 10; do {MARKS} brief /dev/zero; done'], WEIR_SPAN_WAIT_MS='1000')
    t.check('ten programs ran', len(r.kind('span')) == 10 and r.status == 0, r.out, r.err)
    compare(t, 'programs that end at once, and wait to be found', r)


@case
def overflow(t, folder):
    r = Recording(folder, [MARKS, 'overflow', '/dev/zero'], WEIR_SPAN_RING_KIB='16')
    count = int(r.kind('count')[0][1])
    spans = r.rows('from span | by span_status | count()')
    done = sum(s['count'] for s in spans)
    notes = r.rows('from note | count()')[0]['count']
    lost = sum(x['events'] or 0 for x in r.rows('from loss') if x['cause'] == 'span_full')
    t.check('a ring that is full loses whole spans or notes, and counts each', notes + lost == count and notes <= done <= count,
            f'{count} spans: {done} rows, {notes} notes, {lost} lost')
    t.check('something was lost, and something not', 0 < lost < count, lost)
    t.check('no span that began lacks its end', [s['span_status'] for s in spans] == ['unset'], spans)
    report = subprocess.run([WEIR, 'report', '-i', r.trace], capture_output=True, text=True, timeout=60, check=False)
    t.check('report shows it', f'{lost:,} rows of span' in report.stdout, report.stdout[:600])


@case
def values(t, folder):
    r = Recording(folder, [MARKS, 'values', '/dev/zero'])
    span = r.rows('from span')[0]
    attributes = json.loads(span['attributes'])
    notes = {n['name']: n['text'] for n in r.rows('from note')}
    t.check('long values are cut, and show it', notes['long'] == 'v' * 4000 + '…' and attributes['long'].startswith('v' * 4000), len(notes['long']))
    t.check('long keys are cut', notes.get('n' * 255) == 'of a long key')
    t.check('a moment has no value and is no attribute', notes['moment'] is None and 'moment' not in attributes)
    t.check('what names no span goes to the innermost', notes['here'] == 'innermost')
    t.check('an error is noted', notes['error'] == 'it failed' and span['span_status'] == 'error')
    t.check('bytes that are no text stay JSON', 'bytes' in attributes, attributes)
    t.check('what is left out of the attributes is there as notes', attributes.get('weir.left_out') is True and notes['key99'] == '-99', attributes)


@case
def hostile(t, folder):
    for way, lines in {'back': 1, 'far': 1, 'crooked': 1, 'noise': 1, 'records': 0, 'rings': 0, 'version': 1, 'layout': 1, 'unsealed': 1, 'often': 0, 'many': 1, 'file': 1}.items():
        os.mkdir(os.path.join(folder, way))
        r = Recording(os.path.join(folder, way), [HOSTILE, way, '7'])
        calls = r.rows('from op | where op == pread64 && pos >= 1000000 | count()')[0]['count']
        marks = r.marks()
        causes = {x['cause'] for x in r.rows('from loss')}
        good = r.status == 0 and calls == int(r.out or 0) and len(marks) >= lines and all('\n' not in m for m in marks)
        reason = {'many': 'more span buffers', 'file': 'not a memfd'}.get(way, '')
        good = good and (not reason or any(reason in m for m in marks))
        t.check(f'hostile memory ({way}) harms nobody', good and (not lines or 'span_unread' in causes), r.status, calls, r.out, r.err, marks[:3], causes)


@case
def blkin(t, folder):
    r = Recording(folder, [BLKIN])
    truth = sorted((f'{NONE}{w[0]}', w[1], None if w[2] == NONE else w[2], w[3]) for w in r.lines)
    rows = r.rows('from span')
    t.check("BlkKin's spans", sorted((s['trace_id'], s['span_id'], s['parent_id'], s['name']) for s in rows) == truth, rows, truth, *r.marks())
    by_name = {s['name']: s for s in rows}
    t.check('their kinds, services, source', {n: (s['span_kind'], s['service'], s['source'], s['span_status']) for n, s in by_name.items()} ==
            {'request': ('client', 'client', 'blkin', 'unset'), 'write': ('internal', 'primary', 'blkin', 'unset'),
             'replicate': ('server', 'replica', 'blkin', 'unset')}, rows)
    notes = sorted((n['name'], n['text']) for n in r.rows('from note'))
    t.check('all annotations', notes == sorted([('cs', None), ('cr', None), ('queued', None), ('size', '4096'), ('done', None), ('sr', None),
                                               ('ss', None), ('object', 'disk.0001')], key=lambda x: (x[0], x[1] or '')), notes)
    t.check('parents over processes', by_name['replicate']['parent'] == by_name['write']['number'] and
            by_name['write']['parent'] == by_name['request']['number'])


@case
def new_ids(t, folder):
    r = Recording(folder, [BLKIN, 'new'])
    ids = r.out.split()
    calls = r.rows('from op | where op == getrandom | count()')[0]['count']
    t.check('ids of a process and of forked ones are all different', len(ids) == 7000 == len(set(ids)) and '0' not in ids, len(ids), len(set(ids)))
    t.check('a process that has memory of its own draws them without a call each', 0 < calls <= 6100, calls)


@case
def same_ids(t, folder):
    r = Recording(folder, [BLKIN, 'same'])
    rows = r.rows('from span')
    names = {s['number']: s['name'] for s in rows}
    t.check('ids that come again in another trace are other spans', r.status == 0 and {s['name']: names.get(s['parent']) for s in rows} ==
            {'rootA': None, 'rootB': None, 'kidA': 'rootA', 'kidB': 'rootB'}, rows, r.err, *r.marks())


@case
def example(t, folder):
    r = Recording(folder, [EXAMPLE, os.path.join(folder, 'saved')])
    names = {s['name']: s['count'] for s in r.rows('from span | by name | count()')}
    t.check('the example of the manual', names == {'edit': 10, 'save': 10} and r.status == 0, names, r.err, *r.marks())


FOREIGN = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
c, s, inner = ctypes.create_string_buffer(32), ctypes.create_string_buffer(56), ctypes.create_string_buffer(56)
lib.weir_span_begin(s, b'outer')
lib.weir_span_note(s, b'document', b'budget')
lib.weir_span_note_int(s, b'pages', ctypes.c_int64(12))
lib.weir_span_event(None, b'moment')
lib.weir_span_context(s, c)
lib.weir_span_begin_in(inner, b'inner', 2, c)
lib.weir_span_error(inner, b'disk full')
lib.weir_span_end(inner)
lib.weir_span_end(s)
"""


@case
def foreign(t, folder):
    """By ctypes: what the header has inline is a function of the library, too"""
    library = os.path.realpath(os.path.join(os.path.dirname(WEIR), '..', 'span', 'libweir-span.so.1.0.0'))
    r = Recording(folder, [sys.executable, '-c', FOREIGN, library], WEIR_SPAN_WAIT_MS='1000', **runtime_of(library))
    spans = {s['name']: s for s in r.rows('from span')}
    t.check('foreign: spans', [(n, s['span_kind'], s['span_status']) for n, s in sorted(spans.items())] ==
            [('inner', 'client', 'error'), ('outer', 'internal', 'unset')], spans, r.err)
    t.check('foreign: the parent by its context', spans['inner']['parent'] == spans['outer']['number'])
    t.check('foreign: notes', [(n['name'], n['text']) for n in r.rows('from note')] ==
            [('document', 'budget'), ('pages', '12'), ('moment', None), ('error', 'disk full')], r.rows('from note'))


@case
def interrupted(t, folder):
    r = Recording(folder, [MARKS, 'interrupted', '/dev/zero'])
    counts = {w[0]: int(w[1]) for w in r.kind('count')}
    t.check('a fork in a signal handler amid a record harms no child', r.status == 0 and counts == {'forked': 30, 'broken': 0}, r.status, counts, r.err)
    names = {s['name']: s['count'] for s in r.rows('from span | by name | count()')}
    t.check('and the children mark their own', 10 <= names.get('child', 0) <= 1000 and names.get('interrupted', 0) > 100, names)


@case
def bystanders(t, folder):
    r = Recording(folder, [MARKS, 'errno', '/dev/zero'])
    t.check('errno is left alone', r.kind('count') == [['errno', '77']], r.out, r.err)
    r = Recording(folder, [MARKS, 'strict', '/dev/zero'], WEIR_SPAN_WAIT_MS='1000')  # it ends at once
    t.check('a child that left marks nothing, and lives in strict mode', r.kind('count') == [['status', '0']], r.out, r.err)
    lost = sum(x['events'] or 0 for x in r.rows('from loss'))
    t.check('what it does not mark is counted', lost >= 20 and {s['name'] for s in r.rows('from span')} == {'parent'}, lost, r.rows('from loss'))


def published_wrong(lines):
    """The steps at which others did not read what the program has."""
    bad = []
    for step, text, valid, record in lines:
        want = '' if text == '-' else text[3:35] + text[36:52]
        if int(valid) != (step != 'none') or (want and record != want):
            bad.append((step, text, valid, record))
    return bad


@case
def published(t, folder):
    r = Recording(folder, [MARKS, 'published', '/dev/zero'])
    lines = r.kind('published')
    t.check("OpenTelemetry's record of the thread has the innermost span, recorded", len(lines) == 18 and not published_wrong(lines) and
            all(line[1] != '-' for line in lines if line[0] != 'none'), *published_wrong(lines), r.out, r.err)
    alone = subprocess.run([MARKS, 'published', '/dev/zero'], capture_output=True, text=True, timeout=60, check=False,
                           env=dict(os.environ, WEIR_SPAN_PUBLISH='1', WEIR_SPAN_RING_KIB='16'))
    lines = [l.split()[1:] for l in alone.stdout.splitlines()]
    t.check('and where nobody records, if the environment has it so', len(lines) == 18 and not published_wrong(lines) and
            all(line[1] != '-' for line in lines if line[0] != 'none'), alone.stdout, alone.stderr)
    p = subprocess.Popen([MARKS, 'older', '/dev/zero'], stdout=subprocess.PIPE, text=True, env=dict(os.environ, WEIR_SPAN_PUBLISH='1'))
    try:
        p.stdout.readline()
        t.check("the process's record", process_of(p.pid) == {'service.name': 'marks', 'telemetry.sdk.name': 'weir-span',
                                                             'threadlocal.schema_version': 'tlsdesc_v1_dev'}, process_of(p.pid))
        r.trace = os.path.join(folder, 'own')
        subprocess.run([WEIR, 'record', '-q', '-o', r.trace, '-p', str(p.pid), '--duration', '1s'], check=True, timeout=60)
        contexts = {c['span_id'] for c in r.rows('from context | select span_id')}
        spans = {s['span_id'] for s in r.rows('from span | select span_id')}
        t.check('weir reads no context of a process whose spans it has', not contexts and len(spans) > 10, len(contexts), len(contexts & spans), len(spans))
    finally:
        p.kill()
        p.wait()


def fields_of(data):
    """The fields of a protobuf message that are bytes"""
    at = 0
    while at < len(data):
        number, length, at = data[at] >> 3, data[at + 1], at + 2
        if length >= 128:
            length, at = length & 127 | data[at] << 7, at + 1
        yield number, data[at:at + length]
        at += length


def process_of(pid):
    """OpenTelemetry's process context: key and value of all attributes"""
    with open(f'/proc/{pid}/maps', encoding='utf-8') as maps:
        start = next(int(line.split('-')[0], 16) for line in maps if '/memfd:OTEL_CTX' in line)
    with open(f'/proc/{pid}/mem', 'rb', 0) as memory:
        memory.seek(start)
        signature, version, size, at, payload = struct.unpack('8sIIQQ', memory.read(32))
        memory.seek(payload)
        message = memory.read(size)
    if (signature, version) != (b'OTEL_CTX', 2) or not at:
        return None
    found = {}
    for number, data in fields_of(message):
        for pair in [p for _, p in fields_of(data)] if number == 1 else [data]:
            key, value = dict(fields_of(pair)).values()
            found[key.decode()] = dict(fields_of(value))[1].decode()
    return found


def checks_of(f):
    """Runs a case; again if another recorder was the reason that it failed"""
    for _ in range(AGAIN_MAX):
        held = Held()
        with tempfile.TemporaryDirectory() as folder:
            try:
                f(held, folder)
            except (subprocess.CalledProcessError, LookupError, StopIteration) as e:  # of rows that are not there
                held.check(f'{f.__name__}: {e!r}', False)
            ours = 't' if f in (older, left, second) else 't*'  # where another one is to be there first
            if not held.failed or not taken(glob.glob(f'{folder}/**/{ours}', recursive=True) + glob.glob(f'{folder}/t.old')):
                break
        time.sleep(1)
    return held.checks


def main():
    t = Tap()
    if os.geteuid():
        t.skip('spans', 'needs root')
        return t.end()
    for f in CASES:
        if len(sys.argv) == 6 or f.__name__ in sys.argv[6:]:
            for check in checks_of(f):
                t.check(*check)
    return t.end()


sys.exit(main())
