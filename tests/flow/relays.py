#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relays.py WEIR: what a process does wrong with messages that it forwards (alters, drops, repeats, re-orders) is found, for datagrams over IP, unix
sockets with a name, and pairs of unix sockets for datagrams and packets; and the messages are followed through it. Relays that
rewrite, wrap, filter, answer or spread what they receive do nothing wrong. TAP on standard output."""
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402
from relayed import ALTERED, COUNT, DROPPED, LATE, TWICE, wrong  # noqa: E402

FIRST = 200
CUT, SHORT, ROOM = (20, 30), 100, 4000


class Way:
    """Two sockets: what is sent through one is received from the other, or sent to an address of its own."""

    def __init__(self, kind, name):
        if kind in ('pair', 'packets'):
            self.out, self.into = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if kind == 'packets' else socket.SOCK_DGRAM)
            self.to = None
            return
        family = socket.AF_INET if kind in ('udp', 'connected') else socket.AF_UNIX
        self.out, self.into = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
        self.into.bind(('127.0.0.1', 0) if family == socket.AF_INET else name)
        self.to = self.into.getsockname()
        if family == socket.AF_INET:
            self.into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        if kind in ('connected', 'named'):
            self.out.connect(self.to)
            self.to = None

    def send(self, data):
        if self.to:
            self.out.sendto(data, self.to)
        else:
            self.out.send(data)

    def take(self):
        return self.into.recvfrom(ROOM)


def relay_wrong(way, on):
    for messages in wrong(lambda: way.take()[0]):
        for data in messages:
            on.send(data)


def relay_header(way, on):
    """Rewrites the number at the beginning of each."""
    for i in range(COUNT):
        on.send(i.to_bytes(8, 'big') + way.take()[0][8:])


def relay_some(way, on):
    """Rewrites a field of every fourth."""
    for i in range(COUNT):
        data = way.take()[0]
        on.send(data[:60] + b'********' + data[68:] if i % 4 == 1 else data)


def relay_wrap(way, on):
    for _ in range(COUNT):
        on.send(b'<13>relay: ' + way.take()[0])


def relay_filter(way, on):
    for i in range(COUNT):
        data = way.take()[0]
        if i % 6:
            on.send(data)


def relay_reports(way, on):
    """Answers a few of them itself: to the destination, in their place."""
    for i in range(COUNT):
        data = way.take()[0]
        on.send(os.urandom(16) if i in (20, 40) else data)


def relay_beats(way, on):
    """Sends a message of its own for one that it received, and another one."""
    for i in range(COUNT):
        data = way.take()[0]
        on.send(data[:100] + b'alive   ' + data[108:] if i == 20 else data)
        if i == 40:
            on.send(os.urandom(200))


def relay_spread(way, on):
    """Sends each to two, from one socket."""
    other = Way('udp', None)
    for _ in range(COUNT):
        data = way.take()[0]
        on.send(data)
        on.out.sendto(data, other.to)


def relay_threads(way, on):
    """Three threads send them on, in whatever order."""
    todo = queue.Queue()

    def work():
        while True:
            data = todo.get()
            if not data:
                return
            on.send(data)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(COUNT):
        todo.put(way.take()[0])
    for t in threads:
        todo.put(None)
    for t in threads:
        t.join()


def relay_proxy(way, on):
    """Forwards requests and their answers; answers three of the requests itself and asks for three of the answers twice."""
    for i in range(COUNT):
        data, client = way.take()
        if i in (15, 35, 55):
            way.into.sendto(b'cached' * 10, client)
            continue
        on.send(data)
        if i in (5, 25, 45):
            on.send(data)
            on.out.recv(ROOM)
        way.into.sendto(on.out.recv(ROOM), client)


def relay_short(way, on):
    """Takes two of them into buffers that are too small."""
    for i in range(COUNT):
        data = way.into.recvfrom(SHORT if i in CUT else ROOM)[0]
        on.send(data)


def relay_heads(way, on):
    """Only wants their beginnings."""
    for i in range(COUNT):
        on.send(way.into.recvfrom(SHORT)[0])


def source(way):
    for i in range(COUNT):
        way.send(os.urandom(FIRST + i))
        if MODE == 'proxy':
            way.out.recv(ROOM)
        else:
            os.read(go[0], 1)


def sink(way):
    way.into.settimeout(1)
    try:
        for _ in itertools.count():
            data, client = way.take()
            if MODE == 'proxy':
                way.into.sendto(data[::-1], client)
            else:
                os.write(go[1], b'x')
    except TimeoutError:
        pass


def work():
    global go
    with tempfile.TemporaryDirectory() as folder:
        way, on = Way(KIND, f'{folder}/in'), Way(KIND, f'{folder}/out')
        go = os.pipe()
        os.write(go[1], b'x' * 16)  # some are dropped
        pids = []
        for part in (lambda: source(way), lambda: globals()[f'relay_{MODE}'](way, on), lambda: sink(on)):
            pid = os.fork()
            if not pid:
                part()
                os._exit(0)
            pids.append(pid)
        print(json.dumps(pids))
        for pid in pids:
            os.waitpid(pid, 0)


def pos(i):
    return sum(FIRST + k for k in range(i))


def record(folder, kind, mode, content):
    r = subprocess.run([weir, 'record', f'--content={content}', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, os.path.abspath(__file__), kind, mode],
                       cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    return json.loads(r.stdout)


def flow(folder, *args):
    f = subprocess.run([weir, 'flow', 't.weir', '--json', *args], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    return json.loads(f.stdout)


def check_wrong(tap, kind, content):
    with tempfile.TemporaryDirectory() as folder:
        pids = record(folder, kind, 'wrong', content)
        document = flow(folder)
        trees = [flow(folder, '--of', f'pid == {pids[0]} && op == sendto && bytes == {FIRST + i}')['tables']['tree']['rows'] for i in (5, ALTERED)]
    got = sorted((v['verdict'], v['from'], v['to'], v['first_call'], v['second_call'], v['process'], v['pid']) for v in document['rows'])
    into, out = f'recvfrom(python3 {pids[0]})', f'sendto(python3 {pids[2]})'
    exact = (50, 54) if content == 'bytes' else (0, FIRST + ALTERED)
    by = 'python3', pids[1]
    want = [('altered', pos(ALTERED) + exact[0], pos(ALTERED) + exact[1], into, out, *by),
            ('never-sent', pos(DROPPED[0]), pos(DROPPED[-1] + 1), into, None, *by),
            ('re-ordered', pos(LATE), pos(LATE + 1), out, out, *by),
            ('sent-twice', pos(TWICE), pos(TWICE + 1), out, out, *by)]
    tap.check(f'{kind}, {content}: all that the relay does wrong', got == want, want, got)
    tap.check(f'{kind}, {content}: nothing is left open', document['unjudged'] == 0 and document['unfollowed'] == 0, document['unjudged'], document['unfollowed'])
    for name, tree in zip(('a message', 'an altered one'), trees):
        path = [(row['who'], row['via']) for row in tree]
        want = [(f'python3 {pid}', via) for pid, via in zip((pids[0], pids[1], pids[1], pids[2]), (None, 'datagram', 'content', 'datagram'))]
        if name == 'a message' or content == 'bytes':
            tap.check(f'{kind}, {content}: {name} is followed through the relay', path[:4] == want, path)


def check_short(tap, kind, content):
    with tempfile.TemporaryDirectory() as folder:
        pids = record(folder, kind, 'short', content)
        document = flow(folder)
    got = sorted((v['verdict'], v['from'], v['to'], v['first_call'], v['second_call'], v['process']) for v in document['rows'])
    want = [('never-received', pos(i) + SHORT, pos(i + 1), f'sendto(python3 {pids[1]})', f'recvfrom(python3 {pids[0]})', None) for i in CUT]
    tap.check(f'{kind}, {content}: what did not fit into a buffer', got == want and document['unjudged'] == 0, want, got, document['unjudged'])


def check_right(tap, kind, mode, content):
    with tempfile.TemporaryDirectory() as folder:
        record(folder, kind, mode, content)
        document = flow(folder)
    tap.check(f'{kind}, {content}: {mode}: nothing is wrong', not document['rows'], *document['rows'])
    if mode == 'proxy':  # whose clients have no address before they send
        tap.check(f'{kind}, {content}: {mode}: answers are followed as well', document['unfollowed'] == 0, document['unfollowed'])


if len(sys.argv) == 3:
    KIND, MODE = sys.argv[1:]
    work()
else:
    weir, result = os.path.abspath(sys.argv[1]), Tap()
    for kind in ('udp', 'connected', 'named', 'to-name', 'pair', 'packets'):
        check_wrong(result, kind, 'bytes')
    for kind in ('udp', 'to-name', 'packets'):
        check_wrong(result, kind, 'hash')
    for kind, content in itertools.product(('udp', 'packets'), ('bytes', 'hash')):
        check_short(result, kind, content)
        check_right(result, kind, 'heads', content)
    for mode in ('header', 'some', 'wrap', 'filter', 'reports', 'beats', 'threads'):
        check_right(result, 'udp', mode, 'bytes')
    for mode in ('some', 'filter', 'beats'):
        check_right(result, 'packets', mode, 'hash')
    check_right(result, 'udp', 'spread', 'bytes')
    check_right(result, 'udp', 'proxy', 'bytes')
    check_right(result, 'udp', 'proxy', 'hash')
    sys.exit(result.end())
