#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Runs programs under strace and under `weir trace`, and compares what both print call by call, after addresses, ids and times are
# made equal. usage: beside_strace.py WEIR [PROGRAM...]
import difflib
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from tap import Tap

WEIR = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))

URL = "http://127.0.0.1:PORT/"  # of the server below

PROGRAMS = {
    "cat": ["cat", "data"],
    "ls": ["ls", "-l", "."],
    "sh": ["sh", "-c", "cat data; exit 3"],
    "git": ["git", "-C", "repo", "status"],
    "curl": ["curl", "-s", "--noproxy", "*", URL],
    "env": ["env", "-i", "PATH=/nosuch:/usr/bin:/bin", "nice", "true", "a b", ""],
    "structures": ["./python", "-S", "structures.py"],
}

# What the one knows and the other does not, or what two runs do not share.
ALIKE = [
    (r'^(?:\[pid +\d+(?:<[^>]*>)?\] +|\d+ +)?(?:[0-9:.]+ +)?(?:\[pid +\d+(?:<[^>]*>)?\] +)?', ""),
    (r' <(?:at least )?\d+\.\d+>$', ""),
    (r' -> "(?:[^"\\]|\\.)*"', ""),                       # where an opened path led
    (r' /\* \d+ (?:vars?|entries)[^*]*\*/', ""),
    (r'AT_FDCWD<[^>]*>', "AT_FDCWD"),
    (r'(\d)<(?:socket|pipe|anon_inode|UNIX|TCP|UDP|NETLINK)(?:->|[^<>])*(?:<[^<>]*>[^<>]*)*>', r"\1<S>"),
    (r'(fd=-?\d+)<[^>]*>', r"\1"),
    (r' \(waited on .*\)$', ""),
    (r'(?<=[^\w"])0x[0-9a-f]{5,}', "ADDR"),
    (r'(data=\{u32=\d+, u64)=\d+', r"\1=D"),                # of which a program may set half
    (r'getrandom\("[^"]*"(?:\.\.\.)?', 'getrandom("R"'),
    (r'htons\(\d+\)', "htons(P)"),
    (r'(tv_n?sec|tv_usec|si_utime|si_stime|l_pid)=-?\d+', r"\1=T"),
    (r'(uptime|loads|totalram|freeram|sharedram|bufferram|totalswap|freeswap|procs)=(?:\[[^\]]*\]|\d+)', r"\1=M"),
    (r'(f_bfree|f_bavail|f_ffree|f_files|f_blocks)=\d+', r"\1=M"),
    (r' /\* \d{4}-\d\d-[^*]*\*/', ""),                    # a time in words
    (r'\[([\d]+(?:<S>)?(?: \d+(?:<S>)?)*)\](?=[,)])', lambda m: "[" + m[1].replace("<S>", "") + "]"),
    (r'(cmsg_data=\[\d+)<[^>]*>', r"\1"),
    (r'^rt_sigreturn\(.*', "rt_sigreturn()"),        # reads the thread's stack
    (r'(dup[23]\(\d+<[^>]*>, \d+)<[^>]*>', r"\1"),         # what the number meant before
    (r'(tms_[a-z]+)=\d+(?: /\*[^*]*\*/)?', r"\1=T"),
    (r'^(times\(.*\)) += \d+', r"\1 = T"),
    (r'nl_pid=\d+', "nl_pid=P"),
    (r'getppid\(\).*', "getppid()"),
    (r' +=', " ="),
]


# Lines in which a number may be that of a process; elsewhere it is another that happens to be the same.
WITH_PIDS = re.compile(r"---|kill|tgkill|wait|clone|vfork|fork|get[pt]id|set_tid_address|getpgrp|prlimit")


def alike(line, pids):
    for pattern, by in ALIKE:
        line = re.sub(pattern, by, line)
    for n, pid in enumerate(pids if WITH_PIDS.match(line) else ()):
        line = re.sub(r"(?<![\w.])%s(?![\w.])" % pid, "PID%d" % n, line)
    return line.strip()


def calls(path, folder):
    """The lines of each process, in the order in which they began, with numbers of processes made equal."""
    by_file = {}
    for name in os.listdir(folder):
        if name.startswith(os.path.basename(path) + "."):
            with open(os.path.join(folder, name), errors="surrogateescape") as f:
                by_file[name.rsplit(".", 1)[1]] = f.read().splitlines()
    # by the time of the first line: the number of a child is the smaller one when numbers begin anew
    pids = sorted(by_file, key=lambda p: by_file[p][0].split()[0])
    by_file = {p: [alike(l, pids) for l in by_file[p]] for p in pids}
    # a signal comes at any time: those of a thread are compared among themselves
    return [sorted(by_file[p], key=lambda l: l.startswith(("---", "rt_sigreturn"))) for p in pids]


def run(program, folder):
    """The calls under strace and under weir, each in a folder made alike."""
    out = os.path.join(folder, "out")
    os.mkdir(out)
    ways = {
        "strace": ["strace", "-ff", "-ttt", "-T", "-y", "-s", "32", "-o", out + "/strace"],
        "weir": [WEIR, "trace", "-ttt", "-s", "32", "-ff", "-o", out + "/weir", "--"],
    }
    result = []
    for name, way in ways.items():
        work = os.path.join(folder, "work")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        with open(work + "/data", "w") as f:
            f.write("one line\n")
        shutil.copy(os.path.join(HERE, "structures.py"), work)
        # not what PATH leads to, which may be a script
        os.symlink(os.path.realpath(sys.executable), work + "/python")
        os.utime(work + "/data", (1000000000, 1000000000))
        subprocess.run("git init -q repo && cd repo && echo a > a", shell=True, cwd=work, check=True)
        with open(folder + "/stdout", "w") as f:
            subprocess.run(way + program, cwd=work, stdout=f, stderr=f, stdin=subprocess.DEVNULL,
                           env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/nonexistent", "PYTHONHASHSEED": "0"}, timeout=60)
        result.append(calls(out + "/" + name, out))
    return result


def name_of(line):
    return line.split("(")[0] if not line.startswith(("---", "+++")) else line[:3]


def compare(theirs, ours):
    """(equal, pairs that differ, lines of one alone)"""
    equal, differ, alone = 0, [], []
    match = difflib.SequenceMatcher(None, [name_of(l) for l in theirs], [name_of(l) for l in ours], False)
    for tag, a, b, c, d in match.get_opcodes():
        if tag != "equal":
            alone += ["strace: " + l for l in theirs[a:b]] + ["weir:   " + l for l in ours[c:d]]
            continue
        for x, y in zip(theirs[a:b], ours[c:d]):
            if x == y:
                equal += 1
            else:
                differ.append((x, y))
    return equal, differ, alone


# What depends on how fast another process is (how often curl waits for the server), or on where its memory happens to lie.
TIMED = {"curl": ("poll(", "rt_sigaction(SIGPIPE"), "structures": ("mmap(NULL", "munmap(", "brk(")}


class Server(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(4096)
        self.request.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")


def main():
    tap = Tap()
    server = socketserver.TCPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if os.geteuid() or not shutil.which("strace"):
        tap.skip("beside strace", "it needs root and strace")
        return tap.end()
    for name in sys.argv[2:] or PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="weir-strace-") as folder:
            url = URL.replace("PORT", str(server.server_address[1]))
            theirs, ours = run([url if w == URL else w for w in PROGRAMS[name]], folder)
        tap.check("%s: as many threads" % name, len(ours) == len(theirs), "%d, %d" % (len(ours), len(theirs)))
        equal, differ, alone = 0, [], []
        for x, y in zip(theirs, ours):
            x, y = ([l for l in lines if not l.startswith(TIMED.get(name, "\n"))] for lines in (x, y))
            e, d, a = compare(x, y)
            equal += e
            differ += d
            alone += a
        tap.none("%s: no line differs, %d are equal" % (name, equal),
                 ["strace: %s\nweir:   %s" % pair for pair in differ])
        tap.none("%s: no line is of one alone" % name, alone)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
