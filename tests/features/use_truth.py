#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""use_truth.py FOLDER: does to files what the table `use` has columns for, each kind to a file of its own, and prints what must
be found: name, process ("": this one, "child": its child), column, value."""
import fcntl
import mmap
import os
import resource
import sys
import threading

os.chdir(sys.argv[1])
CREATE = os.O_CREAT | os.O_RDWR
went, done = os.eventfd(0), os.eventfd(0)


def told(name, process='', **columns):
    for column, value in columns.items():
        print(name, process, column, value, sep='\t')


def descriptors():
    fd = os.open('fds', CREATE)
    copies = [os.dup(fd), fcntl.fcntl(fd, fcntl.F_DUPFD, 40), os.dup2(fd, 50)]
    os.close(copies[0])
    os.closerange(40, 51)
    for _ in range(3):
        os.close(os.open('fds', os.O_RDONLY))
    os.close(fd)
    told('fds', opens=4, open_most=4, created=1)


def names():
    for i in range(3):
        try:
            os.open('missing', os.O_RDONLY)
        except FileNotFoundError:
            pass
    told('missing', missing=3, errors=3, calls=3)
    os.close(os.open('old-name', CREATE))
    os.rename('old-name', 'new-name')
    os.stat('new-name')
    os.access('new-name', os.R_OK)
    os.link('new-name', 'second-name')
    os.stat('second-name')
    os.unlink('second-name')
    os.unlink('new-name')
    told('old-name', renamed=1, removed=1, stats=3, created=1)
    os.mkdir('made')
    told('made', created=1)


def ranges():
    fd = os.open('ranges', CREATE)
    os.write(fd, b'x' * 10000)
    for at in (0, 4000, 0, 9000, 20, 9999):
        os.pread(fd, 2000, at)
    os.pread(fd, 10, 10000)
    os.pread(fd, 10, 30000)
    # [0, 2020) [4000, 6000) [9000, 10000); the third read and most of the fifth were known, and the last byte
    told('ranges', reads=8, read_bytes=9001, read_first=0, read_stop=10000, read_ranges=3, read_covered=5020, reread=3981,
         back_reads=2, next_reads=1, end_reads=2, past_reads=1, small_reads=6, tiny_reads=1, write_covered=10000, writes=2,
         write_bytes=10100, unread=5080, unread_first=0)
    os.pwrite(fd, b'y' * 100, 0)
    os.close(fd)
    fd = os.open('spoilt', CREATE)
    os.pwrite(fd, b'a' * 1000, 0)
    os.pread(fd, 1000, 0)
    os.pwrite(fd, b'b' * 10, 500)
    os.pread(fd, 1000, 0)
    os.ftruncate(fd, 200)
    os.pwrite(fd, b'c' * 800, 200)
    os.pread(fd, 1000, 0)
    os.close(fd)
    told('spoilt', reread=990 + 200, read_covered=1000, truncated=1, unread=0)


def cut():
    with open('cut', 'wb') as f:
        f.write(b'x' * 5000)
    os.truncate('cut', 3000)
    os.truncate('cut', 4000)
    open('cut', 'wb').close()
    told('cut', truncated=2, unread=0, opens=2, write_stop=5000)


def appended():
    fd = os.open('appended', CREATE | os.O_APPEND)
    for _ in range(5):
        os.write(fd, b'line\n')
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    os.pwrite(fd, b'L', 0)
    os.close(fd)
    told('appended', appends=5, writes=6, next_writes=4, small_writes=6, unread=25, write_first=0, dirty=26)


def synced():
    fd = os.open('synced', CREATE)
    os.write(fd, b'x' * 100)
    os.fsync(fd)
    os.write(fd, b'x' * 30)
    os.fdatasync(fd)
    os.write(fd, b'x' * 7)
    os.close(fd)
    told('synced', syncs=2, dirty=7)
    os.mkdir('apart')
    fd = os.open('apart/nameless', CREATE)
    os.fsync(fd)
    os.close(fd)
    told('nameless', folder_unsynced=1, syncs=1, created=1)
    fd = os.open('osync', CREATE | os.O_DSYNC)
    os.write(fd, b'x' * 100)
    os.close(fd)
    told('osync', syncs=1, dirty=0)


def all_synced():
    fd = os.open('whole', CREATE)
    os.write(fd, b'x' * 100)
    os.close(fd)
    os.sync()
    told('whole', syncs=0, dirty=0)


def mapped():
    fd = os.open('mapped', CREATE)
    os.ftruncate(fd, 8192)
    m = mmap.mmap(fd, 8192)
    m[0] = 1
    m.flush()
    m.close()
    os.close(fd)
    told('mapped', read_bytes=8192, reads=0, read_covered=8192, write_bytes=8192, writes=0, unread=0, syncs=1, reread=0)
    with open('mapped-read', 'wb') as f:
        f.write(b'x' * 10000)
    fd = os.open('mapped-read', os.O_RDONLY)
    mmap.mmap(fd, 4096, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE).close()
    os.close(fd)
    told('mapped-read', read_bytes=4096, unread=10000 - 4096, unread_first=4096, write_bytes=10000)


def before():
    """A file that is older than the recording, whose size is known from the open."""
    fd = os.open('before', os.O_RDWR)
    os.pread(fd, 100, 9000)
    mmap.mmap(fd, 5000, prot=mmap.PROT_READ).close()
    os.ftruncate(fd, 6000)
    os.ftruncate(fd, 4000)
    os.close(fd)
    told('before', past_reads=1, end_reads=1, truncated=1, created=0, read_bytes=5000, reread=0)


def copied():
    with open('source', 'wb') as f:
        f.write(b'x' * 6000)
    a, b = os.open('source', os.O_RDONLY), os.open('target', CREATE)
    os.sendfile(b, a, 0, 1000)
    os.sendfile(b, a, 1000, 1000)
    os.copy_file_range(a, b, 3000, 3000, 2000)
    r, w = os.pipe()
    os.splice(a, w, 500, offset_src=2000)
    os.splice(r, b, 500, offset_dst=5000)
    told('source', reads=4, read_bytes=5500, read_covered=5500, unread=500, unread_first=2500, writes=1)
    told('target', writes=4, write_bytes=5500, write_covered=5500, unread=5500, reads=0)


def replaced():
    for i in range(3):
        with open('state.tmp', 'wb') as f:
            f.write(b'%d' % i * 100)
            if i == 2:
                f.flush()
                os.fsync(f.fileno())
        os.rename('state.tmp', 'state')
    told('state.tmp', renamed=1, unsynced=1)
    # a mark changed in place after the sync, what was appended after it, what was written anew
    for name, cut, pos, data, unsynced in (('marked', 100, 4, b'\2', 0), ('longer', 100, 100, b'\2', 1), ('anew', 0, 0, b'x' * 50, 1)):
        open(name, 'wb').close()
        with open(f'{name}.tmp', 'wb') as f:
            f.write(b'x' * 100)
            f.flush()
            os.fsync(f.fileno())
            f.truncate(cut)
            os.pwrite(f.fileno(), data, pos)
        os.rename(f'{name}.tmp', name)
        told(f'{name}.tmp', renamed=1, unsynced=unsynced)
    folder = os.open('.', os.O_RDONLY)
    with open('durable.tmp', 'wb') as f:
        f.write(b'x')
        f.flush()
        os.fsync(f.fileno())
    os.rename('durable.tmp', 'durable')
    os.fsync(folder)
    told('durable.tmp', unsynced=0, folder_unsynced=0, renamed=1, syncs=1)


def errors():
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limit[1]))
    fd = os.open('limited', CREATE)
    for _ in range(6):
        try:
            os.write(fd, b'x' * 300)
        except OSError:
            pass
    os.close(fd)
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    # 300, 300, 300, 100 of 300, and two that fail
    told('limited', writes=4, errors=2, short_writes=1, ignored=1)
    # what is left, with more that came meanwhile
    os.mkfifo('pump')
    r = os.open('pump', os.O_RDONLY | os.O_NONBLOCK)
    w = os.open('pump', os.O_WRONLY | os.O_NONBLOCK)
    left = 100000
    for _ in range(3):
        left -= os.write(w, b'x' * left)
        os.read(r, 65536)
        left += 5000
    while left:
        left -= os.write(w, b'x' * left)
        os.read(r, 65536)
    told('pump', short_writes=0)
    os.mkfifo('queue')
    r = os.open('queue', os.O_RDONLY | os.O_NONBLOCK)
    w = os.open('queue', os.O_WRONLY | os.O_NONBLOCK)
    for _ in range(3):
        sent = os.write(w, b'x' * 100000)
        os.read(r, 50000)
    told('queue', short_writes=3, writes=3, reads=3)


def direct():
    try:
        fd = os.open('direct', CREATE | os.O_DIRECT)
        page = mmap.mmap(-1, 8192)
        os.write(fd, page)
    except OSError:
        return
    os.pwritev(fd, [memoryview(page)[:512]], 512)
    os.close(fd)
    told('direct', direct=2, misaligned=1)


def threads():
    fd = os.open('threads', CREATE)
    workers = [threading.Thread(target=lambda: [os.pwrite(fd, b'x', 0) for _ in range(200)]) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    told('threads', threads=5, writes=800, reread=0)


def listed():
    os.mkdir('full')
    for i in range(10):
        os.close(os.open(f'full/{i}', CREATE))
    os.listdir('full')
    told('full', created=1)


def child():
    """Writes what the parent reads from the middle, rewrites what it reads whole, empties what it follows."""
    fd = os.open('skipped', CREATE)
    os.write(fd, b'x' * 5000)
    for turn in range(3):
        state = os.open('torn', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.write(state, b'x' * 1000)
        os.eventfd_write(went, 1)
        os.eventfd_read(done)
        os.write(state, b'x' * 1000)
        os.close(state)
    log = os.open('followed', CREATE | os.O_APPEND)
    os.write(log, b'x' * 3000)
    os.eventfd_write(went, 1)
    os.eventfd_read(done)
    os.ftruncate(log, 0)
    os.write(log, b'x' * 50)
    os.eventfd_write(went, 1)
    os._exit(0)


def two_processes():
    with open('torn', 'wb') as f:
        f.write(b'x' * 2000)
    pid = os.fork()
    if pid == 0:
        child()
    for turn in range(3):
        os.eventfd_read(went)
        fd = os.open('torn', os.O_RDONLY)
        while os.read(fd, 5000):
            pass
        os.close(fd)
        os.eventfd_write(done, 1)
    os.eventfd_read(went)
    fd = os.open('skipped', os.O_RDONLY)
    os.lseek(fd, 4000, os.SEEK_SET)
    os.read(fd, 5000)
    os.pread(fd, 100, 50)
    log = os.open('followed', os.O_RDONLY)
    os.read(log, 5000)
    os.eventfd_write(done, 1)
    os.eventfd_read(went)
    os.read(log, 5000)
    os.waitpid(pid, 0)
    told('torn', torn=3, reads=6)
    told('skipped', read_first=4000, skipped=3900, others=1)
    told('skipped', 'child', unread=3900, writes=1, created=1, others=1)
    told('followed', past_reads=1, end_reads=1, reads=2)
    told('followed', 'child', truncated=1, unread=50, appends=2)


for part in (all_synced, descriptors, names, ranges, cut, appended, synced, mapped, before, copied, replaced, errors, direct, threads, listed,
             two_processes):
    part()
