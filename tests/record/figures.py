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

weir = os.path.abspath(sys.argv[1])
number = failed = 0
engine = True


def check(name, ok, why=""):
    global number, failed
    number += 1
    failed += not ok
    print("%sok %d - %s" % ("" if ok else "not ", number, name), flush=True)
    for line in str(why).splitlines() if not ok else []:
        print("# " + line)


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
    r = record(trace, "--", sys.executable, "-c", textwrap.dedent(program), *args)
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


def queries(trace, text):
    """The answers with and without the engine."""
    ways = [query(trace, text, "--no-engine")]
    return ways + [query(trace, text)] if engine else ways


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
    """Only a weir that records is another tracer."""
    recorder = subprocess.Popen([weir, "record", "-q", "-o", "other.trace", "-p", str(os.getpid())])
    reader = subprocess.Popen([weir, "serve", "one.trace"], stdout=subprocess.PIPE, text=True) if engine else None
    if reader:
        reader.stdout.readline()
    wait_for(lambda: "bpf_link" in run("ls", "-l", "/proc/%d/fd" % recorder.pid).stdout)
    rows = json.loads(run(weir, "doctor", "--json").stdout)["rows"]
    others = next(r["detail"] for r in rows if r["name"] == "other tracers")
    check("a weir that records is another tracer", "weir (pid %d)" % recorder.pid in others, others)
    check("one that serves a trace is none", not reader or "pid %d" % reader.pid not in others, others)
    for p in filter(None, (recorder, reader)):
        p.terminate()
        p.wait()


TESTS = (error_kinds, long_lines, others_that_trace)


def main():
    global engine
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return 0
    with tempfile.TemporaryDirectory(prefix="weir-figures-") as folder:
        os.chdir(folder)
        record("one.trace", "--", "true")
        engine = run(weir, "sql", "select 1", "one.trace").returncode == 0
        for test in TESTS:
            if len(sys.argv) < 3 or test.__name__ in sys.argv[2:]:
                test()
        os.chdir("/")
    print("1..%d" % number)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
