#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""joins.py WEIR MARK JOINS: calls of threads and processes that a span waits for, or that got its work, as the program JOINS says it, against
what `weir requests` finds. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, mark, joins = map(os.path.abspath, sys.argv[1:4])
tap = Tap()
check = tap.check


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


def truth_of(text):
    """Spans {number: (parent, name, tid, start, stop)}, calls {position: {(number, via)}}, paths {number: {position}}"""
    spans, calls, paths = {}, {}, {}
    for words in (line.split() for line in text.splitlines()):
        if words[0] == 'span':
            spans[int(words[1])] = (int(words[2]), words[3], int(words[4]), int(words[5]), int(words[6]))
        elif words[0] == 'call':
            calls.setdefault(int(words[1]), set()).add((int(words[2]), words[3]))
        elif words[0] == 'path':
            paths.setdefault(int(words[1]), set()).add(int(words[2]))
    return spans, calls, paths


def marked(folder, spans):
    threads = {r['tid']: r['thread_id'] for r in rows(folder, 't.trace', 'from op | select tid, id(thread) as thread_id')}
    run(folder, mark, 't.trace', 'marked.trace', given=''.join(
        f'span\tstart={start}\tdur={stop - start}\tnumber={n}\tname={name}\tspan_status=ok\tthread_id={threads[tid]}\t'
        f'trace_id={n:032x}\tspan_id={n:016x}\tsource=weir\n' for n, (_, name, tid, start, stop) in spans.items()))


def membership(folder, spans, calls):
    document(folder, 'requests', '-i', 'marked.trace', '--keep')
    op = {r['row_id']: r['pos'] for r in rows(folder, 'marked.trace', 'from op | where op == "pread64" | select row_id, pos')}
    got = {p: set() for p in op.values()}
    for r in rows(folder, 'marked.trace', 'from span_op | select op_id, number, via, dur'):
        if r['op_id'] in op:
            got[op[r['op_id']]].add((r['number'], r['via']))
    names = {0: 'none'} | {n: s[1] for n, s in spans.items()}
    groups = {}
    for p, want in calls.items():
        want = {w for w in want if w[1] != '-'}
        groups.setdefault(', '.join(sorted(f'{names[n]} {via}' for n, via in want)) or 'none', []).append((p, want))
    for what, wanted in sorted(groups.items()):
        bad = [(p, want, got.get(p)) for p, want in wanted if got.get(p) != want]
        check(f'{len(wanted)} calls: {what}', not bad, len(bad), bad[:10])
    return op


def sums(folder, spans, calls):
    """What spans wait for is beside their own sums"""
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log')['rows']}
    kept = {}
    for r in rows(folder, 'marked.trace', 'from span_op | select number, via, dur'):
        kept.setdefault((r['number'], r['via'] == 'wait'), []).append(r['dur'])
    bad = []
    for n, (_, name, _, start, stop) in spans.items():
        want = {'calls': len(kept.get((n, False), ())), 'waited_calls': len(kept.get((n, True), ())), 'waited': sum(kept.get((n, True), ()))}
        parts = sum(log[n][t] for t in ('program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other'))
        if any(log[n][k] != v for k, v in want.items()) or parts != stop - start:
            bad.append((n, name, want, {k: log[n][k] for k in want}, parts - stop + start))
    check('calls that a span waits for are counted apart', not bad, *bad[:5])
    via = document(folder, 'requests', '-i', 'marked.trace')['via']
    check('their time likewise', via['wait']['calls'] == sum(len(v) for k, v in kept.items() if k[1]) and
          via['wait']['time'] == sum(sum(v) for k, v in kept.items() if k[1]), via)


def main():
    if os.geteuid() != 0:
        tap.skip("joins", "needs root")
        return tap.end()
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/file', 'wb') as f:
            f.write(bytes(65536))
        out = run(folder, weir, 'record', '-q', '-o', 't.trace', '--', joins, 'file')
        spans, calls, paths = truth_of(out)
        check('the program ran to its end', out.endswith('end\n'))
        marked(folder, spans)
        membership(folder, spans, calls)
        sums(folder, spans, calls)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
