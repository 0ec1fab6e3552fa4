#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cases.py WEIR [--only NAME,...] [--keep DIR] [--jobs N]: records the twins of each case, and compares what `weir diagnose` finds.
cases.py WEIR --thin THIN [--all] ...: judges every 24th trace, or with --all, as `make nightly` does, all of them, again after THIN (thin.c) has
taken 1 % of its calls and of its rows beside calls, of some at random, of others in bursts: what is found although it is not there must be
called uncertain. And another 24th, or all of them, with rules that always run, instead of only when their conditions hold: they must find no more.
cases.py WEIR --export DIR [--only NAME,...]: records them, and writes a trace and a label for each, for other tools. Needs root.
cases.py --list: the names of the cases.

A case is a folder beside this file:

  README.md    the program, its fault, what the healthy twin does instead, what should be found
  run          an executable; its argument is 'faulty' or 'healthy', its working directory an empty folder
  prepare      optional, with the same argument and folder: runs before, unrecorded. Exit status 77 skips the twin, with the reason
               in the last line of what it printed
  clean        optional, the same: runs at the end, whatever happened
  expect.json  {"faulty": [{"rule": "small-writes", "path": "**/events.log", "thread": "writer", "range": [0, 500000]}],
                "healthy": [], "allow": ["small-reads"], "needs": ["root", "sqlite3"], "with": "block,phases"}

A case without "faulty" is an ordinary program that has no fault. Of an expected finding every member but rule may be left out: path
and peer are globs (** crosses folders), evidence, sentence, change and query are globs of the whole text, process and thread are globs of the name without the number, range is first and last position
(pos and stop_pos), of which null is not compared. Findings that are not expected fail the test, unless their rule is in "allow" and
the twin is the faulty one: those are the same fault seen from another side, and README.md gives the reason. In "needs", root is
the user, disk a file system that is not in memory, loop a loop device, of which one case at a time has some, and everything else a
program. "with" is what weir record --with records beside calls, "content" the mode of --content. "alone": true is for a case that would find another one on its device:
it runs when the others have ended.
"""
import argparse
import concurrent.futures
import contextlib
import fcntl
import fnmatch
import functools
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
from tap import Tap  # noqa: E402

TWINS = ('faulty', 'healthy')
MEMBERS = {'faulty', 'healthy', 'allow', 'needs', 'with', 'content', 'alone'}
FINDING_MEMBERS = {'rule', 'path', 'peer', 'process', 'thread', 'range', 'evidence', 'sentence', 'change', 'query'}
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
STEP_S = 60  # a step that takes longer hangs
AGAIN_MAX = 6  # more failures than this are not accidental
TRIES = 3  # recordings of a twin; one that lost calls is repeated
FOUND = 3  # exit status of diagnose with findings
SKIP = 77
DISKS = '/run/lock/weir-disks'  # locked by who has loop devices
BURSTS = (1, 20)  # calls that are lost together, where calls are taken from a trace
THINNED = 24  # of so many twins one, as that takes time
RULES = os.path.join(HERE, '..', '..', 'rules')
SEED = 7
BESIDE = {'block': ['block', 'block_part'], 'net': ['net', 'net_sample'], 'sched': ['sched'], 'phases': []}  # tables of record --with
SPANS = ('span-outliers', 'span-one-wait', 'slow-back-end', 'n-plus-one')  # rules whose costs are times of spans
# What is true of the machine and not of the program, as the rows without a process show: other tests record beside these, and its disk
# may be nearly full.
OF_MACHINE = ('other-tracer', 'disk-full')


class Skipped(Exception):
    """This machine cannot run the case."""


class Failed(Exception):
    """The case could not be recorded or judged; args are the lines of the reason."""


class Case:
    def __init__(self, name):
        self.name = name
        self.folder = os.path.join(HERE, name)
        with open(os.path.join(self.folder, 'expect.json'), encoding='utf-8') as f:
            self.expect = json.load(f)
        with open(os.path.join(self.folder, 'README.md'), encoding='utf-8') as f:
            self.about = f.read()
        wrong = self.expect.keys() - MEMBERS
        for twin in self.twins():
            for finding in self.expect[twin]:
                wrong |= finding.keys() - FINDING_MEMBERS
        if wrong or 'healthy' not in self.expect:
            sys.exit(f'{name}/expect.json: {", ".join(sorted(wrong)) or "healthy"}: unknown, or missing')

    def twins(self):
        return [t for t in TWINS if t in self.expect]

    def allowed(self, twin):
        return self.expect.get('allow', []) if twin == 'faulty' else []

    def why_not(self, folder):
        """The first need that is not met here; None if all are."""
        for need in self.expect.get('needs', []):
            if need == 'root':
                met = os.geteuid() == 0
            elif need == 'disk':
                met = file_system_of(folder) not in ('tmpfs', 'ramfs')
            elif need == 'loop':
                met = os.path.exists('/dev/loop-control')
            else:
                met = shutil.which(need, path=PATH)
            if not met:
                return f'needs {need}'
        return None


def file_system_of(folder):
    r = subprocess.run(['stat', '-f', '-c', '%T', folder], capture_output=True, text=True, check=False)
    return r.stdout.strip()


@contextlib.contextmanager
def disks(wanted):
    """Loop devices are few, and one that is slow on purpose slows others."""
    if not wanted:
        yield
        return
    with open(DISKS, 'w', encoding='utf-8') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def call(command, folder, log):
    """Runs a command in a folder, its output into a log; the exit status. One that hangs is ended with all that it started."""
    env = {'PATH': PATH, 'HOME': folder, 'TMPDIR': folder, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'NO_COLOR': '1', 'PYTHONDONTWRITEBYTECODE': '1'}
    with subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                          start_new_session=True) as p:
        try:
            return p.wait(STEP_S)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return f'{command[0]} did not end within {STEP_S} s'


def without_conditions(folder):
    """Writes the rules into a folder, without what they run only when: they always run."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(RULES):
        if name.endswith('.rule'):
            with open(os.path.join(RULES, name), encoding='utf-8') as f, open(os.path.join(folder, name), 'w', encoding='utf-8') as to:
                to.write(re.sub(r'^when: .*\n( .*\n)*', '', f.read(), flags=re.M))
    return folder


@functools.cache
def rules_of(weir):
    """The names of the rules that this weir has."""
    r = subprocess.run([weir, 'diagnose', '--explain', 'all'], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in r.stdout.splitlines() if line}


class Twin:
    """One of the two programs of a case, and its folder: work/ is where it runs, beside it are the trace and the output."""

    def __init__(self, weir, case, twin, folder, thin=None, all_thinned=False, always=None):
        self.weir, self.case, self.twin, self.thin, self.all_thinned, self.always = weir, case, twin, thin, all_thinned, always
        self.name = f'{case.name} {twin}'
        self.folder = os.path.join(folder, f'{case.name}.{twin}')
        self.work = os.path.join(self.folder, 'work')
        self.trace = os.path.join(self.folder, 'trace')

    def step(self, what, *before):
        """Runs a program of the case, if it has it: exit status, and the last lines of its output."""
        program = os.path.join(self.case.folder, what)
        if not os.path.exists(program):
            return 0, []
        with open(os.path.join(self.folder, what + '.out'), 'w+', encoding='utf-8', errors='replace') as log:
            status = call([*before, program, self.twin], self.work, log)
            log.seek(0)
            return status, log.read().splitlines()[-10:]

    def record_once(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.work)
        try:
            status, said = self.step('prepare')
            if status == SKIP:
                raise Skipped(said[-1] if said else 'prepare gives no reason')
            if status:
                raise Failed(f'prepare: exit status {status}', *said)
            beside = ['--with', self.case.expect['with']] if 'with' in self.case.expect else []
            if 'content' in self.case.expect:
                beside.append('--content=' + self.case.expect['content'])
            status, said = self.step('run', self.weir, 'record', '-q', *beside, '-o', self.trace, '--')
            why = [line for line in said if 'cannot load the kernel programs' in line or 'this kernel does not show' in line]
            if why:
                raise Skipped(why[0])
            if status:
                raise Failed(f'run: exit status {status}', *said)
        finally:
            status, said = self.step('clean')
        if status:
            raise Failed(f'clean: exit status {status}', *said)

    def record(self, look):
        """Records the twin: what look() says of its trace, a document. A trace that lost calls is no evidence of anything: it is
        recorded again."""
        why = self.case.why_not(os.path.dirname(self.folder))
        if why:
            raise Skipped(why)
        for _ in range(TRIES):
            with disks('loop' in self.case.expect.get('needs', [])):
                self.record_once()
            document = look()
            lost = document['loss']
            if not lost['events'] and not lost['damaged_blocks']:
                return document
        raise Failed(f'{TRIES} recordings lost calls', json.dumps(lost))

    def ask(self, trace, command, *args):
        """The document of a weir command about a trace."""
        r = subprocess.run([self.weir, command, '--json', *args, '-i', trace], capture_output=True, text=True, timeout=STEP_S, check=False)
        if r.returncode not in (0, FOUND):
            raise Failed(f'{command}: exit status {r.returncode}', *r.stderr.splitlines()[:5])
        return json.loads(r.stdout)

    def complaints(self):
        """What is wrong with the findings; none if they are as expected."""
        # what is alone needs a machine that does little else: a fault that does not show is given another chance
        for _ in range(TRIES if self.case.expect.get('alone') and self.twin == 'faulty' else 1):
            bad = self.complaints_once()
            if not bad:
                break
        return bad

    def complaints_once(self):
        chance = zlib.crc32(self.name.encode())
        bursts = BURSTS if self.all_thinned else [BURSTS[chance // THINNED % len(BURSTS)]] if chance % THINNED == 0 else []
        thinned = []

        def look():
            thinned[:] = [self.thinned(burst) for burst in bursts] if self.thin else []  # before diagnose adds its tables
            return self.ask(self.trace, 'diagnose')

        rows = self.record(look)['rows']
        expected = self.case.expect[self.twin]
        missing = {finding['rule'] for finding in expected} - rules_of(self.weir)
        if missing:
            raise Skipped(f'recorded; this weir has no rule {", ".join(sorted(missing))}')
        allowed = self.case.allowed(self.twin)
        bad = judge(rows, expected, allowed)
        if self.always and (self.all_thinned or chance % THINNED == 1):
            bad += self.skipped_wrongly(rows)
        bad += [f'its query shows nothing: {row["query"]}' for row in rows
                if row['process'] and not self.ask(self.trace, 'query', row['query'])['rows']]
        for what, trace in thinned if not bad else ():
            rows = [row for row in self.ask(trace, 'diagnose')['rows'] if row['sure'] == 'yes']
            wrong = [row for row in rows if not is_expected(row, expected, allowed, without='range')]
            bad += [f'{what}: found, wrong, and called certain: {line_of(row)}' for row in wrong]
        return bad

    def skipped_wrongly(self, rows):
        """What rules find that did not run, as what they run only when does not hold."""
        names = [{(row['rule'], row['process'], row['pattern']) for row in some}
                 for some in (self.ask(self.trace, 'diagnose', '--rules', self.always)['rows'], rows)]
        return [f'found only if the rule always runs: {finding}' for finding in sorted(names[0] - names[1], key=str)]

    def thinned(self, burst):
        """What was done, and the trace without 1 % of its rows."""
        trace = f'{self.trace}.thin{burst}'
        words = self.case.expect['with'].split(',') if 'with' in self.case.expect else []
        tables = ['op'] + [table for word in words for table in BESIDE[word]] + (['chunk'] if 'content' in self.case.expect else [])
        r = subprocess.run([self.thin, self.trace, trace, str(SEED), str(burst), *tables], capture_output=True, text=True, timeout=STEP_S,
                           check=False)
        if r.returncode:
            raise Failed(*r.stderr.splitlines())
        return f'{r.stdout.strip()} rows taken, {burst} at a time', trace


def glob_fits(pattern, text):
    """* stays within a folder, ** crosses folders."""
    if text is None:
        return False
    regular = re.escape(pattern).replace(r'\*\*', '.*').replace(r'\*', '[^/]*').replace(r'\?', '[^/]')
    return re.fullmatch(regular, text, re.S) is not None


def name_fits(pattern, text):
    """'writer' is 'writer', or 'writer 4711'."""
    return text is not None and fnmatch.fnmatchcase(re.sub(r' \d+$', '', text), pattern)


def misfits(finding, row):
    """The members of an expected finding that a row does not have."""
    found = []
    for member, want in finding.items():
        if member == 'range':
            fits = all(w is None or w == row.get(column) for w, column in zip(want, ('pos', 'stop_pos')))
        elif member == 'rule':
            fits = row['rule'] == want
        elif member in ('path', 'peer', 'evidence', 'sentence', 'change', 'query'):
            fits = glob_fits(want, row.get(member))
        else:
            fits = name_fits(want, row.get(member))
        if not fits:
            found.append(member)
    return found


def line_of(row):
    """A row in one line."""
    return json.dumps({k: row.get(k) for k in ('rule', 'path', 'peer', 'process', 'thread', 'calls', 'pos', 'stop_pos', 'sentence')})


def is_expected(row, expected, allowed, without=None):
    if row['rule'] in OF_MACHINE and row['process'] is None:
        return True
    return row['rule'] in allowed or any(not set(misfits(finding, row)) - {without} for finding in expected)


def judge(rows, expected, allowed):
    """Compares findings with those that are expected: a list of complaints."""
    bad = []
    for finding in expected:
        if any(not misfits(finding, row) for row in rows):
            continue
        bad.append(f'not found: {json.dumps(finding)}')
        near = [row for row in rows if row['rule'] == finding['rule']]
        bad += [f'  this is near, other in {", ".join(misfits(finding, row))}: {line_of(row)}' for row in near]
    for row in rows:
        if not is_expected(row, expected, allowed):
            bad.append(f'found, and not expected: {line_of(row)}')
        # what slows a span down may be other than waiting
        if (row.get('share') or 0) > 1 and row['rule'] not in SPANS:
            bad.append(f'costs more time than the program waited: {line_of(row)}')
    return bad


def verdict(twin):
    """What is wrong, and why the twin was skipped; both None where all is well."""
    try:
        return twin.complaints(), None
    except Skipped as e:
        return None, e.args[0]
    except Failed as e:
        return list(e.args), None


def exported(twin, folder):
    """Writes FOLDER/CASE.TWIN.weir and .json, the label."""
    try:
        twin.record(lambda: twin.ask(twin.trace, 'query', 'head 1'))
    except Skipped as e:
        return None, e.args[0]
    except Failed as e:
        return list(e.args), None
    case = twin.case
    label = {'case': case.name, 'twin': twin.twin, 'about': case.about, 'findings': case.expect[twin.twin], 'allowed': case.allowed(twin.twin),
             'kernel': os.uname().release}
    base = os.path.join(folder, f'{case.name}.{twin.twin}')
    shutil.copyfile(twin.trace, base + '.weir')
    with open(base + '.json', 'w', encoding='utf-8') as f:
        json.dump(label, f, indent=1)
        f.write('\n')
    return None, None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0], formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('weir', nargs='?', help='the program')
    parser.add_argument('--only', help='these cases; names or globs, separated by commas')
    parser.add_argument('--keep', metavar='DIR', help='keep traces and outputs in this folder')
    parser.add_argument('--jobs', type=int, default=2, help='twins that are recorded at the same time (2)')
    parser.add_argument('--export', metavar='DIR', help='write traces and labels into this folder')
    parser.add_argument('--thin', help='the program that takes calls from traces')
    parser.add_argument('--all', action='store_true', help='of all traces')
    parser.add_argument('--list', action='store_true', help='print the names of the cases')
    args = parser.parse_args()
    if not args.weir and not args.list:
        parser.error('WEIR is missing')
    return args


def main():
    args = arguments()
    names = sorted(n for n in os.listdir(HERE) if os.path.exists(os.path.join(HERE, n, 'expect.json')))
    if args.only:
        names = [n for n in names if any(fnmatch.fnmatchcase(n, o) for o in args.only.split(','))]
    if args.list:
        print('\n'.join(names))
        return 0
    if not names:
        sys.exit(f'no case is called {args.only}')
    if os.geteuid() and args.export:
        sys.exit('recording needs root')
    if os.geteuid():
        print('1..0 # SKIP recording needs root')
        return 0
    do = verdict
    if args.export:
        os.makedirs(args.export, exist_ok=True)
        do = lambda twin: exported(twin, args.export)  # noqa: E731
    tap = Tap()
    # /var/tmp is on a disk, where /tmp may be in memory
    with tempfile.TemporaryDirectory(prefix='weir-cases-', dir='/var/tmp') as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        folder = os.path.abspath(args.keep) if args.keep else folder
        os.makedirs(folder, exist_ok=True)
        weir = os.path.abspath(args.weir)
        thin, always = (os.path.abspath(args.thin), without_conditions(os.path.join(folder, 'rules'))) if args.thin else (None, None)
        twins = [Twin(weir, case, twin, folder, thin, args.all, always) for case in map(Case, names) for twin in case.twins()]
        alone = [t for t in twins if t.case.expect.get('alone')]
        twins = [t for t in twins if t not in alone]
        verdicts = itertools.chain(pool.map(do, twins), map(do, alone))
        failed = []
        for twin, (bad, skip) in zip(twins + alone, verdicts):
            if skip:
                tap.skip(twin.name, skip)
            elif bad:
                failed.append((twin, bad))
            else:
                tap.none(twin.name, [])
            if not args.keep and not bad:
                shutil.rmtree(twin.folder, ignore_errors=True)
        for twin, bad in failed:
            # as a whole test that fails beside others is run again, alone: the second result counts, and both are printed
            if len(failed) <= AGAIN_MAX and do is verdict and not args.keep:
                print(f'# {twin.name} failed beside others:', *bad, sep='\n#   ')
                bad = do(twin)[0] or []
            tap.none(twin.name, bad)
        if do is verdict and not args.only:
            tap.none('each rule has a case', sorted(rules_of(weir) - {f['rule'] for t in twins + alone for f in t.case.expect[t.twin]}))
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
