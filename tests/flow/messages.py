#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""messages.py WEIR: what a network between two processes does to their datagrams (alters, drops, duplicates, delays) is found, with the bytes
and the calls; equal datagrams, of which it is not known which one is missing, are counted, and so is
what a receiver that does not take the sender's address leaves open. TAP on standard output."""
import array
import ctypes
import fcntl
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

COUNT, FIRST = 60, 200
ALTERED, DROPPED, TWICE, LATE, BEHIND = 10, (20, 21), 30, 40, 43
CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454ca, 1, 0x1000
HEAD = 28  # of IPv4 and UDP


def end(address, way, work):
    """A process with a network of its own, whose only device is read and written by the one that gets its descriptor."""
    pid = os.fork()
    if pid:
        return pid
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'unshare')
    tun = os.open('/dev/net/tun', os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack('16sH22x', b'wire', IFF_TUN | IFF_NO_PI))
    for args in (['addr', 'add', f'{address}/24', 'dev', 'wire'], ['link', 'set', 'wire', 'up']):
        subprocess.run(['ip', *args], check=True)
    way.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [tun]))])
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, 4000))
    work(s, way)
    os._exit(0)


def sends(s, way):
    way.recv(1)
    for i in range(COUNT):
        s.sendto(bytes(FIRST) if MODE == 'equal' else os.urandom(FIRST + i), ('10.9.0.2', 4000))
        time.sleep(0.001)


def receives(s, way):
    s.settimeout(1.0)
    way.send(b'x')
    try:
        for i in itertools.count():
            if TAKES == 'recv' or (TAKES == 'mixed' and i % 2):
                s.recv(2000)
            else:
                s.recvfrom(2000)
    except TimeoutError:
        pass


def network():
    """Passes on datagrams, and does one thing wrong with some of them."""
    a, b = socket.socketpair(), socket.socketpair()
    pids = [end('10.9.0.2', b[1], receives), end('10.9.0.1', a[1], sends)]
    fds = [struct.unpack('i', s.recvmsg(1, 100)[1][0][2])[0] for s in (a[0], b[0])]
    b[0].recv(1)
    a[0].send(b'x')
    held, i = None, 0
    while i < COUNT:
        packet = bytearray(os.read(fds[0], 4000))
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_UDP:
            continue
        packet[26:28] = bytes(2)  # no checksum
        if MODE != 'none':
            if i == ALTERED:
                packet[HEAD + 50:HEAD + 54] = bytes(v ^ 0x55 for v in packet[HEAD + 50:HEAD + 54])
            if i == LATE:
                held = packet
            if i not in DROPPED and i != LATE:
                os.write(fds[1], packet)
            if i == TWICE:
                os.write(fds[1], packet)
            if i == BEHIND:
                os.write(fds[1], held)
        else:
            os.write(fds[1], packet)
        i += 1
    for pid in pids:
        os.waitpid(pid, 0)
    print(json.dumps(pids[::-1]))


def pos(i):
    return sum(FIRST + k for k in range(i))


def check(tap, mode, content, takes='recvfrom'):
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([weir, 'record', f'--content={content}', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, os.path.abspath(__file__), mode, takes],
                           cwd=folder, check=True, timeout=60, capture_output=True, text=True)
        f = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    sender, receiver = json.loads(r.stdout)
    document = json.loads(f.stdout)
    got = sorted((v['verdict'], v['from'], v['to'], v['first_call'], v['second_call'], v['process']) for v in document['rows'])
    sent, taken = f'sendto(python3 {receiver})', f'recvfrom(python3 {sender})'
    exact = (50, 54) if content == 'bytes' else (0, FIRST + ALTERED)
    want = [] if mode != 'wrong' or takes == 'mixed' else [
        ('altered-between', pos(ALTERED) + exact[0], pos(ALTERED) + exact[1], sent, taken, None),
        ('never-received', pos(DROPPED[0]), pos(DROPPED[-1] + 1), sent, taken, None),
        ('received-late', pos(LATE), pos(LATE + 1), sent, taken, None),
        ('received-twice', pos(TWICE), pos(TWICE + 1), taken, taken, None)]
    if takes == 'recv':  # a copy may be another sender's, and one dropped may be that which came instead
        want = [w for w in want if w[0] in ('altered-between', 'received-late')]
    tap.check(f'{mode}, {content}, {takes}: {", ".join(w[0] for w in want) or "clean"}', got == want, want, got)
    unknown = mode == 'equal' or (mode == 'wrong' and takes != 'recvfrom')
    tap.check(f'{mode}, {content}, {takes}: what is not known is counted', (document['unjudged'] > 0) == unknown, document['unjudged'])


if len(sys.argv) == 3:
    MODE, TAKES = sys.argv[1:]
    network()
else:
    weir, result = os.path.abspath(sys.argv[1]), Tap()
    for run in (('none', 'bytes'), ('wrong', 'bytes'), ('wrong', 'hash'), ('equal', 'bytes'), ('none', 'bytes', 'recv'), ('wrong', 'bytes', 'recv'),
                ('wrong', 'bytes', 'mixed'), ('none', 'hash', 'mixed')):
        check(result, *run)
    sys.exit(result.end())
