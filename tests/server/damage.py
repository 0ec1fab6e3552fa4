#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""damage.py WEIR: a trace that is damaged, or whose file changes while it is served. Whoever counts its calls counts the same, and
every answer carries what is known to be missing."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'robust'))
from client import Serve, Tap  # noqa: E402
from mutated import blocks, mend  # noqa: E402

weir = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp(prefix='weir-serve-damage-')
tap = Tap()
check = tap.check
ROWS = 400000
PATHS = ['trace', 'query?q=by+op', 'explain?q=by+op', 'check?q=by+op', 'complete?q=by&pos=2', 'overview', 'latency', 'lanes',
         'timeline?lanes=0', 'files', 'dashboards', 'queries', 'openapi.yaml', 'events', 'nothing', 'op/999999999999', 'query?q=nonsense']


def path(name):
    return os.path.join(folder, name)


def run(*args):
    return subprocess.run([weir, *args], cwd=folder, capture_output=True, text=True, check=False)


def damage_of(headers):
    """The header of every answer, as a dictionary."""
    return {k: v if k == 'files' else int(v) for k, v in (part.split('=') for part in headers['weir-damage'].split('; '))}


def overwrite(name, seed, share):
    """Other bytes in a share of the file's pages, none in its first 64 bytes."""
    draw = random.Random(seed)
    size = os.path.getsize(path(name))
    with open(path(name), 'r+b') as f:
        for at in range(0, size, 4096):
            if draw.random() < share:
                f.seek(max(at, 64))
                f.write(draw.randbytes(min(4000, size - max(at, 64))))


def overwrite_middle(name):
    size = os.path.getsize(path(name))
    with open(path(name), 'r+b') as f:
        f.seek(size // 4)
        f.write(random.Random(4).randbytes(size // 2))


def flip(name, seed, count):
    draw = random.Random(seed)
    with open(path(name), 'r+b') as f:
        for _ in range(count):
            at = draw.randrange(64, os.path.getsize(path(name)))
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 0x10]))


has_engine = False


def by_commands(name):
    """What commands count, and lack, each in its own way: {how: (calls, lost, at least)}."""
    found = {}
    asks = {'report': ('report', 'ops', '--json', name),
            'rows': ('query', '--json', 'select bytes, 1 as n', name)}
    if has_engine:
        asks.update({'count()': ('query', '--json', 'count() as n', name), 'by fd': ('query', '--json', 'by fd | count() as n', name),
                     'sql': ('sql', '--json', '-i', name, 'SELECT count(*) AS n, sum(pos), sum(ret) FROM op')})
    for how, args in asks.items():
        r = run(*args)
        doc = json.loads(r.stdout)
        running = 0
        if how == 'report':
            running = json.loads(run('report', '--json', name).stdout)['trace']['running'] or 0  # null: not closed
        found[how] = (sum(row['calls' if how == 'report' else 'n'] for row in doc['rows']) + running, doc['loss']['events'], doc['loss']['at_least'])
    return found


def by_pages(s):
    found = {}
    for how, args in {'overview': {'width': 50}, 'overview by rows': {'width': 50, 'filter': 'dur >= 0ns || dur is null'},
                      'latency': {'width': 50}}.items():
        doc = s.get(how.split()[0], **args)
        calls = sum(doc['cells'][2::3]) if how == 'latency' else doc['totals']['calls'] + doc['totals']['running']
        found[how] = (calls, doc['loss']['events'], doc['loss']['at_least'])
    if has_engine:
        for how, q in {'/query count()': 'count() as n', '/query by fd': 'by fd | count() as n', '/query by thread': 'by thread | sum(bytes), count() as n'}.items():
            doc = s.get('query', q=q, limit=1000000)
            found[how] = (sum(r['n'] for r in doc['rows']), doc['loss']['events'], doc['loss']['at_least'])
        doc = s.columns('query', q='by op | count() as n')
        found['columns'] = (sum(doc['n']), None, None)
        doc = json.loads(s.ask('sql', method='POST', body='SELECT count(*) AS n, sum(pos) FROM op')[2])
        found['/sql'] = (doc['rows'][0]['n'], doc['loss']['events'], doc['loss']['at_least'])
    doc = s.get('trace')
    found['/trace'] = (doc['ops'], doc['loss']['events'], doc['loss']['at_least'])
    return found


def agree(name, found):
    """Every way counts the same calls, and says how many are missing. The heat map knows I/O alone."""
    calls = {n for how, (n, _, _) in found.items() if how != 'latency'}
    check(f'{name}: all count the same calls', len(calls) == 1, found)
    if len(calls) != 1:
        return
    count = calls.pop()
    wrong = {how: f for how, f in found.items() if f[1] is not None and f[0] + f[1] != ROWS and not f[2] and how != 'latency'}
    check(f'{name}: what is there and what is missing are all calls', not wrong, wrong)
    check(f'{name}: all say the same of what is missing', len({f[1:] for f in found.values() if f[1] is not None}) == 1, found)
    check(f'{name}: some is missing', count < ROWS, count)


def headers(name, s, lost):
    for p in PATHS:
        _, h, _ = s.ask(p)
        check(f'{name}: {p.split("?")[0]} carries the damage', 'weir-damage' in h and damage_of(h)['calls'] == lost, h, lost)
    if has_engine:
        for kind in ('csv', 'json', 'parquet'):
            _, h, body = s.ask('query', q='count()', format=kind, download=1)
            check(f'{name}: a download of {kind} too', damage_of(h)['calls'] == lost, h)
        check(f'{name}: and what a file of JSON says', json.loads(s.ask('query', q='count()', format='json', download=1)[2])['loss']['events'] == lost)
    check(f'{name}: nobody else is told', 'weir-damage' not in s.ask('trace', token=False)[1] and 'weir-damage' not in s.ask('/')[1])


def damaged_before():
    for name, hurt in (('bytes', lambda: flip('d.trace', 1, 3)), ('half', lambda: overwrite_middle('d.trace')), ('cut', lambda: os.truncate(path('d.trace'), os.path.getsize(path('d.trace')) // 2))):
        shutil.copyfile(path('a.trace'), path('d.trace'))
        hurt()
        commands = by_commands('d.trace')
        agree(f'{name}, commands', commands)
        with Serve(weir, 'd.trace', folder=folder) as s:
            pages = by_pages(s)
            agree(f'{name}, pages', pages)
            check(f'{name}: pages and commands agree', pages['overview'] == commands['report'], pages['overview'], commands['report'])
            if name == 'bytes':
                headers(name, s, pages['overview'][1])


def first_answer():
    """Whichever column of the calls makes no sense behind a right checksum, and whoever reads it first: the first answer is given."""
    run('synth', '-q', '-o', 'small.trace', '--rows', '3000', '--seed', '3')
    with open(path('small.trace'), 'rb') as f:
        data = f.read()
    places = list(blocks(data))
    data = data[:places[-2][0]]  # without the index, which repeats the headers
    at, _ = max(places, key=lambda b: b[1])  # the calls
    header, = struct.unpack_from('<I', data, at + 24)
    entries, = struct.unpack_from('<H', data, at + 40)
    failed, differ = [], []
    for place in range(at + 64, at + 64 + 48 * entries, 48):
        other = bytearray(data)
        offset, = struct.unpack_from('<I', other, place + 12)
        other[at + header + offset] ^= 0xff
        mend(other)
        with open(path('c.trace'), 'wb') as f:
            f.write(other)
        with Serve(weir, 'c.trace', folder=folder) as s:
            answers = [s.ask('overview') for _ in range(2)]
        failed += [(other[place + 1], status) for status, _, _ in answers if status != 200]
        differ += [other[place + 1]] if answers[0][2] != answers[1][2] else []
    check('the first answer is given, whichever column is damaged', not failed, failed)
    check('and is that which follows', not differ, differ)


def wait_for(s, what):
    for _ in range(300):
        h = damage_of(s.ask('check')[1])
        if what(h):
            return h
        time.sleep(0.02)
    return h


def changed_meanwhile():
    """The pages were answered, and kept, before."""
    for name, hurt in (('overwritten', lambda: overwrite('d.trace', 5, 0.1)), ('cut', lambda: os.truncate(path('d.trace'), os.path.getsize(path('d.trace')) // 2)),
                       ('emptied', lambda: os.truncate(path('d.trace'), 0))):
        shutil.copyfile(path('a.trace'), path('d.trace'))
        with Serve(weir, 'd.trace', folder=folder) as s:
            before = by_pages(s)
            check(f'{name}: all is there before', all(f[0] == ROWS for how, f in before.items() if how != 'latency'), before)
            check(f'{name}: all was verified', wait_for(s, lambda h: h['unverified'] == 0) == {'blocks': 0, 'rows': 0, 'calls': 0, 'unverified': 0})
            hurt()
            h = wait_for(s, lambda h: h['calls'] > 0 and h['unverified'] == 0)
            check(f'{name}: it is noticed', h['calls'] > 0 and ('files' in h) == (name != 'overwritten'), h)
            if name == 'emptied':
                check('emptied: nothing is left', s.get('overview')['totals']['calls'] == 0 and s.get('trace')['ops'] == 0)
                continue
            pages, commands = by_pages(s), by_commands('d.trace')
            check(f'{name}: pages count what a command counts now', {f[0] for how, f in pages.items() if how != 'latency'} ==
                  {f[0] for f in commands.values()}, pages, commands)
            lost = {how: f[1] for how, f in pages.items() if f[1] is not None and how != '/sql'}
            check(f'{name}: pages say what is missing', set(lost.values()) == {ROWS - pages['overview'][0]}, lost)
            files = s.get('trace')['loss'].get('files')
            check(f'{name}: and why', (files or {}).get('what') == (['cut'] if name == 'cut' else None), files)


def renamed():
    """What was opened is shown, and said not to be what has the name now."""
    def sql(s):
        status, _, body = s.ask('sql', method='POST', body='SELECT count(*) AS n FROM op')
        return status, json.loads(body)

    shutil.copyfile(path('a.trace'), path('d.trace'))
    run('synth', '-q', '-o', 'other.trace', '--rows', '1000')
    with Serve(weir, 'd.trace', folder=folder) as s:
        check('before: SQL is answered', not has_engine or sql(s)[0] == 200)
        os.rename(path('d.trace'), path('e.trace'))
        steps = [('moved', ['moved'], None), ('replaced', ['replaced'], lambda: shutil.copyfile(path('other.trace'), path('d.trace'))),
                 ('deleted and replaced', ['deleted', 'replaced'], lambda: os.unlink(path('e.trace'))), ('deleted', ['deleted'], lambda: os.unlink(path('d.trace')))]
        for name, what, do in steps:
            if do:
                do()
            _, h, body = s.ask('overview')
            doc = json.loads(body)
            check(f'{name}: its size is that of the file that is shown', s.get('trace')['traces'][0]['bytes'] == os.path.getsize(path('a.trace')))
            check(f'{name}: all of it is shown still', doc['totals']['calls'] + doc['totals']['running'] == ROWS, doc['totals'])
            check(f'{name}: and says what happened', doc['loss'].get('files', {}).get('what') == what and h['weir-damage'].endswith('; files=' + ','.join(what)),
                  doc['loss'], h['weir-damage'])
            status, doc = sql(s)
            check(f'{name}: SQL, which would read another file, is refused in plain words', status == 409 and
                  'd.trace was ' in doc['error']['message'] and what[-1] in doc['error']['message'], status, doc)
        heard = s.ask('events')[2].decode()
        check('who listens hears it', '"what":["deleted"]' in heard.replace(' ', ''), heard[:300])


def one_of_two():
    """SQL names the file that it cannot open, and what became of that one."""
    for name in ('g.trace', 'h.trace', 'i.trace'):
        run('synth', '-q', '-o', name, '--rows', '1000')
    with Serve(weir, 'g.trace', 'h.trace', 'i.trace', folder=folder) as s:
        s.get('overview')  # all are open
        os.truncate(path('g.trace'), os.path.getsize(path('g.trace')) - 64)
        os.rename(path('h.trace'), path('h.moved'))
        os.rename(path('h.moved'), path('i.trace'))
        status, _, body = s.ask('sql', method='POST', body='SELECT count(*) AS n FROM op')
        said = json.loads(body)['error']['message']
        check('SQL names the trace that is not where it was, and what became of it', status == 409 and 'h.trace was moved since' in said, status, said)


def followed():
    """Commands that follow a file say it too."""
    for q in ('select op', 'by op | count()') if has_engine else ():
        with open(path('a.trace'), 'rb') as f, open(path('f.trace'), 'wb') as to:
            to.write(f.read()[:-64])  # a trace without its end is followed
        with subprocess.Popen([weir, 'query', '--follow', '--every', '100ms', q, 'f.trace'], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
            time.sleep(0.5)
            os.unlink(path('f.trace'))
            said = p.stderr.readline().decode()
            p.send_signal(signal.SIGINT)
            p.communicate()
        check(f'query --follow "{q}" says that its file was deleted', 'f.trace was deleted' in said, said)


def main():
    global has_engine
    run('synth', '-q', '-o', 'a.trace', '--rows', str(ROWS), '--seed', '3')
    has_engine = run('query', '--json', 'by op | count()', 'a.trace').returncode == 0
    damaged_before()
    first_answer()
    changed_meanwhile()
    renamed()
    if has_engine:
        one_of_two()
    followed()
    return tap.end()


try:
    sys.exit(main())
finally:
    shutil.rmtree(folder, ignore_errors=True)
