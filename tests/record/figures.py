#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""figures.py WEIR [TEST...]: what reports say of real programs, against what is known otherwise. Needs root.

Each program does a known amount of I/O; the figures of `report`, `query` and `sql` must be that amount.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from client import Serve, Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
check = tap.check
PYTHON = [sys.executable, "-I", "-S", "-c"]


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)


def record(trace, *args):
    r = run(weir, "record", "-q", "-o", trace, *args)
    if "cannot load the kernel programs" in r.stderr:
        print("1..0 # SKIP " + r.stderr.splitlines()[0])
        sys.exit(0)
    return r


def python(trace, program, *args):
    """Records a Python program; what it printed."""
    r = record(trace, "--", *PYTHON, textwrap.dedent(program), *args)
    if r.returncode:
        sys.exit(r.stderr)
    return r.stdout


def page(trace, *args):
    return run(weir, "report", *args, trace).stdout


def table(trace, *args):
    r = run(weir, "report", *args, "--json", trace)
    return json.loads(r.stdout)["rows"] if r.returncode == 0 else r.stderr


def query(trace, text, *args):
    r = run(weir, "query", "--json", *args, text, trace)
    return json.loads(r.stdout)["rows"] if r.returncode == 0 else r.stderr


def sql(trace, text):
    r = run(weir, "sql", "--json", text, trace)
    return json.loads(r.stdout)["rows"] if r.returncode == 0 else r.stderr


def wait_for(condition, seconds=60):
    for _ in range(seconds * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


def sleeps_in(pid, call):
    """True once the process is in a system call of this number."""
    try:
        with open("/proc/%d/syscall" % pid) as f:
            return f.read().split()[0] == str(call)
    except (OSError, IndexError):
        return False


# ---- the page ----

def error_kinds():
    """More files and threads than a byte counts fail alike."""
    python("kinds.trace", """
        import os
        for i in range(600):
            try: os.stat('missing-%d' % i)
            except OSError: pass
        """)
    text = page("kinds.trace", "--where", 'op == newfstatat && err == ENOENT && path ~ "**/missing-*"')
    line = next((l for l in text.splitlines() if l.startswith("  newfstatat")), "")
    check("600 files that are not there are one kind of error", line.split()[1:4] == ["600", "600", "ENOENT"], text)


def long_lines():
    """A line too long for the page loses a name or an item, never a part of a number."""
    os.mkdir("tree")
    for i in range(12000):
        os.mkdir("tree/%d" % i)
    record("tree.trace", "--", "find", "tree")
    text = page("tree.trace")
    line = next((l for l in text.splitlines() if "files, " in l), "")
    check("the share of a tree's most frequent call is whole", re.search(r" \d\d,0\d\d files, \w+ \d+ %$", line), text)
    shutil.rmtree("tree")


def others_that_trace():
    """Only a weir that records is another tracer, and a perf that traces calls."""
    os.symlink(shutil.which("tail"), "perf")
    for name in ("trace", "stat"):
        open(name, "w").close()
    perfs = [subprocess.Popen(["./perf", "-f", name]) for name in ("trace", "stat")]
    recorder = subprocess.Popen([weir, "record", "-q", "-o", "other.trace", "-p", str(os.getpid())])
    reader = subprocess.Popen([weir, "serve", "one.trace"], stdout=subprocess.PIPE, text=True)
    reader.stdout.readline()
    wait_for(lambda: "bpf_link" in run("ls", "-l", "/proc/%d/fd" % recorder.pid).stdout)
    rows = json.loads(run(weir, "doctor", "--json").stdout)["rows"]
    others = next(r["detail"] for r in rows if r["name"] == "other tracers")
    check("a weir that records is another tracer", "weir -p %d (pid %d)" % (os.getpid(), recorder.pid) in others, others)
    check("one that serves a trace is none", "pid %d" % reader.pid not in others, others)
    check("perf trace is another tracer", "perf (pid %d)" % perfs[0].pid in others, others)
    check("perf stat is none", "pid %d" % perfs[1].pid not in others, others)
    for p in (recorder, reader, *perfs):
        p.terminate()
        p.wait()


# ---- files ----

def anonymous_files():
    """epoll, timerfd and eventfd share one inode and are different things."""
    python("anon.trace", """
        import ctypes, os, select, struct
        libc = ctypes.CDLL(None)
        epoll, event = select.epoll(), os.eventfd(0)
        for i in range(30): epoll.poll(0)
        for i in range(20): os.write(event, struct.pack("Q", 1))
        timer = libc.timerfd_create(1, 0)
        zero = ctypes.create_string_buffer(32)
        for i in range(10): libc.timerfd_settime(timer, 0, zero, None)
        """)
    for key in ("file", "path"):
        rows = query("anon.trace", "where op in (epoll_wait, write, timerfd_settime) && path ~ \"anon_inode*\" | by %s, op | count() as n" % key)
        check("anonymous files by %s" % key, {(r[key], r["op"]): r["n"] for r in rows} == {
            ("anon_inode:[eventpoll]", "epoll_wait"): 30, ("anon_inode:[eventfd]", "write"): 20,
            ("anon_inode:[timerfd]", "timerfd_settime"): 10}, rows)


def renamed_file():
    """One file under three names: SQL can tell that it is one."""
    python("renamed.trace", """
        import os
        f = os.open("a", os.O_CREAT | os.O_WRONLY)
        os.write(f, b"1"); os.rename("a", "b"); os.write(f, b"22"); os.rename("b", "c"); os.write(f, b"333")
        """)
    rows = sql("renamed.trace", "SELECT inode_id, count(DISTINCT path)::BIGINT AS names, sum(bytes)::BIGINT AS bytes FROM op_named "
               "WHERE op = 'write' AND path GLOB '*/[abc]' GROUP BY inode_id")
    check("inode_id stays over renames", isinstance(rows, list) and [(r["names"], r["bytes"]) for r in rows] == [(3, 6)], rows)
    rows = sql("renamed.trace", "SELECT count(*) AS n FROM op_named o JOIN file f ON f.id = o.file_id WHERE o.inode_id <> f.inode")
    check("it is that of the table of files", rows == [{"n": 0}], rows)


def one_name():
    """A folder that was asked for before it was made, in several spellings, and ten files of one path."""
    folder = tempfile.mkdtemp(prefix="weir-names-")
    python("names.trace", """
        import os, sys
        d = sys.argv[1]
        for name in (d + "/etc", d + "/etc/", d + "/etc/."):
            try:
                os.stat(name)
            except FileNotFoundError:
                pass
        os.mkdir(d + "/etc")
        os.chdir(d)
        os.stat("etc/")
        fd = os.open("etc", os.O_RDONLY)
        os.fstat(fd)
        for i in range(10):
            os.stat(d)
            os.close(os.open(d + "/wal", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink(d + "/wal")
        """, folder)
    shutil.rmtree(folder)
    rows = [r for r in table("names.trace", "files") if r["file"].startswith(folder)]
    check("each path is one line of report files", sorted((r["file"], r["files"]) for r in rows) == [
        (folder, 1), (folder + "/etc", 1), (folder + "/wal", 10)], rows)
    calls = {r["file"]: r["calls"] for r in rows}
    check("with the calls of all its spellings and files", calls == {
        folder: 11, folder + "/etc": 7, folder + "/wal": 30}, calls)
    rows = [r for r in table("names.trace", "dirs") if r["dir"].startswith(folder)]
    check("and one line of report dirs", sorted((r["dir"], r["calls"]) for r in rows) == [
        (folder, 11 + 30), (folder + "/etc", 7)], rows)
    check("the report counts the files of one path", "/wal (10 files)" in page("names.trace", "-P", folder + "/wal"),
          page("names.trace", "-P", folder + "/wal"))


def tree_bytes(folder):
    return {os.path.join(where, f): os.path.getsize(os.path.join(where, f)) for where, _, files in os.walk(folder) for f in files}


def by_name(rows, key, value):
    """Sums of the rows by name: a file that was only named and the file itself are two of them."""
    sums = {}
    for r in rows if isinstance(rows, list) else []:
        sums[r[key]] = sums.get(r[key], 0) + (r[value] or 0)
    return sums


def copies():
    """A call that moves bytes between two files counts for both, and once in all."""
    os.mkdir("from")
    for i in range(3):
        with open("from/%d" % i, "wb") as f:
            f.write(os.urandom(100000 * (i + 1)))
    record("cp.trace", "--", "cp", "-a", "from", "to")
    want = tree_bytes(os.path.join(os.getcwd(), "from")) | tree_bytes(os.path.join(os.getcwd(), "to"))
    figures = by_name(table("cp.trace", "files"), "file", "bytes")
    check("cp: each file has its bytes", {f: figures.get(f) for f in want} == want, figures)
    rows = query("cp.trace", "by path | sum(bytes) as b")
    figures = by_name(rows, "path", "b")
    check("cp: each path has its bytes", {f: figures.get(f) for f in want} == want, rows)
    rows = query("cp.trace", 'path ~ "**/to/*" | by file | sum(bytes) as b')
    figures = by_name(rows, "file", "b")
    check("cp: the copies have their bytes", {f: figures.get(f) for f in want if "/to/" in f} ==
          {f: n for f, n in want.items() if "/to/" in f}, rows)

    out = python("moved.trace", """
        import os, socket, sys
        data = os.open("data", os.O_CREAT | os.O_RDWR)
        other = os.open("other", os.O_CREAT | os.O_RDWR)
        spliced = os.open("spliced", os.O_CREAT | os.O_RDWR)
        a, b = socket.socketpair()
        moved = {"data": 0, "other": 0, "spliced": 0}
        moved["data"] += os.write(data, b"x" * 50000)
        for i in range(5):
            n = os.copy_file_range(data, other, 3000, 1000 * i, 3000 * i)
            moved["data"] += n
            moved["other"] += n
        n = os.sendfile(other, data, 0, 7000)
        moved["data"] += n
        moved["other"] += n
        n = os.sendfile(a.fileno(), data, 100, 9000)
        moved["data"] += n
        r, w = os.pipe()
        os.write(w, b"y" * 4096)
        moved["spliced"] += os.splice(r, spliced, 4096)
        n = os.copy_file_range(data, data, 500, 0, 40000) # one file: once
        moved["data"] += n
        print(moved)
        """)
    import ast
    want = {os.path.join(os.getcwd(), k): v for k, v in ast.literal_eval(out).items()}
    total = 50000 + 5 * 3000 + 7000 + 9000 + 2 * 4096 + 500 + len(out)
    named = {f: sum(r["bytes"] for r in table("moved.trace", "files") if r["file"] == f) for f in want}
    check("files have the bytes of both ends", named == want, named)
    part = ["-e", "write,copy_file_range,sendfile,splice"]
    ops = table("moved.trace", "ops", *part)
    check("operations have them once", sum(r["bytes"] for r in ops) == total, ops)
    rows = query("moved.trace", "where op in (write, copy_file_range, sendfile, splice) | sum(bytes) as b, count() as n")
    check("so have sums over all calls", rows == [{"b": total, "n": 12}], rows)
    rows = query("moved.trace", "where op in (write, copy_file_range, sendfile, splice) | by file | sum(bytes) as b, count() as n, max(pos) as p")
    check("files in the language", by_name(rows, "file", "b").items() >= want.items(), rows)
    check("positions are those in the file", {r["file"]: r["p"] for r in rows if r["file"].endswith("other")} == {f: 12000 for f in want if f.endswith("other")}, rows)
    rows = query("moved.trace", 'where op in (copy_file_range, sendfile) | by op, path, path2 | count() as n')
    check("by both files a call is one", sum(r["n"] for r in rows) == 8, rows)
    rows = sql("moved.trace", """WITH sides AS (SELECT inode_id AS i, bytes FROM op_named UNION ALL SELECT inode2_id, bytes FROM op_named
        WHERE op IN ('copy_file_range', 'sendfile', 'splice', 'tee') AND inode2_id IS DISTINCT FROM inode_id)
        SELECT path, sum(bytes)::BIGINT AS b FROM sides JOIN file ON id = i GROUP BY path""")
    check("raw rows say the same", by_name(rows, "path", "b").items() >= want.items(), rows)
    rows = sql("moved.trace", """SELECT weir_file_name(f) AS file, sum(b)::BIGINT AS b FROM weir_rows('op', NULL, ['file', 'bytes'], each_file := true) AS r(f, b)
        GROUP BY 1""")
    check("weir_rows() does", by_name(rows, "file", "b").items() >= want.items(), rows)
    copies_on_pages(want)


def copies_on_pages(want):
    with Serve(weir, "moved.trace") as s:
        overview = s.get("overview", width=100)
        figures = by_name(overview["files"]["rows"] + overview["files"].get("besides", {"rows": []})["rows"], "name", "bytes")
        check("the overview has the files' bytes", {f: figures.get(f) for f in want} == want, figures)
        entries = s.get("files", dir=os.getcwd())["entries"]
        check("so has the tree", by_name(entries, "path", "bytes").items() >= want.items(), entries)
        for f, n in want.items():
            rows = sql("moved.trace", "SELECT min(inode) AS i FROM file WHERE path = '%s' AND name_only IS NULL" % f)
            page = s.get("file/%d" % rows[0]["i"])
            check("the page of %s" % os.path.basename(f), page["bytes"] == n, page)
            if f.endswith("other"):
                cells = s.columns("file/%d/density" % rows[0]["i"], width=10, height=10)
                check("what was copied was written", (sum(cells["writes"]), sum(cells["reads"])) == (n, 0), cells)


def read_and_written():
    """What a process wrote is what /proc/PID/io says; a copied file has one way, who copied it both."""
    program = textwrap.dedent("""
        import os, time
        a, b = os.open('in', os.O_RDWR | os.O_CREAT | os.O_TRUNC), os.open('out', os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for i in range(50): os.write(a, bytes(1111))
        for i in range(70): os.pread(a, 999, 0)
        os.lseek(a, 0, 0)
        os.sendfile(b, a, None, 5000)
        os.copy_file_range(a, b, 3000)
        r, w = os.pipe()
        if not os.fork():
            time.sleep(0.1)
            os.write(w, bytes(4321))
            os._exit(0)
        os.read(r, 5000)
        print(open('/proc/self/io').read().replace('\\n', ' '))
        """)

    def stat(by):
        r = run(weir, "stat", "--json", "--by", by, "--", *PYTHON, program)
        return r.stdout, json.loads(r.stderr.splitlines()[-1])

    out, page = stat("process")
    rows = page["rows"]
    words = out.split()
    io = dict(zip(words[::2], words[1::2]))
    own = next((row for row in rows if row["process"].startswith("python")), {})
    check("bytes written are those of /proc", own.get("written") == int(io["wchar:"]) + len(out), (own, out))
    check("bytes read, too, with those that were waited for", own.get("read", 0) >= int(io["rchar:"]), (own, out))
    check("which the line of waiting calls has", page["waiting"]["bytes"] == 4321, page["waiting"])
    record("moved.trace", "--", *PYTHON, program)
    got = max(row["bytes"] for row in table("moved.trace", "processes"))
    want = sql("moved.trace", "SELECT sum(bytes) AS moved FROM op JOIN thread t ON t.id = thread_id GROUP BY process_id ORDER BY 1 DESC LIMIT 1")
    check("report: a process has the bytes of all its calls", got == want[0]["moved"], (got, want))
    python("peer.trace", """
        import os, socket, time
        s = socket.create_server(("127.0.0.1", 0))
        if not os.fork():
            a = s.accept()[0]
            time.sleep(0.1)
            a.sendall(bytes(4321))
            os._exit(0)
        c = socket.create_connection(s.getsockname())
        c.recv(5000)
        os.wait()
        """)
    got = [row["bytes"] for row in table("peer.trace", "peers")]
    check("and a connection, what was waited for", got == [4321, 4321], got)
    text = run(weir, "report", "--where", "op in (connect, sendto, recvfrom)", "peer.trace").stdout
    shown = [" ".join(l.split()) for l in text.split("FILES AND PEERS")[1].splitlines() if re.match("    (sendto|recvfrom) ", l)]
    check("as has its part of the page", len(shown) == 2 and " 1 4.22 KiB " in max(shown) and "4.22 KiB waited 1 time" in min(shown), text)
    with Serve(weir, "peer.trace") as s:
        o = s.get("overview", width=100)
    peers = [(r["bytes"]) for r in o["files"]["rows"] if "127.0.0.1" in r["name"]]
    check("and the overview: a connection", peers == [4321, 4321], o["files"])
    whole = {r["pid"]: r["moved"] for r in sql("peer.trace", "SELECT pid, sum(bytes) AS moved FROM op_named GROUP BY pid")}
    check("the overview: a process", {r["pid"]: r["bytes"] for r in o["processes"]["rows"]} == whole, (o["processes"], whole))
    check("the overview: bytes over time", sum(map(sum, o["rate"]["bytes"])) == o["totals"]["bytes"] == sum(whole.values()), o["rate"])
    rows = {os.path.basename(row["file"]): (row["read"], row["written"]) for row in stat("file")[1]["rows"]}
    check("each file has what was read and written there", (rows["in"], rows["out"]) == ((70 * 999 + 8000, 50 * 1111), (0, 8000)), rows)


def counted_time():
    """A program with one thread spends no more time in its calls than it was recorded for."""
    longer = []
    for _ in range(30):
        r = run(weir, "stat", "--json", "--", "true")
        page = json.loads(r.stderr.splitlines()[-1])
        time_ns = sum(row["time"] for row in page["rows"]) + page["other"]["time"] + page["waiting"]["time"]
        if time_ns > page["span"]:
            longer.append((time_ns, page["span"]))
    check("stat: the calls of one thread take no longer than the recording", not longer, longer)


def positions():
    """Where lseek leads is a position, and nothing that was read or written."""
    python("seek.trace", """
        import os
        fd = os.open("seek.file", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.write(fd, bytes(4096))
        for at in range(0, 1 << 20, 1 << 16):
            os.lseek(fd, at, os.SEEK_SET)
        os.lseek(fd, -96, os.SEEK_END)
        os.lseek(fd, 0, os.SEEK_HOLE)
        """)
    want = [*range(0, 1 << 20, 1 << 16), 4000, 4096]
    rows = query("seek.trace", "where op == lseek && path ~ \"*seek.file\" | select pos")
    check("lseek has the position to which it led", [r["pos"] for r in rows] == want, rows)
    check("and the working directory no descriptor", not query("seek.trace", "where fd == -100 || fd2 == -100 | select op"))
    with Serve(weir, "seek.trace") as s:
        rows = sql("seek.trace", "SELECT min(inode) AS i FROM file WHERE path LIKE '%/seek.file' AND name_only IS NULL")
        cells = s.columns("file/%d/density" % rows[0]["i"], width=10, height=10)
        check("the picture of the file has what was written, and no call beyond", (sum(cells["writes"]), sum(cells["calls"])) == (4096, 1), cells)


def no_cpu():
    """The first line shows for how much of the time in I/O threads had no CPU."""
    python("crowd.trace", """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        f = os.open('/dev/shm', os.O_RDWR | os.O_TMPFILE)
        os.ftruncate(f, 1 << 30) # holes, which take no memory
        buf = bytearray(32 << 20)
        for i in range(3):
            if os.fork() == 0: break
        for i in range(4): os.preadv(f, 16 * [buf], 0)
        try: os.wait()
        except ChildProcessError: pass
        """)
    first = " ".join(page("crowd.trace").split("\n\n")[0].split())
    line = re.match(r"preadv2? on [^:]*(?:, mostly)? by [^:]*: (\S+ \S+) \(no CPU (\S+ \S+)\), \d+ % of \S+ \S+ in I/O \(no CPU (\S+ \S+)\)", first)
    units = {"s": 1e9, "ms": 1e6, "us": 1e3}
    shown = [float(n) * units[u] for n, u in (t.split() for t in line.groups())] if line else first
    known = sql("crowd.trace", "select sum(case when op in ('preadv', 'preadv2') then dur end) as dur, sum(case when op in ('preadv', 'preadv2') then runq end) as runq, "
                "sum(runq) as all_runq from op where class in ('data', 'meta', 'sync', 'net')")[0]
    check("time without a CPU is named apart", line and all(abs(a - b) <= b / 100 for a, b in zip(shown, (known["dur"], known["runq"], known["all_runq"]))),
          [shown, known])


# ---- waiting ----

def thread_line(trace, name):
    """Percentages of a thread on the page: in I/O, waiting."""
    text = page(trace)
    line = next((l for l in text.splitlines() if l.startswith("  " + name) and l.count("%") >= 3), "")
    return [int(p) for p in re.findall(r"<?(\d+) %", line)][:2], text


def idle_readers():
    """A read of an empty FIFO or terminal waits, whenever it began."""
    os.mkfifo("idle")
    os.mkfifo("late")
    ours, theirs = os.openpty()
    readers = [subprocess.Popen(["cat", f], stdout=subprocess.DEVNULL) for f in ("idle", "late")]
    readers.append(subprocess.Popen(["cat"], stdin=theirs, stdout=subprocess.DEVNULL))
    writers = [os.open(f, os.O_WRONLY) for f in ("idle", "late")]
    check("all readers read", wait_for(lambda: all(sleeps_in(p.pid, 0) for p in readers)))
    recorder = subprocess.Popen([weir, "record", "-q", "-o", "idle.trace", "--duration", "1.5s",
                                 *sum((["-p", str(p.pid)] for p in readers), [])])
    wait_for(lambda: "bpf_link" in run("ls", "-l", "/proc/%d/fd" % recorder.pid).stdout)
    time.sleep(0.5)
    os.write(writers[1], b"x")
    recorder.wait()
    for p in readers:
        p.kill()
        p.wait()
    for f in writers + [ours, theirs]:
        os.close(f)
    rows = query("idle.trace", "where op == read | select pid, class, ret, status")
    check("reads that found nothing wait", len(rows) == 4 and all(r["class"] == "wait" for r in rows), rows)
    text = page("idle.trace")
    lines = [l for l in text.splitlines() if l.startswith("  cat ")]
    shares = [[int(p) for p in re.findall(r"(\d+) %", l)][:2] for l in lines]
    check("threads that wait are in no I/O", len(shares) == 3 and all(s[0] <= 1 and s[1] > 50 for s in shares), text)
    check("operations tell of the calls that still run", re.search(r"^  still running +3 .*\(read 3\)", text, re.M), text)


def idle_rings():
    """io_uring_enter that waits for completions."""
    python("ring.trace", """
        import ctypes, signal
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        ring = syscall(425, 4, ctypes.create_string_buffer(120))
        signal.signal(signal.SIGALRM, lambda *a: None)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        syscall(426, ring, 0, 1, 1, None, 8)
        for i in range(5): syscall(426, ring, 0, 0, 1, None, 8)
        """)
    rows = query("ring.trace", "where op == io_uring_enter | by class | count() as n, max(dur) as longest")
    check("only io_uring_enter that waited for a completion is waiting",
          sorted((r["class"], r["n"]) for r in rows) == [("data", 5), ("wait", 1)], rows)
    shares, text = thread_line("ring.trace", "python3")
    check("the thread was in no I/O then", shares[1] > shares[0], text)


def slow_waits():
    """Waits are ranked where they are asked for by name."""
    python("waits.trace", """
        import select, time
        p = select.poll()
        for i in range(3): p.poll(20)
        open("/dev/null").read()
        """)
    for args in (["-e", "poll"], ["-e", "poll,openat"], ["--where", "op == poll"], ["--where", "class == wait && op == poll"], ["-e", "%wait"]):
        rows = table("waits.trace", "slow", *args)
        check("report slow %s" % " ".join(args), isinstance(rows, list) and [r["op"] for r in rows[:3]] == ["poll"] * 3, rows)
    rows = table("waits.trace", "slow")
    check("waits are in no other ranking", all(r["op"] != "poll" for r in rows), rows)


# ---- addresses ----

def mapped_addresses():
    """An IPv4 address is the same on an IPv6 socket."""
    program = """
        import socket, sys
        server = socket.create_server(("127.0.0.1", 0))
        port = server.getsockname()[1]
        print(port)
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
            s = socket.socket(family)
            s.connect((host, port))
            s.sendall(b"hello")
        u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        u.sendto(b"hi", ("::ffff:127.0.0.1", port))
        """
    port = int(python("mapped.trace", program))
    for where, want in (('peer == "127.0.0.1:%d"', 3), ('peer == "[::ffff:127.0.0.1]:%d"', 3), ('peer ~ "127.0.0.*:%d"', 3),
                        ('peer in ("[::ffff:127.0.0.1]:%d", "10.0.0.1:80")', 3), ('peer != "[::ffff:127.0.0.1]:%d"', 0)):
        rows = query("mapped.trace", "where op == sendto && %s | count() as n" % (where % port))
        check("%s, stored" % where, isinstance(rows, list) and rows[0]["n"] == want, rows)
    rows = query("mapped.trace", "where op == sendto | by peer | count()")
    check("they are shown alike", [r["peer"] for r in rows] == ["127.0.0.1:%d" % port], rows)
    # the port is another one each time, so that the kernel's test is of the address
    for where, want in (('peer ~ "127.0.0.1:*"', 3), ('peer !~ "127.0.0.1:*"', 0)):
        r = record("pushed.trace", "--where", "op == sendto && " + where, "--", *PYTHON, textwrap.dedent(program))
        rows = query("pushed.trace", "count() as n")
        check("%s, recorded" % where, isinstance(rows, list) and rows[0]["n"] == want, rows)


def unasked_address():
    """accept() without room for an address: the new socket has it, and the call shows NULL."""
    port = int(python("unasked.trace", """
        import ctypes, os, socket
        server = socket.create_server(("127.0.0.1", 0))
        c = socket.create_connection(server.getsockname())
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.accept4(server.fileno(), None, None, 0)
        print(c.getsockname()[1])
        """))
    rows = query("unasked.trace", "where op == accept4 | select peer")
    check("the peer of an accept() that did not ask for it", [r["peer"] for r in rows] == ["127.0.0.1:%d" % port], rows)
    text = run(weir, "trace", "-i", "unasked.trace", "-e", "accept4").stdout
    check("trace shows NULL there", ", NULL, NULL, 0) = " in text, text)


# ---- comparisons ----

def same_program_elsewhere():
    """Two runs of one program in two folders touch the same files."""
    program = """
        import os, random, time
        files = [os.open("file-%s" % c, os.O_CREAT | os.O_RDWR) for c in "abcdefgh"]
        end = time.time() + float(os.environ.get("SECONDS_TO_RUN", 0))
        while True:
            for f in files:
                for i in range(random.randrange(3, 99)):
                    os.pwrite(f, b"x" * 100, 0)
                    os.pread(f, 100, 0)
            if time.time() >= end: break
        """
    for folder in ("alpha", "beta"):
        os.mkdir(folder)
        os.chdir(folder)
        python("whole.trace", program)
        target = subprocess.Popen([*PYTHON, textwrap.dedent(program)], env=dict(os.environ, SECONDS_TO_RUN="60"))
        wait_for(lambda: os.path.exists("file-h"))
        record("part.trace", "-p", str(target.pid), "--duration", "0.5s")
        target.kill()
        target.wait()
        os.chdir("..")
    for trace in ("whole", "part"):
        traces = ["%s/%s.trace" % (f, trace) for f in ("alpha", "beta")]
        r = run(weir, "diff", *traces)
        check("%s runs have something in common" % trace, r.returncode == 0 and "nothing in common" not in r.stdout, r.stdout + r.stderr)
        rows = json.loads(run(weir, "diff", "--json", *traces).stdout)["rows"]
        rows = {r["name"]: r for r in rows if r["by"] == "file" and "/file-" in r["name"]}
        check("%s runs: each file on both sides" % trace, len(rows) == 8 and all(
            r["presence"] == "both" and r["name"].endswith("/#/file-" + r["name"][-1]) for r in rows.values()), rows)
    r = run(weir, "diff", "alpha/part.trace", "one.trace")
    check("different programs have nothing in common", "nothing in common" in r.stdout, r.stdout)


TESTS = (error_kinds, long_lines, no_cpu, others_that_trace, anonymous_files, renamed_file, one_name, copies, read_and_written, counted_time, positions, idle_readers, idle_rings, slow_waits, mapped_addresses,
         unasked_address, same_program_elsewhere)


def main():
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return 0
    with tempfile.TemporaryDirectory(prefix="weir-figures-") as folder:
        os.chdir(folder)
        record("one.trace", "--", "true")
        if run(weir, "sql", "select 1", "one.trace").returncode:
            os.chdir("/")
            print("1..0 # SKIP DuckDB's library is not here")
            return 0
        for test in TESTS:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                test()
        os.chdir("/")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
