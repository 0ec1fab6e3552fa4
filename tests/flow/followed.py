#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""followed.py WEIR MANY: `weir flow --follow` of traces that grow at different speeds, one of them with pauses after which it goes on
with calls of before: the last answer is that of `weir flow`. TAP on standard output."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, many = (os.path.abspath(a) for a in sys.argv[1:3])
tap = Tap()


def documents(text):
    at, decoder = 0, json.JSONDecoder()
    while at < len(text.rstrip()):
        one, at = decoder.raw_decode(text, len(text) - len(text[at:].lstrip()))
        yield one


for what, paces in (('grow together', (150, 200)), ('one pauses', (200, 3500))):
    with tempfile.TemporaryDirectory() as folder:
        writers = [subprocess.Popen([many, f'{name}.weir', str(calls), str(ms)], cwd=folder)
                   for name, calls, ms in zip('ab', (1200000, 200000), paces)]
        while not all(os.path.exists(f'{folder}/{n}.weir') and os.path.getsize(f'{folder}/{n}.weir') > 100000 for n in 'ab'):
            time.sleep(0.05)
        r = subprocess.run([weir, 'flow', '--follow', '--json', 'a.weir', 'b.weir'], cwd=folder, capture_output=True, text=True, check=True, timeout=100)
        answers = list(documents(r.stdout))
        for w in writers:
            w.wait(timeout=60)
        r = subprocess.run([weir, 'flow', '--json', 'a.weir', 'b.weir'], cwd=folder, capture_output=True, text=True, check=True)
        whole = json.loads(r.stdout)
        tap.check(f'{what}: {len(answers)} answers', len(answers) > 2 and answers[0]['calls'] < whole['calls'], [a['calls'] for a in answers])
        tap.check(f'{what}: the last is that of the whole, {whole["edges"]} edges', answers[-1] == whole and whole['calls'] > 1300000,
                  {k: v for k, v in answers[-1].items() if v != whole[k]})
sys.exit(tap.end())
