#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contexts.py WEIR CARRIERS PLAIN LIBRARY...: the contexts that threads publish, against what the programs print of each call.

CARRIERS has the variable itself, PLAIN uses that of a library. Needs root. Tests of ddtrace need the Python that
WEIR_DDTRACE_PYTHON names, else that of the system, to have it.
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, carriers, plain, *libraries = map(os.path.abspath, sys.argv[1:])
tap = Tap()
JOINED = """
    select o.tid, o.pos, c.trace_id, c.span_id, c.unsure, c.service, c.source, count(*) over (partition by o.tid, o.pos) as n
    from op o left join context c
        on c.thread_id = o.thread_id and o.start >= c.start and o.start + o.dur <= c.start + c.dur
    where o.op = 'pread64' and o.size = 1"""


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, check=False, **more)


def record(trace, *args):
    r = run(weir, 'record', '-o', trace, *args, stdin=subprocess.DEVNULL)
    if 'cannot load the kernel programs' in r.stderr:
        print('1..0 # SKIP ' + r.stderr.splitlines()[0])
        sys.exit(0)
    return r


def sql(trace, text):
    r = run(weir, 'sql', '--json', '-i', trace, text)
    if r.returncode:
        sys.exit(r.stderr)
    return json.loads(r.stdout)['rows']


def truth_of(text):
    """Of each call, named by its thread and position: its trace and span, None: it carried none."""
    lines = [line.split() for line in text.splitlines() if len(line.split()) == 4]
    return {(int(tid), int(pos)): None if span == '-' else (trace, span) for tid, pos, trace, span in lines}


def wrong_of(trace, truth, calls, unsure=False, service='carriers'):
    """The calls that do not have the row of their context and no other."""
    got = {(row['tid'], row['pos']): row for row in sql(trace, JOINED)}
    wrong = [] if len(truth) == calls else [f'{len(truth)} calls printed instead of {calls}']
    for key, want in truth.items():
        row = got.get(key)
        have = (row['trace_id'], row['span_id']) if row and row['span_id'] else None
        if not row or have != want or row['n'] != 1:
            wrong.append(f'{key}: want {want}, got {row}')
        elif want and (bool(row['unsure']) != unsure or row['service'] != service or row['source'] != 'otel'):
            wrong.append(f'{key}: {row}')
    return wrong


def patiently(name, attempt):
    """Tests what attempt() finds wrong; again with more time for the recorder to find the variable, if it did."""
    for wait in '200', '4000':
        os.environ['CARRIERS_WAIT'] = wait
        wrong = attempt()
        if not wrong:
            break
    tap.none(name, wrong[:5])


def losses(trace):
    return {row['cause']: row['events'] for row in sql(trace, 'select cause, sum(events) as events from loss group by cause')}


def of_mode(name, mode, calls, unsure=False, program=carriers, variable='own', options=()):
    def attempt():
        r = record('t', *options, '--', program, file, variable, *mode)
        if r.returncode or 'sequence gap-free' not in r.stderr:
            return r.stderr.splitlines()
        return wrong_of('t', truth_of(r.stdout), calls, unsure)
    patiently(name, attempt)


def threads():
    of_mode('threads, a variable of the program', ['3', '1500'], 4500)
    rows = sql('t', 'select count(*) as n, count(distinct span_id) as spans from context')[0]
    tap.check('a row for each context, however many calls carry it', rows == {'n': 2700, 'spans': 2700}, rows)
    tap.none('nothing is missing', losses('t').items())
    for library in libraries:
        name = os.path.basename(library)
        of_mode(f'threads, {name}', ['3', '300'], 900, program=plain, variable=library)


def selected():
    """The announcement is a prctl, which is not among the operations."""
    of_mode('operations are selected', ['2', '50'], 100, options=['-e', 'pread64'])
    of_mode('a loop whose waits are not recorded', ['loop'], 20, True, options=['-e', 'pread64'])


def heir():
    """A child that publishes: what its parent left it may be another's request."""
    r = record('t', '--', carriers, file, 'own', 'heir')
    truth = truth_of(r.stdout)
    rows = {row['pos']: row for row in sql('t', JOINED)}
    bad = [rows.get(pos) for (_, pos), want in truth.items()
           if not rows.get(pos) or (rows[pos]['trace_id'], rows[pos]['span_id']) != want or rows[pos]['unsure'] != (pos == 100)]
    return bad if len(truth) == 3 else bad + [r.stderr]


def two():
    """A program and a library have a variable each: one is read, and the process is counted."""
    r = record('t', '--', carriers, file, libraries[-1], '1', '10')
    return [] if losses('t') == {'context': 1} else [losses('t'), r.stderr]


def older():
    with subprocess.Popen([carriers, file, 'own', 'older'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        with subprocess.Popen([weir, 'record', '-q', '-o', 't', '-p', str(p.pid)], stderr=subprocess.PIPE, text=True) as recorder:
            while not attached(recorder.pid):
                if recorder.poll() is not None:
                    return recorder.stderr.read().splitlines()
                time.sleep(0.05)
            said = p.communicate('go\n')[0]
            recorder.communicate()
    return wrong_of('t', truth_of(said), 3000)


def attached(pid):
    """Whether a recorder has attached its programs: their number does not grow any more."""
    counts = []
    for _ in range(2):
        links = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd') if
                 os.path.lexists(f'/proc/{pid}/fd/{fd}')]
        counts.append(sum('bpf_link' in link for link in links))
        time.sleep(0.1)
    return counts[0] == counts[1] > 0


def hostile():
    def attempt():
        r = record('t', '--', carriers, file, 'own', 'hostile')
        wrong = wrong_of('t', truth_of(r.stdout), 300)
        return wrong if losses('t').get('context', 0) >= 2 else wrong + [f'what could not be read is counted: {losses("t")}']
    patiently('hostile memory', attempt)
    tap.none('no context comes from it', sql('t', 'from context'))


DDTRACE = """
    import os, threading, time
    from ddtrace.trace import tracer
    file = os.open({file!r}, os.O_RDONLY)
    time.sleep(int(os.environ['CARRIERS_WAIT']) / 1000)

    def work():
        tid = threading.get_native_id()
        for i in range(150):
            with tracer.trace('outer') as span:
                with tracer.trace('inner') if i % 3 else span as one:
                    os.pread(file, 1, i)
                    rows.append(f'{{tid}} {{i}} {{one.trace_id:032x}} {{one.span_id:016x}}')

    rows = []
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(*rows, sep='\\n', flush=True)
    os._exit(0)
    """


def ddtrace():
    python = os.environ.get('WEIR_DDTRACE_PYTHON', sys.executable)
    env = dict(os.environ, DD_TRACE_AGENT_URL='http://127.0.0.1:9', DD_SERVICE='shop', DD_REMOTE_CONFIGURATION_ENABLED='false',
               DD_INSTRUMENTATION_TELEMETRY_ENABLED='false')
    if run(python, '-c', 'import ddtrace', env=env).returncode:
        return tap.skip('ddtrace', f'{python} has no ddtrace (WEIR_DDTRACE_PYTHON names another)')

    def attempt():
        r = run(weir, 'record', '-q', '-o', 't', '--', python, '-c', textwrap.dedent(DDTRACE).format(file=file),
                env=env | {'CARRIERS_WAIT': os.environ['CARRIERS_WAIT']}, stdin=subprocess.DEVNULL)
        return wrong_of('t', truth_of(r.stdout), 450, service='shop')
    return patiently('ddtrace', attempt)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    file = os.path.join(folder, 'file')
    with open(file, 'wb') as f:
        f.write(bytes(5000))
    threads()
    selected()
    of_mode('a loop that waits with a context', ['loop'], 20, True)
    of_mode('a thread that waits for one descriptor', ['one'], 10)
    of_mode('a child, and a thread whose name changes', ['fork'], 3)
    of_mode('a name that is in no memory yet', ['cold'], 1500)
    of_mode('another program', ['exec'], 2)
    patiently('a context that a child inherited is unsure', heir)
    patiently('two variables of the name', two)
    patiently('a process older than the recorder', older)
    hostile()
    ddtrace()
sys.exit(tap.end())
