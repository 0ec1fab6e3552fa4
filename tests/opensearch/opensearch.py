#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""opensearch.py WEIR DASHBOARDS MARK [load=SECONDS]: `weir load --to opensearch://...` and `weir query -i opensearch://...` against a real
server: every row once whatever breaks, the answers of DuckDB over the same rows value by value, percentiles within the stated
error, what cannot be asked refused before anything is sent, and the shipped dashboards. Speaks TAP."""
import csv
import http.server
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'common'), os.path.join(HERE, '..', 'flow')]
from hosts import ORIGIN, Host, messages  # noqa: E402
from tap import Tap  # noqa: E402

WEIR, DEPLOY, MARK = map(os.path.realpath, sys.argv[1:4])
START_S = 120
KILLS = 6
SEED = int(os.environ.get('SEED', '7'))
HDR_ERROR = 0.002  # three digits, and the rank's rounding
TDIGEST_ERROR = 0.05
WORK = '''
import os, socket
os.makedirs('w', exist_ok=True)
for i in range(700):
    p = 'w/f%d' % (i % 50)
    with open(p, 'wb') as f:
        f.write(b'x' * (i % 4000 + 1))
    with open(p, 'rb') as f:
        f.read()
    try:
        open('w/none%d' % (i % 7))
    except OSError:
        pass
    os.stat(p)
    if i % 5 == 0:
        a, b = os.open(p, os.O_RDONLY), os.open('w/out', os.O_WRONLY | os.O_CREAT)
        os.sendfile(b, a, 0, 100)
        os.close(a), os.close(b)
for name in ('quote"and\\\\slash', 'caf\\u00e9', 'tab\\there', 'new\\nline'):
    open('w/' + name, 'w').close()
open(b'w/not\\xffutf8', 'w').close()
a, b = socket.socketpair()
a.send(b'x'), b.recv(1)
s = socket.socket()
try:
    s.connect(('127.0.0.1', 1))
except OSError:
    pass
'''
tap = Tap()


def skip_all(why):
    print(f'1..0 # SKIP {why}')
    sys.exit(0)


# C1 alone, and one thread that collects: a machine that lives for half a minute needs less CPU so, and what is measured is not its speed
JAVA = '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'


def run(*args, env=None, timeout=300):
    return subprocess.run(args, capture_output=True, text=True, timeout=timeout, env=env)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def classpath():
    """The jars, as Maven has them; first without asking its registry."""
    out = os.path.join(FOLDER, 'classpath')
    why = ''
    for more in (['-o'], []):
        done = run('mvn', '-q', '-B', *more, '-f', os.path.join(HERE, 'pom.xml'), 'dependency:build-classpath', f'-Dmdep.outputFile={out}',
                   env={**os.environ, 'MAVEN_OPTS': ' '.join(JAVA)})
        if done.returncode == 0 and os.path.exists(out):
            with open(out, encoding='utf-8') as f:
                return f.read()
        why = (done.stdout.strip().splitlines() or ['mvn fails'])[0]
    return skip_all(f'Maven has no OpenSearch: {why}')


class Server:
    def __init__(self):
        self.port = free_port()
        self.out = open(os.path.join(FOLDER, 'server.log'), 'w', encoding='utf-8')
        self.process = subprocess.Popen(['java', *JAVA, '-Xms1g', '-Xmx1g', '-cp', classpath(), os.path.join(HERE, 'Server.java'),
                                         os.path.join(FOLDER, 'data'), str(self.port), str(free_port())],
                                        stdin=subprocess.PIPE, stdout=self.out, stderr=self.out, cwd=FOLDER)
        before = time.monotonic()
        while time.monotonic() - before < START_S and self.process.poll() is None:
            try:
                self.ask('GET', '/')
                return
            except OSError:
                time.sleep(0.2)
        with open(self.out.name, encoding='utf-8') as f:
            print('# ' + '\n# '.join(f.read().splitlines()[-20:]))
        raise SystemExit('the server does not start')

    def ask(self, method, path, body=None):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', method=method,
                                         data=None if body is None else json.dumps(body).encode(), headers={'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def address(self, prefix):
        return f'opensearch://127.0.0.1:{self.port}/{prefix}'

    def count(self, stream, query=None):
        self.ask('POST', f'/{stream}/_refresh')
        return self.ask('POST', f'/{stream}/_count', {'query': query or {'match_all': {}}})['count']

    def searches(self):
        total = self.ask('GET', '/_stats/search?expand_wildcards=all')['_all']['total']['search']
        return total['query_total']

    def cpu_s(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def rows_of(source, question):
    done = run(WEIR, 'query', '--csv', '-i', source, question)
    if done.returncode:
        return None, done.stderr.strip()
    return list(csv.reader(io.StringIO(done.stdout))), done.stderr.strip()


def load(address, *traces):
    return run(WEIR, 'load', '--to', address, *traces)


# ---- loading ----

def check_load(server, trace, rows):
    before = server.cpu_s()
    done = load(server.address('w'), trace)
    tap.check('a trace is loaded', done.returncode == 0 and f'loaded {rows:,} calls' in done.stderr, done.stderr)
    print(f'# {done.stderr.strip()}; the server took {server.cpu_s() - before:.1f} s of CPU, as it warmed up')
    first = server.count('w-op', {'bool': {'must_not': {'term': {'second': True}}}})
    everything = server.count('w-op')
    tap.check('every call is a document', first == rows, f'{first} of {rows}')
    tap.check('calls on two files are one for each', everything > first, everything)
    done = load(server.address('w'), trace)
    tap.check('loaded again, it changes nothing', done.returncode == 0 and 'loaded 0 calls' in done.stderr and server.count('w-op') == everything,
              done.stderr, server.count('w-op'))
    copy = os.path.join(FOLDER, 'copy.weir')
    shutil.copy(trace, copy)
    done = load(server.address('w'), copy)
    tap.check('nor does a copy of it', done.returncode == 0 and server.count('w-op') == everything, done.stderr)
    return everything


def check_cut(server, trace, rows):
    """A copy that was made during the recording has no end; the whole trace takes its place."""
    part = os.path.join(FOLDER, 'cut.weir')
    with open(trace, 'rb') as f, open(part, 'wb') as to:
        whole = f.read()
        to.write(whole[:len(whole) * 9 // 10])
    done = load(server.address('c'), part)
    tap.check('the end of a cut trace is a row of loss', done.returncode == 0 and server.count('c-loss', {'term': {'cause': 'torn'}}) == 1, done.stderr)
    done = load(server.address('c'), trace)
    left = server.count('c-loss', {'term': {'cause': 'torn'}}), server.count('c-blocks', {'term': {'table': 'loss'}})
    first = server.count('c-op', {'bool': {'must_not': {'term': {'second': True}}}})
    tap.check('which goes once the whole trace is loaded', done.returncode == 0 and left == (0, 0) and first == rows, done.stderr, left, first)


def check_kills(server, trace, everything, took):
    """Loaders that are killed, while the data stream goes on in another index between them: no row twice, none missing."""
    rng = random.Random(SEED)
    killed = 0
    for i in range(KILLS):
        p = subprocess.Popen([WEIR, 'load', '--to', server.address('k'), trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, took))
        killed += p.poll() is None
        p.kill()
        p.wait()
        if i % 3 == 2:
            try:
                server.ask('POST', '/k-op/_rollover')
            except urllib.error.HTTPError:
                pass  # there is none yet
    done = load(server.address('k'), trace)
    tap.check('a loader goes on behind killed ones', done.returncode == 0, done.stderr)
    count = server.count('k-op')
    indices = server.ask('GET', '/_data_stream/k-op')['data_streams'][0]['indices']
    print(f'# {killed} of {KILLS} loads killed, {len(indices)} indices, seed {SEED}')
    tap.check('no row is there twice, none is missing', count == everything, f'{count} of {everything}')
    tap.check('and the answers are the same', rows_of(server.address('k'), 'by op | count(), sum(bytes), sum(dur)')[0] ==
              rows_of(trace, 'by op | count(), sum(bytes), sum(dur)')[0])


# ---- questions ----

SAME = r'''
count()
by op | count(), sum(bytes), avg(dur), max(dur), min(dur), min(start), max(start), stddev(dur)
where err is not null | by err, comm | count()
where path ~ "**/f1*" | by path | count(), sum(bytes)
where path ~ "f[0-3]?" | by path | count()
where path ~ "*.py" || path ~ "/etc" | by path | count()
where path like "%w/f_" | by path | count()
where not (path ~ "/tmp/**") | count()
where path == "no such" | count()
where !(err == ENOENT) | count()
where !(err == ENOENT && dur > 5us) | count()
where err != ENOENT | by err | count()
sort dur desc | head 3 | select start, stop, dur, op, path
sort path, dur | head 5 | select path, dur
where dur > 20us | sort comm desc, start | head 7 | select comm, start
head 200 | select start, op, path, ret, err, flags, class, kind
head 11000 | select start, tid, op, path | tail 20
by op every 100ms | count(), sum(bytes)
by comm every 10ms | count() | head 50
by peer, file_type | count(), first(op), last(dur), any(comm)
where flags has O_CREAT | by op | count()
where !(flags has O_CREAT) && op == openat | count()
by op | count() as c, countif(dur > 10us) as d | where c > 10 | select op, c, d / c as share | sort share desc, op | head 5
where dur in 10us..10ms && op in (read, openat) | by comm, pid | count(), max(bytes), min(ret)
where stop is null | count()
where start is not null && fd >= 3 && fd < 6 | by fd | count()
by path2 | count()
by path | count(), count(err), sum(size), avg(size)
by cpu, uid, host, container, unit, fs | count()
where fd2 == 3 || ret < 0 | by op, ret | count() | head 4
where op == read | by comm | first(bytes), last(bytes), first(start), last(start), max(ret)
by class | count() | sort class | tail 3
count(), sum(dur), avg(dur), max(path), min(comm)
where comm == "nobody" | sum(dur), count(), avg(dur), max(dur)
where comm == "nobody" | by op | count()
by op | count() as c | by c | count()
by path | count() as c | where path =~ "f[0-9]+$" | by dir(path) | sum(c)
from mark | by name | count()
from loss | by cause | count(), sum(events)
'''.strip().splitlines()

REFUSED = {
    'by file | count()': 'ids',
    'by thread | count()': 'ids',
    'where path =~ "f[0-9]+$" | count()': 'regular expressions',
    'by dir(path) | count()': 'computed',
    'where bytes > size | count()': 'two values',
    'by op | hist(dur)': 'hist(dur)',
    'quantize(dur)': 'quantize(dur)',
    'by op | rate()': 'rate',
    'by op | busy()': 'busy',
    'from thread | count()': 'thread',
    'by argv | count()': 'argv',
    'select dur / 2': 'computed',
    'by op every 100us | count()': 'milliseconds',
}


def normal(rows):
    """CSV's texts; floats with twelve digits, which sums in another order agree in."""
    def cell(text):
        return f'{float(text):.12g}' if re.fullmatch(r'-?\d+\.\d+(e[-+]?\d+)?', text) else text
    return rows and [[cell(c) for c in row] for row in rows]


def check_questions(server, trace, name):
    address = server.address(name)
    for question in SAME:
        want, why = rows_of(trace, question)
        got, err = rows_of(address, question)
        want, got = normal(want), normal(got)
        first = next((f'want {a}\ngot  {b}' for a, b in zip((want or []) + [None], (got or []) + [None]) if a != b), '')
        tap.check(f'{name}: {question}', want is not None and want == got, why, err, first)


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, max(0, -(-int(len(values) * q * 1e6) // 1000000) - 1))]


def check_percentiles(server, trace):
    rows, _ = rows_of(trace, 'select op, dur, tid')
    by_op = {}
    for op, dur, _tid in rows[1:]:
        if dur:
            by_op.setdefault(op, []).append(int(dur))
    done = run(WEIR, 'query', '--json', '-i', server.address('w'), 'by op | count() as c, p50(dur), p99(dur), distinct(path)')
    answer = [json.loads(line) for line in done.stdout.splitlines()] if '\n{' in done.stdout.strip() else json.loads(done.stdout)
    got, _ = rows_of(server.address('w'), 'by op | p50(dur), p99(dur)')
    wrong = []
    for op, p50, p99 in got[1:]:
        values = by_op[op]
        for q, value in ((0.5, int(p50)), (0.99, int(p99))):
            # between the values beside the rank: definitions of a percentile differ by one
            n = len(values) - 1
            low, high = sorted(values)[max(0, int(n * q) - 1)], sorted(values)[min(n, int(n * q) + 2)]
            if not low * (1 - HDR_ERROR) - 1 <= value <= high * (1 + HDR_ERROR) + 1:
                wrong.append(f'{op} p{q}: {value}, not within {low}..{high}')
    tap.none(f'percentiles of {len(got) - 1} operations are within 0.2 % of a value at their rank', wrong)
    table = run(WEIR, 'query', '-i', server.address('w'), 'by op | count(), p99(dur), distinct(path) | head 1')
    tap.check('estimates are marked, counts are not', len(re.findall('~', table.stdout)) >= 2, table.stdout, table.stderr, str(answer)[:200])
    want, _ = rows_of(trace, 'by op | distinct(path)')
    got, _ = rows_of(server.address('w'), 'by op | distinct(path)')
    off = [(a, b) for a, b in zip(sorted(want[1:]), sorted(got[1:])) if abs(int(a[1]) - int(b[1])) > 0.05 * int(a[1]) + 1]
    tap.none('distinct is near', [str(x) for x in off])


def check_hosts(server, trace):
    """Two machines in one store: --host reads the rows of one alone, whatever is asked. Returns the seconds that a load takes."""
    other = os.path.join(FOLDER, 'other.weir')
    subprocess.run(['unshare', '--uts', 'sh', '-c', 'hostname other; exec "$0" "$@"', WEIR, 'record', '-q', '-o', other, '--', 'cat', trace],
                   cwd=FOLDER, stdout=subprocess.DEVNULL, check=True)
    took = time.monotonic()
    load(server.address('h'), trace, other)
    took = time.monotonic() - took
    at = server.address('h')
    for question in ('by host | count()', 'by op | count(), sum(bytes) | sort count desc, op', 'from mark | by name | count() | sort name'):
        want = run(WEIR, 'query', '--csv', '-i', other, question)
        got = run(WEIR, 'query', '--csv', '--host', 'other', '-i', at, question)
        tap.check(f'--host: {question}', want.returncode == 0 and want.stdout == got.stdout, want.stdout, got.stdout, got.stderr)
    many = 10_050  # recordings, beyond a page of the server's; a call each
    lines = ''.join('{"create": {}}\n' + json.dumps({'@timestamp': '2026-11-21T09:55:02.114Z', 'host': 'many', 'rec': f'{i:016x}', 'op': 'read', 'start': i,
                                                    'end': i + 1, 'dur': 1, 'part': 0, 'n': i}) + '\n' for i in range(many))
    request = urllib.request.Request(f'http://127.0.0.1:{server.port}/h-op/_bulk?refresh=true', lines.encode(), {'Content-Type': 'application/x-ndjson'})
    with urllib.request.urlopen(request) as answer:
        failed = json.load(answer)['errors']
    got = run(WEIR, 'query', '--csv', '--host', 'many', '-i', at, 'count()')
    tap.check(f'--host with {many} recordings', not failed and got.stdout.split()[1:] == [str(many)], failed, got.stdout, got.stderr)
    done = run(WEIR, 'query', '--host', 'nobody', '-i', at, 'count()')
    tap.check('--host of a machine that is not there', done.returncode == 1 and "'nobody'" in done.stderr and not done.stdout, done.stderr)
    return took


def check_refused(server):
    before = server.searches()
    run(WEIR, 'query', '-i', server.address('w'), 'where')
    always = server.searches() - before  # what is lost, and the range of time
    for question, why in REFUSED.items():
        before = server.searches()
        done = run(WEIR, 'query', '--csv', '-i', server.address('w'), question)
        lines = done.stderr.strip().splitlines()
        tap.check(f'refused: {question}', done.returncode != 0 and len(lines) == 1 and why in lines[0] and server.searches() - before == always,
                  done.stderr, server.searches() - before)
    done = run(WEIR, 'query', '--explain', '-i', server.address('w'), 'by op | count()')
    tap.check('--explain prints the request', 'POST /w-op/_search' in done.stdout and '"composite"' in done.stdout, done.stdout, done.stderr)


# ---- wrong servers, wrong addresses ----

class Wrong(http.server.BaseHTTPRequestHandler):
    answer, status = b'{}', 200

    def do_GET(self):
        self.send_response(self.status)
        self.send_header('Content-Length', str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    do_POST = do_PUT = do_GET

    def log_message(self, *args):
        pass


def check_wrong(trace):
    server = http.server.HTTPServer(('127.0.0.1', 0), Wrong)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f'opensearch://127.0.0.1:{server.server_address[1]}/w'
    old = b'{"version":{"number":"6.8.0"}}'
    for name, answer, status, why in (
            ('another program', b'{}', 200, 'neither'), ('no JSON', b'<html>', 200, 'not JSON'), ('deep JSON', b'[' * 100000, 200, 'JSON'),
            ('too old', old, 200, 'no data streams'), ('a wrong password', b'{"error":"Unauthorized"}', 401, 'password'),
            ('a failure', b'oops', 500, '500'), ('an empty answer', b'', 200, 'JSON'), ('a type of its own', b'{"version":7}', 200, 'neither')):
        Wrong.answer, Wrong.status = answer, status
        for args in (('load', '--to', at, trace), ('query', '-i', at, 'count()')):
            done = run(WEIR, *args)
            tap.check(f'{args[0]}: {name}', done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1 and why in done.stderr, done.stderr)
    server.shutdown()
    done = run(WEIR, 'load', '--to', f'opensearch://127.0.0.1:{free_port()}/w', trace)
    tap.check('nobody there', done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr)
    done = run(WEIR, 'load', '--to', 'opensearch://x/w', '--schema', '--keep', '720h')
    tap.check('--schema prints templates and the policy', done.returncode == 0 and done.stdout.count('PUT /_index_template/') > 5 and
              'PUT /_plugins/_ism/policies/' in done.stdout, done.stdout[:500], done.stderr)
    bodies = re.findall(r'^PUT \S+\n(\{.*?^\})', done.stdout, re.M | re.S)
    tap.check('all of them JSON', all(isinstance(json.loads(b), dict) for b in bodies) and bodies)


# ---- dashboards ----

def search_of(agg):
    params = {k: v for k, v in agg['params'].items() if k in ('field', 'size', 'percents')}
    if agg['type'] == 'date_histogram':
        return {'date_histogram': {'field': params['field'], 'fixed_interval': '1s', 'min_doc_count': 1}}
    return {agg['type']: params}


def check_dashboards(server):
    with open(os.path.join(DEPLOY, 'opensearch', 'dashboards.ndjson'), encoding='utf-8') as f:
        text = f.read()
    made = run(os.path.join(DEPLOY, 'opensearch', 'make-dashboards'))
    tap.check('the saved objects are what make-dashboards prints', made.stdout == text, 'make-dashboards >dashboards.ndjson')
    text = run(os.path.join(DEPLOY, 'opensearch', 'make-dashboards'), 'w').stdout
    objects = {(o['type'], o['id']): o for o in map(json.loads, text.splitlines())}
    lost = [r for o in objects.values() for r in o['references'] if (r['type'], r['id']) not in objects]
    tap.none('every reference is to one of them', [str(x) for x in lost])
    unused = [k for k in objects if k[0] not in ('dashboard', 'index-pattern') and
              not any(r['id'] == k[1] for o in objects.values() if o['type'] == 'dashboard' for r in o['references'])]
    tap.none('every one is on a dashboard', unused)
    fields = {}
    for (kind, ident), o in objects.items():
        if kind == 'index-pattern':
            caps = server.ask('GET', f'/{o["attributes"]["title"]}/_field_caps?fields=*')['fields']
            fields[ident] = {n for n, types in caps.items() if all(t['aggregatable'] for t in types.values())}
    for (kind, ident), o in objects.items():
        if kind not in ('visualization', 'search'):
            continue
        meta = json.loads(o['attributes']['kibanaSavedObjectMeta']['searchSourceJSON'])
        pattern = o['references'][0]['id']
        stream = objects['index-pattern', pattern]['attributes']['title']
        # KQL of these pages is Lucene's syntax but for the case of its words
        lucene = re.sub(r'\b(and|or)\b', lambda m: m[0].upper(), meta['query']['query'])
        body = {'size': 1, 'query': {'query_string': {'query': lucene or '*', 'analyze_wildcard': True}}}
        if kind == 'search':
            unknown = [c for c in o['attributes']['columns'] if c not in fields[pattern]]
        else:
            aggs = json.loads(o['attributes']['visState'])['aggs']
            unknown = [a['params']['field'] for a in aggs if 'field' in a['params'] and a['params']['field'] not in fields[pattern]]
            node = body
            for a in [a for a in aggs if a['schema'] != 'metric']:
                node['aggs'] = {a['id']: search_of(a)}
                node = node['aggs'][a['id']]
            metrics = {a['id']: search_of(a) for a in aggs if a['schema'] == 'metric' and a['type'] != 'count'}
            if metrics:
                node['aggs'] = metrics
        try:
            hits = server.ask('POST', f'/{stream}/_search', body)['hits']['total']['value']
            why = ''
        except urllib.error.HTTPError as e:
            hits, why = -1, e.read().decode()[:500]
        empty_is_fine = 'loss' in ident or 'slow' in ident or 'sync' in ident
        tap.check(f'{o["attributes"]["title"]}: its search finds something', not unknown and (hits > 0 or (empty_is_fine and hits == 0)), unknown, hits, why)


def check_clocks(server):
    """Two hosts, one of whose clocks is wrong: what was loaded before it was found keeps its times, which is said; what is loaded after, does not."""
    a, b = Host('alpha', 1, lambda t: t), Host('beta', 2, lambda t: t + 5_037_123_456)
    a.call('connect', ORIGIN, ORIGIN + 1000, file_id=0, ret=0)
    b.call('accept', ORIGIN + 2000, ORIGIN + 200_000, file2_id=0, ret=5)
    for sides in ((a, b), (b, a)):
        messages(*sides, 100, random.Random(1))
    files = [x.write(MARK, FOLDER) for x in (a, b)]
    loaded = load(server.address('early'), *files)
    question = 'select host, op, start | head 200'
    before = rows_of(server.address('early'), question)
    kept = run(WEIR, 'flow', '--keep', *files)
    again = load(server.address('early'), *files)
    tap.check('clocks: loaded before they were found is said', loaded.returncode == kept.returncode == again.returncode == 0 and
              '1 traces were loaded before' in again.stderr and before == rows_of(server.address('early'), question), kept.stdout, again.stderr)
    said = [load(server.address('late'), *files).stderr for _ in range(2)]
    late = rows_of(server.address('late'), question)
    done = run(WEIR, 'query', '--csv', '-i', files[0], '-i', files[1], question)
    want = [line.split(',') for line in done.stdout.splitlines()]
    tap.check('clocks: loaded after, times are corrected, and nothing is said', not any('before' in s for s in said) and sorted(late[0]) == sorted(want) and
              sorted(late[0]) != sorted(before[0]), said, late, want)


def main():
    for program in ('java', 'mvn'):
        if not shutil.which(program):
            skip_all(f'no {program}: default-jre-headless and maven have them')
    version = re.search(r'version "(\d+)', run('java', '-version').stderr)
    if not version or int(version[1]) < 17:
        skip_all('the server needs a JDK 17')
    if os.geteuid():
        skip_all('needs root to record')
    trace = os.path.join(FOLDER, 't.weir')
    with open(os.path.join(FOLDER, 'work.py'), 'w', encoding='utf-8') as f:
        f.write(WORK)
    done = subprocess.run([WEIR, 'record', '-q', '-o', trace, '--', sys.executable, 'work.py'], cwd=FOLDER, capture_output=True, text=True)
    if 'cannot load the kernel programs' in done.stderr:
        skip_all(done.stderr.splitlines()[0])
    rows = int(rows_of(trace, 'count()')[0][1][0])
    server = Server()
    try:
        everything = check_load(server, trace, rows)
        check_cut(server, trace, rows)
        check_questions(server, trace, 'w')
        check_percentiles(server, trace)
        check_refused(server)
        check_dashboards(server)
        took = check_hosts(server, trace)
        check_clocks(server)
        check_kills(server, trace, everything, took)
        check_wrong(trace)
    finally:
        server.end()
    return tap.end()


FOLDER = tempfile.mkdtemp(prefix='weir-opensearch.', dir='/var/tmp')
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
try:
    STATUS = main()
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
sys.exit(STATUS)
