#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""own.py WEIR: tables of a user's own (weir annotate) in ClickHouse: `from`, join and columns of calls answer as the files do, of one trace
and of two; loaded twice, replaced, with other columns, dropped; what the database cannot have is refused with one line."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../common'))
import click  # noqa: E402
from tap import Tap  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../server'))
from client import Serve  # noqa: E402

WEIR = os.path.abspath(sys.argv[1])
QUESTIONS = [
    'from owner',
    'from owner | where is_log | select file_id, weight | sort weight desc, file_id | head 9',
    'from owner | by sort | count(), sum(weight), max(since), p50(file_id)',
    'from phase | by phase | count(), sum(took)',
    'from alone',
    'from names',
    'by owner.sort | count(), sum(bytes), p99(dur)',
    'is_log && weight > 2 | by op | count()',
    'owner.sort is null | count()',
    'by phase | count(), sum(took), max(took)',
    'by crew | count()',
    'by letter | count()',
    'by tenfold | count(), avg(dur)',
    'from file | where is_log | select id, weight',
    'from thread | by crew | count()',
    'phase == "slow" && is_log | select row_id, dur',
    'phase == "slow" | sort dur desc | head 7 | select dur, phase.took',
    'by OWNER.kind | count()',
    'by file_id | count() as n, sum(bytes) | join owner | where weight is not null | sort n desc, file_id | head 12',
    'by op | count() | join kinds',
    'distinct(file_id), max(thread_id), count(file_id)',
    'by file_id, thread_id | count(), max(dur) | sort count desc, file_id, thread_id | head 20',
    'by file | count() as n | join owner | sort n desc, file | head 5',
    'select row_id, dur | head 30 | join phase',
    'from phase | head 20',
    'where path ~ "/tmp/rocksdb/*.sst" && dur > 1us | by op | count(), sum(bytes), p99(dur)',
    'where path ~ "**/*.log" && !(path ~ "**/0000*") | by path | count() as n | sort n desc, path | head 9',
    'where path == "/tmp/rocksdb/000025.sst" | count(), max(dur)',
    'where path ~ "*.sst" | by file | count() as n | sort n desc, file | head 9',
    'where path ~ "*.sst" || path ~ "*.log" | by comm | count()',
    'where cost > 1 | by big | count(), min(cost), max(cost)',
    'by file | count() as n | where file ~ "*.sst" | sort n desc, file | head 9',
    'by file | count() as n | sort file | head 9',
    'by file, op | max(dur) | by file | count() as n | sort n desc, file | head 9',
    'sum(pos * 100000000), sum(pos * 1000), avg(pos * 1000)',
]
PAGES = ['by owner.sort | count(), sum(bytes), p99(dur)', 'by phase | count(), sum(took), max(took)', 'is_log && weight > 2 | by op | count()',
         'from alone', 'by crew | count()']


REPORTS = ['owner.sort == "table"', 'is_log && weight > 2', 'phase == "slow"', 'phase.took > 1000000 && tenfold > 0', 'crew == "ROCKSDB:LOW5"', 'big > 0 && cost > 3',
           'owner.sort is null']


def run(folder, *args):
    r = subprocess.run([WEIR, *args], cwd=folder, capture_output=True, timeout=300, check=False)
    return r.returncode, r.stdout.decode('utf-8', 'surrogateescape'), r.stderr.decode('utf-8', 'surrogateescape')


def annotate(folder, trace, name, statement):
    code, _, said = run(folder, 'annotate', '-n', name, trace, statement)
    if code:
        raise RuntimeError(f'annotate {name}: {said}')


def make(folder, trace, seed, profile):
    run(folder, 'synth', '-q', '-o', trace, '--rows', '15000', '--seed', str(seed), '--profile', profile)
    annotate(folder, trace, 'owner', "SELECT id AS file_id, CASE WHEN path GLOB '*.sst' THEN 'table' WHEN path IS NULL THEN NULL ELSE 'other' END "
             "AS sort, path GLOB '*.log' AS is_log, id / 4.0 AS weight, 'x' AS kind, since FROM file WHERE id % 3 <> 1")
    annotate(folder, trace, 'phase', "SELECT row_id, CASE WHEN dur > 100000 THEN 'slow' ELSE 'fast' END AS phase, dur AS took "
             "FROM weir_op(row_id := true) WHERE cpu <> 1")
    annotate(folder, trace, 'kinds', "SELECT DISTINCT op::VARCHAR AS op, substr(op::VARCHAR, 1, 1) AS letter FROM op ORDER BY 1")
    annotate(folder, trace, 'team', f"SELECT DISTINCT comm, upper(comm) || '{seed}' AS crew FROM thread ORDER BY 1")
    annotate(folder, trace, 'proc', 'SELECT id AS process_id, id * 10 AS tenfold FROM process')
    annotate(folder, trace, 'alone', "SELECT 1 AS a, 'b' AS b, NULL::DOUBLE AS c UNION ALL SELECT 2, NULL, 0.5 UNION ALL SELECT 3, '', -1e300")
    annotate(folder, trace, 'Names', "SELECT 'a`b\\c' AS \"Odd `name\", 'Text\t''q''' AS \"sum(x)\", '\\xff'::BLOB AS \"Blob\"")
    annotate(folder, trace, 'price', 'SELECT id AS file_id, (id + 18446744073709551000::UBIGINT)::UBIGINT AS big, id::DOUBLE / 3 AS cost FROM file WHERE id < 600')


def both(folder, files, address, commands):
    """What each command says of the files and of the address."""
    sides = [[*c[:1], *where, *c[1:]] for c in commands for where in ([a for f in files for a in ('-i', f)], ['-i', address])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda c: run(folder, *c), sides))
    return list(zip(commands, said[::2], said[1::2]))


def same(tap, folder, what, files, address, questions, skip=()):
    bad = []
    commands = [['query', '--csv', q] for q in questions if not any(word in q for word in skip)]
    for command, want, got in both(folder, files, address, commands):
        if want[:2] != got[:2] or want[0]:
            bad += [command[-1], *(s[1][:300] + s[2][:300] for s in (want, got))]
    tap.none(what, bad)


def reports(tap, folder, what, files, address, wheres):
    """Reports and pages read what is fetched into a trace, with the tables."""
    bad = []
    for command, want, got in both(folder, files, address, [['report', 'ops', '--json', '--where', w] for w in wheres]):
        if want[0] or got[0] or json.loads(want[1])['rows'] != json.loads(got[1])['rows'] or not json.loads(want[1])['rows']:
            bad += [command[-1], *(s[1][:300] + s[2][:300] for s in (want, got))]
    tap.none(what, bad)


def pages(tap, folder, files, address, left_out):
    """The server of pages reads a copy with the users' tables, and names those that the copy does not have."""
    bad = []
    with Serve(WEIR, '-i', address, folder=folder) as s:
        for question in PAGES:
            status, _, body = s.ask('query', q=question)
            want = json.loads(run(folder, 'query', '--json', *[a for f in files for a in ('-i', f)], question)[1])
            if status != 200 or json.loads(body)['rows'] != want['rows'] or not want['rows']:
                bad += [question, body[:300], str(want['rows'])[:300]]
    tap.none(f'pages of {len(files)} traces, with their tables', bad)
    lines = [line for line in s.said.splitlines() if 'tables without' in line]
    tap.check(f'tables left out: {left_out or "none"}', len(lines) == (left_out != '') and left_out in ''.join(lines), s.said)


def checks(tap, folder, server):
    address = server.address()

    def ask(sql):
        with urllib.request.urlopen(f'http://127.0.0.1:{server.port}/?database=weir', sql.encode()) as answer:
            return answer.read().decode()

    make(folder, 'a.weir', 5, 'mixed')
    make(folder, 'b.weir', 6, 'hostile')
    shutil.copy(os.path.join(folder, 'a.weir'), os.path.join(folder, 'old.weir'))
    code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    tap.check('loaded, and nothing is left out', code == 0 and 'left out' not in said, said)
    counts = ask('SELECT count() FROM phase'), ask('SELECT count() FROM own')
    code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    tap.check('loaded again: nothing changes', code == 0 and 'loaded 0 calls and 0 other rows' in said and
              counts == (ask('SELECT count() FROM phase'), ask('SELECT count() FROM own')), said, counts)
    same(tap, folder, 'one trace: the file and ClickHouse say the same', ['a.weir'], address, QUESTIONS)
    pages(tap, folder, ['a.weir'], address, '')
    code, _, said = run(folder, 'load', '--to', address, 'b.weir')
    # keys that are no ids occur in both traces
    same(tap, folder, 'two traces', ['a.weir', 'b.weir'], address, QUESTIONS, skip=('letter', 'kinds'))
    reports(tap, folder, 'reports of two traces, selected by columns of the tables', ['a.weir', 'b.weir'], address, REPORTS)
    # More than is kept in memory, so that a copy is without it. Every question reads it, a second each: it is gone again soon.
    annotate(folder, 'b.weir', 'large', "SELECT range AS file_id, repeat('x', 4000) AS much FROM range(60000)")
    code, _, said = run(folder, 'load', '--to', address, 'b.weir')
    same(tap, folder, 'two traces with a large table', ['a.weir', 'b.weir'], address, QUESTIONS[:1])
    reports(tap, folder, 'reports of two traces with a large table', ['a.weir', 'b.weir'], address, REPORTS[:1])
    pages(tap, folder, ['a.weir', 'b.weir'], address, 'large')
    run(folder, 'annotate', '--drop', 'large', 'b.weir')
    code, _, said = run(folder, 'load', '--to', address, 'b.weir')
    code, _, said = run(folder, 'query', '-i', address, 'by letter | count()')
    want = run(folder, 'query', '-i', 'a.weir', '-i', 'b.weir', 'by letter | count()')
    tap.check('a key that occurs twice', code == want[0] == 2 and said == want[2], said, want)
    tap.check('SQL of the server', int(ask('SELECT count() FROM op WHERE (recording, assumeNotNull(file_id)) IN '
                                           '(SELECT recording, assumeNotNull(file_id) FROM owner WHERE is_log AND weight > 2)')) > 0)

    shutil.copy(os.path.join(folder, 'a.weir'), os.path.join(folder, 'twin.weir'))
    annotate(folder, 'a.weir', 'owner', "SELECT id AS file_id, 'new' AS sort, true AS is_log, 3.5 AS weight, 'y' AS kind, since FROM file WHERE id % 2 = 0")
    for _ in range(2):
        code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    same(tap, folder, 'a table that was replaced', ['a.weir', 'b.weir'], address, [q for q in QUESTIONS if 'owner' in q or 'is_log' in q])
    code, _, said = run(folder, 'load', '--to', address, 'old.weir')
    same(tap, folder, 'an older copy of the file changes nothing', ['a.weir', 'b.weir'], address, QUESTIONS[:3])

    annotate(folder, 'twin.weir', 'owner', "SELECT id AS file_id, 'copy' AS sort, true AS is_log, 3.5 AS weight, 'y' AS kind, since FROM file WHERE id % 2 = 0")
    run(folder, 'load', '--to', address, 'twin.weir')
    same(tap, folder, 'a copy of it with other rows', ['twin.weir', 'b.weir'], address, QUESTIONS[:3])
    run(folder, 'load', '--to', address, 'a.weir')
    same(tap, folder, 'and the first again', ['a.weir', 'b.weir'], address, QUESTIONS[:3])

    annotate(folder, 'a.weir', 'owner', "SELECT id AS file_id, 7 AS sort FROM file")
    code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    tap.check('other columns than in another trace are refused', code == 0 and 'weir: not loaded: the table owner has other columns' in said and
              '1 tables added after recording were left out' in said, said)
    annotate(folder, 'a.weir', 'alone', "SELECT 'x' AS a")
    run(folder, 'annotate', '--drop', 'alone', 'b.weir')
    for trace in ('b.weir', 'a.weir', 'a.weir'):
        run(folder, 'load', '--to', address, trace)
    same(tap, folder, 'dropped from one trace, and with other columns in the other', ['a.weir', 'b.weir'], address, ['from alone'])
    run(folder, 'annotate', '--drop', 'alone', 'a.weir')
    code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    code, _, said = run(folder, 'query', '-i', address, 'from alone')
    tap.check('dropped: the table is not known', code == 2 and 'alone' in said, said)

    annotate(folder, 'a.weir', 'made', 'SELECT 1 AS a')
    annotate(folder, 'a.weir', 'dated', 'SELECT id AS file_id, 1 AS "Day" FROM file')
    ask('CREATE TABLE theirs (a Int64) ENGINE = Memory')
    annotate(folder, 'a.weir', 'theirs', 'SELECT 1 AS a')
    code, _, said = run(folder, 'load', '--to', address, 'a.weir')
    lines = [line for line in said.splitlines() if line.startswith('weir: ')]
    tap.check('what the database cannot have', code == 0 and len(lines) == 4 and all(any(w in line for line in lines) for w in (
        'the table made is called like', 'the table dated has a column Day', 'the table theirs is called like')), said)

    code, out, said = run(folder, 'load', '--to', address, '--schema', 'b.weir')
    tap.check('--schema of a trace', code == 0 and 'CREATE TABLE IF NOT EXISTS `owner`' in out and '`weight` Nullable(Float64)' in out, out[-600:], said)
    ask('CREATE DATABASE other')
    for statement in [s for s in out.split(';\n') if s and 'otel' not in s and 'CREATE DATABASE' not in s]:
        with urllib.request.urlopen(f'http://127.0.0.1:{server.port}/?database=other', statement.replace('CODEC(Delta, ZSTD(1))', '').replace(
                'CODEC(ZSTD(1))', '').encode()) as answer:
            answer.read()
    code, _, said = run(folder, 'load', '--to', server.address('other'), 'b.weir')
    same(tap, folder, 'into tables that were made of it', ['b.weir'], server.address('other'), QUESTIONS[:9], skip=('alone',))
    code, out, said = run(folder, 'load', '--to', address, '--schema', 'a.weir')
    tap.check('--schema of what cannot be', code == 1 and said.count('\n') == 1 and 'is called like' in said and not out, said, out[-200:])


def main():
    if not click.program():
        print('1..0 # SKIP clickhouse-server is not installed')
        return 77
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='weir-own-') as folder:
        with click.Server(folder) as server:
            checks(tap, folder, server)
    return tap.end()


sys.exit(main())
