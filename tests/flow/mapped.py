#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mapped.py WEIR: what programs store through mappings of a file, as others read it: who stored it is known if no other process has the file
mapped for writing, and counted if one has; a store over bytes that calls wrote is a verdict, over zeros that made room none. Also of mappings
that are made writable, moved and cut later on. TAP on standard output."""
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

# Who stores is the first child; what else it or another process does with the file's mappings is the case.
CHANGED = '''
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
READ, WRITE, SHARED, PAGE = 1, 2, 1, 4096
def call(name, *args):
    f = getattr(libc, name)
    f.restype = ctypes.c_void_p
    r = f(*[ctypes.c_void_p(a) for a in args])
    if r == 2 ** 64 - 1:
        raise OSError(ctypes.get_errno(), name)
    return r
fd = os.open('table', os.O_RDWR | os.O_CREAT, 0o600)
os.pwrite(fd, os.urandom(16 * PAGE), 0)
def child(work):
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    print(pid)
    os.waitpid(pid, 0)
def change(at, page):
    ctypes.memset(at + page * PAGE + 100, 7, 100)
def protected():
    at = call('mmap', 0, 4 * PAGE, READ, SHARED, fd, 0)
    call('mprotect', at + PAGE, PAGE, READ | WRITE)
    change(at, 1)
def moved():
    at = call('mmap', 0, 4 * PAGE, READ, SHARED, fd, 0)
    at = call('mremap', at, 4 * PAGE, 16 * PAGE, 1)
    call('mprotect', at + 12 * PAGE, PAGE, READ | WRITE)
    change(at, 12)
def gone():
    at = call('mmap', 0, 4 * PAGE, READ | WRITE, SHARED, fd, 0)
    call('munmap', at, 4 * PAGE)
    if not os.fork():
        os._exit(0)
    os.wait()
def stored():
    at = call('mmap', 0, 4 * PAGE, READ | WRITE, SHARED, fd, 0)
    change(at, 1)
    call('munmap', at, 4 * PAGE)
    if not os.fork():
        os._exit(0)
    os.wait()
def cut():
    at = call('mmap', 0, 4 * PAGE, READ | WRITE, SHARED, fd, 0)
    call('munmap', at, PAGE)
    child(lambda: change(at, 1))
def writable_in_child():
    at = call('mmap', 0, 4 * PAGE, READ, SHARED, fd, 0)
    def store():
        call('mprotect', at, 4 * PAGE, READ | WRITE)
        change(at, 1)
    child(store)
child(globals()[sys.argv[1]])
os.pread(os.open('table', os.O_RDONLY), 16 * PAGE, 0)
'''
for work, page, known in (('protected', 1, True), ('moved', 12, True), ('gone', None, None), ('stored', 1, True), ('cut', 1, False),
                          ('writable_in_child', 1, False)):
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', CHANGED, work], cwd=folder,
                             check=True, timeout=60, capture_output=True, text=True).stdout
        r = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    found = [(v['verdict'], v['from'], v['to'], v['pid']) for v in json.loads(r.stdout)['rows']]
    want = [('read-back-differs', page * 4096, page * 4096 + 4096, int(out.split()[-1]) if known else None)] if page else []
    tap.check(f'{work}: the bytes, and {"who stored them" if known else "nobody, as several may have" if page else "no verdict"}', found == want, want, found)

# sendfile: the kernel reads the file, which is the second one of the call.
SENT = '''
import mmap, os, socket, sys
fd = os.open('table', os.O_RDWR | os.O_CREAT)
os.pwrite(fd, os.urandom(16384), 0)
if sys.argv[1] == 'stored':
    mmap.mmap(fd, 16384)[5000:5100] = os.urandom(100)
if not os.fork():
    a, b = socket.socketpair()
    os.sendfile(a.fileno(), os.open('table', os.O_RDONLY), 0, 16384)
    os._exit(0)
os.wait()
'''
for work in ('written', 'stored'):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weir, 'record', '--content', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, '-c', SENT, work], cwd=folder, check=True,
                       timeout=60, capture_output=True)
        r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=False, timeout=60, capture_output=True, text=True)
    document = json.loads(r.stdout or '{"rows": [], "tables": {"list": {"rows": []}}}')
    found = [(v['verdict'], v['from'], v['to'], v['second_call']) for v in document['rows']]
    tap.check(f'sendfile, {work}: {"a" if work == "stored" else "no"} verdict', r.returncode == 0 and found ==
              ([('read-back-differs', 4096, 8192, 'sendfile(table)')] if work == 'stored' else []), r.returncode, found)
    edges = {(e['from_call'], os.path.basename(e['file'] or '')) for e in document['tables']['list']['rows'] if e['via'] == 'storage'}
    tap.check(f'sendfile, {work}: edges are through the file', edges == {('pwrite64', 'table')} | ({('mmap', 'table')} if work == 'stored' else set()), edges)
sys.exit(tap.end())
