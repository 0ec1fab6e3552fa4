#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jaeger.py WEIR: every request that Jaeger's page (jaeger-ui 1.76 and 2.20: src/api/jaeger.ts, src/api/v3/client.ts) and Grafana's source of that
name (pkg/tsdb/jaeger) send for their lists, traces and graphs of services, to weir serve. Answers are held against the types which those
declare (jaeger-ui's src/api/v3/schemas.ts, Grafana's types/types.go), written down here, and against sums over the spans that were put in."""
import json
import os
import re
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'common'), os.path.join(HERE, '..', 'server')]
from client import Serve  # noqa: E402
from tap import Tap  # noqa: E402
import subprocess  # noqa: E402

WEIR = os.path.abspath(sys.argv[1])
T0 = int(time.time()) * 10**9 - 3600 * 10**9
MS = 10**6
KINDS = {0: 'internal', 1: 'internal', 2: 'server', 3: 'client', 4: 'producer', 5: 'consumer'}
A, B, C = 'a' * 32, 'b' * 32, '0' * 31 + 'c'
# trace, span, parent, service, name, kind, start and duration in ms, failed
SPANS = [(A, '1', '', 'shop', 'GET /checkout', 2, 0, 80, False), (A, '2', '1', 'shop', 'pay', 3, 5, 60, False), (A, '3', '2', 'db', 'SELECT', 2, 10, 20, False),
         (A, '4', '2', 'db', 'INSERT', 2, 31, 2, True), (A, '5', '4', 'disk', 'write', 1, 32, 1, False),
         (B, '6', '', 'shop', 'GET /cart', 2, 1000, 9, True), (B, '7', 'e', 'db', 'SELECT', 2, 1001, 1, False), (B, '8', '6', 'db', 'SELECT', 2, 1002, 1, False),
         (C, '9', 'f', 'db', 'vacuum', 1, 500, 3000, False)]

# ---- types: a dict has these members (those with "?" may be missing), a list any number of its one element, a tuple is one of ----

HEX32, DIGITS = re.compile('[0-9a-f]{32}', re.I), re.compile('[0-9]+')
TAG = {'key': str, 'type': str, 'value': object}
SERVICES = {'data': [str], 'errors': object, 'limit': int, 'offset': int, 'total': int}
OPERATIONS = {**SERVICES, 'data': [{'name': str, 'spanKind': str}]}
DEPENDENCIES = {'data': [{'parent': str, 'child': str, 'callCount': int}], 'errors': (None, [{'code': int, 'msg': str}])}
SPAN = {'traceID': HEX32, 'spanID': str, 'processID': str, 'operationName': str, 'startTime': int, 'duration': int,
        'logs': [{'timestamp': int, 'fields': [TAG], 'name?': str}], 'references': [{'refType': str, 'spanID': str, 'traceID': str}],
        'tags': [TAG], 'warnings': (None, [str]), 'flags?': int, 'stackTraces?': [str]}
TRACES = {'data': [{'traceID': HEX32, 'spans': [SPAN], 'processes': 'processes', 'warnings': (None, [str])}]}
SERVICES_V3 = {'services': [str]}
OPERATIONS_V3 = {'operations': [{'name': str, 'spanKind': str}]}
SUMMARIES = {'summaries': [{'traceId': HEX32, 'rootServiceName?': str, 'rootOperationName?': str, 'minStartTimeUnixNano?': DIGITS,
                            'maxEndTimeUnixNano?': DIGITS, 'spanCount?': int, 'errorSpanCount?': int, 'orphanSpanCount?': int,
                            'services?': [{'name': str, 'spanCount?': int, 'errorSpanCount?': int}]}]}


def wrong(value, shape, at='answer'):
    """What is not as its type, or None."""
    if shape == 'processes':
        return next(filter(None, (wrong(v, {'serviceName': str, 'tags': [TAG]}, f'{at}.{k}') for k, v in value.items())), None)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f'{at} is no object'
        for key, of in shape.items():
            name = key.rstrip('?')
            if name not in value and name == key:
                return f'{at}.{name} is missing'
            why = wrong(value[name], of, f'{at}.{name}') if name in value else None
            if why:
                return why
        return None
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f'{at} is no list'
        return next(filter(None, (wrong(v, shape[0], f'{at}[{i}]') for i, v in enumerate(value))), None)
    if isinstance(shape, tuple):
        return None if any(not wrong(value, s, at) for s in shape) else f'{at} is {value!r}'
    if shape is None:
        return f'{at} is {value!r}' if value is not None else None
    if isinstance(shape, re.Pattern):
        return None if isinstance(value, str) and shape.fullmatch(value) else f'{at} is {value!r}'
    good = isinstance(value, shape) and (shape is not int or (not isinstance(value, bool) and value >= 0))
    return None if good else f'{at} is {value!r}'


# ---- what the answers must be ----

def request():
    """As OTLP."""
    by_service = {}
    for trace, span, parent, service, name, kind, start, dur, failed in SPANS:
        s = {'traceId': trace, 'spanId': span * 16, 'name': name, 'kind': kind, 'startTimeUnixNano': str(T0 + start * MS),
             'endTimeUnixNano': str(T0 + (start + dur) * MS),
             'attributes': [{'key': 'began.ms', 'value': {'intValue': str(start)}}, {'key': 'of', 'value': {'stringValue': f'{service}/{name}'}}],
             'events': [{'timeUnixNano': str(T0 + start * MS), 'name': 'begun', 'attributes': [{'key': 'note.ms', 'value': {'intValue': str(dur)}}]}]}
        if parent:
            s['parentSpanId'] = parent * 16
        if failed:
            s['status'] = {'code': 2}
        by_service.setdefault(service, []).append(s)
    return {'resourceSpans': [{'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': n}}, {'key': 'zone', 'value': {'stringValue': f'z-{n}'}}]}, 'scopeSpans': [{'spans': s}]}
                              for n, s in by_service.items()]}


def summary(trace):
    mine = [s for s in SPANS if s[0] == trace]
    ids = {s[1] for s in mine}
    roots = [s for s in mine if not s[2]] or [s for s in mine if s[2] not in ids]
    root = min(roots, key=lambda s: s[6])
    services = sorted({s[3] for s in mine})
    return {'traceId': trace, 'rootServiceName': root[3], 'rootOperationName': root[4],
            'minStartTimeUnixNano': str(T0 + min(s[6] for s in mine) * MS), 'maxEndTimeUnixNano': str(T0 + max(s[6] + s[7] for s in mine) * MS),
            'spanCount': len(mine), 'errorSpanCount': sum(s[8] for s in mine), 'orphanSpanCount': sum(s[2] != '' and s[2] not in ids for s in mine),
            'services': [{'name': n, 'spanCount': sum(s[3] == n for s in mine), 'errorSpanCount': sum(s[3] == n and s[8] for s in mine)} for n in services]}


def dependencies(first=-1, last=10**9):
    """Calls between services, of spans that were there in these ms."""
    of = {(s[0], s[1]): s[3] for s in SPANS}
    calls = {}
    for s in SPANS:
        parent = of.get((s[0], s[2]))
        if parent and parent != s[3] and s[6] < last and s[6] + s[7] >= first:
            calls[parent, s[3]] = calls.get((parent, s[3]), 0) + 1
    return calls


def by_name(summaries):
    for s in summaries:
        s['services'].sort(key=lambda x: x['name'])
    return {s['traceId']: s for s in summaries}


class Asked:
    def __init__(self, t, serve):
        self.t, self.serve = t, serve

    def __call__(self, shape, path, **params):
        status, head, data = self.serve.ask(path, **params)
        answer = json.loads(data) if status == 200 else {}
        why = wrong(answer, shape) if status == 200 else data
        self.t.check(f'{path} {params or ""}: its type', status == 200 and head.get('content-type', '').startswith('application/json') and not why, status, why)
        return answer


def tag_searches():
    """Tags, and the traces that have a span with all of them."""
    def having(test):
        return {s[0] for s in SPANS if test(s)}
    first = SPANS[0]
    of = f'{first[3]}/{first[4]}'
    return [({'of': of}, having(lambda s: f'{s[3]}/{s[4]}' == of)), ({'began.ms': str(first[6])}, having(lambda s: s[6] == first[6])),
            ({'began.ms': first[6], 'of': of}, having(lambda s: s[6] == first[6] and f'{s[3]}/{s[4]}' == of)),
            ({'zone': 'z-db'}, having(lambda s: s[3] == 'db')), ({'note.ms': str(first[7])}, having(lambda s: s[7] == first[7])),
            ({'event': 'begun', 'error': 'true'}, having(lambda s: s[8])), ({'error': True, 'zone': 'z-shop'}, having(lambda s: s[8] and s[3] == 'shop')),
            ({'span.kind': 'server', 'zone': 'z-db'}, having(lambda s: KINDS[s[5]] == 'server' and s[3] == 'db')),
            ({'of': 'nothing'}, set()), ({'began.ms': ''}, set()), ({}, having(lambda s: True))]


def iso(ms):
    ns = T0 + ms * MS
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ns // 10**9)) + f'.{ns // MS % 1000:03}Z'


def newer_page(t, ask, serve):
    """What the page asks by api/v3."""
    services = {s[3] for s in SPANS}
    t.check('v3: services', sorted(ask(SERVICES_V3, '/api/v3/services')['services']) == sorted(services))
    for service in services:
        got = [(o['name'], o['spanKind']) for o in ask(OPERATIONS_V3, '/api/v3/operations', service=service)['operations']]
        want = {(s[4], KINDS[s[5]]) for s in SPANS if s[3] == service}
        t.check(f'v3: operations of {service}', sorted(got) == sorted(want), got)
    whole = {'query.startTimeMin': iso(-1000), 'query.startTimeMax': iso(10000), 'query.searchDepth': '20'}
    searches = [({}, {A, B, C}), ({'query.serviceName': 'shop'}, {A, B}), ({'query.serviceName': 'db', 'query.operationName': 'SELECT'}, {A, B}),
                ({'query.serviceName': 'shop', 'query.durationMin': '10ms'}, {A}), ({'query.durationMax': '1.5ms'}, {A, B}),
                ({'query.startTimeMin': iso(900)}, {B, C}), ({'query.startTimeMax': iso(400)}, {A}), ({'query.searchDepth': '1'}, {B}),
                ({'query.serviceName': 'no such'}, set())]
    for more, want in searches:
        got = by_name(ask(SUMMARIES, '/api/v3/trace-summaries', **{**whole, **more})['summaries'])
        t.check(f'v3: traces with {more}', set(got) == want and all(got[x] == summary(x) for x in want), got)
    for tags, want in tag_searches():
        got = by_name(ask(SUMMARIES, '/api/v3/trace-summaries', **{**whole, 'query.attributes': json.dumps(tags)})['summaries'])
        t.check(f'v3: traces with the tags {tags}', set(got) == want and all(got[x] == summary(x) for x in want), got)
        found = ask(TRACES, '/api/traces', limit='20', tags=json.dumps(tags))['data']
        t.check(f'traces with the tags {tags}', {d['traceID'] for d in found} == want, [d['traceID'] for d in found])
    first = SPANS[0]
    for tags in ((f'of:{first[3]}/{first[4]}',), (f'began.ms:{first[6]}', f'of:{first[3]}/{first[4]}'), ('of:nothing',)):
        want = {s[0] for s in SPANS if f'{s[3]}/{s[4]}' == tags[-1][3:] and (len(tags) == 1 or s[6] == first[6])}
        path = '/api/traces?limit=20&' + '&'.join('tag=' + urllib.parse.quote(x) for x in tags)
        found = json.loads(serve.ask(path)[2])['data']
        t.check(f'traces with {path}', {d['traceID'] for d in found} == want, [d['traceID'] for d in found])
    t.check('a tag without a value is refused', serve.ask('/api/traces', tag='x')[0] == 400)
    for bad in ({'query.startTimeMin': 'soon'}, {'query.durationMin': 'long'}, {'query.searchDepth': '0'}, {'query.attributes': 'a=b'}, {'query.attributes': '["a"]'},
                {'query.attributes': '{"a":'}, {'tag': 'a:b'}):
        t.check(f'v3: {bad} is refused', serve.ask('/api/v3/trace-summaries', **bad)[0] == 400)


def older_page(t, ask, serve):
    """What it asks by api/ alone, and Grafana too."""
    t.check('services', sorted(ask(SERVICES, '/api/services')['data']) == sorted({s[3] for s in SPANS}))
    t.check('operations by name', sorted(ask(SERVICES, '/api/services/db/operations')['data']) == ['INSERT', 'SELECT', 'vacuum'])
    got = ask(OPERATIONS, '/api/operations', service='db', spanKind='server')['data']
    t.check('operations of a kind', sorted(o['name'] for o in got) == ['INSERT', 'SELECT'] and {o['spanKind'] for o in got} == {'server'}, got)
    page = {'service': 'shop', 'limit': '20', 'lookback': '2h', 'start': str(T0 // 1000 - 10**6), 'end': str(T0 // 1000 + 10**7), 'maxDuration': '',
            'minDuration': '', 'tags': '{}'}
    for params in (page, {'service': 'shop', 'limit': '20', 'operation': 'GET /cart', 'minDuration': '1ms'}):
        found = {d['traceID']: d for d in ask(TRACES, '/api/traces', **params)['data']}
        want = {B} if 'operation' in params else {A, B}
        t.check('traces', set(found) == want and all(len(found[x]['spans']) == sum(s[0] == x for s in SPANS) for x in want), list(found))
    one = ask(TRACES, f'/api/traces/{A}', start='1', end='2')['data']
    spans = {s['spanID'][0]: s for s in one[0]['spans']}
    services = {k: one[0]['processes'][s['processID']]['serviceName'] for k, s in spans.items()}
    t.check('one trace', len(one) == 1 and services == {s[1]: s[3] for s in SPANS if s[0] == A} and
            all(spans[s[1]]['startTime'] == (T0 + s[6] * MS) // 1000 and spans[s[1]]['duration'] == s[7] * 1000 for s in SPANS if s[0] == A), one)
    t.check('its references', {k: [r['spanID'][0] for r in s['references']] for k, s in spans.items()} ==
            {s[1]: [s[2]] if s[2] else [] for s in SPANS if s[0] == A})
    for end, lookback in ((10000, 20000), (20, 10), (400, 200)):  # of the page: milliseconds
        got = ask(DEPENDENCIES, '/api/dependencies', endTs=str(T0 // MS + end), lookback=str(lookback))['data']
        t.check(f'calls between services in the {lookback} ms until {end}', {(d['parent'], d['child']): d['callCount'] for d in got} ==
                dependencies(end - lookback, end) and len(got) == len(dependencies(end - lookback, end)), got)
    t.check('all calls between services', len(ask(DEPENDENCIES, '/api/dependencies')['data']) == len(dependencies()) == 2)
    t.check('no token, no answer', all(serve.ask(p, token=False)[0] == 401 for p in ('/api/v3/services', '/api/dependencies', '/api/services')))


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'in.json'), 'w', encoding='utf-8') as f:
            json.dump(request(), f)
        subprocess.run([WEIR, 'import', '-q', '-o', 'in.weir', 'in.json'], cwd=folder, check=True)
        with Serve(WEIR, 'in.weir', folder=folder) as s:
            ask = Asked(t, s)
            newer_page(t, ask, s)
            older_page(t, ask, s)
    return t.end()


sys.exit(main())
