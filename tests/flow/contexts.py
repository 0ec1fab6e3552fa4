#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contexts.py WEIR LIBRARY: a span in one process whose parent is in another that was not its parent, and hands the context over in a file:
the first call in the one is found to follow on the first call in the other, as often as there are such pairs. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from sanitized import runtime_of  # noqa: E402
from tap import Tap  # noqa: E402

weir, library = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
# Prints the numbers of the asking and the answering thread. A span is a struct of the library's; 1 KiB has room for it.
WORK = '''
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
PAIRS = 5
to, back = os.pipe(), os.pipe()
answers = os.fork() == 0
for end in (to[answers], back[not answers]):
    os.close(end)
span, context, text = (ctypes.create_string_buffer(1024) for _ in range(3))
for i in range(PAIRS):
    if not answers:
        lib.weir_span_begin_(span, b"ask", 0, None)
        os.getpgid(0)
        lib.weir_span_context(span, context)
        lib.weir_span_to_traceparent(context, text)
        os.write(to[1], text.value.ljust(64))
        os.read(back[0], 1)
    else:
        lib.weir_span_from_traceparent(os.read(to[0], 64).strip(), context)
        lib.weir_span_begin_(span, b"answer", 1, context)
        os.getpgid(0)
        os.write(back[1], b"x")
    lib.weir_span_end_(span)
os.write(1, b"%d %d\\n" % (os.getpid(), answers))
if not answers:
    os.wait()
'''
with tempfile.TemporaryDirectory() as folder:
    with open(f'{folder}/work.py', 'w', encoding='utf-8') as f:
        f.write(WORK.replace('\\\\n', '\\n'))
    # the processes end soon: they wait until the recorder has their spans
    out = subprocess.run([weir, 'record', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, 'work.py', library], cwd=folder, check=True,
                         timeout=60, capture_output=True, text=True, env={**os.environ, 'WEIR_SPAN_WAIT_MS': '2000', **runtime_of(library)}).stdout
    r = subprocess.run([weir, 'flow', 't.weir', '--list', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
tid = {line.split()[1]: int(line.split()[0]) for line in out.splitlines()}
rows = [row for row in json.loads(r.stdout)['tables']['list']['rows'] if row['via'] == 'context']
good = [row for row in rows if (row['from_tid'], row['to_tid']) == (tid['0'], tid['1']) and row['from_call'] == row['to_call'] == 'getpgid']
tap.check('five spans in another process follow on their parents', len(rows) == len(good) == 5, *rows)
tap.none('one machine: certain', [row for row in rows if row['certainty'] != 'certain'])
sys.exit(tap.end())
