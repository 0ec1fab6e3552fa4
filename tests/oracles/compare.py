#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is every column of a trace right?

  compare.py [options] truth [CASE...]    each case of the workload under weir, several under one recorder, against the facts that it prints
  compare.py [options] strace [CASE...]   each case under strace under weir: the same calls seen by both
  compare.py [options] programs           the same for programs of Debian: tar, dd, python3, fio, db_bench, redis-server
  compare.py [options] command CMD...     the same for any command
  compare.py [options] proc               bytes and counts against /proc/PID/io
  compare.py [options] check FACTS TRACE  a trace that was made elsewhere against its facts

Speaks TAP. Exit status 0: all agree; 1: something differs.
"""

import argparse
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import check
import traces

# strace prints what these return or get differently from what the kernel tells a tracer.
STRACE_SKIPS = {"rt_sigreturn", "restart_syscall"}
STRACE_OPTIONS = {"raw": ["-e", "raw=all"], "decoded": ["-v", "-xx", "-X", "raw", "-yy", "-s", "5000"]}
TOGETHER = 16  # cases under one recorder, whose rows are in memory together
IMPOSSIBLE = re.compile(r"errno 18446744073709\d{6}\)")  # an error number is below 4096
COMPAT_LOSS = (2,)  # the cause of what is counted of 32-bit calls, which the case compat makes
# What is recorded beside calls for a case.
WITH = {"mapped": "faults", "mapped_busy": "faults"}
# Another root or mount namespace: strace's paths are the host's.
OTHER_ROOT = {"chroot", "mounts", "overlay", "container"}


# Real programs, small enough for strace. They work in the current folder. With --large, as `make nightly` runs them, they do more.
SIZES = {"@tree@": ("netfilter", "."), "@places@": ("/usr/include/linux/netfilter /etc", "/usr/include /etc"), "@keys@": ("300", "1500")}
PROGRAMS = {
    "tar": ("tar", "tar cf w/t.tar -C /usr/include/linux @tree@ && tar tf w/t.tar | sort | tail -n 1 >/dev/null && tar xf w/t.tar -C w"),
    "find": ("find", "find @places@ -name 's*' -type f -newer /etc/passwd 2>/dev/null | head -n 5; rm -rf w/*"),
    "dd": ("dd", "dd if=/dev/zero of=w/a bs=7k count=50 conv=fsync 2>/dev/null; cp w/a w/b; cmp w/a w/b; mv w/b w/c; truncate -s 5 w/c"),
    "python": ("python3", "python3 -c 'import json,sqlite3,threading; d=sqlite3.connect(\"w/d\"); d.execute(\"create table t(a)\"); "
               "[d.execute(\"insert into t values(?)\",(i,)) for i in range(50)]; d.commit(); "
               "[t.start() for t in [threading.Thread(target=print,args=(i,)) for i in range(20)]]' >/dev/null"),
    "fio": ("fio", "fio --name=x --directory=w --size=4M --rw=randrw --bs=4k --ioengine=libaio --iodepth=4 --number_ios=300 "
            "--numjobs=2 --thread --direct=1 >/dev/null"),
    "db_bench": ("db_bench", "db_bench --benchmarks=fillrandom,readrandom --num=@keys@ --threads=3 --db=w/db --sync=1 >/dev/null 2>&1"),
    "redis": ("redis-check-rdb", "ln -s $(command -v redis-check-rdb) w/redis-server; cd w; ./redis-server --port 0 --unixsocket s "
              "--appendonly yes --daemonize no --save '' >/dev/null & for i in $(seq 200); do redis-cli -s s ping >/dev/null 2>&1 && break; sleep 0.05; done; "
              "redis-benchmark -s s -t set,get -n 300 -c 5 -q >/dev/null; redis-cli -s s shutdown nosave; wait"),
    "bash": ("bash", "bash -c 'for i in 1 2 3; do ( echo $i | cat | wc -c; exit $i ); done >w/o; exec 5<w/o; read -u 5 x; kill -0 $$'"),
}


class Runner:
    def __init__(self, options):
        self.weir, self.workload, self.dump = (os.path.realpath(p) for p in (options.weir, options.workload, options.dump))
        self.keep, self.limit, self.what, self.large = options.keep, options.limit, options.what, options.large
        self.ops = traces.Ops(self.dump)
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="weir-diff.", dir=options.dir))
        self.failed, self.skipped, self.passed = [], [], []

    def close(self):
        if not self.keep:
            shutil.rmtree(self.root, ignore_errors=True)
        else:
            print(f"# kept: {self.root}")

    def cases(self, wanted, groups=None):
        listed = subprocess.run([self.workload, "--list"], check=True, capture_output=True, text=True).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        return wanted or [n for n in names if not n.startswith("load_")]

    def folder(self, name, kind):
        work = os.path.join(self.root, f"{kind}-{name}")
        os.makedirs(os.path.join(work, "w"))
        return work

    def record(self, work, command, facts=None, timeout=120, beside=None):
        """weir record around a command, --with what is beside; (status, stderr text)."""
        trace = os.path.join(work, "trace")
        with open(facts or os.devnull, "wb") as out:
            done = subprocess.run([self.weir, "record", "-o", trace, *(["--with", beside] if beside else []), "--", *command], stdout=out, stderr=subprocess.PIPE,
                                  timeout=timeout, cwd=work, text=True, errors="replace")
        return done.returncode, done.stderr

    def result(self, name, problems, note=""):
        if problems:
            self.failed.append(name)
            print(f"not ok - {self.what}: {name}, {len(problems)} differences")
            for what, bad in problems[: self.limit]:
                print(f"#   {what[:240]}")
                for b in bad:
                    print(f"#       {b[:300]}")
        else:
            self.passed.append(name)
            print(f"ok - {self.what}: {name} {note}")
        sys.stdout.flush()

    def end(self):
        """The plan of TAP; the exit status."""
        print(f"1..{len(self.passed) + len(self.failed) + len(self.skipped)}")
        return 1 if self.failed else 0

    def skip(self, name, why):
        self.skipped.append(name)
        print(f"ok - {self.what}: {name} # SKIP {why}")

    def loss(self, trace, allow=()):
        return [("loss", [f"cause {row.get('cause')} events {row.get('events')}"]) for row in trace.loss
                if row.get("cause") not in allow]

    # ---- truth ----

    def truth(self, names):
        """Each case under a recorder of its own where it wants one, the others one after the other under a few."""
        own = {"never": self.truth_never, "attached": self.truth_attached, "reuse": self.truth_alone}
        for name in names:
            if name in own:
                own[name](name, self.folder(name, "truth"))
        rest = [name for name in names if name not in own]
        for beside in sorted({WITH.get(name, "") for name in rest}):
            some = [name for name in rest if WITH.get(name, "") == beside]
            for i in range(0, len(some), TOGETHER):
                self.truth_together(some[i:i + TOGETHER], beside)

    def truth_together(self, names, beside):
        out = self.folder(names[0], "together")
        script = ""
        for name in names:
            work = self.folder(name, "truth")
            words = shlex.join([self.workload, name, os.path.join(work, "w")])
            script += (f"(cd {shlex.quote(work)}; timeout --foreground 120 sh -c 'echo $$ >{out}/{name}.pid; exec \"$@\"' sh {words} "
                       f">{out}/{name}.facts 2>{out}/{name}.errors; echo $? >{out}/{name}.status)\n")
        with open(os.path.join(out, "script"), "w") as f:
            f.write(script)
        status, text = self.record(out, ["sh", "script"], timeout=1200, beside=beside)
        shutil.move(os.path.join(out, "trace"), os.path.join(out, "together.trace"))
        for what, said in ("status", str(status)), ("errors", text):
            with open(os.path.join(out, f"together.{what}"), "w") as f:
                f.write(said)
        self.grouped_cases(out, names, f"the recording of {names[0]} to {names[-1]}")

    def truth_alone(self, name, work):
        facts, target = os.path.join(work, "facts"), os.path.join(work, "w")
        mounted = small_file_system(work, target) if name == "reuse" else None
        try:
            status, text = self.record(work, [self.workload, name, target], facts)
        finally:
            if mounted:
                subprocess.run(["umount", target], check=False)
        if status == 77:
            return self.skip(name, why_skipped(text))
        if status:
            return self.result(name, [(f"exit status {status}", text.splitlines()[-5:])])
        self.check(name, facts, os.path.join(work, "trace"))

    def truth_never(self, _, work):
        trace, facts = (os.path.join(work, what) for what in ("trace", "facts"))
        with open(facts, "wb") as out:
            p = subprocess.Popen([self.weir, "record", "--duration", "3", "-o", trace, "--", self.workload, "never", os.path.join(work, "w")],
                                 stdout=out, stderr=subprocess.DEVNULL, cwd=work)
        try:
            p.wait(timeout=20)
        except subprocess.TimeoutExpired:
            p.kill()
            return self.result("never", [("record", ["did not stop at its duration"])])
        finally:
            subprocess.run(["pkill", "-f", os.path.join(work, "w")], check=False)
        self.check("never", facts, trace)

    def truth_attached(self, _, work):
        trace, facts = (os.path.join(work, what) for what in ("trace", "facts"))
        with open(facts, "wb") as out:
            target = subprocess.Popen([self.workload, "attached", os.path.join(work, "w")], stdout=out)
        while b"ready" not in open(facts, "rb").read() and target.poll() is None:
            time.sleep(0.05)
        p = subprocess.Popen([self.weir, "record", "-o", trace, "-p", str(target.pid)], stderr=subprocess.PIPE, cwd=work, text=True)
        traces.wait_attached(p)
        open(os.path.join(work, "w", "go"), "w").close()
        target.wait(timeout=60)
        try:
            text = p.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            return self.result("attached", [("record -p", ["did not end with its target"])])
        if p.returncode:
            return self.result("attached", [(f"exit status {p.returncode}", text.splitlines()[-3:])])
        self.check("attached", facts, trace)

    def check(self, name, facts_path, trace):
        if not isinstance(trace, traces.Trace):
            trace = traces.Trace(self.dump, trace)
        facts = traces.read_facts(facts_path)
        if not facts:
            return self.result(name, [("facts", ["none"])])
        allow = COMPAT_LOSS if name == "compat" else ()
        problems = check.check_facts(trace, facts, self.ops) + self.loss(trace, allow)
        if name == "append_two":
            problems += tiles(trace, b"log", 24000)
        if name == "race":
            problems += tiles(trace, b"race", 14000)
        if name == "compat":
            counted = sum(row.get("events", 0) for row in trace.loss if row.get("cause") in COMPAT_LOSS)
            if counted != 100:
                problems.append(("compat", [f"{counted} 32-bit calls counted instead of 100"]))
        if name == "thread_name":
            problems += names_by_size(trace)
        if name in ("mapped", "mapped_busy"):
            problems += check.check_majors(trace, facts)
        if name == "run_queue":
            problems += check.check_run_queue(trace)
        self.result(name, problems, f"{len(facts)} facts, {len(trace.ops)} rows")

    def grouped_cases(self, out, names, group="one recorder for all"):
        """The same of cases that ran elsewhere or before, most under one recorder: a folder of facts and traces, see qemu/machine.py."""
        def said(name, what):
            try:
                with open(os.path.join(out, f"{name}.{what}"), errors="replace") as f:
                    return f.read().strip()
            except FileNotFoundError:
                return ""

        together = [n for n in names if n != "attached"]
        parts = {}
        if together and said("together", "status") != "0":
            status, errors = said("together", "status"), said("together", "errors")
            self.result(group, [(f"exit status {status}", errors.splitlines()[-5:])])
        elif together:
            whole = traces.Trace(self.dump, os.path.join(out, "together.trace"))
            self.result(group, self.loss(whole, COMPAT_LOSS if "compat" in together else ()), f"{len(whole.ops)} rows")
            parts = whole.parts(b"workload", {n: int(said(n, "pid")) for n in together if said(n, "pid")})
            if "compat" in parts:
                parts["compat"].loss = whole.loss
        for name in names:
            status = said(name, "status")
            if status == "77":
                self.skip(name, why_skipped(said(name, "errors")))
            elif status != "0":
                self.result(name, [(f"exit status {status}", said(name, "errors").splitlines()[-5:])])
            elif name in together and name not in parts:
                self.result(name, [("trace", ["the program does not begin"])])
            else:
                self.check(name, os.path.join(out, name + ".facts"), parts.get(name) or os.path.join(out, name + ".trace"))

    # ---- strace ----

    def strace(self, names):
        """Several cases under one recorder, as to load its programs takes longer than a case; once with raw arguments, once with
        decoded ones, each time weir sees the very same calls."""
        runs = []
        for name in names:
            for mode, options in STRACE_OPTIONS.items():
                work = self.folder(name, "strace-" + mode)
                words = ["strace", "-f", "-o", os.path.join(work, "strace"), *options, self.workload, name, os.path.join(work, "w")]
                runs.append((name, mode, work, words))
        script = "".join(f"(cd {shlex.quote(work)}; timeout --foreground 120 {shlex.join(words)} 2>errors; echo $? >status)\n"
                         for _, _, work, words in runs)
        root = self.folder(names[0], "together")
        with open(os.path.join(root, "script"), "w") as f:
            f.write(script)
        status, text = self.record(root, ["sh", "script"], timeout=1200)
        if status:
            return self.result(f"the recording of {names[0]} to {names[-1]}", [(f"exit status {status}", text.splitlines()[-5:])])
        whole, calls = traces.Trace(self.dump, os.path.join(root, "trace"), looking="strace"), {}
        self.result(f"the recording of {names[0]} to {names[-1]}", self.loss(whole), f"{len(whole.ops)} rows")
        for _, _, work, _ in runs:
            calls[work] = traces.read_strace(os.path.join(work, "strace"))
        parts = whole.parts(b"workload", {work: next(iter(own)) for work, own in calls.items() if own})
        for name, mode, work, _ in runs:
            label = f"{name} ({mode})"
            status, text = (read(os.path.join(work, what)) for what in ("status", "errors"))
            if status == "77\n":
                self.skip(label, why_skipped(text))
            elif status != "0\n":
                self.result(label, [(f"exit status {status}", text.splitlines()[-5:])])
            elif work not in parts:
                self.result(label, [("trace", ["the program does not begin"])])
            else:
                self.compare(label, name, mode, calls[work], parts[work])

    def strace_command(self, name, command):
        """A command once with raw arguments, once with decoded ones."""
        for mode, options in STRACE_OPTIONS.items():
            label = f"{name} ({mode})"
            work = self.folder(re.sub(r"\W+", "-", name), "strace-" + mode)
            out = os.path.join(work, "strace")
            try:
                status, text = self.record(work, ["strace", "-f", "-o", out, *options, *command])
            except subprocess.TimeoutExpired:
                self.result(label, [("record", ["did not end in 120 s"])])
                continue
            if status:
                self.result(label, [(f"exit status {status}", text.splitlines()[-5:])])
            else:
                self.compare(label, name, mode, traces.read_strace(out), traces.Trace(self.dump, os.path.join(work, "trace"), looking="strace"))

    def programs(self):
        for name, (needs, script) in PROGRAMS.items():
            if not shutil.which(needs):
                self.skip(name, f"{needs} is not installed")
                continue
            for word, (small, large) in SIZES.items():
                script = script.replace(word, large if self.large else small)
            self.strace_command(name, ["sh", "-c", script])

    def is_of_entry(self, call):
        """A thread that another one's exit_group() kills, as jemalloc's: at its last stop strace may be given the entry of a call
        instead of the end, and takes the call's number for what was returned."""
        names = {call.op, "exit_group"} & self.ops.by_name.keys()
        return call.ret in (self.ops.by_name[name]["code"] for name in names) or IMPOSSIBLE.search(call.line)

    def compare(self, label, name, mode, calls, trace):
        problems, count = self.loss(trace), 0
        for tid, own in calls.items():
            rows = trace.by_tid.get(tid, [])
            first = own[0]
            if first.op == "execve":  # before it the child ran strace's code
                at = next((i for i, r in enumerate(rows) if r["name"] == "execve" and r.get("ret") == 0), 0)
                rows = rows[at:]
            pairs, extra, missing = check.align(rows, own)
            for row in extra:
                # A thread that is killed while strace holds it on its way into a call: the call is never made, strace prints
                # nothing, weir says that it was denied.
                held = row.get("ret") == -errno.ENOSYS and row.get("status", 0) & traces.DENIED
                if row["name"] not in STRACE_SKIPS and not held:
                    problems.append((f"{row['name']} ret {row.get('ret')} of {tid}", ["weir has a row, strace no line"]))
            for call in missing:
                # A call on which seccomp kills the thread: no tracepoint tells of it.
                if call.op not in STRACE_SKIPS and not call.died:
                    problems.append((f"{tid} {call.line}", ["strace has a line, weir no row"]))
            for row, call in pairs:
                count += 1
                if call is own[-1] and self.is_of_entry(call):
                    continue
                op = self.ops.by_name.get(call.op, {"roles": [], "ret": "INT"})
                if mode == "raw":
                    bad = check.check_raw(row, call, op["roles"], op["ret"])
                else:
                    bad = check.check_decoded(row, call, op["roles"], op["ret"], name not in OTHER_ROOT)
                if bad:
                    problems.append((f"{tid} {call.line}", bad))
        self.result(label, problems, f"{count} calls")

    # ---- /proc/PID/io ----

    def proc(self):
        """A process that does nothing but reads and writes, held at its end while its io is read."""
        problems = []
        work = self.folder("worker", "proc")
        trace_path = os.path.join(work, "trace")
        done = os.path.join(work, "done")
        script = (f"import os,signal,time\nsignal.signal(signal.SIGINT,signal.SIG_IGN)\nf=os.open('{work}/w/f',66,0o600)\nb=b'x'*70000\n"
                  "for i in range(2000):\n os.pwrite(f,b[:1+i*31%65000],i*100)\n os.pread(f,1+i*17%65000,i*50)\n"
                  " os.writev(f,[b[:i%300],b[:7]])\n"
                  f"os.mkdir('{done}')\ntime.sleep(600)\n")
        p = subprocess.Popen([self.weir, "record", "-o", trace_path, "--", sys.executable, "-S", "-c", script],
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=work)
        for _ in range(1200):
            time.sleep(0.1)
            if os.path.isdir(done) or p.poll() is not None:
                break
        child = [int(x) for x in subprocess.run(["pgrep", "-P", str(p.pid), "-f", "os.pwrite"], capture_output=True, text=True).stdout.split()]
        if not child:
            p.kill()
            return self.result("counts and bytes", [("proc", ["the worker was not found"])])
        time.sleep(0.2)
        said = dict(re.findall(r"(\w+): (\d+)", open(f"/proc/{child[0]}/io").read()))
        os.kill(child[0], signal.SIGTERM)
        p.wait(timeout=120)
        trace = traces.Trace(self.dump, trace_path)
        own = [r for r in trace.ops if r["tid"] == child[0]]
        reads = {"read", "pread64", "readv", "preadv", "preadv2"}
        writes = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
        got = {
            "syscr": sum(r["name"] in reads for r in own),
            "syscw": sum(r["name"] in writes for r in own),
            "rchar": sum(r.get("bytes", 0) for r in own if r["name"] in reads),
            "wchar": sum(r.get("bytes", 0) for r in own if r["name"] in writes),
        }
        for key, value in got.items():
            difference = int(said[key]) - value
            # execve reads the heads of the program and its interpreter inside the kernel: counted there, but no calls.
            slack = {"rchar": 4096, "syscr": 8}.get(key, 0)
            if difference < 0 or difference > slack:
                problems.append((key, [f"weir {value}, /proc/PID/io {said[key]}"]))
        print("# /proc/PID/io: " + ", ".join(f"{k} {v}/{said[k]}" for k, v in got.items()))
        self.result("counts and bytes", problems + self.loss(trace))


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def file_is(row, *ends):
    name = traces.text_of((row.get("file") or {}).get("path")) or b""
    return any(name.endswith(e) for e in ends)


def tiles(trace, name, total):
    """The writes to a file, put side by side, cover it once; contested ones are allowed to be wrong but must say so."""
    rows = [r for r in trace.ops if r["name"] == "write" and file_is(r, b"/" + name)]
    at, bad, contested = 0, [], sum(bool(r.get("status", 0) & traces.CONTESTED) for r in rows)
    wrong = 0
    for r in sorted(rows, key=lambda r: r.get("pos", -1)):
        if r.get("pos") != at:
            wrong += 1
        at = (r.get("pos") or 0) + r.get("bytes", 0)
    if wrong > contested * 2:
        bad.append((name.decode(), [f"{wrong} of {len(rows)} writes overlap or leave gaps, {contested} say contested"]))
    if sum(r.get("bytes", 0) for r in rows) != total:
        bad.append((name.decode(), [f"{sum(r.get('bytes', 0) for r in rows)} bytes instead of {total}"]))
    return bad


def names_by_size(trace):
    """Case thread_name: calls of 1, 2, 3, 4 bytes were made under four names (the first is the program's)."""
    want = {2: "second-name", 3: "third-name", 4: "first name"}
    bad = [r for r in trace.ops if r["name"] == "pwrite64" and r.get("size") in want and r.get("comm") != want[r["size"]]]
    return [("thread_name", [f"{len(bad)} calls under a wrong name, e.g. {bad[0].get('comm')} for {want[bad[0]['size']]}"])] if bad else []


def why_skipped(text):
    """The workload's own word of what the machine lacks, among the recorder's."""
    m = re.search(r"workload: skipped: (.*)", text)
    return m[1] if m else "the machine lacks something"


def small_file_system(work, target):
    """A small ext4 where inode numbers are used again at once; None where loop devices are not available."""
    image = os.path.join(work, "image")
    with open(image, "wb") as f:
        f.truncate(8 << 20)
    for command in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, target]):
        if not shutil.which(command[0]) or subprocess.run(command, capture_output=True).returncode:
            return None
    return target


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    build = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "build")
    parser.add_argument("--weir", default=os.path.join(build, "src/cli/weir"))
    parser.add_argument("--workload", default=os.path.join(build, "tests/programs/workload"))
    parser.add_argument("--dump", default=os.path.join(build, "tests/oracles/trace_dump"))
    parser.add_argument("--dir", default=os.environ.get("TMPDIR", "/var/tmp"))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--large", action="store_true", help="programs: more work")
    parser.add_argument("--limit", type=int, default=12, help="differences shown for each case")
    parser.add_argument("what", choices=["truth", "strace", "programs", "command", "proc", "check"])
    parser.add_argument("args", nargs="*")
    options = parser.parse_intermixed_args()
    if options.what != "check" and os.geteuid():
        print("1..0 # SKIP needs root to record")
        return 0
    runner = Runner(options)
    try:
        if options.what == "truth":
            runner.truth(runner.cases(options.args))
        elif options.what == "strace":
            if not shutil.which("strace"):
                print("1..0 # SKIP no strace here")
                return 0
            names = [n for n in runner.cases(options.args) if n not in ("never", "compat", "reuse", "attached")]
            for i in range(0, len(names), TOGETHER):
                runner.strace(names[i:i + TOGETHER])
        elif options.what == "programs":
            runner.programs()
        elif options.what == "command":
            runner.strace_command(os.path.basename(options.args[0]), options.args)
        elif options.what == "proc":
            runner.proc()
        else:
            name = re.sub(r"\..*", "", os.path.basename(options.args[0]))
            runner.check(name, options.args[0], options.args[1])
    finally:
        runner.close()
    return runner.end()


if __name__ == "__main__":
    sys.exit(main())
