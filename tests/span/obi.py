#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""obi.py WEIR OBI: contexts of calls from the map that OpenTelemetry's eBPF instrumentation pins, filled by the program OBI, which prints
under which ids it made each of its calls. The map lies in a file system of this test's own. Needs root. Speaks TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

WEIR, OBI = (os.path.abspath(a) for a in sys.argv[1:3])
BPFTOOL = shutil.which('bpftool') or '/usr/sbin/bpftool'


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)


def rows(trace, pipeline):
    return json.loads(run(WEIR, 'query', '-i', trace, '--json', pipeline).stdout)['rows']


def test(t, folder):
    pins, trace = os.path.join(folder, 'otel'), os.path.join(folder, 't')
    env = {**os.environ, 'OTEL_EBPF_BPF_FS_PATH': folder}
    os.mkdir(pins)
    made = run(BPFTOOL, 'map', 'create', f'{pins}/traces_ctx_v1', 'type', 'lru_hash', 'key', '8', 'value', '24', 'entries', '16384', 'name',
               'traces_ctx_v1')
    if made.returncode:
        t.check('a map like OBI\'s', False, made.stderr)
        return
    trace = tempfile.mktemp(prefix='weir-obi-')
    try:
        p = run(WEIR, 'record', '-o', trace, '--', OBI, f'{pins}/traces_ctx_v1', '200', env=env)
        want = dict(line.split('\t') for line in p.stdout.splitlines())
        contexts = {}
        for c in rows(trace, 'from context'):
            contexts.setdefault(c['thread_id'], []).append(c)
        got = {}
        for o in rows(trace, 'from op | where op == openat | select path, start, id(thread) as thread'):
            if o['path'] in want:
                mine = [c for c in contexts.get(o['thread'], ()) if c['start'] <= o['start'] < c['start'] + c['dur']]
                got[o['path']] = ','.join(c['trace_id'] + c['span_id'] for c in mine) or '-'
        t.check(f'{len(want)} calls have the ids of the map, or none', got == want and len(want) == 900, p.stderr,
                *[f'{k}: {got.get(k)}, not {v}' for k, v in want.items() if got.get(k) != v][:5])
        t.check('the source is obi, and nothing is lost', {c['source'] for l in contexts.values() for c in l} == {'obi'} and not rows(trace, 'from loss'),
                {c['source'] for l in contexts.values() for c in l}, rows(trace, 'from loss'))
        os.unlink(f'{pins}/traces_ctx_v1')
        run(BPFTOOL, 'map', 'create', f'{pins}/traces_ctx_v1', 'type', 'hash', 'key', '8', 'value', '32', 'entries', '4', 'name', 'other')
        p = run(WEIR, 'record', '-o', trace, '--', 'true', env=env)
        t.check('a map of another form is not read, and one line says so', p.returncode == 0 and
                "does not show contexts of OpenTelemetry's eBPF instrumentation (it refuses its map otel/traces_ctx_v1" in p.stderr, p.stderr)
    finally:
        for name in (trace, trace + '.old'):
            if os.path.exists(name):
                os.unlink(name)


def main():
    t = Tap()
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() or run('mount', '-t', 'bpf', 'none', folder).returncode:
            t.skip('contexts of OBI\'s map', 'needs root and the file system of BPF')
            return t.end()
        try:
            test(t, folder)
        finally:
            run('umount', folder)
    return t.end()


sys.exit(main())
