#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py SOURCE WEIR: weir with one table more (probe_tables.h beside this file) and no other line changed: the synthetic source
fills it, and it is stored, filtered, grouped, joined with names, exported and drawn by time like any other. Builds
weir for itself in a folder that it removes. TAP on standard output."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, OTHER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROWS, EVERY = 40000, 16
done = 0


def check(good, name, *why):
    global done
    done += 1
    print(f'{"ok" if good else "not ok"} {done} - {name}')
    if not good:
        print(*(f'# {line}' for w in why for line in str(w).splitlines()[-8:]), sep='\n')


def main():
    folder = tempfile.mkdtemp(prefix='weir-table-')
    try:
        run_all(folder)
    finally:
        shutil.rmtree(folder)
    print(f'1..{done}')


def run_all(folder):
    build, trace = os.path.join(folder, 'build'), os.path.join(folder, 't.trace')
    header = os.path.join(SOURCE, 'tests/table/probe_tables.h')
    # what is tested is that it compiles and works, not how fast
    made = subprocess.run(['meson', 'setup', '-Doptimization=0', '-Ddebug=false', '-Dwerror=false',
                           f'-Dc_args=-DSCHEMA_EXTRA=\'"{header}"\'', build, SOURCE], capture_output=True, text=True)
    if made.returncode == 0:
        made = subprocess.run(['ninja', '-C', build, 'src/cli/weir'], capture_output=True, text=True)
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
    sql = json.loads(run('sql', '--json', 'select count(*) n, sum(amount)::bigint a from probe', trace))['rows'][0]
    check(sql == {'n': every['n'], 'a': every['a']}, 'the same in SQL', sql)
    parquet = os.path.join(folder, 'p.parquet')
    run('query', '-i', trace, 'from probe', '--parquet', parquet)
    sql = json.loads(run('sql', '--json', f"select count(*) n from '{parquet}'", trace))['rows'][0]
    check(sql['n'] == every['n'], 'exported to Parquet', sql)
    check('probe' in run('query', '-i', trace, 'from prob | count()', fails=True), 'a misspelt name is told the right one')
    # a weir that does not know the table reads everything else of the trace
    r = subprocess.run([OTHER, 'query', '-i', trace, '--json', 'count() as n'], capture_output=True, text=True, env=env)
    check(r.returncode == 0 and json.loads(r.stdout)['rows'][0]['n'] == ROWS, 'a weir without it reads the rest', r.stderr)


main()
