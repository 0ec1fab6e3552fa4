# SPDX-License-Identifier: Apache-2.0
# Calls with structures, for beside_strace.py.
import array
import ctypes
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import time

f = os.open("file", os.O_RDWR | os.O_CREAT, 0o640)
os.writev(f, [b"ab", b"cdef", b"\0\1\2"])
os.preadv(f, [bytearray(4), bytearray(16)], 0)
os.pwrite(f, b"x" * 100, 3)
os.lseek(f, 0, os.SEEK_SET)
os.read(f, 50)
os.stat("file")
os.lstat("/dev/null")
os.statvfs("/proc")
os.symlink("file", "link")
os.readlink("link")
os.close(os.open("link", os.O_RDONLY))
os.utime("file", ns=(10**18, 10**18 + 5))
fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
fcntl.lockf(f, fcntl.LOCK_UN)
fcntl.fcntl(f, fcntl.F_GETFL)
try:
    os.stat("missing")
except OSError:
    pass
try:
    os.write(99, b"lost")
except OSError:
    pass

r, w = os.pipe()
p = select.poll()
p.register(r, select.POLLIN)
p.poll(0)
os.write(w, b"pipe")
p.poll(1000)
select.select([r], [], [], 0.5)
e = select.epoll()
e.register(r, select.EPOLLIN)
e.poll(1)
e.unregister(r)
e.close()

a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
a.sendmsg([b"he", b"llo"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))])
data, anc, flags, addr = b.recvmsg(64, 64)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
s.getsockname()
s.sendto(b"datagram", s.getsockname())
s.recvfrom(100)

signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
signal.setitimer(signal.ITIMER_REAL, 5.0)
signal.setitimer(signal.ITIMER_REAL, 0)
resource.getrlimit(resource.RLIMIT_NOFILE)
resource.getrusage(resource.RUSAGE_SELF)
time.sleep(0.001)
os.uname()
os.sysconf("SC_PHYS_PAGES")

libc = ctypes.CDLL(None)
for option in ((15, b"renamed"), (27,), (23, 12), (23, 60), (38, 1, 0, 0, 0), (47, 1, 3, 0, 0), (29, 50000), (36, 1)):
    libc.prctl(*option)
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.getgroups()
os.times()
os.utime(f)
try:
    os.setxattr("file", "user.a", b"b")
    os.listxattr("file")
except OSError:
    pass
n = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
n.setsockopt(270, 11, 1)
n.bind((0, 0))
n.getsockname()

child = os.fork()
if not child:
    os._exit(7)
ctypes.CDLL(None).waitid(os.P_PID, child, None, os.WEXITED | os.WNOWAIT)
os.kill(child, signal.SIGUSR1)  # dropped: it has ended
os.waitpid(child, 0)
child = os.fork()
if not child:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)
os.waitpid(child, 0)
