# SPDX-License-Identifier: Apache-2.0
"""Moves known bytes through requests of io_uring and libaio, by raw system calls, and writes down what it moved: as moves.py, in the
order in which requests are submitted. Vectors are overwritten as soon as they are submitted, which both interfaces allow."""
import ctypes
import errno
import mmap
import os
import pickle
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from moves import Iovec, Msghdr, Moves, buffer, libc, make  # noqa: E402

SETUP, ENTER, REGISTER = 425, 426, 427
IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
READV, WRITEV, READ_FIXED, WRITE_FIXED, SENDMSG, RECVMSG, READ, WRITE, SEND, RECV = 1, 2, 4, 5, 9, 10, 22, 23, 26, 27
PROVIDE_BUFFERS, READ_MULTI = 31, 49
MULTISHOT = 2  # IORING_RECV_MULTISHOT
FIXED_FILE, LINK, ASYNC, BUFFER_SELECT = 1, 4, 16, 32
SQPOLL, SINGLE, DEFER = 2, 1 << 12, 1 << 13
NEED_WAKEUP, WAKEUP, GETEVENTS = 1, 2, 1
NAMES = {READV: 'readv', WRITEV: 'writev', READ_FIXED: 'read', WRITE_FIXED: 'write', SENDMSG: 'sendmsg', RECVMSG: 'recvmsg',
         READ: 'read', WRITE: 'write', SEND: 'sendto', RECV: 'recvfrom'}


def call(nr, *args):
    r = libc.syscall(nr, *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if r < 0:
        raise OSError(ctypes.get_errno(), f'system call {nr}: {os.strerror(ctypes.get_errno())}')
    return r


def address(of):
    return ctypes.addressof(of)


class Ring:
    """One io_uring of 64 entries."""

    def __init__(self, flags=0):
        params = (ctypes.c_uint32 * 30)()
        params[2], params[4] = flags, 50  # sq_thread_idle
        self.fd = call(SETUP, 64, ctypes.byref(params))
        self.polled = flags & SQPOLL
        sq, cq = params[10:20], params[20:30]
        entries, self.cq_entries = params[0], params[1]
        self.sq = mmap.mmap(self.fd, sq[6] + 4 * entries, offset=0)
        self.cq = mmap.mmap(self.fd, cq[5] + 16 * self.cq_entries, offset=0x8000000)
        self.sqes = mmap.mmap(self.fd, 64 * entries, offset=0x10000000)
        self.sq_at, self.cq_at, self.mask = sq, cq, entries - 1
        self.count = 0

    def close(self):
        os.close(self.fd)

    def word(self, of, at, value=None):
        if value is None:
            return struct.unpack_from('<I', of, at)[0]
        return struct.pack_into('<I', of, at, value)

    def push(self, opcode, fd, at, size, off=0, flags=0, index=0, group=0, ioprio=0):
        tail = self.word(self.sq, self.sq_at[1])
        slot = tail & self.mask
        self.count += 1
        struct.pack_into('<BBHiQQIIQHHIQQ', self.sqes, 64 * slot, opcode, flags, ioprio, fd, off & (1 << 64) - 1, at, size, 0, self.count,
                         group or index, 0, 0, 0, 0)
        self.word(self.sq, self.sq_at[6] + 4 * slot, slot)
        self.word(self.sq, self.sq_at[1], tail + 1)
        return self.count

    def enter(self, submit, wait=0):
        flags = GETEVENTS if wait else 0
        if self.polled and self.word(self.sq, self.sq_at[4]) & NEED_WAKEUP:
            flags |= WAKEUP
        return call(ENTER, self.fd, submit, wait, flags, 0, 0)

    def reap(self, count):
        """The results of so many, by the number that push() gave them."""
        got = {}
        while len(got) < count:
            head, tail = (self.word(self.cq, self.cq_at[n]) for n in (0, 1))
            if head == tail:
                self.enter(0, 1)
                continue
            number, res, _ = struct.unpack_from('<QiI', self.cq, self.cq_at[5] + 16 * (head & self.cq_entries - 1))
            self.word(self.cq, self.cq_at[0], head + 1)
            got[number] = res
        return got

    def one(self, *args, **more):
        n = self.push(*args, **more)
        self.enter(1)
        return self.reap(1)[n]


def provide_ring(ring, area, size, count, group):
    """Gives the ring the area's parts in a ring of buffers; False: the kernel has none (before Linux 5.19)."""
    entries = mmap.mmap(-1, 4096)
    at = address(ctypes.c_char.from_buffer(entries))
    try:
        call(REGISTER, ring.fd, 22, struct.pack('<QIHHQQQ', at, count, group, 0, 0, 0, 0), 1)
    except OSError:
        return False
    for i in range(count):
        struct.pack_into('<QIH', entries, 16 * i, address(area) + i * size, size, i)
    struct.pack_into('<H', entries, 14, count)
    ring.keep = entries
    return True


def vector(buffers):
    return (Iovec * len(buffers))(*[Iovec(address(b), len(b)) for b in buffers])


def message(iov):
    return Msghdr(None, 0, iov, len(iov), None, 0, 0)


def clobber(thing):
    ctypes.memset(address(thing), 0xff, ctypes.sizeof(thing))


def cut(data, sizes):
    parts, at = [], 0
    for n in sizes:
        parts.append(buffer(data[at:at + n]) if n else (ctypes.c_char * 0)())
        at += n
    return parts


class Requests(Moves):
    def files(self):
        ring, data, fd = Ring(), make(3 << 20, 11), self.open('plain')
        for pos, size in ((0, 4096), (4096, 100), (4196, 9000), (13196, 1), (13197, 100001), (0, 3 << 20)):
            out = buffer(data[pos:pos + size])
            self.note('write', 'out', pos, data[pos:pos + size])
            assert ring.one(WRITE, fd, address(out), size, pos) == size
        for pos, size in ((0, 4096), (8192, 8192), (3, 10), (4095, 20000), (1, 100000), ((3 << 20) - 50, 4096)):
            into = buffer(bytes(size))
            got = data[pos:pos + size]
            self.note('read', 'in', pos, got, end=pos + size >= 3 << 20)
            assert ring.one(READ, fd, address(into), size, pos) == len(got) and into.raw[:len(got)] == got
        os.lseek(fd, 1000, os.SEEK_SET)
        into = buffer(bytes(5000))
        self.note('read', 'in', 1000, data[1000:6000])
        assert ring.one(READ, fd, address(into), 5000, -1) == 5000  # at the file's own position
        end = self.open('plain', os.O_APPEND)
        out = buffer(data[:700])
        self.note('write', 'out', 3 << 20, data[:700])
        assert ring.one(WRITE, end, address(out), 700, 0) == 700
        out = buffer(data[:9000])
        self.note('write', 'out', 50000, data[:9000])
        assert ring.one(WRITE, fd, address(out), 9000, 50000, flags=ASYNC) == 9000  # a worker of the kernel's

    def together(self):
        """Several at once; a chain whose buffer is read into and then written from."""
        ring, data, fd = Ring(), make(40000, 12), self.open('together')
        outs = [buffer(data[at:at + 5000]) for at in range(0, 40000, 5000)]
        for n, out in enumerate(outs):
            self.note('write', 'out', n * 5000, data[n * 5000:n * 5000 + 5000])
            ring.push(WRITE, fd, address(out), 5000, n * 5000)
        ring.enter(8, 8)
        assert set(ring.reap(8).values()) == {5000}
        room, to = buffer(bytes(7000)), self.open('copy')
        for pos in (0, 7000):
            self.note('read', 'in', pos, data[pos:pos + 7000])
            self.note('write', 'out', pos, data[pos:pos + 7000])
            ring.push(READ, fd, address(room), 7000, pos, flags=LINK)
            ring.push(WRITE, to, address(room), 7000, pos, flags=0 if pos else LINK)
        ring.enter(4, 4)
        assert set(ring.reap(4).values()) == {7000}

    def registered(self):
        ring, data, fd = Ring(), make(30000, 13), self.open('registered')
        memory = buffer(data)
        iov = vector([memory])
        call(REGISTER, ring.fd, 0, ctypes.byref(iov), 1)
        self.note('write', 'out', 100, data[:30000])
        assert ring.one(WRITE_FIXED, fd, address(memory), 30000, 100) == 30000
        self.note('read', 'in', 4100, data[4000:14000])
        assert ring.one(READ_FIXED, fd, address(memory) + 77, 10000, 4100) == 10000
        files = (ctypes.c_int * 1)(fd)
        call(REGISTER, ring.fd, 2, ctypes.byref(files), 1)
        out = buffer(data[:5000])
        self.note('write', 'out', 8192, data[:5000])
        assert ring.one(WRITE, 0, address(out), 5000, 8192, flags=FIXED_FILE) == 5000

    def vectors(self):
        ring, data, fd = Ring(), make(60000, 14), self.open('vectors')
        for pos, sizes in ((0, (5, 0, 4091, 4096)), (8192, (1,) * 50), (9000, (3, 4099, 17, 30000))):
            size = sum(sizes)
            outs = cut(data[pos:pos + size], sizes)
            iov = vector(outs)
            self.note('writev', 'out', pos, data[pos:pos + size])
            n = ring.push(WRITEV, fd, address(iov), len(iov), pos)
            ring.enter(1)
            clobber(iov)
            assert ring.reap(1)[n] == size
            ins = cut(bytes(size), sizes[::-1])
            iov = vector(ins)
            self.note('readv', 'in', pos, data[pos:pos + size])
            n = ring.push(READV, fd, address(iov), len(iov), pos)
            ring.enter(1)
            clobber(iov)
            assert ring.reap(1)[n] == size and b''.join(b.raw for b in ins) == data[pos:pos + size]
        r, w = os.pipe()
        ins = cut(bytes(9000), (4000, 100, 4900))
        iov = vector(ins)
        self.note('readv', 'in', -1, data[:6000])
        n = ring.push(READV, r, address(iov), 3, -1)
        ring.enter(1)
        clobber(iov)  # nothing has been read yet
        self.note('write', 'out', -1, data[:6000])
        os.write(w, data[:6000])
        assert ring.reap(1)[n] == 6000
        outs = cut(data[:1290], (10,) * 129)
        iov = vector(outs)
        self.note('writev', 'out', 0, data[:1290], 'absent')  # of too many parts
        assert ring.one(WRITEV, fd, address(iov), 129, 0) == 1290

    def sockets(self):
        ring, data = Ring(), make(90000, 15)
        s = socket.socket()
        s.bind(('127.0.0.1', 0))
        s.listen(1)
        c = socket.socket()
        c.connect(s.getsockname())
        a = s.accept()[0]
        at = 0
        for size in (1, 7, 4096, 10000):
            out, into = buffer(data[at:at + size]), buffer(bytes(size + 50))
            self.note('recvfrom', 'in', 'tcp', data[at:at + size])
            n = ring.push(RECV, a.fileno(), address(into), size + 50)
            ring.enter(1)  # nothing is there yet
            self.note('sendto', 'out', 'tcp', data[at:at + size])
            m = ring.push(SEND, c.fileno(), address(out), size)
            ring.enter(1)
            assert ring.reap(2) == {n: size, m: size}
            at += size
        outs, ins = cut(data[at:at + 9001], (1, 4999, 4001)), cut(bytes(10000), (5, 9995))
        iov, got = vector(outs), vector(ins)
        out, into = message(iov), message(got)
        self.note('sendmsg', 'out', 'tcp', data[at:at + 9001])
        n = ring.push(SENDMSG, c.fileno(), address(out), 1)
        ring.enter(1)
        clobber(iov)
        clobber(out)
        assert ring.reap(1)[n] == 9001
        self.note('recvmsg', 'in', 'tcp', data[at:at + 9001])
        n = ring.push(RECVMSG, a.fileno(), address(into), 1)
        ring.enter(1)
        clobber(got)
        clobber(into)
        assert ring.reap(1)[n] == 9001
        x, y = socket.socketpair()
        out, into = buffer(data[:3000]), buffer(bytes(9000))
        self.note('sendto', 'out', -1, data[:3000])
        assert ring.one(SEND, x.fileno(), address(out), 3000) == 3000
        self.note('recvfrom', 'in', -1, data[:3000])
        assert ring.one(RECV, y.fileno(), address(into), 9000) == 3000
        assert ring.one(PROVIDE_BUFFERS, 1, address(into), 9000, group=5) >= 0
        self.note('sendto', 'out', -1, data[:500])
        assert ring.one(SEND, x.fileno(), address(out), 500) == 500
        # into a buffer that the kernel chose, and since Linux 6.10 does not name when all is received
        self.note('recvfrom', 'in', -1, data[:500], 'perhaps absent')
        assert ring.one(RECV, y.fileno(), 0, 9000, flags=BUFFER_SELECT, group=5) == 500

    def provided(self):
        """Buffers that the kernel chooses: given one by one or in a ring, for one completion or many."""
        ring, data, fd = Ring(), make(90000, 18), self.open('provided')
        self.note('write', 'out', 0, data)
        assert os.write(fd, data) == len(data)
        for ways in ('listed', 'ring'):
            area = buffer(bytes(8 * 6000))
            if ways == 'listed':
                assert ring.one(PROVIDE_BUFFERS, 8, address(area), 6000, group=6) >= 0
            elif not provide_ring(ring, area, 6000, 8, 7):
                continue
            group = 6 if ways == 'listed' else 7
            for pos, size in ((0, 4096), (4097, 5000), (30000, 6000)):
                self.note('read', 'in', pos, data[pos:pos + size])
                assert ring.one(READ, fd, 0, size, pos, flags=BUFFER_SELECT, group=group) == size
            self.note('read', 'in', 77, data[77:6077])  # as much as there is room for
            assert ring.one(READ, fd, 0, 0, 77, flags=BUFFER_SELECT | ASYNC, group=group) == 6000
            x, y = socket.socketpair()
            n = ring.push(RECV, y.fileno(), 0, 0, flags=BUFFER_SELECT, group=group, ioprio=MULTISHOT)
            ring.enter(1)
            for pos, size in ((0, 100), (100, 6000), (7000, 1)):
                self.note('recvfrom', 'in', -1, data[pos:pos + size])
                self.note('write', 'out', -1, data[pos:pos + size])
                os.write(x.fileno(), data[pos:pos + size])
                assert ring.reap(1) == {n: size}
            y.close()
            x.close()
            ring.close()
            ring = Ring()

    def many_shots(self):
        """One request that receives from a connection again and again; one that reads a pipe so (since Linux 6.7)."""
        ring, data = Ring(), make(40000, 19)
        area = buffer(bytes(8 * 6000))
        if not provide_ring(ring, area, 6000, 8, 7):
            return
        s, c = socket.socket(), socket.socket()
        s.bind(('127.0.0.1', 0))
        s.listen(1)
        c.connect(s.getsockname())
        a = s.accept()[0]
        n = ring.push(RECV, a.fileno(), 0, 0, flags=BUFFER_SELECT, group=7, ioprio=MULTISHOT)
        ring.enter(1)
        for pos, size in ((0, 10), (10, 4096), (4106, 5000)):
            self.note('recvfrom', 'in', 'tcp', data[pos:pos + size])
            self.note('sendto', 'out', 'tcp', data[pos:pos + size])
            c.send(data[pos:pos + size])
            assert ring.reap(1) == {n: size}
        r, w = os.pipe()
        n = ring.push(READ_MULTI, r, 0, 0, flags=BUFFER_SELECT, group=7, off=-1)
        ring.enter(1)
        for pos, size in ((0, 300), (300, 4096)):
            self.note('read', 'in', -1, data[pos:pos + size])
            self.note('write', 'out', -1, data[pos:pos + size])
            os.write(w, data[pos:pos + size])
            assert ring.reap(1) == {n: size}

    def kinds(self):
        """Rings of other kinds, and memory that was never touched."""
        data, fd = make(20000, 16), self.open('kinds')
        for flags in (SINGLE | DEFER, SQPOLL):
            try:
                ring = Ring(flags)
            except OSError as e:
                if e.errno == errno.EINVAL:
                    continue
                raise
            out, into = buffer(data), buffer(bytes(20000))
            self.note('write', 'out', 1, data)
            n = ring.push(WRITE, fd, address(out), 20000, 1)
            ring.enter(1, 1)
            assert ring.reap(1)[n] == 20000
            self.note('read', 'in', 1, data, end=True)
            n = ring.push(READ, fd, address(into), 20000, 1)
            ring.enter(1, 1)
            assert ring.reap(1)[n] == 20000
        ring, fresh = Ring(), mmap.mmap(-1, 20000)
        at = address(ctypes.c_char.from_buffer(fresh))
        self.note('write', 'out', -1, bytes(20000), 'absent')
        assert ring.one(WRITE, os.open('/dev/null', os.O_WRONLY), at, 20000, 0) == 20000

    def libaio(self):
        context = ctypes.c_ulong()
        call(IO_SETUP, 64, ctypes.byref(context))
        data = make(1 << 20, 17)

        def submit(*all_of):
            """(opcode, fd, address, size, offset): they are submitted together; the results."""
            blocks = (ctypes.c_char * (64 * len(all_of)))()
            for n, (opcode, fd, at, size, off) in enumerate(all_of):
                struct.pack_into('<QIIHhIQQqQII', blocks, 64 * n, n, 0, 0, opcode, 0, fd, at, size, off, 0, 0, 0)
            pointers = (ctypes.c_void_p * len(all_of))(*[address(blocks) + 64 * n for n in range(len(all_of))])
            assert call(IO_SUBMIT, context.value, len(all_of), pointers) == len(all_of)
            return blocks

        def fetch(count):
            got, events = {}, (ctypes.c_char * (32 * 64))()
            while len(got) < count:
                n = call(IO_GETEVENTS, context.value, 1, 64, events, None)
                for i in range(n):
                    number, _, res, _ = struct.unpack_from('<QQqq', events, 32 * i)
                    got[number] = res
            return got

        pages = mmap.mmap(-1, 1 << 20)
        pages.write(data)
        at = address(ctypes.c_char.from_buffer(pages))
        for name, flags in (('aio', 0), ('direct', os.O_DIRECT)):
            fd = self.open(name, flags)
            cuts = [(n * 65536, 65536) for n in range(8)]
            for pos, size in cuts:
                self.note('pwrite64', 'out', pos, data[pos:pos + size])
            keep = submit(*[(1, fd, at + pos, size, pos) for pos, size in cuts])
            assert set(fetch(8).values()) == {65536}
            into = mmap.mmap(-1, 65536)
            to = address(ctypes.c_char.from_buffer(into))
            self.note('pread64', 'in', 8192, data[8192:73728])
            keep = submit((0, fd, to, 65536, 8192))
            assert fetch(1) == {0: 65536}
            parts = (Iovec * 3)(Iovec(at, 4096), Iovec(at + 20480, 8192), Iovec(at + 8192, 4096))
            self.note('pwritev', 'out', 4096, data[:4096] + data[20480:28672] + data[8192:12288])
            keep = submit((8, fd, address(parts), 3, 4096))
            clobber(parts)
            assert fetch(1) == {0: 16384}
            parts = (Iovec * 2)(Iovec(to + 4096, 4096), Iovec(to + 16384, 8192))
            self.note('preadv', 'in', 524288 - 8192, data[524288 - 8192:524288])
            keep = submit((7, fd, address(parts), 2, 524288 - 8192))
            clobber(parts)
            assert fetch(1) == {0: 8192}
            del keep
        fd = self.open('aio')
        self.note('pwrite64', 'out', 4001, data[:3333])
        self.note('pread64', 'in', 4000, data[4000:4001] + data[:3333] + data[:1], end=None)
        self.facts[-1][3] = None
        kept = submit((1, fd, at, 3333, 4001))
        assert fetch(1) == {0: 3333}
        into = buffer(bytes(3334))
        kept = submit((0, fd, address(into), 3334, 4000))
        assert fetch(1) == {0: 3334} and kept
        self.facts[-1][3] = into.raw[:3334]
        assert self.facts[-1][3][1:] == data[:3333]


def main():
    m = Requests(sys.argv[1])
    os.access('/weir-begins', 0)
    for part in (m.files, m.together, m.registered, m.vectors, m.sockets, m.provided, m.many_shots, m.kinds, m.libaio):
        part()
    os.access('/weir-ends', 0)
    with open(os.path.join(sys.argv[1], 'facts'), 'wb') as f:
        pickle.dump(m.facts, f)


if __name__ == '__main__':
    main()
