#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""follow.py WEIR [STEPS]: how long after a call returned `weir flow --follow` prints it: a program that is recorded with its content writes
a file, and its child reads it, at random times; the time from the return of that read until the answer with their edge has been read, by the clock.
Needs root."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

WORK = '''
import os, sys, time, random
some, to_child, to_parent = random.Random(1), os.pipe(), os.pipe()
if not os.fork():
    while (name := os.read(to_child[0], 16).decode().strip()) != 'end':
        fd = os.open(name, os.O_RDONLY)
        os.read(fd, 4096)
        print(name, time.monotonic(), flush=True)
        os.close(fd)
        os.write(to_parent[1], b'x')
    os._exit(0)
for n in range(int(sys.argv[1])):
    time.sleep(0.5 + some.random())
    fd = os.open(f'probe-{n}', os.O_WRONLY | os.O_CREAT)
    os.write(fd, os.urandom(4096))
    os.close(fd)
    os.write(to_child[1], f'probe-{n}'.ljust(16).encode())
    os.read(to_parent[0], 1)
time.sleep(4)
os.write(to_child[1], b'end'.ljust(16))
os.wait()
'''


def answers(stream):
    text = ''
    for line in stream:
        text += line
        if not line.endswith('}\n'):
            continue
        try:
            answer = json.loads(text)
        except ValueError:  # the last row of a table
            continue
        text = ''
        yield answer


def main():
    weir, steps = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 40
    returned, printed = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        record = subprocess.Popen([weir, 'record', '--content', '-q', '-o', 't.weir', '--', sys.executable, '-c', WORK, str(steps)], cwd=folder,
                                  stdout=subprocess.PIPE, text=True)

        def note():
            for line in record.stdout:
                name, at = line.split()
                returned[name] = float(at)
        noting = threading.Thread(target=note)
        noting.start()
        while not os.path.exists(f'{folder}/t.weir') or not os.path.getsize(f'{folder}/t.weir'):
            time.sleep(0.05)
        follow = subprocess.Popen([weir, 'flow', '--follow', '--json', '--list', 't.weir'], cwd=folder, stdout=subprocess.PIPE, text=True)
        for answer in answers(follow.stdout):
            now = time.monotonic()
            for row in answer['tables']['list']['rows']:
                if row['via'] == 'storage' and 'probe-' in (row['file'] or ''):
                    printed.setdefault(os.path.basename(row['file']), now)
        follow.wait()
        noting.join()
        record.wait()
    delays = sorted(printed[name] - at for name, at in returned.items() if name in printed)
    if not delays:
        sys.exit('follow: nothing was printed')
    print(f'{len(delays)} of {steps} calls: median {statistics.median(delays):.2f} s, 90 % {delays[len(delays) * 9 // 10]:.2f} s, '
          f'longest {delays[-1]:.2f} s, load {os.getloadavg()[0]:.1f}')


if __name__ == '__main__':
    main()
