#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moves known bytes through every call that moves any, in one thread, and writes down what it moved: a list of [op, way, pos, bytes
or None, how it may have ended, whether the file ends there (None: weir does not know)], between two calls of access() on paths that
do not exist. pos: -1 is not known, 'tcp' a number of the stream."""
import ctypes
import mmap
import os
import pickle
import random
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)


def make(size, seed):
    """Without backslashes, which JSON spells as it does what is no text."""
    return random.Random(seed).randbytes(size).replace(b'\\', b'/')


class Iovec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint), ('iov', ctypes.POINTER(Iovec)), ('iovlen', ctypes.c_size_t),
                ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


class Mmsghdr(ctypes.Structure):
    _fields_ = [('hdr', Msghdr), ('len', ctypes.c_uint)]


def messages(parts):
    """struct mmsghdr[], a message for each list of buffers."""
    array = (Mmsghdr * len(parts))()
    array.keep = []
    for m, buffers in zip(array, parts):
        iov = (Iovec * len(buffers))(*[Iovec(ctypes.addressof(b), len(b)) for b in buffers])
        m.hdr.iov, m.hdr.iovlen = iov, len(buffers)
        array.keep.append((iov, buffers))
    return array


def buffer(data):
    return (ctypes.c_char * max(len(data), 1)).from_buffer_copy(data or b'\0')


class Moves:
    def __init__(self, folder):
        self.folder = folder
        self.facts = []

    def open(self, name, flags=0):
        return os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | flags, 0o600)

    def note(self, op, way, pos, data, how='handled', end=False):
        self.facts.append([op, way, pos, data, how, end])

    def files(self):
        data, fd, at = make(300000, 1), self.open('plain'), 0
        for size in (1, 7, 8, 4080, 4096, 12, 64, 20000, 100001):  # positions of every kind
            self.note('write', 'out', at, data[at:at + size])
            assert os.write(fd, data[at:at + size]) == size
            at += size
        for size, pos in ((4096, 0), (4096, 4096), (3, 2), (3, 6), (5, 4094), (8192, 4095), (65536, 1), (100000, 8192), (90000, 12345)):
            got = os.pread(fd, size, pos)
            self.note('pread64', 'in', pos, data[pos:pos + size][:len(got)])
            assert got == data[pos:pos + len(got)]
        for size, pos in ((at - 120001, 120001), (5000, at - 4500), (50, at - 50), (at - 122880, 122880)):
            got = os.pread(fd, size, pos)
            self.note('pread64', 'in', pos, data[pos:at], end=True)
            assert got == data[pos:at]
        os.lseek(fd, 100, os.SEEK_SET)
        for size in (5000, 1, 4096):
            pos = os.lseek(fd, 0, os.SEEK_CUR)
            got = os.read(fd, size)
            self.note('read', 'in', pos, got)
        big = make(3 << 20, 2)
        self.note('pwrite64', 'out', 0, big)  # more than one record
        os.pwrite(fd, big, 0)
        self.note('pwrite64', 'out', 777, big[:2000003])
        os.pwrite(fd, big[:2000003], 777)
        self.note('pwrite64', 'out', 1 << 33, bytes(10000))  # zeros
        os.pwrite(fd, bytes(10000), 1 << 33)
        end = self.open('plain', os.O_APPEND)
        size = os.fstat(end).st_size
        self.note('write', 'out', size, big[:5000])
        os.write(end, big[:5000])

    def vectors(self):
        data, fd = make(100000, 3), self.open('vectors')
        for pos, cuts in ((0, (5, 0, 4091, 4096)), (8192, (1,) * 50), (8242, (3, 4099, 17, 30000)), (50000, (4096, 4096))):
            parts, at = [], pos
            for n in cuts:
                parts.append(data[at:at + n])
                at += n
            self.note('pwritev2' if pos else 'writev', 'out', pos, data[pos:at])
            got = os.pwritev(fd, parts, pos) if pos else os.writev(fd, parts)
            assert got == at - pos
            into = [bytearray(n) for n in (2, 6, 0, 1000, 50000)]
            want = data[pos:at]
            self.note('preadv2', 'in', pos, want)
            assert os.preadv(fd, into, pos) >= len(want)
            self.facts[-1][3] = b''.join(into)[:os.fstat(fd).st_size - pos][:51008]
        os.lseek(fd, 4, os.SEEK_SET)
        into = [bytearray(n) for n in (9, 100)]
        self.note('readv', 'in', 4, None)
        assert os.readv(fd, into) == 109
        self.facts[-1][3] = b''.join(into)

    def pipes(self):
        r, w = os.pipe()
        for size in (1, 100, 4096, 50000):
            data = make(size, size)
            self.note('write', 'out', -1, data)
            os.write(w, data)
            self.note('read', 'in', -1, data)
            assert os.read(r, size) == data
        data = make(5000, 7)  # vmsplice takes it from memory, or puts it there
        for op, way, end in (('vmsplice', 'out', w), ('read', 'in', r), ('write', 'out', w), ('vmsplice', 'in', r)):
            self.note(op, way, -1, data)
            if op == 'vmsplice':
                memory = ctypes.create_string_buffer(data if way == 'out' else bytes(5000), 5000)
                assert libc.vmsplice(end, ctypes.byref(Iovec(ctypes.addressof(memory), 5000)), 1, 0) == 5000 and memory.raw == data
            elif way == 'in':
                assert os.read(r, 5000) == data
            else:
                os.write(w, data)
        a, b = socket.socketpair()
        for size in (1, 3000, 9000):
            data = make(size, size)
            self.note('sendto', 'out', -1, data)
            a.send(data)
            self.note('recvfrom', 'in', -1, data)
            assert b.recv(size) == data

    def tcp(self):
        s = socket.socket()
        s.bind(('127.0.0.1', 0))
        s.listen(1)
        c = socket.socket()
        c.connect(s.getsockname())
        a = s.accept()[0]
        data, at = make(60000, 4), 0
        for size in (1, 7, 4096, 10000, 30000):
            self.note('sendto', 'out', 'tcp', data[at:at + size])
            assert c.send(data[at:at + size]) == size
            at += size
        self.note('sendmsg', 'out', 'tcp', data[at:at + 9001])
        assert c.sendmsg([data[at:at + 1], data[at + 1:at + 5000], data[at + 5000:at + 9001]]) == 9001
        at += 9001
        c.shutdown(socket.SHUT_WR)
        a.recv(1000, socket.MSG_PEEK)  # moves nothing
        got = 0
        for size in (100, 5000, 13, 20000):
            part = a.recv(size, socket.MSG_WAITALL)
            self.note('recvfrom', 'in', 'tcp', part)
            got += len(part)
        into = [bytearray(n) for n in (1, 4095, 40000)]
        n = a.recvmsg_into(into, 0, socket.MSG_WAITALL)[0]
        self.note('recvmsg', 'in', 'tcp', b''.join(into)[:n])
        got += n
        assert got == at, (got, at)

    def datagrams(self):
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        data = make(8000, 5)
        parts = [[buffer(data[:10]), buffer(data[10:500])], [buffer(data[500:501])], [buffer(data[1000:6000])]]
        sent = messages(parts)
        for cut in (data[:500], data[500:501], data[1000:6000]):
            self.note('sendmmsg', 'out', -1, cut)
        assert libc.sendmmsg(a.fileno(), sent, 3, 0) == 3
        into = messages([[buffer(bytes(400)), buffer(bytes(400))], [buffer(bytes(9))], [buffer(bytes(8000))]])
        for cut in (data[:500], data[500:501], data[1000:6000]):
            self.note('recvmmsg', 'in', -1, cut)
        assert libc.recvmmsg(b.fileno(), into, 3, 0, None) == 3
        a.send(data[:3000])
        self.note('sendto', 'out', -1, data[:3000])
        b.recv(100, socket.MSG_TRUNC)  # the rest is gone
        self.note('recvfrom', 'in', -1, data[:100])

    def within(self):
        """Bytes that no program's memory has."""
        data = make(300000, 6)
        f, g = self.open('from'), self.open('to')
        self.note('pwrite64', 'out', 0, data)
        os.pwrite(f, data, 0)

        def copied(op, pos, to, size, into='out'):
            self.note(op, 'in', pos, data[pos:pos + size] if pos >= 0 else None)
            self.note(op, 'out', to, data[pos:pos + size] if pos >= 0 else None, None)

        for pos, to, size in ((0, 0, 4096), (4096, 8192, 20000), (1000, 37, 50001), (13, 299000, 5)):
            copied('copy_file_range', pos, to, size)
            assert os.copy_file_range(f, g, size, pos, to) == size
        s = socket.socket()
        s.bind(('127.0.0.1', 0))
        s.listen(1)
        c = socket.socket()
        c.connect(s.getsockname())
        a = s.accept()[0]
        for pos, size in ((0, 30000), (4097, 5000)):
            copied('sendfile', pos, 'tcp', size)
            assert os.sendfile(c.fileno(), f, pos, size) == size
            self.note('recvfrom', 'in', 'tcp', data[pos:pos + size])
            assert a.recv(size, socket.MSG_WAITALL) == data[pos:pos + size]
        r, w = os.pipe()
        copied('splice', 8192, -1, 10000)
        assert os.splice(f, w, 10000, 8192) == 10000
        cut = data[8192:18192]
        self.note('splice', 'in', -1, cut)
        self.note('splice', 'out', 100000, cut, None)
        assert os.splice(r, g, 10000, None, 100000) == 10000
        copied('splice', 20000, -1, 500)
        assert os.splice(f, w, 500, 20000) == 500
        self.note('splice', 'in', -1, data[20000:20500], 'absent')  # from a pipe to a socket: in no page cache
        assert os.splice(r, c.fileno(), 500) == 500

    def memory(self):
        """Memory that was never touched."""
        fd = self.open('untouched')
        fresh = mmap.mmap(-1, 20000)
        self.note('write', 'out', 0, bytes(20000))
        assert os.write(fd, fresh) == 20000
        null = os.open('/dev/null', os.O_WRONLY)
        fresh = mmap.mmap(-1, 20000)
        self.note('write', 'out', -1, bytes(20000), 'absent')  # the kernel reads none of it
        assert os.write(null, fresh) == 20000


def main():
    m = Moves(sys.argv[1])
    os.access('/weir-begins', 0)
    m.files()
    m.vectors()
    m.pipes()
    m.tcp()
    m.datagrams()
    m.within()
    m.memory()
    os.access('/weir-ends', 0)
    with open(os.path.join(sys.argv[1], 'facts'), 'wb') as f:
        pickle.dump(m.facts, f)


if __name__ == '__main__':
    main()
