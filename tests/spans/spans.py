#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spans.py WEIR MARK WORK MARKS CARRIERS: which calls belong to which span, as the program WORK says it, against what `weir requests` finds; sums
against plain loops over the rows. Spans are added to the recorded trace by MARK; MARKS marks its own
with libweir-span, CARRIERS publishes contexts as OpenTelemetry has it. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark, work, marks, carriers = map(os.path.abspath, sys.argv[1:6])
tap = Tap()
check = tap.check
TIMES = ('program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other', 'unselected')


def run(folder, *args, given=None, more=None):
    r = subprocess.run(args, capture_output=True, text=True, cwd=folder, input=given, timeout=120,
                       env={**os.environ, 'NO_COLOR': '1', 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8', **(more or {})})
    if r.returncode:
        raise RuntimeError(f'{args}: {r.returncode} {r.stderr[-500:]}')
    return r.stdout


def document(folder, *args):
    return json.loads(run(folder, weir, *args, '--json'))


def rows(folder, trace, query):
    return document(folder, 'query', '-i', trace, query)['rows']


def union(intervals):
    total, until = 0, None
    for start, stop in sorted(intervals):
        start = start if until is None else max(start, until)
        total += max(stop - start, 0)
        until = stop if until is None else max(until, stop)
    return total


def truth_of(text):
    """Spans {number: (parent, name, tid, start, stop)} and calls {position: (number, via)}"""
    spans, calls = {}, {}
    for words in (line.split() for line in text.splitlines()):
        if words[0] == 'span':
            spans[int(words[1])] = (int(words[2]), words[3], int(words[4]), int(words[5]), int(words[6]))
        elif words[0] == 'call':
            calls[int(words[1])] = (int(words[2]), words[3])
    return spans, calls


def line(table, **fields):
    """A row for MARK"""
    return '\t'.join((table, *(f'{k}={v}' for k, v in fields.items() if v is not None))) + '\n'


def marked(folder, trace, spans):
    """A copy of the trace with the spans"""
    threads = {r['tid']: r['thread_id'] for r in rows(folder, trace, 'from op | select tid, id(thread) as thread_id')}
    if os.path.exists(f'{folder}/marked.trace'):
        os.remove(f'{folder}/marked.trace')
    run(folder, mark, trace, 'marked.trace', given=''.join(
        line('span', start=start, dur=stop - start, number=n, parent=parent or None, name=name, span_status='ok', thread_id=threads[tid],
             trace_id=f'{n:032x}', span_id=f'{n:016x}', source='weir', attributes=json.dumps({'round': n % 3, 'who': name}))
        for n, (parent, name, tid, start, stop) in spans.items()))


def membership(folder, spans, calls):
    document(folder, 'requests', '-i', 'marked.trace', '--keep')
    doc = document(folder, 'query', '-i', 'marked.trace', 'from op | select row_id, start, dur, pos, op, tid, class')
    op = {r['row_id']: r | {'start': r['start'] + int(doc['origin'])} for r in doc['rows']}
    got = {}
    for r in rows(folder, 'marked.trace', 'from span_op | where via != "wait" | select op_id, number, via, dur'):
        call = op[r['op_id']]
        if call['op'] in ('pread64', 'read') and call['pos'] is not None:
            got.setdefault(call['pos'], []).append((r['number'], r['via']))
    for via in ('thread', 'work', '-'):
        want = {p: c for p, c in calls.items() if c[1] == via}
        bad = [(p, c, got.get(p)) for p, c in want.items() if got.get(p) != ([c] if via != '-' else None)]
        check(f'{len(want)} calls, via {via}', want and not bad, len(bad), bad[:10])
    return op


def own_sums(folder, spans, op):
    """Sums against loops over the rows of span_op"""
    below = {n: [] for n in spans}
    for n in spans:
        at = n
        while at:
            below[at].append(n)
            at = spans[at][0]
    members = {}
    for r in rows(folder, 'marked.trace', 'from span_op | where via != "wait" | select op_id, number, via, dur'):
        members.setdefault(r['number'], []).append(op[r['op_id']])
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log', '--name', '*')['rows']}
    check('every span is in the log', set(log) == set(spans), len(log))
    bad = []
    for n, (parent, name, _, start, stop) in spans.items():
        cut = [(max(c['start'], start), min(c['start'] + c['dur'], stop), c) for k in below[n] for c in members.get(k, ())]
        cut = [(a, max(a, b), c) for a, b, c in cut]
        any_call = union([(a, b) for a, b, _ in cut])
        busy = union([(a, b) for a, b, c in cut if c['class'] != 'wait'])
        children = union([(max(spans[k][3], start), min(spans[k][4], stop)) for k in spans if spans[k][0] == n])
        want = {'dur': stop - start, 'self': stop - start - children, 'calls': len(cut), 'program': stop - start - any_call,
                'own_calls': len(members.get(n, ()))}
        got = log[n]
        waits = got['lock'] + got['wait']
        if any(got[k] != v for k, v in want.items()) or waits != any_call - busy or sum(got[t] for t in TIMES) != stop - start:
            bad.append((n, name, want, any_call - busy, {k: got[k] for k in (*want, *TIMES)}))
    check('dur, self, calls, time in the program and in waits are those of a loop', not bad, *bad[:3])
    names = {r['name']: r for r in document(folder, 'requests', '-i', 'marked.trace')['rows']}
    bad = []
    for name in {s[1] for s in spans.values()}:
        mine = [(s[3], s[4]) for s in spans.values() if s[1] == name]
        durs = sorted(b - a for a, b in mine)
        want = {'count': len(mine), 'total': sum(durs), 'covered': union(mine), 'p50': durs[len(durs) // 2], 'max': durs[-1], 'least': durs[0],
                'self': sum(log[n]['self'] for n in spans if spans[n][1] == name)}
        if any(names[name][k] != v for k, v in want.items()):
            bad.append((name, want, names[name]))
    check('total, covered, self and percentiles by name likewise', not bad and len(names) == len({s[1] for s in spans.values()}), *bad[:3])


def overlapping(folder, spans, op):
    """The request that most calls of other threads overlap, and how many; calls that count for it aside"""
    members = {}
    for r in rows(folder, 'marked.trace', 'from span_op | select op_id, number'):
        top = r['number']
        while spans[top][0]:
            top = spans[top][0]
        members.setdefault(top, set()).add(r['op_id'])
    counts = [(sum(c['tid'] != tid and i not in members.get(n, ()) and c['dur'] is not None and c['start'] < stop and c['start'] + c['dur'] > start
                   for i, c in op.items()), n) for n, (parent, _, tid, start, stop) in spans.items() if not parent]
    return max(counts)


def views(folder, spans, op):
    """Trees, comparisons, groups and durations hang together"""
    slow = max((s[4] - s[3], n) for n, s in spans.items() if not s[0])
    doc = document(folder, 'requests', '-i', 'marked.trace', '--tree', 'slowest')
    tree = doc['rows']
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log', '--name', '*')['rows']}
    check('the slowest as a tree', tree[0]['number'] == slow[1] and tree[0]['dur'] == slow[0] and tree[0]['at'] == 0, tree[0], slow)
    check('its lines have all of its calls', sum(r['count'] for r in tree if r['what'] != 'span' and r['via'] != 'wait') == log[slow[1]]['calls'], tree)
    ring = next(n for n, s in spans.items() if s[1] == 'ring')
    of_ring = document(folder, 'requests', '-i', 'marked.trace', '--tree', str(ring))['rows']
    check('requests of io_uring are work', sum(r['count'] for r in of_ring if r['via'] == 'work') == 4, of_ring)
    count, of = overlapping(folder, spans, op)
    plain, overlap = (document(folder, 'requests', '-i', 'marked.trace', '--tree', str(of), *more)['rows'] for more in ((), ('--overlap',)))
    found = sum(r['count'] for r in overlap if r['via'] == 'time')
    added = sum(r['count'] for r in overlap if r['what'] != 'span') - sum(r['count'] for r in plain if r['what'] != 'span')
    check('what merely overlaps comes on request', count and found == added == count, count, found, added, overlap)
    freq = document(folder, 'requests', '-i', 'marked.trace', '--freq')['rows']
    check('durations: each once', sum(r['count'] for r in freq) == sum(not s[0] for s in spans.values()), freq)
    by = document(folder, 'requests', '-i', 'marked.trace', '--stats', '--by', 'attr.round')['rows']
    check('by an attribute', sorted((r['name'], r['count']) for r in by) ==
          sorted((str(k), sum(n % 3 == k and not s[0] for n, s in spans.items())) for k in range(3)), by)
    groups = document(folder, 'requests', '-i', 'marked.trace', '--clusters', '--name', 'locked')
    check('groups and outliers have each request once', sum(r['count'] for r in groups['rows']) +
          len(groups['tables']['outliers']['rows']) == 20, groups)
    compared = document(folder, 'requests', '-i', 'marked.trace', '--compare', '--name', 'locked')
    check('the differences add up', sum(r['difference'] for r in compared['rows']) ==
          sum(r['slowest'] - r['median'] for r in compared['rows']) and len(compared['rows']) == len(TIMES) and compared['tables']['files']['rows'],
          compared['rows'])


def contexts(folder, spans, calls):
    """Contexts win over threads, and a span that nobody recorded is known by them"""
    threads = {r['tid']: r['thread_id'] for r in rows(folder, 't.trace', 'from op | select tid, id(thread) as thread_id')}
    ring = [n for n, s in spans.items() if s[1] == 'ring']
    lines = []
    for n, (parent, name, tid, start, stop) in spans.items():
        status = 'running' if n == ring[-1] else 'error'
        above = parent or (999 if n == ring[0] else None)
        lines.append(line('span', start=start, dur=None if status == 'running' else stop - start, number=n, name=name, span_status=status,
                          thread_id=threads[tid], trace_id=f'{7:032x}', span_id=f'{n:016x}', parent_id=above and f'{above:016x}'))
    other = [n for n, s in spans.items() if s[1] == 'innermost'][0]
    parent, name, tid, start, stop = spans[other]
    pooled = [n for n, s in spans.items() if s[1] == 'pooled'][0]
    lines.append(line('context', start=start, dur=stop - start, thread_id=threads[tid], trace_id=f'{7:032x}', span_id=f'{pooled:016x}'))
    alone = [n for n, s in spans.items() if s[1] == 'innermost'][1]
    parent, name, tid, start, stop = spans[alone]
    lines.append(line('context', start=start, dur=stop - start, thread_id=threads[tid], trace_id=f'{8:032x}', span_id=f'{5:016x}', unsure=1))
    run(folder, mark, 't.trace', 'context.trace', given=''.join(lines))
    document(folder, 'requests', '-i', 'context.trace', '--keep')
    op = {r['row_id']: r['pos'] for r in rows(folder, 'context.trace', 'from op | where op == "pread64" | select row_id, pos')}
    got = {op[r['op_id']]: (r['number'], r['via']) for r in rows(folder, 'context.trace', 'from span_op | where via != "wait" | select op_id, number, via')
           if r['op_id'] in op}
    of = {n: [p for p, c in calls.items() if c[0] == n] for n in (other, alone)}
    check('the context wins over the thread', [got[p] for p in of[other]] == [(pooled, 'context')], [got.get(p) for p in of[other]])
    doc = document(folder, 'requests', '-i', 'context.trace', '--log')
    made = [r for r in doc['rows'] if r['trace_id'] == f'{8:032x}']
    check('a span known by its context alone', len(made) == 1 and made[0]['span_id'] == f'{5:016x}' and
          [got[p] for p in of[alone]] == [(made[0]['number'], 'context')], made, got)
    about = doc['spans']
    check('parents by their ids', about['orphans'] == 1 and about['running'] == 1 and about['unsure'] == 1 and about['contexts'] == 2 and
          sum(r['parent'] is None for r in doc['rows']) == len(doc['rows']) ==
          sum(not s[0] for s in spans.values()) + 1, about, len(doc['rows']))
    screen = run(folder, weir, 'requests', '-i', 'context.trace')
    check('the screen shows what is running and what is uncertain', 'running 1' in screen and 'event loops' in screen, screen)


def members_of(folder, trace):
    """The span of each pread64(), and why, by thread and position"""
    document(folder, 'requests', '-i', trace, '--keep')
    op = {r['row_id']: (r['tid'], r['pos']) for r in rows(folder, trace, 'from op | where op == "pread64" | select row_id, tid, pos')}
    ids = {r['number']: r['span_id'] for r in document(folder, 'requests', '-i', trace, '--log', '--name', '*', '--top', '100000')['rows']}
    got = {}
    for r in rows(folder, trace, 'from span_op | where via != "wait" | select op_id, number, via'):
        if r['op_id'] in op:
            got.setdefault(op[r['op_id']], []).append((ids[r['number']], r['via']))
    return got


def marked_by_library(folder):
    """Spans that the program marks itself, on several threads"""
    out = run(folder, weir, 'record', '-q', '-o', 'marks.trace', '--', marks, 'threads', 'file')
    truth = {(int(w[2]), int(w[3])): [(w[1], 'thread')] for w in (line.split() for line in out.splitlines()) if w[0] == 'call'}
    got = members_of(folder, 'marks.trace')
    bad = [(k, v, got.get(k)) for k, v in truth.items() if got.get(k) != v]
    check(f'libweir-span: {len(truth)} calls', len(truth) > 1000 and not bad, len(bad), *bad[:5])


def published(folder):
    """Contexts as OpenTelemetry's SDKs publish them: of spans that nobody recorded. The recorder finds the variable in its own time."""
    for wait in '200', '4000':
        out = run(folder, weir, 'record', '-q', '-o', 'contexts.trace', '--', carriers, 'file', 'own', '3', '500', more={'CARRIERS_WAIT': wait})
        truth = {(int(w[0]), int(w[1])): None if w[3] == '-' else [(w[3], 'context')]
                 for w in (line.split() for line in out.splitlines()) if len(w) == 4}
        got = members_of(folder, 'contexts.trace')
        bad = [(k, v, got.get(k)) for k, v in truth.items() if got.get(k) != v]
        if not bad:
            break
        os.remove(f'{folder}/contexts.trace')
    check(f'contexts: {len(truth)} calls', len(truth) == 1500 and not bad, len(bad), *bad[:5])


def stalled(folder):
    """Two threads on one CPU: what of a span its thread had no CPU for, in no call"""
    out = run(folder, weir, 'record', '-q', '--with', 'sched', '-o', 't2.trace', '--', work, 'file', 'contend')
    spans, _ = truth_of(out)
    threads = {r['tid']: r['thread_id'] for r in rows(folder, 't2.trace', 'from op | select tid, id(thread) as thread_id')}
    marked(folder, 't2.trace', spans)
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log')['rows']}
    doc = document(folder, 'query', '-i', 'marked.trace', 'from sched | select start, dur, id(thread) as thread_id')
    off = [(r['start'] + int(doc['origin']), r['dur'], r['thread_id']) for r in doc['rows'] if r['dur'] is not None]
    doc = document(folder, 'query', '-i', 'marked.trace', 'from op | select start, dur, id(thread) as thread_id')
    calls = [(r['start'] + int(doc['origin']), r['dur'], r['thread_id']) for r in doc['rows'] if r['start'] is not None]
    bad, most = [], 0
    for n, (_, name, tid, start, stop) in spans.items():
        def within(rows_of):
            cut = [(max(a, start), min(a + d, stop)) for a, d, t in rows_of if t == threads[tid]]
            return [(a, b) for a, b in cut if a < b]
        want = union(within(off) + within(calls)) - union(within(calls))
        most = max(most, want)
        if log[n]['stalled'] != want or sum(log[n][t] for t in TIMES) != stop - start:
            bad.append((n, want, {t: log[n][t] for t in TIMES}))
    check('without a CPU', len(spans) == 8 and most > 1000000 and not bad, most, len(spans), *bad)


def refused(folder):
    for args, part in ((('--tree', 'x'), "--tree 'x'"), (('--tree', '987654'), 'no span has this number'), (('--by', 'x', '--freq'), 'attr.KEY'),
                       (('--by', 'attr.x', '--freq'), 'no span has this attribute; there are round'),
                       (('--log', '--stats'), 'exclude one another'), (('--overlap',), '--tree'), (('--by', 'name'), '--freq')):
        r = subprocess.run((weir, 'requests', '-i', 'marked.trace', *args), capture_output=True, text=True, cwd=folder, timeout=60)
        check(f'{" ".join(args)} is refused', r.returncode in (1, 2) and part in r.stderr and r.stderr.count('\n') == 1, r.stderr, r.returncode)
    text = run(folder, weir, 'requests', '-i', 't.trace')
    check('a trace without spans says so', text.startswith('no spans in this trace'), text)


def main():
    with tempfile.TemporaryDirectory(prefix='weir-spans-') as folder:
        with open(f'{folder}/file', 'wb') as f:
            f.write(bytes(100000))
        out = run(folder, weir, 'record', '-q', '-o', 't.trace', '--', work, 'file')
        spans, calls = truth_of(out)
        check('the program ran', out.endswith('end\n') and len(spans) > 20, out[-200:])
        marked(folder, 't.trace', spans)
        op = membership(folder, spans, calls)
        own_sums(folder, spans, op)
        views(folder, spans, op)
        contexts(folder, spans, calls)
        refused(folder)
        stalled(folder)
        marked_by_library(folder)
        published(folder)
    return tap.end()


sys.exit(main())
