#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hosts.py WEIR: recordings of two machines (two host names) as files and in ClickHouse: every command that takes --host says the same of
both, and nothing of the other machine; ids of calls and tables that were made after recording are those of the files."""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../common'))
import click  # noqa: E402
from tap import Tap  # noqa: E402

WORK = ('for i in 1 2 3; do dd if=/dev/zero of={0}.data bs=4k count={1} conv=fsync 2>/dev/null; cat {0}.data | wc -c >{0}.out; done; '
        'mv {0}.data {0}.moved; cat {0}.moved >/dev/null; cat /nonexistent-{0} 2>/dev/null; true')
HOSTS = {'web1': 150, 'db1': 100}
QUESTIONS = [
    'by host | count(), sum(bytes), p99(dur)',
    'by file | count(), sum(bytes) as b | sort b desc, file | head 9',
    'where path ~ "**/*.data" | by op, path | count(), sum(bytes)',
    'where path ~ "*.moved" && op == read | count(), sum(bytes)',
    'by op every 10ms | count(), rate(bytes) | sort window, op',
    'select row_id, start, op, comm, file | tail 9',
    'by host | min(row_id), max(row_id), count(row_id)',
    'from thread | by host | count()',
    'from process | count()',
    'from file | by type | count() | sort count desc, type',
    'from host | select name, cpus | sort name',
    'from block | by host | count()',
    'from mark | by name | count() | sort name',
    'from edge | by via, certainty | count(), sum(bytes) | sort via, certainty',
    'from edge | select start, dur, via, bytes | sort start, dur, via | head 9',
    'from period | by name | count(), sum(dur)',
]
DOCUMENTS = [['report'], ['stacks'], ['disks'], ['diagnose'], ['flow'], ['requests']]


def run(weir, folder, *args):
    r = subprocess.run([weir, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def both(weir, folder, commands, *where):
    """What each command says of the files and of the address."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda c: run(weir, folder, *c), [[*c, *w] for c in commands for w in where]))
    return list(zip(commands, said[::2], said[1::2]))


def record(weir, folder):
    for host, blocks in HOSTS.items():
        subprocess.run(['unshare', '--uts', 'sh', '-c', f'hostname {host}; exec "$0" "$@"', weir, 'record', '-q', '--with', 'block', '-o',
                        f'{host}.weir', '--', 'sh', '-c', WORK.format(host, blocks)], cwd=folder, check=True)
        for made in (['flow', '--keep', f'{host}.weir'], ['periods', '--keep', '-i', f'{host}.weir', 'io : op == openat : op == close && end.thread == begin.thread']):
            code, _, said = run(weir, folder, *made)
            if code:
                raise RuntimeError(said)


def figures(document):
    """What a document says but of files, names and rows of calls, which differ."""
    def strip(x):
        if isinstance(x, dict):
            return {k: strip(v) for k, v in x.items() if k not in ('path', 'trace', 'traces', 'bytes_per_call', 'size', 'file_bytes')}
        return [strip(v) for v in x] if isinstance(x, list) else x
    return strip(json.loads(document))


def checks(tap, weir, folder, server):
    address, files = server.address(), [a for h in HOSTS for a in ('-i', f'{h}.weir')]
    code, _, said = run(weir, folder, 'load', '--to', address, *(f'{h}.weir' for h in HOSTS))
    tap.check('loaded, with what was made after recording', code == 0 and 'left out' not in said, said)
    for host in [None, *HOSTS]:
        chosen = ['--host', host] if host else []
        bad = []
        # ids count the files that are read
        asked = [['query', '--csv', q] for q in QUESTIONS if not (host and 'row_id' in q)]
        for (*_, q), *sides in both(weir, folder, asked, [*files, *chosen], ['-i', address, *chosen]):
            if sides[0][:2] != sides[1][:2] or sides[0][0] or (host and 'by host' in q and any(
                    other in sides[0][1] for other in HOSTS if other != host)):
                bad += [q, *sides]
        tap.none(f'weir query of {host or "both"}: files and ClickHouse give the same', bad)
        bad = []
        for (*command, _), *sides in both(weir, folder, [[*c, '--json'] for c in DOCUMENTS], [*files, *chosen], ['-i', address, *chosen]):
            if any(s[0] for s in sides) or (command == ['flow'] and [figures(s[1])['calls'] for s in sides][0] != figures(sides[1][1])['calls']):
                bad += [command, sides[0][2], sides[1][2]]
            elif command in (['disks'], ['stacks']) and figures(sides[0][1])['rows'] != figures(sides[1][1])['rows']:
                bad += [command, figures(sides[0][1])['rows'], figures(sides[1][1])['rows']]
        tap.none(f'analyses and reports of {host or "both"}', bad)
    lines = [run(weir, folder, 'trace', *where, '--host', 'db1', '--utc')[1] for where in (files, ['-i', address])]
    tap.check('weir trace: every line', lines[0] and lines[0] == lines[1], *lines)
    heads = [run(weir, folder, 'report', *where)[1][:600] for where in (files, ['-i', address])]
    tap.check('report: how many commands were recorded', all('2 commands' in head for head in heads), *heads)
    for where in (files, ['-i', address]):
        code, out, said = run(weir, folder, 'query', *where, '--host', 'nope', 'count()')
        tap.check(f'a host that is not there ({where[1][:10]})', code == 1 and not out and 'db1' in said and 'web1' in said and said.count('\n') == 1, said)
    code, _, said = run(weir, folder, 'flow', '--keep', '-i', address)
    tap.check('nothing is kept in a store', code and '--keep' in said, said)
    code, _, said = run(weir, folder, 'query', '-i', address, 'from finding | count()')
    tap.check('a table that no trace has is said to be missing', code == 1 and 'finding' in said, said)
    made_again(tap, weir, folder, address)


def made_again(tap, weir, folder, address):
    """What is made anew replaces what was; where it is empty, with nothing."""
    for definition, name in (('other : op == write : op == fsync && end.thread == begin.thread', 'made anew'), ('none : op == mount : op == umount2', 'made anew, and empty')):
        run(weir, folder, 'periods', '--keep', '-i', 'db1.weir', definition)
        for _ in range(2):
            loaded = run(weir, folder, 'load', '--to', address, 'db1.weir')
        want, got = [run(weir, folder, 'query', '--csv', '-i', where, '--host', 'db1', 'from period | by name | count(), sum(dur)') for where in ('db1.weir', address)]
        tap.check(f'a table that was {name}', want[:2] == got[:2] and want[0] == 0, loaded, want, got)
        want, got = [run(weir, folder, 'query', '--csv', '-i', where, '--host', 'db1', '--from', '+10ms', '--to', '+60ms', 'from edge | count(), sum(dur)')
                     for where in ('db1.weir', address)]
        tap.check(f'edges of a range, beside it ({name})', want[:2] == got[:2] and want[0] == 0, want, got)


def main():
    if not click.program() or os.getuid():
        print('1..0 # SKIP ' + ('recording needs root' if os.getuid() else 'clickhouse-server is not installed'))
        return 77
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='weir-hosts-') as folder:
        weir = os.path.abspath(sys.argv[1])
        record(weir, folder)
        with click.Server(folder) as server:
            checks(tap, weir, folder, server)
    return tap.end()


sys.exit(main())
