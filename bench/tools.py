# SPDX-License-Identifier: Apache-2.0
"""The tracers that the bench compares, each started around a command: its cost, its output, its losses."""

import json
import os
import re
import shutil
import subprocess
import threading
import time

BPFTRACE = """
tracepoint:raw_syscalls:sys_enter /@go[pid]/ { @start[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /@start[tid]/ {
	printf("%d %d %d %d %d\\n", pid, tid, args->id, args->ret, nsecs - @start[tid]);
	delete(@start[tid]);
}
tracepoint:sched:sched_process_fork /@go[pid]/ { @go[args->child_pid] = 1; }
BEGIN { @go[cpid] = 1; }
END { clear(@start); clear(@go); }
"""


class Tool:
    """name: as in the table; scale: fraction of the workload's calls to make under it (slow tools get fewer)."""

    name = ""
    scale = 1.0
    loops_only = False

    def __init__(self, env):
        self.env = env

    def missing(self):
        """The reason why it cannot run here, or None."""
        return None

    def command(self, command, out, folder=None):
        """The command under the tool; folder: calls not about files in it are excluded, if the tool supports that."""
        raise NotImplementedError

    def before(self, work):
        """A process that must run during the workload."""

    def after(self):
        pass

    def result(self, out, stderr, name):
        """{"events": N, "lost": N, "bytes": N}; events are rows of the call `name`, if given."""
        return {}

    def size(self, out):
        return os.path.getsize(out) if os.path.exists(out) else 0


class Vanilla(Tool):
    name = "alone"

    def command(self, command, out, folder=None):
        return command


class Floor(Tool):
    name = "floor"

    def missing(self):
        return None if os.path.exists(self.env.floor) else "not built (needs clang and libbpf)"

    def command(self, command, out, folder=None):
        return [self.env.floor, "-o", out, "--", *command]

    def result(self, out, stderr, name):
        m = re.search(r'\{"ops": (\d+), "lost": (\d+)\}', stderr)
        return {"events": int(m.group(1)), "lost": int(m.group(2)), "bytes": self.size(out)} if m else {}


class Weir(Tool):
    name = "weir"
    options = ()

    def missing(self):
        return None if os.path.exists(self.env.weir) else "not built"

    def command(self, command, out, folder=None):
        return [self.env.weir, "record", *self.options, *(["-P", folder] if folder else []), "-o", out, "--", *command]

    def result(self, out, stderr, name):
        done = subprocess.run([self.env.dump, "--count", out], capture_output=True, text=True)
        if done.returncode:
            return {"error": done.stderr.strip()}
        count = json.loads(done.stdout)
        m = re.search(r"held for ([\d.]+) ?(\w+)", stderr)
        return {"events": count["ops"], "calls": count["by_op"].get(name), "lost": sum(count["loss"].values()),
                "causes": count["loss"], "bytes": count["bytes"], "without_file": count["without_file"],
                "held": m.group(0) if m else None}


class WeirLossless(Weir):
    name = "weir --lossless"
    options = ("--lossless",)


class WeirContent(Weir):
    """Hashes the bytes that calls move; run only if --tools names it."""

    name = "weir --content"
    options = ("--content",)


class Bystander(Weir):
    """A program that is not recorded, while weir records another one."""

    name = "weir, of another"
    loops_only = True

    def command(self, command, out, folder=None):
        return command

    def before(self, work):
        with open(os.devnull, "wb") as null:
            self.other = subprocess.Popen([self.env.weir, "record", *self.options, "-o", os.path.join(work, "other"), "--", "sleep", "1000"],
                                          stdout=null, stderr=null, stdin=null)
        for _ in range(200):  # its command starts once weir is attached
            time.sleep(0.05)
            if "sleep" in children(self.other.pid):
                return
        raise RuntimeError("weir did not start beside the program")

    def after(self):
        self.other.send_signal(2)
        self.other.wait(20)

    def result(self, out, stderr, name):
        return {}


def children(pid):
    """The names of a process's children."""
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            for child in f.read().split():
                try:
                    with open(f"/proc/{child}/comm") as c:
                        names.append(c.read().strip())
                except OSError:
                    pass
    return names


class Strace(Tool):
    name = "strace -f"
    scale = 1 / 15

    def missing(self):
        return None if shutil.which("strace") else "strace is not installed"

    def command(self, command, out, folder=None):
        return ["strace", "-f", "-ttt", "-T", "-o", out, *command]

    def result(self, out, stderr, name):
        return {"events": lines(out), "lost": 0, "bytes": self.size(out)}


class StraceCount(Strace):
    name = "strace -c"

    def command(self, command, out, folder=None):
        return ["strace", "-f", "-c", "-o", out, *command]

    def result(self, out, stderr, name):
        text = open(out, errors="replace").read() if os.path.exists(out) else ""
        m = re.search(r"\s(\d+)(?:\s+\d+)? total", text)
        return {"events": int(m.group(1)) if m else 0, "lost": 0, "bytes": self.size(out)}


class PerfTrace(Tool):
    name = "perf trace"
    scale = 1 / 8

    def missing(self):
        return None if shutil.which("perf") else "perf is not installed"

    def command(self, command, out, folder=None):
        return ["perf", "trace", "-o", out, "--", *command]

    def result(self, out, stderr, name):
        lost = 0
        if os.path.exists(out):
            with open(out, errors="replace") as f:
                for line in f:
                    if "LOST" in line:
                        m = re.search(r"LOST (\d+) events", line)
                        lost += int(m.group(1)) if m else 0
        # LOST counts the halves (enter, exit) of calls.
        return {"events": lines(out), "lost": lost // 2, "bytes": self.size(out)}


class PerfRecord(Tool):
    name = "perf record"

    def missing(self):
        return None if shutil.which("perf") else "perf is not installed"

    def command(self, command, out, folder=None):
        return ["perf", "record", "-q", "-m", "4096", "-o", out, "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit", "--", *command]

    def result(self, out, stderr, name):
        stats = subprocess.run(["perf", "report", "-i", out, "--stats"], capture_output=True, text=True, errors="replace").stdout
        samples = sum(int(n) for n in re.findall(r"SAMPLE events:\s+(\d+)", stats.split("stats:")[1] if "stats:" in stats else stats))
        lost = re.search(r"LOST_SAMPLES events:\s+(\d+)", stats)
        records = re.findall(r"LOST events:\s+(\d+)", stats)
        said = re.search(r"lost (\d+) (?:chunks|samples|events)", stderr)
        amount = int(said.group(1)) if said else 0
        if (lost or records) and not amount:
            script = subprocess.run(["perf", "script", "-i", out, "--show-lost-events"], capture_output=True, text=True, errors="replace").stdout
            amount = sum(int(n) for n in re.findall(r"PERF_RECORD_LOST.* lost (\d+)", script))
        return {"events": samples // 2, "lost": amount // 2, "bytes": self.size(out)}


class Bpftrace(Tool):
    name = "bpftrace printf"
    scale = 1 / 4

    def missing(self):
        return None if shutil.which("bpftrace") else "bpftrace is not installed"

    def command(self, command, out, folder=None):
        return ["bpftrace", "-q", "-o", out, "-e", BPFTRACE, "-c", " ".join(command)]

    def result(self, out, stderr, name):
        lost = sum(int(n) for n in re.findall(r"Lost (\d+) events", stderr))
        if os.path.exists(out):
            with open(out, errors="replace") as f:
                lost += sum(int(n) for line in f if "Lost" in line for n in re.findall(r"Lost (\d+) events", line))
        return {"events": lines(out), "lost": lost, "bytes": self.size(out)}


TOOLS = [Vanilla, Floor, Weir, WeirLossless, Bystander, Strace, StraceCount, PerfTrace, PerfRecord, Bpftrace]
ALL = [*TOOLS, WeirContent]  # the last only if --tools names it


def lines(path):
    count = 0
    if os.path.exists(path):
        with open(path, "rb") as f:
            while block := f.read(1 << 20):
                count += block.count(b"\n")
    return count


class Memory(threading.Thread):
    """The peak anonymous memory of a process, polled: what a tool keeps in addition to files."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.done = pid, 0, False
        self.start()

    def run(self):
        while not self.done:
            try:
                with open(f"/proc/{self.pid}/status") as f:
                    m = re.search(r"RssAnon:\s+(\d+)", f.read())
                    if m:
                        self.most = max(self.most, int(m.group(1)) * 1024)
            except OSError:
                return
            time.sleep(0.1)


def run(argv, cwd, env=None, timeout=600):
    """Runs to the end: (status, stdout, stderr, CPU seconds of it and of its waited-for children, memory)."""
    with open(os.path.join(cwd, "stdout"), "w+b") as out, open(os.path.join(cwd, "stderr"), "w+b") as err:
        p = subprocess.Popen(argv, cwd=cwd, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=env)
        memory = Memory(p.pid)
        timer = threading.Timer(timeout, p.kill)
        timer.start()
        _, status, used = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = status
        memory.done = True
        out.seek(0)
        err.seek(0)
        return (status, out.read().decode(errors="replace"), err.read().decode(errors="replace"), used.ru_utime + used.ru_stime,
                memory.most)
