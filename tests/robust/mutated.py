#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutated.py WEIR [--seed N] [--cases N] [--case I] [--workload PROGRAM]: damaged traces before every command that reads one.

Each case damages one of a few traces in a way that seed and number choose, and gives it to some of the commands; every
SERVE_EVERYth to `weir serve`. A finding is a crash, a hang, a report of a sanitizer, or silent damage: an answer that
differs from that to the whole trace while nothing says so. Half of the cases have their checksums put right again, so that
what lies behind them is reached; there any answer is right. A damaged trace that led to a finding is kept in --keep.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'server')]
from attack import Attack  # noqa: E402
from client import Serve  # noqa: E402

SERVE_EVERY = 40
COMMANDS_EACH = 3
HEADER, BLOCK, ENTRY = 64, 64, 48  # bytes: docs/FORMAT.md
BLOCKS_MAX = 4096
PIPELINE = 'by op | count(), sum(dur), sum(bytes)'
SQL = 'select op, count(*) n, sum(dur) d, sum(bytes) b from op group by all order by all'
COMMANDS = {
    'report': ['report', '-i', 'TRACE'],
    'report ops': ['report', 'ops', '--json', 'TRACE'],
    'report files': ['report', 'files', '--json', 'TRACE'],
    'query': ['query', '--json', PIPELINE, 'TRACE'],
    'query rows': ['query', '--json', 'select start, op, dur, ret, path, peer, comm, exe', 'TRACE'],
    'sql': ['sql', '--json', SQL, 'TRACE'],
    'trace -i': ['trace', '-i', 'TRACE'],
    'diff': ['diff', 'WHOLE', 'TRACE'],
    'diagnose': ['diagnose', '--json', '--fresh', 'TRACE'],
    'diagnose kept': ['diagnose', '--json', 'TRACE'],
    'requests': ['requests', '--json', 'TRACE'],
    'requests log': ['requests', '--json', '--log', '--name', '*', 'TRACE'],
    'periods': ['periods', '--json', 'w : op == openat : op == close && fd == begin.ret : path = begin.path', '-i', 'TRACE'],
    'flow': ['flow', '--json', 'TRACE'],
    'flow list': ['flow', '--json', '--list', 'TRACE'],
    'flow of': ['flow', '--json', '--of', 'op == read || op == write', 'TRACE'],
    'flow groups': ['flow', '--json', '--groups', '--list', 'TRACE'],
    'flow of files': ['flow', '--json', '--groups', '--by', 'file', 'TRACE'],
    'flow order': ['flow', '--json', '--order', 'TRACE'],
    'flow of hosts': ['flow', '--json', '-i', 'OTHER', '-i', 'TRACE'],
    'query of hosts': ['query', '--json', 'by host, op | count(), sum(dur)', '-i', 'OTHER', '-i', 'TRACE'],
    'stacks': ['stacks', '--json', 'TRACE'],
    'disks': ['disks', '--json', 'TRACE'],
    'export': ['export', 'TRACE'],
    'export perfetto': ['export', '--perfetto', 'TRACE'],
    'export profiles': ['export', '--otlp-profiles', 'TRACE'],
    'annotate list': ['annotate', '--list', 'TRACE'],
    **{f'report {table}': ['report', table, '--json', 'TRACE'] for table in 'block net sched irq mem content'.split()},
    **{f'rows of {table}': ['query', '--json', f'from {table}', 'TRACE'] for table in (
        'block chunk detail edge loss mark net net_sample note period sched span span_op stack').split()},
}
KEEPING = 'diagnose', 'diagnose kept'  # they append what they computed
OF_MORE = {'requests tree': ['requests', '--json', '--tree', 'slowest', '--overlap', 'TRACE'],
           'report phases': ['report', 'phases', '--json', 'TRACE']}
MADE = {f'rows of {table}': ['query', '--json', f'from {table}', 'TRACE'] for table in 'fdlife finding habit'.split()}
OWN = {'more': OF_MORE, 'findings': OF_MORE | MADE,
       'annotated': {'own table': ['sql', '--json', 'select * from notes', 'TRACE'],
                     'own column': ['query', '--json', 'by note | count()', 'TRACE']}}
# Calls with content, spans, a lock, pipes and files, a few times over
RECORDED = """
for i in 1 2 3; do
	[ -r /dev/null/weir/begin:request ]
	dd if=/dev/zero of=a$i bs=4k count=4 conv=fsync 2>&1
	cat a$i | cat >b$i
	[ -r /dev/null/weir/note:key=$i ]
	flock b1 sleep 0.01
	[ -r /dev/null/weir/end:request ]
done"""
MORE = '--with=block,net,sched,phases,irq,mem,faults,details,stacks'
REQUESTS = [('trace', {}), ('overview', {'width': 100}), ('query', {'q': PIPELINE}), ('files', {}), ('lanes', {}), ('latency', {}),
            ('timeline', {'lanes': '0,1', 'width': 100}), ('op/1', {'near': 3}), ('op/1/next', {'same': 'op'}), ('file/0', {}),
            ('file/0/density', {}), ('explain', {'q': PIPELINE}), ('complete', {'q': 'comm == ', 'pos': 8})]
SANITIZER = re.compile(rb'ERROR: \w+Sanitizer|runtime error:|SUMMARY: \w+Sanitizer')
DAMAGE = re.compile(r'LOST|[Dd]amage|[Nn]ot closed|NOT CLOSED|not a weir trace|incomplete|cannot')

xxh = ctypes.CDLL('libxxhash.so.0')
xxh.XXH3_64bits.restype = xxh.XXH3_64bits_withSeed.restype = ctypes.c_uint64


def xxh3(data, seed=0):
    data = bytes(data)
    return xxh.XXH3_64bits_withSeed(data, ctypes.c_size_t(len(data)), ctypes.c_uint64(seed))


# ---- damage ----

def blocks(data):
    """(offset, length) of each block, as far as headers make sense"""
    at = HEADER
    while at + BLOCK <= len(data):
        header, payload = struct.unpack_from('<II', data, at + 24)
        if header < BLOCK or at + header + payload > len(data):
            break
        yield at, header + payload
        at += header + payload


def mend(data):
    """Checksums of the file header, and of blocks and their sections as far as these lie within the file."""
    if len(data) < HEADER:
        return
    struct.pack_into('<Q', data, 56, xxh3(data[:56]))
    mark = data[16:32]
    for at, _ in list(blocks(data))[:BLOCKS_MAX]:
        header, = struct.unpack_from('<I', data, at + 24)
        entries, = struct.unpack_from('<H', data, at + 40)
        data[at:at + 16] = mark
        for i in range(entries):
            place = at + BLOCK + i * ENTRY
            if place + ENTRY > at + header:
                break
            offset, length = struct.unpack_from('<II', data, place + 12)
            start = at + header + offset
            if start + length <= len(data):
                struct.pack_into('<Q', data, place + 40, xxh3(data[start:start + length]))
        field = at + BLOCK - 8
        struct.pack_into('<Q', data, field, xxh3(data[at + BLOCK:at + header], xxh3(data[at:field])))


def flip(rnd, data):
    for _ in range(rnd.choice([1, 1, 2, 8])):
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)


def overwrite(rnd, data):
    at = rnd.randrange(len(data))
    part = rnd.randbytes(rnd.choice([1, 4, 8, 64, 4096])) if rnd.random() < 0.6 else bytes(rnd.choice([8, 512, 4096]))
    data[at:at + len(part)] = part[:len(data) - at]


def number(rnd, data):
    """An extreme number in a block's header, where lengths and counts stand"""
    at, _ = rnd.choice(list(blocks(data)) or [(0, 0)])
    size = rnd.choice([1, 2, 4, 8])
    place = at + rnd.randrange(0, 64 + 48 * 6, size)
    if place + size <= len(data):
        value = rnd.choice([0, 1, (1 << 8 * size) - 1, 1 << 8 * size - 1, (1 << 8 * size - 1) - 1, rnd.getrandbits(8 * size)])
        data[place:place + size] = value.to_bytes(size, 'little')


def cut(rnd, data):
    del data[rnd.randrange(len(data)):]


def grow(rnd, data):
    data += rnd.randbytes(rnd.choice([1, 8, 64, 5000])) if rnd.random() < 0.5 else bytes(rnd.choice([1, 64, 70000]))


def move(rnd, data):
    """Blocks removed, repeated, swapped"""
    all_blocks = list(blocks(data))
    if len(all_blocks) < 2:
        return cut(rnd, data)
    pieces = [data[at:at + length] for at, length in all_blocks]
    i, j = rnd.randrange(len(pieces)), rnd.randrange(len(pieces))
    what = rnd.randrange(3)
    if what == 0:
        del pieces[i]
    elif what == 1:
        pieces.insert(i, pieces[j])
    else:
        pieces[i], pieces[j] = pieces[j], pieces[i]
    data[HEADER:] = b''.join(pieces)
    return None


DAMAGES = [flip, flip, overwrite, number, number, cut, grow, move]


class Bases:
    """The whole traces, in memory"""

    def __init__(self, weir, workload, folder):
        self.traces, self.names = [], []

        def make(name, *args):
            path = os.path.join(folder, name)
            done = subprocess.run([weir, *args[:1], '-q', '-o', path, *args[1:]], capture_output=True, cwd=folder, check=False)
            if os.path.exists(path):
                self.keep(name, path)
            elif args[0] == 'synth':
                raise RuntimeError(f'weir synth: {done.stderr.decode()}')
            return path

        mixed = make('mixed', 'synth', '--rows', '3000')
        make('hostile', 'synth', '--rows', '3000', '--profile', 'hostile')
        make('network', 'synth', '--rows', '500', '--profile', 'network')
        notes = ['annotate', '--name', 'notes', mixed, "select distinct path, 'a ''b''' as note, length(path) as n from op"]
        if subprocess.run([weir, *notes], capture_output=True, cwd=folder, check=False).returncode == 0:
            self.keep('annotated', mixed)
        self.other = os.path.join(folder, 'other')
        make('other', 'synth', '--rows', '500', '--profile', 'network', '--host', 'other', '--seed', '2')
        if os.geteuid() == 0:  # many small blocks
            work = [workload, 'many', folder] if workload else ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do ls /etc; sleep 0.3; done']
            make('recorded', 'record', '--', *work)
            more = make('more', 'record', MORE, '--content=bytes', '--', 'sh', '-c', RECORDED)
            make('hashed', 'record', '--content', '--', 'sh', '-c', RECORDED)
            for kept in (['diagnose'], ['requests', '--keep'], ['flow', '--keep'], ['periods', '--keep', 'w : op == openat : op == close', '-i']):
                subprocess.run([weir, *kept, more], capture_output=True, cwd=folder, check=False)
            self.keep('findings', more)

    def keep(self, name, path):
        with open(path, 'rb') as f:
            self.names.append(name)
            self.traces.append(f.read())


# ---- answers ----

def answer_of(out, err):
    """What was answered, and what was said of damage and loss"""
    text, said = out.decode(errors='replace'), err.decode(errors='replace')
    try:
        document = json.loads(text)
    except ValueError:
        lines = text.splitlines()
        return [x for x in lines if not DAMAGE.search(x)], said + '\n'.join(x for x in lines if DAMAGE.search(x))
    loss = json.dumps(document.pop('loss', None))
    rows = document.get('rows')
    if isinstance(rows, list):
        document['rows'] = sorted(map(json.dumps, rows))
    return document, said + loss


class Trial:
    def __init__(self, options, attack, folder):
        self.options, self.attack, self.folder = options, attack, folder
        self.weir = os.path.abspath(options.weir)
        with open(self.weir, 'rb') as f:
            self.seconds = 300 if b'__asan_init' in f.read() else 60
        self.commands = dict(COMMANDS)
        listed = subprocess.run([self.weir, 'help'], capture_output=True, text=True, check=True).stdout
        if re.search(r'^  check ', listed, re.M):
            self.commands['check'] = ['check', 'TRACE']
        self.bases = Bases(self.weir, options.workload and os.path.abspath(options.workload), folder)
        self.whole = [self.answers(i) for i in range(len(self.bases.traces))]

    def run(self, name, place, base):
        """status, standard output, standard error; status None where it did not end"""
        named = {'TRACE': 't.trace', 'WHOLE': os.path.join(self.folder, base), 'OTHER': self.bases.other}
        if name in KEEPING:
            named['TRACE'] = shutil.copy(os.path.join(place, 't.trace'), os.path.join(place, 'kept.trace'))
        words = [named.get(w, w) for w in self.commands_of(base)[name]]
        with subprocess.Popen([self.weir, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place) as p:
            try:
                out, err = p.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                p.kill()
                p.communicate()
                return None, b'', b''
        return p.returncode, out, err

    def commands_of(self, base):
        return self.commands | OWN.get(base, {})

    def answers(self, i):
        """What each command answers to a whole trace"""
        ret = {}
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            self.write(place, self.bases.traces[i])
            with open(os.path.join(self.folder, self.bases.names[i]), 'wb') as f:
                f.write(self.bases.traces[i])
            for name in self.commands_of(self.bases.names[i]):
                status, out, err = self.run(name, place, self.bases.names[i])
                if status != 0 and not (name == 'check' and status == 1):
                    raise RuntimeError(f'{name} of {self.bases.names[i]}: status {status}: {err.decode()[-300:]}')
                ret[name] = answer_of(out, err)
            ret['serve'] = self.serve(place)
        return ret

    @staticmethod
    def write(place, data):
        path = os.path.join(place, 't.trace')
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def serve(self, place):
        """Status of each request, and calls, sums and loss as /overview and /query have them; None where it was refused"""
        try:
            server = Serve(self.weir, 't.trace', folder=place)
        except RuntimeError as e:
            if SANITIZER.search(str(e).encode()):
                raise
            return None
        statuses, answers = {}, {}
        with server:  # what a sanitizer says at its end raises
            for path, params in REQUESTS:
                statuses[path], _, body = server.ask(path, timeout=self.seconds, **params)
                if statuses[path] == 200 and path in ('overview', 'query', 'trace'):
                    answers[path] = json.loads(body)
            statuses['sql'], _, _ = server.ask('sql', method='POST', body=SQL, timeout=self.seconds)
        loss = [answers[p].get('loss') for p in ('trace', 'overview', 'query') if p in answers]
        rows = sorted(map(json.dumps, answers.get('query', {}).get('rows', [])))
        return statuses, (rows, answers.get('overview', {}).get('totals')), json.dumps(loss)

    def damage(self, case):
        """which base, how it was damaged, whether its checksums were mended, and the bytes"""
        rnd = random.Random(f'{self.options.seed}/{case}')
        base = rnd.randrange(len(self.bases.traces))
        data = bytearray(self.bases.traces[base])
        how = []
        for _ in range(rnd.choice([1, 1, 1, 2, 3])):
            if data:
                damage = rnd.choice(DAMAGES)
                damage(rnd, data)
                how.append(damage.__name__)
        mended = rnd.random() < 0.5
        if mended:
            mend(data)
        names = rnd.sample(sorted(self.commands_of(self.bases.names[base])), COMMANDS_EACH)
        return base, ' '.join(how) + (' mended' if mended else ''), mended, bytes(data), names

    def case(self, case):
        base, how, mended, data, names = self.damage(case)
        free = mended or data == self.bases.traces[base]  # any answer is right
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            path = self.write(place, data)
            self.attack.tried('traces damaged')
            for name in names:
                self.attack.groups[name] = self.attack.groups.get(name, 0) + 1
                why = self.judge(name, base, free, *self.run(name, place, self.bases.names[base]))
                if why:
                    self.report(case, f'{name}: {why} ({self.bases.names[base]}: {how})', path)
            if case % SERVE_EVERY == 0 or self.options.serve:
                self.attack.groups['serve'] = self.attack.groups.get('serve', 0) + 1
                why = self.judge_serve(base, free, place)
                if why:
                    self.report(case, f'serve: {why} ({self.bases.names[base]}: {how})', path)

    def judge(self, name, base, free, status, out, err):
        if status is None:
            return f'did not end within {self.seconds} s'
        if status < 0 or status > 2 or SANITIZER.search(err):
            return f'status {status}: {err.decode(errors="replace")[-300:]}'
        answer, said = answer_of(out, err)
        if status or free or name == 'report':  # report's page has the size of the file
            return None
        if name == 'check':
            return 'exit status 0 of a damaged trace'
        if answer != self.whole[base][name][0] and said == self.whole[base][name][1]:
            return 'another answer than that to the whole trace, and no word of damage'
        return None

    def judge_serve(self, base, free, place):
        try:
            answers = self.serve(place)
        except (OSError, RuntimeError, ValueError) as e:
            return f'{type(e).__name__}: {e}'
        if answers is None:
            return None
        statuses, numbers, loss = answers
        bad = {path: s for path, s in statuses.items() if s >= 500 and s != 503}
        if bad:
            return f'answers {bad}'
        if not free and numbers != self.whole[base]['serve'][1] and loss == self.whole[base]['serve'][2]:
            return 'other numbers than those of the whole trace, and no word of damage'
        return None

    def report(self, case, why, path):
        o = self.options
        os.makedirs(o.keep, exist_ok=True)
        kept = shutil.copy(path, os.path.join(o.keep, f'mutated-{o.seed}-{case}.trace'))
        more = ['--workload', o.workload] if o.workload else []
        self.attack.found(f'{why}; kept as {kept}', os.path.join(HERE, 'mutated.py'), o.weir, '--seed', o.seed, '--case', case,
                          *more, *(['--serve'] if why.startswith('serve') else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weir')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--cases', type=int, default=100)
    parser.add_argument('--case', type=int, help='this one alone')
    parser.add_argument('--serve', action='store_true', help='each case before weir serve too')
    parser.add_argument('--workload', help='tests/programs/workload, to record a trace of it (root)')
    parser.add_argument('--keep', default=os.path.join(tempfile.gettempdir(), 'weir-found'))
    options = parser.parse_args()
    attack = Attack(options.seed)
    with tempfile.TemporaryDirectory(prefix='weir-mutated-') as folder:
        trial = Trial(options, attack, folder)
        cases = range(options.cases) if options.case is None else [options.case]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(trial.case, i) for i in cases]:
                done.result()
    print(f'# {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB at most in one process')
    return attack.end()


if __name__ == '__main__':
    sys.exit(main())
