#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""registration.py MORE WEIR: MORE is weir with the analyses `gaps` and `totals` (gaps.c, totals.c) and the engine counts:// (tests/engine/counts.c), each a
line in its list. From those lines come the command, its help and completion, --json, --csv and the API; -i takes the address.
TAP on standard output."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'server'))
from client import Serve, Tap  # noqa: E402

more, weir = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
check = tap.check
ROWS = 20000


def run(*args, program=more, cwd=None):
    return subprocess.run([program, *args], capture_output=True, text=True, cwd=cwd, env={**os.environ, 'NO_COLOR': '1'})


def out(*args, **kw):
    r = run(*args, **kw)
    if r.returncode:
        raise RuntimeError(f'{args}: {r.returncode} {r.stderr}')
    return r.stdout


def told():
    check('weir --help lists it', '  gaps        find the longest times in which nothing ended\n' in out('--help'))
    check('and a weir without it does not', 'gaps' not in out('--help', program=weir))
    text = out('gaps', '--help')
    for part in ('usage: weir gaps [options] [TRACE...]', '--least TIME', '(default 1us)', '--top N', '--json', '--csv', '--where EXPR',
                 'Looks at the ends of calls and marks.', 'weir gaps --least 1ms', 'Exit status:'):
        check(f'its help has {part}', part in text, text)
    check('it has a man page', out('help', '--man', 'gaps').startswith('.TH WEIR\\-GAPS 1'))
    check('and a part of the documentation', '## weir gaps' in out('help', '--markdown'))
    for shell in ('bash', 'zsh', 'fish'):
        script = out('completion', shell)
        check(f'{shell} completes it', 'gaps' in script and 'least' in script)
    check('values of its options are completed', out('completion', '--words', '--', 'gaps', '--of', '').split() == ['all', 'op'])


def truth(folder, *more_args):
    """The gaps, by a loop over the rows"""
    ends = sorted(int(r['stop']) for table in ('op', 'mark') for r in csv.DictReader(
        io.StringIO(out('query', '-i', 't.trace', '--csv', f'from {table} | select {"time as stop" if table == "mark" else "stop"}',
                        *more_args, cwd=folder))) if r['stop'])
    gaps = sorted(((b - a, a) for a, b in zip(ends, ends[1:])), key=lambda g: (-g[0], g[1]))
    return ends, gaps


def answers(folder):
    ends, gaps = truth(folder)
    document = json.loads(out('gaps', 't.trace', '--json', '--top', '7', cwd=folder))
    got = [(r['dur'], r['at']) for r in document['rows']]
    origin = int(document['origin'])
    check('--json: the longest gaps', got == [(d, a - origin) for d, a in gaps[:7]], got, gaps[:7], origin)
    check('--json: its columns', [c['name'] for c in document['columns']] == ['at', 'dur', 'before'], document['columns'])
    finding = document['findings']['rows']
    check('--json: its finding', len(finding) == 1 and finding[0]['severity'] == 'warning' and finding[0]['rule'] == 'idle' and
          finding[0]['finding'] == f'nothing ended for {gaps[0][0]} ns' and 0 < finding[0]['share'] < 1, finding)
    check('--json: what is missing', document['loss']['events'] == 0)
    rows = list(csv.DictReader(io.StringIO(out('gaps', 't.trace', '--csv', '--top', '7', cwd=folder))))
    check('--csv: the same rows', [(int(r['dur']), int(r['at'])) for r in rows] == gaps[:7], rows)
    text = out('gaps', 't.trace', cwd=folder)
    check('a table for people', f'nothing ended for {gaps[0][0]} ns' in text and text.count('\n') == 2 + 1 + 1 + 5, text)
    least = gaps[3][0]
    few = json.loads(out('gaps', 't.trace', '--json', '--least', f'{least}ns', cwd=folder))['rows']
    check('an option of its own', len(few) == 4, few)
    none = json.loads(out('gaps', 't.trace', '--json', '--least', '1h', cwd=folder))
    check('nothing to find', none['rows'] == [] and none['findings']['rows'] == [])
    middle = (ends[len(ends) // 2] - origin) / 1e9
    part = json.loads(out('gaps', 't.trace', '--json', '--from', f'+{middle}s', '--top', '3', cwd=folder))
    check('a range, times from the first call of the trace', part['origin'] == document['origin'] and part['rows'] and all(r['at'] + int(part['origin']) >= origin + middle * 1e9 - 1000 for r in part['rows']), part)
    where = [json.loads(out('gaps', 't.trace', '--json', '--of', 'op', *w, cwd=folder))['rows'][0]['dur']
             for w in (('--where', 'op == "pread64"'), ())]
    check('a selection', where[0] > where[1] > 0, where)
    for args, status, part in ((('--of', 'x'), 2, "gaps: --of 'x': there are all and op"), (('--top', '0'), 2, 'too small'),
                               (('--json', '--csv'), 2, 'exclude'), (('--nonsense',), 2, 'no option')):
        r = run('gaps', 't.trace', *args, cwd=folder)
        check(f'{" ".join(args)} is refused', r.returncode == status and part in r.stderr and r.stderr.count('\n') == 1, r.stderr)
    r = run('gaps', 'nothing.trace', cwd=folder)
    check('a trace that is not there', r.returncode == 1 and 'nothing.trace' in r.stderr, r.stderr)


def asked(folder):
    """An analysis that puts questions to the engine, with all that selects calls"""
    for name, args in (('all', ()), ('a range', ('--from', '+0.005s', '--to', '+0.02s')), ('a selection', ('-e', '%network', '--slower', '1us')),
                       ('an expression', ('--where', 'bytes > 100'))):
        document = json.loads(out('totals', 't.trace', '--json', *args, cwd=folder))
        want = [json.loads(out('query', '-i', 't.trace', '--json', f'{w}by op | count() as n | sort n desc', *args, cwd=folder))['rows']
                for w in ('', 'where err is not null | ')]
        check(f'questions over {name}', document['rows'] == want[0] and document['tables']['errors']['rows'] == want[1] and want[0],
              document['rows'][:5], want[0][:5])
    check('without findings', 'findings' not in document)
    text = out('totals', 't.trace', cwd=folder)
    check('both tables for people', text.startswith('ops\n') and '\nerrors\n' in text, text[:300])


def addresses(folder):
    address = f'counts://{folder}/t.trace'
    document = json.loads(out('query', '-i', address, '--json', 'dur > 10us | count() as n'))
    same = json.loads(out('query', '-i', 't.trace', '--json', 'dur > 10us | count() as n', cwd=folder))
    check('query asks the engine at an address', document == same and same['rows'][0]['n'] > 0, document, same)
    check('on a screen too', 'n' in out('query', 'count() as n', address))
    late = [json.loads(out('query', '-i', i, '--json', 'count() as n', '--from', '+0.01s', cwd=folder))['rows'] for i in (address, 't.trace')]
    check('with a range from its first call', late[0] == late[1] and 0 < late[0][0]['n'] < ROWS, late)
    of_engine = json.loads(out('gaps', '-i', address, '--json'))
    check('an analysis reads its stream', of_engine == json.loads(out('gaps', 't.trace', '--json', cwd=folder)), of_engine)
    fetched, same = (json.loads(out('report', 'ops', '-i', i, '--json', cwd=folder))['rows'] for i in (address, 't.trace'))
    check('report fetches its rows', fetched == same and same, fetched[:2], same[:2])
    for args, part in ((('diff', address, 'counts:///other.trace'), 'second address'),
                       (('query', '-i', address, '-i', 't.trace', 'count()'), 'cannot be combined with other traces'),
                       (('query', '-i', address, 'by op | count()'), 'counts:// answers count() alone'),
                       (('query', '-i', address, '--explain', 'count()'), 'counts cannot explain a pipeline'),
                       (('query', '-i', address, '--follow', 'count()'), 'counts cannot follow'),
                       (('query', '-i', 'counts:///nothing', 'count()'), '/nothing'),
                       (('query', '-i', 'house://h/db', 'count()'),
                        "'house://h/db': this weir has no engine for house://; it reads trace files and folders of trace files, and addresses of "
                        'counts://')):
        r = run(*args, cwd=folder)
        check(f'{" ".join(args[:2])} ...: {part[:30]}', r.returncode in (1, 2) and part in r.stderr and r.stderr.count('\n') == 1 and
              not r.stdout.strip('\n').startswith('{'), r.returncode, r.stderr)
    for command in (('query', '-i', 'house://h/db', 'count()'), ('report', '-i', 'house://h/db'), ('serve', 'house://h/db'),
                    ('sql', 'SELECT 1', 'house://h/db'), ('diff', 'house://h/db', 'x'), ('trace', '-i', 'house://h/db'),
                    ('check', 'house://h/db'), ('annotate', '-n', 'x', 'house://h/db', 'SELECT 1')):
        r = run(*command, program=weir, cwd=folder)
        check(f'{command[0]}: an unknown scheme', r.returncode == 1 and r.stderr ==
              "weir: 'house://h/db': this weir has no engine for house://; it reads trace files and folders of trace files, and addresses of "
              'clickhouse://, opensearch://\n', r.returncode, r.stderr)


def parts(folder):
    """Two parts of one trace"""
    with open(f'{folder}/t.trace', 'rb') as whole, open(f'{folder}/cut.trace', 'wb') as cut:
        cut.write(whole.read()[:-100])
    apart = ('--a-to', '+10ms', '--b-from', '+10ms', '--json')
    loss = [json.loads(out(*c, cwd=folder))['loss'] for c in (('diff', 'cut.trace', *apart), ('query', '-i', 'cut.trace', '--json', 'head 1'))]
    check('what is missing is missing once', loss[0] == loss[1] and loss[0]['unclosed']['traces'] == 1, loss)
    both = run('diff', '-a', 't.trace', '-b', 't.trace', '-i', 't.trace', cwd=folder)
    check('-i beside -a and -b is refused', both.returncode == 2 and '-i compares two parts' in both.stderr, both.stderr)
    far = json.loads(out('diff', 't.trace', '--a-from', '+9000000000s', '--b-from', '+10ms', '--json', cwd=folder))
    check('a part behind the end is empty', far['a']['runs'][0]['dur'] == 1, far['a'])


def api(folder):
    with Serve(more, 't.trace', folder=folder) as s:
        document = s.get('analysis/gaps', top=7, least='2us')
        same = json.loads(out('gaps', 't.trace', '--json', '--top', '7', '--least', '2us', cwd=folder))
        check('the API has the rows of --json', document == same, document, same)
        for path, params, status, part in (('gaps', {'nonsense': 1}, 400, 'nonsense=: unknown parameter'),
                                           ('gaps', {'least': 'x'}, 400, 'least=: '), ('gaps', {'of': 'x'}, 400, "--of 'x'"),
                                           ('gaps', {'filter': 'nonsense'}, 400, 'nonsense'),
                                           ('diff', {}, 400, 'the two sides to compare are missing'), ('diff', {'from': 1000}, 400, 'the two sides to compare are missing'),
                                           ('diff', {'a_filter': 'op == "read") or (op == "write"', 'b_from': 1}, 400, ''),
                                           ('diff', {'a_filter': ' ' * 9000 + 'err == 2'}, 413, 'longer than 8 KiB'),
                                           ('nothing', {}, 404, 'unknown analysis')):
            got, _, body = s.ask(f'analysis/{path}', **params)
            check(f'analysis/{path} {params}', got == status and part in json.loads(body)['error']['message'], got, body)
        some = s.get('analysis/gaps', filter='op == "pread64"', of='op', from_=1000000)
        check('a filter and a range', some['rows'] and some['rows'][0]['dur'] > 0 and all(r['at'] >= 1000000 for r in some['rows']), some)
        same = json.loads(out('totals', 't.trace', '--json', '--where', 'bytes > 100', cwd=folder))
        check('the API puts questions to the engine', s.get('analysis/totals', filter='bytes > 100') == same)
        half = 10_000_000
        parts = s.get('analysis/diff', a_to=half, b_from=half, per='second')
        same = json.loads(out('diff', 't.trace', '--a-to', f'+{half / 1e9}s', '--b-from', f'+{half / 1e9}s', '--per', 'second', '--json',
                              cwd=folder))
        check('diff of two parts of the trace that is served', parts['rows'] == same['rows'] and parts['unit'] == 'second' and
              len(parts['rows']) > 10, len(parts['rows']), len(same['rows']))
        got, headers, body = s.ask('analysis/diff', headers={'Accept': 'application/vnd.weir.columns'}, a_to=half, b_from=half)
        check('in no other form', headers['content-type'] == 'application/json' and json.loads(body)['rows'], got, headers)
        calls = s.get('analysis/diff', a_filter='op == "pread64"', b_filter='op == "pwrite64"', filter='bytes > 0')
        check('and of two filters', {r['op'] for r in calls['rows'] if r['by'] == 'op'} <= {'pread64', 'pwrite64'}, calls['rows'][:3])


def main():
    with tempfile.TemporaryDirectory(prefix='weir-registration-') as folder:
        out('synth', '-q', '-o', 't.trace', '--rows', str(ROWS), '--seed', '3', cwd=folder)
        told()
        answers(folder)
        parts(folder)
        if json.loads(run('query', '-i', 't.trace', '--json', 'count()', cwd=folder).stdout or '{}'):
            asked(folder)
            addresses(folder)
            api(folder)
        else:
            check('addresses and the API # SKIP the library of DuckDB is not here', True)
    return tap.end()


sys.exit(main())
