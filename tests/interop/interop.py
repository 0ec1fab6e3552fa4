#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""interop.py WEIR WITH_SPANS: spans of other tools in and out: what comes in goes out again, as protoc and plain loops see it.

Bodies are written here by hand or by protoc from the public definition; nothing of weir's reads them back but weir.
"""
import base64
import gzip
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'common'), os.path.join(HERE, '..', 'server')]
from client import Serve  # noqa: E402
from tap import Tap  # noqa: E402

WEIR, WITH_SPANS = (os.path.abspath(p) for p in sys.argv[1:3])
TRACE, SPAN, ROOT = '5b8efff798038103d269b633813fc60c', 'eee19b7ec3c1b174', 'eee19b7ec3c1b173'
T0 = 1700000000000000000
PROTOC = shutil.which('protoc')


def kv(key, value):
    return {'key': key, 'value': value}


def request():
    """Everything that a span may have, in an order that an export keeps."""
    values = [kv('s', {'stringValue': 'text "quoted" \u00e4\u0001'}), kv('i', {'intValue': '-9223372036854775808'}),
              kv('d', {'doubleValue': 1.0}), kv('f', {'doubleValue': -0.25}), kv('nan', {'doubleValue': 'NaN'}), kv('no', {'boolValue': False}),
              kv('none', {}), kv('b', {'bytesValue': 'AAEC/w=='}),
              kv('a', {'arrayValue': {'values': [{'intValue': '1'}, {'stringValue': ''}, {'arrayValue': {'values': []}}]}}),
              kv('k', {'kvlistValue': {'values': [kv('inner', {'kvlistValue': {'values': [kv('x', {'intValue': '2'})]}})]}})]
    span = {'traceId': TRACE, 'spanId': SPAN, 'traceState': 'a=b', 'parentSpanId': ROOT, 'flags': 257, 'name': 'GET /x', 'kind': 2,
            'startTimeUnixNano': str(T0 + 5), 'endTimeUnixNano': str(T0 + 1000), 'attributes': values, 'droppedAttributesCount': 3,
            'events': [{'timeUnixNano': str(T0 + 7), 'name': 'sent', 'attributes': [kv('n', {'intValue': '1'})], 'droppedAttributesCount': 1},
                       {'timeUnixNano': str(T0 + 9), 'name': 'bare'}],
            'droppedEventsCount': 4, 'links': [{'traceId': TRACE, 'spanId': 'aaaaaaaaaaaaaaaa', 'traceState': 'l=1', 'flags': 1,
                                                'attributes': [kv('why', {'stringValue': 'merge'})]}],
            'droppedLinksCount': 5, 'status': {'message': 'bad', 'code': 2}}
    root = {'traceId': TRACE, 'spanId': ROOT, 'name': 'root', 'kind': 1, 'startTimeUnixNano': str(T0), 'endTimeUnixNano': str(T0 + 2000)}
    other = {'traceId': TRACE, 'spanId': 'bbbbbbbbbbbbbbbb', 'parentSpanId': SPAN, 'name': 'select', 'kind': 3, 'status': {'code': 1},
             'startTimeUnixNano': str(T0 + 10), 'endTimeUnixNano': str(T0 + 20)}
    shop = {'resource': {'attributes': [kv('service.name', {'stringValue': 'shop'}), kv('host.name', {'stringValue': 'h'})]},
            'schemaUrl': 'https://x/1', 'scopeSpans': [{'scope': {'name': 'lib', 'version': '2', 'attributes': [kv('z', {'boolValue': True})]},
                                                        'schemaUrl': 'https://y/2', 'spans': [span, root]}]}
    db = {'resource': {'attributes': [kv('service.name', {'stringValue': 'db'})]}, 'scopeSpans': [{'scope': {}, 'spans': [other]}]}
    return {'resourceSpans': [shop, db]}


def text_of(message, depth=0):
    """A message in protobuf's text format."""
    out = []
    for name, value in message.items():
        field = re.sub(r'([A-Z])', lambda m: '_' + m[1].lower(), name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                out.append(f'{field} {{ {text_of(one, depth + 1)} }}')
            elif name in ('traceId', 'spanId', 'parentSpanId', 'bytesValue'):
                raw = bytes.fromhex(one) if name != 'bytesValue' else b'\x00\x01\x02\xff'
                out.append(f'{field}: "{"".join(f"{chr(92)}{b:03o}" for b in raw)}"')
            elif isinstance(one, bool):
                out.append(f'{field}: {str(one).lower()}')
            elif isinstance(one, str) and not re.match(r'(int|double)Value|.*Nano', name):
                out.append(f'{field}: "{"".join(f"{chr(92)}{b:03o}" for b in one.encode())}"')
            else:
                out.append(f'{field}: {str(one).lower() if one == "NaN" else one}')
    return ' '.join(out)


def protoc(mode, data):
    return subprocess.run([PROTOC, f'--{mode}=Request', '-I', HERE, os.path.join(HERE, 'otlp.proto')], input=data, capture_output=True,
                          timeout=60, check=True).stdout


def canonical(j):
    """Lists of attributes and spans by their keys, so that order is no difference."""
    if isinstance(j, dict):
        return {k: canonical(v) for k, v in sorted(j.items()) if v not in ([], {}) or k in ('value', 'arrayValue')}
    if isinstance(j, list):
        return sorted((canonical(v) for v in j), key=lambda v: json.dumps(v, sort_keys=True)) if j and isinstance(j[0], dict) else j
    return j


class Folder:
    def __init__(self, path):
        self.path, self.count = path, 0

    def file(self, data):
        self.count += 1
        path = os.path.join(self.path, f'f{self.count}')
        with open(path, 'wb') as f:
            f.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path

    def weir(self, *args, check=True, **kw):
        p = subprocess.run([WEIR, *args], cwd=self.path, capture_output=True, timeout=120, **kw)
        if check and p.returncode:
            raise RuntimeError(f'{args}: {p.returncode} {p.stderr.decode()}')
        return p

    def imported(self, data, *more):
        """A trace made of a body"""
        out = f'{self.file(data)}.weir'
        self.weir('import', self.file(data), '-o', out, *more)
        return out

    def rows(self, query, *traces):
        p = self.weir('query', *(a for t in traces for a in ('-i', t)), '--json', query)
        return json.loads(p.stdout)['rows']

    def export(self, trace, *form):
        return self.weir('export', '-i', trace, *form).stdout


def merged(lines):
    return {'resourceSpans': [r for line in lines.splitlines() for r in json.loads(line)['resourceSpans']]}


def otlp(t, f):
    want = request()
    trace = f.imported(want)
    got = merged(f.export(trace, '--otlp'))
    t.check('OTLP in JSON comes out as it went in', canonical(got) == canonical(want), json.dumps(canonical(got)), json.dumps(canonical(want)))
    rows = {r['name']: r for r in f.rows('from span | select name, service, dur, number, parent, span_kind, span_status, source', trace)}
    t.check('columns', rows['GET /x'] == dict(rows['GET /x'], service='shop', dur=995, span_kind='server', span_status='error', source='import',
                                              parent=rows['root']['number']) and rows['select']['parent'] == rows['GET /x']['number'] and
            rows['root']['parent'] is None, rows)
    ends = [r['start'] + r['dur'] for r in f.rows('from span | select start, dur', trace)]
    t.check('rows stand in the order of their ends', ends == sorted(ends), ends)
    notes = f.rows('from note | select name, text, number', trace)
    t.check('events are notes', [n['name'] for n in notes] == ['sent', 'bare'] and {n['number'] for n in notes} == {rows['GET /x']['number']}, notes)
    t.check('the trace says where they come from', 'otlp-json' in f.rows('from mark', trace)[0]['text'], f.rows('from mark', trace))
    lines = b'\n'.join(json.dumps({'resourceSpans': [r]}).encode() for r in want['resourceSpans'])
    t.check('a document a line, as the collector writes files', canonical(merged(f.export(f.imported(lines), '--otlp'))) == canonical(want))
    return trace, want


def protobuf(t, f, trace, want):
    if not PROTOC:
        for name in ('protobuf written by protoc', 'protobuf read by protoc', 'protobuf cut anywhere'):
            t.skip(name, 'protoc is missing: apt install protobuf-compiler')
        return
    body = protoc('encode', text_of(want).encode())
    again = f.imported(body)
    t.check('protobuf written by protoc is the same as JSON', f.export(again, '--otlp') == f.export(trace, '--otlp'),
            f.export(again, '--otlp'), f.export(trace, '--otlp'))
    ours = f.export(trace, '--otlp', '--protobuf')
    t.check('protobuf read by protoc is the same as what protoc wrote, unknown fields none',
            sorted(protoc('decode', ours).split()) == sorted(protoc('decode', body).split()), protoc('decode', ours).decode())
    framed = b''.join(struct.pack('>I', len(body)) + body for _ in range(2))
    p = f.weir('import', f.file(framed), '-o', 'framed.weir')
    t.check('messages behind their lengths; repeated spans are counted', b'3 left out: the same' in p.stderr, p.stderr)
    unknown = body + bytes([0xfa, 0x3e, 3]) + b'new' + bytes([0x98, 0x3f, 1])
    t.check('unknown fields are skipped', f.export(f.imported(unknown), '--otlp') == f.export(trace, '--otlp'))
    bad = []
    for n in range(1, len(body), 7):
        p = f.weir('import', f.file(body[:n]), '--format', 'otlp-protobuf', '-o', 'cut.weir', check=False)
        if p.returncode not in (0, 1) or (p.returncode and not re.search(rb'byte \d+', p.stderr)):
            bad.append(f'{n}: {p.returncode} {p.stderr!r}')
    t.none('protobuf cut anywhere is read or refused with the byte', bad)


def zipkin(t, f):
    want = [{'traceId': '0' * 16 + '5af7183fb1d4cf5f', 'id': '352bff9a74ca9ad2', 'parentId': '6b221d5bc9e6496c', 'kind': 'CLIENT', 'name': 'get /api',
             'timestamp': 1556604172355737, 'duration': 1431, 'localEndpoint': {'serviceName': 'back', 'ipv4': '10.0.0.1', 'port': 1},
             'remoteEndpoint': {'serviceName': 'db'}, 'annotations': [{'timestamp': 1556604172355800, 'value': 'ws'}],
             'tags': {'http.method': 'GET', 'error': 'x'}, 'debug': True},
            {'traceId': '0' * 16 + '5af7183fb1d4cf5f', 'id': '352bff9a74ca9ad2', 'parentId': '6b221d5bc9e6496c', 'kind': 'SERVER', 'name': 'get /api',
             'shared': True, 'timestamp': 1556604172355837, 'duration': 1031, 'localEndpoint': {'serviceName': 'db'}}]
    short = json.loads(json.dumps(want).replace('0' * 16, ''))
    trace = f.imported(short)
    got = json.loads(f.export(trace, '--zipkin'))
    t.check("Zipkin's JSON comes out as it went in", canonical(got) == canonical(want), got, want)
    rows = {r['span_kind']: r for r in f.rows('from span | select span_kind, number, parent, span_status', trace)}
    t.check("of a shared id the server's side is the client's child", rows['server']['parent'] == rows['client']['number'] !=
            rows['server']['number'] and rows['client']['span_status'] == 'error', rows)
    child = {'traceId': want[0]['traceId'], 'id': 'c' * 16, 'parentId': want[0]['id'], 'name': 'child', 'timestamp': 1556604172355900, 'duration': 2}
    data = json.loads(f.export(f.imported(short + [child]), '--jaeger'))['data'][0]
    spans = {s['operationName'] + str(s['duration']): s for s in data['spans']}
    above = {n: s['references'][0]['spanID'] for n, s in spans.items()}
    t.check('elsewhere the two sides have two ids, and what the server made is below it', len({s['spanID'] for s in spans.values()}) == 3 and
            above == {'get /api1431': '6b221d5bc9e6496c', 'get /api1031': want[0]['id'], 'child2': spans['get /api1031']['spanID']}, above, spans)
    p = f.weir('query', '-i', trace, '-i', f.imported(request()), 'from span | by service | count()')
    t.check('several traces are asked as one', all(s in p.stdout for s in (b'shop', b'back', b'db')), p.stdout)
    doc = json.loads(f.export(f.imported(request()), '--jaeger'))['data']
    names = {s['operationName'] for s in doc[0]['spans']}
    t.check("Jaeger's JSON", len(doc) == 1 and doc[0]['traceID'] == TRACE and names == {'root', 'GET /x', 'select'} and
            {p['serviceName'] for p in doc[0]['processes'].values()} == {'shop', 'db'} and
            [s['references'][0]['spanID'] for s in doc[0]['spans'] if s['operationName'] == 'select'] == [SPAN], doc)


def hostile(t, f):
    deep = {'stringValue': 'x'}
    for _ in range(60):
        deep = {'arrayValue': {'values': [deep]}}

    def one(**span):
        return {'resourceSpans': [{'scopeSpans': [{'spans': [dict({'startTimeUnixNano': str(T0), 'endTimeUnixNano': str(T0 + 1)}, **span)]}]}]}
    refused = {'no JSON': b'{"resourceSpans": [', 'another JSON': {'data': []}, 'a number': b'7', 'garbage': os.urandom(64).replace(b'\x00', b'x'),
               'gzip': gzip.compress(b'{}'), 'spans no array': {'resourceSpans': [{'scopeSpans': [{'spans': 3}]}]}, 'no span': {'resourceSpans': [
                   {'scopeSpans': [{'spans': [3]}]}]}, 'a time of text': one(startTimeUnixNano='now'), 'deep': one(attributes=[kv('d', deep)]),
               'nested arrays': b'[' * 100000, 'a wrong value': one(attributes=[kv('d', {'intValue': 'x'})])}
    bad = []
    for name, body in refused.items():
        p = f.weir('import', f.file(body), '-o', 'bad.weir', check=False)
        if p.returncode != 1 or len(p.stderr.splitlines()) != 1 or os.path.exists(os.path.join(f.path, 'bad.weir')):
            bad.append(f'{name}: {p.returncode} {p.stderr!r}')
    t.none('what is malformed is one line and no trace', bad)
    taken = {'an id of zeros': (one(traceId='0' * 32), b'1 ids left out'), 'a short id': (one(spanId='ab'), b'1 ids left out'),
             'no time': (one(startTimeUnixNano='0'), b'1 left out: no usable time'), 'beyond time': (one(startTimeUnixNano=str(2**64 - 1)), b'no usable'),
             'backwards': (one(startTimeUnixNano=str(T0 + 9)), b'1 ended before'), 'long': (one(name='n' * 70000), b'1 texts cut'),
             'large': (one(attributes=[kv('a', {'stringValue': 'v' * 2000000})]), b'1 texts cut')}
    for name, (body, want) in taken.items():
        p = f.weir('import', f.file(body), '-o', 'odd.weir', check=False)
        if p.returncode or want not in p.stderr:
            bad.append(f'{name}: {p.returncode} {p.stderr!r}')
    t.none('what is odd is taken and counted', bad)
    coded = {k: base64.b64encode(bytes.fromhex(v)).decode() for k, v in (('traceId', TRACE), ('spanId', SPAN), ('parentSpanId', ROOT))}
    rows = f.rows('from span | select trace_id, span_id, parent_id', f.imported(one(**coded)))
    t.check("ids in base64, as protobuf's own JSON has them", rows == [{'trace_id': TRACE, 'span_id': SPAN, 'parent_id': ROOT}], rows)
    p = f.weir('import', f.file(b'hello'), '-o', 'bad.weir', check=False)
    t.check('a text is neither format', p.returncode == 1 and b'is neither JSON' in p.stderr, p.stderr)
    loop = [dict(one(traceId=TRACE, spanId=a, parentSpanId=b)['resourceSpans'][0]) for a, b in ((SPAN, ROOT), (ROOT, SPAN))]
    trace = f.imported({'resourceSpans': loop})
    t.check('parents that form a loop', len(f.rows('from span', trace)) == 2 and len(json.loads(f.export(trace, '--zipkin'))) == 2)


def common(t, f):
    """What many spans have in common is copied into each, while there is room"""
    spans = [{'name': f's{i}', 'startTimeUnixNano': str(T0 + i), 'endTimeUnixNano': str(T0 + i)} for i in range(40000)]
    large = {'attributes': [kv('service.name', {'stringValue': 'x' * 60000}), kv('k', {'stringValue': 'v' * 60000})]}
    body = {'resourceSpans': [{'resource': large, 'scopeSpans': [{'spans': spans}]}]}
    p = subprocess.run([WEIR, 'import', f.file(body), '-o', 'common.weir'], cwd=f.path, capture_output=True, timeout=120, check=False,
                       preexec_fn=None if sanitized() else limit_memory)
    rows = f.rows('from span | by len(service) | count()', 'common.weir') if not p.returncode else []
    t.check('a large resource in many spans: all are taken, what has no room is counted', len(rows) == 2 and sum(r['count'] for r in rows) == 40000 and
            any(r['count'] > 500 for r in rows) and re.search(rb'3\d{4} texts cut', p.stderr), p.returncode, p.stderr, rows)


def sanitized():
    with open(WEIR, 'rb') as program:
        return re.search(b'__[at]san_init', program.read()) is not None


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def calls(t, f):
    """Spans over synthetic calls, against a plain loop: each call belongs to the innermost span of its thread."""
    f.weir('synth', '-q', '-o', 'calls.trace', '--rows', '20000', '--profile', 'redis')
    ops = [json.loads(line) for line in f.weir('sql', '-i', 'calls.trace', 'COPY (SELECT start, dur, thread_id, bytes, class::VARCHAR AS class '
                                               "FROM op WHERE start IS NOT NULL) TO 'ops.json'", check=False) and open(
        os.path.join(f.path, 'ops.json'), encoding='utf-8')]
    threads = sorted({o['thread_id'] for o in ops})[:3]
    first, last = min(o['start'] for o in ops), max(o['start'] for o in ops)
    spans, number = [], 0
    for thread in threads:
        for i in range(5):
            at = first + (last - first) * i // 5
            spans += [(at, (last - first) // 6, number + 1, 0, thread), (at + 1000, (last - first) // 20, number + 2, number + 1, thread)]
            number += 2
    spans.append((last - 1, -1, number + 1, 0, threads[0]))
    text = ''.join(f'{s[0]} {s[1]} {s[2]} {s[3]} {s[4]} n{s[2]}\n' for s in spans)
    subprocess.run([WITH_SPANS, 'calls.trace', 'spans.trace'], input=text.encode(), cwd=f.path, check=True, timeout=60)
    want = {}
    for o in ops:
        mine = [s for s in spans if s[4] == o['thread_id'] and s[0] <= o['start'] and (s[1] < 0 or o['start'] < s[0] + s[1])]
        if mine:
            s = max(mine, key=lambda s: s[0])
            n, size, time = want.get(s[2], (0, 0, 0))
            part = o['dur'] if s[1] < 0 else min(o['dur'], s[0] + s[1] - o['start'])
            want[s[2]] = (n + 1, size + o['bytes'], time + part)
    out = json.loads(f.export('spans.trace', '--zipkin', '--calls', '1ms'))
    tags = {s['name'][1:]: s.get('tags', {}) for s in out if s['name'][1:].isdigit()}
    got = {int(n): tuple(int(a[f'weir.io.{k}']) for k in ('calls', 'bytes', 'time_ns')) for n, a in tags.items() if 'weir.io.calls' in a}
    t.check('the calls of spans are those of a plain loop', want and got == want, got, want)
    t.check('and it is said how they were found', {a.get('weir.io.by') for n, a in tags.items() if int(n) in want} == {'thread'})
    t.check('a span that was running is marked', tags[str(number + 1)].get('weir.status') == 'running', tags[str(number + 1)])
    ids = {s['id']: s for s in out}
    children = [s for s in out if not s['name'][1:].isdigit()]
    slow = sum(1 for o in ops if o['dur'] >= 1000000 and any(s[4] == o['thread_id'] and s[0] <= o['start'] and (
        s[1] < 0 or o['start'] < s[0] + s[1]) for s in spans))
    t.check('slow calls are children of the spans that made them', len(children) == slow and len(ids) == len(out) and
            all(c['parentId'] in ids and c['traceId'] == ids[c['parentId']]['traceId'] for c in children), len(children), slow)
    t.check('ids are the same at each export', json.loads(f.export('spans.trace', '--zipkin', '--calls', '1ms')) == out)
    log = json.loads(f.weir('requests', '-i', 'spans.trace', '--log', '--name', '*', '--json').stdout)['rows']
    t.check('calls are counted as weir requests counts them', {r['number']: r['own_calls'] for r in log if r['own_calls']} ==
            {n: v[0] for n, v in want.items()}, log)
    f.weir('requests', '-i', 'spans.trace', '--keep', '--where', 'class == "meta"')
    t.check('a stored span_op that is of a selection alone changes nothing', json.loads(f.export('spans.trace', '--zipkin', '--calls', '1ms')) == out)
    at = min(s[0] for s in spans) + (last - first) // 3
    part = json.loads(f.export('spans.trace', '--zipkin', '--to', f'+{(at - first) / 1e9:.6f}s'))
    t.check('a part of the time has whole sums', 0 < len(part) < len(spans) and all(p['tags'] == ids[p['id']]['tags'] for p in part), part[:2])


def post(s, path, body, kind='application/json', **headers):
    status, head, data = s.ask(path, 'POST', body, {'Content-Type': kind, **{k.replace('_', '-'): v for k, v in headers.items()}})
    return status, head.get('content-type', ''), data


def served(t, f):
    body = json.dumps(request()).encode()
    zipkin_body = json.dumps([{'traceId': 'a' * 32, 'id': 'b' * 16, 'name': 'z', 'timestamp': T0 // 1000, 'duration': 5}]).encode()
    f.weir('synth', '-q', '-o', 'app.trace', '--rows', '1000')
    with Serve(WEIR, 'app.trace', '--spans', 'in.weir', folder=f.path) as s:
        t.check('a body is refused without the token', s.ask('/v1/traces', 'POST', body, {'Content-Type': 'application/json'}, token=False)[0] == 401)
        status, _, data = post(s, '/v1/traces', gzip.compress(body), Content_Encoding='gzip')
        t.check('OTLP in JSON, gzip', status == 200 and json.loads(data) == {}, status, data)
        status, _, data = post(s, '/api/v2/spans', zipkin_body)
        t.check('Zipkin', status == 202 and not data, status, data)
        trace = f.imported(request())
        raw = f.export(trace, '--otlp', '--protobuf').replace(bytes.fromhex(TRACE), bytes(16)[:-1] + b'\x01')
        status, kind, data = post(s, '/v1/traces', raw, 'application/x-protobuf')
        t.check('OTLP in protobuf', (status, kind, data) == (200, 'application/x-protobuf', b''), status, kind, data)
        one = {'resourceSpans': [{'scopeSpans': [{'spans': [{'name': 'a'}, {'name': 'b', 'startTimeUnixNano': str(T0), 'endTimeUnixNano': str(T0)}]}]}]}
        status, _, data = post(s, '/v1/traces', json.dumps(one))
        t.check('a part that is not taken is answered', status == 200 and json.loads(data)['partialSuccess']['rejectedSpans'] == '1', status, data)
        named = {'name': 'c', 'startTimeUnixNano': str(T0), 'endTimeUnixNano': str(T0), 'events': [{'name': 'e'}, {'name': 'f'}]}
        status, _, data = post(s, '/v1/traces', json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': [named]}]}]}))
        part = json.loads(data)['partialSuccess']
        t.check('events that are not taken are no spans', (part['rejectedSpans'], part['errorMessage'][:16]) == ('0', '2 notes left out'), status, data)
        bad = {400: post(s, '/v1/traces', b'{')[0], 415: post(s, '/v1/traces', b'', 'text/plain')[0],
               4150: post(s, '/v1/traces', body, Content_Encoding='br')[0], 413: post(s, '/v1/traces', gzip.compress(b' ' * (17 << 20)), Content_Encoding='gzip')[0]}
        t.check('what is wrong is refused with the status that says so', bad == {400: 400, 415: 415, 4150: 415, 413: 413}, bad)
        for _ in range(600):
            time.sleep(0.1)  # until the server has looked at the trace
            data = s.get('/api/services')['data']
            if 'shop' in data and '(none)' in data:
                break
        t.check("services, as Jaeger's page asks", {'shop', 'db', '(none)'} <= set(data), data)
        t.check('operations', set(s.get('/api/services/shop/operations')['data']) == {'root', 'GET /x'} and
                {o['name'] for o in s.get('/api/operations', service='db')['data']} == {'select'})
        found = s.get('/api/traces', service='shop', operation='root', limit='5', start=str(T0 // 1000 - 1), end=str(T0 // 1000 + 100))['data']
        t.check('traces of a service', {d['traceID'] for d in found} == {TRACE, '0' * 31 + '1'} and all(len(d['spans']) == 3 for d in found), found)
        t.check('one trace by its id', len(s.get(f'/api/traces/{TRACE}')['data'][0]['spans']) == 3 and s.ask('/api/traces/77')[0] == 404)
        t.check('a search that cannot be done says so', s.ask('/api/traces', service='shop', tags='a=b')[0] == 400)
        rows = s.get('query', q='from span | by name | count()')['rows']
        t.check('the server asks them in its language too', {r['name']: r['count'] for r in rows} == {'root': 2, 'GET /x': 2, 'select': 2, 'z': 1, 'b': 1, 'c': 1}, rows)
    t.check('what was sent is in the trace, which is closed', len(f.rows('from span', 'in.weir')) == 9 and f.weir('check', 'in.weir').returncode == 0)
    with Serve(WEIR, 'app.trace', folder=f.path) as s:
        t.check('without --spans nothing is taken', post(s, '/v1/traces', body)[0] == 404)


def crowd(t, f):
    """Many bodies at once that inflate: few are in memory, others are asked to come again, and what is acknowledged is there"""
    # the blanks come first, so that they are compressed once
    common = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    blanks = common.compress(b' ' * (15 << 20))

    def body(i):
        own = common.copy()
        span = {'traceId': f'{i + 1:032x}', 'spanId': f'{i + 1:016x}', 'name': 'crowd', 'startTimeUnixNano': str(T0), 'endTimeUnixNano': str(T0)}
        return blanks + own.compress(json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': [span]}]}]}).encode()) + own.flush()
    bodies, answers = [body(i) for i in range(64)], []
    with Serve(WEIR, '--spans', 'crowd.weir', folder=f.path) as s:
        def send(b):
            answers.append(s.ask('/v1/traces', 'POST', b, {'Content-Type': 'application/json', 'Content-Encoding': 'gzip'}))
        threads = [threading.Thread(target=send, args=(b,)) for b in bodies]
        for th in threads:
            th.start()
        for th in threads:
            th.join()
        with open(f'/proc/{s.process.pid}/status', encoding='utf-8') as status:
            peak = int(re.search(r'VmHWM:\s+(\d+)', status.read())[1]) // 1024
    taken = [a for a in answers if a[0] == 200]
    again = [a for a in answers if a[0] == 503 and a[1].get('retry-after') == '1']
    t.check('many bodies at once', len(taken) + len(again) == 64 and len(taken) > 0 and len(f.rows('from span', 'crowd.weir')) == len(taken),
            len(taken), len(again), [a for a in answers if a[0] not in (200, 503)][:3])
    if sanitized():
        t.skip('are not all in memory', 'a sanitizer needs memory of its own')
    else:
        t.check('are not all in memory', peak < 300, peak)


def full(t, f):
    """No body is acknowledged that a full disk did not take."""
    disk = os.path.join(f.path, 'disk')
    os.mkdir(disk)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=512k', 'weir-interop', disk], capture_output=True, check=False).returncode:
        t.skip('what does not fit is not acknowledged', 'no right to mount a tmpfs')
        return
    try:
        with Serve(WEIR, '--spans', 'disk/full.weir', folder=f.path) as s:
            statuses = []
            for i in range(6):
                spans = [{'traceId': os.urandom(16).hex(), 'spanId': os.urandom(8).hex(), 'name': os.urandom(60).hex(),
                          'startTimeUnixNano': str(T0 + i), 'endTimeUnixNano': str(T0 + i)} for _ in range(1500)]
                statuses.append(post(s, '/v1/traces', json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': spans}]}]}))[0])
        count = f.rows('from span | count()', 'disk/full.weir')[0]['count']
        lost = sum(r['events'] for r in f.rows('from loss', 'disk/full.weir'))
        t.check('what does not fit is not acknowledged, and counted', set(statuses) == {200, 503} and count == 1500 * statuses.count(200) and
                count + lost == 9000, statuses, count, lost)
    finally:
        subprocess.run(['umount', disk], check=True)


def sdk(t, f):
    """A real SDK, where it is installed."""
    name = 'an OpenTelemetry SDK feeds weir serve'
    program = '''import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
p = TracerProvider()
p.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1], headers={'Authorization': 'Bearer ' + sys.argv[2]})))
for i in range(5):
    with p.get_tracer('t').start_as_current_span('sdk', attributes={'i': i}):
        pass
p.shutdown()
'''
    python = os.environ.get('WEIR_OTEL_PYTHON', sys.executable)
    if subprocess.run([python, '-c', 'import opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http'], capture_output=True, check=False).returncode:
        t.skip(name, 'opentelemetry-sdk and opentelemetry-exporter-otlp-proto-http are not installed (WEIR_OTEL_PYTHON)')
        return
    with Serve(WEIR, '--spans', 'sdk.weir', folder=f.path) as s:
        p = subprocess.run([python, '-c', program, f'http://127.0.0.1:{s.port}/v1/traces', s.token], capture_output=True, timeout=60, check=False)
    t.check(name, len(f.rows('from span | where name == "sdk"', 'sdk.weir')) == 5, p.stderr.decode())


def transformer(t, f, trace):
    """The npm package reads what weir writes in the answers; its request serializer writes what weir reads."""
    name = 'bodies of @opentelemetry/otlp-transformer are read'
    modules = os.environ.get('WEIR_OTEL_NODE')
    node = shutil.which('node')
    if not modules or not node:
        t.skip(name, 'WEIR_OTEL_NODE names no node_modules with @opentelemetry')
        return
    program = '''const { ProtobufTraceSerializer, JsonTraceSerializer } = require('@opentelemetry/otlp-transformer');
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');
const m = new InMemorySpanExporter(), p = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(m)] });
const s = p.getTracer('t').startSpan('npm', { attributes: { i: 1, f: 0.5, a: ['x'] } }); s.addEvent('e'); s.end();
const fs = require('fs'), all = m.getFinishedSpans();
fs.writeFileSync('npm.pb', ProtobufTraceSerializer.serializeRequest(all)); fs.writeFileSync('npm.json', JsonTraceSerializer.serializeRequest(all));
'''
    p = subprocess.run([node, '-e', program], cwd=f.path, env=dict(os.environ, NODE_PATH=modules), capture_output=True, timeout=60, check=False)
    both = []
    for kind in ('npm.pb', 'npm.json'):
        f.weir('import', kind, '-o', f'{kind}.weir', check=False)
        both.append(f.export(f'{kind}.weir', '--otlp') if os.path.exists(os.path.join(f.path, f'{kind}.weir')) else kind.encode())
    t.check(name, both[0] == both[1] and b'"npm"' in both[0], p.stderr.decode(), *both)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory(prefix='weir-interop-') as path:
        f = Folder(path)
        trace, want = otlp(t, f)
        protobuf(t, f, trace, want)
        zipkin(t, f)
        hostile(t, f)
        calls(t, f)
        common(t, f)
        served(t, f)
        crowd(t, f)
        full(t, f)
        sdk(t, f)
        transformer(t, f, trace)
    return t.end()


sys.exit(main())
