#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""framed.py WEIR: what a relay does wrong with messages (alters, drops, repeats, re-orders) that it receives as datagrams and sends on over a
connection, or the other way round, is found, whatever shows the borders of messages in the stream; and what it adds as such
is no alteration. TAP on standard output."""
import itertools
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402
from relayed import ALTERED, COUNT, DROPPED, LATE, TWICE, wrong  # noqa: E402

ROOM = 65536
OWN = (20, 40)
FRAMINGS = {  # bytes before and behind a message of some size
    'none': (lambda n: b'', b''), 'line': (lambda n: b'', b'\n'), 'nul': (lambda n: b'', b'\0'), 'count': (lambda n: b'%d ' % n, b''),
    'two': (lambda n: struct.pack('>H', n), b''), 'four': (lambda n: struct.pack('>I', n), b''), 'little': (lambda n: struct.pack('<I', n), b'')}


def first(mode):
    """The size of the first message; of the second one, one byte more, and so on."""
    return 60 if 'short' in mode else 200


class Datagrams:
    def __init__(self, kind):
        if kind == 'packets':
            self.out, self.into = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        else:
            self.out, self.into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.into.bind(('127.0.0.1', 0))
            self.into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self.out.connect(self.into.getsockname())

    def send(self, data):
        self.out.sendall(data)

    def take(self):
        return self.into.recvfrom(ROOM)[0]


class Stream:
    def __init__(self, kind, framing):
        if kind == 'stream':
            self.out, self.into = socket.socketpair()
        else:
            with socket.create_server(('127.0.0.1', 0)) as server:
                self.out = socket.create_connection(server.getsockname())
                self.out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.into = server.accept()[0]
        self.framing, (self.head, self.tail) = framing, FRAMINGS[framing]
        self.held, self.room = b'', b''

    def send(self, data):
        if SPLIT:  # the size and the message are sent by a call each
            self.out.sendall(self.head(len(data)))
            self.out.sendall(data)
        elif BATCH:
            self.held += self.head(len(data)) + data + self.tail
        else:
            self.out.sendall(self.head(len(data)) + data + self.tail)

    def flush(self):
        if self.held:
            self.out.sendall(self.held)
        self.held = b''

    def take(self):
        while True:
            if self.room:
                if self.framing == 'none':
                    data, self.room = self.room, b''
                    return data
                if self.tail:
                    end, head = self.room.find(self.tail), 0
                elif self.framing == 'count':
                    head = self.room.find(b' ') + 1
                    end = head and head + int(self.room[:head])
                else:
                    head = len(self.head(0))
                    end = len(self.room) >= head and head + int.from_bytes(self.room[:head], 'little' if self.framing == 'little' else 'big')
                if end > 0 and end + len(self.tail) <= len(self.room):
                    data = self.room[head:end]
                    self.room = self.room[end + len(self.tail):]
                    return data
            more = self.into.recv(ROOM)
            if not more:
                raise EOFError
            self.room += more


def content(i):
    """Of i, so that what is expected can be computed."""
    size = first(MODE) + (0 if 'fixed' in MODE else i)
    if 'text' in MODE:
        return (b'<13>Nov 28 13:52:30 host app[4711]: request %06d took %d us, status 200, cache hit, upstream none, ' % (i, i * 37) + b'.' * 200)[:size]
    return random.Random(i).randbytes(size).hex().encode()[:size]


def relay_wrong(way, on):
    for i, messages in enumerate(wrong(way.take)):
        for data in messages:
            on.send(data)
        yield i


def relay_right(way, on):
    for i in range(COUNT):
        on.send(way.take())
        yield i


def relay_wrap(way, on):
    """In a framing of its own."""
    for i in range(COUNT):
        on.send(b'{"message":"' + way.take() + b'"}')
        yield i


def relay_replaces(way, on):
    """Sends one of its own in the place of two of them; all messages are of one size."""
    for i in range(COUNT):
        data = way.take()
        on.send(os.urandom(len(data)) if i in OWN else data)
        yield i


def relay_some(way, on):
    """Rewrites a field of every fourth."""
    for i in range(COUNT):
        data = way.take()
        on.send(data[:60] + b'********' + data[68:] if i % 4 == 1 else data)
        yield i


def relay_filter(way, on):
    for i in range(COUNT):
        data = way.take()
        if i % 6:
            on.send(data)
        yield i


def relay_own(way, on):
    """Sends messages of its own, two of them in the place of received ones."""
    for i in range(COUNT):
        data = way.take()
        on.send(b'own message %d' % i if i in OWN else data)
        if i % 8 == 7:
            on.send(b'mark')
        yield i


def relay_answers(way, on):
    """Is acknowledged by the receiver, and sends what is not again."""
    for i in range(COUNT):
        data = way.take()
        on.send(data)
        on.out.recv(ROOM) if i else None
        if i in (5, 25):
            on.send(data)
        yield i


def source(way):
    for i in range(COUNT):
        way.send(content(i))
        os.read(go[0], 1)


def sink(on):
    on.into.settimeout(1)
    file = os.open('log', os.O_WRONLY | os.O_CREAT)
    try:
        for _ in itertools.count():
            data = on.take()
            if 'store' in MODE:
                os.write(file, data + b'\n')
            if 'answers' in MODE:
                on.into.send(b'ok')
    except (TimeoutError, EOFError):
        pass


def relay(way, on):
    for i in globals()[f'relay_{MODE.split("-")[0]}'](way, on):
        if BATCH and (i % 5 == 4 or i == COUNT - 1):
            on.flush()
        os.write(go[1], b'x')


def work():
    global go
    way, on = (Stream(KIND[0], FRAMING) if kind in ('tcp', 'stream') else Datagrams(kind) for kind in KIND)
    go = os.pipe()
    os.write(go[1], b'x' * 3)
    pids = []
    for part in (lambda: source(way), lambda: relay(way, on), lambda: sink(on)):
        pid = os.fork()
        if not pid:
            part()
            os._exit(0)
        pids.append(pid)
    print(json.dumps(pids))
    for s in (way.out, way.into, on.out, on.into):
        s.close()
    for pid in pids:
        os.waitpid(pid, 0)


def pos(i, framing, size):
    """Of message i in the bytes that enter the relay; `size`: of the first one."""
    head, tail = FRAMINGS[framing] if framing else FRAMINGS['none']
    return sum(size + k + len(head(size + k)) + len(tail) for k in range(i)) + len(head(size + i))


def flow(folder, *args, content):
    r = subprocess.run([weir, 'record', f'--content={content}', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, os.path.abspath(__file__), *args],
                       cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    f = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    return json.loads(r.stdout), json.loads(f.stdout)


def check_wrong(tap, into, out, framing, content, mode='wrong'):
    with tempfile.TemporaryDirectory() as folder:
        pids, document = flow(folder, into, out, framing, mode, content=content)
    got = sorted((v['verdict'], v['from'], v['to'], v['second_call'], v['pid']) for v in document['rows'])
    framed = framing if into in ('tcp', 'stream') else None
    size = first(mode)
    exact = (50, 54) if content == 'bytes' else (0, size + ALTERED)
    at = {i: pos(i, framed, size) for i in range(COUNT)}
    calls = {v['second_call'] for v in document['rows'] if v['second_call']}
    call = calls.pop() if len(calls) == 1 else None
    want = [('altered', at[ALTERED] + exact[0], at[ALTERED] + exact[1], call, pids[1]),
            ('never-sent', at[DROPPED[0]], at[DROPPED[-1] + 1], None, pids[1]),
            ('re-ordered', at[LATE], at[LATE] + size + LATE, call, pids[1]),
            ('sent-twice', at[TWICE], at[TWICE] + size + TWICE, call, pids[1])]
    if 'text' in mode:
        want = want[1:]
    name = f'{into} to {out}, {framing}, {content}: {mode}'
    tap.check(f'{name}: all that the relay does wrong', got == want and call, want, got)
    tap.check(f'{name}: {"the rest is counted" if "text" in mode else "nothing is left open"}', document['unjudged'] == ('text' in mode), document['unjudged'])


def check_right(tap, into, out, framing, mode, content):
    with tempfile.TemporaryDirectory() as folder:
        document = flow(folder, into, out, framing, mode, content=content)[1]
    name = f'{into} to {out}, {framing}, {content}: {mode}'
    tap.check(f'{name}: nothing is wrong', not document['rows'], *document['rows'])
    if content == 'hash':
        tap.check(f'{name}: whether messages are seen is said', document['undivided'] == (framing != 'none'), document['undivided'])


if len(sys.argv) == 5:
    KIND, FRAMING, MODE = sys.argv[1:3], *sys.argv[3:]
    BATCH, SPLIT = 'batch' in MODE, 'split' in MODE
    KIND = list(KIND)
    work()
else:
    weir, result = os.path.abspath(sys.argv[1]), Tap()
    for way, framing in [(('udp', 'tcp'), f) for f in FRAMINGS] + [(('tcp', 'udp'), f) for f in FRAMINGS if f != 'none'] + [
            (('packets', 'stream'), 'line'), (('stream', 'packets'), 'two')]:
        check_wrong(result, *way, framing, 'bytes')
    check_wrong(result, 'udp', 'tcp', 'line', 'bytes', 'wrong-batch')
    check_wrong(result, 'udp', 'tcp', 'line', 'bytes', 'wrong-text')
    check_wrong(result, 'udp', 'tcp', 'line', 'bytes', 'wrong-store')
    check_wrong(result, 'udp', 'tcp', 'none', 'hash')
    check_wrong(result, 'udp', 'tcp', 'none', 'hash', 'wrong-short')
    check_wrong(result, 'udp', 'tcp', 'two', 'hash', 'wrong-split')
    for mode in ('right', 'right-batch', 'right-text', 'wrap', 'some', 'some-text', 'filter', 'own', 'answers'):
        check_right(result, 'udp', 'tcp', 'line', mode, 'bytes')
    for mode in ('right', 'some', 'own', 'filter'):
        check_right(result, 'tcp', 'udp', 'two', mode, 'bytes')
        check_right(result, 'udp', 'tcp', 'none', mode, 'hash')
    check_right(result, 'udp', 'tcp', 'none', 'replaces-short-fixed', 'hash')
    check_right(result, 'udp', 'tcp', 'line', 'right', 'hash')
    check_right(result, 'udp', 'tcp', 'two', 'right', 'hash')
    sys.exit(result.end())
