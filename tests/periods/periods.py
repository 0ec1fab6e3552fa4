#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""periods.py WEIR [--record]: `weir periods` against a matcher of plain loops over the rows of `weir query`, by hash against by
comparing all, what is stored against what is printed, LTTng's syntax against ours, wrong definitions, and with --record a program
that knows how many there are. Speaks TAP."""
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import termios

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp(prefix='weir-periods-')
tap = Tap()
LEAST = -(1 << 63)
# causes that stand for calls that are missing
CALLS_LOST = {'ring_full', 'recursion', 'compat', 'unpaired', 'storage_full', 'thread_gap', 'disk_full', 'torn', 'corrupt', 'decode',
              'write_failed', 'cpu_online'}
COLUMNS = ('start dur stop thread_id tid cpu op ret err bytes size fd fd2 file_id status comm pid id(thread)as_thread id(process)as_process '
           'id(file)as_file id(file2)as_file2').split()


def run(*args):
    return subprocess.run([weir, *args], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)


def document(*args):
    p = run(*args)
    if p.returncode:
        raise RuntimeError(f'weir {" ".join(args)}: {p.stderr}')
    return json.loads(p.stdout)


def on_terminal(columns, *args):
    """The lines that a command prints on a terminal so wide."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (50, columns))
    env = {'PATH': os.environ['PATH'], 'WEIR_PAGER': 'cat', 'TERM': 'xterm', 'NO_COLOR': '1'}
    env |= {k: v for k, v in os.environ.items() if k == 'WEIR_DUCKDB'}
    with subprocess.Popen([weir, *args], cwd=folder, stdin=its, stdout=its, stderr=subprocess.DEVNULL, env=env):
        os.close(its)
        text = b''
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:
                break
    os.close(ours)
    return text.decode().replace('\r', '').splitlines()


def periods(trace, *args):
    return document('periods', '--json', '-i', trace, *args)


def rows_of(trace):
    """The calls of a trace in its order, times since the epoch."""
    select = ', '.join(c.replace(')as_', ') as ') for c in COLUMNS)
    d = document('query', '--json', '-i', trace, f'from op | select {select}, status has unfinished as running')
    origin, before = int(d['origin']), LEAST
    for r in d['rows']:
        if r['start'] is not None:
            r['start'] += origin
        r['end'] = before if r['start'] is None or r['dur'] is None else r['start'] + r['dur']
        before = r['end']
    # what has no time of its own ended before the next row that has
    after = LEAST
    for r in reversed(d['rows']):
        if r['start'] is None or r['dur'] is None:
            r['end'] = max(r['end'], after - 1) if after != LEAST else r['end']
        else:
            after = r['end']
    return d['rows'], origin


def losses_of(trace):
    d = document('query', '--json', '-i', trace, 'from loss | where of_table is null | select start, stop, cause, events, '
                 'id(thread) as thread')
    origin = int(d['origin'])
    for r in d['rows']:
        if r['cause'] in CALLS_LOST and r['events'] != 0:
            yield r['start'] + origin, r['start'] + origin, r['thread']
            yield max(r['start'], r['stop']) + origin, r['start'] + origin, r['thread']


def eq(a, b):
    """Null equals nothing."""
    return a is not None and b is not None and a == b


def number_eq(a, b, *what):
    """Equal numbers of equal things."""
    return all(eq(a[x], b[y]) for x, y in what)


class Definition:
    """A definition as weir has it, and as functions of (event, parents) and (event, begin, parents)."""
    def __init__(self, name, text, begin, end, parent=None, enters=(False, False), captures=(), last=False):
        self.name, self.text, self.begin, self.end, self.parent, self.last = name, text, begin, end, parent, last
        self.enters, self.captures = enters, captures


class Open:
    def __init__(self, definition, row, at, parent):
        self.definition, self.row, self.at, self.parent, self.children, self.closed = definition, row, at, parent, [], False
        self.around = [parent.row, *parent.around] if parent else []


def match(rows, losses, definitions):
    """Every pair of open period and event is compared: (name, start, dur, status, start of the parent, captures)."""
    events = []
    for row in rows:
        for i, d in enumerate(definitions):
            for is_end in (True, False):
                enter = d.enters[is_end]
                if (enter and row['start'] is None) or (not enter and row['running']):
                    continue
                order = len(definitions) - 1 - i if is_end else len(definitions) + i
                events.append((row['start'] if enter else row['end'], -1 if row['thread_id'] is None else row['thread_id'],
                               LEAST if row['start'] is None else row['start'], not enter, order, d, is_end, row))
    events.sort(key=lambda e: e[:5])
    opened, found, cuts = [], [], sorted(losses, key=lambda c: c[0])

    def close(o, at, status, end=None):
        for c in list(o.children):
            if not c.closed:
                close(c, at, 'cut' if status != 'running' else status)
        o.closed = True
        captures = {k: f(o.row, end, o.around) for k, f, late in o.definition.captures if end or not late}
        found.append((o.definition.name, o.at, None if status == 'running' else max(at - o.at, 0), status,
                      o.parent.at if o.parent else None,
                      tuple(sorted((k, v) for k, v in captures.items() if v is not None))))

    def lose(until):
        while cuts and cuts[0][0] <= until:
            _, known, thread = cuts.pop(0)
            for o in opened:
                if not o.closed and (thread is None or eq(o.row['thread'], thread)):
                    close(o, known, 'cut')

    for at, _, _, _, _, d, is_end, row in events:
        if cuts and cuts[0][0] <= at:
            lose(at)
        if is_end:
            for o in [o for o in opened if o.definition is d and d.end(row, o.row, o.around)]:
                if not o.closed:
                    close(o, at, 'unset', row)
        elif d.parent is None:
            if d.begin(row, []):
                opened.append(Open(d, row, at, None))
        else:
            fits = [p for p in opened if p.definition.name == d.parent and d.begin(row, [p.row] + p.around)]
            for p in fits[-1:] if d.last else fits:
                opened.append(Open(d, row, at, p))
                p.children.append(opened[-1])
        opened = [o for o in opened if not o.closed]
    lose(float('inf'))
    for o in opened:
        if not o.closed:
            close(o, 0, 'running')
    return sorted(found, key=repr)


def printed(d):
    origin = int(d['origin'])
    by_number = {r['number']: r for r in d['rows']}
    return sorted(((r['name'], r['start'] + origin, r['dur'], r['status'],
                    by_number[r['parent']]['start'] + origin if r['parent'] is not None else None,
                    tuple(sorted(json.loads(r['attributes'] or '{}').items()))) for r in d['rows']), key=repr)


def first_difference(want, got):
    if want == got:
        return []
    return [f'{len(want)} expected, {len(got)} found', *(f'missing {x}' for x in [x for x in want if x not in got][:3]),
            *(f'too many {x}' for x in [x for x in got if x not in want][:3])]


DEFINITIONS = {
    'a call from enter to exit': [
        Definition('call', 'call : enter op == read : op == read && end.thread == begin.thread : n = end.bytes, fd = begin.fd',
                   lambda e, p: e['op'] == 'read',
                   lambda e, b, p: e['op'] == 'read' and eq(e['thread'], b['thread']), enters=(True, False),
                   captures=[('n', lambda b, e, p: e['bytes'], True), ('fd', lambda b, e, p: b['fd'], False)])],
    'children, of children, that are cut': [
        Definition('a', 'a : op in (accept4, openat) && ret >= 0 : op == close && end.fd == begin.fd',
                   lambda e, p: e['op'] in ('accept4', 'openat') and e['ret'] is not None and e['ret'] >= 0,
                   lambda e, b, p: e['op'] == 'close' and number_eq(e, b, ('fd', 'fd'), ('process', 'process'), ('file', 'file'))),
        Definition('b', 'b(a) : enter op in (fstat, read, newfstatat, recvfrom) && thread == parent.thread : '
                   'op in (sendfile, close, newfstatat) && end.tid == begin.tid && end.start - begin.start < 3ms : '
                   'comm = parent.comm',
                   lambda e, p: e['op'] in ('fstat', 'read', 'newfstatat', 'recvfrom') and eq(e['thread'], p[0]['thread']),
                   lambda e, b, p: e['op'] in ('sendfile', 'close', 'newfstatat') and
                   number_eq(e, b, ('tid', 'tid'), ('thread', 'thread')) and
                   e['start'] is not None and b['start'] is not None and e['start'] - b['start'] < 3000000, parent='a',
                   enters=(True, False), captures=[('comm', lambda b, e, p: p[0]['comm'], False)]),
        Definition('c', 'c(b) : op in (fstat, read, recvfrom) && tid == parent.tid && fd >= parent.parent.fd : '
                   'enter op != epoll_wait && end.pid == begin.pid && (end.cpu != begin.cpu || end.thread == parent.parent.thread)',
                   lambda e, p: e['op'] in ('fstat', 'read', 'recvfrom') and
                   number_eq(e, p[0], ('tid', 'tid'), ('thread', 'thread')) and
                   e['fd'] is not None and p[1]['fd'] is not None and e['fd'] >= p[1]['fd'],
                   lambda e, b, p: e['op'] is not None and e['op'] != 'epoll_wait' and
                   number_eq(e, b, ('pid', 'pid'), ('process', 'process')) and
                   ((e['cpu'] is not None and b['cpu'] is not None and e['cpu'] != b['cpu']) or eq(e['thread'], p[1]['thread'])),
                   parent='b', enters=(False, True))],
    'children that their parent outlives not': [
        Definition('a', 'a : op == openat && ret >= 0 : op == close && file == begin.file', lambda e, p: e['op'] == 'openat' and
                   e['ret'] is not None and e['ret'] >= 0, lambda e, b, p: e['op'] == 'close' and eq(e['file'], b['file'])),
        Definition('k', 'k(a) : op in (fstat, read, sendfile) && file == parent.file : op in (sendfile, munmap) && '
                   'end.file == begin.file : n = begin.bytes', lambda e, p: e['op'] in ('fstat', 'read', 'sendfile') and
                   eq(e['file'], p[0]['file']), lambda e, b, p: e['op'] in ('sendfile', 'munmap') and eq(e['file'], b['file']),
                   parent='a', captures=[('n', lambda b, e, p: b['bytes'], False)])],
    'a child of the parent that began last': [
        Definition('a', 'a : op in (accept4, openat, read) && ret >= 0 : op in (close, fstat) && end.file == begin.file',
                   lambda e, p: e['op'] in ('accept4', 'openat', 'read') and e['ret'] is not None and e['ret'] >= 0,
                   lambda e, b, p: e['op'] in ('close', 'fstat') and eq(e['file'], b['file'])),
        Definition('k', 'k(last a) : op in (read, recvfrom, newfstatat, sendfile) && thread == parent.thread && cpu >= parent.cpu : '
                   'op in (sendfile, munmap, read, writev) && end.thread == begin.thread : n = begin.bytes',
                   lambda e, p: e['op'] in ('read', 'recvfrom', 'newfstatat', 'sendfile') and eq(e['thread'], p[0]['thread']) and
                   e['cpu'] is not None and p[0]['cpu'] is not None and e['cpu'] >= p[0]['cpu'],
                   lambda e, b, p: e['op'] in ('sendfile', 'munmap', 'read', 'writev') and eq(e['thread'], b['thread']),
                   parent='a', captures=[('n', lambda b, e, p: b['bytes'], False)], last=True)],
    'an end that is not written, texts, all that match': [
        Definition('again', 'again : op in (write, fsync, fdatasync) && bytes > 100', lambda e, p:
                   e['op'] in ('write', 'fsync', 'fdatasync') and e['bytes'] is not None and e['bytes'] > 100,
                   lambda e, b, p: e['op'] in ('write', 'fsync', 'fdatasync') and e['bytes'] is not None and e['bytes'] > 100),
        Definition('text', 'text : op == read && bytes > 0 : op == write && end.comm == begin.comm && end.size != begin.size',
                   lambda e, p: e['op'] == 'read' and e['bytes'] is not None and e['bytes'] > 0,
                   lambda e, b, p: e['op'] == 'write' and eq(e['comm'], b['comm']) and e['size'] is not None and
                   b['size'] is not None and e['size'] != b['size'])],
}


def same_as_loops(trace, what):
    rows, _ = rows_of(trace)
    losses = list(losses_of(trace))
    for name, definitions in DEFINITIONS.items():
        texts = [d.text for d in definitions]
        got = periods(trace, *texts)
        want = match(rows, list(losses), definitions)
        tap.check(f'{what}: {name}: as plain loops find it ({len(want)})', want and want == printed(got),
                  *first_difference(want, printed(got)))
        counts = {s: sum(1 for w in want if w[3] == s) for s in ('cut', 'running')}
        tap.check(f'{what}: {name}: {counts["cut"]} cut, {counts["running"]} running are counted',
                  got['cut'] == counts['cut'] and got['running'] == counts['running'], got['cut'], got['running'], counts)
        scan = periods(trace, '--scan', *texts)
        tap.check(f'{what}: {name}: without the hash the same', scan['rows'] == got['rows'])
        numbers = [r['number'] for r in got['rows']]
        tap.check(f'{what}: {name}: numbers are different, ids are the same as hexadecimal',
                  len(set(numbers)) == len(numbers) and all(r['span_id'] == f'{r["number"]:016x}' for r in got['rows']))


def many_open(trace):
    """Open periods that nothing ends cost nothing, and none is missed among them."""
    text = 'o : op != close : op == close && end.thread == begin.thread && end.dur == begin.dur'
    got, scan = periods(trace, text), periods(trace, '--scan', text)
    tap.check(f'{got["running"]} stay open: by hash as by comparing all', got['rows'] == scan['rows'] and got['running'] > 1000,
              got['running'])


def sums(trace):
    text = 'call : enter op == pread64 : op == pread64 && end.thread == begin.thread'
    d = periods(trace, text)
    durs = sorted(r['dur'] for r in d['rows'] if r['status'] == 'unset')
    s = d['tables']['periods']['rows'][0]
    want = {'count': len(durs), 'total': sum(durs), 'min': durs[0], 'max': durs[-1], 'median': durs[-(-len(durs) // 2) - 1],
            'p99': durs[-(-len(durs) * 99 // 100) - 1], 'avg': sum(durs) // len(durs)}
    tap.none('sums are those of the matches', [f'{k}: {v} and {s[k]}' for k, v in want.items() if s[k] != v])


def groups(trace):
    texts = ['w : op == openat && ret >= 0 : op == close && end.file == begin.file : comm = begin.comm',
             'r(w) : enter op in (read, newfstatat) : end.thread == begin.thread && op in (read, newfstatat)']
    d = periods(trace, '--group-by', 'w.comm', *texts)
    by_number = {r['number']: r for r in d['rows']}
    want = {}
    for r in d['rows']:
        of = by_number[r['parent']] if r['parent'] is not None else r
        key = (f'w.comm = {json.loads(of["attributes"])["comm"]}', r['name'])
        want[key] = want.get(key, 0) + (r['status'] == 'unset')
    got = {(s['group'], s['period']): s['count'] for s in d['tables']['periods']['rows']}
    tap.check('groups by a capture of the period around', want == got and len(want) > 3, want, got)
    d = periods(trace, '--aggregate-by', 'w', '--select', 'r', *texts)
    all_of = periods(trace, *texts)['rows']
    per = {}
    for r in all_of:
        if r['name'] == 'r' and r['status'] == 'unset':
            per.setdefault(r['parent'], []).append(r['dur'])
    got = {a['number']: (a['count'], a['min'], a['max'], a['total']) for a in d['tables']['aggregates']['rows']}
    tap.check('sums of children for each parent', got == {k: (len(v), min(v), max(v), sum(v)) for k, v in per.items()} and got)
    for name, more in (('sums', []), ('a log', ['--log']), ('children by parent', ['--aggregate-by', 'w'])):
        lines = on_terminal(80, 'periods', *more, '-i', trace, *texts)
        wrong = [line for line in lines if len(line) > 80]
        titles = [line for line in lines if line.split()[:1] in (['period'], ['start'])]
        wrong += [line for line in titles if '...' in line]
        tap.check(f'{name} on 80 columns: whole titles, no line too long', titles and not wrong, wrong or lines[:5])
    tap.check('--select: only its rows', {r['name'] for r in d['rows']} == {'r'})
    tree = periods(trace, '--order-by', 'hierarchy', *texts)['rows']
    bad, path = [], []
    for r in tree:
        while path and path[-1] != r['parent']:
            path.pop()
        if r['parent'] is not None and not path:
            bad.append(r)
        path.append(r['number'])
    tap.check('--order-by hierarchy: children follow their parents', not bad and len(tree) == len(all_of), bad[:2])


def kept(trace):
    text = 'w : op == openat && ret >= 0 : op == close && end.file == begin.file : path = begin.path'
    d = periods(trace, '--keep', text, 'r(w) : op == read && file == parent.file : op == close && end.file == parent.file')
    q = document('query', '--json', '-i', trace, 'from period | select start, dur, number, parent, span_id, parent_id, name, '
                 'span_status, span_kind, source, thread_id, attributes, comm')
    want = [(r['start'], r['dur'], r['number'], r['parent'], r['span_id'], r['parent_id'], r['name'], r['status'], 'internal',
             'period', r['thread_id'], r['attributes'], r['comm']) for r in d['rows']]
    tap.check(f'--keep: table period has the {len(want)} matches', want and want == [tuple(r.values()) for r in q['rows']])
    n = document('query', '--json', '-i', trace, 'from period | by name | count()')['rows']
    tap.check('a pipeline counts them', {r['name']: r['count'] for r in n} ==
              {s['period']: s['count'] + s['cut'] + s['running'] for s in d['tables']['periods']['rows']}, n)
    half = int(d['rows'][len(d['rows']) // 2]['start'])
    later = periods(trace, '--from', f'+{half / 1e9:.9f}s', text)
    ids = {r['start'] + int(d['origin']): r['number'] for r in d['rows'] if r['name'] == 'w'}
    tap.check('a match has its number also where less of the trace is read',
              later['rows'] and all(ids[r['start'] + int(later['origin'])] == r['number'] for r in later['rows']))
    if os.getuid():
        return
    shutil.copy(os.path.join(folder, trace), os.path.join(folder, 'two.trace'))
    p = run('periods', '--keep', '-i', trace, '-i', 'two.trace', text)
    tap.check('--keep of several traces is refused', p.returncode == 1 and '--keep' in p.stderr, p.stderr)


def control_characters(trace):
    """Captures with control characters, quotes and backslashes are strings of JSON."""
    d = periods(trace, 'w : path is not null : end.thread == begin.thread : path = begin.path, who = begin.comm')
    texts = [r['attributes'] for r in d['rows'] if r['attributes']]
    values = {v for t in texts for v in json.loads(t).values() if isinstance(v, str)}  # which refuses raw control characters
    control = [v for v in values if any(ord(c) < 32 for c in v)]
    tap.check(f'{len(control)} captures with control characters', control and any('\\u00' in t for t in texts) and
              not any(ord(c) < 32 for t in texts for c in t), control[:3])
    tap.check('the bytes are those of the path', '/tmp/\x1b[2J\x1b[1;31mred' in control, control[:3])


LTTNG = [
    (['--period', 'o : $evt.$name == "syscall_exit_openat" && $evt.procname =* "ng*[a-x]" && $evt.$payload.ret >= 0 : '
      '$evt.$name == "syscall_exit_close" && $evt.fd == $begin.$evt.fd && $evt.$ctx.tid == $begin.$evt.tid',
      '--period-captures', 'o : path = $evt.filename : n = $evt.ret'],
     ['o : op == openat && comm =~ "^ng.*[a-x]$" && ret >= 0 : op == close && end.fd == begin.fd && end.tid == begin.tid : '
      'path = begin.path, n = end.ret']),
    (['--period', 'a : $evt.$name == "syscall_entry_writev" : ($evt.$name == "syscall_exit_writev" || $evt.$name == '
      '"syscall_exit_sendfile64") && !($evt.tid != $begin.$evt.tid)',
      '--period', 'b(a) : $evt.$name == "syscall_exit_writev" && $parent.$begin.$evt.tid == $evt.tid : $evt.$name == '
      '"syscall_exit_close" && $evt.tid == $parent.$begin.$evt.tid'],
     ['a : enter op == writev : (op == writev || op == sendfile) && !(tid != begin.tid)',
      'b(a) : op == writev && parent.tid == tid : op == close && tid == parent.tid']),
    (['--period', 'p : $evt.$name == "syscall_exit_openat" && $evt.filename == "/var/www/page/03.html"'],
     ['p : op == openat && path == "/var/www/page/03.html"']),
]


def lttng(trace):
    for i, (theirs, ours) in enumerate(LTTNG):
        a, b = periods(trace, *theirs), periods(trace, *ours)
        tap.check(f"LTTng's syntax {i + 1}: the same as ours ({len(a['rows'])})", a['rows'] == b['rows'] and a['rows'])


WRONG = [  # text, the character that the message gives, a word of it
    ('w : opp == read : op == close', 5, 'did you mean op'),
    ('w : op == read : op == close && end.thread == begin.thred', 47, 'begin.thred'),
    ('w : op == read && begin.fd == 3 : op == close && parent.fd == 1', 50, 'no parent'),
    ('w : op == read && end.fd == 3', 19, 'no end yet'),
    ('w(v) : op == read', 3, 'no period of this name'),
    ('w(v : op == read', 17, 'BEGIN is missing'),
    ('w(v x : op == read) : op == read', 3, 'no period of this name'),
    ('w!x : op == read', 1, 'a name'),
    ('w', 2, 'BEGIN is missing'),
    ('w : op == read : op == read : a = fdd', 35, 'fdd'),
    ('w : op == read : op == read : a = fd, a = fd', 43, 'of this name'),
    ('w : op == read : op == read : fd : fd', 34, 'unexpected text'),
    ('w : op == read : fd', 18, 'expected a condition'),
    ('w : (op == read : op == read', 17, "':'"),
    ('w : $evt.$name == "sched_switch"', 19, 'not an event of a call'),
    ('w : $evt.$name == "syscall_exit_read" && $evt.prio == 3', 47, "no field 'prio'"),
    ('w : $evt.fd == 3', 4, 'which event'),
    ('w : $evt.$name == "syscall_exit_read" || $evt.$name == "syscall_entry_read"', 56, 'entries and exits'),
    ('w : $evt.$name == "syscall_exit_read', 19, 'not terminated'),
    ('w : $parent.$evt.fd == 3', 13, '$begin'),
]


def wrong(trace):
    bad = []
    for text, at, word in WRONG:
        p = run('periods', '-i', trace, text)
        place = f'character {at}:'
        if p.returncode != 2 or place not in p.stderr or word not in p.stderr or len(p.stderr.splitlines()) != 1:
            bad.append(f'{text!r}: exit {p.returncode}, {p.stderr!r}')
    for args, word in ([['--use', 'nonsense'], 'use one of'], [['-f', 'nowhere'], 'nowhere'], [[], 'a definition is missing'],
                       [['--select', 'y', 'w : op == read'], '--select'],
                       [['--group-by', 'w.x', 'w : op == read'], "period w has no capture 'x'"], [['--group-by', 'w', 'w : op == read'], 'PERIOD.CAPTURE'],
                       [['--order-by', 'size', 'w : op == read'], '--order-by'], [['w : op == read', 'w : op == read'], 'already'],
                       [['--period-captures', 'v : $evt.fd', 'w : op == read'], 'no period']):
        p = run('periods', '-i', trace, *args)
        if not p.returncode or word not in p.stderr:
            bad.append(f'{args}: exit {p.returncode}, {p.stderr!r}')
    tap.none('what is wrong is said with its place', bad)


def files(trace):
    with open(os.path.join(folder, 'my.period'), 'w', encoding='utf-8') as f:
        f.write('# two of them\nw : op == openat && ret >= 0 # opened\n  : op == close && end.file == begin.file\n\n'
                'r(w) : op == read && file == parent.file\n\t: op == close && end.file == parent.file\n')
    a = periods(trace, '-f', 'my.period')
    b = periods(trace, 'w : op == openat && ret >= 0 : op == close && end.file == begin.file',
                'r(w) : op == read && file == parent.file : op == close && end.file == parent.file')
    tap.check('definitions in a file', a['rows'] == b['rows'] and a['rows'])
    with open(os.path.join(folder, 'bad.period'), 'w', encoding='utf-8') as f:
        f.write('a : op == read\n\nb : op == reed\n')
    p = run('periods', '-i', trace, '-f', 'bad.period')
    tap.check('an error in a file has its line', p.returncode and 'line 3' in p.stderr and 'character 11' in p.stderr, p.stderr)
    p = run('periods', '-i', trace, 'w : op == openat && ret >= 0 : op == close && end.fd == begin.fd2')
    tap.check('a definition that can not end says why', 'w: no END can match: a value of BEGIN' in p.stdout, p.stdout)
    p = run('periods', '-i', trace, 'w : op == openat && ret >= 0 : op == close && end.fd == begin.fd')
    tap.check('and one that can does not', 'no END' not in p.stdout, p.stdout)
    p = run('periods', '-i', trace, '--use', 'postgresql', 'w : op == openat && ret >= 0 : op == close && end.fd == begin.fd')
    tap.check('definitions that no call begins are named, not those within them', p.stdout.count('no call meets its BEGIN; built-in') == 1 and
              'w: no call' not in p.stdout, p.stdout)
    names = [os.path.basename(x)[:-7] for x in os.listdir(os.path.join(HERE, '..', '..', 'rules', 'periods'))]
    tap.none('those that come with weir are right', [p.stderr for p in (run('periods', '-i', trace, '--use', n) for n in names)
                                                     if p.returncode])


PROGRAM = """
import os, sys, threading
READS, OPENS, THREADS = 40, 25, 4
def work(n):
    for i in range(OPENS):
        f = os.open(f'data.{n}', os.O_RDONLY)
        for _ in range(READS):
            os.pread(f, 100, 0)
        os.close(f)
for n in range(THREADS):
    with open(f'data.{n}', 'w') as f:
        f.write('x' * 1000)
all_of = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
for t in all_of: t.start()
for t in all_of: t.join()
"""


# Three servers in a process each, with two clients each at a time; each server prints whom it answered.
CONNECTIONS = """
import os, socket, sys
ASKED = 20
def server(s, out):
    for _ in range(2 * ASKED):
        c, _ = s.accept()
        client = c.recv(100)
        c.send(b'yes')
        c.close()
        os.write(out, b'%d %s\\n' % (os.getpid(), client))
    os._exit(0)
def client(family, address):
    for _ in range(ASKED):
        with socket.socket(family) as c:
            c.connect(address)
            c.send(b'%d' % os.getpid())
            c.recv(100)
    os._exit(0)
children = []
def start(f, *args):
    children.append(os.fork())
    if not children[-1]:
        f(*args)
four, six, unix = socket.create_server(('127.0.0.1', 0)), socket.socket(socket.AF_INET6), socket.socket(socket.AF_UNIX)
six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
six.bind(('::', 0))
six.listen()
unix.bind('there.sock')
unix.listen()
for s in (four, six, unix):
    start(server, s, 1)
for _ in range(2):
    start(client, socket.AF_INET, four.getsockname())
    start(client, socket.AF_INET, ('127.0.0.1', six.getsockname()[1]))
    start(client, socket.AF_UNIX, 'there.sock')
for pid in children:
    os.waitpid(pid, 0)
"""


def connected():
    """A child in another process is under the parent that is the other end of its connection"""
    p = run('record', '-q', '-o', 'ends.trace', '--', 'python3', '-c', CONNECTIONS)
    d = periods('ends.trace', 'ask : enter op == connect && ret == 0 : op == recvfrom && end.file == begin.file',
                'serve(ask) : op == accept4 && ret >= 0 && connection2 == parent.connection : enter op == sendto && end.file == begin.file2')
    by_number = {r['number']: r for r in d['rows']}
    got = sorted((r['tid'], by_number[r['parent']]['tid'], r['status']) for r in d['rows'] if r['name'] == 'serve')
    want = sorted((int(a), int(b), 'unset') for a, b in (line.split() for line in p.stdout.splitlines()))
    tap.check(f'connections over IPv4, IPv6 and a unix socket: {len(want)} joined', want == got and len(want) == 120,
              *first_difference(want, got), p.stderr)


def recorded():
    p = run('record', '-o', 'real.trace', '--', 'python3', '-c', PROGRAM)
    if p.returncode:
        tap.check('a program is recorded', False, p.stderr)
        return
    d = periods('real.trace', 'file : op == openat && ret >= 0 && path ~ "**/data.*" && !(flags has O_CREAT) : op == close && end.fd == begin.fd',
                'read(file) : enter op == pread64 && file == parent.file && thread == parent.thread : '
                'op == pread64 && end.thread == begin.thread : n = end.bytes')
    counts = {s['period']: (s['count'], s['cut'], s['running']) for s in d['tables']['periods']['rows']}
    tap.check('a program: every file that it opened and every read of it', counts == {'file': (100, 0, 0), 'read': (4000, 0, 0)}, counts)
    tap.check('what was read is captured', all(r['attributes'] == '{"n": 100}' for r in d['rows'] if r['name'] == 'read'))
    same_as_loops_of_real()


def same_as_loops_of_real():
    rows, _ = rows_of('real.trace')
    definitions = DEFINITIONS['a call from enter to exit']
    want, got = match(rows, list(losses_of('real.trace')), definitions), printed(periods('real.trace', definitions[0].text))
    tap.check(f'a program: as plain loops find it ({len(want)})', want and want == got, *first_difference(want, got))


def main():
    try:
        if '--record' in sys.argv:
            recorded()
            connected()
            return tap.end()
        for name, rows, profile in (('mixed.trace', 6000, 'mixed'), ('hostile.trace', 5000, 'hostile')):
            run('synth', '-q', '-o', name, '--rows', str(rows), '--seed', '7', '--profile', profile)
        run('synth', '-q', '-o', 'long.trace', '--rows', '40000', '--seed', '8')
        same_as_loops('mixed.trace', 'mixed')
        same_as_loops('hostile.trace', 'hostile')
        many_open('mixed.trace')
        control_characters('hostile.trace')
        for test in (sums, groups, kept, lttng, wrong, files):
            test('long.trace')
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tap.end()


sys.exit(main())
