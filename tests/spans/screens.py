#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screens.py WEIR MARK FOLDER [--update | --story]: the screens of `weir requests` at 80 and 200 columns over a made-up trace: a shop whose slow
requests wait for a disk, some for a lock. Texts in FOLDER.
With --story only the rows are printed, for the test of the pages. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap, columns_of, run_plain, text_of  # noqa: E402

weir, mark, folder = map(os.path.abspath, sys.argv[1:4])
update = '--update' in sys.argv
tap = Tap()
ORIGIN = 1_795_000_000_000_000_000
US, MS = 1_000, 1_000_000


class Story:
    def __init__(self):
        self.lines, self.ends, self.number = [], [], 0

    def row(self, table, **fields):
        text = '\t'.join((table, *(f'{k}={v}' for k, v in fields.items() if v is not None))) + '\n'
        self.lines.append((fields.get('start', 0) + (fields.get('dur') or 0), text))

    def call(self, at, dur, op, what, file=None, thread=0, **more):
        self.row('op', start=at, dur=dur, thread_id=thread, tid=100 + thread, kind='syscall', op=op, file_id=file, ret=0, **{'class': what}, **more)
        return at + dur

    def span(self, start, stop, name, parent=None, thread=0, status='ok', **attributes):
        self.row('span', start=start, dur=None if status == 'running' else stop - start, number=self.numbered(), parent=parent, name=name,
                 service='shop', span_kind='server', span_status=status, source='weir', thread_id=thread, trace_id=f'{self.number:032x}',
                 span_id=f'{self.number:016x}', attributes=json.dumps(attributes) if attributes else None)

    def numbered(self):
        self.number += 1
        return self.number


def request(s, i, start):
    """A checkout: mostly the program and a query from the cache; each 25th waits for the disk, each 40th for a lock"""
    disk, locked = i % 25 == 24, i % 40 == 39
    number = s.numbered()
    at = s.call(start + 200 * US + i % 7 * 10 * US, 20 * US, 'recvfrom', 'net', 1, bytes=300)
    at += 1500 * US + i % 11 * 40 * US
    if locked:
        at = s.call(at, 9 * MS, 'futex', 'wait', a0=4096, a1=128, waker_id=1, runq=2 * MS)
    query = at
    for k in range(4 if disk else 2):
        at = s.call(at + 50 * US, 15 * MS + k * MS if disk else 300 * US, 'pread64', 'data', 2, bytes=16384, pos=k * 16384,
                    io_wait=14 * MS if disk else None, io_queued=12 * MS if disk else None, io_device=2 * MS if disk else None,
                    cpu_time=MS if disk else None, sleep=0 if disk else None, runq=0 if disk else None)
        if disk:
            s.row('block_part', start=at - 14 * MS, dur=13 * MS, request=i * 4 + k, disk='sda', kind='read', file_id=2, bytes=16384, thread_id=0,
                  via='current', origin='file', requests=1)
    s.span(query, at + 30 * US, 'db.query orders', number)
    at = s.call(at + 700 * US, 80 * US, 'sendto', 'net', 1, bytes=4000)
    stop = at + 100 * US
    s.row('span', start=start, dur=stop - start, number=number, name='checkout', service='shop', span_kind='server',
          span_status='error' if i == 77 else 'ok', source='weir', thread_id=0, trace_id=f'{number:032x}', span_id=f'{number:016x}',
          attributes=json.dumps({'customer': 'new' if disk else 'known', 'items': i % 4}))
    return stop + 500 * US


def story():
    s = Story()
    s.row('thread', id=0, task=0, tid=100, comm='shop', process_id=0)
    s.row('thread', id=1, task=1, tid=101, comm='shop-cache', process_id=0)
    s.row('process', id=0, pid=100, exe='/usr/bin/shop')
    s.row('file', id=1, inode=1, type='socket', path='socket:[7]')
    s.row('file', id=2, inode=2, type='regular', path='/srv/shop/orders.ibd')
    at = ORIGIN
    for i in range(200):
        at = request(s, i, at)
    for i in range(30):
        start = at + i * 400 * US
        end = s.call(start + 20 * US, 250 * US + i * US, 'fsync', 'sync', 2, thread=1)
        s.span(start, end + 20 * US, 'flush', thread=1)
    s.span(at, at, 'flush', thread=1, status='running')
    s.call(at + 13 * MS, MS, 'nanosleep', 'wait', thread=1)
    return ''.join(text for _, text in sorted(s.lines, key=lambda e: e[0]))


VIEWS = (('names', ()), ('log', ('--log', '--top', '6')), ('tree', ('--tree', 'slowest', '--name', 'checkout')), ('stats', ('--stats',)),
         ('freq', ('--freq', '--name', 'checkout')), ('by', ('--freq', '--by', 'attr.customer')),
         ('compare', ('--compare', '--name', 'checkout')), ('clusters', ('--clusters', '--name', 'checkout')))


def main():
    with tempfile.TemporaryDirectory(prefix='weir-requests-') as work:
        subprocess.run((mark, '-', 't.trace'), input=story(), text=True, cwd=work, check=True)
        for name, args in VIEWS:
            for width in (80, 200):
                out, err, code = run_plain(weir, ('requests', '-i', 't.trace', *args), work, COLUMNS=str(width))
                text = text_of(out, err, code)
                tap.check(f'{name}: no line is wider than {width}', all(columns_of(line) <= width for line in text.splitlines()),
                          *(line for line in text.splitlines() if columns_of(line) > width))
                tap.golden(f'{name} at {width}', f'{folder}/{name}-{width}.txt', text, update)
        with_long = story().replace('\tnumber=', '\tnumber=91234567890123')
        subprocess.run((mark, '-', 'long.trace'), input=with_long, text=True, cwd=work, check=True)
        wide = [(args, width, line) for args in ((), ('--clusters', '--name', 'checkout')) for width in range(126, 190, 3)
                for line in text_of(*run_plain(weir, ('requests', '-i', 'long.trace', *args), work, COLUMNS=str(width))).splitlines()
                if columns_of(line) > width]
        tap.none('names and clusters: nor at widths between, and with long numbers', wide)
    return tap.end()


if '--story' in sys.argv:
    print(story(), end='')
else:
    sys.exit(main())
