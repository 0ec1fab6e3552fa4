# SPDX-License-Identifier: Apache-2.0
"""What is done under each tracer. A run gives calls or requests, its CPU time alone, and the time on the clock."""

import os
import re
import shutil
import signal
import subprocess
import time

import tools


class Run:
    """One workload under one tool: per unit (a call, a request) CPU of the program and of the tool."""

    def __init__(self, units, program_cpu, tool_cpu, wall, memory, kept, main_cpu=None):
        self.units, self.program_cpu, self.tool_cpu, self.wall, self.memory, self.kept = units, program_cpu, tool_cpu, wall, memory, kept
        self.main_cpu = program_cpu if main_cpu is None else main_cpu


def tool_share(total, own):
    """CPU of the tool: of all that it waited for without the program. Some tools do not wait for the program."""
    return total - own if total >= own else total


class Load:
    """A case of tests/programs: it measures its own loop, so that start-up does not count."""

    unit = "call"

    def __init__(self, name, case, calls, threads=1, size=1, main_call=None):
        self.name, self.case, self.calls, self.threads, self.size, self.main_call = name, case, calls, threads, size, main_call

    def missing(self):
        return None

    def run(self, tool, env, work, factor):
        calls = max(int(self.calls * factor * tool.scale), 7000)
        environ = dict(os.environ, WORK_CALLS=str(calls), WORK_THREADS=str(self.threads), WORK_SIZE=str(self.size))
        out, cpu_file = os.path.join(work, "out"), os.path.join(work, "cpu")
        command = [env.workload, "--cpu", cpu_file, env.workload, self.case, work]
        tool.before(work)
        try:
            status, text, err, total, memory = tools.run(tool.command(command, out), work, environ)
        finally:
            tool.after()
        m = re.search(r"load calls=(\d+) wall_ns=(\d+) cpu_ns=(\d+)", text)
        if not m:
            return None, (err or text)[-300:]
        _, user, system, _ = (int(x) for x in open(cpu_file).read().split())
        kept = tool.result(out, err, self.main_call)
        kept["expected"] = int(m.group(1))
        own = (user + system) / 1e9
        return Run(int(m.group(1)), own, tool_share(total, own), int(m.group(2)) / 1e9, memory, kept, int(m.group(3)) / 1e9), None


class Command:
    """A program from Debian that says itself how many operations it did."""

    unit = "operation"

    def __init__(self, name, needs, argv, pattern, amount):
        self.name, self.needs, self.argv, self.pattern, self.amount = name, needs, argv, pattern, amount

    def missing(self):
        return None if shutil.which(self.needs) else f"{self.needs} is not installed"

    def run(self, tool, env, work, factor):
        out, cpu_file = os.path.join(work, "out"), os.path.join(work, "cpu")
        amount = max(int(self.amount * factor * max(tool.scale, 1 / 4)), 1000)
        command = [env.workload, "--cpu", cpu_file, *(a.format(amount=amount, work=work) for a in self.argv)]
        status, text, err, total, memory = tools.run(tool.command(command, out), work)
        if not os.path.exists(cpu_file) or status:
            return None, (err or text)[-300:]
        wall, user, system, _ = (int(x) for x in open(cpu_file).read().split())
        units = sum(int(float(n)) for n in re.findall(self.pattern, text + err)) or amount
        own = (user + system) / 1e9
        return Run(units, own, tool_share(total, own), wall / 1e9, memory, tool.result(out, err, None)), None


class Redis:
    """A private server on a Unix socket; its CPU per request comes from its own INFO."""

    unit = "request"

    def __init__(self, name, fsync, requests):
        self.name, self.fsync, self.requests = name, fsync, requests

    def missing(self):
        for program in ("redis-check-rdb", "redis-benchmark", "redis-cli"):
            if not shutil.which(program):
                return "redis-tools is not installed"
        return None

    def info(self, socket):
        text = subprocess.run(["redis-cli", "-s", socket, "info"], capture_output=True, text=True).stdout
        return {k: float(v) for k, v in re.findall(r"(used_cpu_sys|used_cpu_user):([\d.]+)", text)}

    def run(self, tool, env, work, factor):
        server, socket, out = os.path.join(work, "redis-server"), os.path.join(work, "s"), os.path.join(work, "out")
        requests = max(int(self.requests * factor * max(tool.scale, 1 / 4)), 2000)
        if not os.path.exists(server):
            os.symlink(shutil.which("redis-check-rdb"), server)
        command = [server, "--port", "0", "--unixsocket", socket, "--dir", work, "--appendonly", "yes", "--appendfsync", self.fsync,
                   "--save", "", "--daemonize", "no", "--logfile", os.path.join(work, "log")]
        with open(os.path.join(work, "stderr"), "w+b") as err:
            p = subprocess.Popen(tool.command(command, out), cwd=work, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL)
            memory = tools.Memory(p.pid)
            for _ in range(200):
                if os.path.exists(socket) and self.info(socket):
                    break
                time.sleep(0.05)
            else:
                p.send_signal(signal.SIGINT)
                return None, "the server did not start"
            time.sleep(0.3)
            before = self.info(socket)
            wall = time.monotonic()
            subprocess.run(["redis-benchmark", "-s", socket, "-t", "set", "-n", str(requests), "-c", "20", "-d", "100", "-q"],
                           stdout=subprocess.DEVNULL, check=False)
            wall = time.monotonic() - wall
            after = self.info(socket)
            own_all = sum(after.values())
            subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True)
            _, _, used = os.wait4(p.pid, 0)
            p.returncode = 0
            memory.done = True
            err.seek(0)
            text = err.read().decode(errors="replace")
        own = sum(after.values()) - sum(before.values())
        tool_cpu = max(used.ru_utime + used.ru_stime - own_all, 0)
        return Run(requests, own, tool_cpu, wall, memory.most, tool.result(out, text, None)), None


def fio(name, direct, amount):
    return Command(name, "fio", ["fio", "--name=x", "--directory={work}", "--size=128M", "--rw=randrw", "--bs=4k", "--ioengine=psync",
                                 "--thread", f"--direct={direct}", "--number_ios={amount}", "--output-format=terse", "--fallocate=none",
                                 "--randrepeat=1", "--io_size=100g", "--create_on_open=0"], r"(?!x)x", amount)


WORKLOADS = [
    Load("pread 1 B", "load_pread", 1000000, size=1, main_call="pread64"),
    Load("pread 4 KiB", "load_pread", 600000, size=4096, main_call="pread64"),
    Load("pread 1 B, 2 threads", "load_pread", 600000, threads=2, size=1, main_call="pread64"),
    Load("pread 4 KiB, 2 threads", "load_pread", 400000, threads=2, size=4096, main_call="pread64"),
    Load("metadata", "load_meta", 140000),
    fio("fio cached", 0, 200000),
    fio("fio direct", 1, 20000),
    Redis("Redis, everysec", "everysec", 200000),
    Redis("Redis, always", "always", 60000),
    Command("RocksDB", "db_bench", ["db_bench", "--benchmarks=fillrandom,readrandom", "--threads=4", "--cache_size=1048576",
                                    "--value_size=400", "--compression_type=none", "--num={amount}", "--reads={amount}",
                                    "--db={work}/db", "--write_buffer_size=8388608"], r"(?!x)x", 60000),
]
