#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""profiles.py WEIR MARK: `weir export --otlp-profiles` against `weir query` over the same calls, and links to spans against `weir export --otlp`.

The protobuf is read by the few lines below, which know the numbers of fields of opentelemetry-proto 1.10.0 (v1development), and by its own
Python package where that is installed.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from protobuf import fields  # noqa: E402
from tap import Tap  # noqa: E402

WEIR, MARK = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
TYPES = {'io_time': 'nanoseconds', 'wait_time': 'nanoseconds', 'io_bytes': 'bytes', 'io_calls': 'count'}
# message: field -> (name, kind, message); kind: u varint, f fixed64, s text, b bytes, m message; * repeated
FIELDS = {
    'Request': {1: ('resourceProfiles', 'm*', 'ResourceProfiles'), 2: ('dictionary', 'm', 'Dictionary')},
    'Dictionary': {1: ('mappingTable', 'm*', 'None'), 2: ('locationTable', 'm*', 'Location'), 3: ('functionTable', 'm*', 'Function'),
                   4: ('linkTable', 'm*', 'Link'), 5: ('stringTable', 's*', None), 6: ('attributeTable', 'm*', 'Attribute'), 7: ('stackTable', 'm*', 'Stack')},
    'ResourceProfiles': {1: ('resource', 'm', 'Resource'), 2: ('scopeProfiles', 'm*', 'ScopeProfiles')},
    'Resource': {1: ('attributes', 'm*', 'KeyValue')}, 'KeyValue': {1: ('key', 's', None), 2: ('value', 'm', 'AnyValue')},
    'AnyValue': {1: ('stringValue', 's', None), 3: ('intValue', 'u', None)},
    'ScopeProfiles': {1: ('scope', 'm', 'Scope'), 2: ('profiles', 'm*', 'Profile')}, 'Scope': {1: ('name', 's', None), 2: ('version', 's', None)},
    'Profile': {1: ('sampleType', 'm', 'ValueType'), 2: ('samples', 'm*', 'Sample'), 3: ('timeUnixNano', 'f', None), 4: ('durationNano', 'u', None)},
    'ValueType': {1: ('typeStrindex', 'u', None), 2: ('unitStrindex', 'u', None)},
    'Sample': {1: ('stackIndex', 'u', None), 2: ('attributeIndices', 'u*', None), 3: ('linkIndex', 'u', None), 4: ('values', 'u*', None)},
    'Location': {3: ('lines', 'm*', 'Line')}, 'Line': {1: ('functionIndex', 'u', None)}, 'Function': {1: ('nameStrindex', 'u', None)},
    'Link': {1: ('traceId', 'b', None), 2: ('spanId', 'b', None)}, 'Stack': {1: ('locationIndices', 'u*', None)},
    'Attribute': {1: ('keyStrindex', 'u', None), 2: ('value', 'm', 'AnyValue')}, 'None': {}}


def weir(*args, ok=True):
    p = subprocess.run([WEIR, *args], capture_output=True, check=False, timeout=120, env={**os.environ, 'TZ': 'UTC', 'NO_COLOR': '1'})
    if ok and p.returncode:
        raise RuntimeError(f'weir {args}: {p.stderr}')
    return p


def rows(trace, query, *more):
    return json.loads(weir('query', '-i', trace, *more, query, '--json').stdout)['rows']


def message(data, name):
    out = {}
    for number, wire, value in fields(data):
        field, kind, inner = FIELDS[name][number]  # another field is a failure
        assert wire == {'u': 0, 'f': 1}.get(kind[0], 2), field
        if wire == 2:
            value = message(value, inner) if kind[0] == 'm' else value.decode('utf-8') if kind[0] == 's' else value.hex()
        if kind[-1] == '*':
            out.setdefault(field, []).append(value)
        elif kind == 'm' and field in out:  # a message that comes again goes on
            for key, more in value.items():
                out[field][key] = out[field].get(key, []) + more if isinstance(more, list) else more
        else:
            out[field] = value
    return out


def as_numbers(o):
    """JSON's texts of 64 bits as numbers, empty lists and zeros left out, as protobuf has them or not."""
    if isinstance(o, dict):
        return {k: int(v) if k in ('timeUnixNano', 'durationNano', 'intValue') else [int(x) for x in v] if k == 'values' else as_numbers(v)
                for k, v in o.items()}
    return [as_numbers(v) for v in o] if isinstance(o, list) else o


class Profiles:
    """What a reader makes of a request: each sample with its names."""
    def __init__(self, request):
        self.request, d = request, request['dictionary']
        text = d['stringTable']
        functions = [text[f.get('nameStrindex', 0)] for f in d['functionTable']]
        locations = [[functions[line['functionIndex']] for line in one.get('lines', ())] for one in d['locationTable']]
        stacks = [[name for i in s.get('locationIndices', ()) for name in locations[i]] for s in d['stackTable']]
        attributes = [(text[a.get('keyStrindex', 0)], a.get('value', {}).get('stringValue')) for a in d['attributeTable']]
        links = [(x.get('traceId', ''), x.get('spanId', '')) for x in d['linkTable']]
        self.samples, self.types = [], set()
        for resource in request.get('resourceProfiles', ()):
            of = {a['key']: next(iter(a['value'].values())) for a in resource['resource']['attributes']}
            for profile in (p for scope in resource['scopeProfiles'] for p in scope['profiles']):
                kind = text[profile['sampleType']['typeStrindex']]
                self.types.add((kind, text[profile['sampleType']['unitStrindex']]))
                for s in profile['samples']:
                    assert len(s['values']) == 1
                    self.samples.append((of.get('process.pid'), kind, tuple(stacks[s['stackIndex']]), dict(attributes[i] for i in s['attributeIndices']),
                                         links[s.get('linkIndex', 0)], s['values'][0]))

    def sums(self, key):
        out = collections.Counter()
        for s in self.samples:
            out[key(s)] += s[5]
        return {k: v for k, v in out.items() if v}


def export(trace, folder, *options):
    """The same request from JSON and from protobuf."""
    out = os.path.join(folder, 'out')
    weir('export', '--otlp-profiles', '--protobuf', '-i', trace, '-o', out, *options)
    with open(out, 'rb') as f:
        data = f.read()
    p = weir('export', '--otlp-profiles', '-i', trace, *options)
    request = message(data, 'Request')
    tap.check('JSON and protobuf have the same', as_numbers(json.loads(p.stdout)) == request)
    return Profiles(request), data, p.stderr.decode()


def well_formed(p):
    """What the definition asks of a dictionary: the first of each is none, nothing stands twice, nothing is there in vain"""
    d, bad, used = p.request['dictionary'], [], collections.defaultdict(set)
    for table in FIELDS['Dictionary'].values():
        entries = d.get(table[0], [])
        if not entries or entries[0] not in ({}, ''):
            bad.append(f'{table[0]}: the first is {entries[:1]}')
        texts = [json.dumps(e, sort_keys=True) for e in entries]
        if len(set(texts)) != len(texts):
            bad.append(f'{table[0]}: {len(texts) - len(set(texts))} stand twice')
    names = {'stackIndex': 'stackTable', 'attributeIndices': 'attributeTable', 'linkIndex': 'linkTable', 'locationIndices': 'locationTable',
             'functionIndex': 'functionTable', 'nameStrindex': 'stringTable', 'keyStrindex': 'stringTable', 'typeStrindex': 'stringTable',
             'unitStrindex': 'stringTable'}

    def walk(o):
        for k, v in o.items() if isinstance(o, dict) else enumerate(o):
            if k in names:
                used[names[k]] |= set(v if isinstance(v, list) else [v])
            elif isinstance(v, (dict, list)):
                walk(v)

    walk(p.request)
    for table, numbers in used.items():
        if numbers - {0} != set(range(1, len(d[table]))):
            bad.append(f'{table}: {len(d[table])} entries, {len(numbers)} of them are used')
    tap.none('the dictionary is as its definition asks', bad)
    tap.check('types and units', p.types and all(TYPES[t] == u for t, u in p.types), p.types)


def against_query(trace, p, name, *more):
    """Sums by process, class, call and file against a loop over the calls."""
    bad = []
    want = collections.Counter()
    for r in rows(trace, 'from op | select pid, op, class, dur, bytes, file', *more):
        stack = (r['op'] or 'call',) + ((r['file'],) if r['file'] else ())
        for kind, value in (('wait_time' if r['class'] == 'wait' else 'io_time', r['dur']), ('io_bytes', r['bytes']), ('io_calls', 1)):
            want[(r['pid'], kind, stack, r['class'])] += value or 0
    want = {k: v for k, v in want.items() if v}
    got = p.sums(lambda s: (s[0], s[1], s[2], s[3]['weir.io.class']))
    for key in want.keys() | got.keys():
        if want.get(key) != got.get(key):
            bad.append(f'{key}: {want.get(key)} expected, {got.get(key)} found')
    tap.check(f'{name}: {len(want)} sums are those of the calls', not bad and want, *bad[:5])


def mark_spans(trace, marked, of):
    """A copy with a span for every `of` calls of a thread, over half of them."""
    calls = rows(trace, 'from op | select start, dur, id(thread) as thread_id')
    origin = int(json.loads(weir('query', '-i', trace, '--json', 'select start | head 1').stdout)['origin'])
    per, story = collections.defaultdict(list), []
    for c in calls:
        if c['start'] is not None and c['dur'] is not None:
            per[c['thread_id']].append(c['start'] + origin)
    for n, (thread, starts) in enumerate(sorted(per.items())):
        starts.sort()
        for k in range(0, len(starts) - of, of):
            number = n * 100000 + k + 1
            ids = '' if k % 40 else f'\ttrace_id={number:032x}\tspan_id={number:016x}'
            story.append(f'span\tstart={starts[k]}\tdur={starts[k + of // 2] - starts[k]}\tnumber={number}\tname=step\tthread_id={thread}\tsource=weir{ids}\n')
    subprocess.run([MARK, trace, marked], input=''.join(story), text=True, check=True)


def spans_linked(folder, trace):
    """Calls by link are those that an export of spans counts."""
    marked = os.path.join(folder, 'marked.trace')
    mark_spans(trace, marked, 20)
    want = {}
    for line in weir('export', '--otlp', '-i', marked).stdout.splitlines():
        for s in (s for r in json.loads(line)['resourceSpans'] for scope in r['scopeSpans'] for s in scope['spans']):
            at = {a['key']: int(a['value'].get('intValue', 0)) for a in s['attributes']}
            if at.get('weir.io.calls'):
                want[(s['traceId'], s['spanId'])] = (at['weir.io.calls'], at['weir.io.bytes'])
    p, _, said = export(marked, folder)
    by = p.sums(lambda s: (s[4], s[1]))
    got = {link: (by.get((link, 'io_calls'), 0), by.get((link, 'io_bytes'), 0)) for link in {s[4] for s in p.samples} if link[1]}
    tap.check(f'calls of {len(want)} spans by their links', want and got == want, [k for k in want if want[k] != got.get(k)][:5], len(got))
    linked = sum(v[0] for v in want.values())
    tap.check('and how many there are is said', f'{linked:,} belong to a span' in said, said, linked)
    well_formed(p)
    against_query(marked, p, 'with spans')


class Together:
    """Several requests as one reader adds them up."""
    def __init__(self, all_):
        self.samples = [s for p in all_ for s in p.samples]

    sums = Profiles.sums


def in_pieces(folder, trace):
    """Many samples come as several requests of JSON, each whole, or as one message whose tables come in pieces; memory is that of a piece"""
    marked, out = os.path.join(folder, 'many.trace'), os.path.join(folder, 'many')
    mark_spans(trace, marked, 4)
    peaks = {}
    for form in ([], ['--protobuf']):
        args = [WEIR, 'export', '--otlp-profiles', '-i', marked, '-o', out + '.'.join(['', *form]), *form]
        with subprocess.Popen(args, stderr=subprocess.DEVNULL) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        peaks['protobuf' if form else 'json'] = usage.ru_maxrss >> 10
    with open(out, encoding='utf-8') as f:
        pieces = [Profiles(as_numbers(json.loads(line))) for line in f]
    with open(out + '.--protobuf', 'rb') as f:
        whole = Profiles(message(f.read(), 'Request'))
    sizes = [len({(s[0], s[2], s[3]['weir.io.class'], s[4]) for s in p.samples}) for p in pieces]
    tap.check('many samples come in several requests, none of them large', len(pieces) > 3 and max(sizes) <= 16384, sizes)
    for p in (pieces[0], pieces[-1], whole):
        well_formed(p)
    apart = Together(pieces)
    key = lambda s: (s[0], s[1], s[2], s[3]['weir.io.class'], s[4])  # noqa: E731
    tap.check('and both forms have the same sums', apart.sums(key) == whole.sums(key) and len(whole.samples) > 3 * 16384, len(whole.samples))
    against_query(marked, apart, 'in pieces')
    tap.check('and take the memory of a piece', max(peaks.values()) < 150, peaks)


def package_reads(data, p):
    try:
        from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
    except ImportError:
        tap.skip("opentelemetry-proto's own package reads it", 'not installed')
        return
    request = service.ExportProfilesServiceRequest()
    request.ParseFromString(data)
    total = sum(s.values[0] for r in request.resource_profiles for scope in r.scope_profiles for q in scope.profiles for s in q.samples)
    tap.check("opentelemetry-proto's own package reads it", total == sum(s[5] for s in p.samples) and
              list(request.dictionary.string_table) == p.request['dictionary']['stringTable'])


def stacks(folder):
    trace = os.path.join(folder, 'stacks.trace')
    weir('record', '-q', '--stacks=all', '-o', trace, '--', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do cat /etc/hostname /etc/passwd; done')
    p, _, said = export(trace, folder)
    want = {tuple(reversed(r['stack'].split(';'))): (r['calls'], r['bytes'] or 0) for r in json.loads(weir('stacks', '-i', trace, '--json').stdout)['rows'] if r['stack']}
    got = collections.defaultdict(lambda: [0, 0])
    for _, kind, names, _, _, value in p.samples:
        if kind in ('io_calls', 'io_bytes'):
            got[names[1:]][kind == 'io_bytes'] += value
    bad = [f'{k}: {v}, {got.get(k)}' for k, v in want.items() if tuple(got.get(k, ())) != v]
    tap.check(f'{len(want)} stacks are those of weir stacks, below the call', want and not bad, *bad[:3], said)
    well_formed(p)


def main():
    with tempfile.TemporaryDirectory(prefix='weir-profiles-') as folder:
        trace = os.path.join(folder, 't.trace')
        for profile in ('mixed', 'hostile'):
            weir('synth', '-q', '-o', trace, '--rows', '20000', '--seed', '5', '--profile', profile)
            p, data, _ = export(trace, folder)
            well_formed(p)
            package_reads(data, p)
            if profile == 'mixed':
                against_query(trace, p, profile)
                for more in (['--where', 'bytes > 100'], ['--from', '+0.02s', '--to', '+0.06s']):
                    against_query(trace, export(trace, folder, *more)[0], ' '.join(more), *more)
                spans_linked(folder, trace)
            os.unlink(trace)
        bad = []
        for args in (['--otlp'], ['--calls', '1ms'], ['--sample', '1/2'], ['--name', 'x'], ['--no-io']):
            r = weir('export', '--otlp-profiles', *args, '-i', trace, ok=False)
            if r.returncode != 2 or len(r.stderr.splitlines()) != 1:
                bad.append(f'{args}: {r.returncode} {r.stderr}')
        tap.none('options that are for spans are refused', bad)
        if os.geteuid() != 0:
            tap.skip('stacks of a recording', 'needs root')
        else:
            stacks(folder)
        weir('synth', '-q', '-o', trace, '--rows', '150000', '--seed', '6')
        in_pieces(folder, trace)
    return tap.end()


sys.exit(main())
