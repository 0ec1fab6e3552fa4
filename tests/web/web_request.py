#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""web_request.py WEIR SCRIPT: nginx, PHP-FPM and MariaDB under demo/web-request, healthy and with each of its faults. Counts are those of
the clients and of the database, the threads of each request those that the page itself wrote down, and each fault is found, in its
trace alone. Speaks TAP."""
import collections
import concurrent.futures
import fcntl
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, script = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
FAULTS = ('healthy', 'cpu', 'dns', 'disk')
DISKS = '/run/lock/weir-disks'  # locked by who has loop devices
SKIP = 77
CAUSES = {'cpu': 'cpu-contention', 'dns': 'dead-peer', 'disk': 'slow-device'}
# who waits for a thread that has no CPU yet waits as well
WAITS = {'cpu': ('stalled', 'wait'), 'dns': ('wait',), 'disk': ('sync', 'data', 'lock')}


def document(*args, statuses=(0,)):
    p = subprocess.run([weir, *args, '--json'], capture_output=True, text=True, check=False, timeout=60)
    if p.returncode not in statuses:
        raise RuntimeError(f'weir {" ".join(args)}: {p.stderr}')
    return json.loads(p.stdout)


def counts(tap, fault, trace, said):
    """The sums of each definition against what the clients and the database counted."""
    sums = {r['period']: r for r in document('periods', '-i', trace, '--use', 'web')['tables']['periods']['rows']}
    sql = said['sql']
    # the connection and the statement that asked for the counts are the last ones
    statements = sql['Com_select'] + sql['Com_insert'] + sql['Connections'] - 1
    want = {'request': said['complete'], 'upstream': said['complete'], 'fastcgi': said['complete'], 'sql': statements}
    got = {k: sums[k]['count'] for k in want}
    open_ends = {k: [v[x] for x in ('cut', 'lost', 'running')] for k, v in sums.items() if any(v[x] for x in ('cut', 'lost', 'running'))}
    tap.check(f'{fault}: as many requests as ab made, as many statements as MariaDB counted', got == want, f'want {want}', f'got {got}')
    tap.check(f'{fault}: each has its end', not open_ends, open_ends)
    tap.check(f'{fault}: no request failed', said['failed'] == 0, said['failed'])


def threads(tap, fault, trace, said):
    """The client's port, the process of PHP and the database's thread of each request, as periods have them and as the page wrote."""
    rows = {r['number']: r for r in document('periods', '-i', trace, '--use', 'web')['rows']}
    found = collections.defaultdict(lambda: [None, None, collections.Counter()])

    def chain(r):
        while r:
            yield r
            r = rows.get(r['parent'])

    for r in rows.values():
        if r['name'] not in ('fastcgi', 'sql'):
            continue
        names = {x['name']: x for x in chain(r)}
        of = found[names['request']['number']]
        of[0] = int(json.loads(names['connection']['attributes'])['peer'].rsplit(':', 1)[1])
        if r['name'] == 'fastcgi':
            of[1] = r['tid']
        else:
            of[2][r['tid']] += 1
    want = sorted([port, php, {thread: 5}] for port, php, thread in said['threads'])
    got = sorted([port, php, dict(threads)] for port, php, threads in found.values())
    tap.check(f'{fault}: each statement is below the request that made it', got == want,
              *[f'want {w}, got {g}' for w, g in zip(want, got) if w != g][:3], f'{len(want)} and {len(got)}')


def time(tap, fault, trace):
    """The parts of a request's time add up, and most of it is what the fault makes it wait for."""
    document('periods', '-i', trace, '--use', 'web', '--keep')
    r = document('requests', '-i', trace, '--name', 'request')['rows'][0]
    parts = {k: r[k] for k in ('program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other')}
    tap.check(f'{fault}: the parts of the time add up', sum(parts.values()) == r['total'], parts, r['total'])
    if fault in WAITS:
        share = sum(parts[k] for k in WAITS[fault])
        most = max(v for k, v in parts.items() if k not in WAITS[fault])
        tap.check(f'{fault}: most of the time is {" and ".join(WAITS[fault])}', share > most, parts)


def path(tap, fault, trace):
    """The critical path of the slowest request covers it once, and leads to the name server that does not answer."""
    d = document('requests', '-i', trace, '--name', 'request', '--tree', 'slowest')
    request, parts = d['rows'][0], d['critical_path']['parts']
    tap.check(f'{fault}: the critical path is as long as the request', sum(parts.values()) == request['dur'] == d['critical_path']['time'],
              parts, request)
    if fault == 'dns':
        tap.check(f'{fault}: most of the path is a wait', parts['wait'] > request['dur'] / 2, parts)


def is_cause(finding, rule, said):
    """A finding that names what the script did. Whatever else takes the CPU of this machine may take more of it than the script does."""
    text, process = finding['sentence'], finding['process'] or ''
    return finding['rule'] == rule and {
        'cpu-contention': process.startswith(('nginx', 'php-fpm', 'mariadbd')),
        'dead-peer': '10.53.0.1:53' in text,
        'slow-device': f'disk {said["disk"]} ' in text}[rule]


def takers(trace):
    """The programs that had the CPU while others waited for it, by time."""
    rows = document('query', '-i', trace, 'from sched | where runq > 0 && instead_comm is not null | by instead_comm | sum(runq) as time')
    return {r['instead_comm']: r['time'] for r in rows['rows']}


def findings(tap, fault, trace, said):
    rows = document('diagnose', '-i', trace, '--fresh', statuses=(0, 3))['rows']
    found = {f for f, rule in CAUSES.items() if any(is_cause(r, rule, said) for r in rows)}
    spun = takers(trace).get('spinner', 0)
    if fault != 'cpu' and 'cpu' in found and not spun:
        found.remove('cpu')  # and true: others that run on this machine
    want = {fault} if fault in CAUSES else set()
    # without a CPU the disk in memory is slow as well
    tap.check(f'{fault}: ' + ('the cause is found, and no other' if want else 'none of the causes is found'),
              found == want or (fault == 'cpu' and found == want | {'disk'}), found, *[r['sentence'] for r in rows])
    tap.check(f'{fault}: the script {"takes" if fault == "cpu" else "does not take"} the CPU', (spun > 0) == (fault == 'cpu'), takers(trace))


class Later:
    """What a fault's tests found, until it is their turn to be printed."""
    def __init__(self):
        self.found = []

    def check(self, *found):
        self.found.append(found)


def judge(fault, folder):
    tap, trace = Later(), os.path.join(folder, f'{fault}.weir')
    with open(os.path.join(folder, f'{fault}.json'), encoding='utf-8') as f:
        said = json.load(f)
    counts(tap, fault, trace, said)
    threads(tap, fault, trace, said)
    time(tap, fault, trace)
    path(tap, fault, trace)
    findings(tap, fault, trace, said)
    return tap.found


def main(tap):
    with tempfile.TemporaryDirectory(prefix='weir-web-') as folder, open(DISKS, 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        p = subprocess.run([script, '--threads', folder, weir, *FAULTS], capture_output=True, text=True, check=False, timeout=150)
        if p.returncode == SKIP:
            tap.skip('a web request', p.stderr.strip().removeprefix('web-request: '))
            return
        tap.check('the services were recorded', p.returncode == 0, p.stdout, p.stderr)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(lambda fault: judge(fault, folder), FAULTS if p.returncode == 0 else ()):
                for one in found:
                    tap.check(*one)


tap = Tap()
main(tap)
sys.exit(tap.end())
