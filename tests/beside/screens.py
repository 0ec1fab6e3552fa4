#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screens.py WEIR: what commands show of the tables beside calls, against plain loops over their rows, at 80 and 200 columns of
a terminal. Needs root, fio, and a disk under the folder for temporary files. Speaks TAP."""
import collections
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap, columns_of  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
WORK = r"""
dd if=/dev/zero of=direct bs=64k count=64 oflag=direct 2>/dev/null
dd if=direct of=/dev/null bs=16k iflag=direct 2>/dev/null
dd if=/dev/zero of=synced bs=256k count=8 conv=fsync 2>/dev/null
for engine in io_uring libaio; do
    fio --name=$engine --filename=direct --size=4M --rw=randread --bs=4k --direct=1 --ioengine=$engine --iodepth=8 >/dev/null
done
$PYTHON -c "
import os
for i in range(3):
    with open('new', 'wb') as f:
        f.write(b'x' * 8192)
        os.fsync(f.fileno())
    os.rename('new', 'replaced')"
"""


def run(*args, **more):
    return subprocess.run([weir, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **more)


def document(*args):
    r = run(*args, '--json')
    if r.returncode:
        sys.exit(f'weir {" ".join(args)}: {r.stderr}')
    return json.loads(r.stdout)


def rows(*args):
    return document(*args)['rows']


def on_terminal(columns, *args):
    """The lines of a command on a terminal so wide, without colours; its exit status."""
    pid, fd = pty.fork()
    if not pid:
        os.environ |= {'WEIR_PAGER': 'cat', 'TERM': 'xterm', 'NO_COLOR': '1'}
        os.environ.pop('COLUMNS', None)
        time.sleep(0.05)  # until the size is set
        os.execv(weir, [weir, *args])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    text = b''
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', text.decode()).replace('\r', '').splitlines(), status


def covered(spans):
    """How much the spans cover together."""
    total, until = 0, 0
    for a, b in sorted(spans):
        total += max(0, b - max(a, until))
        until = max(until, b)
    return total


def disks(trace):
    both = [{r['disk']: r for r in rows(*c, '-i', trace)} for c in (('disks',), ('report', 'disks'))]
    tap.check('weir disks and report disks are one table', both[0] == both[1] and both[0], both)
    span = document('report', '-i', trace)['trace']['dur']
    wrong, loads = [], {}
    blocks = collections.defaultdict(list)
    for r in rows('query', '-i', trace, 'from block | select disk, kind, bytes, start, dur, d2c, origin'):
        blocks[r['disk']].append(r)
    for disk, got in both[0].items():
        all_of = blocks[disk]
        done = [r for r in all_of if r['dur'] is not None]
        busy = covered([(r['start'] + r['dur'] - (r['d2c'] if r['d2c'] is not None else r['dur']), r['start'] + r['dur']) for r in done])
        loads[disk] = (sum(r['dur'] for r in done) / span, busy / span)
        want = {'requests': len(all_of), 'flushes': sum(r['kind'] == 'flush' for r in all_of), 'time': sum(r['dur'] for r in done)}
        for kind, name in ('read', 'read'), ('write', 'written'):
            want[name] = sum(r['bytes'] for r in all_of if r['kind'] == kind)
        wrong += [f'{disk} {n}: {got[n]}, rows say {v}' for n, v in want.items() if got[n] != v]
        wrong += [f'{disk} {n}: {got[n]}, rows say {v}' for n, v in zip(('load', 'busy'), loads[disk]) if abs(got[n] - v) > 0.01 * v + 1e-3]
    tap.none('its figures are those of the rows of block', wrong)
    requests = collections.Counter()
    for r in rows('report', 'block', '-i', trace):
        requests[r['disk']] += r['requests'] if r['file'] == '(flush)' else 0
    flushes = {d: r['flushes'] for d, r in both[0].items()}
    tap.check('report block and report disks count the same flushes', {d: requests[d] for d in flushes} == flushes, requests, flushes)
    phases = rows('query', '-i', trace, "from block | where bytes == 0 and kind == write | select dur, q2g, g2i, i2d, d2c, origin, preflush")
    bad = [r for r in phases if None not in (r['q2g'], r['dur']) and (r['dur'] != sum(r[c] or 0 for c in ('q2g', 'g2i', 'i2d', 'd2c')) or
                                                          r['origin'] != 'preflush' or not r['preflush'])]
    tap.none('phases of writes without data add up, and they ask for a flush', bad)
    owners = [r for r in document('disks', '--top', '10000', '-i', trace)['tables']['owners']['rows']
              if os.path.basename(r['file'] or '') in ('new', 'replaced')]
    tap.check('a file replaced again and again by one process is one row of owners', len(owners) == 1 and owners[0]['written'] == 3 * 8192, owners)
    one = rows('disks', '-i', trace, '--where', 'comm == "dd"')
    owned = rows('sql', '-i', trace, 'SELECT count(*) n FROM block JOIN thread ON thread.id = block.thread_id WHERE task IN '
                 "(SELECT task FROM op JOIN thread ON thread.id = op.thread_id WHERE comm = 'dd')")[0]['n']
    tap.check('a selection takes the requests of its threads', owned and sum(r['requests'] for r in one) == owned, one, owned)
    lines, status = on_terminal(80, 'disks', '-i', trace, '--comm', 'nobody')
    tap.check('a selection without requests is answered in a line', status == 0 and 'belongs to a thread with selected calls' in lines[0], lines)


def threads(trace):
    """Requests overlap: their time is none of the thread's."""
    calls = collections.defaultdict(lambda: [0, []])
    for r in rows('query', '-i', trace, "where class in (data, meta, sync, net) | select tid, kind, start, dur"):
        if r['kind'] in ('io_uring', 'libaio'):
            calls[r['tid']][1].append((r['start'], r['start'] + r['dur']))
        else:
            calls[r['tid']][0] += r['dur']
    asynchronous = {tid: covered(spans) for tid, (_, spans) in calls.items() if spans}
    table = {r['tid']: r for r in rows('report', 'threads', '-i', trace)}
    tap.check('time with a request under way, by thread', asynchronous and
              {t: table[t]['async'] for t in asynchronous} == asynchronous, asynchronous, table)
    span = document('report', '-i', trace)['trace']['dur']
    tap.none('no thread has more time than there was', [r for r in table.values() if r['time'] + r['waiting'] > span * 1.01])
    lines, _ = on_terminal(200, 'report', '-i', trace)
    tap.check('the page has it', any('async I/O' in line for line in lines), *lines[:20])
    shares = [int(s) for line in lines for s in re.findall(r'(\d+) %', line)]
    tap.none('and no share over 100 %', [s for s in shares if s > 100])


def widths(trace):
    for columns in 80, 200:
        wrong = []
        for command in ['disks', 'stacks', 'report'] + [f'report {t}' for t in ('disks', 'block', 'net', 'phases', 'sched', 'irq', 'mem')]:
            lines, status = on_terminal(columns, *command.split(), '-i', trace)
            wrong += [f'{command}: {line}' for line in lines if columns_of(line) > columns and not line.startswith('weir:')]
            wrong += [f'{command}: exit {status}'] * (status != 0) + [f'{command}: prints nothing'] * (not lines)
        tap.none(f'screens fit into {columns} columns', wrong)


def top(trace):
    """Its line of a disk says what the table of disks says."""
    most = max(rows('disks', '-i', trace), key=lambda r: r['time'])
    pid, fd = pty.fork()
    if not pid:
        os.environ |= {'TERM': 'vt100', 'LINES': '30', 'COLUMNS': '120'}
        os.execv(weir, [weir, 'top', '-i', trace])
    text, until = b'', time.monotonic() + 30
    while b'sorted by' not in text and time.monotonic() < until:
        text += os.read(fd, 65536)
    os.write(fd, b'q')
    while True:
        try:
            if not os.read(fd, 65536):
                break
        except OSError:
            break
    os.close(fd)
    os.waitpid(pid, 0)
    shown = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', ' ', text.decode(errors='replace'))
    tap.check('top has the disks', re.search(rf'DISK +load.*\b{most["disk"]} +{most["load"]:.2f}\b', shown, re.S), most, shown)


def words(folder, trace):
    plain = folder + '/plain.trace'
    run('record', '-q', '-o', plain, '--', 'true')
    on = folder + '/on.trace'
    run('record', '-q', '--with', 'net,stacks', '-o', on, '--', 'true')
    cases = [
        (('disks', '-i', plain), 'recorded without block; use weir record --with block'),
        (('report', 'net', '-i', plain), 'recorded without net; use weir record --with net'),
        (('report', 'net', '-i', on), '--with net was on, and no recorded thread used a TCP connection'),
        (('stacks', '-i', plain), 'weir record --stacks'),
        (('trace', '--phases', '-i', plain), 'recorded without phases'),
        (('report', 'irq', '-i', trace, '--comm', 'dd'), 'a selection of calls does not apply'),
        (('record', '--with', 'blok', '--', 'true'), "unknown word 'blok'; did you mean block"),
        (('record', '--with', 'block,,net', '--', 'true'), 'empty word next to a comma'),
        (('record', '--stacks', 'slow', '--', 'true'), '--stacks=slow'),
        (('trace', '--with', 'block', '--', 'true'), 'use weir record, which stores it in a trace'),
        (('stat', '--phases', '--', 'true'), 'weir stat does not show phases'),
        (('query', '-i', plain, 'from net_sample | by file, every 1s | count()'), 'no comma before every'),
        (('record', '--help'), 'kind == fault'),
        (('report', '--help'), 'report stacks'),
    ]
    wrong = []
    for args, text in cases:
        r = run(*args, cwd=folder)
        wrong += [f'{" ".join(args)}: {r.stdout[:200]} {r.stderr}'] * (text not in ' '.join((r.stdout + r.stderr).split()))
    tap.none('what there is not, and what is wrong, is said', wrong)
    r = run('record', '--with', 'faults', '-o', folder + '/f.trace', '--', 'true')
    tap.check('record says how to see page faults', "--where 'kind == fault'" in r.stderr, r.stderr)
    good = [run('report', 'disks', '--sort', 'busy', '-i', trace), run('report', 'stacks', '--head', '3', '-i', on)]
    tap.check('options that are accepted', all(r.returncode == 0 for r in good), *(r.stderr for r in good))
    lines = run('trace', '-i', trace, '--where', 'kind == io_uring').stdout
    tap.check('lines of requests say so, with the position', re.search(r'\(io_uring, pos \d+\)', lines), lines[:300])


PING = r"""
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
a, b = os.pipe(), os.pipe()
child = os.fork()
for i in range(100000):
    if child:
        os.write(a[1], b'x')
        os.read(b[0], 1)
    else:
        os.read(a[0], 1)
        os.write(b[1], b'x')
"""


def lost(folder):
    """The recorder stands still for as long as the program makes more rows of sched than the ring holds."""
    trace = folder + '/lost.trace'
    with subprocess.Popen([weir, 'record', '-o', trace, '-e', 'openat', '--with', 'sched', '--', 'sh', '-c',
                           'kill -STOP $PPID; "$0" -c "$1"; kill -CONT $PPID', sys.executable, PING], stderr=subprocess.PIPE, text=True) as p:
        try:
            said = p.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGCONT)
            p.kill()
            said = p.communicate()[1]
    want = [r for r in document('report', '-i', trace)['loss'].get('beside', []) if r['cause'] == 'side_full']
    tap.check('rows of a table that were lost: its name, the number and the cause in --json', len(want) == 1 and
              want[0]['table'] == 'sched' and want[0]['rows'] > 0, want, said)
    number = f'{want[0]["rows"]:,}' if want else '?'
    counted = rows('query', '-i', trace, 'from loss | where cause == side_full | by of_table | sum(events) as n')
    tap.check('in the table loss', counted == [{'of_table': 'sched', 'n': want[0]['rows'] if want else 0}], counted)
    text = f'{number} rows of sched (they came faster than the recorder could read them'
    tap.check("in record's last lines", text in said and 'lost 0 calls' in said, said)
    for args in (), ('sched',):
        out = run('report', *args, '-i', trace).stdout
        tap.check(f'in report {" ".join(args)}', text in out.replace('\n', ' '), out[:600])


def main():
    if os.getuid() != 0:
        print('1..0 # SKIP needs root')
        return 0
    with tempfile.TemporaryDirectory(prefix='weir-screens-') as folder:
        trace = folder + '/a.trace'
        r = run('record', '-q', '--with', 'block,net,phases,sched,irq,mem', '-o', trace, '--', 'sh', '-c', WORK, cwd=folder, env=dict(os.environ, PYTHON=sys.executable))
        if r.returncode or not os.path.exists(trace):
            sys.exit(f'record: {r.stderr}')
        if not shutil.which('fio') or not rows('disks', '-i', trace):
            tap.skip('disks and threads', 'needs fio, and a disk under the folder for temporary files')
        else:
            disks(trace)
            threads(trace)
            top(trace)
        widths(trace)
        head = run('report', '-i', trace).stdout
        tap.check('the head of report shows how the command begins', "   sh -c '\\ndd if=/dev/zero of=direct" in head, head[:400])
        words(folder, trace)
        lost(folder)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
