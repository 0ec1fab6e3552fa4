#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relay.py FAULT [CUT [late]]: a client sends objects to a first node, which stores them and sends them on to a second, which stores them too. The
first node does one thing wrong with object 5. Each message has a head that each sender makes anew. CUT: bytes of one recv.
late: the second node begins when the first has stored everything."""
import os
import random
import socket
import struct
import sys
import time

OBJECTS, SIZE, BAD = 12, 20000, 5
fault = sys.argv[1]
cut = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 20
late = sys.argv[3:] == ['late']


def head(number, size, sender):
    return struct.pack('<IIQ', number, size, sender) + os.urandom(16)


def take(s, n):
    parts = []
    while n:
        data = s.recv(min(n, cut), socket.MSG_WAITALL)
        if not data:
            return None
        parts.append(data)
        n -= len(data)
    return b''.join(parts)


def store(folder, number, data):
    fd = os.open(f'{folder}/part', os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    for at in range(0, len(data), 8192):
        os.pwrite(fd, data[at:at + 8192], at)
    os.fsync(fd)
    os.close(fd)
    os.rename(f'{folder}/part', f'{folder}/object-{number}')
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def altered(data, at, size):
    return data[:at] + bytes(b ^ 0x55 for b in data[at:at + size]) + data[at + size:]


def node(name, listener, following):
    os.mkdir(name)
    down = socket.create_connection(following) if following else None
    while not following and late and not os.path.exists(f'n1/object-{OBJECTS - 1}'):
        time.sleep(0.01)
    s = listener.accept()[0]
    held = None
    while True:
        first = take(s, 32)
        if not first:
            break
        number, size, _ = struct.unpack('<IIQ', first[:16])
        data = take(s, size)
        bad = fault if following and number == BAD else ''
        if bad == 'flip':
            data = altered(data, 9000, 1)
        if bad != 'drop':
            store(name, number, altered(data, 9000, 16) if bad == 'store' else data)
        if bad == 'keep' or not down:
            continue
        sent = altered(data, 9000, 16) if bad == 'forward' else data
        if bad == 'reorder':
            held = number, sent
            continue
        for _ in range(2 if bad == 'twice' else 1):
            down.sendall(head(number, size, 1) + sent)
        if held:
            down.sendall(head(held[0], size, 1) + held[1])
            held = None
    if down:
        down.close()


def process(work, *args):
    pid = os.fork()
    if not pid:
        work(*args)
        os._exit(0)
    return pid


listeners = [socket.create_server(('127.0.0.1', 0)) for _ in range(2)]
addresses = [s.getsockname() for s in listeners]
second = process(node, 'n2', listeners[1], None)
first = process(node, 'n1', listeners[0], addresses[1])
rng = random.Random(1)
with socket.create_connection(addresses[0]) as c:
    for i in range(OBJECTS):
        c.sendall(head(i, SIZE, 0) + rng.randbytes(SIZE))
for p in (first, second):
    os.waitpid(p, 0)
