#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nodes.py WEIR: nodes that are no plain chain of stores: a relay that stores nothing, volumes written in place behind a primary, files padded
for O_DIRECT, a log that is applied, messages sent twice to a node that writes them again. What one of them does wrong is found at its
process, with the bytes and the two calls; what is well is clean. Between nodes that compress or encrypt what they send, the two files between
which it went wrong are found, and a node only if nothing else can have done it. TAP on standard output."""
import glob
import json
import mmap
import os
import random
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

MESSAGES, SIZE, BAD = 12, 12288, 5
PACKED = ('zlib', 'zlib-star', 'tls')  # what the nodes send each other is not what they store


def take(s, n):
    data = b''
    while len(data) < n:
        more = s.recv(min(n - len(data), 5000))
        if not more:
            return None
        data += more
    return data


def messages(s, packed):
    while head := take(s, 8):
        number, size = struct.unpack('<II', head)
        data = take(s, size)
        yield number, zlib.decompress(data) if packed else data


def tls(s, server):
    """Nobody checks whom he talks to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if server:
        context.load_cert_chain('key.pem')
        context.num_tickets = 0  # which the client would not read before it closes
    return context.wrap_socket(s, server_side=server)


def altered(data, at, size):
    return data[:at] + bytes(b ^ 0x55 for b in data[at:at + size]) + data[at + size:]


def store(how, name, number, data, wrong):
    """One file for each message; or all in a volume, each at its place; wrong: at another."""
    if how == 'volume':
        fd = os.open(name + '/volume', os.O_CREAT | os.O_RDWR, 0o600)
        os.pwrite(fd, data, (number * 7 % MESSAGES + (20 if wrong else 0)) * 16384)
    elif how == 'direct':
        fd = os.open(f'{name}/object-{number}', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)
        padded = mmap.mmap(-1, (len(data) + 4095) // 4096 * 4096)
        padded[:len(data)] = data
        os.pwrite(fd, padded, 0)
    elif how.startswith('mapped'):
        fd = os.open(f'{name}/object-{number}', os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600)
        os.ftruncate(fd, len(data))
        with mmap.mmap(fd, len(data)) as m:
            m[:] = data
    else:
        fd = os.open(f'{name}/object-{number}', os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        os.write(fd, data)
    os.close(fd)


def node(name, how, fault, listener, following):
    os.mkdir(name)
    downs = [socket.create_connection(a) for a in following]
    up, packed = listener.accept()[0], how in PACKED and name != 'n1'  # the client speaks plainly
    if how == 'tls':
        downs = [tls(d, False) for d in downs]
        up = tls(up, True) if packed else up
    for number, data in messages(up, packed and how != 'tls'):
        bad = fault if number == BAD else ''
        kept = altered(data, 3000, 16) if bad == f'store@{name}' else data
        sent = altered(data, 6000, 16) if bad == f'send@{name}' else data
        if how != 'none' and bad != f'drop@{name}':
            store(how, name, number, kept, bad == f'place@{name}')
        for d in downs:
            for _ in range(2 if bad == f'twice@{name}' else 1):
                if how == 'none' and bad == f'drop@{name}':
                    continue
                message = zlib.compress(sent) if how.startswith('zlib') else sent
                d.sendall(struct.pack('<II', number, len(message)))
                d.sendall(message)
    for d in downs:
        d.close()


def log(fault, listener):
    """Appends what comes to a log, and then applies it to a file."""
    os.mkdir('n1')
    with open('n1/log', 'wb+', buffering=0) as f:
        for number, data in messages(listener.accept()[0], False):
            f.write(struct.pack('<IIQ', number, len(data), random.getrandbits(64)) + (altered(data, 3000, 16) if fault == 'store@n1' and number == BAD else data))
        f.seek(0)
        with open('n1/table', 'wb', buffering=0) as to:
            while head := f.read(16):
                number, size, _ = struct.unpack('<IIQ', head)
                data = f.read(size)
                to.write(altered(data, 3000, 16) if fault == 'apply@n1' and number == BAD else data)


def process(work, *args):
    pid = os.fork()
    if not pid:
        work(*args)
        os._exit(0)
    return pid


def nodes(shape, fault):
    listeners = [socket.create_server(('127.0.0.1', 0)) for _ in range(3)]
    at = [s.getsockname() for s in listeners]
    if shape == 'relay':
        parts = [(node, 'n1', 'none', fault, listeners[0], at[1:2]), (node, 'n2', 'file', fault, listeners[1], [])]
    elif shape in ('zlib', 'tls', 'mapped', 'mapped-unread', 'mapped-partly'):
        parts = [(node, f'n{i + 1}', shape, fault, listeners[i], at[i + 1:i + 2]) for i in range(3)]
    elif shape == 'log':
        parts = [(log, fault, listeners[0])]
    else:
        parts = [(node, 'n1', shape, fault, listeners[0], at[1:]), *((node, f'n{i + 1}', shape, fault, listeners[i], []) for i in (1, 2))]
    pids = [process(*p) for p in parts]
    rng = random.Random(1)
    with socket.create_connection(at[0]) as c:
        for i in range(MESSAGES):
            data = rng.randbytes(SIZE + i)
            c.sendall(struct.pack('<II', i, SIZE + i) + (data.hex().encode()[:SIZE + i] if shape in PACKED else data))
    for pid in pids:
        os.waitpid(pid, 0)
    if shape in ('mapped', 'mapped-partly'):  # what they stored is seen by whoever reads it
        for path in sorted(glob.glob('n*/object-*')):
            if shape == 'mapped-partly' and path == f'n2/object-{BAD}':
                continue
            with open(path, 'rb') as f:
                f.read()
    print(json.dumps({f'n{i + 1}': pid for i, pid in enumerate(pids)}))


# shape, fault: verdict, process, file, from, to, the two calls
PLACE = BAD * 7 % MESSAGES * 16384
END = SIZE + BAD
FIRST = 8 + sum(8 + SIZE + i for i in range(BAD))
RUNS = {
    ('relay', 'none'): None,
    ('relay', 'send@n1'): ('altered', 'n1', 'object-5', 6000, 6016, 'recvfrom', 'sendto'),
    # with its head, and that of the next, which is too short to be followed
    ('relay', 'drop@n1'): ('never-sent', 'n1', None, FIRST - 8, FIRST + END + 8, 'recvfrom', None),
    ('volume', 'none'): None,
    ('volume', 'drop@n2'): ('never-stored', 'n2', 'volume', PLACE, PLACE + END, 'recvfrom', None),
    ('volume', 'place@n3'): ('misplaced', 'n3', 'volume', PLACE + 20 * 16384, PLACE + 20 * 16384 + END, 'recvfrom', 'pwrite64'),
    ('direct', 'none'): None,
    ('file', 'twice@n1'): ('sent-twice', 'n1', 'object-5', 0, END, 'sendto', 'sendto'),
    **{(shape, fault): want for shape in ('zlib', 'tls') for fault, want in {
        'none': None,
        'store@n1': ('altered', 'n1', 'n1/object-5', 3000, 3016, 'recvfrom', 'write'),
        'send@n1': ('replicas-differ', None, 'n2/object-5', 6000, 6016, 'write', 'write'),
        'store@n2': ('replicas-differ', 'n2', 'n2/object-5', 3000, 3016, 'write', 'write'),
        'send@n2': ('replicas-differ', None, 'n3/object-5', 6000, 6016, 'write', 'write'),
        'store@n3': ('replicas-differ', None, 'n3/object-5', 3000, 3016, 'write', 'write'),
    }.items()},
    ('zlib-star', 'none'): None,
    ('zlib-star', 'store@n3'): ('replicas-differ', None, 'n3/object-5', 3000, 3016, 'write', 'write'),
    ('zlib-star', 'send@n1'): ('replicas-differ', 'n1', 'n1/object-5', 6000, 6016, 'write', 'write'),
    ('mapped', 'none'): None,
    ('mapped', 'store@n2'): ('altered', 'n2', 'n2/object-5', 3000, 3016, 'recvfrom', 'mmap'),
    ('mapped', 'send@n2'): ('altered', 'n2', 'n2/object-5', 6000, 6016, 'recvfrom', 'sendto'),
    ('mapped-unread', 'store@n2'): None,
    ('mapped-partly', 'none'): None,
    ('log', 'none'): None,
    ('log', 'store@n1'): ('altered', 'n1', 'log', BAD * (16 + SIZE) + sum(range(BAD)) + 16 + 3000, None, 'recvfrom', 'write'),
    ('log', 'apply@n1'): ('altered', 'n1', 'table', BAD * SIZE + sum(range(BAD)) + 3000, None, 'read', 'write'),
}


def is_right(row, want, pids):
    what, who, file, start, stop, first, second = want
    return (row['verdict'], row['pid'], row['from']) == (what, pids[who] if who else None, start) and \
        ('/' + (row['file'] or '')).endswith('/' + (file or '')) and (row['process'] is None) == (who is None) and \
        stop in (None, row['to']) and row['first_call'].startswith(first) and (row['second_call'] or '').startswith(second or '')


def main():
    weir, tap = os.path.abspath(sys.argv[1]), Tap()
    # One for all runs: to make it takes a fifth of a second of CPU
    pair = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=node', '-keyout', '-', '-out', '-'],
                          check=True, capture_output=True).stdout
    for (shape, fault), want in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            if shape == 'tls':
                with open(f'{folder}/key.pem', 'wb') as f:
                    f.write(pair)
            r = subprocess.run([weir, 'record', '--content=bytes', '--lossless', '-q', '-o', 't.weir', '--', sys.executable, os.path.abspath(__file__), shape,
                                fault], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
            f = subprocess.run([weir, 'flow', 't.weir', '--json'], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
        document, pids = json.loads(f.stdout), json.loads(r.stdout)
        rows = document['rows']
        streams = 2 if fault.startswith('twice') else 1
        good = all(is_right(row, want, pids) for row in rows) and len(rows) == streams if want else not rows
        tap.check(f'{shape}, {fault}: {want[0] if want else "clean"}', good, want, pids, *rows[:3])
        if shape.startswith('mapped'):
            tap.check(f'{shape}: files that nobody read are counted', document['mapped_unseen'] == (shape != 'mapped'), document['mapped_unseen'])
    sys.exit(tap.end())


if len(sys.argv) == 2:
    main()
nodes(*sys.argv[1:])
