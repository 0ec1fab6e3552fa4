#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""escapes.py WEIR [--seed N] [--variants N] [--only TEXT]: SQL that tries to get out of POST /api/v1/sql.

Runs every statement of sql_escapes.txt, some that are too long for it, and so many variants: statements wrapped in others. After
each: the answer is what the file expects and holds no secret, no file was left or changed, temporary files stayed within a bound,
the child is gone, the server answers.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'robust')]
from attack import Attack  # noqa: E402
from client import Serve  # noqa: E402

HUNGRY_S = 3  # how long a client waits for what asks for too much
GONE_S = 20  # until the child of a client that went away must be gone
GROWTH_MAX = 1 << 30  # bytes in files while a statement runs: what it may spill
WRONG_REASON = re.compile(rb'takes more memory|longer than allowed|out of memory', re.I)
KINDS = ('refused', 'any', 'hungry')

WRAPPERS = ['explain {}', 'explain analyze {}', 'select 1; {}', '{}; select 1', '/* x */ {}', '-- x\n{}', '\ufeff{}', 'begin; {}; commit',
            'prepare p as {}; execute p', 'create view v as {}; from v', 'with t as materialized ({}) from t', 'create macro m() as table {}; from m()',
            'from query({quoted})', 'select * from ({})', 'create table t as {}; from t', 'copy ({}) to \'{OUT}/w.csv\'', 'pivot ({}) on 1',
            'describe {}', 'summarize {}', 'set variable v = ({}); select getvariable(\'v\')', '{upper}', '{spaced}', 'call query({quoted})',
            'execute immediate {quoted}', '({}) union all ({})', 'explain (format json) {}', 'insert into op {}', 'values (({}))']


def long_ones():
    return [('any', 'select ' + '(' * 100000 + '1' + ')' * 100000), ('any', 'select ' + '-' * 1 + '+' * 100000 + '1'),
            ('any', 'select ' + ','.join(['1'] * 100000)), ('any', 'select 1 ' + 'union all select 1 ' * 20000),
            ('any', "select '" + 'x' * 900000 + "'"), ('any', 'x' * 1000000), ('any', 'select ' + 'not ' * 100000 + 'true'),
            ('any', 'with ' + ','.join(f't{i} as (select 1)' for i in range(5000)) + ' select 1'),
            ('any', 'select 1\0; select 2'), ('any', b'select \xff\xfe\xc0'), ('any', b'\0' * 1000)]


def wrap(rnd, statement):
    w = rnd.choice(WRAPPERS)
    if w == '{upper}':
        return statement.upper() if '{' not in statement else re.sub(r'\b[a-z_]+\(', lambda m: m[0].upper(), statement)
    if w == '{spaced}':
        return re.sub(' ', lambda _: rnd.choice(['\n', '\t', '/**/', '  ', '\f', ' -- x\n']), statement)
    return w.replace('{quoted}', "'" + statement.replace("'", "''") + "'").replace('{}', statement)


class Place:
    """Folders that a statement must leave alone, and the server within"""

    def __init__(self, weir, root):
        self.root, self.weir = root, weir
        self.tmp, self.out, self.home = (os.path.join(root, n) for n in ('tmp', 'out', 'home'))
        for d in (self.tmp, self.out, self.home):
            os.mkdir(d)
            os.chmod(d, 0o777)
        self.secret = os.path.join(root, 'secret.txt')
        self.word = f'canary{random.SystemRandom().getrandbits(64):x}'
        with open(self.secret, 'w', encoding='utf-8') as f:
            f.write(f'a|{self.word}\n')
        os.chmod(root, 0o755)
        os.chmod(self.secret, 0o644)
        self.trace = os.path.join(root, 'e.trace')
        subprocess.run([weir, 'synth', '-q', '-o', self.trace, '--rows', '5000'], check=True)
        self.before = self.listing()
        self.most, self.watching = 0, False

    def serve(self):
        os.environ.update(TMPDIR=self.tmp, HOME=self.home, WEIR_CANARY=self.word)
        return Serve(self.weir, self.trace, folder=self.root)

    def fill(self, text, port):
        if isinstance(text, bytes):
            return text
        for name, value in (('SECRET', self.secret), ('OUT', self.out), ('TMP', self.tmp), ('TRACE', self.trace), ('PORT', str(port))):
            text = text.replace('{' + name + '}', value)
        return text.encode()

    def listing(self):
        """Every file below, but those in the folder for temporary ones, which may come and go"""
        found = {}
        for base, dirs, names in os.walk(self.root):
            if base == self.tmp:
                dirs[:] = []
                continue
            for name in names:
                s = os.stat(os.path.join(base, name))
                found[os.path.join(base, name)] = (s.st_size, s.st_mtime_ns)
        return found

    def used(self):
        total = 0
        for base, _, names in os.walk(self.root):
            for name in names:
                try:
                    total += os.stat(os.path.join(base, name)).st_blocks * 512
                except OSError:
                    pass  # gone meanwhile
        return total

    def watch(self):
        while self.watching:
            self.most = max(self.most, self.used())
            time.sleep(0.05)


def children(pid):
    """Processes below, but for those that serve from the start on: read from /proc, because they may have changed their names."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as f:
                    fields = f.read().rpartition(')')[2].split()
            except OSError:
                continue
            if fields[0] != 'Z':
                parents[int(name)] = int(fields[1])
    found, last = {pid}, 0
    while len(found) != last:
        last = len(found)
        found |= {p for p, parent in parents.items() if parent in found}
    return found - {pid}


def wait_until(seconds, condition):
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


class Trial:
    def __init__(self, options, attack, place, server):
        self.options, self.attack, self.place, self.server = options, attack, place, server
        self.idle = children(server.process.pid)
        self.left = set(os.listdir(place.tmp))

    def ask(self, kind, body):
        """Status and body; None where the client went away"""
        try:
            status, _, answer = self.server.ask('sql', method='POST', body=body, timeout=HUNGRY_S if kind == 'hungry' else 90)
        except TimeoutError:
            return None, b''
        except ConnectionError:
            return -1, b''
        return status, answer

    def faults(self, kind, status, answer):
        place = self.place
        if place.word.encode() in answer or b'root:' in answer:
            yield 'the answer holds a secret'
        if status == -1 or (status is not None and status >= 500 and status != 503):
            yield f'status {status}'
        if kind == 'refused' and (status != 400 or WRONG_REASON.search(answer)):
            yield f'status {status} where a refusal was expected: {answer[:200].decode(errors="replace")}'
        if status == 400:
            try:
                if not json.loads(answer)['error']['message']:
                    yield 'no reason is given'
            except (ValueError, KeyError, TypeError):
                yield f'an error that is not one: {answer[:100]!r}'
        elif status == 200:
            try:
                json.loads(answer)
            except ValueError:
                yield f'an answer that is not JSON: {answer[:100]!r}'
        elif kind == 'any' and status not in (200, 408, 413):
            yield f'status {status}: {answer[:200].decode(errors="replace")}'
        if not wait_until(GONE_S, lambda: children(self.server.process.pid) <= self.idle):
            yield f'its process is still there {GONE_S} s later'
        if not wait_until(GONE_S, lambda: set(os.listdir(place.tmp)) <= self.left):
            yield f'left behind in the folder for temporary files: {sorted(set(os.listdir(place.tmp)) - self.left)[:3]}'
            self.left = set(os.listdir(place.tmp))
        now = place.listing()
        if now != place.before:
            yield f'files changed: {sorted(k for k in now.keys() | place.before.keys() if now.get(k) != place.before.get(k))[:3]}'
            place.before = now
        if place.most - self.base > GROWTH_MAX:
            yield f'{(place.most - self.base) >> 20} MiB in files meanwhile'
        if self.server.process.poll() is not None or self.server.ask('trace')[0] != 200:
            yield 'the server does not answer any more'

    def run(self, kind, text):
        place = self.place
        self.base = place.most = place.used()
        place.watching = True
        watcher = threading.Thread(target=place.watch)
        watcher.start()
        try:
            status, answer = self.ask(kind, place.fill(text, self.server.port))
        finally:
            place.watching = False
            watcher.join()
        self.attack.tried({'refused': 'statements to refuse', 'any': 'odd statements', 'hungry': 'statements that ask for too much'}[kind])
        shown = text[:100] if isinstance(text, bytes) else text[:100].encode()
        for why in self.faults(kind, status, answer):
            o = self.options
            self.attack.found(f'{shown.decode(errors="backslashreplace")}: {why}', os.path.join(HERE, 'escapes.py'), o.weir, '--seed', o.seed,
                              '--variants', o.variants, '--only', shown.decode(errors='backslashreplace').splitlines()[0][:60])


def statements(options):
    with open(os.path.join(HERE, 'sql_escapes.txt'), encoding='utf-8') as f:
        listed = [tuple(line.rstrip('\n').split('\t', 1)) for line in f if '\t' in line and not line.startswith('#')]
    assert all(kind in KINDS for kind, _ in listed)
    rnd = random.Random(options.seed)
    tame = [(kind, text) for kind, text in listed if kind != 'hungry']
    if options.sample:
        yield from rnd.sample(tame, min(options.sample, len(tame)))
        return
    variants = [('any', wrap(rnd, rnd.choice(tame)[1])) for _ in range(options.variants)]
    for kind, text in listed + long_ones() + variants:
        words = text.decode(errors='backslashreplace') if isinstance(text, bytes) else text
        if not options.only or words.startswith(options.only):
            yield kind, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weir')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--variants', type=int, default=0)
    parser.add_argument('--only', help='those that begin so')
    parser.add_argument('--sample', type=int, help='so many of the list alone, and none that asks for too much')
    options = parser.parse_args()
    attack = Attack(options.seed)
    root = tempfile.mkdtemp(prefix='weir-escapes-', dir='/var/tmp')
    try:
        place = Place(os.path.abspath(options.weir), root)
        with place.serve() as server:
            if server.ask('sql', method='POST', body=b'select 1')[0] == 503:
                print('1..0 # SKIP the engine is missing')
                return 0
            trial = Trial(options, attack, place, server)
            for kind, text in statements(options):
                trial.run(kind, text)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return attack.end()


sys.exit(main())
