#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines.py WEIR [SEED [COUNT]]: random pipelines, each asked with one thread and with three.

What the language takes, the engine answers, and the answer and its order do not depend on the number of threads.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

DUR = ['dur', 'held', 'dur * 2', 'dur / 3', 'stop - start', 'bucket(dur, 10us)', 'abs(dur)', 'log2(dur)',
       'if(ret < 0, dur, 1ms)', 'coalesce(held, 0ns)']
SIZE = ['bytes', 'size', 'pos', 'pos % 4096', 'bytes + size', 'bucket(pos, 1MiB)', 'log2(size)']
NUMBER = ['ret', 'fd', 'tid', 'cpu', 'len(comm)', 'hour(start)', 'minute(stop)', 'id(file)', 'ret * 2 - fd', 'ret / 3', 'pid',
          'bitand(ret, 7)', 'id(thread)']
TEXT = ['path', 'comm', 'dir(path)', 'base(path)', 'ext(path)', 'lower(comm)', 'text(op)', 'text(err)', 'exe', 'hostpath',
        'coalesce(path, "x")', 'text(dur)', 'text(file)', 'peer', 'fs', 'host', 'cgroup', 'text(bytes)', 'text(flags)']
OTHER = ['file', 'thread', 'process', 'file2', 'op', 'err', 'class', 'kind', 'file_type', 'flags', 'status', 'a0', 'ino',
         'bitand(flags, 3)', 'start', 'bucket(stop, 10ms)']


class Drawn:
    """Pipelines from one seed."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = 0

    def name(self):
        self.names += 1
        return f'x{self.names}'

    def maybe(self, chance):
        return self.r.random() < chance

    def condition(self, depth=1):
        one = self.r.choice
        if depth and self.maybe(.25):
            return f"({self.condition(depth - 1)}{one([' && ', ' || '])}{self.condition(depth - 1)})"
        return one([
            lambda: f'!({self.condition(0)})',
            lambda: one(DUR) + one([' > ', ' <= ', ' != ']) + one(DUR + ['10us', '1ms']),
            lambda: one(SIZE) + one([' > ', ' == ']) + one(SIZE + ['4KiB', '4096']),
            lambda: one(TEXT + ['file', 'thread']) + one([' ~ "*a*"', ' =~ "a.b"', ' like "%a%"', ' == "x"', ' != "fio"',
                                                         ' in ("a", "fio")', ' is null']),
            lambda: one(['op == read', 'op in %file', 'err == ENOENT', 'class != wait', 'op ~ "*at"', 'kind == syscall']),
            lambda: one(NUMBER) + one([' > 3', ' in 1..100', ' in (1, 2, 3)', ' is not null']),
            lambda: one(['flags has O_CREAT', 'status has slept', 'flags has O_RDWR', 'bitand(flags, 3) == 1']),
            lambda: 'start > "2020-01-01Z"',
        ])()

    def key(self):
        return self.r.choice(self.r.choice([DUR, SIZE, NUMBER, TEXT, OTHER, [self.condition(0)]]))

    def aggregate(self):
        """An aggregate, and whether its values have an order."""
        k = self.r.choice(DUR + SIZE)
        ordered = [f'sum({k})', f'avg({k})', f'min({k})', f'max({k})', f'stddev({k})', f'p99({k})', 'count()', 'rate()',
                   f'rate({k})', f'countif({self.condition(0)})', f'distinct({self.key()})', f'first({self.key()})',
                   f'last({self.key()})', f'min({self.r.choice(TEXT)})', 'max(start)', f'count({self.key()})',
                   f'sum({k}) / count()', f'countif({self.condition(0)}) * 100 / count()', f'max({k}) - min({k})']
        if self.maybe(.1):
            return self.r.choice([f'hist({k})', f'quantize({k})']), False
        return self.r.choice(ordered), True

    def groups(self):
        keys = [(self.key(), self.name()) for _ in range(self.r.randrange(3))]
        window = self.maybe(.3)
        aggregates = [(*self.aggregate(), self.name()) for _ in range(self.r.randrange(1, 4))]
        by = (f"by {', '.join(f'{k} as {n}' for k, n in keys)}" if keys else '') + \
            (f" every {self.r.choice(['10ms', '1s'])}" if window else '')
        stages = [by.strip()] if by else []
        stages.append(', '.join(f'{a} as {n}' for a, _, n in aggregates))
        fields = [n for _, n in keys] + [n for *_, n in aggregates]
        plain = [n for _, n in keys] + [n for _, ordered, n in aggregates if ordered]
        if plain and self.maybe(.3):
            stages.append(f'where {self.r.choice(plain)} is not null')
        if plain and self.maybe(.4):
            stages.append(f"sort {self.r.choice(plain)}{self.r.choice([' desc', ''])}")
        if self.maybe(.4):
            stages.append(self.r.choice(['head 5', 'tail 3']))
        if plain and self.maybe(.25):
            stages += [f'by {self.r.choice(plain)} as again', 'count() as n', 'select again, n * 2 as twice']
        elif self.maybe(.3):
            stages.append('select ' + ', '.join(self.r.sample(fields, self.r.randrange(1, len(fields) + 1))))
        return stages

    def pipeline(self):
        stages = [self.condition()] if self.maybe(.5) else []
        if self.maybe(.2):
            stages.append(f'sort {self.r.choice(DUR)} desc')
        if self.maybe(.2):
            stages.append(f'head {self.r.randrange(1, 500)}')
        if self.maybe(.75):
            return ' | '.join(stages + self.groups())
        if self.maybe(.5):
            stages.append('select ' + ', '.join(f'{self.key()} as {self.name()}' for _ in range(self.r.randrange(1, 4))))
        return ' | '.join(stages + [self.r.choice(['head 5', 'tail 3'])])


def same(a, b):
    """Sums of fractions depend on their order in the last digits."""
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def ask(weir, folder, trace, query, *options):
    r = subprocess.run([weir, 'query', '--json', *options, '-i', trace, query], cwd=folder,
                       capture_output=True, timeout=300, env=dict(os.environ, TZ='UTC'))
    if r.returncode:
        return None, r.stderr.decode(errors='replace').strip()[:400] or f'status {r.returncode}'
    return json.loads(r.stdout)['rows'], None


def main():
    weir = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 120 if len(sys.argv) > 2 else 40  # of one seed, or of each that tools/soak gives
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../out/lib/libduckdb.so')
    if not os.environ.get('WEIR_DUCKDB') and not os.path.exists(here):
        print("1..1\nok 1 # SKIP DuckDB's library is not there")
        return
    drawn = Drawn(seed)
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'synth', '-o', 'w.trace', '--rows', '5000', '--seed', '5'], cwd=folder, check=True,
                       capture_output=True)
        subprocess.run([weir, 'synth', '-o', 'h.trace', '--profile', 'hostile', '--rows', '5000', '--seed', '7'], cwd=folder,
                       check=True, capture_output=True)
        fixed = [
            # rows are left out on the way, and with them their texts
            ('w.trace', 'select text(start) as t, dur, path | sort dur desc, t | head 7'),
            # calls stand in another order than they ended
            ('h.trace', 'where start is not null | by tid | first(start) as a, last(start) as b, last(op) as c | sort tid'),
        ]
        for trace, query in fixed + [('w.trace', drawn.pipeline()) for _ in range(count - len(fixed))]:
            one, why = ask(weir, folder, trace, query, '--threads', '1')
            three, why_three = ask(weir, folder, trace, query, '--threads', '3')
            if why or why_three:
                bad.append(f'{query}: {why or why_three}')
            elif not same(one, three):
                bad.append(f'{query}: {one[:3]} ... with one thread, {three[:3]} ... with three')
    print(f'1..1\n# seed {seed}')
    print('not ok' if bad else 'ok', f'1 - {count} random pipelines are answered, the same with one thread and three')
    for line in bad:
        print('#', line)
    sys.exit(bool(bad))


main()
