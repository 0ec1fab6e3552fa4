#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stores.py WEIR: replicated stores, chains of three processes, each over another kind of connection or with other calls on files. What one
does wrong with one object is found, with the process, the file and the bytes, or without a process where content does not show it; nothing is
found where nothing is wrong. TAP on standard output."""
import concurrent.futures
import json
import mmap
import os
import random
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'content'))
from requests import BUFFER_SELECT, SEND, Ring, buffer, provide_ring  # noqa: E402

OBJECTS, WRONG, PART, NODES = 8, 3, 5003, 'abc'
STORED, FORWARDED, FLIPPED = (5000, 5100), (6000, 6100), (7777, 7778)


def size_of(i):
    return 20000 + 3001 * i


class End:
    """An end of a pipe or socket, which reads exactly what is asked for."""

    def __init__(self, fd):
        self.fd, self.buffer = fd, b''

    def take(self, size):
        """None at the end."""
        while len(self.buffer) < size:
            more = os.read(self.fd, 65536)
            if not more:
                return None
            self.buffer += more
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def send(self, data, most=1 << 20):
        while data:
            data = data[os.write(self.fd, data[:most]):]


def send_provided(end, data):
    """By io_uring, from buffers that the ring chooses (since Linux 6.10): their content is not recorded."""
    for at in range(0, len(data), 6000):
        part, ring = data[at:at + 6000], Ring()
        area = buffer(part)
        if not provide_ring(ring, area, len(part), 1, 7) or ring.one(SEND, end.fd, 0, len(part), flags=BUFFER_SELECT, group=7) != len(part):
            end.send(part)
        ring.close()


def connection(kind):
    if kind == 'pipe':
        return os.pipe()
    if kind == 'seqpacket':
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    elif kind in ('unix', 'mmap'):
        pair = socket.socketpair()
    else:
        with socket.create_server(('127.0.0.1', 0)) as server:
            to = socket.create_connection(server.getsockname())
            pair = server.accept()[0], to
    return pair[0].detach(), pair[1].detach()


def altered(data, where):
    return data[:where[0]] + bytes(v ^ 0x55 for v in data[slice(*where)]) + data[where[1]:]


def store(kind, path, data):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if kind == 'mmap':
        os.ftruncate(fd, len(data))
        with mmap.mmap(fd, len(data)) as m:
            m[:] = data
    else:
        for at in range(0, len(data), PART):
            os.write(fd, data[at:at + PART])
    os.close(fd)


def node(kind, fault, name, source, targets):
    def forward(i, data):
        def one(target):
            target.send(b'%8d%8d' % (i, len(data)))
            if kind == 'provided' and i == WRONG:
                send_provided(target, data)
                return
            if kind != 'sendfile' or not os.path.exists(f'{name}/object-{i}'):
                target.send(data, 16000 if kind == 'seqpacket' else 1 << 20)
                return
            with open(f'{name}/object-{i}', 'rb') as f:
                at = 0
                while at < len(data):
                    at += os.sendfile(target.fd, f.fileno(), at, len(data) - at)
        list(pool.map(one, targets) if kind == 'threads' else map(one, targets))

    os.mkdir(name)
    pool, held = concurrent.futures.ThreadPoolExecutor(2), None
    while (head := source.take(16)) is not None:
        i, size = int(head[:8]), int(head[8:])
        data = source.take(size)
        wrong = fault if i == WRONG else ''
        if not (wrong == 'drop' and name == 'b'):
            # where copies have names of their own, only what is sent shows that they have arrived
            path = f'{name}/{name}-object-{i}' if kind == 'provided' else f'{name}/object-{i}'
            store(kind, path, altered(data, STORED) if wrong == 'store' and name == 'a' else
                  altered(data, FLIPPED) if wrong == 'flip' and name == 'c' else data)
        if wrong == 'keep' and name == 'a':
            continue
        if wrong == 'reorder' and name == 'a':
            held = i, data
            continue
        for _ in range(2 if wrong == 'twice' and name == 'a' else 1):
            forward(i, altered(data, FORWARDED) if wrong == 'forward' and name == 'a' else data)
        if held:
            forward(*held)
            held = None
    if kind == 'mmap':  # only then it is known what was stored
        for path in os.listdir(name):
            with open(f'{name}/{path}', 'rb') as f:
                f.read()


def run(kind, fault):
    """The client. Prints the processes of the nodes."""
    links = [connection(kind) for _ in NODES]
    targets = {'a': (1, 2), 'b': (), 'c': ()} if kind == 'threads' else {'a': (1,), 'b': (2,), 'c': ()}
    pids = {}
    for i, name in enumerate(NODES):
        pids[name] = os.fork()
        if not pids[name]:
            keep = {links[i][0]} | {links[k][1] for k in targets[name]}
            for fd in {fd for link in links for fd in link} - keep:
                os.close(fd)
            node(kind, fault, name, End(links[i][0]), [End(links[k][1]) for k in targets[name]])
            os._exit(0)
    for fd in [link[0] for link in links] + [link[1] for link in links[1:]]:
        os.close(fd)
    client = End(links[0][1])
    some = random.Random(7)
    for i in range(OBJECTS):
        client.send(b'%8d%8d' % (i, size_of(i)))
        client.send(some.randbytes(size_of(i)), 16000 if kind == 'seqpacket' else 1 << 20)
    os.close(client.fd)
    for pid in pids.values():
        os.waitpid(pid, 0)
    print(json.dumps(pids))


WHOLE = (0, size_of(WRONG))
# Over sockets the process is known: fault: verdict, node, bytes. What passes through pipes may be transformed on purpose: there only the
# replicas differ. Of an object that did not arrive everywhere, packets do not show who kept it: a process may discard what it does not need.
SHOWN = {'store': [('altered', 'a', STORED)], 'forward': [('altered', 'a', FORWARDED)], 'flip': [('altered', 'c', FLIPPED)],
         'keep': [('stored-never-sent', 'a', WHOLE)], 'drop': [('sent-never-stored', 'b', WHOLE)], 'twice': [('sent-twice', 'a', WHOLE)],
         'reorder': [('re-ordered', 'a', WHOLE)], 'none': []}
UNSHOWN = {'store': [('replicas-differ', None, STORED)], 'forward': [('replicas-differ', None, FORWARDED)],
           'flip': [('replicas-differ', None, FLIPPED)], 'drop': [('never-stored', 'b', WHOLE)],
           'keep': [('never-stored', 'b', WHOLE), ('never-stored', 'c', WHOLE)], 'none': []}
PACKETS = {**SHOWN, 'drop': UNSHOWN['drop'], 'keep': UNSHOWN['keep']}
CASES = [('unix', SHOWN, ('none', 'store', 'forward', 'flip', 'keep', 'drop', 'twice', 'reorder')), ('mmap', SHOWN, ('none', 'store', 'forward', 'keep', 'drop')),
         ('threads', SHOWN, ('none', 'store', 'flip')), ('sendfile', SHOWN, ('none', 'store', 'flip', 'keep', 'drop', 'twice', 'reorder')), ('provided', SHOWN, ('none',)), ('pipe', UNSHOWN, ('none', 'store', 'forward', 'flip')),
         ('seqpacket', PACKETS, ('none', 'store', 'forward', 'flip', 'keep', 'drop'))]
# what is said of the copies: the first one is right only where it is known that it was stored as received
SAID = {('pipe', 'store'): '{0}/a differs, {0}/b right, {0}/c right', ('pipe', 'forward'): '{0}/a right, {0}/b differs, {0}/c differs',
        ('seqpacket', 'store'): '{0}/a differs, {0}/b right, {0}/c right'}


def check(tap, kind, fault, want):
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([weir, 'record', '--content=bytes', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, os.path.abspath(__file__), kind, fault],
                           cwd=folder, check=True, timeout=60, capture_output=True, text=True)
        f = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    names = {pid: name for name, pid in json.loads(r.stdout).items()}
    rows = json.loads(f.stdout)['rows']
    found = [(v['verdict'], names.get(v['pid']), (v['from'], v['to'])) for v in rows]
    said = SAID.get((kind, fault))
    if said:
        tap.check(f'{kind}, {fault}: which copies are right', [v['second_observation'] for v in rows] == [said.format(folder)], *rows)
    tap.check(f'{kind}, {fault}: {", ".join(w[0] for w in want) or "clean"}', found == want and all(f'object-{WRONG}' in v['file'] for v in rows), want, *rows)


if len(sys.argv) == 3:
    run(*sys.argv[1:])
else:
    weir, result = os.path.abspath(sys.argv[1]), Tap()
    for store_kind, wanted, faults in CASES:
        for one in faults:
            check(result, store_kind, one, wanted[one])
    sys.exit(result.end())
