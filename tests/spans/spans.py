#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""spans.py WEIR MARK WORK: which calls belong to which span, as the program WORK says it, against what `weir requests` finds; sums
against plain loops over the rows. Spans are added to the recorded trace by MARK. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark, work = map(os.path.abspath, sys.argv[1:4])
tap = Tap()
check = tap.check
TIMES = ('program', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other')


def run(folder, *args, given=None):
    r = subprocess.run(args, capture_output=True, text=True, cwd=folder, input=given, timeout=120,
                       env={**os.environ, 'NO_COLOR': '1', 'TZ': 'UTC', 'LC_ALL': 'C.UTF-8'})
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


def marked(folder, trace, spans, of_context=()):
    """A copy of the trace with the spans; those of `of_context` are carried as contexts as well, by their ids."""
    threads = {r['tid']: r['thread_id'] for r in rows(folder, trace, 'from op | select tid, id(thread) as thread_id')}
    lines = []
    for n, (parent, name, tid, start, stop) in spans.items():
        lines.append('\t'.join(map(str, ('span', start, stop - start, n, parent or '-', name, 'ok', threads[tid], f'{n:032x}', f'{n:016x}',
                                         '-', json.dumps({'round': n % 3, 'who': name})))))
    run(folder, mark, trace, 'marked.trace', given='\n'.join(lines) + '\n')
    return threads


def membership(folder, spans, calls):
    document(folder, 'requests', '-i', 'marked.trace', '--keep')
    op = {r['row_id']: r for r in rows(folder, 'marked.trace', 'from op | select row_id, start, dur, pos, op, tid')}
    got = {}
    for r in rows(folder, 'marked.trace', 'from span_op | select op_id, number, via, dur'):
        call = op[r['op_id']]
        if call['op'] in ('pread64', 'read') and call['pos'] is not None:
            got.setdefault(call['pos'], []).append((r['number'], r['via']))
    for via in ('thread', 'work', '-'):
        want = {p: c for p, c in calls.items() if c[1] == via}
        bad = [(p, c, got.get(p)) for p, c in want.items() if got.get(p) != ([c] if via != '-' else None)]
        check(f'{len(want)} calls, via {via}', want and not bad, len(bad), bad[:10])
    return op


def main():
    with tempfile.TemporaryDirectory(prefix='weir-spans-') as folder:
        with open(f'{folder}/file', 'wb') as f:
            f.write(bytes(10000))
        out = run(folder, weir, 'record', '-q', '-o', 't.trace', '--', work, 'file')
        spans, calls = truth_of(out)
        check('the program ran', out.endswith('end\n') and len(spans) > 20, out[-200:])
        marked(folder, 't.trace', spans)
        membership(folder, spans, calls)
    return tap.end()


sys.exit(main())
