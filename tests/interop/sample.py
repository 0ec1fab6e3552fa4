#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sample.py WEIR MARK: which requests `weir export --sample` keeps, and what their weights add up to, against plain loops over all of them.
TAP on standard output."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

WEIR, MARK = map(os.path.abspath, sys.argv[1:3])
T0 = 1700000000000000000
BITS = 56
tap = Tap()


def run(folder, *args, ok=True):
    p = subprocess.run([WEIR, *args], cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, 'TZ': 'UTC', 'NO_COLOR': '1'})
    if ok and p.returncode:
        raise RuntimeError(f'weir {args}: {p.stderr}')
    return p


def made_up():
    """Requests: name, duration, whether one of its spans failed, how many children, what is random about it."""
    chance = random.Random(17)
    for i in range(9000):
        name = 'rare' if i % 1500 == 7 else 'checkout' if i % 5 == 0 else 'list'
        dur = int(chance.lognormvariate(13, 0.8)) + 1000
        how = ('none', 'flag', 'rv', 'sampled')[i % 4]
        trace = f'{chance.getrandbits(128):032x}'
        r = int(trace[-14:], 16)
        state = None
        if how in ('rv', 'sampled'):
            r = chance.getrandbits(BITS) | (1 << 55 if how == 'sampled' else 0)
            state = f'a=b,ot=x:1;rv:{r:014x}' + (';th:8' if how == 'sampled' else '') + ',c=d'
        yield {'number': 1 + i * 4, 'trace': trace, 'name': name, 'dur': dur, 'failed': chance.random() < 0.004, 'children': i % 4,
               'how': how, 'r': r, 'state': state, 'start': T0 + i * 1000000}


def story(requests):
    out = []
    for q in requests:
        otel = {'otel.trace_state': q['state']} if q['state'] else {'otel.flags': 3} if q['how'] == 'flag' else {}
        attributes = json.dumps({'user': 'u', **otel})
        for c in range(q['children'] + 1):
            status = 'error' if q['failed'] and c == q['children'] else 'ok'
            out.append(f'span\tstart={q["start"] + c}\tdur={q["dur"] - 2 * c}\tnumber={q["number"] + c}\tname={q["name"] if not c else "query"}\t'
                       f'span_status={status}\ttrace_id={q["trace"]}\tspan_id={q["number"] + c:016x}\tservice=shop\tsource=import\t'
                       f'attributes={attributes}' + (f'\tparent={q["number"]}\tparent_id={q["number"]:016x}' if c else ''))
    return '\n'.join(out) + '\n'


def spans_of(text):
    for line in text.splitlines():
        for resource in json.loads(line)['resourceSpans']:
            for scope in resource['scopeSpans']:
                for s in scope['spans']:
                    s['at'] = {a['key']: next(iter(a['value'].values())) for a in s.get('attributes', ())}
                    yield s


def rules_of(requests, slow, rare):
    """The rule of each request, by its number."""
    rule = {}
    for name in {q['name'] for q in requests}:
        of = sorted((q for q in requests if q['name'] == name), key=lambda q: -q['dur'])
        least = of[math.ceil(slow * len(of)) - 1]['dur']
        for q in of:
            rule[q['number']] = ('failed' if q['failed'] else 'slow' if q['dur'] >= least else 'rare' if len(of) <= rare else 'share')
    return rule


def keys_of(state):
    member = next((m[3:] for m in state.split(',') if m.startswith('ot=')), '')
    return dict(k.split(':') for k in member.split(';') if k)


def whole(requests, kept, rule):
    want = {n for n, r in rule.items() if r != 'share'}
    got = {n for n, s in kept.items() if s['at']['weir.sample.rule'] != 'share'}
    tap.check(f'failed, slow and rare ones are kept: {len(want)} of {len(rule)}', want == got and len(want) > 100, want ^ got)
    bad = [(q['number'], rule[q['number']], kept[q['number']]['at']) for q in requests if q['number'] in kept and
           kept[q['number']]['at']['weir.sample.rule'] != rule[q['number']]]
    tap.none('each by its first rule', bad[:5])
    tap.check('they stand for themselves', all(float(kept[n]['at']['weir.sample.weight']) == 1 for n in want))


def weights(requests, spans, kept, rule):
    bad = []
    for name in sorted({q['name'] for q in requests}):
        for what in ('failed', 'slow', 'rare', 'share'):
            of = [q for q in requests if q['name'] == name and rule[q['number']] == what]
            total = sum(float(kept[q['number']]['at']['weir.sample.weight']) for q in of if q['number'] in kept)
            if abs(total - len(of)) > 1e-6 * len(of):
                bad.append((name, what, len(of), total))
    tap.none('weights of each name and rule add up to its requests', bad)
    of = {q['number']: q for q in requests}
    n = sum(len(range(q['children'])) for q in requests)
    estimate = sum(float(s['at']['weir.sample.weight']) for s in spans if s['name'] == 'query')
    tap.check(f'children: {n}, an estimate of {estimate:.0f}', abs(estimate / n - 1) < 0.15, n, estimate)
    bad = [s['spanId'] for s in spans if 'parentSpanId' in s and int(s['parentSpanId'], 16) not in kept]
    tap.check('requests are whole', not bad and len(spans) == sum(1 + of[n]['children'] for n in kept), bad[:5], len(spans))


def thresholds(requests, kept, rule, share):
    """ot=th: and rv: as OpenTelemetry has them: R >= T, and those that pass are kept"""
    bad, passed = [], set()
    t = (1 << BITS) - round(share * (1 << BITS))
    for q in requests:
        s = kept.get(q['number'])
        keys = keys_of(s.get('traceState', '')) if s else {}
        if rule[q['number']] == 'share' and q['how'] != 'none' and (q['r'] >= t) != bool(s and 'th' in keys):
            bad.append(('R', q['number'], q['how'], hex(q['r']), bool(s)))
        if not s:
            continue
        passed.add(q['how'])
        th = int(keys.get('th', '0').ljust(14, '0'), 16)
        rv = int(keys['rv'], 16) if 'rv' in keys else int(s['traceId'][-14:], 16)
        before = 1 << 55 if q['how'] == 'sampled' else 0
        if 'th' in keys and (rv < th or th != (max(t, before) if rule[q['number']] == 'share' else before)):
            bad.append(('T', q['number'], s.get('traceState')))
        if ('rv' in keys) != (q['how'] != 'flag') or (q['state'] and (rv != q['r'] or keys.get('x') != '1')):
            bad.append(('rv', q['number'], s.get('traceState')))
        if q['state'] and not s['traceState'].endswith(',a=b,c=d'):
            bad.append(('others', s['traceState']))
    tap.check('thresholds and randomness in tracestate', not bad and len(passed) == 4, *bad[:8])


def unbiased(folder, requests):
    """Over many exports with other random bits, estimates of the total are around it"""
    small = [{**q, 'children': 0, 'failed': False, 'how': 'none', 'state': None} for q in requests[:600]]
    total = sum(q['dur'] for q in small)
    estimates = []
    for turn in range(30):
        chance = random.Random(turn)
        again = [{**q, 'trace': f'{chance.getrandbits(128):032x}'} for q in small]
        subprocess.run([MARK, '-', f'{turn}.trace'], cwd=folder, input=story(again), text=True, check=True)
        spans = spans_of(run(folder, 'export', '--sample', '1/20', '-i', f'{turn}.trace').stdout)
        estimates.append(sum(float(s['at']['weir.sample.weight']) * (int(s['endTimeUnixNano']) - int(s['startTimeUnixNano'])) for s in spans))
    mean = sum(estimates) / len(estimates)
    error = math.sqrt(sum((e - mean) ** 2 for e in estimates) / (len(estimates) - 1) / len(estimates))
    tap.check(f'an estimate of the total time is off by {100 * (mean / total - 1):.1f} % on the average of 30 (standard error {100 * error / total:.1f} %)',
              abs(mean - total) < 4 * error, mean, total, error)


def alike(folder, requests):
    """Where many took equally long, who is slow says nothing about what is random"""
    same = [{**q, 'dur': 1000000, 'failed': False, 'how': 'none', 'state': None, 'children': 0, 'name': 'same'} for q in requests[:2000]]
    subprocess.run([MARK, '-', 'same.trace'], cwd=folder, input=story(same), text=True, check=True)
    rules = [s['at']['weir.sample.rule'] for s in spans_of(run(folder, 'export', '--sample', 'slow 10%, 1/10', '-i', 'same.trace').stdout)]
    share = rules.count('share')
    tap.check(f'of 2,000 that are alike 200 are slow, and of the others {share} are kept', rules.count('slow') == 200 and
              abs(share - 180) < 5 * math.sqrt(1800 * 0.09), share)


def edges(folder):
    one = run(folder, 'export', '--sample', '1/1', '-i', 't.trace')
    tap.check('1/1 keeps all, with weight 1', all(float(s['at']['weir.sample.weight']) == 1 for s in spans_of(one.stdout)) and
              len(list(spans_of(one.stdout))) == len(list(spans_of(run(folder, 'export', '-i', 't.trace').stdout))))
    few = list(spans_of(run(folder, 'export', '--sample', '1/1000000', '-i', 't.trace').stdout))
    tap.check('of each name one is kept, whatever the share; it has no threshold', {s['name'] for s in few} >= {'rare', 'list', 'checkout'} and
              all('th:' not in s.get('traceState', '') for s in few), len(few))
    zipkin = json.loads(run(folder, 'export', '--zipkin', '--sample', 'failed, 1/50', '-i', 't.trace').stdout)
    tap.check("Zipkin's tags have the weight", zipkin and all('weir.sample.weight' in s['tags'] for s in zipkin))
    bad = []
    for rules in ('', 'failed', 'slow', '1/100, failed', 'fast, 1/10', '0/10', '2/1', '-1%', 'nan%', 'rare x, 1/2', 'rare 0, 1/2', 'failed 3, 1/2', 'slow 0%, 1%',
                  '1/0', ',' * 20 + '1/2'):
        p = run(folder, 'export', '--sample', rules, '-i', 't.trace', ok=False)
        if p.returncode != 2 or len(p.stderr.splitlines()) != 1 or '--sample' not in p.stderr or p.stdout:
            bad.append(f'{rules!r}: exit {p.returncode}, {p.stderr!r}')
    p = run(folder, 'export', '--sample', '1/2', '--name', 'list', '-i', 't.trace', ok=False)
    if p.returncode != 2 or '--sample' not in p.stderr:
        bad.append(f'with --name: {p.returncode}, {p.stderr!r}')
    tap.none('wrong rules are one line', bad)


def main():
    with tempfile.TemporaryDirectory(prefix='weir-sample-') as folder:
        requests = list(made_up())
        subprocess.run([MARK, '-', 't.trace'], cwd=folder, input=story(requests), text=True, check=True)
        p = run(folder, 'export', '--sample', 'failed, slow 1%, rare 10, 1/50', '-i', 't.trace')
        spans = list(spans_of(p.stdout))
        kept = {int(s['spanId'], 16): s for s in spans if 'parentSpanId' not in s}
        rule = rules_of(requests, 0.01, 10)
        whole(requests, kept, rule)
        weights(requests, spans, kept, rule)
        thresholds(requests, kept, rule, 1 / 50)
        tap.check('a line says what each rule kept', len(p.stderr.splitlines()) == 4 and
                  all(f'{sum(r == what for r in rule.values()):,} request' in p.stderr for what in ('failed', 'slow', 'rare', 'share')), p.stderr)
        tap.check('the same again', run(folder, 'export', '--sample', 'failed, slow 1%, rare 10, 1/50', '-i', 't.trace').stdout == p.stdout)
        unbiased(folder, requests)
        alike(folder, requests)
        edges(folder)
    return tap.end()


sys.exit(main())
