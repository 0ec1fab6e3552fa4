#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""diagnose.py WEIR: `weir diagnose`, `weir record --diagnose` and /api/v1/analysis/diagnose over recordings: one document, features
that are kept in the trace once, and traces that are damaged, growing, several, or may not be written. Speaks TAP."""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'server'))
from client import Serve, Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp(prefix='weir-diagnose-')
tap = Tap()
check = tap.check
CALLS = 20000  # much more than what the start of Python costs, also on a busy machine
FILE = 'small.log'  # nothing but a finding names it
SMALL = f"""
import os
import sys
f = os.open('small.log', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for i in range({CALLS}):
    os.write(f, b'x' * 20)
print('written', flush=True)
for line in sys.stdin:
    pass
"""
MEMBERS = ('columns', 'rows', 'loss', 'rules', 'rules_found', 'not_run', 'work_time', 'cost', 'summed')


def path(name):
    return os.path.join(folder, name)


def run(*args, **more):
    return subprocess.run([weir, *args], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **more)


def diagnose(*args):
    p = run('diagnose', '--json', *args)
    return json.loads(p.stdout) if p.returncode == 0 else {'error': p.stderr, 'rows': []}


def answer(s, **params):
    return s.get('analysis/diagnose', **params)


def same(name, a, b):
    """The two documents, but for members that a route or a command has for itself."""
    bad = [f'{m}: {a.get(m)!r} and {b.get(m)!r}' for m in MEMBERS if a.get(m) != b.get(m)]
    tap.none(name, bad)


def finds(doc):
    return [r['sentence'] for r in doc['rows'] if r['rule'] == 'small-writes' and r['path'].endswith('/' + FILE) and r['calls'] == CALLS]


def size(name):
    return os.path.getsize(path(name))


def copy(name):
    shutil.copy(path('small.trace'), path(name))
    return name


# ---- record --diagnose ----

def recorded():
    command = ['python3', 'small.py']
    p = run('record', '-o', 'small.trace', '--', *command)
    check('a program is recorded', p.returncode == 0, p.stderr)
    p = run('record', '--diagnose', '-o', 'after.trace', '--', *command)
    check('record --diagnose prints what is wrong on standard error', FILE in p.stderr, p.stderr)
    check('and standard output is the command\'s', p.stdout == 'written\n', p.stdout)
    p = run('record', '--diagnose', '-q', '-o', 'after.trace', '--', 'sh', '-c', 'python3 small.py; exit 7')
    plain = run('record', '-q', '-o', 'plain.trace', '--', 'sh', '-c', 'exit 7').returncode
    check('the exit status is that of the command', p.returncode == plain == 7, p.returncode, plain)
    check('and something is found all the same', FILE in p.stderr, p.stderr)


def not_started():
    given = [run('record', *option, '-o', 'none.trace', '--', './not-there') for option in ([], ['--diagnose'])]
    check('a command that cannot be started: the same status and words', given[0].returncode == given[1].returncode != 0 and
          given[0].stderr == given[1].stderr, *(f'{p.returncode}: {p.stderr}' for p in given))
    check('and no trace', not os.path.exists(path('none.trace')))


def interrupted():
    """Ctrl-C goes to all that the terminal runs."""
    codes = []
    for option in ([], ['--diagnose']):
        p = subprocess.Popen([weir, 'record', *option, '-o', 'int.trace', '--', 'python3', 'small.py'], cwd=folder, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        p.stdout.readline()
        os.killpg(p.pid, signal.SIGINT)
        said = p.communicate(timeout=120)[1].decode()
        codes.append(p.returncode)
    check('Ctrl-C ends the recording, not the diagnosis', FILE in said, said)
    check('and the exit status is as without it', codes[0] == codes[1], codes)


def ended():
    """The process that diagnoses is ended: while it waits, and while it works."""
    for when in ('before it starts', 'while it works'):
        code = 'import sys; print(flush=True); sys.stdin.read(1)' if when[0] == 'b' else 'import os; [os.stat("/") for _ in range(100000)]'
        p = subprocess.Popen([weir, 'record', '--diagnose', '-q', '-o', 'end.trace', '--', 'python3', '-c', code], cwd=folder,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if when[0] == 'b':
            p.stdout.readline()
            os.kill(child_of(p, 'record'), signal.SIGKILL)
            p.stdin.write(b'x')
        else:
            pid = None
            while p.poll() is None and pid is None:
                pid = child_of(p, 'diagnose')
            if pid:
                os.kill(pid, signal.SIGKILL)
        said = p.communicate(timeout=120)[1].decode()
        check(f'a diagnosis that is ended {when} is said in one line', said.count('\n') == 1 and 'weir diagnose' in said, said)
        check('and the exit status stays that of the command', p.returncode == 0, p.returncode)


def child_of(p, word):
    """Its child that is weir with this command, by its pid; None where there is none."""
    with open(f'/proc/{p.pid}/task/{p.pid}/children', encoding='utf-8') as f:
        for pid in f.read().split():
            try:
                with open(f'/proc/{pid}/cmdline', encoding='utf-8') as c:
                    if c.read().split('\0')[1] == word:
                        return int(pid)
            except (FileNotFoundError, ProcessLookupError, IndexError):
                pass
    return None


# ---- what is kept ----

def kept():
    name = copy('kept.trace')
    sizes = [size(name)]
    for args in (['--where', 'op == write'], ['--from', '+0s', '--to', '+1h'], ['--only', 'small-writes', '--from', '+1ms']):
        doc = diagnose(name, *args)
        check(f'a part is diagnosed: {" ".join(args)}', 'error' not in doc, doc)
        sizes.append(size(name))
    check('of a part nothing is kept', len(set(sizes)) == 1, sizes)
    check('reads alone have no small writes', not finds(diagnose(name, '--where', 'op == read')))
    first = diagnose(name)
    check('the finding is there', len(finds(first)) == 1, first)
    sizes.append(size(name))
    same('the second answer is the first', first, diagnose(name))
    check('the trace has grown once', sizes[0] < sizes[-1] == size(name), sizes, size(name))
    check('the trace is whole', run('check', name).returncode == 0, run('check', name).stdout)
    last = [line for line in run('report', name).stdout.splitlines() if line.startswith('FOUND')]
    check('weir report ends with the finding', len(last) == 1 and FILE in last[0], last)
    check('and of a trace that nobody has diagnosed it says nothing', 'FOUND' not in run('report', 'small.trace').stdout)
    same('made anew they are the same', first, diagnose(name, '--fresh'))


def asked_for():
    for word, args in (('query', ['query', '--csv', 'from use | select calls']), ('sql', ['sql', '--csv', 'SELECT calls FROM use'])):
        name = copy(f'{word}.trace')
        before = size(name)
        p = run(*args[:1], '-i', name, *args[1:])
        rows = p.stdout.splitlines()[1:]
        check(f'weir {word} makes the tables that it is asked for', p.returncode == 0 and len(rows) > 1 and size(name) > before, p.stderr, rows)
        after = size(name)
        again = run(*args[:1], '-i', name, *args[1:]).stdout.splitlines()[1:]
        check(f'weir {word} makes them once', sorted(again) == sorted(rows) and size(name) == after, size(name), after)
    p = run('query', '-i', 'query.trace', 'from finding')
    check('findings are there when weir diagnose has been run', p.returncode != 0 and 'weir diagnose' in p.stderr, p.stdout, p.stderr)


# ---- the route ----

def routed():
    name = copy('served.trace')
    before = size(name)
    with Serve(weir, path(name)) as s:
        got = [None, None]
        threads = [threading.Thread(target=lambda i=i: got.__setitem__(i, answer(s))) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        once = size(name)
        first = got[0]
        same('two at once get the same', *got)
        check('with the finding', len(finds(first)) == 1, first)
        same('the second request has the same answer', first, answer(s))
        check('and is answered from what was kept', before < once == size(name), before, once, size(name))
        part = answer(s, filter='op == read')
        check('a part is diagnosed', not finds(part) and part['rules'] == first['rules'], part)
        check('and not kept', size(name) == once)
        same('the document is that of weir diagnose --json', first, diagnose(name))
        for word in ('against', 'rules'):
            status, _, body = s.ask('analysis/diagnose', **{word: path('small.trace')})
            check(f'{word}= would read another file', status == 400 and b'command line' in body, status, body)
        status, _, body = s.ask('analysis/diagnose', only='no-such')
        check('a rule that is not there', status == 400 and b'no such rule' in body, status, body)
        rows = s.get('query', q='from use | select calls')['rows']
        check('pages can ask what was made', len(rows) > 1, rows)
    once = size(copy('twice.trace'))
    diagnose('twice.trace')
    check('what was kept is what weir diagnose keeps', size(name) - before == size('twice.trace') - once, size(name), size('twice.trace'))


def left():
    """Clients that go away while it works."""
    run('synth', '-q', '-o', 'large.trace', '--rows', '300000', '--seed', '3')
    with Serve(weir, path('large.trace')) as s:
        for _ in range(3):
            with socket.create_connection(('127.0.0.1', s.port)) as c:
                c.sendall(f'GET /api/v1/analysis/diagnose?fresh=1 HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.token}\r\n\r\n'.encode())
        same('after clients that left another one gets all', answer(s), diagnose('large.trace'))
    check('and the trace is whole', run('check', 'large.trace').returncode == 0)


# ---- traces that are not as they should be ----

def damaged():
    shutil.copy(path('large.trace'), path('hurt.trace'))
    draw = random.Random(5)
    with open(path('hurt.trace'), 'r+b') as f:
        for _ in range(4):
            f.seek(draw.randrange(4096, size('hurt.trace')))
            f.write(b'\xff' * 40)
    with Serve(weir, path('hurt.trace')) as s:
        doc = answer(s)
    same('a damaged trace: the route says what the command says', doc, diagnose('hurt.trace'))
    loss = doc['loss']
    check('and what is missing', loss['at_least'] or loss['events'] or loss['damaged_blocks'], loss)
    check('which no finding hides', all(r['sure'] != 'yes' for r in doc['rows']), doc['rows'])


def growing():
    p = subprocess.Popen([weir, 'record', '-q', '-o', 'grows.trace', '--', 'python3', 'small.py'], cwd=folder, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    with Serve(weir, path('grows.trace')) as s:
        doc = answer(s)
        while not finds(doc):  # what was written has still to come through the recorder
            doc = answer(s)
        check('a trace that grows is diagnosed in pages', len(finds(doc)) == 1)
        p.stdin.close()
        said = p.stderr.read()
        check('the recording ends as any other', p.wait() == 0 and not said, said)
        whole = answer(s)
    check('nothing of it was kept there', run('check', 'grows.trace').returncode == 0)
    check('the finding stays', finds(whole) == finds(doc), whole)
    same('the whole of it then', answer_of_new('grows.trace'), diagnose('grows.trace'))


def answer_of_new(name):
    with Serve(weir, path(name)) as s:
        return answer(s)


def several():
    os.mkdir(path('many'))
    for name in ('a.trace', 'b.trace'):
        run('record', '-q', '-o', f'many/{name}', '--', 'python3', 'small.py')
    diagnose('many/a.trace')  # what is kept in one of them is not taken for all
    before = [size(f'many/{n}') for n in ('a.trace', 'b.trace')]
    doc = diagnose('many')
    found = [(f['calls'], f['sentence'].endswith(' (2 processes)')) for f in doc['rows'] if f['rule'] == 'small-writes']
    check('several traces are diagnosed: the program of both is one finding', found == [(2 * CALLS, True)], doc['rows'])
    same('and by the route', doc, answer_of_new('many'))
    check('nothing is kept in them', before == [size(f'many/{n}') for n in ('a.trace', 'b.trace')])


def two_files():
    """Two files whose names differ in a number are one finding: they share no call, so the times of both count."""
    with open(path('two.py'), 'w', encoding='utf-8') as f:
        f.write("import os\nfor n in '12':\n    f = os.open(f'part{n}.log', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n"
                f"    for i in range({CALLS}):\n        os.write(f, b'x' * 20)\n")
    run('record', '-q', '-o', 'two.trace', '--', 'python3', 'two.py')
    doc = diagnose('two.trace', '--only', 'small-writes')
    found = [(f['files'], f['calls'], f['time']) for f in doc['rows']]
    check('the cost of two files is the sum of both', found == [(2, 2 * CALLS, doc['cost'])] and doc['cost'] <= doc['work_time'], doc)


def read_only():
    """In a mount that nobody can write to."""
    os.mkdir(path('still'))
    copy('still/s.trace')
    inside = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"', path('still')]
    if subprocess.run([*inside, 'true'], capture_output=True, check=False).returncode:
        tap.skip('a trace that may not be written', 'no mounts here')
        return
    before = size('still/s.trace')
    p = subprocess.run([*inside, weir, 'diagnose', '--json', path('still/s.trace')], capture_output=True, text=True, check=False)
    doc = json.loads(p.stdout) if p.returncode == 0 else {'rows': []}
    check('a trace that may not be written is diagnosed', len(finds(doc)) == 1, p.stderr)
    p = subprocess.run([*inside, weir, 'query', '--csv', '-i', path('still/s.trace'), 'from use'], capture_output=True, text=True, check=False)
    check('and has its tables for who asks', p.returncode == 0 and len(p.stdout.splitlines()) > 2, p.stderr)
    starter = path('serve-still')
    with open(starter, 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nexec unshare -m sh -c \'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"\' {path("still")} {weir} "$@"\n')
    os.chmod(starter, 0o755)
    with Serve(starter, path('still/s.trace')) as s:
        same('by the route too', doc, answer(s))
        same('as often as it is asked', doc, answer(s))
    check('it is as it was', size('still/s.trace') == before)
    check('nothing is left behind', not [n for n in os.listdir(os.environ['TMPDIR']) if n.startswith('weir-')], os.listdir(os.environ['TMPDIR']))
    same('and what it says is what it says elsewhere', doc, diagnose('small.trace'))


def main():
    with open(path('small.py'), 'w', encoding='utf-8') as f:
        f.write(SMALL)
    os.environ.update(TMPDIR=path('tmp'), COLUMNS='200')  # no sentence is broken
    os.mkdir(path('tmp'))
    try:
        recorded()
        not_started()
        interrupted()
        ended()
        kept()
        asked_for()
        routed()
        left()
        damaged()
        growing()
        several()
        two_files()
        read_only()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tap.end()


sys.exit(main())
