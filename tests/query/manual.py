#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manual.py ROOT SHOW [WEIR]: the guide of the language (docs/howto/query.md) says what is.

Every column, name, function and aggregate is named in it, every example becomes a plan, the manual page made from it
pleases groff; with WEIR, every example is run over a synthetic trace and gives an answer.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

root, show = (os.path.abspath(p) for p in sys.argv[1:3])
weir = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
guide_path = os.path.join(root, 'docs', 'howto', 'query.md')
with open(guide_path, encoding='utf-8') as f:
    guide = f.read()
tap = Tap()
ok = tap.none


def source(name):
    with open(os.path.join(root, 'src', name), encoding='utf-8') as f:
        return f.read()


def entries(text, macro, letter):
    """The lower-case names of the list that #define MACRO(letter) begins."""
    body = re.search(r'#define ' + macro + r'\(' + letter + r'\)(.*?)\n\n', text, re.S)[1]
    return re.findall(r'\b' + letter + r'\(\w+,\s*(\w+),', body)


def blocks(kind):
    return re.findall(r'^```' + kind + r'\n(.*?)^```', guide, re.S | re.M)


def queries():
    """Each line of a block of queries, and what stands under `here` in the table of habits."""
    for block in blocks('query'):
        yield from block.splitlines()
    table = guide[guide.index('| tool | there | here |'):]
    for line in table.split('\n\n')[0].splitlines()[2:]:
        yield re.split(r'(?<!\\)\|', line)[3].strip().strip('`').replace('\\|', '|')


def plans():
    lines = list(queries())
    out = subprocess.run([show, *lines], capture_output=True, text=True, check=True).stdout.split('\n\n')
    return [f'{q}: {p.splitlines()[0]}' for q, p in zip(lines, out) if not p.startswith('scan ')] + \
        ([] if len(lines) > 40 else ['hardly any example was found'])


def unnamed():
    known = set(re.findall(r'\w+', ' '.join(re.findall(r'`([^`\n]+)`', guide))))
    wanted = entries(source('query/expr.h'), 'QUERY_NAMES', 'N') + entries(source('query/expr.h'), 'QUERY_FUNCTIONS', 'F') + \
        entries(source('query/plan/plan.h'), 'QUERY_AGGREGATES', 'A')
    columns = re.search(r'#define SCHEMA_OP\(C\)(.*?)\n\n', source('schema/tables.h'), re.S)[1]
    wanted += [c for c in re.findall(r'C\(OP, op, \w+, (\w+),', columns) if not re.fullmatch(r'a[1-4]|\w+_id', c)]
    return [f'{name} is not in the guide' for name in wanted if name not in known]


def groff():
    page = subprocess.run([sys.executable, os.path.join(root, 'man', 'language.py'), '0', guide_path], capture_output=True,
                          text=True, check=True).stdout
    if not shutil.which('groff'):
        return []
    r = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', '-rLL=140n'], input=page, capture_output=True, text=True)
    return [line for line in r.stderr.splitlines() if "can't break line" not in line]


def run(folder, argv, shell=None):
    r = subprocess.run(shell or argv, shell=bool(shell), cwd=folder, capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, TZ='UTC', PATH=os.path.dirname(weir) + ':' + os.environ['PATH']))
    said = shell or argv[-1]
    if r.returncode:
        return [f'{said}: status {r.returncode}: {r.stderr.strip()[:300]}']
    return [] if r.stdout.strip() else [f'{said}: no answer']


def examples():
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'synth', '-o', 'weir.trace', '--rows', '20000', '--seed', '7'], cwd=folder, check=True,
                       capture_output=True)
        for command in ''.join(blocks('sh')).splitlines():
            bad += run(folder, None, command)
        for query in queries():
            bad += run(folder, [weir, 'query', '-i', 'weir.trace', query])
    return bad


ok('every column, name, function and aggregate is in the guide', unnamed())
ok('every example becomes a plan', plans())
ok('groff has no complaint about the manual page', groff())
if weir:
    if not os.environ.get('WEIR_DUCKDB', os.path.exists(os.path.join(root, 'out/lib/libduckdb.so'))):
        tap.skip('every example gives an answer', "DuckDB's library is not there")
    else:
        ok('every example gives an answer', examples())
sys.exit(tap.end())
