# SPDX-License-Identifier: Apache-2.0
"""What the tests of the object store share: weir's answers, and which row of a trace each call is that a process printed."""
import collections
import json
import os
import subprocess

ON_FILES = {'openat', 'pwrite64', 'pread64', 'fdatasync', 'close', 'rename'}
ON_SOCKETS = {'recvfrom', 'sendto', 'writev', 'sendmsg', 'sendfile'}


class Weir:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *args):
        p = subprocess.run([self.path, *args], capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ, NO_COLOR='1'))
        if p.returncode:
            raise RuntimeError(f'{args}: {p.returncode} {p.stderr[-500:]}')
        return p.stdout

    def document(self, command, traces, *args):
        return json.loads(self(command, *(a for t in traces for a in ('-i', t)), *args, '--json'))

    def rows(self, trace, query):
        return self.document('query', [trace], query)['rows']


def match(weir, trace, truth, folder):
    """(calls of the truth with the row of each, what has none): the calls of a thread, in their order."""
    by_thread = collections.defaultdict(list)
    for r in weir.rows(trace, 'from op | select row_id, start, op, tid, ret, pos, path'):
        path = r['path'] or ''
        if r['op'] in ON_SOCKETS or (r['op'] in ON_FILES and path.startswith(folder) and '/obj-' in path):
            by_thread[r['tid']].append(r)
    pairs, bad = [], []
    for thread in truth['threads']:
        got = sorted(by_thread[thread['tid']], key=lambda r: r['start'])
        for call, row in zip(thread['calls'], got):
            same = call['call'] == row['op'] and call['ret'] == row['ret']
            if same and row['op'] in ('pwrite64', 'pread64'):
                same = call['pos'] == row['pos']
            if not same:
                bad.append((thread['tid'], call, row))
                break
            pairs.append((call, row))
        if len(got) != len(thread['calls']):
            bad.append((thread['tid'], len(got), len(thread['calls'])))
    return pairs, bad
