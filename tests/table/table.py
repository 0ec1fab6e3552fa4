#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py SOURCE WEIR: weir with two tables more (probe_tables.h beside this file) and no other line changed: the synthetic source
fills one, and it is stored, filtered, grouped, joined with names, exported and drawn by time like any other. The other is made
after recording (tally.c): appended, replaced, killed on the way, queried, served and checked. Builds weir for itself in a folder
that it removes. TAP on standard output."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'server'))
from client import Serve  # noqa: E402

sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap  # noqa: E402

SOURCE, OTHER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROWS, EVERY = 40000, 16
tap = Tap()


def check(good, name, *why):
    tap.check(name, good, *(str(w)[-1000:] for w in why))


def made_later(run, rows, trace, tally, weir, env):
    """The table that is made after recording."""
    def content():
        with open(trace, 'rb') as f:
            return f.read()

    def make(version, *killed):
        return subprocess.run([tally, trace, str(version), *map(str, killed)], capture_output=True, text=True)

    def sums():
        return rows('from tally | count() as n, sum(took) as t, min(made_by) as least, max(made_by) as most')[0]
    calls = rows('count() as n, sum(dur) as t')[0]
    check(sums()['n'] == 0, 'a table that nobody made has no rows')
    recorded = content()
    r = make(1)
    check(r.returncode == 0 and content()[:len(recorded)] == recorded, 'a computation appends a table to a closed trace', r.stderr)
    first = {'n': 4 * calls['n'], 't': 4 * calls['t'], 'least': 1, 'most': 1}
    check(sums() == first, 'whole', sums(), first)
    listed = run('annotate', '--list', trace)
    check('tally: 160000 rows, 9 columns, made by test.tally 1, of a part' in listed, 'and says who made it', listed)
    named = rows('from tally | where part == 3 | by op, comm | count() as n | sort op, comm')
    check(named == rows('by op, comm | count() as n | sort op, comm'), 'threads and operations have their names', named[:3])
    files = rows('from tally | where part == 0 && file_id is not null | by path | count() as n | sort n desc, path | head 5')
    check(all(f['n'] > 0 for f in files) and len(files) == 5, 'and files', files)
    half = rows('from tally | count() as n', '--to', '+0.02s')[0]['n']
    check(half == 4 * rows('count() as n', '--to', '+0.02s')[0]['n'] and half, 'cut to a range of time', half)

    def json_of(sql):
        return json.loads(run('sql', '--json', sql, trace))['rows']
    joined = json_of('select count(*) n, sum(t.took - o.dur)::bigint d from tally t '
                     'join weir_op(row_id := true) o on o.row_id = t.call_id')[0]
    check(joined == {'n': first['n'], 'd': 0}, 'SQL joins its rows with the calls', joined)

    # killed between blocks: the former one holds, and what lies behind it is no obstacle
    whole = content()
    r = make(2, 140000)
    check(r.returncode == -9 and len(content()) > len(whole), 'killed between two blocks', r.returncode)
    check(sums() == first, 'the one before is in force', sums())
    checked = subprocess.run([weir, 'check', trace], capture_output=True, text=True, env=env)
    check(checked.returncode == 1 and 'the table tally, which begins here, is incomplete' in checked.stdout, 'weir check says so',
          checked.stdout)
    r = make(3)
    check(r.returncode == 0 and sums() == {**first, 'least': 3, 'most': 3}, 'a newer one replaces it', r.stderr, sums())
    check('made by test.tally 3\n' in run('annotate', '--list', trace), 'whole, and of all that was recorded')
    check('intact' in run('check', trace), 'weir check finds nothing wrong')
    check(rows('count() as n, sum(dur) as t')[0] == calls and content()[:len(whole)] == whole, 'nothing of the trace is touched')
    two = json_of("select count(*) n, count(distinct made_by) v from tally")[0]
    check(two == {'n': first['n'], 'v': 1}, 'SQL has the newest alone', two)

    # beside a table of the user's own, served
    run('annotate', '-n', 'team', trace, 'select id as thread_id, comm as crew from thread')
    crew = rows('from tally | by crew | count() as n | sort crew')
    check(crew == [{'crew': r['comm'], 'n': r['n']} for r in rows('from tally | by comm | count() as n | sort comm')],
          "its rows have the columns of a user's table", crew[:3])
    with Serve(weir, trace, environment=env) as server:
        def asked():
            return server.get('query', q='from tally | count() as n, max(made_by) as most')['rows'][0]
        check(asked() == {'n': first['n'], 'most': 3}, 'weir serve shows it', asked())
        before = server.get('trace')['generation']
        make(4)
        until = time.monotonic() + 60
        while server.get('trace')['generation'] == before and time.monotonic() < until:
            time.sleep(0.05)
        check(asked() == {'n': first['n'], 'most': 4}, 'and one that replaces it meanwhile', asked())
    listed = run('annotate', '--list', trace)
    check('made by test.tally\\33[2J 4\n' in listed, 'who made it is no control sequence on a terminal', listed)

    # a damaged block of it costs its rows, and no call
    damaged = bytearray(content())
    at = len(whole) + (len(damaged) - len(whole)) // 2
    damaged[at] ^= 0x55
    broken = trace + '.broken'
    with open(broken, 'wb') as f:
        f.write(damaged)
    r = subprocess.run([weir, 'query', '-i', broken, '--json', 'count() as n'], capture_output=True, text=True, env=env)
    check(json.loads(r.stdout)['rows'][0]['n'] == calls['n'], 'a damaged table costs no call', r.stderr)


def main():
    folder = tempfile.mkdtemp(prefix='weir-table-')
    try:
        run_all(folder)
    finally:
        shutil.rmtree(folder)
    return tap.end()


def compilers(folder):
    """A file for Meson whose clang and bpftool take the kernel programs from the build at hand: nothing that they include declares a
    table."""
    objects = os.path.realpath(os.path.join(os.path.dirname(OTHER), '..', 'bpf'))
    scripts = {'clang': f'for out; do :; done\nexec cp "{objects}/${{out##*/}}" "$out"',  # the last argument is the output
               'bpftool': f'case $2 in object) exec cp "{objects}/${{3##*/}}" "$3" ;; skeleton) exec cat "{objects}/${{5%_bpf}}.skel.h" ;; esac'}
    for name, script in scripts.items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(f'#!/bin/sh\n{script}\n')
        os.chmod(f.name, 0o755)
    native = os.path.join(folder, 'native')
    with open(native, 'w', encoding='utf-8') as f:
        f.write(f"[binaries]\nclang-16 = '{folder}/clang'\nbpftool = '{folder}/bpftool'\nc = '{os.path.join(HERE, 'together')}'\n")
    return native


def run_all(folder):
    build, trace = os.path.join(folder, 'build'), os.path.join(folder, 't.trace')
    header = os.path.join(SOURCE, 'tests/table/probe_tables.h')
    # What is tested is that it compiles and works, not how fast. Headers are read once for several files, which halves the time;
    # warnings are those of the build at hand.
    made = subprocess.run(['meson', 'setup', '-Doptimization=0', '-Ddebug=false', '-Dwerror=false', '-Dwarning_level=0', '-Dunity=on',
                           '-Dunity_size=16', '--native-file', compilers(folder), f'-Dc_args=-DSCHEMA_EXTRA=\'"{header}"\'', build, SOURCE], capture_output=True, text=True)
    if made.returncode == 0:
        made = subprocess.run(['ninja', '-C', build, 'src/cli/weir', 'tests/table/tally'], capture_output=True, text=True)
    check(made.returncode == 0, 'weir builds with a table more', made.stdout, made.stderr)
    if made.returncode:
        return
    weir = os.path.join(build, 'src/cli/weir')
    library = os.path.join(SOURCE, 'out/lib/libduckdb.so')
    env = {**os.environ, **({'WEIR_DUCKDB': library} if os.path.exists(library) else {})}

    def run(*args, fails=False):
        r = subprocess.run([weir, *args], capture_output=True, text=True, env=env)
        if (r.returncode != 0) != fails:
            check(False, ' '.join(args), r.stderr)
        return r.stderr if fails else r.stdout

    def rows(text, *more):
        return json.loads(run('query', '-i', trace, '--json', text, *more))['rows']

    run('synth', '-q', '-o', trace, '--rows', str(ROWS), '--seed', '5')
    known = rows(f'where row_id % {EVERY} == 0 | count()')
    every = rows('from probe | count() as n, sum(amount) as a, max(took) as t, distinct(file) as f')[0]
    check(known and every['n'] >= ROWS // EVERY, 'recorded by the synthetic source and stored', every)

    # the same sums by plain loops over the rows
    all_rows = list(csv.DictReader(io.StringIO(run('query', '-i', trace, '--csv', 'from probe'))))
    check(len(all_rows) == every['n'], 'every row is exported', len(all_rows), every)
    check(sum(int(r['amount'] or 0) for r in all_rows) == every['a'], 'sums are those of the rows', every)
    check({r['word'] for r in all_rows} == {'probe'}, 'texts come back')

    def nanoseconds(row):  # as the documents have them
        return row['began'] + row['took']
    stream = rows('from probe | select began, took, stop')
    ends = [nanoseconds(r) for r in stream if r['began'] is not None]
    check(ends == sorted(ends), 'rows come in the order of their ends')
    check(all(r['stop'] == nanoseconds(r) for r in stream if r['began'] is not None), 'stop is began + took')

    named = rows('from probe | by comm, path | count() as n')
    check(sum(r['n'] for r in named) == every['n'] and any(r['comm'] for r in named) and any(r['path'] for r in named),
          'threads and files have their names', named[:3])
    windows = rows('from probe | by every 10ms | count() as n')
    check(len(windows) > 3 and sum(r['n'] for r in windows) == every['n'], 'counted by windows of time', windows[:3])
    check(rows('from probe | where took > 100us | count() as n')[0]['n'] ==
          sum(1 for r in stream if r['took'] is not None and r['took'] > 100000), 'filtered')
    half = rows('from probe | count() as n', '--to', '+0.02s')[0]['n']
    check(0 < half < every['n'], 'cut to a range of time', half)

    if not os.path.exists(library):
        check(True, 'SQL, Parquet # SKIP the library of DuckDB is not here')
        return
    made_later(run, rows, trace, os.path.join(build, 'tests/table/tally'), weir, env)
    sql = json.loads(run('sql', '--json', 'select count(*) n, sum(amount)::bigint a from probe', trace))['rows'][0]
    check(sql == {'n': every['n'], 'a': every['a']}, 'the same in SQL', sql)
    parquet = os.path.join(folder, 'p.parquet')
    run('query', '-i', trace, 'from probe', '--parquet', parquet)
    sql = json.loads(run('sql', '--json', f"select count(*) n from '{parquet}'", trace))['rows'][0]
    check(sql['n'] == every['n'], 'exported to Parquet', sql)
    check('probe' in run('query', '-i', trace, 'from prob | count()', fails=True), 'a misspelt name is told the right one')
    # a weir that does not know the table reads everything else of the trace
    def other(text):
        r = subprocess.run([OTHER, 'query', '-i', trace, '--json', text], capture_output=True, text=True, env=env)
        return json.loads(r.stdout)['rows'][0]['n'] if r.returncode == 0 else r.stderr
    check(other('count() as n') == ROWS, 'a weir without it reads the rest', other('count() as n'))
    check(other('from tally | where made_by == 4 && part > 0 | count() as n') == 3 * ROWS,
          'and what was made as a table of the user', other('from tally | count() as n'))


sys.exit(main())
