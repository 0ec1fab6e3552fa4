#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold when things go wrong.

  robust.py [options] [CASE...]     cases: see --list

Each case makes the trouble for real: kills the recorder, stops it, fills its disk, takes its rights away, runs another tracer
beside it; then reads what the trace says and compares it with what the program knows. Speaks TAP.
"""

import argparse
import array
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracles"))
import check  # noqa: E402
import traces  # noqa: E402

CASES = {}
ALONE = set()  # of them those that want the machine for themselves


def case(f):
    CASES[f.__name__] = f
    return f


def alone(f):
    """At full rate, without --lossless: nothing is lost where nothing else runs."""
    ALONE.add(f.__name__)
    return case(f)


class Skip(Exception):
    pass


class Bad(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


class Bench:
    """A folder of its own for a case, and the programs."""

    def __init__(self, options, root):
        self.weir, self.workload, self.dump = (os.path.realpath(p) for p in (options.weir, options.workload, options.dump))
        self.root, self.number, self.random, self.soak = root, 0, random.Random(options.seed), options.soak
        self.ops, self.started = traces.Ops(self.dump), []
        with open(self.weir, "rb") as program:
            self.own_memory = not re.search(b"__[at]san_init", program.read())  # else its memory is mostly the sanitizer's

    def folder(self):
        self.number += 1
        path = os.path.join(self.root, str(self.number))
        os.makedirs(os.path.join(path, "w"))
        return path

    def start(self, folder, args, command, out="out", env=None):
        """weir record in the background."""
        with open(os.path.join(folder, out), "wb") as o, open(os.path.join(folder, out + ".err"), "wb") as e:
            self.started.append(subprocess.Popen([self.weir, "record", "-o", os.path.join(folder, "trace"), *args, *(["--", *command] if command else [])],
                                                 stdout=o, stderr=e, stdin=subprocess.DEVNULL, cwd=folder, env=dict(os.environ, **(env or {}))))
            return self.started[-1]

    def end_all(self):
        """What a case left running; the signal goes on to the command."""
        for p in self.started:
            if p.poll() is None:
                p.terminate()
                end(p, 20, "record")
        self.started.clear()

    def work(self, name, folder):
        return [self.workload, name, os.path.join(folder, "w")]

    def said(self, folder, out="out"):
        """What the load said: calls=... as numbers."""
        with open(os.path.join(folder, out)) as f:
            return {k: int(v) for k, v in re.findall(r"(\w+)=(-?\d+)", f.read())}

    def count(self, trace):
        done = subprocess.run([self.dump, "--count", trace], capture_output=True, text=True)
        need(done.returncode == 0, f"the trace cannot be read: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def has_calls(self, trace):
        """A trace that begins may lack its file, or the file its head."""
        done = subprocess.run([self.dump, "--count", trace], capture_output=True, text=True)
        return done.returncode == 0 and json.loads(done.stdout)["ops"] > 0

    def trace(self, folder, name="trace"):
        return traces.Trace(self.dump, os.path.join(folder, name))


def wait_for(what, seconds, condition):
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if condition():
            return
        time.sleep(0.02)
    raise Bad(f"{what}: not within {seconds} s")


def wait_attached(process):
    if not traces.wait_attached(process):
        raise Bad(f"record does not record (exit status {process.returncode})")


def end(process, seconds, what):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Bad(f"{what} did not end within {seconds} s") from None


LONG_NS = 100_000_000  # calls that last longer lie in blocks of their own: a kill can leave these unwritten, or those beside them


def numbered(b, path, attached=False):
    """load_count writes 8 bytes at 0, 8, 16, ...: the rows are the first N of them, but for calls that took long, and those end
    behind the time up to which the trace says that it is complete. Of a program that was there before, the first may be any, and the
    one in which it was then does not count.
    Returns how many there are, and what it says of its end, with "next", the number behind the last.

    There may be millions of rows: they are read as they come, not kept as Python values."""
    dump = subprocess.Popen([b.dump, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    when, place, damage = re.compile(rb'"start":(\d+),"dur":(\d+),'), re.compile(rb'"pos":(\d+),'), {}
    places, starts, ends = array.array("Q"), array.array("Q"), array.array("Q")
    for line in dump.stdout:
        if b'"pwrite64"' in line:
            if b'"ret":-4,' in line:  # EINTR: the program was killed in it, nothing was written
                continue
            if attached and b'"start"' not in line[:60]:  # it ran when recording began
                continue
            m, at = when.search(line), place.search(line)
            need(m and at and b'"size":8,' in line, f"a row without its place: {line[:300]}")
            places.append(int(at[1]))
            starts.append(int(m[1]))
            ends.append(int(m[1]) + int(m[2]))
        elif b'"damage"' in line:
            damage = json.loads(line)
    need(dump.wait() == 0, f"the trace cannot be read: {dump.stderr.read().decode()[-200:]}")
    last = min(places, default=0) - 8 if attached else -8
    last_end, until = 0, damage["until"] if damage["unclosed"] else 1 << 63
    for i in sorted(range(len(places)), key=places.__getitem__):
        missing = places[i] // 8 - last // 8 - 1
        need(missing >= 0, f"two rows at {places[i]}")
        apart = starts[i] - last_end >= missing * LONG_NS or ends[i] - starts[i] > LONG_NS
        need(not missing or apart, f"{missing} rows are missing before {places[i]}")
        need(not missing or starts[i] >= until, f"{missing} rows are missing before {until}, up to when the trace says it is complete")
        last, last_end = places[i], ends[i]
    return len(places), dict(damage, next=last // 8 + 1)


def killed(b, args, **env):
    rounds = 20 if b.soak else 2
    for _ in range(rounds):
        f = b.folder()
        p = b.start(f, args, b.work("load_count", f), env=dict(env, WORK_SECONDS="300"))
        wait_for("the program's start", 60, lambda: os.path.exists(os.path.join(f, "w", "count")) or p.poll() is not None)
        time.sleep(b.random.random() * 1.7)
        p.kill()
        need(p.wait() == -signal.SIGKILL, f"record ended by itself, with {p.returncode}: " + open(os.path.join(f, "out.err")).read())
        # The program runs on: nothing holds it, so that it sees that it may end.
        open(os.path.join(f, "w", "end"), "w").close()
        wait_for("the program after its recorder was killed", 60, lambda: b.said(f))
        rows, end_of = numbered(b, os.path.join(f, "trace"))
        need(rows <= b.said(f)["calls"], "more rows than calls")
        need(not rows or end_of["open_ended"] and end_of["unclosed"], "a trace whose recorder was killed does not say so")
        need(not end_of["unclosed"] or end_of["until"] <= time.time_ns(), "it says that it is complete beyond its end")
        shutil.rmtree(f)


@case
def recorder_killed(b):
    """kill -9 at random instants: what was committed reads back, without a gap; the program runs on"""
    # At most 20,000 calls a second: on a machine that stalls the rings must not run full. What then is lost is counted, but the
    # count of the last window dies with the recorder; stalled_counted looks at it.
    killed(b, [], WORK_PAUSE="5000")


@case
def recorder_killed_lossless(b):
    """the same with --lossless, while the program may be held: it must not stay so"""
    killed(b, ["--lossless"])


@case
def running_unread(b):
    """what still runs at the end cannot be read, for want of descriptors: record and report say so"""
    f = b.folder()
    # a sanitizer would look for leaks at the end, and needs descriptors for it
    p = b.start(f, ["-p", str(os.getpid())], None, env={"ASAN_OPTIONS": "detect_leaks=0"})
    wait_attached(p)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (0, resource.prlimit(p.pid, resource.RLIMIT_NOFILE)[1]))
    p.send_signal(signal.SIGINT)
    need(end(p, 60, "record") == 0, "record failed: " + open(os.path.join(f, "out.err")).read())
    said = open(os.path.join(f, "out.err")).read()
    need("could not be read (Too many open files)" in said and "lost 0 " in said, f"record says: {said}")
    said = subprocess.run([b.weir, "report", os.path.join(f, "trace")], capture_output=True, text=True).stdout
    need("still running at least " in said and "LOST" not in said, f"report says: {said[:400]}")
    # without the right to look into other processes: of one thread
    lone = subprocess.Popen(["sleep", "60"])
    done = subprocess.run(["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", b.weir, "record", "-p", str(lone.pid),
                           "-o", os.path.join(f, "lone"), "--duration", "200ms"], capture_output=True, text=True, timeout=60)
    lone.kill()
    lone.wait()
    need(done.returncode == 0 and "the calls that 1 thread was in at the end could not be read (Operation not permitted)" in done.stderr,
         f"record says: {done.stderr}")


def is_stopped(process):
    states = []
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/stat") as stat:
            states.append(stat.read().rpartition(")")[2].split()[0])
    return set(states) == {"T"}


@case
def killed_untold(b):
    """killed after its rings ran over, which no block tells: report and doctor say from when on calls may be missing"""
    f = b.folder()
    trace, counted = os.path.join(f, "trace"), os.path.join(f, "w", "count")
    p = b.start(f, ["--ring", "1MiB"], b.work("load_count", f), env={"WORK_SECONDS": "300"})
    wait_for("calls in the trace", 60, lambda: b.has_calls(trace))
    p.send_signal(signal.SIGSTOP)
    wait_for("the recorder to stop", 60, lambda: is_stopped(p))
    stopped, size = time.time_ns(), os.path.getsize(counted)
    wait_for("the rings to run over", 60, lambda: os.path.getsize(counted) > size + 8 * 100000)
    p.kill()
    p.wait()
    open(os.path.join(f, "w", "end"), "w").close()
    wait_for("the program after its recorder was killed", 60, lambda: b.said(f))
    rows, end_of = numbered(b, trace)
    need(0 < rows <= b.said(f)["calls"] - 100000, f"{rows} rows of {b.said(f)['calls']} calls")
    need(end_of["unclosed"] == 1, "the trace does not say that it was not closed")
    need(0 < end_of["until"] < stopped + 10**8, f"complete until {end_of['until']}, but the recorder was stopped at {stopped}")
    said = subprocess.run([b.weir, "report", trace], capture_output=True, text=True).stdout
    need("NOT CLOSED (recorder killed" in said and "may be missing" in said and "gap-free" not in said, f"report says: {said[:400]}")
    said = json.loads(subprocess.run([b.weir, "report", "ops", "--json", trace], capture_output=True, text=True).stdout)
    need(said["loss"]["unclosed"] == {"traces": 1, "complete_until": str(end_of["until"])}, f"as JSON: {said['loss']}")
    shutil.copy(trace, os.path.join(f, "weir.trace"))
    said = subprocess.run([b.weir, "doctor"], capture_output=True, text=True, cwd=f).stdout
    need("not closed (recorder killed" in said, f"doctor says: {said}")


def polled(b, attach):
    """A program that writes through an io_uring which the kernel polls: its requests are rows, and only where threads are selected
    record, report and stat say that they are not."""
    f = b.folder()
    work = os.path.join(f, "w")
    load = b.work("load_sqpoll", f)
    if attach:
        with open(os.path.join(f, "out"), "wb") as out:
            b.started.append(subprocess.Popen(load, stdout=out))
        pid = b.started[-1].pid
        wait_for("the ring", 60, lambda: os.path.exists(os.path.join(work, "ready")) or b.started[-1].poll() is not None)
    if attach and b.started[-1].poll() == 77:
        raise Skip("io_uring is not allowed here")
    p = b.start(f, ["-e", "write", *(["-p", str(pid)] if attach else [])], None if attach else load, out="record")
    wait_for("the ring", 60, lambda: os.path.exists(os.path.join(work, "ready")) or p.poll() is not None)
    if p.poll() == 77:
        raise Skip("io_uring is not allowed here")
    wait_attached(p)
    if attach:
        counted = os.path.join(work, "count")
        size = os.path.getsize(counted)
        wait_for("requests", 60, lambda: os.path.getsize(counted) > size + 8 * 1000)
        p.send_signal(signal.SIGINT)
    else:
        open(os.path.join(work, "end"), "w").close()
    need(end(p, 60, "record") == 0, "record failed: " + open(os.path.join(f, "record.err")).read())
    trace = os.path.join(f, "trace")
    said = open(os.path.join(f, "record.err")).read() + subprocess.run([b.weir, "report", trace], capture_output=True, text=True).stdout
    need("SQPOLL" not in said and "hand over" not in said, f"record and report say: {said[:600]}")
    args = [b.weir, "trace", "-i", trace, "--where", "kind == 'io_uring' and op == write and path ~ '**/count'"]
    rows = sum(not line.startswith("+++") for line in subprocess.run(args, capture_output=True, text=True).stdout.splitlines())
    need(rows >= 100, f"{rows} rows of requests")
    if attach:
        words = r"workload \((\d+)\) has an io_uring that the kernel polls \(SQPOLL\)"
        args = [b.weir, "stat", "-t", str(pid), "--duration", "0.2s"]
        said = subprocess.run(args, capture_output=True, text=True)
        need(re.search(words, said.stderr), f"stat says: {said.stdout} {said.stderr}")
        open(os.path.join(work, "end"), "w").close()
        b.started[0].wait(60)


@case
def polled_ring(b):
    """an io_uring that the kernel polls, made while recording: its requests are rows"""
    polled(b, False)


@case
def polled_ring_before(b):
    """the same of a ring that was there before, and of one thread of the program"""
    polled(b, True)


@case
def two_recorders(b):
    """a recorder within a recorder: both see every call of the program"""
    f = b.folder()
    inner = [b.weir, "record", "-o", os.path.join(f, "inner"), "--", *b.work("many", f)]
    p = b.start(f, [], inner)
    need(end(p, 60, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    facts = traces.read_facts(os.path.join(f, "out"))
    for name in ("trace", "inner"):
        problems = check.check_facts(b.trace(f, name), facts, b.ops)
        need(not problems, f"{name}: {len(problems)} facts differ, e.g. {problems[:1]}")


@case
def beside_bpftrace(b):
    """weir beside bpftrace on the same tracepoints: weir sees everything"""
    if not shutil.which("bpftrace"):
        raise Skip("bpftrace is not installed")
    other = subprocess.Popen(["bpftrace", "-e", "tracepoint:raw_syscalls:sys_enter,tracepoint:raw_syscalls:sys_exit { @[probe] = count(); }"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        other.stdout.readline()  # "Attaching 2 probes..."
        time.sleep(1)
        f = b.folder()
        need(end(b.start(f, [], b.work("many", f)), 60, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    finally:
        other.send_signal(signal.SIGINT)
        try:
            other.wait(20)
        except subprocess.TimeoutExpired:
            other.kill()
            other.wait()
    trace = b.trace(f)
    problems = check.check_facts(trace, traces.read_facts(os.path.join(f, "out")), b.ops)
    need(not problems, f"{len(problems)} facts differ, e.g. {problems[:1]}")
    need(not trace.loss, f"loss {trace.loss[:2]}")


def stalled(b, args):
    f = b.folder()
    p = b.start(f, args, b.work("load_pread", f), env={"WORK_CALLS": "3000000" if b.soak else "1500000"})
    time.sleep(0.4)
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    p.send_signal(signal.SIGCONT)
    need(end(p, 120, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    return b.said(f)["calls"], b.count(os.path.join(f, "trace"))


@case
def stalled_lossless(b):
    """the recorder is stopped for 1.5 s under full load: with --lossless nothing is lost"""
    calls, count = stalled(b, ["--lossless"])
    need(not count["loss"], f"loss {count['loss']}")
    events = count["events"]
    need(events["numbers"] >= calls and not events["missing"] and not events["gaps"], f"the numbers of events in the trace: {events}")
    need(count["by_op"].get("pread64") == calls, f"{count['by_op'].get('pread64')} rows of {calls} calls")


@case
def stalled_counted(b):
    """the same without: what was lost is counted to the last call"""
    calls, count = stalled(b, [])
    rows, lost = count["by_op"].get("pread64", 0), count["loss"].get("ring_full", 0)
    # Some of the lost calls may be the program's others: there are a few dozen.
    need(rows <= calls <= rows + lost <= calls + 200, f"{calls} calls, {rows} rows, {lost} lost ({count['loss']})")
    need(rows + lost == calls or lost, f"{calls - rows} calls are missing and not counted")
    events = count["events"]
    need(events["missing"] == lost and not events["gaps"], f"{lost} lost, but the numbers of events say {events}")


@case
def stopped_lossless(b):
    """the recorder is stopped under full load for longer than --lossless holds a program up: it goes on, the broken guarantee is reported"""
    f = b.folder()
    p = b.start(f, ["--lossless", "--ring", "64KiB"], b.work("load_pread", f), env={"WORK_CALLS": "300000", "WORK_THREADS": "2"})
    wait_attached(p)
    p.send_signal(signal.SIGSTOP)
    wait_for("the program beside a recorder that is stopped", 120, lambda: "calls" in b.said(f))
    p.send_signal(signal.SIGCONT)
    need(end(p, 120, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    calls, count = b.said(f)["calls"], b.count(os.path.join(f, "trace"))
    rows, lost = count["by_op"].get("pread64", 0), count["loss"].get("ring_full", 0)
    need(lost and count["loss"].get("hold_limit") and rows <= calls <= rows + lost <= calls + 200, f"{calls} calls, {rows} rows, loss {count['loss']}")
    said = open(os.path.join(f, "out.err")).read()
    need(f"lossless guarantee broken: {lost:,} calls lost" in said and "gap-free" not in said, f"record says: {said}")
    said = subprocess.run([b.weir, "report", os.path.join(f, "trace")], capture_output=True, text=True).stdout
    need("calls: lossless guarantee broken: ring_full" in said, f"report says: {said[:400]}")


@case
def small_ring_lossless(b):
    """two threads at full rate with --lossless: every call is there"""
    f = b.folder()
    p = b.start(f, ["--lossless"], b.work("load_getppid", f), env={"WORK_CALLS": "1000000", "WORK_THREADS": "2"})
    need(end(p, 120, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    count = b.count(os.path.join(f, "trace"))
    need(not count["loss"], f"loss {count['loss']}")
    need(count["by_op"].get("getppid") == 2000000, f"{count['by_op'].get('getppid')} rows of 2000000")


def keeps_up(b):
    """Skips where the recorder is not expected to keep up with 200 threads."""
    if not b.own_memory:
        raise Skip("with sanitizers it decodes more slowly than programs make calls")
    try:
        policy = os.sched_getscheduler(0)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        os.sched_setscheduler(0, policy, os.sched_param(0))
    except PermissionError:
        raise Skip("real-time priority is refused here") from None


@alone
def busy_threads(b):
    """200 threads that only make calls, default settings: every call is there"""
    keeps_up(b)
    f = b.folder()
    each = 30000 if b.soak else 15000  # more than the rings take many times over
    p = b.start(f, [], b.work("load_pread", f), env={"WORK_CALLS": str(each), "WORK_THREADS": "200"})
    need(end(p, 300, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())
    count = b.count(os.path.join(f, "trace"))
    need(not count["loss"], f"loss {count['loss']}")
    need(count["by_op"].get("pread64") == 200 * each, f"{count['by_op'].get('pread64')} rows of {200 * each} calls")


def memory_of(process):
    """MiB that a process has for itself; what it maps (rings, programs) is not in it."""
    with open(f"/proc/{process.pid}/status") as f:
        return int(re.search(r"RssAnon:\s+(\d+) kB", f.read())[1]) / 1024


def storm(b, f, options, rounds, bound):
    """load_names under a recorder, whose memory is looked at before the end"""
    p = b.start(f, ["-q", *options], b.work("load_names", f), env={"WORK_CALLS": str(rounds * 4), "WORK_WAIT": "120"})
    wait_for("the storm", 600, lambda: b.said(f) or p.poll() is not None)
    need(p.poll() is None, "record: " + open(os.path.join(f, "out.err")).read())
    # What waits to be decoded is memory too, but not for long.
    try:
        wait_for("", 60, lambda: not b.own_memory or memory_of(p) < bound)
    except Bad:
        raise Bad(f"{memory_of(p):.0f} MiB after {rounds} files, the bound is {bound}") from None
    print(f"# {memory_of(p):.0f} MiB after {rounds} files")
    open(os.path.join(f, "w", "end"), "w").close()
    need(end(p, 120, "record") == 0, "record: " + open(os.path.join(f, "out.err")).read())


@alone
def storm_filtered(b):
    """the same with a filter by path: what the filter has seen is forgotten, and every call that it takes is there"""
    rounds = 1000000 if b.soak else 80000
    f = b.folder()
    storm(b, f, ["--where", 'path ~ "**/two-*7" and op == unlink'], rounds, 64)
    count = b.count(os.path.join(f, "trace"))
    want = sum(str(i).endswith("7") for i in range(rounds))
    need(count["by_op"] == {"unlink": want} and not count["loss"], f"{count['by_op']}, {count['loss']}, of {want}")


@alone
def storm_of_names(b):
    """hundreds of thousands of files with names of their own: bounded memory, and every call has its path"""
    rounds = 1000000 if b.soak else 120000
    f = b.folder()
    storm(b, f, [], rounds, 96)  # some 45, and what waited to be decoded where the machine was busy
    place = json.dumps(os.path.join(f, "w"))[1:-1].encode()
    want = {op: re.compile(rb'"file":\{[^}]*"path":"' + place + first + b'"' + (rb'.*"path":"' + place + second + b'"' if second else b""))
            for op, first, second in ((b"rename", rb"/one-(\d+)", rb"/two-\1"), (b"unlink", rb"/two-(\d+)", None), (b"openat", rb"/one-(\d+)", None))}
    seen = {op: bytearray(rounds) for op in want}  # calls that took long come later than their time
    dump = subprocess.Popen([b.dump, os.path.join(f, "trace")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in dump.stdout:
        m = re.match(rb'\{"table":"op","name":"(rename|unlink|openat)"', line)
        if not m or b"one-" not in line and b"two-" not in line:
            continue
        path = want[m[1]].search(line)
        need(path and not seen[m[1]][int(path[1])], f"{m[1].decode()} with another path, or twice: {line[:2000]}")
        seen[m[1]][int(path[1])] = 1
    need(dump.wait() == 0, f"the trace cannot be read: {dump.stderr.read().decode()[-200:]}")
    have = {op.decode(): sum(numbers) for op, numbers in seen.items()}
    need(set(have.values()) == {rounds}, f"calls with their paths: {have}, of {rounds} each")


@case
def disk_full(b):
    """the trace's disk is full: the program is not disturbed, what was lost is said and counted, the rest reads back"""
    f = b.folder()
    disk = os.path.join(f, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "weir", disk], capture_output=True).returncode:
        raise Skip("tmpfs cannot be mounted")
    try:
        p = b.start(f, ["-o", os.path.join(disk, "t")], b.work("load_count", f), env={"WORK_SECONDS": "300"})
        counted = os.path.join(f, "w", "count")
        wait_for("the disk to be full", 300, lambda: os.statvfs(disk).f_bfree < 12 or p.poll() is not None)
        size = os.path.getsize(counted)
        wait_for("calls that find no place", 300, lambda: os.path.getsize(counted) > size + 8 * 200000 or p.poll() is not None)
        open(os.path.join(f, "w", "end"), "w").close()
        need(end(p, 120, "record") >= 0, "record was killed")
        calls, said = b.said(f)["calls"], open(os.path.join(f, "out.err")).read()
        need(re.search(r"no space|full", said, re.I), f"no word of the full disk: {said.strip()[-200:]}")
        rows = b.count(os.path.join(disk, "t"))["by_op"].get("pwrite64", 0)
        need(0 < rows < calls, f"{rows} rows of {calls} calls")
    finally:
        subprocess.run(["umount", disk], check=False)


@case
def damaged(b):
    """torn and bit-flipped traces: readers say what is missing, and never crash"""
    f = b.folder()
    need(end(b.start(f, [], b.work("many", f)), 60, "record") == 0, "record failed")
    whole = open(os.path.join(f, "trace"), "rb").read()
    rows = b.count(os.path.join(f, "trace"))["ops"]
    hurt = os.path.join(f, "hurt")
    for i in range(200 if b.soak else 16):
        data = bytearray(whole)
        if i % 2:
            del data[b.random.randrange(len(data)):]
        else:
            for _ in range(1 + i % 5):
                data[b.random.randrange(len(data))] ^= 1 << b.random.randrange(8)
        with open(hurt, "wb") as out:
            out.write(data)
        done = subprocess.run([b.dump, "--count", hurt], capture_output=True, text=True)
        need(done.returncode in (0, 1), f"reader ended with {done.returncode} on damage {i}")
        if done.returncode == 0:
            need(json.loads(done.stdout)["ops"] <= rows, "more rows than there were")
        done = subprocess.run([b.weir, "report", "-i", hurt], capture_output=True, text=True, errors="replace")
        need(done.returncode in (0, 1), f"weir report ended with {done.returncode} on damage {i}: {done.stderr[-200:]}")


@case
def status_passed_on(b):
    """the command's exit status and its death by a signal are record's; signals are passed on"""
    f = b.folder()
    need(end(b.start(f, [], ["sh", "-c", "exit 7"]), 60, "record") == 7, "exit 7 is not passed on")
    status = end(b.start(b.folder(), [], ["sh", "-c", "kill -TERM $$"]), 60, "record")
    need(status in (143, -15), f"status {status} for a command that died by SIGTERM")
    f = b.folder()
    p = b.start(f, [], ["sh", "-c", "echo started; exec sleep 300"])
    wait_for("the command's start", 60, lambda: os.path.getsize(os.path.join(f, "out")) or p.poll() is not None)
    p.send_signal(signal.SIGINT)
    end(p, 60, "record after SIGINT")
    need(b.trace(f).damage.get("open_ended") == 0, "the trace is not closed after SIGINT")


@case
def target_ends(b):
    """record -p ends when the process does, with status 0"""
    target = subprocess.Popen(["sleep", "600"])
    f = b.folder()
    p = b.start(f, ["-p", str(target.pid)], None)
    try:
        wait_attached(p)
        need(p.poll() is None, "record ended before its process did")
    finally:
        target.kill()
        target.wait()
    need(end(p, 60, "record -p") == 0, "status is not 0: " + open(os.path.join(f, "out.err")).read())


ERRORS = [
    # what, command after weir, status, words that standard error must have
    ("no such option", ["record", "--losless", "--", "true"], 2, r"lossless"),
    ("no such command", ["recrod"], 2, r"record"),
    ("missing program", ["record", "-o", "{t}", "--", "/nonexistent/program"], 1, r"/nonexistent/program"),
    ("no such pid", ["record", "-o", "{t}", "-p", "999999999"], 1, r"999999999"),
    ("not a number", ["record", "-o", "{t}", "-p", "x1"], 2, r"x1"),
    ("no such trace", ["report", "/nonexistent/trace"], 1, r"/nonexistent/trace"),
    ("not a trace", ["report", "/etc/passwd"], 1, r"/etc/passwd.*trace"),
    ("an unreadable file", ["report", "/proc/self/mem"], 1, r"cannot read /proc/self/mem"),
    ("a folder without traces", ["report", "/proc/sys"], 1, r"/proc/sys"),
    ("no such set of calls", ["record", "-o", "{t}", "-e", "%fiel", "--", "true"], 2, r"%fiel"),
    ("no such user", ["record", "-o", "{t}", "-u", "nobodyatall", "--", "true"], 2, r"nobodyatall"),
    ("cannot write there", ["record", "-o", "/proc/x", "--", "true"], 1, r"/proc/x"),
    ("no such cgroup", ["record", "-o", "{t}", "--cgroup", "/none/such", "-a", "--duration", "1"], 1, r"/none/such"),
]


def one_line(text):
    lines = [x for x in text.strip().splitlines() if x.strip()]
    need(lines, "nothing on standard error")
    need(len(lines) <= 2, f"{len(lines)} lines: {text.strip()[:300]}")
    need(not re.search(r"libbpf|Assertion|core dumped|0x[0-9a-f]{6}", text), f"an inner message: {text.strip()[:300]}")


@case
def clear_errors(b):
    """bad input: one clear line and the right exit status"""
    bad = []
    for what, args, status, words in ERRORS:
        t = os.path.join(b.folder(), "t")
        try:
            done = subprocess.run([b.weir, *(a.replace("{t}", t) for a in args)], capture_output=True, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL)
            need(done.returncode == status, f"exit status {done.returncode}")
            one_line(done.stderr)
            need(re.search(words, done.stderr), f"says: {done.stderr.strip()}")
        except (Bad, subprocess.TimeoutExpired) as e:
            bad.append(f"{what}: {e}")
    need(not bad, "; ".join(bad))


@case
def no_rights(b):
    """no root, no BPF, no BTF: one line with the remedy, status 1"""
    bad = []
    t = b.folder()
    os.chmod(b.root, 0o755)
    os.chmod(t, 0o777)
    tries = [
        ("not root", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], r"root|CAP_|sudo"),
        ("BPF refused", ["setpriv", "--bounding-set=-sys_admin,-bpf,-perfmon", "--inh-caps=-sys_admin,-bpf,-perfmon"], r"BPF|root|CAP_"),
        ("no BTF", ["unshare", "-m", "--propagation", "unchanged", "sh", "-c",
                    "mount --make-rprivate /sys && mount -t tmpfs none /sys/kernel/btf && exec \"$@\"", "sh"], r"BTF"),
    ]
    for what, prefix, words in tries:
        if not shutil.which(prefix[0]):
            continue
        out = os.path.join(t, what.replace(" ", ""))
        # The program may lie where nobody else may read.
        weir = shutil.copy(b.weir, os.path.join(t, "weir"))
        os.chmod(weir, 0o755)
        done = subprocess.run([*prefix, weir, "record", "-o", out, "--", "true"], capture_output=True, text=True, timeout=60, cwd=t)
        try:
            need(done.returncode == 1, f"exit status {done.returncode} ({done.stderr.strip()[:200]})")
            one_line(done.stderr)
            need(re.search(words, done.stderr), f"says: {done.stderr.strip()}")
        except Bad as e:
            bad.append(f"{what}: {e}")
    need(not bad, "; ".join(bad))


@case
def no_duckdb(b):
    """weir sql without DuckDB's library: one line that says how to get it"""
    f = b.folder()
    need(end(b.start(f, [], ["true"]), 60, "record") == 0, "record failed")
    weir = shutil.copy(b.weir, os.path.join(f, "weir"))  # away from the library that lies beside it
    done = subprocess.run([weir, "sql", "-i", os.path.join(f, "trace"), "SELECT 1"], capture_output=True, text=True, timeout=60, cwd=f,
                          env=dict(os.environ, WEIR_DUCKDB="/nonexistent/libduckdb.so", LD_LIBRARY_PATH=""))
    if done.returncode == 0:
        raise Skip("DuckDB's library is installed in a standard folder")
    need(done.returncode == 1, f"exit status {done.returncode}")
    one_line(done.stderr)
    need(re.search("duckdb", done.stderr, re.I), f"says: {done.stderr.strip()}")


@case
def small(b):
    """record takes at most 64 MiB, the part of its rings that a short command fills included"""
    f = b.folder()
    p = b.start(f, ["-q"], ["sh", "-c", "sleep 0.5; cat /proc/$PPID/comm /proc/$PPID/status"])
    need(end(p, 60, "record") == 0, "record failed: " + open(os.path.join(f, "out.err")).read())
    said = open(os.path.join(f, "out")).read()
    need(said.startswith("weir"), "the command's parent is not the recorder")
    peak = int(re.search(r"VmHWM:\s*(\d+) kB", said)[1])
    print(f"# {peak} KiB at its peak")
    need(peak <= 64 << 10 or not b.own_memory, f"{peak} KiB at its peak")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.path.join(HERE, "..", "..", "build")
    parser.add_argument("--weir", default=os.path.join(build, "src/cli/weir"))
    parser.add_argument("--workload", default=os.path.join(build, "tests/programs/workload"))
    parser.add_argument("--dump", default=os.path.join(build, "tests/oracles/trace_dump"))
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--soak", action="store_true", help="more rounds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--alone", action="store_true", help="the cases that want the machine for themselves")
    which.add_argument("--beside", action="store_true", help="the others")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    chosen = options.cases or [name for name in CASES if not options.beside and not options.alone or (name in ALONE) == options.alone]
    if options.list:
        for name, f in CASES.items():
            print(f"{name:26s}{f.__doc__}")
        return 0
    if os.geteuid():
        print("1..0 # SKIP needs root to record")
        return 0
    root = tempfile.mkdtemp(prefix="weir-robust.", dir=options.dir)
    b = Bench(options, root)
    failed = 0
    print(f"# seed {options.seed}")
    try:
        for name in chosen:
            f = CASES[name]
            try:
                f(b)
                print(f"ok - {name}: {f.__doc__}")
            except Skip as e:
                print(f"ok - {name} # SKIP {e}")
            except (Bad, SystemExit, subprocess.TimeoutExpired, OSError, ValueError) as e:
                failed += 1
                print(f"not ok - {name}: {f.__doc__}")
                print(f"#   {str(e)[:600]}")
            sys.stdout.flush()
            b.end_all()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
