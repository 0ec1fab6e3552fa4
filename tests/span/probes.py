#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""probes.py WEIR PROBES: spans that begin and end at probes in programs (record --span): those of the program PROBES against what it
prints of them (names, nesting, arguments, in which span each file was opened), functions of a library as SQLite's, and the probes of
PostgreSQL. Needs root. Speaks TAP."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap, wait_attached  # noqa: E402

WEIR, PROBES = (os.path.abspath(a) for a in sys.argv[1:3])
POSTGRES = '/usr/lib/postgresql/15/bin'
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
SPANS = [f'request : usdt:{PROBES}:request__start(key:string, small, big) : request__done(i)',
         f'step : usdt:{PROBES}:probes:step__start(k) : step__done',
         f'level : usdt:{PROBES}:level__start(depth) : level__done',
         f'work : uprobe:{PROBES}:work(depth:int, why:string, big) : return(result:int)']
NAMES = {'request': ('key', 'small', 'big'), 'step': ('k',), 'level': ('depth',), 'work': ('depth', 'why', 'big')}
RESULTS = {'request': 'i', 'work': 'result'}
CASES = []


def case(f):
    CASES.append(f)
    return f


def record(folder, spans, *what, options=(), given=None):
    trace = os.path.join(folder, 't')
    command = [WEIR, 'record', '-o', trace, *options]
    for s in spans:
        command += ['--span', s]
    p = subprocess.run([*command, '--', *what], input=given, capture_output=True, text=True, timeout=60, check=False)
    return trace, p


def rows(trace, pipeline):
    p = subprocess.run([WEIR, 'query', '-i', trace, '--json', pipeline], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(p.stdout)['rows']


def marks(trace):
    return [m['text'] for m in rows(trace, 'from mark') if m['name'] == 'weir.spans']


def lost(trace):
    return {x['cause']: x['events'] for x in rows(trace, 'from loss')}


def value(text):
    return int(text) if re.fullmatch('-?[0-9]+', text) else text


def truth(lines):
    """{tid: [[name, index of the parent, attributes]]} by the order of begins, and {path: (tid, index)}"""
    spans, opens, tid, stack = {}, {}, 0, []
    for word, name, text in (line.split('\t') for line in lines):
        if word == 'thread':
            tid, stack = int(name), []
            spans[tid] = []
        elif word == 'begin':
            attributes = dict(zip(NAMES[name], map(value, text.split(','))))
            spans[tid].append([name, stack[-1] if stack else None, attributes])
            stack.append(len(spans[tid]) - 1)
        elif word == 'end':
            last = spans[tid][stack.pop()]
            assert last[0] == name and text == '' or name in RESULTS
            if text:
                last[2][RESULTS[name]] = int(text)
        else:
            opens.setdefault((tid, name), []).append(stack[-1] if stack else None)
        assert tid
    return spans, opens


def compare(t, what, trace, out):
    spans, opens = truth(out.splitlines())
    threads = {r['id']: r['tid'] for r in rows(trace, 'from thread')}
    got, index = {tid: [] for tid in spans}, {}
    everything = sorted(rows(trace, 'from span'), key=lambda s: s['number'])
    for s in everything:
        mine = got.setdefault(threads.get(s['thread_id']), [])
        index[s['number']] = len(mine)
        mine.append([s['name'], index.get(s['parent']), json.loads(s['attributes'] or '{}')])
    t.check(f'{what}: {sum(map(len, spans.values()))} spans with their parents and arguments', got == spans and len(spans) == 3,
            *[f'{tid}: {a} is {b}' for tid in spans for a, b in zip(spans[tid], got[tid]) if a != b][:5], {k: len(v) for k, v in got.items()})
    t.none(f'{what}: source, status, ids', [str(s) for s in everything if (s['source'], s['span_status']) != ('probe', 'unset') or
                                            s['dur'] is None or len(s['trace_id']) != 32][:5])
    notes = rows(trace, 'from note')
    t.check(f'{what}: each argument is a note', len(notes) == sum(len(s[2]) for l in spans.values() for s in l), len(notes))
    seen = {}
    for o in rows(trace, 'from op | where op == openat | select start, dur, path, tid, id(thread) as thread | sort start'):
        if not (o['path'] or '').startswith('/dev/null/'):
            continue
        inner = [s for s in everything if s['thread_id'] == o['thread'] and s['start'] <= o['start'] and
                 o['start'] + o['dur'] <= s['start'] + s['dur']]
        seen.setdefault((o['tid'], o['path']), []).append(index[inner[-1]['number']] if inner else None)
    t.check(f'{what}: {len(opens)} files were opened in their spans', seen == opens and len(opens) > 50,
            *[f'{k}: {seen.get(k)}, not {v}' for k, v in opens.items() if seen.get(k) != v][:5])
    t.check(f'{what}: nothing is lost', not lost(trace) and not marks(trace), lost(trace), *marks(trace))


@case
def program(t, folder):
    trace, p = record(folder, SPANS, PROBES, 'truth', '20')
    compare(t, 'a command', trace, p.stdout)
    subprocess.run([WEIR, 'requests', '-i', trace, '--keep'], capture_output=True, timeout=60, check=True)
    spans, opens = truth(p.stdout.splitlines())
    want = {}
    for (tid, _), where in opens.items():
        for i in where:
            if i is not None:
                want[spans[tid][i][0]] = want.get(spans[tid][i][0], 0) + 1
    got = {r['span.name']: r['count'] for r in rows(trace, 'where op == openat && span.source == probe | by span.name | count()')}
    t.check('span_op has these calls as well', got == want and want, got, want)
    top = subprocess.run([WEIR, 'requests', '-i', trace, '--json'], capture_output=True, text=True, timeout=60, check=True).stdout
    t.check('weir requests shows them', '"request"' in top and '"work"' in top, top[:500])


@case
def running(t, folder):
    trace = os.path.join(folder, 't')
    with subprocess.Popen([PROBES, 'truth', '20', 'wait'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        pid = p.stdout.readline().strip()
        recorder = subprocess.Popen([WEIR, 'record', '-q', '-o', trace, *(w for s in SPANS for w in ('--span', s)), '-p', pid])
        wait_attached(recorder)
        out = p.communicate('x', timeout=30)[0]
        recorder.wait(timeout=30)
    compare(t, 'a process that ran before', trace, out)


@case
def others(t, folder):
    """Another process runs the same functions meanwhile."""
    trace, p = record(folder, SPANS, 'sh', '-c', f'exec {PROBES} truth 2 >&2', options=['--comm', 'nobody'])
    t.check('a process that is not selected has no spans', not rows(trace, 'from span') and 'begin\trequest' in p.stderr, p.stderr[:300])


@case
def jumps(t, folder):
    trace, p = record(folder, [f'outer : uprobe:{PROBES}:outer', f'deep : uprobe:{PROBES}:deep(n:int)', SPANS[0]], PROBES, 'jumps', '10')
    spans = sorted(rows(trace, 'from span'), key=lambda s: s['number'])
    by_number = {s['number']: s for s in spans}
    t.check('functions that are left by a jump are cut, those that return are not',
            [(s['name'], s['span_status']) for s in spans if s['name'] != 'request'] ==
            10 * [('outer', 'unset'), *4 * [('deep', 'cut')]] + 10 * 3 * [('deep', 'cut')], p.stderr,
            *[(s['name'], s['span_status']) for s in spans][:60])
    t.none('and have none of those before as parents', [str(s) for s in spans if s['name'] == 'deep' and s['parent'] and
           by_number[s['parent']]['start'] + by_number[s['parent']]['dur'] < s['start']][:3])
    last = [json.loads(s['attributes'] or '{}') for s in spans if s['name'] == 'request']
    t.check('a null string is left out, and one that cannot be read', last == [{'small': 1, 'big': 1}, {'small': 2, 'big': 2}], last)
    t.check('an end without a begin and what could not be read are counted, with marks', lost(trace) == {'span_unread': 2} and
            any("an end of 'request' has no begin" in m for m in marks(trace)) and any("key of 'request' could not be read" in m for m in marks(trace)),
            lost(trace), *marks(trace))


@case
def deep(t, folder):
    """More than can be open at once, and more than the kernel follows to their returns (64)."""
    code = f'import ctypes; ctypes.CDLL("{PROBES}.so").fall(1100)'
    trace, p = record(folder, [f'fall : uprobe:{PROBES}.so:fall(n:int)'], sys.executable, '-c', code)
    spans = {r['span_status']: r['count'] for r in rows(trace, 'from span | by span_status | count()')}
    t.check('of a deep recursion those whose return the kernel shows are whole, the others cut or counted',
            spans.get('unset', 0) >= 60 and sum(spans.values()) == 1024 and lost(trace).get('span_full') == 1101 - 1024, spans, lost(trace), p.stderr)


@case
def ends(t, folder):
    trace, _ = record(folder, [f'hit : usdt:{PROBES}:request__start : hit'], PROBES, 'jumps', '1')
    got = [(s['span_status'], s['dur'] is None) for s in rows(trace, 'from span')]
    t.check('what is open as the process ends is cut', got == 2 * [('cut', False)], got)
    code = f'import ctypes, time; f = ctypes.CDLL("{PROBES}.so").hold; f(3)'
    trace, p = record(folder, [f'hold : uprobe:{PROBES}.so:hold'], sys.executable, '-c', code, options=['--duration', '1s'])
    got = [(s['name'], s['span_status'], s['dur']) for s in rows(trace, 'from span')]
    t.check('what is open as recording ends is running', got == [('hold', 'running', None)], got, p.stderr)


@case
def wrong(t, folder):
    script = os.path.join(folder, 'script')
    with open(script, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\n')
    for span, status, want in (
            ('x', 2, "write 'NAME : BEGIN : END'"),
            ('x : usdt:/nope:a : b', 1, 'cannot open /nope: No such file'),
            (f'x : usdt:{script}:a : b', 1, 'not a program or library (ELF)'),
            (f'x : usdt:{folder}/:a : b', 1, 'is not a program or library'),
            (f'x : usdt:{PROBES}:requst__start : b', 1, 'did you mean request__start?): it has probes:'),
            (f'x : usdt:{PROBES}:other:request__start : b', 1, 'no probe other:request__start'),
            (f'x : usdt:{PROBES}:request__start : request_done', 1, 'did you mean request__done?'),
            (f'x : usdt:{PROBES}:request__start(a, b, c, d) : request__done', 1, 'has 3 arguments, not 4'),
            (f'x : usdt:{PROBES}:request__start', 2, 'needs no END'),
            (f'x : uprobe:{PROBES}:wrok', 1, 'has no function wrok: did you mean work?'),
            (f'x : uprobe:{PROBES}:work+x', 2, "'+x' is not an offset"),
            (f'x : uprobe:{PROBES}:work+0x999999', 1, 'cannot use work of'),
            (f'x : uprobe:{PROBES}:work(a:strng)', 2, "'strng' is not number, int or string"),
            (f'x : uprobe:{PROBES}:work(a', 2, "do not end with ')'"),
            (f'x : uprobe:{PROBES}:work(a,b,c,d,e,f,g)', 2, 'beyond the first 6'),
            (f'x : uprobe:{PROBES}:work : return(a,b)', 2, 'one value'),
            ('x : uprobe:libc.so.6:open', 2, 'not the path of a file'),
            (f'x : {PROBES}:work', 2, 'is not a probe: write usdt:FILE'),
            (f'x : uprobe:{PROBES}:work : return : more', 2, 'unexpected text after')):
        trace, p = record(folder, [span], 'true')
        line = p.stderr.splitlines()[0] if p.stderr else ''
        t.check(f'{want}: one line', p.returncode == status and want in line and len(p.stderr.splitlines()) <= 2 and not os.path.exists(trace),
                p.returncode, p.stderr)


SQLITE = r'''
import ctypes
c = ctypes.CDLL('libsqlite3.so.0')
db, st = ctypes.c_void_p(), ctypes.c_void_p()
c.sqlite3_open(b':memory:', ctypes.byref(db))
for sql in (b'create table t(a)', b'insert into t values (1), (2), (3)', b'select a from t', b"select 'x' || a from t where a > 1"):
    print('sql', sql.decode())
    c.sqlite3_prepare_v2(db, sql, -1, ctypes.byref(st), None)
    r = 100
    while r == 100:
        r = c.sqlite3_step(st)
        print('step', r)
    c.sqlite3_finalize(st)
'''


@case
def sqlite(t, folder):
    lib = next((p for p in ('/usr/lib/x86_64-linux-gnu/libsqlite3.so.0', '/lib/x86_64-linux-gnu/libsqlite3.so.0') if os.path.exists(p)), None)
    if not lib:
        t.skip('SQLite', 'no libsqlite3')
        return
    trace, p = record(folder, [f'prepare : uprobe:{lib}:sqlite3_prepare_v2(-, sql:string, bytes:int)',
                               f'step : uprobe:{lib}:sqlite3_step : return(rc:int)'], sys.executable, '-c', SQLITE)
    want = [x.split(' ', 1) for x in p.stdout.splitlines()]
    spans = sorted(rows(trace, 'from span | where parent is null'), key=lambda s: s['start'])  # SQLite prepares statements of its own, too
    got = [('sql', a['sql']) if s['name'] == 'prepare' else ('step', str(a['rc'])) for s in spans for a in [json.loads(s['attributes'])]]
    t.check(f'{len(want)} calls of SQLite, with statements and results', got == [tuple(w) for w in want] and len(want) > 10 and not lost(trace),
            p.stderr, got, want, lost(trace))


@case
def postgres(t, folder):
    server = os.path.join(POSTGRES, 'postgres')
    if not os.path.exists(server) or not shutil.which('setpriv'):
        t.skip('PostgreSQL', 'needs postgresql')
        return
    os.chmod(folder, 0o777)
    db = os.path.join(folder, 'db')
    subprocess.run([*NOBODY, f'{POSTGRES}/initdb', '-D', db, '-N', '--no-instructions', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--wal-segsize=1'],
                   cwd=folder, capture_output=True, timeout=60, check=True)
    statements = ['create table t (a int)', *(f'insert into t values ({i})' for i in range(30)), 'select sum(a) from t', 'select 1/0', 'select 2']
    trace, p = record(folder, [f'query : usdt:{server}:query__start(sql:string) : query__done(sql:string)',
                               f'transaction : usdt:{server}:transaction__start : transaction__commit'],
                      *NOBODY, server, '--single', '-D', db, 'postgres', given=''.join(s + '\n' for s in statements))
    queries = sorted((s for s in rows(trace, 'from span') if s['name'] == 'query'), key=lambda s: s['start'])
    got = [json.loads(s['attributes'])['sql'].strip() for s in queries]
    cut = [json.loads(s['attributes'])['sql'].strip() for s in queries if s['span_status'] != 'unset' or s['parent']]
    t.check(f'{len(statements)} statements of PostgreSQL; the one that fails is cut as the next one begins', got == statements and cut == ['select 1/0'],
            p.stderr[-500:], got, cut)


CRYPTO = '/usr/lib/x86_64-linux-gnu/libcrypto.so.3'


@case
def stacks(t, folder):
    """Return probes kill programs that switch stacks: Go is refused, what may do so has a warning"""
    go, info = os.path.join(folder, 'go'), os.path.join(folder, 'info')
    with open(info, 'w', encoding='ascii') as f:
        f.write('go')
    if shutil.which('objcopy'):
        subprocess.run(['objcopy', '--add-section', f'.go.buildinfo={info}', PROBES, go], check=True)
        for end in ('', ' : return(x)'):
            _, p = record(folder, [f'w : uprobe:{go}:work{end}'], 'true')
            t.check(f'a return in a Go program is refused{end}', p.returncode == 1 and 'is a Go program' in p.stderr and
                    len(p.stderr.splitlines()) == 1, p.returncode, p.stderr)
        _, p = record(folder, [f'w : uprobe:{go}:work : outer'], 'true', options=['-q'])
        t.check('other ends are not', p.returncode == 0 and not p.stderr, p.stderr)
    if os.path.exists(CRYPTO):
        _, p = record(folder, [f'x : uprobe:{CRYPTO}:EVP_sha256'], 'true', options=['-q'])
        t.check('a library that can switch stacks has a warning', p.returncode == 0 and 'can switch stacks' in p.stderr, p.stderr)
        _, p = record(folder, [f'x : uprobe:{CRYPTO}:EVP_sha256 : EVP_sha512'], 'true', options=['-q'])
        t.check('which other ends need not', not p.stderr, p.stderr)


def main():
    t = Tap()
    if os.geteuid():
        t.skip('probes', 'needs root')
        return t.end()
    for f in CASES:
        if len(sys.argv) == 3 or f.__name__ in sys.argv[3:]:
            with tempfile.TemporaryDirectory() as folder:
                f(t, folder)
    return t.end()


sys.exit(main())
