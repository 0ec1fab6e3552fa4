#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py WEIR: every screen counts the same calls as a query. One recording with waits, paths that failed, calls that
move bytes between two files, and a file of 26 bytes. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'server'))
from client import Serve, Tap  # noqa: E402

IO = 'class in (data, meta, sync, net) && !(status has unfinished)'
PROGRAM = '''
import os, select, threading, mmap
def work():
    a, b = os.pipe()
    poll = select.epoll()
    poll.register(a, select.EPOLLIN)
    for i in range(50):
        poll.poll(0.001)
    os.write(b, b'x')
    os.read(a, 10)
t = threading.Thread(target=work)
t.start()
with open('letters', 'wb') as f:
    f.write(b'abcdefghijklmnopqrstuvwxyz')
for i in range(3):
    fd = os.open('letters', os.O_RDONLY)
    while os.read(fd, 100):
        pass
    os.close(fd)
for i in range(7):
    try:
        os.open('letters', os.O_RDONLY | os.O_DIRECTORY)
    except NotADirectoryError:
        pass
    os.stat('letters')
    try:
        os.open('not there', os.O_RDONLY)
    except FileNotFoundError:
        pass
a = os.open('letters', os.O_RDONLY)
b = os.open('copy', os.O_RDWR | os.O_CREAT)
for i in range(4):
    os.sendfile(b, a, 0, 26)
os.copy_file_range(a, b, 26, 0, 0)
mmap.mmap(b, 26)
t.join()
'''


def main():
    weir = os.path.realpath(sys.argv[1])
    if os.geteuid():
        print('1..0 # SKIP needs root to record')
        return 0
    tap = Tap()
    check = tap.check

    def run(*args):
        return json.loads(subprocess.run([weir, *args], check=True, stdout=subprocess.PIPE).stdout)

    def query(q):
        d = run('query', '--json', q, 't.trace')
        return d['rows']

    def counts(by, where):
        return {r['k']: r['n'] for r in query(f'{where} | by {by} as k | count() as n')}

    def report(which):
        return run('report', which, '--json', 't.trace')['rows']

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([weir, 'record', '-q', '-o', 't.trace', '--', sys.executable, '-c', PROGRAM], check=True)
        ended = '!(status has unfinished)'
        for table, by, key in (('processes', 'pid', 'pid'), ('threads', 'tid', 'tid')):
            rows = report(table)
            check(f'report {table}: calls and waits are all calls',
                  {r[key]: r['calls'] + r['waits'] for r in rows} == counts(by, ended), rows, counts(by, ended))
            want = counts(by, f'{ended} && class == wait')
            check(f'report {table}: waits apart', {r[key]: r['waits'] for r in rows if r['waits']} == want, rows, want)
        check('report ops', sum(r['calls'] for r in report('ops')) == query(f'{ended} | count() as n')[0]['n'])
        letters, copy = os.path.join(folder, 'letters'), os.path.join(folder, 'copy')
        each = {r['k']: r['n'] for r in query(f'{IO} | by file, path as k | count() as n | by k | sum(n) as n')}
        with Serve(weir, 't.trace') as s:
            o = s.get('overview')
            check('overview: all calls', o['totals']['calls'] == query(f'{ended} | count() as n')[0]['n'], o['totals'])
            for table, by, key in (('processes', 'pid', 'pid'), ('threads', 'tid', 'tid'), ('ops', 'op', 'name')):
                got = {r[key]: r['calls'] for r in o[table]['rows']}
                want = counts(by, IO)
                check(f'overview {table}: I/O calls', got and all(want[k] == n for k, n in got.items()), got, want)
            lanes = {x['tid']: x['calls'] for x in s.get('lanes')['lanes']}
            check('timeline: all calls, those that run too', lanes == counts('tid', 'op is not null'), lanes)
            series = s.get('latency', by='op')['series']
            want = counts('op', IO)
            check('latency: I/O calls', all(want[x['name']] == x['stats']['calls'] for x in series if x['name'] in want), series[:3], want)
            tree = {e['path']: e for e in s.get('files', dir=folder)['entries']}
            listed = {r['file']: r['calls'] for r in report('files')}
            for path in (letters, copy):
                one = s.get(f'file/{tree[path]["id"]}')
                want = each[path]
                check(f'{os.path.basename(path)}: the tree', tree[path]['calls'] == want, tree[path], want)
                check(f'{os.path.basename(path)}: its page', one['io_calls'] == want, one, want)
                everything = query(f'{ended} && file == "{path}" | by file | count() as n | sum(n) as n')[0]['n']
                check(f'{os.path.basename(path)}: all of its calls', one['calls'] == everything, one['calls'], everything)
                check(f'{os.path.basename(path)}: the report', listed[path] == query(
                    f'{ended} && class != wait && file == "{path}" | by file | count() as n | sum(n) as n')[0]['n'], listed[path])
            d = s.columns(f'file/{tree[letters]["id"]}/density', width=50, height=200)
            whole = s.get(f'file/{tree[letters]["id"]}/density', width=50, height=200)
            check('density: a row for each byte', (whole['pos_from'], whole['pos_to'], whole['height']) == (0, 26, 26), whole)
            check('density: all bytes of a read', {int(p) for p, n in zip(d['p'], d['reads']) if n} == set(range(26)), d['p'])
            nothing = query(f'file == "{letters}" && op == read && ret == 0 | count() as n')[0]['n']
            with_calls = sum(d['calls'])
            positions = query(f'{ended} && file == "{letters}" && pos is not null && op != lseek | by file | count() as n | sum(n) as n')[0]['n']
            check('density: reads of nothing, too', nothing >= 3 and with_calls == positions, nothing, with_calls, positions)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
