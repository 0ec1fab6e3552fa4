#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What weir holds, lets go and refuses: file capabilities, sudo, root, planted libraries.

  privilege.py --weir WEIR --workload PROGRAM --evil LIBRARY [--duckdb LIBRARY] [--unit FILE] [CASE...]

Each case starts the real program with the real privileges and looks at /proc/PID/status of it and of what it starts, or plays
the user who wants more than he was given. Speaks TAP.
"""
import argparse
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracles"))
import traces  # noqa: E402

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
GRANT = "cap_bpf,cap_perfmon,cap_dac_read_search,cap_sys_ptrace"
CAPS = {name: 1 << number for name, number in
        {"chown": 0, "dac_override": 1, "dac_read_search": 2, "kill": 5, "setgid": 6, "setuid": 7, "sys_ptrace": 19, "sys_admin": 21, "sys_nice": 23, "sys_resource": 24,
         "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}.items()}
CASES = {}


def mask(*names):
    return sum(CAPS[n] for n in names)


RECORDER = mask("bpf", "sys_ptrace", "dac_read_search", "checkpoint_restore", "kill", "sys_nice")
READER = mask("dac_override", "dac_read_search")
SERVER = READER | mask("chown", "setuid", "setgid", "kill", "sys_admin")  # for processes of SQL, which have less than root


def case(f):
    CASES[f.__name__] = f
    return f


class Skip(Exception):
    pass


class Bad(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Bad(text)


class Status:
    """/proc/PID/status, of a process or as a program printed it."""

    def __init__(self, text):
        self.fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        self.uids = set(self.fields["Uid"].split())
        self.gids = set(self.fields["Gid"].split())
        self.eff, self.prm, self.inh, self.bnd, self.amb = (int(self.fields["Cap" + n], 16) for n in ("Eff", "Prm", "Inh", "Bnd", "Amb"))
        self.locked, self.filtered = self.fields["NoNewPrivs"] == "1", self.fields["Seccomp"] == "2"

    def __str__(self):
        return " ".join(f"{n}={self.fields[n].strip()}" for n in
                        ("Uid", "CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"))


def status_of(pid):
    with open(f"/proc/{pid}/status") as f:
        return Status(f.read())


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


class Bench:
    def __init__(self, options, root):
        self.options, self.root, self.number = options, root, 0
        self.weir, self.workload = os.path.realpath(options.weir), os.path.realpath(options.workload)
        self.evil = os.path.realpath(options.evil)
        self.duckdb = options.duckdb if options.duckdb and os.path.exists(options.duckdb) else None
        self._granted = {}
        with open(self.weir, "rb") as program:
            self.filtered = not re.search(b"__[at]san_init", program.read())  # a sanitizer needs what the filter refuses

    def folder(self, owner=NOBODY):
        """For a case, in which its user may write."""
        self.number += 1
        path = os.path.join(self.root, str(self.number))
        os.mkdir(path, 0o755)
        os.chown(path, owner, owner)
        return path

    def granted(self, how="+p"):
        """A weir with the capabilities, beside it DuckDB's library as it would be installed."""
        if how in self._granted:
            return self._granted[how]
        folder = os.path.join(self.root, "granted" + how)
        os.makedirs(os.path.join(folder, "bin"))
        weir = shutil.copy(self.weir, os.path.join(folder, "bin", "weir"))
        if subprocess.run(["setcap", GRANT + how, weir], capture_output=True).returncode:
            raise Skip(f"file capabilities cannot be set in {self.root}")
        if self.duckdb:
            os.makedirs(os.path.join(folder, "lib"))
            os.symlink(os.path.dirname(os.path.realpath(self.duckdb)), os.path.join(folder, "lib", "weir"))
        self._granted[how] = weir
        return weir

    def trace(self, folder, owner=NOBODY):
        path = os.path.join(folder, "some.trace")
        run([self.weir, "record", "-q", "-o", path, "--", "true"], folder, check=True)
        os.chown(path, owner, owner)
        return path


def run(args, folder, check=False, env=None, data=None, unset=("SUDO_UID", "SUDO_GID", "SUDO_USER"), timeout=60):
    environment = {k: v for k, v in os.environ.items() if k not in unset} | (env or {})
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True, errors="replace", env=environment, timeout=timeout,
                          input=data, stdin=subprocess.DEVNULL if data is None else None)
    need(not check or done.returncode == 0, f"{' '.join(args)}: {done.returncode}: {done.stderr.strip()}")
    return done


def resting(look):
    """What it has for good: while the recorder looks into /proc a right is in force, for the time of that look."""
    for _ in range(100):
        s = look()
        if s.eff == 0:
            break
        time.sleep(0.01)
    return s


class Started:
    """A program in the background; with `recorder`, ready when it has attached all it attaches."""

    def __init__(self, args, folder, env=None, recorder=True, stdin=subprocess.DEVNULL, terminal=False):
        self.err = os.path.join(folder, "started.err")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")} | {"TERM": "xterm"} | (env or {})
        self.ours, theirs = pty.openpty() if terminal else (None, None)
        with open(self.err, "wb") as e, open(os.path.join(folder, "started.out"), "wb") as o:
            self.process = subprocess.Popen(args, cwd=folder, env=environment, stdin=theirs if terminal else stdin,
                                            stdout=theirs if terminal else o, stderr=e)
        if terminal:
            os.close(theirs)
        if recorder and not traces.wait_attached(self.process):
            self.end()
            raise Bad(f"does not record: {read(self.err).strip()}")

    def status(self):
        return resting(lambda: status_of(self.process.pid))

    def end(self, number=signal.SIGINT):
        # what nobody reads a terminal of may wait there for ever
        self.process.send_signal(number if self.ours is None else signal.SIGKILL)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Bad("does not end") from None
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        if self.ours is not None:
            os.close(self.ours)


def one_line(text):
    need(text.count("\n") == 1 and text.startswith("weir: "), f"not one line: {text.strip()[:400]}")


def check_confined(b, s, allowed, uid):
    """A recorder while it records."""
    need(s.uids == {str(uid)} and s.gids == {str(uid)}, f"its user: {s}")
    need(s.eff == 0, f"capabilities in force: {s}")
    need(not s.prm & ~allowed, f"it may take up more than it needs ({allowed:x}): {s}")
    need(s.inh == 0 and s.amb == 0, f"programs would inherit: {s}")
    need(s.locked and (s.filtered or not b.filtered), f"no filter of system calls: {s}")


def check_nothing(s):
    need(s.prm == 0 and s.eff == 0 and s.inh == 0 and s.amb == 0 and s.locked, f"privileges are left: {s}")


def becomes(started, check):
    """What a program holds once it has begun its work."""
    for _ in range(500):
        try:
            return check(started.status())
        except Bad:
            time.sleep(0.02)
    return check(started.status())


# ---- a weir with file capabilities, run by anybody ----

def no_evil(b, args, folder, env=None):
    done = run([*AS_NOBODY, "env", *(f"{k}={v}" for k, v in (env or {}).items()), *args], folder)
    need("EVIL" not in done.stderr + done.stdout, (done.stderr + done.stdout).strip())
    return done


@case
def caps_library_option(b):
    """file capabilities: a library that an option names is refused with one line, whichever the command"""
    f = b.folder()
    trace = b.trace(f)
    for how in ("+p", "+ep"):
        for command in (["sql", "select 1", trace], ["query", "by op | count()", trace], ["annotate", "-n", "x", trace, "select 1 as file_id"],
                        ["serve", trace]):
            done = no_evil(b, [b.granted(how), command[0], "--duckdb", b.evil, *command[1:]], f)
            need(done.returncode in (1, 2), f"{command[0]}: exit status {done.returncode}")
            one_line(done.stderr)
            need("--duckdb" in done.stderr and "file capabilities" in done.stderr, f"{command[0]} says: {done.stderr.strip()}")


@case
def caps_environment(b):
    """file capabilities: variables that name a library, a folder or a log are ignored"""
    f = b.folder()
    trace = b.trace(f)
    weir = b.granted()
    temporary = os.path.join(f, "tmp")
    os.mkdir(temporary)
    os.chown(temporary, NOBODY, NOBODY)
    env = {"WEIR_DUCKDB": b.evil, "LD_PRELOAD": b.evil, "TMPDIR": temporary, "WEIR_BPF_LOG": "1", "TERMINFO": temporary}
    for command in (["sql", "select 1", trace], ["query", "by op | count()", trace], ["report", trace], ["doctor"],
                    ["record", "-o", "x.trace", "--", "true"], ["stat", "--", "true"], ["trace", "--", "true"]):
        if command[0] in ("sql", "query") and not b.duckdb:
            continue
        done = no_evil(b, [weir, *command], f, env)
        need(done.returncode == 0 or command[0] == "doctor", f"{command[0]}: {done.stderr.strip()}")
        need("libbpf" not in done.stderr, f"{command[0]}: libbpf's log: {done.stderr[:200]}")
    changed = os.stat(temporary).st_mtime_ns
    no_evil(b, [weir, "doctor"], f, env)
    need(os.stat(temporary).st_mtime_ns == changed, "doctor works in the folder that TMPDIR names")


@case
def caps_files(b):
    """file capabilities: no file is read or written that the caller may not: SQL, traces, outputs"""
    f = b.folder()
    trace = b.trace(f)
    hidden = os.path.join(b.root, "hidden")
    os.makedirs(hidden, mode=0o700, exist_ok=True)
    secret = b.trace(hidden, 0)
    for how in ("+p", "+ep"):
        weir = b.granted(how)
        if b.duckdb:
            done = run(AS_NOBODY + [weir, "sql", "select * from read_csv('/etc/shadow', header=false, delim='|')", trace], f)
            need(done.returncode == 1 and "root:" not in done.stdout, f"read_csv: {done.stdout[:60]} {done.stderr.strip()}")
        for command in (["report", secret], ["query", "dur > 1s", secret], ["trace", "-i", secret], ["diff", trace, secret],
                        ["serve", secret]):
            done = run(AS_NOBODY + [weir, *command], f, timeout=20)
            need(done.returncode == 1 and "denied" in done.stderr, f"{command[0]}: {done.returncode} {done.stderr.strip()}")
        with Started(AS_NOBODY + [weir, "top", "-i", secret], f, recorder=False, terminal=True) as top:
            need(top.process.wait(20) == 1 and "denied" in read(top.err), f"top: {top.process.returncode} {read(top.err)}")
        for command in (["record", "-o", hidden + "/n"], ["trace", "-o", hidden + "/n"], ["trace", "-ff", "-o", hidden + "/n"], ["stat", "-o", hidden + "/n"]):
            done = run(AS_NOBODY + [weir, *command, "--", "true"], f)
            need(done.returncode == 1 and "denied" in done.stderr, f"{command[0]}: {done.returncode} {done.stderr.strip()}")
    need(sorted(os.listdir(hidden)) == ["some.trace"], f"files were made: {os.listdir(hidden)}")


@case
def caps_recorder(b):
    """file capabilities: a recorder has none in force, can take up no other, runs behind a filter; its command has none"""
    for how in ("+p", "+ep"):
        f = b.folder()
        with Started(AS_NOBODY + [b.granted(how), "record", "-q", "-o", "a.trace", "-a"], f) as recorder:
            s = recorder.status()
            check_confined(b, s, mask("bpf", "sys_ptrace", "dac_read_search"), NOBODY)
            need(recorder.end() == 0, read(recorder.err))
        need(os.stat(os.path.join(f, "a.trace")).st_uid == NOBODY, "the trace is not the caller's")
        with Started(AS_NOBODY + [b.granted(how), "top", "-a"], f, terminal=True) as top:
            check_confined(b, top.status(), mask("bpf", "sys_ptrace", "dac_read_search"), NOBODY)
        done = run(AS_NOBODY + [b.granted(how), "record", "-q", "-o", "b.trace", "--", "cat", "/proc/self/status"], f, check=True)
        s = Status(done.stdout)
        need(s.prm == 0 and s.eff == 0 and not s.locked and not s.filtered and s.bnd == status_of("self").bnd, f"the command: {s}")


@case
def caps_readers(b):
    """file capabilities: what does not record has let all go before it looks at anything"""
    f = b.folder()
    trace = b.trace(f)
    growing = Started([b.weir, "record", "-q", "-o", "growing", "-a"], f)
    with growing:
        os.chown(os.path.join(f, "growing"), NOBODY, NOBODY)
        for command in (["serve", trace], ["sql", trace], ["query", "--follow", "by op | count()", "growing"], ["top", "-i", "growing"]):
            if command[0] in ("sql", "query") and not b.duckdb:
                continue
            # SQL waits for statements
            with Started(AS_NOBODY + [b.granted("+ep"), *command], f, recorder=False, stdin=subprocess.PIPE, terminal=command[0] == "top") as reader:
                becomes(reader, check_nothing)
                reader.process.kill()


@case
def set_user_id(b):
    """a weir that is set-user-ID refuses to run"""
    f = b.folder()
    weir = shutil.copy(b.weir, os.path.join(f, "weir"))
    os.chown(weir, 0, 0)
    os.chmod(weir, 0o4755)
    done = run(AS_NOBODY + [weir, "record", "--", "true"], f)
    need(done.returncode == 1, f"exit status {done.returncode}")
    one_line(done.stderr)
    need("set-user-ID" in done.stderr, done.stderr)


# ---- root, and sudo ----

SUDO = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}


@case
def root_recorder(b):
    """root's recorder stays root with little: nothing in force, a short list to take up, no way to start a program"""
    for command in (["record", "-q", "-o", "t", "-a"], ["trace", "-o", "t", "-a"], ["stat", "-o", "t", "-a"]):
        f = b.folder(0)
        with Started([b.weir, *command], f) as recorder:
            s = recorder.status()
            check_confined(b, s, RECORDER | mask("dac_override"), 0)
            need(s.bnd == 0, f"programs would gain: {s}")
            for thread in os.listdir(f"/proc/{recorder.process.pid}/task"):
                t = resting(lambda at=f"/proc/{recorder.process.pid}/task/{thread}/status": Status(read(at)))
                need(t.eff == 0 and not t.prm & ~s.prm and t.filtered == s.filtered, f"{command[0]}: a thread: {t}")
            need(recorder.end() == 0, read(recorder.err))


@case
def sudo_recorder(b):
    """under sudo the recorder becomes the caller, and writes as the caller"""
    for command in (["record", "-q", "-o", "t", "-a"], ["trace", "-o", "t", "-a"], ["stat", "-o", "t", "-a"]):
        f = b.folder()
        with Started([b.weir, *command], f, SUDO) as recorder:
            s = recorder.status()
            check_confined(b, s, RECORDER, NOBODY)
            need(s.fields.get("Groups", "").split() in ([], [str(NOBODY)]), f"root's groups: {s.fields['Groups']}")
            need(s.bnd == 0, f"programs would gain: {s}")
            need(recorder.end() == 0, read(recorder.err))
        need(os.stat(os.path.join(f, "t")).st_uid == NOBODY and os.stat(os.path.join(f, "t")).st_gid == NOBODY, "the file is not the caller's")


@case
def sudo_output(b):
    """under sudo no file is made or moved where the caller may not: one line says who it is written as"""
    f = b.folder(0)
    old = os.path.join(f, "old.trace")
    b.trace(f, 0)
    os.rename(os.path.join(f, "some.trace"), old)
    before = os.stat(old).st_ino
    for command in (["record", "-o", "new.trace"], ["record", "-o", old], ["trace", "-o", "new.txt"], ["trace", "-ff", "-o", "new"], ["stat", "-o", "new.stat"]):
        done = run([b.weir, *command, "--", "true"], f, env=SUDO)
        need(done.returncode == 1 and "ermission denied" in done.stderr, f"{command}: {done.returncode} {done.stderr.strip()}")
        if command[0] == "record":
            one_line(done.stderr)
            need("nobody" in done.stderr and "sudo" in done.stderr, done.stderr)
    need(os.listdir(f) == ["old.trace"] and os.stat(old).st_ino == before, f"files: {os.listdir(f)}")


@case
def sudo_only_for_root(b):
    """SUDO_UID means something to root alone"""
    f = b.folder()
    caps = "+bpf,+perfmon,+sys_ptrace,+dac_read_search"
    with Started([*AS_NOBODY, f"--inh-caps={caps}", f"--ambient-caps={caps}", b.weir, "record", "-q", "-o", "t", "-a"], f,
                 {"SUDO_UID": "1", "SUDO_GID": "1"}) as recorder:
        check_confined(b, recorder.status(), RECORDER, NOBODY)
    for text in ("x", "0"):
        f = b.folder(0)
        with Started([b.weir, "record", "-q", "-o", "t", "-a"], f, {"SUDO_UID": text, "SUDO_GID": text}) as recorder:
            need(recorder.status().uids == {"0"}, f"SUDO_UID={text!r}: {recorder.status()}")


@case
def command_keeps_privileges(b):
    """the command that is recorded has what the caller has: capabilities, users, set-user-ID programs"""
    own = status_of("self")
    for env in ({}, SUDO):
        f = b.folder()
        done = run([b.weir, "record", "-q", "-o", "t", "--", "cat", "/proc/self/status"], f, check=True, env=env)
        s = Status(done.stdout)
        need((s.uids, s.prm, s.eff, s.inh, s.bnd) == (own.uids, own.prm, own.eff, own.inh, own.bnd), f"{s} instead of {own}")
        need(not s.locked and not s.filtered, f"the command: {s}")
        shutil.copy(shutil.which("id"), os.path.join(f, "id"))
        os.chown(os.path.join(f, "id"), 0, 0)
        os.chmod(os.path.join(f, "id"), 0o4755)
        done = run([b.weir, "record", "-q", "-o", "t", "-u", "nobody", "--", "./id", "-u"], f, check=True, env=env)
        need(done.stdout == "0\n", f"a set-user-ID program runs as {done.stdout.strip()}")
        done = run([b.weir, "record", "-q", "-o", "t", "--", *AS_NOBODY, "id", "-u"], f, check=True, env=env)
        need(done.stdout == f"{NOBODY}\n", f"a program that changes its user runs as {done.stdout.strip()}")


@case
def sudo_signals(b):
    """under sudo a signal still reaches the command, which is root's, and its status comes back"""
    f = b.folder()
    with Started([b.weir, "record", "-q", "-o", "t", "--", "sh", "-c", "trap 'exit 42' TERM; echo ready >ready; while :; do sleep 0.05; done"],
                 f, SUDO) as recorder:
        for _ in range(500):
            if os.path.exists(os.path.join(f, "ready")):
                break
            time.sleep(0.02)
        need(recorder.end(signal.SIGTERM) == 42, f"exit status {recorder.process.returncode} {read(recorder.err)}")


@case
def sudo_lossless(b):
    """under sudo --lossless works"""
    f = b.folder()
    os.mkdir(os.path.join(f, "w"))
    with Started([b.weir, "record", "-o", "t", "--lossless", "--ring", "64KiB", "--", b.workload, "load_count", os.path.join(f, "w")],
                 f, SUDO, recorder=False) as recorder:
        need(recorder.process.wait(60) == 0, read(recorder.err))


@case
def running_calls_of_others(b):
    """calls that run at the end are read of every user's processes, under sudo and with file capabilities"""
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        for args, env in (([b.weir], {}), ([b.weir], SUDO), (AS_NOBODY + [b.granted()], {})):
            f = b.folder()
            run([*args, "record", "-q", "-o", "t", "-p", str(sleeper.pid), "--duration", "0.2s"], f, check=True, env=env)
            said = run([b.weir, "trace", "-i", "t"], f, check=True).stdout
            need("nanosleep" in said, f"{env}: the call in which it is, is not in the trace: {said}")
    finally:
        sleeper.kill()
        sleeper.wait()


@case
def filter_refuses_nothing(b):
    """no system call that a recorder makes is refused by its filter"""
    if not shutil.which("strace"):
        raise Skip("no strace")
    for env, command in ((SUDO, ["record", "-o", "t", "--where", "path ~ \"*\" && cgroup != \"x\"", "-a", "--duration", "0.5s"]),
                         ({}, ["record", "-o", "t", "--lossless", "--ring", "64KiB", "--", b.workload, "load_count", "w"]),
                         (SUDO, ["record", "-o", "t", "--lossless", "-p", str(os.getpid()), "--duration", "0.5s"]),
                         ({}, ["trace", "-ff", "-o", "lines", "-a", "--duration", "1.2s"]),
                         (SUDO, ["trace", "-o", "lines", "--", "sleep", "1.3"]),
                         ({}, ["stat", "--every", "100ms", "-a", "--duration", "0.5s"])):
        f = b.folder()
        os.mkdir(os.path.join(f, "w"))
        done = run(["strace", "-o", "log", "-ff", "--", b.weir, *command], f, env=env, timeout=120)
        need(done.returncode == 0, f"{command[0]}: {done.stderr.strip()[-300:]}")
        filters = 0
        for name in os.listdir(f):
            if name.startswith("log."):
                # calls of other programs stand in what it writes, among them those of other recorders that were refused
                _, filtered, after = read(os.path.join(f, name)).partition("\nseccomp(SECCOMP_SET_MODE_FILTER")
                filters += bool(filtered)
                refused = {line for line in after.splitlines() if re.search(r"= -1 ENOSYS \([^)]*\)$", line) and not line.startswith("clone3(")}
                need(not refused, f"{command}: refused: {refused}")
        need(filters == 1 or not b.filtered, f"{command}: no filter was installed")


@case
def root_readers(b):
    """what only reads keeps, of root's rights, those to files; the server out of force what starts a process with less"""
    f = b.folder()
    trace = b.trace(f)
    with Started([b.weir, "serve", trace], f, recorder=False) as server:
        becomes(server, lambda s: need(not s.prm & ~SERVER and not s.bnd & ~SERVER and not s.eff & ~(READER | mask("kill")) and s.locked, f"serve: {s}"))
    if b.duckdb:
        with Started([b.weir, "sql", "-i", trace], f, recorder=False, stdin=subprocess.PIPE) as reader:
            becomes(reader, lambda s: need(not s.prm & ~READER and not s.bnd & ~READER and s.locked, f"sql: {s}"))
            reader.process.kill()
    done = run([b.weir, "report", trace], f, check=True)
    need("calls" in done.stdout, "root cannot read another's trace")
    run([b.weir, "synth", "-o", os.path.join(f, "made.trace"), "--rows", "100"], f, check=True)


# ---- libraries ----

@case
def planted_library(b):
    """a library in reach of others is not loaded: beside the program, above it, by name; one line says why"""
    if not b.duckdb:
        raise Skip("no DuckDB library")
    trace = b.trace(b.folder())
    top = b.folder(0)
    os.chmod(top, 0o777)

    def plant(folder, owner=NOBODY, mode=0o755):
        os.makedirs(folder, exist_ok=True)
        path = shutil.copy(b.evil, os.path.join(folder, "libduckdb.so"))
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    os.makedirs(os.path.join(top, "px", "py", "pz"))
    weir = shutil.copy(b.weir, os.path.join(top, "px", "py", "pz", "weir"))
    for what, folder in (("three folders up", os.path.join(top, "out", "lib")), ("beside", os.path.join(top, "px", "py", "lib", "weir"))):
        plant(folder)
        done = run([weir, "sql", "select 1", trace], top)
        need("EVIL" not in done.stderr, f"{what}: {done.stderr.strip()}")
    closed = os.path.join(b.root, "closed")
    os.mkdir(closed, 0o755)
    link = os.path.join(closed, "link.so")
    own = plant(os.path.join(closed, "own"), 0)
    os.symlink(plant(os.path.join(top, "else")), link)
    os.chmod(top, 0o1777)
    for what, path in (("another's file", plant(os.path.join(closed, "theirs"))),
                       ("a file that all may write", plant(os.path.join(closed, "all"), 0, 0o666)),
                       ("a file that a group may write", plant(os.path.join(closed, "group"), 0, 0o664)),
                       ("a folder that all may write", plant(os.path.join(closed, "open"), 0)),
                       ("another's folder", plant(os.path.join(closed, "folder"), 0)),
                       ("a folder above", plant(os.path.join(closed, "above", "x", "y"), 0)),
                       ("a link", link)):
        if what == "a file that a group may write":
            os.chown(path, 0, NOBODY)
        if what == "a folder that all may write":
            os.chmod(os.path.dirname(path), 0o777)
        if what == "another's folder":
            os.chown(os.path.dirname(path), NOBODY, NOBODY)
        if what == "a folder above":
            os.chmod(os.path.join(closed, "above"), 0o777)
        for args, env in ((["--duckdb", path], {}), ([], {"WEIR_DUCKDB": path})):
            done = run([b.weir, "sql", *args, "select 1", trace], top, env=env)
            need("EVIL" not in done.stderr and done.returncode == 1, f"{what}: {done.stderr.strip()}")
            one_line(done.stderr)
            need(re.search(r"writable|owned|belongs", done.stderr), f"{what}: says {done.stderr.strip()}")
    done = run([b.weir, "sql", "--duckdb", own, "select 1", trace], top)
    need("EVIL" in done.stderr, "root's own library is refused")  # that one is meant to be loaded


@case
def no_development_path(b):
    """a program outside of its build folder does not look where the source tree keeps the library"""
    text = open(b.weir, "rb").read()
    need(b"out/lib" not in text, "the path is in the program")


# ---- the unit of systemd ----

def unit(b):
    if not b.options.unit or not os.path.exists(b.options.unit):
        raise Bad("no unit for systemd")
    return b.options.unit


@case
def unit_is_hardened(b):
    """systemd-analyze finds the recorder's unit well-formed and hardened"""
    path = unit(b)
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path], capture_output=True, text=True)
    if "nknown option" in done.stderr or "unrecognized" in done.stderr:
        raise Skip("systemd-analyze is too old for --offline")
    last = done.stdout.strip().splitlines()[-1:] or [""]
    print(f"# {last[0]}")
    need(done.returncode == 0, f"{last[0]} {done.stderr.strip()}")
    f = b.folder(0)
    text = re.sub(r"^(ExecStart=)\S+", rf"\g<1>{b.weir}", read(path), flags=re.M)
    copy = os.path.join(f, os.path.basename(path))
    with open(copy, "w") as o:
        o.write(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if os.path.basename(path) in line]
    need(not said, f"verify: {said}")


@case
def unit_records(b):
    """with the user, capabilities, limits and mounts of the unit a recording works and loses nothing"""
    lines = dict(re.findall(r"^(\w+)=(.*)$", read(unit(b)), re.M))
    caps = ",".join("+" + c.lower().removeprefix("cap_") for c in lines["CapabilityBoundingSet"].split())
    f = b.folder()
    args = lines["ExecStart"].split()[1:]
    args[args.index("-o") + 1] = os.path.join(f, "t")
    args += ["--duration", "1s"]
    # what systemd may raise is not always a container's root's to raise
    limits = ["prlimit", "--rtprio=" + lines["LimitRTPRIO"], "--nice=30"] if status_of("self").eff & mask("sys_resource") else []
    with Started(["unshare", "--mount", "--net", "--ipc", "--uts", "sh", "-c",
                  'mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"', "sh", f,
                  *limits, *AS_NOBODY, f"--inh-caps=-all,{caps}", f"--ambient-caps=-all,{caps}", f"--bounding-set=-all,{caps}",
                  "--no-new-privs", b.weir, *args], f) as recorder:
        check_confined(b, recorder.status(), RECORDER, NOBODY)
        need(os.sched_getscheduler(recorder.process.pid) != os.SCHED_FIFO, "the thread that decodes is a real-time one for good")
        need(recorder.process.wait(30) == 0, read(recorder.err))
    said = run([b.weir, "report", "-i", "t"], f, check=True).stdout
    need(re.search(r"lost 0\b", said), said[:300])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("weir", "workload", "evil", "duckdb", "unit"):
        parser.add_argument("--" + option)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if os.geteuid():
        print("1..0 # SKIP needs root to record")
        return 0
    missing = [p for p in ("setpriv", "setcap", "unshare") if not shutil.which(p)]
    if missing:
        print(f"1..0 # SKIP needs {', '.join(missing)}")
        return 0
    root = tempfile.mkdtemp(prefix="weir-privilege.", dir=options.dir)
    os.chmod(root, 0o755)
    b = Bench(options, root)
    failed = 0
    try:
        for name in options.cases or CASES:
            try:
                CASES[name](b)
                print(f"ok - {name}: {CASES[name].__doc__}")
            except Skip as e:
                print(f"ok - {name} # SKIP {e}")
            except (Bad, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
                failed += 1
                print(f"not ok - {name}: {CASES[name].__doc__}")
                print("#   " + str(e)[:800].replace("\n", "\n#   "))
            sys.stdout.flush()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"1..{len(options.cases or CASES)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
