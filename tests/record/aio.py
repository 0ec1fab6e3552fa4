#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aio.py WEIR: more requests of libaio in one call, and of killed processes in all, than the kernel programs once remembered. Needs
root. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

CHILDREN, EACH = 3, 30000  # together more than there is room for
FETCHED = 5000
NO_END, REAPED = 1 << 16, 1 << 19  # bits of op.status
PROGRAM = r'''
import ctypes, os, signal, struct, sys, time
children, each, fetched = map(int, sys.argv[1:])
call = ctypes.CDLL(None, use_errno=True).syscall
SETUP, SUBMIT, GETEVENTS, POLL = 206, 209, 208, 5

def begin(count):
    context = ctypes.c_ulong()
    for i in range(100):  # those of the one before go a little later than it does
        if not call(SETUP, count, ctypes.byref(context)):
            break
        time.sleep(0.1)
    else:
        sys.exit('io_setup: ' + os.strerror(ctypes.get_errno()))
    r, w = os.pipe()
    cb = struct.pack('<QIIHhIQQqQII', 0, 0, 0, POLL, 0, r, 1, 0, 0, 0, 0, 0)
    buf = ctypes.create_string_buffer(cb * count)
    at = ctypes.addressof(buf)
    batch = (ctypes.c_ulong * count)(*range(at, at + len(cb) * count, len(cb)))
    assert call(SUBMIT, context, ctypes.c_long(count), batch) == count
    return context, w, buf

for i in range(children):
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        keep = begin(each)
        os.write(w, b'x')
        signal.pause()
    os.close(w)
    if os.read(r, 1) != b'x':
        sys.exit(1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    time.sleep(1.5)  # the recorder looks twice a second

# and all of many are fetched at once
context, w, buf = begin(fetched)
os.write(w, b'x')
events = ctypes.create_string_buffer(32 * fetched)
assert call(GETEVENTS, context, ctypes.c_long(fetched), ctypes.c_long(fetched), events, None) == fetched
'''

weir = os.path.abspath(sys.argv[1])
tap = Tap()


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120)


def rows(trace, text):
    r = run(weir, 'query', '--json', text, trace)
    if r.returncode:
        sys.exit(r.stderr)
    return json.loads(r.stdout)


def main():
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 't.trace')
        r = run(weir, 'record', '-q', '-e', 'poll', '-o', trace, '--', sys.executable, '-I', '-S', '-c', PROGRAM, str(CHILDREN), str(EACH),
                str(FETCHED))
        if 'cannot load the kernel programs' in r.stderr or 'io_setup' in r.stderr:
            print('1..0 # SKIP ' + r.stderr.splitlines()[0])
            return 0
        if r.returncode:
            sys.exit(r.stderr)
        got = rows(trace, 'where kind == libaio | by status | count() as n, count(dur) as ends')
        by = {row['status']: (row['n'], row['ends']) for row in got['rows']}
        tap.check('the recording is whole', not r.stderr and not got['loss']['events'], r.stderr, got['loss'])
        tap.check('requests of killed processes', by.get(NO_END) == (CHILDREN * EACH, 0), by)
        tap.check('requests that one call fetched', by.get(REAPED) == (FETCHED, FETCHED), by)
    return tap.end()


sys.exit(main())
