#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rules.py WEIR ROOT THIN: the rules of weir diagnose: each is read, asks and speaks without an error, has its case and its page; rules of a
user's own, wrong ones too; the options that choose rules; and what rules need beside calls, of which THIN takes some. TAP on standard output."""
import contextlib
import glob
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, root, thin = map(os.path.abspath, sys.argv[1:4])
tap = Tap()
check = tap.check

# A rule that finds one thing in every trace that has more than one call
OWN = {
    'rule': 'own-rule',
    'summary': 'calls at all',
    'level': 'warning',
    'loss': 'less',
    'sql': 'SELECT count(*) AS calls, sum(bytes) AS bytes, 7 AS each, \'a "b"\' AS word FROM op HAVING count(*) > 1',
    'sentence': '{calls} calls, {each:size}, {each:plain}, {word}, {word:quoted}, {{each}',
    'evidence': '{bytes} from {start}',
    'change': 'nothing',
    'show': 'by op | count()',
    'about': 'A test.',
}


def run(*args):
    return subprocess.run([weir, *args], capture_output=True, text=True, errors='replace', env={**os.environ, 'NO_COLOR': '1'}, timeout=120,
                          check=False)


def rule_text(**members):
    """The text of OWN with other members; None leaves one out."""
    out = {**OWN, **members}
    return ''.join(f'{k}: {json.dumps(v)}\n' for k, v in out.items() if v is not None)


def write(name, text):
    with open(name, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


def rows(*args):
    r = run('diagnose', '--json', *args)
    return json.loads(r.stdout)['rows'] if r.stdout else [r.stderr]


# ---- the built-in ones ----

def hold_for_nothing(trace, files):
    """weir asks no condition of a built-in rule about a table without rows."""
    asked = {}
    for path in files:
        with open(path, encoding='utf-8') as f:
            text = f.read()
        values = dict(re.findall(r'^  (\w+):\n    is: (\S+)', text, re.M))
        for line in ''.join(re.findall(r'^when: (.*\n(?: .*\n)*)', text, re.M)).splitlines():
            table, _, condition = line.strip().partition(' ')
            if condition and table != 'op':
                asked[f'{os.path.basename(path)}: {line.strip()}'] = (
                    f'(SELECT coalesce(({re.sub(r"[$](.[a-z_0-9]*)", lambda m: values.get(m[1], "1"), condition)}\n), false) '
                    f'FROM (FROM {table} WHERE false))')
    r = run('sql', '--json', 'SELECT ' + ', '.join(f'{sql} AS c{i}' for i, sql in enumerate(asked.values())), trace)
    row = json.loads(r.stdout)['rows'][0] if r.stdout else {}
    wrong = [name for i, name in enumerate(asked) if row.get(f'c{i}') is not False]
    check('no condition of a built-in rule holds for a table without rows', len(asked) > 70 and not wrong, wrong, r.stderr)


def built_in(trace, empty):
    files = sorted(glob.glob(os.path.join(root, 'rules', '*.rule')))
    names = [os.path.basename(f)[:-len('.rule')] for f in files]
    listed = [line.split()[0] for line in run('diagnose', '--explain', 'all').stdout.splitlines()]
    check('--explain all lists the files of rules/', sorted(listed) == names, set(listed) ^ set(names))
    hold_for_nothing(trace, files)
    os.makedirs('always', exist_ok=True)
    for path, name in zip(files, names):
        with open(path, encoding='utf-8') as f:
            write(f'always/{name}.rule', re.sub(r'^when: .*\n( .*\n)*', '', f.read(), flags=re.M))
    for what, path, *rules in (('a synthetic trace', trace), ('one of one call', empty), ('one, if they always run', trace, '--rules', 'always'),
                               ('times of a century', 'hostile', '--rules', 'always')):
        r = run('diagnose', '-i', path, *rules, '--json')
        d = json.loads(r.stdout) if r.returncode == 0 else {'rules': 0, 'not_run': []}
        check(f'they ask and speak without an error about {what}', d['rules'] + len(d['not_run']) == len(names), r.stderr)
    want = {}
    found = [{(x['rule'], x['pattern']) for x in rows('-i', trace, *rules)} for rules in ((), ('--rules', 'always'))]
    check('and find the same then', found[0] == found[1], found)
    for path, name in zip(files, names):
        with open(path, encoding='utf-8') as f:
            needs = re.search(r'^needs: (.*)$', f.read(), re.M)
        want.update({name: needs.group(1)} if needs else {})
    check('those that need what is recorded beside calls do not run there', want == {n['rule']: n['needs'] for n in d['not_run']}, d, want)
    check('which has no findings', rows('-i', empty) == [], rows('-i', empty))
    check('nor has a trace without a call', rows('-i', trace, '--where', 'dur > 9h') == [], rows('-i', trace, '--where', 'dur > 9h'))
    bad, wide, unknown = [], [], []
    for path, name in zip(files, names):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        show = json.loads(re.search(r'^show: (".*")$', text, re.M).group(1))
        show = show.replace('{actor}', 'pid == 1').replace('{place}', 'file == "x"')
        show = re.sub(r'\{\w+\}', '1', re.sub(r'\{\w+:quoted\}', '"x"', show))
        r = run('query', '--explain', '-i', empty, show)
        if r.returncode:
            bad.append(f'{name}: {show}: {r.stderr}')
        wide += [f'{name}: {line}' for line in text.splitlines() if len(line) > 140]
        covers = re.search(r'^covers: (.*)$', text, re.M)
        unknown += [f'{name} covers {word}' for word in (covers.group(1).split() if covers else []) if word not in names]
    tap.none('what they show is a question that is right', bad)
    tap.none('their lines are short', wide)
    tap.none('they cover rules that exist', unknown)
    expected = set()
    for path in glob.glob(os.path.join(root, 'tests', 'cases', '*', 'expect.json')):
        with open(path, encoding='utf-8') as f:
            expected |= {x['rule'] for x in json.load(f).get('faulty', [])}
    tap.none('each has a case', sorted(set(names) - expected))
    with open(os.path.join(root, 'docs', 'rules.md'), encoding='utf-8') as f:
        check('docs/rules.md is what make docs makes', f.read() == run('diagnose', '--explain', 'markdown').stdout)
    text = run('diagnose', '--explain', 'repeated-read').stdout
    check('a remedy that depends on the finding is no placeholder', 'the finding says it' in text and '\n  {' not in text, text)
    text = run('diagnose', '--explain', 'small-writes').stdout
    tap.none('--explain has all of a rule',
             [w for w in ('small-writes (warning)', 'thresholds', 'what to change', 'if calls were lost', 'SELECT', 'runs only when\n  use: max(writes)') if w not in text])


# ---- rules of one's own ----

FILES = [  # name, text of a file that is no rule, what the message must have
    ('no YAML', 'rule: [', 'bad.rule:2:1: '),
    ('a list', '- a\n', 'a rule is a list of NAME: VALUE'),
    ('nothing', '', 'bad.rule: '),
    ('a binary file', b'\x7fELF\0\1\2', 'not valid UTF-8'),
    ('a NUL', rule_text(about='a\0b'), 'NUL'),
    ('a byte that is no UTF-8', b'rule: \xff\n', 'not valid UTF-8'),
    ('a member that is unknown', rule_text(colour='red'), 'a rule has no field colour'),
    ('a member twice', rule_text() + 'rule: again\n', 'bad.rule:'),
    ('no sentence', rule_text(sentence=None), 'the rule lacks sentence'),
    ('an empty sentence', rule_text(sentence=''), 'empty'),
    ('no question', rule_text(sql=None), 'one query'),
    ('two questions', rule_text(query='by op | count()'), 'one query'),
    ('a name with a blank', rule_text(rule='own rule'), 'a-z, 0-9 and -'),
    ('a level that is unknown', rule_text(level='high'), 'note, warning or problem, not high'),
    ('a loss that is unknown', rule_text(loss='none'), 'not none'),
    ('a need that is unknown', rule_text(needs='block,colour'), 'which does not have colour'),
    ('a text that is a list', rule_text() + 'many:\n- a\n', 'text expected'),
    ('a condition that is a list', rule_text() + 'when:\n- use max(torn) > 0\n', 'text expected'),
    ('a condition on no table', rule_text(when='max(torn) > 0'), 'not max(torn)'),
    ('a table without a condition', rule_text(when='use '), 'not use'),
    ('too many conditions', rule_text(when='use max(torn) > 0\n' * 5), 'more than 4 lines'),
    ('a threshold without a reason', rule_text() + 'thresholds: {least: {is: 5}}\n', 'needs its reason'),
    ('a threshold that is no number', rule_text() + 'thresholds: {least: {is: many, why: a}}\n', 'a threshold is a number'),
    ('a threshold that is nan', rule_text() + 'thresholds: {least: {is: nan, why: a}}\n', 'a threshold is a number'),
    ('a negative threshold', rule_text() + 'thresholds: {least: {is: -1, why: a}}\n', 'a threshold is a number'),
    ('thresholds that are a text', rule_text() + 'thresholds: 5\n', 'thresholds are'),
    ('too many thresholds', rule_text() + 'thresholds: {' + ', '.join(f't{i}: {{is: 1, why: a}}' for i in range(20)) + '}\n', 'too many'),
    ('an alias bomb', 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n' +
     ''.join(f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]\n' for i in range(1, 12)), 'a rule has no field a0'),
    ('an alias', rule_text(summary=None) + 'summary: &a one\nmany: *a\n', 'a rule has no aliases'),
    ('a text that is too long', rule_text(about='x' * 70000), 'longer than 64 KiB'),
]

QUESTIONS = [  # likewise, of rules that can be read
    ('a $name that is unknown', rule_text(sql='SELECT $nothing AS calls'), '$nothing is neither one of its thresholds'),
    ('a {name} that is unknown', rule_text(sentence='{nothing} is wrong'), '{nothing} is not a column'),
    ('a {name} that does not end', rule_text(sentence='{calls is wrong'), '{calls is wrong'),
    ('a text as a size', rule_text(sentence='{word:size}'), '{word:size}'),
    ('a text as a process', rule_text(sentence='{word:process}'), '{word:process}'),
    ('a number as a text', rule_text(sentence='{calls:quoted}'), '{calls:quoted}'),
    ('a {name} in what is shown', rule_text(show='where path == {nothing:quoted}'), '{nothing:quoted}'),
    ('SQL that is wrong', rule_text(sql='SELECT FROM WHERE'), 'rule own-rule'),
    ('a column that is unknown', rule_text(sql='SELECT nothing FROM op'), 'nothing'),
    ('a condition that is wrong', rule_text(when='use max(nothing) > 0'), 'rule own-rule (bad.rule): when use: '),
    ('a condition on single rows', rule_text(when='use torn > 0'), 'rule own-rule (bad.rule): when use: '),
    ('a condition on calls that is wrong', rule_text(when='op nothing == 1'), 'rule own-rule (bad.rule): when op: '),
    ('a condition with a $name that is unknown', rule_text(when='use max(torn) > $nothing'), '$nothing is neither'),
    ('two statements', rule_text(sql='SELECT 1 AS calls; SELECT 2 AS calls'), 'a rule has one query'),
    ('COPY', rule_text(sql="COPY (SELECT 1) TO 'made'"), 'a rule has one query'),
    ('a table that is made', rule_text(sql='CREATE TABLE t AS SELECT 1'), 'a rule has one query'),
    ('a file that is read', rule_text(sql="SELECT content AS word FROM read_text('/etc/hostname')"), 'Cannot access file'),
    ('SQL of a comment', rule_text(sql='-- nothing'), 'own-rule'),
    ('a query that is wrong', rule_text(sql=None, query='by nothing | count()'), 'nothing'),
    ('more than 24 columns', rule_text(sql='SELECT ' + ', '.join(f'1 AS c{i}' for i in range(40))), 'more than 24 columns'),
    ('too many rows', rule_text(sql='SELECT range AS calls, 1 AS each, \'\' AS word FROM range(200000)'), 'more than 100000 rows'),
]


def wrong_ones(trace):
    bad = []
    for name, text, part in FILES + QUESTIONS:
        write('bad.rule', text)
        # rules are read before they are listed, without the trace
        args = ('--only', 'own-rule', '-i', trace) if (name, text, part) in QUESTIONS else ('--explain', 'all')
        r = run('diagnose', '--rules', 'bad.rule', *args)
        lines = r.stderr.splitlines()
        if r.returncode not in (1, 2) or len(lines) != 1 or part not in r.stderr or r.stdout:
            bad.append(f'{name}: exit status {r.returncode}: {r.stderr} {r.stdout[:200]}')
    tap.none(f'{len(FILES + QUESTIONS)} wrong rules: a line for each, and an exit status', bad)
    check('COPY has made no file', not os.path.exists('made'))
    r = run('diagnose', '-i', trace, '--rules', 'nowhere')
    check('rules that are not there', r.returncode and 'nowhere' in r.stderr, r.stderr)


def own(trace):
    path = write('own.rule', rule_text())
    only = ['-i', trace, '--only', 'own-rule']
    found = rows(*only, '--rules', path)
    want = f'{run("query", "-i", trace, "--csv", "count()").stdout.split()[-1]}'
    check('a rule of its own finds', len(found) == 1 and found[0]['rule'] == 'own-rule' and str(found[0]['calls']) == want, found, want)
    shutil.copy(trace, 'second.trace')
    r = run('diagnose', '-i', trace, '-i', 'second.trace', '--only', 'own-rule', '--rules', path)
    check('the command that shows it names all traces', f"weir query -i {trace} -i second.trace 'by op" in r.stdout, r.stdout, r.stderr)
    for host, seed in (('a', '1'), ('b', '2')):
        run('synth', '-o', f'{host}.trace', '--host', host, '--seed', seed, '--rows', '10000')
    r = run('diagnose', '-i', 'a.trace', '-i', 'b.trace')
    check('traces of two hosts: the first line counts them', r.stdout.startswith('a.trace and 1 more '), r.stdout, r.stderr)
    for host in 'ab':
        check(f'a finding on {host} names it, and the command shows its calls only',
              f' host {host}: db_bench' in r.stdout and f"-i a.trace -i b.trace --host {host} 'where" in r.stdout, r.stdout, r.stderr)
    check('and fills its sentence', found[0]['sentence'].endswith(' calls, 7 B, 7, a "b", "a \\"b\\"", {each}'), found)
    for when, runs in (('use max(torn) < 0', False), ('op op == ptrace', False), ('op op == ptrace\nuse max(torn) < 0', False),
                       ('op op in (ptrace, pwrite64)', True), ('use max(torn) < 0\nstall count(*) >= 0 -- a comment', True)):
        write('when.rule', rule_text(when=when))
        found = rows(*only, '--rules', 'when.rule')
        check(f'when {when!r}: it {"runs" if runs else "does not run"}', len(found) == runs, found)
    os.makedirs('folder', exist_ok=True)
    write('folder/a.rule', rule_text())
    write('folder/b.rule', rule_text(rule='other-rule', sql=None, query='count() as calls, sum(bytes) as bytes', sentence='{calls} calls'))
    write('folder/.hidden.rule', 'no rule')
    write('folder/note.txt', 'no rule')
    found = rows('-i', trace, '--rules', 'folder', '--only', 'own-rule', '--only', 'other-rule')
    check('a folder of them; a question of the language', sorted(f['rule'] for f in found) == ['other-rule', 'own-rule'], found)
    found = rows('-i', trace, '--rules', 'folder', '--only', 'own-rule', '--only', 'other-rule', '--without', 'own-rule')
    check('--without', [f['rule'] for f in found] == ['other-rule'], found)
    write('small.rule', rule_text(rule='small-writes'))
    found = rows('-i', trace, '--rules', 'small.rule', '--only', 'small-writes')
    check('one of the name of a built-in one replaces it', len(found) == 1 and found[0]['sentence'].endswith('{each}'), found)
    listed = run('diagnose', '--explain', 'all', '--rules', 'small.rule').stdout.splitlines()
    check('and is listed once', sum(line.startswith('small-writes ') for line in listed) == 1)
    write('dollar.rule', rule_text(sql="-- what ends so\nSELECT count(*) AS calls, 1 AS bytes, $five AS each, 'x' AS word FROM op WHERE op::VARCHAR SIMILAR TO "
                                       "'.*' AND regexp_matches(op::VARCHAR, '[a-z0-9_]$')") + 'thresholds: {five: {is: 5, why: a test}}\n')
    found = rows('-i', trace, '--rules', 'dollar.rule', '--only', 'own-rule')
    check('a threshold, and a $ that is none', len(found) == 1 and '5 B' in str(found[0]['sentence']), found)
    write('covers.rule', rule_text(rule='wide-rule') + 'covers: own-rule\n')
    found = rows('-i', trace, '--rules', path, '--rules', 'covers.rule', '--only', 'own-rule', '--only', 'wide-rule')
    check('a rule that covers another', [f['rule'] for f in found] == ['wide-rule'], found)
    write('own2.rule', rule_text() + 'covers: wide-rule\n')
    found = rows('-i', trace, '--rules', 'own2.rule', '--rules', 'covers.rule', '--only', 'own-rule', '--only', 'wide-rule')
    check('of two that cover each other both stay', len(found) == 2, found)
    for files, want in (('0', 'file (2 processes)'), ('i', '2 files like file (2 processes)')):
        sql = f"SELECT i AS process_id, {files} AS file_id, 'file' AS pattern, 100 AS calls FROM range(8) r(i)"
        write('many.rule', rule_text(sql=sql, sentence='{pattern}', evidence='of {pattern}', many='{files} files like {pattern}'))
        found = rows('-i', trace, '--rules', 'many.rule', '--only', 'own-rule')
        check(f'one sentence for {want}', sorted(f['sentence'] for f in found) == sorted([want, want, 'file']), found)
    sql = "SELECT id AS process_id, id AS file_id, 'file.#' AS pattern, 100 AS calls FROM process WHERE argv LIKE 'fio%'"
    write('many.rule', rule_text(sql=sql, sentence='{process} and {pattern}', evidence='{calls} calls', many=None))
    found = rows('-i', trace, '--rules', 'many.rule', '--only', 'own-rule')
    check('a row for each of two processes of a program is one finding, with the evidence of one',
          [(f['sentence'], f['calls'], f['evidence']) for f in found] == [('fio and file.# (2 processes)', 200, 'the largest: 100 calls')], found)
    for more, share in (('', 'a number'), (', 1 AS elapsed', None)):
        sql = f"SELECT 1 AS file_id, 9000000000000 AS time, 1000 AS first_start, 1000001000 AS last_stop{more}"
        write('summed.rule', rule_text(sql=sql, sentence='{file}', evidence='{file}', many=None))
        found = rows('-i', trace, '--rules', 'summed.rule', '--only', 'own-rule')
        check(f'a cost above the time that passed is that time, and the sum is named{more}',
              [(f['time'], f['evidence'].split('; ')[1]) for f in found] == [(1000000000, '9,000 s summed over concurrent calls')] and
              (found[0]['share'] is None) == (share is None), found)
    sql = 'SELECT 1 AS file_id, 1000 AS first_start, 1000001000 AS last_stop, {} AS time{}'
    texts = {'sentence': '{file}', 'evidence': '{file}', 'many': None}
    write('elapsed.rule', rule_text(sql=sql.format(3000, ', 1 AS elapsed'), **texts))
    write('blocked.rule', rule_text(rule='blocked-rule', sql=sql.format(2000, ''), **texts))
    doc = json.loads(run('diagnose', '--json', '-i', trace, '--rules', 'elapsed.rule', '--rules', 'blocked.rule', '--only', 'own-rule',
                         '--only', 'blocked-rule').stdout)
    check('elapsed time is not part of the cost of all findings, and does not hide that of others', doc['cost'] == 2000 and len(doc['rows']) == 2, doc)
    for order in ('i', '-i'):
        sql = f"SELECT 1 AS file_id, 100 AS calls, 10 - i AS first_start, i AS word FROM range(8) r(i) ORDER BY {order}"
        write('order.rule', rule_text(sql=sql, sentence='{word}', evidence='{word}', many='{word}'))
        found = rows('-i', trace, '--rules', 'order.rule', '--only', 'own-rule')
        check(f'of equally expensive rows the first in time is shown, in whatever order they come: {order}', [f['sentence'] for f in found] == ['7'],
              found)


def progress(trace):
    """What is drawn while rules run counts rules, and does not begin anew with each statement."""
    for i in range(3):
        write(f'slow{i}.rule', rule_text(rule=f'slow-rule{i}', sentence='{calls}',
                                           sql=f"SELECT sum(hash(range + {i}) % 7)::BIGINT AS calls, 7 AS each, 'x' AS word FROM range(60000000)"))
    slow = [word for i in range(3) for word in ('--rules', f'slow{i}.rule', '--only', f'slow-rule{i}')]
    ours, its = pty.openpty()
    with subprocess.Popen([weir, 'diagnose', *slow, '-i', trace], stdin=its, stdout=subprocess.DEVNULL, stderr=its) as p:
        os.close(its)
        text = b''
        with contextlib.suppress(OSError):
            while part := os.read(ours, 65536):
                text += part
    os.close(ours)
    drawn = [int(n.replace(',', '')) for n in re.findall(r'([0-9,]+) of [0-9,]+ rules', text.decode())]
    check('progress counts rules', p.returncode == 0 and drawn and drawn == sorted(drawn) and 'blocks' not in text.decode(), text)


def options(trace, empty):
    path = write('own.rule', rule_text())
    only = ['--rules', path, '--only', 'own-rule']
    for level, status in (('note', 3), ('warning', 3), ('problem', 0)):
        r = run('diagnose', '-i', trace, *only, '--level', level)
        check(f'--level {level}: exit status {status}', r.returncode == status, r.returncode, r.stderr)
    r = run('diagnose', '-i', empty, *only, '--level', 'note')
    check('and 0 where nothing is found', r.returncode == 0 and 'no findings' in r.stdout, r.stdout, r.stderr)
    found = rows('-i', trace, *only, '--against', empty)
    check('--against: what is new', [f['since'] for f in found] == ['new'], found)
    found = rows('-i', empty, *only, '--against', trace)
    check('--against: what was mended', [f['since'] for f in found] == ['mended'], found)
    r = run('diagnose', '-i', empty, *only, '--against', trace, '--level', 'note')
    check('which is no reason for exit status 3', r.returncode == 0, r.returncode)
    found = rows('-i', trace, *only, '--against', trace)
    check('--against: what is as before', [f['since'] for f in found] == ['before'], found)
    for args in (('--level', 'high'), ('--only', 'nothing'), ('--without', 'nothing'), ('--explain', 'nothing'), ('--against', 'nothing')):
        r = run('diagnose', '-i', trace, *args)
        check(f'{args[0]} with a word that means nothing', r.returncode in (1, 2) and len(r.stderr.splitlines()) == 1, r.returncode, r.stderr)


TURNS = """
import os
there, back = os.pipe(), os.pipe()
if os.fork() == 0:
    while os.read(there[0], 1) == b'a':
        os.write(back[1], b'b')
    os._exit(0)
for _ in range(500):
    os.write(there[1], b'a')
    os.read(back[0], 1)
os.write(there[1], b'e')
"""


def beside():
    """What rules need: recorded or not, of all calls or of some, whole or with rows that are lost."""
    if os.geteuid():
        tap.skip('rules that need what is recorded beside calls', 'recording needs root')
        return
    r = run('record', '-q', '--with', 'block,sched,net', '-o', 'with.trace', '--', sys.executable, '-ISc', TURNS)
    if r.returncode:
        tap.skip('rules that need what is recorded beside calls', r.stderr)
        return
    # before diagnose adds its tables
    subprocess.run([thin, 'with.trace', 'lost.trace', '7', '1', 'sched'], capture_output=True, check=True)
    doc = json.loads(run('diagnose', '-i', 'with.trace', '--json').stdout)
    check('on a trace that has them they run, all but those that need another', doc['not_run'] and
          all(n['needs'] in ('content', 'phases', 'spans') for n in doc['not_run']), doc['not_run'])
    r = run('diagnose', '-i', 'with.trace')
    check('what did not run is said, with what to record', 'not run: ' in r.stdout and '--with content,phases' in r.stdout, r.stdout)
    doc = json.loads(run('diagnose', '-i', 'with.trace', '--json', '--where', 'op == read').stdout)
    check('none of them runs on a selection of calls', len(doc['not_run']) > 5 and not any(n['needs'] for n in doc['not_run']), doc['not_run'])
    sql = "SELECT count(*) AS calls, 0 AS bytes, 1 AS each, '' AS word FROM sched HAVING count(*) > 0"
    only = ['--only', 'own-rule', '--rules', 'needs.rule']
    for loss, want in (('less', 'at least'), ('wrong', 'rows of other tables were lost: one of them could change this')):
        write('needs.rule', rule_text(needs='sched', loss=loss, sql=sql))
        lost = [x['sure'] for x in rows('-i', 'lost.trace', *only)]
        check(f'rows that are lost change the verdict of a rule with loss: {loss}', lost == [want], lost)
    write('needs.rule', rule_text(needs='block', loss='wrong', sql=sql.replace('FROM sched', 'FROM block').replace(' > 0', ' >= 0')))
    lost = [x['sure'] for x in rows('-i', 'lost.trace', *only)]
    check('but not that of a rule that needs another table', lost == ['yes'], lost)
    write('needs.rule', rule_text(needs='sched', sql=sql))
    for new, old, want in (('with.trace', 'empty', ['unknown']), ('empty', 'with.trace', []), ('with.trace', 'with.trace', ['before'])):
        found = [x['since'] for x in rows('-i', new, *only, '--against', old)]
        check(f'--against: what a rule could not look for is neither new nor mended: {new}, {old}', found == want, found)
    with open('lost.trace', 'rb') as whole, open('cut.trace', 'wb') as cut:
        cut.write(whole.read()[:2000])
    r = run('diagnose', '-i', 'cut.trace')
    check('and of a file that was cut', 'an unknown number of calls was lost' in r.stdout, r.stdout)
    r = run('diagnose', '-i', 'lost.trace')
    check('and the last line', 'rows of other tables' in r.stdout and 'not certain' in r.stdout, r.stdout)


def other_tracers():
    """Another weir slows down what both record, and nothing else."""
    if os.geteuid():
        tap.skip('another weir', 'recording needs root')
        return
    with subprocess.Popen(['sleep', '60']) as one, subprocess.Popen(['sleep', '60']) as two:
        for what, selection, found in (('the same process', ['-p', str(one.pid)], True), ('among others', ['--pid', f'{two.pid},{one.pid}'], True),
                                       ('another process', ['-p', str(two.pid)], False)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink('beside.trace')
            with subprocess.Popen([weir, 'record', '-q', '-o', 'beside.trace', *selection]) as beside_it:
                # by then its programs are loaded
                while beside_it.poll() is None and not os.path.exists('beside.trace'):
                    time.sleep(0.05)
                run('record', '-q', '-o', 'both.trace', '-p', str(one.pid), '--duration', '100ms')
                beside_it.send_signal(signal.SIGINT)
            names = [x['evidence'] for x in rows('-i', 'both.trace', '--only', 'other-tracer')]
            mine = any(f'process {beside_it.pid},' in name for name in names)
            check(f'another weir that records {what} is {"" if found else "not "}reported', mine == found, names)
        one.kill()
        two.kill()


with tempfile.TemporaryDirectory(prefix='weir-rules-') as folder:
    os.chdir(folder)
    run('synth', '-o', 'trace', '--rows', '20000', '--seed', '5')
    run('synth', '-o', 'empty', '--rows', '1')
    run('synth', '-o', 'hostile', '--rows', '100000', '--seed', '2', '--profile', 'hostile')
    built_in('trace', 'empty')
    wrong_ones('trace')
    own('trace')
    options('trace', 'empty')
    progress('trace')
    beside()
    other_tracers()
    os.chdir('/')
sys.exit(tap.end())
