#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screens.py WEIR: a process has one name on every screen. Records programs that are started by another name than their
file's, and compares report, query, SQL, stat, top and the pages' answers. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'server'), os.path.join(HERE, '..', 'query_cli')]
from client import Serve, Tap  # noqa: E402
from terminal import Terminal  # noqa: E402

SLOW_S = 60
# names that people know these by: sh is dash here, python3 is python3.11, the link is cat, the script's name is cut by the kernel
SCRIPT = '''#!/bin/sh -e
"$PYTHON" -c 'open("/etc/hosts").read()' one
"$PYTHON" -c 'open("/etc/hosts").read()' two
./a-name-that-is-a-link /etc/hosts
sh -c 'cat /etc/hosts; true'
'''
CALLED = ['a-script-of-a-long-name', 'a-name-that-is-a-link', 'python3', 'sh']


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE).stdout


def rows(document):
    d = json.loads(document)
    names = [c['name'] if isinstance(c, dict) else c for c in d['columns']]
    return [r if isinstance(r, dict) else dict(zip(names, r)) for r in d['rows']]


def main():
    weir = os.path.realpath(sys.argv[1])
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    tap = Tap()
    check = tap.check
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.symlink('/bin/cat', 'a-name-that-is-a-link')
        os.symlink(sys.executable, 'python3')
        os.environ['PYTHON'] = os.path.join(folder, 'python3')
        with open('a-script-of-a-long-name', 'w', encoding='utf-8') as f:
            f.write(SCRIPT)
        os.chmod('a-script-of-a-long-name', 0o755)
        command = ['./a-script-of-a-long-name']
        run(weir, 'record', '-q', '-o', 't.trace', '--', *command)

        report = rows(run(weir, 'report', 'processes', '--json', 't.trace'))
        names = sorted(f'{r["process"]} {r["pid"]}' for r in report)
        check('report: what a person calls them', {n.rsplit(' ', 1)[0] for n in names} >= set(CALLED), names)
        check('report: nothing by the name of its file', not any(w in n for n in names for w in ('dash', 'python3.')), names)
        check('report: the path is a column', any(r['exe'] == os.path.realpath('/bin/sh') for r in report), report)
        apart = sorted(r['argument'] for r in report if r['process'] == 'python3')
        check('report: what tells processes of one name apart', apart == ['one', 'two'], apart)
        query = sorted(r['process'] for r in rows(run(weir, 'query', '--json', 'by process | count()', 't.trace')))
        check('query: the same names', query == names, query, names)
        one = next(n for n in names if n.startswith('python3 '))
        found = rows(run(weir, 'query', '--json', f'process == "{one}" | count()', 't.trace'))
        check('query: and they are found by them', found[0]['count'] > 0, found)
        stat = [r['process'] for r in rows(subprocess.run([weir, 'stat', '--by', 'process', '--json', '--', *command], check=True,
                                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr)]
        check('stat: the same names', sorted(n.rsplit(' ', 1)[0] for n in stat) == sorted(n.rsplit(' ', 1)[0] for n in names),
              stat, names)
        t = Terminal([weir, 'top', '-i', 't.trace', '--by', 'process'], folder, os.environ, columns=200)
        missing = []
        for n in names:
            t.seen = 0
            missing += [] if t.expect(n, SLOW_S) else [n]
        check('top: the same names', not missing, missing, t.output[-2000:])
        t.send('q')
        t.wait()
        with Serve(weir, 't.trace') as s:
            o = s.get('overview')['processes']['rows']
            told = sorted(f'{r["name"]} {r["pid"]}' for r in o)
            check('overview: the same names', told == names, told, names)
            lanes = s.get('lanes')['lanes']
            told = sorted({f'{x["process"]} {x["pid"]}' for x in lanes})
            check('timeline: the same names', told == names, told, names)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
