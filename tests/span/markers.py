#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""markers.py WEIR: spans that shell scripts mark by asking for access below /dev/null, as weir recorded them, against what the scripts
print of them: names, nesting, notes, and in which span each file was opened. Needs root. Speaks TAP."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

WEIR = sys.argv[1]
CASES = []

# Each prints what it did, in its order; names hold no tab.
WORDS = r'''
begin() { [ -r "/dev/null/weir/begin:$1" ]; printf 'begin\t%s\n' "$1"; }
end() { [ -r "/dev/null/weir/end:$1" ]; printf 'end\t%s\n' "$1"; }
note() { [ -r "/dev/null/weir/note:$1" ]; printf 'note\t%s\n' "$1"; }
opens() { : < "$1"; printf 'open\t%s\n' "$1"; }
'''

NESTED = r'''
i=0
while [ $i -lt 50 ]; do
	begin "backup/état 1 2"
	opens "$1/outer$i"
	begin copy; note "bytes=$i=x"; opens "$1/copy$i"; note moment; end copy
	begin copy; begin copy; opens "$1/twice$i"; end copy; end copy
	opens "$1/after$i"
	end "backup/état 1 2"
	opens "$1/none$i"
	i=$((i + 1))
done
note alone=1
'''


def case(f):
    CASES.append(f)
    return f


class Recording:
    """A script that was recorded: what it printed, and the tables of its trace."""

    def __init__(self, folder, shell, script, *options):
        self.trace = os.path.join(folder, 't')
        path = os.path.join(folder, 'script')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(WORDS + script)
        p = subprocess.run([WEIR, 'record', '-q', '-o', self.trace, *options, '--', shell, path, folder], capture_output=True, text=True,
                           timeout=60, check=False)
        self.err, self.status = p.stderr, p.returncode
        self.lines = [l.split('\t') for l in p.stdout.splitlines()]

    def rows(self, pipeline):
        p = subprocess.run([WEIR, 'query', '-i', self.trace, '--json', pipeline], capture_output=True, text=True, timeout=60, check=True)
        return json.loads(p.stdout)['rows']

    def marks(self):
        return [m['text'] for m in self.rows('from mark') if m['name'] == 'weir.spans']

    def unread(self):
        return sum(x['events'] or 0 for x in self.rows('from loss') if x['cause'] == 'span_unread')


def truth(lines):
    """Spans as [name, index of the parent], notes as (key, value, index), opens as {path: index}, by the order of begins."""
    spans, notes, opens, stack = [], [], {}, []
    for word, text in lines:
        inner = stack[-1] if stack else None
        if word == 'begin':
            stack.append(len(spans))
            spans.append([text, inner])
        elif word == 'end':
            assert spans[stack.pop()][0] == text
        elif word == 'note':
            key, equals, value = text.partition('=')
            notes.append((key, value if equals else None, inner))
        else:
            opens[text] = inner
    return spans, notes, opens


def compare(t, what, r):
    spans, notes, opens = truth(r.lines)
    rows = sorted(r.rows('from span'), key=lambda s: s['number'])
    index = {s['number']: i for i, s in enumerate(rows)}
    t.check(f'{what}: names and parents', [[s['name'], index.get(s['parent'])] for s in rows] == spans and len(spans) > 1, r.err, rows[:3], *r.marks())
    t.none(f'{what}: source, status, ids', [str(s) for s in rows if (s['source'], s['span_status']) != ('marker', 'unset') or s['dur'] is None or
                                            len(s['trace_id']) != 32 or len({x['span_id'] for x in rows}) != len(rows)])
    got = [(n['name'], n['text'], index.get(n['number'])) for n in sorted(r.rows('from note'), key=lambda n: n['start'])]
    t.check(f'{what}: notes', got == notes, got[:5], notes[:5])
    t.check(f'{what}: notes are attributes', sum('"bytes"' in (s['attributes'] or '') for s in rows) == sum(n[0] == 'bytes' for n in notes))
    bad, seen = [], 0
    for o in r.rows('from op | where op == openat | select start, dur, path, thread_id'):
        if o['path'] not in opens:
            continue
        seen += 1
        inner = [s for s in rows if s['thread_id'] == o['thread_id'] and s['start'] <= o['start'] and o['start'] + o['dur'] <= s['start'] + s['dur']]
        if (index[inner[-1]['number']] if inner else None) != opens[o['path']]:
            bad.append(f'{o} in {inner}, not {opens[o["path"]]}')
    t.check(f'{what}: each file was opened in its span', not bad and seen == len(opens) > 0, seen, len(opens), *bad[:5])
    t.check(f'{what}: nothing is lost', not r.unread() and not r.marks(), *r.marks())


def files(folder, script):
    """The files that the script opens, so that it can."""
    for name in ('outer', 'copy', 'twice', 'after', 'none'):
        for i in range(50 if name in script else 0):
            with open(os.path.join(folder, f'{name}{i}'), 'w', encoding='utf-8'):
                pass


@case
def nested(t, folder):
    files(folder, NESTED)
    for shell in ('sh', 'bash'):
        r = Recording(folder, shell, NESTED)
        compare(t, shell, r)
        calls = sum(o['count'] for o in r.rows('from op | where err == ENOTDIR | by op | count()') if 'access' in o['op'])
        t.check(f'{shell}: the calls themselves are rows as ever', calls == sum(w != 'open' for w, _ in r.lines), calls)


@case
def selections(t, folder):
    files(folder, NESTED)
    for options in (['-e', 'openat'], ['--where', 'op == openat'], ['-e', 'openat,faccessat2', '--where', 'op != faccessat2 || dur > 1h'],
                    ['-P', folder]):
        r = Recording(folder, 'sh', NESTED, *options)
        what = ' '.join(options[:3]).replace(folder, 'folder')
        compare(t, what, r)
        left = [o for o in r.rows('from op | by op | count()') if 'access' in o['op']]
        t.check(f'{what}: the markers, which it leaves out, have no row of op', not left, left)


@case
def broken(t, folder):
    r = Recording(folder, 'sh', 'begin outer; begin inner; end outer; end inner; end never; [ -r /dev/null/weir/bgin:x ]; '
                  '[ -r /dev/null/weir/begin: ]; [ -r /dev/null/other ]; [ -r /weir/begin:x ]; begin open; (end open); exec true')
    got = {s['name']: (s['span_status'], s['dur'] is None) for s in r.rows('from span')}
    t.check('what an end leaves open is cut, and what exec does', got == {'outer': ('unset', False), 'inner': ('cut', False), 'open': ('cut', False)}, got)
    marks = '\n'.join(r.marks())
    t.check('an end without a begin, of a subshell too, and what marks nothing: counted, with a mark each', r.unread() == 5 and len(r.marks()) == 5 and
            all(x in marks for x in ("'end:inner'", "'end:never'", "'end:open'", "'bgin:x'", "'begin:'")), r.unread(), marks)


@case
def ends(t, folder):
    r = Recording(folder, 'sh', 'begin a; sh -c "[ -r /dev/null/weir/begin:child ]; kill -9 \\$\\$"; end a; begin left')
    got = {s['name']: (s['span_status'], s['parent'], s['dur'] is None) for s in r.rows('from span')}
    t.check('a process that ends, or is killed, cuts what it has open', got == {'a': ('unset', None, False), 'child': ('cut', None, False),
                                                                              'left': ('cut', None, False)}, got)
    r = Recording(folder, 'sh', 'begin b; begin c; end c; sleep 3', '--duration', '1s')
    got = {s['name']: (s['span_status'], s['dur'] is None) for s in r.rows('from span')}
    t.check('what is open as recording ends is running', got == {'b': ('running', True), 'c': ('unset', False)}, got, r.err)
    r = Recording(folder, 'sh', 'i=0; while [ $i -lt 1100 ]; do [ -r /dev/null/weir/begin:deep ]; i=$((i + 1)); done\n'
                  'while [ $i -gt 0 ]; do [ -r /dev/null/weir/end:deep ]; i=$((i - 1)); done')
    rows = r.rows('from span | by span_status | count()')
    full = sum(x['events'] or 0 for x in r.rows('from loss') if x['cause'] == 'span_full')
    t.check('spans deeper than 1,024 are counted, and the others right', rows == [{'span_status': 'unset', 'count': 1024}] and full == 76 and not r.unread(),
            rows, full, r.marks())
    long = 'n' * 300
    r = Recording(folder, 'sh', f'begin {long}; note long={"v" * 4030}; end {long}')
    names, texts = [s['name'] for s in r.rows('from span')], [n['text'] for n in r.rows('from note')]
    t.check('long names and values are cut', names == ['n' * 255] and texts == ['v' * 4000 + '…'], names, [len(x) for x in texts])


LOST = '''import os, sys, time
print(os.getpid(), flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
for i in range(20000):
    os.access(f"/dev/null/weir/note:i={i}", os.R_OK)
    os.access("/dev/null/other", os.R_OK)
'''


def stopped(folder, *options):
    """Markers while the recorder is stopped, so that they fill its rings: the notes, the rows lost of span, and the calls with those lost"""
    trace, ready = os.path.join(folder, 't'), os.path.join(folder, 'ready')
    p = subprocess.Popen([WEIR, 'record', '-q', '--ring', '64KiB', '-o', trace, *options, '--', sys.executable, '-c', LOST, ready],
                         stdout=subprocess.PIPE, text=True)
    try:
        program = p.stdout.readline().strip()
        p.send_signal(signal.SIGSTOP)
        with open(ready, 'w', encoding='utf-8'):
            pass
        until = time.monotonic() + 60
        while time.monotonic() < until and not zombie(program):  # the recorder cannot see that it ended
            time.sleep(0.05)
    finally:
        p.send_signal(signal.SIGCONT)
        p.communicate(timeout=60)
    r = Recording.__new__(Recording)
    r.trace = trace
    losses = r.rows('from loss')
    calls = sum(o['count'] for o in r.rows('from op | where err == ENOTDIR | by op | count()'))
    return (r.rows('from note | count()')[0]['count'], sum(x['events'] or 0 for x in losses if x['cause'] == 'span_full'), calls,
            sum(x['events'] or 0 for x in losses if x['cause'] == 'ring_full'))


def zombie(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        return f.read().rsplit(')', 1)[1].split()[0] == 'Z'


@case
def lost(t, folder):
    for options in ((), ('-e', 'trace=read')):
        os.makedirs(sub := os.path.join(folder, str(len(options))))
        notes, gone, calls, calls_gone = stopped(sub, *options)
        what = ' '.join(options) or 'all calls'
        t.check(f'{what}: markers that find no room are counted, others are not', notes + gone == 20000 and gone > 1000, notes, gone)
        t.check(f'{what}: calls likewise, where they are selected', calls + calls_gone >= 40000 if not options else not calls, calls, calls_gone)


def main():
    t = Tap()
    if os.geteuid():
        t.skip('markers', 'needs root')
        return t.end()
    for f in CASES:
        if len(sys.argv) == 2 or f.__name__ in sys.argv[2:]:
            with tempfile.TemporaryDirectory() as folder:
                f(t, folder)
    return t.end()


sys.exit(main())
