#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mapped.py WEIR: what programs store through mappings of a file, as others read it: who stored it is known if no other process has the file
mapped for writing, and counted if one has; a store over bytes that calls wrote is a verdict, over zeros that made room none. TAP on
standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
WORK = '''
import mmap, os, sys
fd = os.open('table', os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(fd, bytes(16384) if sys.argv[2] == 'room' else os.urandom(16384), 0)
def child(work):
    if not os.fork():
        work()
        os._exit(0)
    print(os.wait()[0])
def store():
    m = mmap.mmap(fd, 16384)
    m[5000:5100] = os.urandom(100)
def read():
    os.pread(os.open('table', os.O_RDONLY), 16384, 0)
child(read)
for _ in range(int(sys.argv[1])):
    child(store)
child(read)
'''
for writers, before, whole in ((0, 'data', 0), (1, 'room', 0), (1, 'data', 0), (2, 'data', 4096)):
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', WORK, str(writers), before], cwd=folder, check=True,
                             timeout=60, capture_output=True, text=True).stdout
        r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    document = json.loads(r.stdout)
    edges = [e for e in document['tables']['list']['rows'] if e['from_call'] == 'mmap']
    found = [(v['verdict'], v['from'], v['to'], v['first_call'], v['second_call'], v['pid']) for v in document['rows']]
    storer = int(out.split()[1]) if writers == 1 else None
    tap.check(f'{writers} processes stored over {before} through a mapping: that is {"a" if writers and before == "data" else "no"} verdict', found ==
              ([('read-back-differs', 4096, 8192, 'pwrite64(table)', 'pread64(table)', storer)] if writers and before == 'data' else []), found, storer)
    tap.check(f'{writers}: {whole} bytes are not known to be of one of them', document['mapped_unsure'] == whole, document['mapped_unsure'])
    tap.check(f'{writers}: an edge from the one that stored to the read', [(e['to_call'], e['pos'], e['bytes'], e['certainty']) for e in edges] ==
              ([('pread64', 4096, 4096, 'contested')] if writers == 1 else []), *edges)
sys.exit(tap.end())
