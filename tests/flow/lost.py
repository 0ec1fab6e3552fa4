#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lost.py WEIR MANY THIN MARK: edges of traces of which calls were lost, one by one or in bursts, against those of the whole trace:
none that is certain is wrong, and where content is recorded unix sockets and pipes are followed again behind each loss. TAP."""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
from hosts import ORIGIN, line  # noqa: E402
from tap import Tap  # noqa: E402

weir, many, thin, mark = map(os.path.abspath, sys.argv[1:5])
tap = Tap()
CALLS = 40000


def run(*args, text=None):
    return subprocess.run(args, input=text, capture_output=True, text=True, check=True, timeout=120).stdout


def edges_of(trace):
    """{(via, from, to): certainty}; a call is its thread and its time."""
    document = json.loads(run(weir, 'flow', trace, '--list', '--json'))
    at = int(document['origin'])
    return {(r['via'], (r['from_tid'], r['from_call'], r['from_start'] + at), (r['to_tid'], r['to_call'], r['to_end'] + at)): r['certainty']
            for r in document['tables']['list']['rows']}


def compare(name, found, truth, least):
    """Of the true edges over streams whose calls are both there, `least` of 100 are certain. An edge between other calls is wrong."""
    wrong = [e for e, certainty in found.items() if certainty == 'certain' and e not in truth]
    tap.none(f'{name}: none that is certain is wrong', wrong[:5])
    over = [e for e in truth if e[0] in ('stream', 'pipe') and e in found]
    certain = sum(found[e] == 'certain' for e in over)
    tap.check(f'{name}: {certain} of {len(over)} edges over streams are certain', least * len(over) <= 100 * certain)


def thinned(folder, kinds, bursts, least):
    whole = os.path.join(folder, 'whole.weir')
    if os.path.exists(whole):
        os.unlink(whole)
    run(many, whole, str(CALLS), '0', str(kinds))
    truth = edges_of(whole)
    tap.check(f'{kinds} kinds: all is certain while nothing is lost', set(truth.values()) == {'certain'})
    for burst in bursts:
        lost = os.path.join(folder, f'{kinds}-{burst}.weir')
        run(thin, whole, lost, '7', str(burst))
        found = edges_of(lost)
        here = {(e[i], i) for e in found for i in (1, 2)}
        compare(f'{kinds} kinds of data, {burst} calls lost at a time', found,
                {e: k for e, k in truth.items() if (e[1], 1) in here and (e[2], 2) in here}, least)


class Pipe:
    """A writer and a reader of a pipe; what they move is shared between calls as it comes. Content is the number of the first byte."""

    def __init__(self, name):
        self.rng = random.Random(name)
        self.at, self.free = ORIGIN + 10**6, ORIGIN
        self.rows, self.truth, self.held = [], set(), []
        self.head = line('host', id=0, name='alpha', boot='boot') + ''.join(
            line('process', id=i, pid=100 + i, host_id=0) +
            line('thread', id=i, task=i, tid=100 + i, tid_ns=100 + i, process_id=i, comm='pipe', pid_ns=1, net_ns=1) for i in range(2))
        self.head += line('file', id=0, inode=0, type='pipe', ino=50)
        self.rows.append((line('op', start=ORIGIN, dur=1000, thread_id=0, tid=100, op='pipe2', kind='syscall', file_id=0, file2_id=0, ret=0), ''))

    def call(self, way, size, content):
        start, self.at = self.at, self.at + 5000
        op, tid = ('write', 100) if way == 'out' else ('read', 101)
        row = line('op', start=start, dur=1000, thread_id=tid - 100, tid=tid, op=op, kind='syscall', file_id=0, bytes=size, ret=size)
        chunk = line('chunk', start=start, dur=1000, thread_id=tid - 100, file_id=0, way=way, form='buffer', call_pos=0, size=size,
                     hash=content, outcome='handled')
        self.rows.append((row, chunk))
        return start if way == 'out' else start + 1000

    def write(self, content=None):
        size = self.rng.randrange(1, 5000) if content is None else 100
        content = self.rng.getrandbits(62) if content is None else content
        start = self.call('out', size, content)
        self.held.append([('pipe', (100, 'write', start)), size, content, size])
        return size

    def read(self, most):
        """Reads whole what was written, or less, or of several writes."""
        size, owners, content = 0, [], None
        while self.held and size < most:
            writer, left, number, whole = self.held[0]
            taken = min(left, most - size)
            content = number if not size and taken == whole else (content or 0) + 1
            size += taken
            owners.append(writer)
            self.held[0][1] -= taken
            if not self.held[0][1]:
                del self.held[0]
        end = self.call('in', size, content)
        self.truth |= {(via, writer, (101, 'read', end)) for via, writer in owners}

    def lose(self, first, last, which):
        """The rows [first, last) for which it holds are lost, and that is recorded."""
        at = [int(self.rows[i][0].split('start=')[1].split('\t')[0]) for i in (first, last - 1)]
        self.rows[first:last] = [r for i, r in enumerate(self.rows[first:last]) if not which(i)]
        self.rows.append((line('loss', start=at[0], stop=at[1] + 1000, cause='ring_full', events=5), ''))

    def store(self, path):
        run(mark, '-', path, text=self.head + ''.join(chunk + row for row, chunk in self.rows))
        return path


def piped(folder):
    """Behind a loss two whole calls are anchors; what comes after them is followed by position, however it is divided."""
    for name, which in (('writes', lambda i: i % 2 == 0), ('reads', lambda i: i % 2), ('both', lambda i: i % 5 != 2)):
        p = Pipe(name)
        for _ in range(100):
            p.read(p.write())
        for _ in range(20):
            p.read(p.write())
        for _ in range(100):
            p.write()
            p.write()
            p.read(p.rng.randrange(1, 7000))
        p.lose(160, 190, which)
        found = edges_of(p.store(os.path.join(folder, f'{name}.weir')))
        compare(f'a pipe of which {name} are lost', found, p.truth, 90)


def repeated(folder):
    """Of contents that occur more than once none is an anchor: nothing behind the loss is certain."""
    p = Pipe('repeated')
    for i in range(200):
        p.read(p.write(i % 7))
    p.lose(150, 190, lambda i: i % 3 == 0)
    found = edges_of(p.store(os.path.join(folder, 'repeated.weir')))
    lost = ORIGIN + 10**6 + 150 * 5000
    tap.none('contents that repeat: none is certain from the loss on', [e for e, k in found.items() if k == 'certain' and e[2][2] > lost][:5])
    compare('contents that repeat', found, p.truth, 30)


with tempfile.TemporaryDirectory() as room:
    thinned(room, 10**9, (1, 50), 90)
    thinned(room, 30, (1, 50), 0)
    piped(room)
    repeated(room)
sys.exit(tap.end())
