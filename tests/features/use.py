#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""use.py WEIR: the table `use` against a plain recomputation from the calls of a synthetic and of a recorded trace, and
against what a program knows that it did. Speaks TAP."""
import bisect
import csv
import io
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
READS = {'fault', 'read', 'pread64', 'readv', 'preadv', 'preadv2', 'recvfrom', 'recvmsg', 'recvmmsg'}
WRITES = {'write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'sendto', 'sendmsg', 'sendmmsg', 'vmsplice'}
COPIES = {'sendfile', 'splice', 'copy_file_range'}
OPENS = {'open', 'openat', 'creat', 'openat2', 'socket', 'pipe', 'pipe2', 'memfd_create'}
PLACED = {'regular', 'block', 'unknown', ''}
LARGE = 1 << 62


def query(weir, trace, text):
    out = subprocess.run([weir, 'query', '-i', trace, text, '--csv'], capture_output=True, text=True, check=True).stdout
    return list(csv.DictReader(io.StringIO(out)))


def number(text):
    return int(text) if text != '' else None


class Ranges:
    """Disjoint [from, to) with owners, kept by the plainest of means."""
    def __init__(self):
        self.items = []

    def cut(self, low, high):
        """What was there, as ranges."""
        first = bisect.bisect_left(self.items, (low, 0, 0))
        while first > 0 and self.items[first - 1][1] > low:
            first -= 1
        last = first
        gone, kept = [], []
        while last < len(self.items) and self.items[last][0] < high:
            a, b, owner = self.items[last]
            if a < low:
                kept.append((a, low, owner))
            if b > high:
                kept.append((high, b, owner))
            if max(a, low) < min(b, high):
                gone.append((max(a, low), min(b, high), owner))
            last += 1
        self.items[first:last] = sorted(kept)
        return gone

    def put(self, low, high, owner=0):
        """The bytes that nobody had."""
        had = sum(b - a for a, b, _ in self.cut(low, high))
        bisect.insort(self.items, (low, high, owner))
        return high - low - had

    def total(self):
        return sum(b - a for a, b, _ in self.items)


class Use:
    SUMS = ('calls bytes time errors opens missing stats reads read_bytes small_reads tiny_reads end_reads reread writes '
            'write_bytes small_writes unread').split()

    def __init__(self):
        for name in self.SUMS:
            setattr(self, name, 0)
        self.read_first = self.write_first = None
        self.read_stop = self.write_stop = 0
        self.fresh, self.covered, self.written = Ranges(), Ranges(), Ranges()

    def read(self, file, row, pos, placed):
        bytes_, size = int(row['bytes']), number(row['size'])
        self.reads += 1
        self.read_bytes += bytes_
        self.small_reads += 0 < bytes_ < 4096
        self.tiny_reads += 0 < bytes_ <= 16
        self.end_reads += int(row['ret']) == 0 and size != 0
        if pos is None or not placed:
            return
        if self.read_first is None:
            self.read_first = pos
        if bytes_:
            self.read_stop = max(self.read_stop, pos + bytes_)
            self.reread += bytes_ - self.fresh.put(pos, pos + bytes_)
            self.covered.put(pos, pos + bytes_)
            file['unread'].cut(pos, pos + bytes_)

    def write(self, file, row, pos, placed, key):
        bytes_ = int(row['bytes'])
        self.writes += 1
        self.write_bytes += bytes_
        self.small_writes += 0 < bytes_ < 4096
        if pos is None or not placed or not bytes_:
            return
        if self.write_first is None:
            self.write_first = pos
        self.write_stop = max(self.write_stop, pos + bytes_)
        self.written.put(pos, pos + bytes_)
        file['unread'].put(pos, pos + bytes_, key)
        self.spoil(file, pos, pos + bytes_)

    @staticmethod
    def spoil(file, low, high):
        """Nobody has read these bytes since they were written."""
        for other in file['uses']:
            other.fresh.cut(low, high)


def recompute(weir, trace):
    """Uses by (process, inode), of files that have one, or are no files; and what tests need of files."""
    threads = {r['id']: r['process_id'] for r in query(weir, trace, 'from thread | select id, process_id')}
    files = {r['id']: r for r in query(weir, trace, 'from file | select id, inode, type, name_only')}
    states, uses = {}, {}
    columns = 'op, thread_id, file_id, file2_id, ret, err, bytes, size, pos, pos2, dur, class, flags'

    def use_of(process, inode):
        file = states.setdefault(inode, {'unread': Ranges(), 'uses': []})
        if (process, inode) not in uses:
            uses[process, inode] = Use()
            file['uses'].append(uses[process, inode])
        return uses[process, inode], file

    for row in query(weir, trace, f'select {columns}'):
        if row['file_id'] == '':
            continue
        op, ok = row['op'], row['ret'] != '' and int(row['ret']) >= 0
        ends = [(row['file_id'], row['pos'])]
        if op in COPIES and row['file2_id'] != '':
            ends.append((row['file2_id'], row['pos2']))
        for place, (id_, pos) in enumerate(ends):
            inode, type_ = files[id_]['inode'], files[id_]['type']
            key = threads[row['thread_id']], inode
            use, file = use_of(*key)
            if place == 0 or inode != files[ends[0][0]]['inode']:
                use.errors += row['err'] != ''
                use.bytes += int(row['bytes']) if op in READS | WRITES | COPIES else 0
                use.calls += row['class'] != 'wait'
                use.time += int(row['dur']) if row['class'] != 'wait' else 0
            use.missing += row['err'] == 'ENOENT'
            if op in ('accept', 'accept4'):
                if ok and row['file2_id']:
                    use_of(key[0], files[row['file2_id']]['inode'])[0].opens += 1
            use.opens += ok and op in OPENS
            use.stats += op in ('stat', 'fstat', 'lstat', 'newfstatat', 'statx', 'access', 'faccessat', 'faccessat2')
            if not ok:
                continue
            reads = op in READS or (op in COPIES and (place == 1) == (op == 'sendfile'))
            if reads:
                use.read(file, row, number(pos), type_ in PLACED)
            elif op in WRITES | COPIES:
                use.write(file, row, number(pos), type_ in PLACED, key)
            elif op in ('ftruncate', 'truncate') or (op in ('open', 'openat') and 'O_TRUNC' in row['flags']):
                size = int(row['size'] or 0) if 'trunc' in op else 0
                file['unread'].cut(size, LARGE)
                use.spoil(file, size, LARGE)
    for inode, file in states.items():
        for low, high, key in file['unread'].items:
            uses[key].unread += high - low
    return uses, files, states


def compare(tap, name, weir, trace):
    """Every sum of every use that can be had without following names."""
    want, files, states = recompute(weir, trace)
    have = {}
    for row in query(weir, trace, 'from use | select *'):
        inode = files[row['file_id']]['inode'] if row['file_id'] else None
        have[row['process_id'], inode] = row
    bad, checked, exact = [], 0, 0
    for key, use in want.items():
        row = have.get(key)
        if row is None:
            if files[key[1]]['name_only'] != '1':
                bad.append(f'{key}: no row')
            continue
        checked += 1
        exact += row['inexact'] == '0'
        sums = {s: getattr(use, s) for s in Use.SUMS}
        sums |= {'read_covered': use.covered.total(), 'write_covered': use.written.total(),
                 'read_first': use.read_first, 'write_first': use.write_first}
        if use.read_first is not None and use.read_stop:
            sums['read_stop'] = use.read_stop
        if use.write_first is not None:
            sums['write_stop'] = use.write_stop
        for column, value in sums.items():
            if row['inexact'] == '1' and column in ('reread', 'read_covered', 'write_covered', 'unread'):
                continue
            if number(row[column]) != value:
                bad.append(f'{key} {column}: {row[column]}, want {value}')
    tap.check(f'{name}: every use is as recomputed', not bad, f'{len(bad)} of {checked} uses', *bad[:20])
    tap.check(f'{name}: ranges are exact', exact == checked and checked > 10, f'{exact} of {checked}')
    return have


def truth(tap, weir, folder):
    """A program that prints, as `path<TAB>column<TAB>value`, what it did."""
    trace = os.path.join(folder, 'truth.weir')
    with open(os.path.join(folder, 'before'), 'wb') as f:
        f.write(b'x' * 5000)
    told = subprocess.run([weir, 'record', '-q', '-o', trace, '--', sys.executable, '-ISB', os.path.join(HERE, 'use_truth.py'),
                           folder], capture_output=True, text=True, check=True).stdout
    rows = {}
    for row in query(weir, trace, f'from use | where path ~ "{folder}/**" | select path, *'):
        rows.setdefault((os.path.basename(row['path']), row['process_id']), []).append(row)
    by_name = {}
    for (name, _), list_ in rows.items():
        by_name.setdefault(name, []).extend(list_)
    lost = query(weir, trace, 'from loss | count()')
    tap.check('no call is lost', lost[0]['count'] == '0', lost)
    for line in told.splitlines():
        name, process, column, value = line.split('\t')
        of_name = by_name.get(name, [])
        first = min((int(r['process_id']) for r in of_name), default=-1)
        found = [r for r in of_name if (int(r['process_id']) == first) == (process == '')]
        have = [r[column] for r in found]
        tap.check(f'{name}: {column} is {value}', value in have, f'have {have}', f'rows {len(found)}')
    return trace


def main():
    weir = os.path.realpath(sys.argv[1])
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        synth = os.path.join(folder, 'synth.weir')
        subprocess.run([weir, 'synth', '-q', '-o', synth, '--rows', '60000', '--seed', '7'], check=True)
        compare(tap, 'synthetic', weir, synth)
        if os.geteuid() == 0:
            trace = truth(tap, weir, os.path.realpath(folder))
        else:
            tap.skip('recorded', 'needs root to record')
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
