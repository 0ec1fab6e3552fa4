#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mapped.py WEIR: what programs store through mappings of a file, as others read it: a store over bytes that calls wrote is not an error, its
process is known if no other has the file mapped for writing, and counted if one has. TAP on standard output."""
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
os.pwrite(fd, os.urandom(16384), 0)
def child(work):
    if not os.fork():
        work()
        os._exit(0)
    os.wait()
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
for writers, whole in ((0, 0), (1, 0), (2, 4096)):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', WORK, str(writers)], cwd=folder, check=True,
                       timeout=60)
        r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    document = json.loads(r.stdout)
    edges = [e for e in document['tables']['list']['rows'] if e['from_call'] == 'mmap']
    tap.check(f'{writers} processes stored through a mapping: no read differs', not document['rows'], *document['rows'])
    tap.check(f'{writers}: {whole} bytes are not known to be of one of them', document['mapped_unsure'] == whole, document['mapped_unsure'])
    tap.check(f'{writers}: an edge from the one that stored to the read', [(e['to_call'], e['pos'], e['bytes'], e['certainty']) for e in edges] ==
              ([('pread64', 4096, 4096, 'contested')] if writers == 1 else []), *edges)
sys.exit(tap.end())
