#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py WEIR WORK: `weir flow --follow` while two nodes of a replicated store are recorded, each into a trace of its own: what is wrong
is found while both still run, and the last answer is that of `weir flow` afterwards; likewise, edge by edge, of a program that has edges
of every kind. TAP on standard output."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
# it receives from 0 and stores, and with a second argument sends on to that port; object 5 is stored wrong, then it idles until told to end
NODE = '''
import os, signal, socket, sys, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
name, down = sys.argv[1], sys.argv[2:]
out = socket.create_connection(('127.0.0.1', int(down[0]))) if down else None
os.mkdir(name)
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
s = listener.accept()[0]
for n in range(12):
    data = b''
    while len(data) < 20000:
        data += s.recv(20000 - len(data))
    bad = data[:9000] + bytes(b ^ 0x55 for b in data[9000:9016]) + data[9016:] if n == 5 and out else data
    with open(f'{name}/object-{n}', 'wb', buffering=0) as f:
        f.write(bad)
    if out:
        out.sendall(data)
time.sleep(60)
'''


def documents(stream, most):
    """The answers as they come: each is a JSON document that ends with a line '}'."""
    text, end = '', time.monotonic() + most
    while time.monotonic() < end:
        line = stream.readline()
        if not line:
            return
        text += line
        try:
            yield json.loads(text)
        except ValueError:
            continue
        text = ''


def all_documents(text):
    at, decoder = 0, json.JSONDecoder()
    while at < len(text.rstrip()):
        one, at = decoder.raw_decode(text, len(text) - len(text[at:].lstrip()))
        yield one


def node(folder, name, *down):
    p = subprocess.Popen([weir, 'record', '--content=bytes', '-q', '-o', f'{name}.weir', '--', sys.executable, '-c', NODE, name, *down], cwd=folder,
                         stdout=subprocess.PIPE, text=True)
    return p, p.stdout.readline().strip()


with tempfile.TemporaryDirectory() as folder:
    import socket
    n2, port2 = node(folder, 'n2')
    n1, port1 = node(folder, 'n1', port2)
    with socket.create_connection(('127.0.0.1', int(port1))) as client:
        for _ in range(12):
            client.sendall(os.urandom(20000))
        follow = subprocess.Popen([weir, 'flow', '--follow', '--json', 'n1.weir', 'n2.weir'], cwd=folder, stdout=subprocess.PIPE, text=True)
        found, answers = None, 0
        for document in documents(follow.stdout, 60):
            answers += 1
            if document['rows']:
                found = document['rows'][0]
                break
        running = n1.poll() is None and n2.poll() is None
        tap.check(f'found while both are recorded, in answer {answers}', running and found and found['verdict'] == 'altered' and found['from'] == 9000,
                  found)
    for p in (n1, n2):
        p.send_signal(signal.SIGTERM)
    last = None
    for document in documents(follow.stdout, 60):
        last = document
    tap.check('it ends with the recordings', follow.wait(timeout=60) == 0)
    for p in (n1, n2):
        p.wait(timeout=60)
    r = subprocess.run([weir, 'flow', '--json', 'n1.weir', 'n2.weir'], cwd=folder, capture_output=True, text=True, check=True)
    whole = json.loads(r.stdout)
    tap.check('the last answer is that of the whole', last and last['rows'] == whole['rows'] and last['edges'] == whole['edges'], last and last['rows'],
              whole['rows'])
    r = subprocess.run([weir, 'flow', '--follow', '--keep', 'n1.weir'], cwd=folder, capture_output=True, text=True, check=False)
    tap.check('--follow with --keep is refused in one line', r.returncode == 2 and r.stderr.count('\n') <= 2, r.stderr)

with tempfile.TemporaryDirectory() as folder:
    record = subprocess.Popen([weir, 'record', '--content', '-q', '-o', 'w.weir', '--', 'sh', '-c', 'for i in 1 2 3 4 5; do "$0" all >/dev/null; sleep 0.6; done',
                               os.path.abspath(sys.argv[2])], cwd=folder)
    while not os.path.exists(f'{folder}/w.weir') or not os.path.getsize(f'{folder}/w.weir'):
        time.sleep(0.05)
    r = subprocess.run([weir, 'flow', '--follow', '--json', '--list', 'w.weir'], cwd=folder, capture_output=True, text=True, check=True, timeout=120)
    answers = list(all_documents(r.stdout))
    record.wait(timeout=60)
    r = subprocess.run([weir, 'flow', '--json', '--list', 'w.weir'], cwd=folder, capture_output=True, text=True, check=True)
    whole = json.loads(r.stdout)
    tap.check(f'a program with edges of every kind: {len(answers)} answers, the last with {whole["edges"]} edges as the whole has them',
              len(answers) > 2 and answers[0]['calls'] < whole['calls'] and answers[-1] == whole,
              [(a['calls'], a['edges']) for a in answers], (whole['calls'], whole['edges']))
sys.exit(tap.end())
