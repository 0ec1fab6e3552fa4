#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""requests.py WEIR OBJSTORE: puts and gets of the object store, each one trace of BlkKin's over four processes, as `weir requests` shows
them, against what the processes print: which call was made in which span. Once with a recorder on each host, once with one for all.
Needs root. Speaks TAP."""
import collections
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', 'common')]
import hosts  # noqa: E402
import truth as truths_of  # noqa: E402
from tap import Tap  # noqa: E402

WEIR, OBJSTORE = map(os.path.abspath, sys.argv[1:3])
weir = truths_of.Weir(WEIR)
rows = weir.rows
OBJECTS = 24
OF_PUT = collections.Counter({'client.put': 1, 'node.receive': 3, 'node.store': 3, 'node.forward': 2})


def inputs(traces):
    return [a for t in traces for a in ('-i', t)]


def options_of(h):
    """Cuts that differ at each hop, and each way of sending once."""
    return {'client': ['--threads', '3', '--objects', str(OBJECTS), '--sizes', '4096,100000,37,300001', '--get', h.address('n1'), '--get', h.address('n3')],
            'n1': ['--recv', '30000', '--send', '7000', '--how', 'writev'], 'n2': ['--recv', '5000', '--how', 'sendmsg', '--store', '10000'],
            'n3': ['--storers', '0', '--sendfile']}


def membership(t, what, trace, truths, folder):
    """Each call belongs to the span in which it was made. The head of a request is read in no span: it belongs to none, or, as work, to
    the span that sent it. What a span waited for besides (via wait) are calls of other spans."""
    weir('requests', '-i', trace, '--keep')
    ids = {s['number']: s['span_id'] for s in rows(trace, 'from span')}
    got = collections.defaultdict(list)
    for r in rows(trace, 'from span_op | where via != wait | select op_id, number, via'):
        got[r['op_id']].append((ids[r['number']], r['via']))
    count, wrong = 0, []
    for truth in truths:
        pairs, bad = truths_of.match(weir, trace, truth, folder)
        t.none(f'{what}: each call of {truth["name"]} has its row', bad[:5])
        for call, row in pairs:
            may = [[(call['span'], 'thread')]] if call['span'] else [[], [(call['sender'], 'work')]]
            if got[row['row_id']] not in may:
                wrong.append((truth['name'], call, got[row['row_id']]))
        count += len(pairs)
    t.check(f'{what}: of {count} calls none belongs to a wrong span', count and not wrong, len(wrong), *wrong[:5])


def spans_of(truth):
    return {s['span']: dict(s, service=truth['name']) for thread in truth['threads'] for s in thread['spans']}


def spans(t, what, run):
    """The spans of all traces are those that the processes name, with their services and kinds."""
    truth, got = {}, {}
    for one in run.truth.values():
        truth |= spans_of(one)
    for trace in run.traces:
        got |= {s['span_id']: s for s in rows(trace, 'from span')}
    kinds = {'client.put': 'client', 'client.get': 'client', 'node.receive': 'server', 'node.read': 'server', 'node.forward': 'client',
             'node.store': 'internal'}
    bad = [(want, got.get(i)) for i, want in truth.items()
           if i not in got or (want['name'], want['parent'], want['service'], '0' * 16 + want['trace'], 'blkin', kinds[want['name']]) !=
           tuple(got[i][k] for k in ('name', 'parent_id', 'service', 'trace_id', 'source', 'span_kind'))]
    t.check(f'{what}: {len(truth)} spans with their parents, services and kinds', len(truth) == len(got) and not bad, len(got), *bad[:5])
    return truth


def trees(t, what, run, truth):
    """A put is one tree: the client's span, and those of three nodes, with calls and requests to the disk."""
    doc = json.loads(weir('requests', *inputs(run.traces), '--log', '--name', 'client.put', '--json'))
    log = {r['span_id']: r for r in doc['rows']}
    puts = [i for i, s in truth.items() if s['name'] == 'client.put']
    t.check(f'{what}: {OBJECTS} puts, no parent is missing', sorted(log) == sorted(puts) and len(puts) == OBJECTS and not doc['spans']['orphans'] and
            not doc['spans']['crossed'], doc['spans'])
    bad, disk, parts = [], 0, 0
    for i in puts:
        tree = json.loads(weir('requests', *inputs(run.traces), '--tree', i, '--json'))['rows']
        names = collections.Counter(r['name'] for r in tree if r['what'] == 'span')
        calls = collections.Counter()
        for r in tree:
            if r['what'] == 'call' and r['via'] != 'wait':
                calls[r['op']] += r['count']
        size = (4096, 100000, 37, 300001)[json.loads(log[i]['attributes'])['object'] % 4]
        stored = sum(r['bytes'] for r in tree if r['op'] == 'pwrite64' and r['via'] != 'wait')
        if names != OF_PUT or tree[0]['name'] != 'client.put' or (calls['fdatasync'], calls['rename']) != (3, 3) or stored != 3 * size:
            bad.append((i, names, calls, stored, size))
        disk += sum(r['what'] == 'disk' and r['time'] > 0 for r in tree)
        parts += sum(r['part'] == 'sync' and r['time'] > 0 for r in tree)
    t.none(f'{what}: each is one tree over four processes, with its bytes stored three times', bad[:3])
    t.check(f'{what}: waits for the disk and its requests are in the trees', parts >= 3 * OBJECTS and (disk or not on_disk(run)), parts, disk)
    text = weir('requests', *inputs(run.traces), '--tree', 'slowest')
    t.check(f'{what}: the screen has them', text.count('node.receive') >= 1 and 'fdatasync' in text or 'client.get' in text, text[:2000])


def on_disk(run):
    """Whether the nodes' folder is on a block device."""
    return os.stat(run.hosts.folder).st_dev >> 8 != 0


def one(t, record):
    what = 'a recorder on each host' if record == 'each' else 'one recorder'
    with tempfile.TemporaryDirectory(prefix='weir-objst-') as folder, hosts.Hosts(folder) as h:
        run = hosts.Run(h, OBJSTORE, WEIR, record, ['--with', 'block,phases'], options_of(h))
        t.check(f'{what}: all objects were put, and came back as they were', run.good() and run.result['puts'] == OBJECTS and
                all(g['same'] for thread in run.truth['client']['threads'] for g in thread['gots']), *run.why())
        if not run.truth:
            return
        t.none(f'{what}: nothing is lost', [str(r) for trace in run.traces for r in rows(trace, 'from loss')])
        machines = {r['name'] for trace in run.traces for r in rows(trace, 'from host')}
        t.check(f'{what}: hosts', len(run.traces) == 1 or machines == set(hosts.HOSTS), machines)
        trees(t, what, run, spans(t, what, run))
        if record == 'each':
            for trace, name in zip(run.traces, hosts.HOSTS):
                membership(t, f'{what}, {name}', trace, [run.truth[name]], folder)
        else:
            membership(t, what, run.traces[0], run.truth.values(), folder)


def main():
    t = Tap()
    why = hosts.missing()
    if why:
        t.skip('requests of an object store', why)
        return t.end()
    for record in ('each', 'all'):
        one(t, record)
    return t.end()


sys.exit(main())
