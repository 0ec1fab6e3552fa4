# SPDX-License-Identifier: Apache-2.0
"""The workloads under each tracer. A run returns calls or requests, the program's own CPU time, and the elapsed time."""

import json
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


# Measured by others with a selection, or on a database that is slow to create: run under few tools.
CITED = ("alone", "floor", "weir")


def tool_share(total, own):
    """CPU of the tool: of all its waited-for children without the program. Some tools do not wait for the program."""
    return total - own if total >= own else total


class Load:
    """A case of tests/programs: it measures its own loop, so that start-up does not count."""

    unit = "call"
    only = None

    def __init__(self, name, case, calls, threads=1, size=1, main_call=None):
        self.name, self.case, self.calls, self.threads, self.size, self.main_call = name, case, calls, threads, size, main_call

    def missing(self):
        return None

    def run(self, tool, env, work, factor):
        calls = max(int(self.calls * factor * tool.scale), 7000 // self.threads)
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


class Nothing:
    """A command that ends at once, which leaves the tool's start and stop."""

    name = "nothing"
    only = None

    def run(self, tool, env, work, factor):
        out, cpu_file = os.path.join(work, "out"), os.path.join(work, "cpu")
        wall = time.monotonic()
        status, text, err, total, memory = tools.run(tool.command([env.workload, "--cpu", cpu_file, "/bin/true"], out), work)
        wall = time.monotonic() - wall
        if status or not os.path.exists(cpu_file):
            return None, (err or text)[-300:]
        _, user, system, _ = (int(x) for x in open(cpu_file).read().split())
        own = (user + system) / 1e9
        return Run(1, own, tool_share(total, own), wall, memory, {}), None


class Command:
    """A program from Debian that prints its number of operations and their time: read(text, amount)."""

    unit = "operation"

    def __init__(self, name, needs, argv, read, amount, prepare=None, only=None):
        self.name, self.needs, self.argv, self.read, self.amount, self.prepare = name, needs, argv, read, amount, prepare
        self.only = only

    def missing(self):
        return None if shutil.which(self.needs) else f"{self.needs} is not installed"

    def run(self, tool, env, work, factor):
        out, cpu_file = os.path.join(work, "out"), os.path.join(work, "cpu")
        amount = max(int(self.amount * factor * max(tool.scale, 1 / 4)), 1000)
        command = [env.workload, "--cpu", cpu_file, *(a.format(amount=amount, work=work) for a in self.argv)]
        if self.prepare:
            self.prepare(work)
        status, text, err, total, memory = tools.run(tool.command(command, out), work)
        if not os.path.exists(cpu_file) or status:
            return None, (err or text)[-300:]
        _, user, system, _ = (int(x) for x in open(cpu_file).read().split())
        own = (user + system) / 1e9
        try:
            units, wall, main_cpu = self.read(text + err)
        except (ValueError, KeyError, IndexError):
            return None, "its figures were not understood"
        return Run(units, own, tool_share(total, own), wall, memory, tool.result(out, err, None), main_cpu), None


class Redis:
    """A private server on a Unix socket; its CPU per request comes from its own INFO. With `files` it logs everything, and only
    the calls on its files are recorded, selected by path, as DIO was measured."""

    unit = "request"

    def __init__(self, name, fsync, requests, files=False):
        self.name, self.fsync, self.requests, self.files, self.only = name, fsync, requests, files, CITED if files else None

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
                   "--save", "", "--daemonize", "no", "--logfile", os.path.join(work, "log"),
                   *(["--loglevel", "debug"] if self.files else [])]
        with open(os.path.join(work, "stderr"), "w+b") as err:
            p = subprocess.Popen(tool.command(command, out, work if self.files else None), cwd=work, stdout=subprocess.DEVNULL, stderr=err, stdin=subprocess.DEVNULL)
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
            said = subprocess.run(["redis-benchmark", "-s", socket, "-t", "set", "-n", str(requests), "-c", "20", "-d", "100", "--csv"],
                                  capture_output=True, text=True, check=False).stdout
            m = re.search(r'^"SET","([\d.]+)"', said, re.M)
            after = self.info(socket)
            own_all = sum(after.values())
            subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True)
            _, _, used = os.wait4(p.pid, 0)
            p.returncode = 0
            memory.done = True
            err.seek(0)
            text = err.read().decode(errors="replace")
        if not m:
            return None, "redis-benchmark gave no figure"
        wall = requests / float(m.group(1))
        own = sum(after.values()) - sum(before.values())
        tool_cpu = tool_share(used.ru_utime + used.ru_stime, own_all)
        return Run(requests, own, tool_cpu, wall, memory.most, tool.result(out, text, None)), None


FIO_BYTES = 128 << 20


def fio_prepare(work):
    """The file exists and is cached before the tool starts, so that creating it counts for no tool."""
    with open(os.path.join(work, "x.0.0"), "wb") as f:
        for _ in range(FIO_BYTES >> 20):
            f.write(b"weir" * (1 << 18))
        f.flush()
        os.fsync(f.fileno())


def fio_read(text):
    job = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]["jobs"][0]
    wall = job["job_runtime"] / 1e3
    return job["read"]["total_ios"] + job["write"]["total_ios"], wall, (job["usr_cpu"] + job["sys_cpu"]) / 100 * wall


def fio(name, direct, amount):
    return Command(name, "fio", ["fio", "--name=x", "--directory={work}", f"--size={FIO_BYTES}", "--rw=randrw", "--bs=4k",
                                 "--ioengine=psync", "--thread", f"--direct={direct}", "--number_ios={amount}", "--output-format=json",
                                 "--fallocate=none", "--randrepeat=1", "--io_size=100g", "--invalidate=0"], fio_read, amount, fio_prepare)


def rocksdb_read(text):
    found = re.findall(r"([\d.]+) seconds (\d+) operations", text)
    return sum(int(n) for _, n in found), sum(float(s) for s, _ in found), None


YCSB_KEYS = 200000
YCSB = ["db_bench", "--threads=8", "--key_size=8", "--value_size=1024", "--compression_type=none", "--cache_size=8388608",
        "--use_direct_reads=true", f"--num={YCSB_KEYS}", "--write_buffer_size=16777216"]


def ycsb_prepare(work):
    """The database, 220 MiB, created once and copied for each run, which modifies it; all of it is on disk by then."""
    made = os.path.join(os.path.dirname(work), "ycsb")
    if not os.path.exists(made):
        subprocess.run([*YCSB, "--threads=1", "--benchmarks=fillrandom,compact", f"--db={made}"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    shutil.copytree(made, os.path.join(work, "db"))
    os.sync()


NOTHING = Nothing()
WORKLOADS = [
    Load("pread 1 B", "load_pread", 1000000, size=1, main_call="pread64"),
    Load("pread 4 KiB", "load_pread", 600000, size=4096, main_call="pread64"),
    Load("pread 1 B, 2 threads", "load_pread", 300000, threads=2, size=1, main_call="pread64"),
    Load("pread 4 KiB, 2 threads", "load_pread", 250000, threads=2, size=4096, main_call="pread64"),
    # Far more threads than CPUs: the recorder must get CPU time among them.
    Load("pread 1 B, 64 threads", "load_pread", 20000, threads=64, size=1, main_call="pread64"),
    Load("pread 1 B, 200 threads", "load_pread", 7000, threads=200, size=1, main_call="pread64"),
    Load("metadata", "load_meta", 140000),
    Load("metadata, 200 threads", "load_meta", 1400, threads=200),
    fio("fio cached", 0, 400000),
    fio("fio direct", 1, 15000),
    Redis("Redis, everysec", "everysec", 200000),
    Redis("Redis, always", "always", 40000),
    Redis("Redis, its files alone", "everysec", 200000, files=True),
    Command("RocksDB", "db_bench", ["db_bench", "--benchmarks=fillrandom,readrandom", "--threads=4", "--cache_size=1048576",
                                    "--value_size=400", "--compression_type=none", "--num={amount}", "--reads={amount}",
                                    "--db={work}/db", "--write_buffer_size=8388608"], rocksdb_read, 40000),
    Command("RocksDB, YCSB-A on disk", "db_bench", [*YCSB, "--benchmarks=readrandomwriterandom", "--readwritepercent=50",
                                                    "--use_existing_db=true", "--reads={amount}", "--db={work}/db"],
            rocksdb_read, 8000, ycsb_prepare, CITED),
]
