#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screens.py WEIR: a process, a file and a peer have one name on every screen. Records programs that are started by another
name than their file's, and one that uses all kinds of files, and compares report, query, SQL, stat, top and the pages'
answers. Speaks TAP."""
import json
import os
import re
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
FILES = '''
import os, socket
os.makedirs('folder', exist_ok=True)
for name in ('folder', 'folder/', 'folder/.'):
    for i in range(9):
        os.stat(name)
os.close(os.open('folder', os.O_DIRECTORY))
for i in range(3):
    with open('wal', 'w') as f:
        f.write('x' * 9999)
    os.unlink('wal')
for name in ('gone', 'gone/'):
    try:
        os.stat(name)
    except FileNotFoundError:
        pass
server = socket.create_server(('127.0.0.1', 0))
for i in range(3):
    client = socket.create_connection(server.getsockname())
    at, _ = server.accept()
    client.sendall(b'x' * 999)
    at.recv(999)
for i in range(2):
    e = os.eventfd(0)
    os.eventfd_write(e, 1)
    os.eventfd_read(e)
a, b = os.pipe()
os.write(b, b'x')
os.read(a, 1)
'''
CALLED = ['a-script-of-a-long-name', 'a-name-that-is-a-link', 'python3', 'sh']


def run(*args):
    return subprocess.run(args, check=True, stdout=subprocess.PIPE).stdout


def rows(document):
    d = json.loads(document)
    names = [c['name'] if isinstance(c, dict) else c for c in d['columns']]
    return [r if isinstance(r, dict) else dict(zip(names, r)) for r in d['rows']]


def plain(names):
    """Ports and inodes are others in each run."""
    return {re.sub(r':\d+|\[\d+\]', ':N', n) for n in names}


def files_on_screens(weir, check, folder):
    """What is one line, and what it is called."""
    command = [sys.executable, '-c', FILES]
    run(weir, 'record', '-q', '-o', 'f.trace', '--', *command)
    here = {n: os.path.join(folder, n) for n in ('folder', 'wal', 'gone')}
    report = rows(run(weir, 'report', 'files', '--json', 'f.trace'))
    peers = rows(run(weir, 'report', 'peers', '--json', 'f.trace'))
    lines = [r['file'] for r in report] + [r['peer'] for r in peers]
    check('report: a folder, and a name that is not there, are one line', [n for n in lines if n.startswith(here['folder'])] == [here['folder']] and
          [n for n in lines if n.startswith(here['gone'])] == [here['gone']], lines)
    check('report: generations of a path are one line', [r['files'] for r in report if r['file'] == here['wal']] == [3], report)
    check('report: a service, and who went to it', [r['connections'] for r in peers] == [3, 3] and
          plain(r['peer'] for r in peers) == {'clients, 127.0.0.1:N', 'to 127.0.0.1:N'}, peers)
    check('report: anonymous inodes of one kind', lines.count('anon_inode:[eventfd]') == 1, lines)

    with_io = {r['file'] for r in report if r['calls']}
    query = {r['file'] for r in rows(run(weir, 'query', '--json', 'file is not null && class != wait && !(status has unfinished) | by file | count()',
                                         'f.trace'))}
    known = {n for n in query if not re.match('tcp|.*/\\.?$', n)}
    check('query: the same names', known == with_io, known ^ with_io)
    sql = {r['file'] for r in rows(run(weir, 'sql', '--json', 'SELECT DISTINCT file_name AS file FROM op_named WHERE file_name IS NOT NULL', 'f.trace'))}
    check('SQL: the same names', query <= sql, query - sql)

    def walk(s, folder=''):
        for e in s.get('files', dir=folder)['entries']:
            if e['dir']:
                yield from walk(s, e['path'])
            else:
                yield e
    with Serve(weir, 'f.trace') as s:
        entries = [(e['path'] or e['name'], e) for e in walk(s)]
        names = sorted(n for n, e in entries if e['calls'])
        check('pages: the same lines in the tree', names == sorted(lines), set(names) ^ set(lines))
        of = dict(entries)
        check('pages: with the files of each', (of[here['wal']]['files'], of[here['wal']]['kind'], len(of[here['wal']]['members'])) == (3, 'files', 3),
              of[here['wal']])
        for n in (r['peer'] for r in peers):
            check(f'pages: {n[:3]} the connections', (of[n]['files'], of[n]['kind']) == (3, 'connections'), of[n])
        sums = {r['file' if 'file' in r else 'peer']: (r['calls'], r['errors'], r['bytes'], r['time']) for r in report + peers}
        of_ours = [(n, e) for n, e in entries if n.startswith(folder) or '127.0.0.1' in n]  # the report counts mmap and execve of others
        check('pages: with the same sums', all(sums[n] == (e['calls'], e['errors'], e['bytes'], e['time']) for n, e in of_ours), of_ours, sums)
        top = s.get('overview')['files']['rows']
        check('overview: the same lines', len(top) > 3 and all(r['name'] in sums for r in top), top)
        check('overview: with the files of each', [r.get('files') for r in top if r['name'] == here['wal']] == [3], top)
    stat = [r['file'] for r in rows(subprocess.run([weir, 'stat', '--by', 'file', '--json', '--', *command], check=True,
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr)]
    ours = [n for n in stat if n.startswith(folder)]
    check('stat: the same lines', sorted(ours) == sorted(n for n in lines if n.startswith(folder)) and
          plain(n for n in stat if '127.0.0.1' in n) == plain(r['peer'] for r in peers), stat, lines)
    t = Terminal([weir, 'top', '-i', 'f.trace', '--by', 'file'], folder, os.environ, columns=240)
    missing = [] if t.expect(here['wal'], SLOW_S) else [here['wal']]
    t.send('/127.0.0.1\r')
    t.expect('/127.0.0.1', SLOW_S)
    # only what changes is drawn: a line that keeps its place came before
    missing += [r['peer'] for r in peers if r['peer'].encode() not in t.output and not t.expect(r['peer'], SLOW_S)]
    check('top: the same lines', not missing, missing, t.output[-2000:])
    t.send('q')
    t.wait()


def one_file_of_two_recordings(weir, check):
    for name in ('one', 'two'):
        run(weir, 'record', '-q', '-o', f'{name}.trace', '--', 'dd', 'if=/dev/zero', 'of=synced', 'bs=64k', 'count=40', 'oflag=dsync', 'status=none')
    both = ('one.trace', 'two.trace')
    first = run(weir, 'report', '--rel', *both).decode().splitlines()[0]
    time = run(weir, 'query', 'op == write && path ~ "**/synced" | sum(dur)', *both).decode().splitlines()[1].strip()
    check('the first line of a report has the time of both recordings of a file', 'write on ' in first and f': {time}' in first,
          first, time)


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
        stat = rows(subprocess.run([weir, 'stat', '--by', 'process', '--json', '--', *command], check=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE).stderr)
        check('stat: what tells processes of one name apart', sorted(r['argument'] for r in stat if r['process'].startswith('python3 ')) == apart, stat)
        stat = [r['process'] for r in stat]
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
            for who, of in (('overview', o), ('timeline', lanes)):
                told = sorted(x['argument'] for x in of if x.get('process', x.get('name')) == 'python3')
                check(f'{who}: what tells processes of one name apart', told == apart, told, apart)
        files_on_screens(weir, check, folder)
        one_file_of_two_recordings(weir, check)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
