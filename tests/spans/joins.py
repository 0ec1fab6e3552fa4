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
TIMES = ('program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other')


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


def attributes_of(number):
    return {'user': f'u{number % 3}', 'http.size': number * 10, 'share': number / 4} if number % 5 else {'user': 'none'}


def marked(folder, spans):
    threads = {r['tid']: r['thread_id'] for r in rows(folder, 't.trace', 'from op | select tid, id(thread) as thread_id')}
    run(folder, mark, 't.trace', 'marked.trace', given=''.join(
        f'span\tstart={start}\tdur={stop - start}\tnumber={n}\tname={name}\tspan_status=ok\tthread_id={threads[tid]}\t'
        f'trace_id={n:032x}\tspan_id={n:016x}\tsource=weir\tattributes={json.dumps(attributes_of(n))}\n' for n, (_, name, tid, start, stop) in spans.items()))


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
        parts = sum(log[n][t] for t in TIMES)
        if any(log[n][k] != v for k, v in want.items()) or parts != stop - start:
            bad.append((n, name, want, {k: log[n][k] for k in want}, parts - stop + start))
    check('calls that a span waits for are counted apart', not bad, *bad[:5])
    via = document(folder, 'requests', '-i', 'marked.trace')['via']
    check('their time likewise', via['wait']['calls'] == sum(len(v) for k, v in kept.items() if k[1]) and
          via['wait']['time'] == sum(sum(v) for k, v in kept.items() if k[1]), via)


def paths_of(folder, spans, paths):
    """The critical path covers a request once, and has the calls that the program says are on it"""
    durs = {r['pos']: r['dur'] for r in rows(folder, 'marked.trace', 'from op | where op == "pread64" | select pos, dur')}
    bad_cover, bad_calls, threads = [], [], set()
    for n, (_, name, _, start, stop) in spans.items():
        doc = document(folder, 'requests', '-i', 'marked.trace', '--tree', str(n))
        path, member = doc['tables']['path']['rows'], doc['critical_path']
        at = 0
        for s in path:
            if s['at'] != at or sum(s[t] for t in TIMES) != s['dur']:
                bad_cover.append((n, name, s))
            at += s['dur']
        if at != stop - start or member['time'] != at or sum(member['parts'].values()) != at or len(path) != member['segments']:
            bad_cover.append((n, name, at, stop - start, member))
        threads.add(len(member['threads']))
        got = sum(r['critical'] for r in doc['rows'] if r['op'] == 'pread64')
        want = sum(durs[p] for p in paths.get(n, ()))
        # a server may have done its call before its client began to wait
        if n in paths and (got < want if name == 'asked' else got != want):
            bad_calls.append((n, name, got, want))
    check('critical paths cover each request once', not bad_cover, *bad_cover[:3])
    check(f'{len(paths)} requests: the calls on their critical paths', not bad_calls, *bad_calls[:3])
    check('over up to three threads', {1, 2, 3} <= threads, threads)
    screen = run(folder, weir, 'requests', '-i', 'marked.trace', '--tree', str(next(n for n, s in spans.items() if s[1] == 'piped')))
    check('on the screen', 'critical path (*)' in screen and sum('*' in line for line in screen.splitlines()) > 3, screen)


def table(folder, spans):
    """span_sum, which weir diagnose makes, is the log; turns are questions and answers"""
    subprocess.run([weir, 'diagnose', '-i', 'marked.trace'], capture_output=True, cwd=folder, timeout=60, check=True)
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log')['rows']}
    got = {r['number']: r for r in document(folder, 'query', '-i', 'marked.trace', 'from span_sum')['rows']}
    bad = [(n, c, r[c], log[n][c]) for n, r in got.items() for c in (*TIMES, 'dur', 'self', 'calls', 'errors', 'bytes', 'waited')
           if r[c] != log[n][c]]
    check('span_sum is the log of requests', got.keys() == log.keys() == spans.keys() and not bad, *bad[:5])
    turns = {n: r['turns'] for n, r in got.items() if r['turns']}
    check('its turns', turns == {n: 1 for n, s in spans.items() if s[1] == 'asked'}, turns)


def exported(folder, spans):
    """What is exported of a span has its own calls alone"""
    run(folder, weir, 'export', '--zipkin', '-i', 'marked.trace', '-o', 'out.json')
    with open(f'{folder}/out.json', encoding='utf-8') as f:
        out = {int(s['id'], 16): s.get('tags', {}) for s in json.load(f)}
    log = {r['number']: r for r in document(folder, 'requests', '-i', 'marked.trace', '--log')['rows']}
    bad = [(n, int(out[n].get('weir.io.calls', 0)), log[n]['calls']) for n in spans]
    bad = [b for b in bad if b[1] != b[2]]
    check('an export counts what a span waits for no more than its sums do', not bad, *bad[:5])


def language(folder, spans):
    """span.NAME of a call, against a loop over the rows and against SQL"""
    op = rows(folder, 'marked.trace', 'from op | select row_id, op, dur')
    of = {r['op_id']: r['number'] for r in rows(folder, 'marked.trace', 'from span_op | select op_id, number, via') if r['via'] != 'wait'}

    def loop(key, keep):
        groups = {}
        for r in op:
            n = of.get(r['row_id'])
            if keep(r, n):
                g = groups.setdefault(key(n), [0, 0])
                g[0] += 1
                g[1] += r['dur'] or 0
        return groups

    def asked(query, key):
        return {r[key]: [r['count'], r['sum(dur)'] or 0] for r in rows(folder, 'marked.trace', query)}

    def name(n):
        return spans[n][1] if n else None

    for what, query, want in (
            ('by span.name', 'by span.name | count(), sum(dur)', loop(name, lambda r, n: True)),
            ('where span.name and dur', 'where span.name == "asked" && dur > 10us | by span.name | count(), sum(dur)',
             loop(name, lambda r, n: name(n) == 'asked' and r['dur'] > 10000)),
            ('of a number', 'where span.number in (2, 4) | by span.name | count(), sum(dur)', loop(name, lambda r, n: n in (2, 4))),
            ('without a span', 'where span.name is null | by span.name | count(), sum(dur)', loop(name, lambda r, n: not n))):
        got = asked(query, 'span.name')
        check(f'{what}: {len(want)} groups as a loop has them', want and got == want, got, want)
    user = asked('by span.attributes.user | count(), sum(dur)', 'span.attributes.user')
    want = loop(lambda n: attributes_of(n)['user'] if n else None, lambda r, n: True)
    check('by an attribute', user == want, user, want)
    for compare, want in (('http.size >= 80', lambda a: a.get('http.size', 0) >= 80), ('share < 2.25', lambda a: a.get('share', 99) < 2.25)):
        got = asked(f'where span.attributes.{compare} | by span.name | count(), sum(dur)', 'span.name')
        wanted = loop(name, lambda r, n, w=want: bool(n) and w(attributes_of(n)))
        check(f'attributes that are numbers: {compare}', got == wanted and got, got, wanted)
    sql = document(folder, 'sql', '-i', 'marked.trace', 'SELECT s.name, count(*) AS count, sum(o.dur) AS total FROM weir_op(row_id := true) o JOIN '
                   "(SELECT DISTINCT op_id, number FROM span_op WHERE via <> 'wait') k ON k.op_id = o.row_id JOIN span s USING (number) GROUP BY 1")
    got = asked('where span.name is not null | by span.name | count(), sum(dur)', 'span.name')
    check('as SQL joins the tables', got == {r['name']: [r['count'], r['total']] for r in sql['rows']}, got, sql['rows'])
    got = {r['span.attributes.user']: r['count'] for r in rows(folder, 'marked.trace', 'from span | by span.attributes.user | count()')}
    want = {u: sum(attributes_of(n)['user'] == u for n in spans) for u in {attributes_of(n)['user'] for n in spans}}
    check('of spans themselves', got == want, got, want)
    r = subprocess.run([weir, 'query', '-i', 't.trace', 'by span.name'], capture_output=True, text=True, cwd=folder, timeout=60)
    check('without span_op one line says what to do', r.returncode != 0 and "weir requests --keep" in r.stderr.splitlines()[0], r.stderr)


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
        paths_of(folder, spans, paths)
        exported(folder, spans)
        table(folder, spans)
        language(folder, spans)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
