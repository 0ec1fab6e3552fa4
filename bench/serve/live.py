#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""live.py WEIR [VIEWERS [SECONDS [CALLS_PER_S]]]: the cost of viewers of a running recording. fio reads at a steady
rate under `weir record`, `weir serve` serves the trace, each viewer listens to the events and requests the overview and
the lanes after each, at most every 400 ms, like a page. Prints calls per second, CPU of serve and of the recorder as a
share of one core, the age of the newest call on a page, and losses. Needs root and fio."""
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests', 'server'))
from client import Serve  # noqa: E402

AGAIN_S = 0.4
weir = os.path.abspath(sys.argv[1])
viewers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
rate = int(sys.argv[4]) if len(sys.argv) > 4 else 200000
folder = tempfile.mkdtemp(prefix='weir-live-')


def cpu_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def view(s, number, lags, waits, end):
    c = http.client.HTTPConnection('127.0.0.1', s.port, timeout=120)
    c.request('GET', '/api/v1/events', headers={'Authorization': f'Bearer {s.token}'})
    asked = 0.0
    for line in c.getresponse():
        if end.is_set():
            break
        if not line.startswith(b'data: ') or time.time() - asked < AGAIN_S:
            continue
        asked = time.time()
        for path, params in (('overview', {'width': 240}), ('lanes', {})):
            began = time.time()
            try:
                answer = s.get(path, **params)
            except (OSError, http.client.HTTPException):
                return  # the server was stopped
            if path == 'overview' and answer['totals']['calls']:
                # the range ends after the newest call
                newest = (int(answer['origin']) + answer['asked_to']) / 1e9
                lags.append(time.time() - newest)
                waits.append(time.time() - began)
    c.close()


def told(name, values, unit):
    values = sorted(values)
    if values:
        print(f'{name}: median {values[len(values) // 2]:.3f} {unit}, worst {values[-1]:.3f} {unit}, {len(values)} answers')


def main():
    data = os.path.join(folder, 'data')
    with open(data, 'wb') as f:
        f.write(os.urandom(16 << 20))
    trace = os.path.join(folder, 'live.trace')
    record = subprocess.Popen(
        [weir, 'record', '-o', trace, '--', 'fio', '--name=a', f'--filename={data}', '--rw=randread', '--bs=512',
         '--ioengine=psync', '--numjobs=4', f'--rate_iops={rate // 4}', '--time_based', f'--runtime={seconds + 6}',
         '--size=16m', '--thread', '--rate_process=linear', '--output=/dev/null'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    while not os.path.exists(trace):
        time.sleep(0.05)
    with Serve(weir, trace) as s:
        time.sleep(3)  # until fio has created its files
        lags, waits, end = [], [], threading.Event()
        threads = [threading.Thread(target=view, args=(s, i, lags, waits, end), daemon=True) for i in range(viewers)]
        for t in threads:
            t.start()
        at, cpu, cpu_record, ops = time.time(), s.cpu_s(), cpu_of(record.pid), s.get('trace')['ops']
        for part in range(2):
            time.sleep(seconds / 2)
            now = time.time()
            ops_now = s.get('trace')['ops']
            print(f'half {part + 1}: {(ops_now - ops) / (now - at):,.0f} calls/s, serve {(s.cpu_s() - cpu) / (now - at) * 100:.0f} % '
                  f'of a core, record {(cpu_of(record.pid) - cpu_record) / (now - at) * 100:.0f} %', flush=True)
            at, cpu, cpu_record, ops = now, s.cpu_s(), cpu_of(record.pid), ops_now
        end.set()
        for t in threads:
            t.join(10)
        told('age of the newest call on the page', lags, 's')
        told('an overview', waits, 's')
        record.communicate()
        loss = s.get('trace')['loss']
        print(f'lost: {loss["events"]}')


try:
    main()
finally:
    shutil.rmtree(folder, ignore_errors=True)
