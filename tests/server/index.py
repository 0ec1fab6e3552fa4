#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""index.py WEIR CRAFTED SMALL_BLOCKS [--all] [--seed N]: what is answered from digests and summaries is what the rows say, for ranges that cut blocks and digests
anywhere, with filters that the sums can answer and others. Each answer from rows reads all of them: of routes by ranges and filters
a part is compared, each route, range and filter several times; with --all, as `make nightly` does, all."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from client import Serve, Tap

parser = argparse.ArgumentParser()
parser.add_argument('weir', type=os.path.abspath)
parser.add_argument('crafted', type=os.path.abspath)
parser.add_argument('small_blocks', type=os.path.abspath)
parser.add_argument('--all', action='store_true')
parser.add_argument('--seed', type=int, default=5)
given = parser.parse_args()
weir = given.weir
folder = tempfile.mkdtemp(prefix='weir-serve-index-')
tap = Tap()
check = tap.check
# True for every call, but nothing that a summary or a block's header knows: all is read from rows.
ROWS_ONLY = 'row_id >= 0'


def synth(name, *args):
    subprocess.run([weir, 'synth', '-q', '-o', os.path.join(folder, name), *args], check=True)


def cut_small(name, rows, *args):
    """A trace of as many calls in as many blocks, of which small_blocks leaves a part in smaller ones: its numbers."""
    whole = os.path.join(folder, 'whole')
    synth('whole', '--rows', str(rows), *args)
    r = subprocess.run([given.small_blocks, whole, os.path.join(folder, name)], capture_output=True, text=True, check=True)
    os.unlink(whole)
    return map(int, r.stdout.split())


def differs(a, b, at=''):
    """The first place where two documents differ, None where they do not."""
    if type(a) is not type(b):
        return at, a, b
    if isinstance(a, dict):
        for key in a.keys() | b.keys():
            d = differs(a.get(key), b.get(key), f'{at}.{key}')
            if d:
                return d
        return None
    if isinstance(a, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            d = differs(x, y, f'{at}[{i}]')
            if d:
                return d
        return None
    return None if a == b else (at, a, b)


def compare(s, name, path, filter_='', **params):
    both = f'{ROWS_ONLY} && ({filter_})' if filter_ else ROWS_ONLY
    one = {'filter': filter_} if filter_ else {}
    a = s.get(path, **one, **params)
    d = differs(a, s.get(path, filter=both, **params))
    check(f'{name}: /{path} is what the rows say', d is None, d, params, filter_)
    return a


def ranges(last, rng):
    """Open, wide, narrow; ends on whole 100 ms and off them."""
    yield {}
    yield {'from_': last // 7}
    yield {'to': last // 5 * 4}
    yield {'from_': last // 4 // 100000000 * 100000000, 'to': last // 3 * 2 // 100000000 * 100000000}
    for _ in range(2):
        a, b = sorted(rng.randrange(last) for _ in range(2))
        yield {'from_': a, 'to': b + 1}
    a = rng.randrange(last)
    yield {'from_': a, 'to': a + 1}
    yield {'from_': a, 'to': a + 3000000}
    yield {'from_': last + 1000000000, 'to': last + 2000000000}


def part(several, turn):
    """Of several questions one, in turn, or all of them."""
    return several if given.all else [several[turn % len(several)]]


def wide(last):
    return {'from_': last // 9, 'to': last // 9 * 8}


# dur > 200ns and 239ns: all calls of some blocks, which their headers know. dur > 3ms: few blocks have
# such calls.
FILTERS = ['op == read', 'dur > 3ms', 'dur > 3ms && (tid > 0 || err is null) && bytes < 1M', 'dur > 200ns', 'dur > 239ns && dur < 10s', 'dur > 2us', 'dur >= 1024ns && class == data', 'row_id % 3 == 0', 'comm == "db_bench" && err is null', 'class == sync', 'path ~ "/tmp/rocksdb/*"', 'dur > 1ms && op in (read, pread64)']


def answers(s, rng):
    last = s.get('trace')['last']
    for turn, r in enumerate(ranges(last, rng)):
        name = f'{r.get("from_", "")}..{r.get("to", "")}'
        o = compare(s, name, 'overview', width=100, **r)
        for path, params in part([('lanes', {}), ('files', {'dir': '/tmp'}), ('files', {'dir': 'sockets'})], turn):
            compare(s, name, path, **params, **r)
        q = s.get('query', q='where status is null || !(status has unfinished) | count(), sum(bytes), sum(dur)', **r)['rows'][0] \
            if has_engine else None
        if q:
            t = o['totals']
            check(f'{name}: /overview is what a query says', (q['count'], q['sum(bytes)'] or 0) == (t['calls'], t['bytes']), q, t)
    for by in ('op', 'class', 'file', 'pid', 'tid', 'comm', 'cpu'):
        l = compare(s, f'by {by}', 'latency', width=90, by=by, **wide(last))
        check(f'by {by}: a histogram holds each call of its group',
              l['series'] and all(sum(x['hist'][1::2]) == x['stats']['calls'] and x['hist'][::2] == sorted(set(x['hist'][::2]))
                                  for x in l['series']))
    for turn, f in enumerate(FILTERS):
        compare(s, f, 'overview', f, width=80)
        for path, params in part([('overview', {'width': 80}), ('latency', {'width': 80, 'by': 'cpu' if 'dur' in f else 'file'}), ('files', {'dir': '/'})], turn):
            compare(s, f, path, f, **params, **wide(last))


KEYS = ['op', 'class', 'err', 'comm', 'pid', 'tid', 'exe', 'file', 'file_id', 'ext(path)', 'peer', 'op in (read, pread64)']
AGGREGATES = ['count()', 'sum(bytes)', 'sum(dur)', 'max(dur)', 'avg(dur)', 'avg(bytes)', 'rate()', 'rate(bytes)', 'p50(dur)',
              'p99(dur)', 'hist(dur)', 'count(err)', 'countif(class == data)', 'distinct(op)', 'max(tid)', 'distinct(comm)']
# What digests have by file.
FILE_KEYS = ['file', 'file_id', 'class', 'ext(path)', 'peer', 'class == data']
FILE_AGGREGATES = [a for a in AGGREGATES if a not in ('count(err)', 'distinct(op)', 'max(tid)', 'distinct(comm)')] + ['distinct(class)']
ASKED = [None, 'class == data', 'class != wait && op ~ "*read*"', 'err is not null', 'comm != "db_bench" || op == write', 'class == sync',
         'file is not null', 'class in (data, meta) && path ~ "*.sst"']
FILES_ASKED = [None, 'class == data', 'class != wait', 'file is not null', 'class in (data, meta) && path ~ "*.sst"', 'peer is not null',
               'peer is not null && class == net']


def question(rng, files):
    """A question about groups, of which the sums can answer all, a part or nothing."""
    where = rng.choice(FILES_ASKED if files else ASKED)
    if files:
        keys, every = rng.sample(FILE_KEYS, rng.randrange(1, 3)), None
    else:
        keys = rng.sample(KEYS[:7] if rng.randrange(3) else KEYS, rng.randrange(3))
        every = rng.choice([None, None, '100ms', '1s', '300ms', '30ms'])
    by = f'by {", ".join(keys)}{f" every {every}" if every else ""} | ' if keys or every else ''
    asked = rng.sample(FILE_AGGREGATES if files else AGGREGATES, rng.randrange(1, 4))
    made = ', '.join(f'{a} as a{i}' for i, a in enumerate(asked))
    cut = rng.choice(['', ' | sort a0 desc | head 20']) if by and asked[0] != 'hist(dur)' else ''
    return f'{where + " | " if where else ""}{by}{made}{cut}'


def questions(s, rng, count):
    """What a query answers from digests, or in part."""
    last = s.get('trace')['last']
    chosen = list(ranges(last, rng))
    for i in range(count):
        q = question(rng, i % 3 == 2)
        compare(s, q, 'query', limit=5000, q=q, **(rng.choice(chosen) if i % 2 else {}))

LONG = ['where dur > 3ms | by comm, op, file | count(), max(dur), sum(bytes), hist(dur)', 'where class != wait && dur > 5ms | by pid every 100ms | p99(dur)',
        'where dur > 3ms && op != read | select start, dur, op, path | sort start, dur', 'where dur > 3ms | sort dur desc | head 50',
        'where dur > 3ms && ret >= 0 | by op | count()']


def long_calls(s):
    """What a query asks of long calls alone, which few blocks have."""
    last = s.get('trace')['last']
    for q in LONG:
        for r in ({}, wide(last)):
            a = compare(s, q, 'query', limit=5000, q=q, **r)
            check(f'{q}: there are such calls', len(a['rows']) > 0)


def pictures(s):
    """Of files with much time and with little, of any range."""
    last = s.get('trace')['last']
    files = [f for f in s.get('overview')['files']['rows'] if f['path']]
    for f in (files[:3] if given.all else files[:1]) + files[-1:]:
        for r in ({}, wide(last), {'from_': last // 3}, {'to': last // 2}, {'from_': last // 2, 'to': last // 2 + 50000000}):
            d = compare(s, f['name'], f'file/{f["id"]}/density', width=70, height=30, **r)
            check(f'{f["name"]}: the picture is complete', d['read'] == 1)
            compare(s, f['name'], f'file/{f["id"]}', **r)
        compare(s, f['name'], f'file/{f["id"]}/density', width=70, height=30, pos_from=8192, pos_to=1 << 20)
        compare(s, f['name'], f'file/{f["id"]}/density', 'op == read || op == pread64', width=70, height=30)
        compare(s, f['name'], f'file/{f["id"]}', 'op == read || err is not null', **wide(last))


def memory_of(pid, name):
    with open(f'/proc/{pid}/status', encoding='utf-8') as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name)) * 1024


def is_sanitized(s):
    """Memory of a sanitizer is another matter."""
    with open(f'/proc/{s.process.pid}/maps', encoding='utf-8') as f:
        return 'san.so' in f.read()


FILTER_BYTES = 25 << 20  # of one thread, for whatever it does
FILE_BYTES = 100


def memory():
    """A filter that every file passes takes memory for each file once, not for each thread."""
    synth('n.trace', '--rows', '2000000', '--profile', 'network')
    with Serve(weir, '--threads', '2', 'n.trace', folder=folder) as s:
        pid = s.process.pid
        if is_sanitized(s):
            return
        files = s.get('overview')['totals']['files']
        with open(f'/proc/{pid}/clear_refs', 'w', encoding='ascii') as f:
            f.write('5')  # the peak begins anew
        before = memory_of(pid, 'VmRSS')
        o = s.get('overview', filter='dur > 2ns')
        more = memory_of(pid, 'VmHWM') - before
        check('a filter that all files pass', o['totals']['files'] == files > 200000, o['totals'], files)
        check('and the memory that it takes', more < 2 * FILTER_BYTES + files * FILE_BYTES, more, files)
    # the same of several at once, which share the memory: one that needs more than there is left waits for the others
    with Serve(weir, '--threads', '2', '--memory', '40M', 'n.trace', folder=folder) as s:
        s.get('overview')
        with open(f'/proc/{s.process.pid}/clear_refs', 'w', encoding='ascii') as f:
            f.write('5')
        before, answers = memory_of(s.process.pid, 'VmRSS'), []
        asks = [threading.Thread(target=lambda i=i: answers.append(s.ask('overview', filter=f'dur > {i}ns')[0])) for i in range(6)]
        for t in asks:
            t.start()
        for t in asks:
            t.join()
        more = memory_of(s.process.pid, 'VmHWM') - before
        check('six of them at once are answered', answers == [200] * 6, answers)
        check('and take no more memory than one', more < 2 * FILTER_BYTES + files * FILE_BYTES, more, files)
        if has_engine:
            status, _, body = s.ask('query', q='by file, op, tid | p99(dur), hist(dur) | head 5')
            check('what an engine cannot do with half of it, it does with all', status == 200, status, body[:300])
            status, _, body = s.ask('sql', method='POST', body='SELECT list(start) AS l, tid, ret, pos FROM op GROUP BY ALL ORDER BY 1 LIMIT 3')
            check('what SQL cannot do with all of it is refused', status == 413 and b'--memory' in body and b'--spill' not in body, status, body[:300])
            check('and what it can is done', s.ask('sql', method='POST', body='SELECT count(*) AS n FROM op')[0] == 200)


def later():
    """A trace that comes into the folder is part of the next answer; no file that is none."""
    os.mkdir(os.path.join(folder, 'three'))
    synth('three/a.trace', '--rows', '70000', '--profile', 'fio')
    with Serve(weir, 'three', folder=folder) as s:
        before = s.get('overview')
        with open(os.path.join(folder, 'three', 'notes.txt'), 'w', encoding='utf-8') as f:
            f.write('no trace\n')
        synth('b.trace', '--rows', '50000', '--profile', 'redis')
        os.rename(os.path.join(folder, 'b.trace'), os.path.join(folder, 'three', 'b.trace'))
        for _ in range(600):
            if s.get('trace')['ops'] == 120000:
                break
            time.sleep(0.1)
        t = s.get('trace')
        check('a trace that comes into the folder is there', t['ops'] == 120000 and len(t['traces']) == 2 and
              t['generation'] > 1, t)
        o = compare(s, 'a trace came', 'overview', width=100)
        both = o['totals']['calls'] + o['totals']['running']
        check('and in the sums', both == 120000 and before['totals']['calls'] < both, before['totals'], o['totals'])
        compare(s, 'a trace came', 'files', dir='/')
        row = o['slowest']['rows'][0]
        check('and its calls can be looked at', s.get(f'op/{row["row"]}')['call']['dur'] == row['dur'])


def told(kind):
    """What the command line says of such a trace: no time before its beginning, no complaint of a sanitizer."""
    trace = os.path.join(folder, f'{kind}.trace')
    asks = [['report', '--json'], ['report', 'slow', '--json'], ['report'], ['report', '--from', '+1ms'], ['trace', '--rel', '-i'],
            ['trace', '-r', '-i'], ['query', 'by op every 1s | count(), rate(), hist(dur)'], ['query', 'every 1s | hist(dur)'], ['diff', trace]]
    done = [subprocess.run([weir, *a, trace], capture_output=True, check=False) for a in asks]
    answers = [d.returncode for d in done]
    check(f'crafted, {kind}: the command line answers', not any(answers), list(zip(asks, answers)), [d.stderr for d in done if d.returncode][:1])
    dur = json.loads(done[0].stdout)['trace']['dur']
    check(f'crafted, {kind}: a trace takes no negative time', dur >= 0, dur)


def crafted():
    """Traces whose values no kernel gives: every question has an answer."""
    for kind in ('ops', 'early', 'late', 'deep', 'hist'):
        subprocess.run([given.crafted, kind, os.path.join(folder, f'{kind}.trace')], check=True)
        told(kind)
        with Serve(weir, f'{kind}.trace', folder=folder) as s:
            lanes = s.get('lanes')['lanes']
            file = s.get('overview')['files']['rows'][0]['id']
            asks = [('trace', {}), ('overview', {'brief': 1}), ('overview', {'filter': 'dur < 1s'}), ('latency', {'by': 'op'}), ('latency', {'by': 'file'}),
                    ('timeline', {'lanes': lanes[0]['id'], 'width': 3}), ('files', {'dir': '/'}), ('files', {'dir': 'others'}),
                    (f'file/{file}', {}), (f'file/{file}/density', {'width': 30})]
            if has_engine:
                asks.append(('query', {'q': 'by op | p99(dur)'}))
            answers = [s.ask(path, **params)[0] for path, params in asks]
            check(f'crafted, {kind}: every question is answered', answers == [200] * len(asks), list(zip(asks, answers)))
            check(f'crafted, {kind}: in little memory', memory_of(s.process.pid, 'VmHWM') < 256 << 20 or is_sanitized(s))


def main():
    global has_engine
    rng = random.Random(given.seed)
    calls, digests, after = cut_small('a.trace', 2300000, '--seed', '11')
    check('a trace has two digests, and blocks that are in none', digests == 2 and after > 20, digests, after)
    has_engine = subprocess.run([weir, 'query', '--json', 'by op | count()', 'a.trace'], cwd=folder, capture_output=True,
                                check=False).returncode == 0
    with Serve(weir, 'a.trace', folder=folder) as s:
        pictures(s)
        answers(s, rng)
        if has_engine:
            questions(s, rng, 200 if given.all else 24)
            long_calls(s)
    # two traces whose ids, times and files are apart
    os.mkdir(os.path.join(folder, 'two'))
    os.rename(os.path.join(folder, 'a.trace'), os.path.join(folder, 'two', 'a.trace'))
    more, *_ = cut_small('two/b.trace', 400000, '--seed', '12', '--profile', 'network')
    with Serve(weir, 'two', folder=folder) as s:
        last = s.get('trace')['last']
        for r in ({}, wide(last)):
            o = compare(s, 'two traces', 'overview', width=100, **r)
            compare(s, 'two traces', 'lanes', **r)
            compare(s, 'two traces', 'files', dir='sockets', **r)
        if has_engine:
            questions(s, rng, 10)
        check('two traces: no call is missing', o['totals']['calls'] > 0 and
              s.get('overview')['totals']['calls'] + s.get('overview')['totals']['running'] == calls + more)
    later()
    memory()
    crafted()
    synth('h.trace', '--rows', '200000', '--profile', 'hostile')
    with Serve(weir, 'h.trace', folder=folder) as s:
        compare(s, 'hostile', 'overview', width=100)
        compare(s, 'hostile', 'files', dir='/')
        check('hostile: it still runs', s.process.poll() is None)
    return tap.end()


has_engine = False
try:
    sys.exit(main())
finally:
    shutil.rmtree(folder, ignore_errors=True)
