# SPDX-License-Identifier: Apache-2.0
"""What a recorder saw and what it should have seen, as Python values: dumps of traces, facts of workloads, strace's lines."""

import bisect
import copy
import json
import os
import re
import subprocess
import time

ROLES = ("NONE INT UINT HEX PTR FD FD2 DIRFD DIRFD2 PATH PATH2 STR BUF SIZE POS POS2 POSP POSP2 IOV IOVCNT MSG MMSG ADDR "
         "ADDRLEN ADDROUT FDPAIR FLAGS FLAGS2 MODE HOW CMD PID SIG LEN LONG DEV TARGET").split()
RETS = "INT BYTES FD ADDR NEVER POS".split()

UNFINISHED, INTERRUPTED, DENIED, CONTESTED, APPEND, HELD, NO_START, NORETURN, BY_PATH, ARG_UNREAD = (1 << i for i in range(10))

PIPE = 6  # of file.type
REQUESTS = 1, 2  # kinds: io_uring, libaio
NO_END, POLLED = 1 << 16, 1 << 18  # of requests

# Calls that a workload's C library makes by itself, between those that the facts name.
NOISE = set("""mmap munmap mprotect brk futex clone clone3 fork rt_sigaction rt_sigprocmask rt_sigreturn set_robust_list rseq exit
exit_group madvise getpid gettid sched_yield write wait4 set_tid_address arch_prctl prlimit64 getrandom readlink execve
newfstatat fstat prctl vfork clock_nanosleep tgkill restart_syscall get_robust_list unshare close dup2 fcntl memfd_create
ftruncate umask chdir getcwd lstat ioctl readlinkat setitimer getrusage fault
 io_uring_setup io_uring_enter io_uring_register
 io_setup io_submit io_getevents io_destroy""".split())


class Ops:
    def __init__(self, dump):
        out = subprocess.run([dump, "--ops"], check=True, capture_output=True, text=True).stdout
        self.by_name = {}
        for line in out.splitlines():
            op = json.loads(line)
            op["roles"] = [ROLES[r] if r < len(ROLES) else "?" for r in op["roles"]]
            op["ret"] = RETS[op["ret"]]
            self.by_name[op["name"]] = op

    def roles(self, name):
        op = self.by_name.get(name)
        return op["roles"] if op else []


class Trace:
    """Every row of a trace; ops by thread in the order in which the thread made them."""

    def __init__(self, dump, path, looking=None):
        """looking: a program that looks on, of whose calls only those that execute another one are read"""
        done = subprocess.run([dump, path, *([looking] if looking else [])], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit("trace_dump: " + done.stderr.strip())
        self.ops, self.loss, self.marks, self.other = [], [], [], []
        self.damage = {}
        for line in done.stdout.splitlines():
            row = json.loads(line)
            table = row["table"]
            if table == "op":
                self.ops.append(row)
            elif table == "loss":
                self.loss.append(row)
            elif table == "mark":
                self.marks.append(row)
            elif table == "damage":
                self.damage = row
            else:
                self.other.append(row)
        self.sort_by_tid()

    def sort_by_tid(self):
        self.by_tid, self.requests = {}, []
        for number, row in enumerate(self.ops):
            row["number"] = number
            if row.get("kind") in REQUESTS:
                self.requests.append(row)
                continue
            self.by_tid.setdefault(row["tid"], []).append(row)
        for rows in self.by_tid.values():
            rows.sort(key=lambda r: (r.get("start", 0), r["number"]))

    def parts(self, program, pids):
        """Of a program that ran several times, one after the other: the calls since each began, until the next did, as
        traces; by name."""
        def execed(row):
            path = text_of((row.get("file") or {}).get("path")) or b""
            return row["name"] == "execve" and row.get("ret") == 0 and path.endswith(b"/" + program)

        first_of = {name: next((row["start"] for row in self.by_tid.get(pid, []) if execed(row)), None) for name, pid in pids.items()}
        began = sorted((first, name) for name, first in first_of.items() if first is not None)
        ops = [[] for _ in range(len(began) + 1)]
        for row in self.ops:
            ops[bisect.bisect_right(began, row.get("start", 0), key=lambda pair: pair[0])].append(row)
        ret = {}
        for (_, name), own in zip(began, ops[1:]):
            part = ret[name] = copy.copy(self)
            part.ops = own
            part.loss = []  # what the whole lacks is said once
            part.sort_by_tid()
        return ret


ESCAPED = re.compile(rb"(?:\\x[0-9a-f]{2})+")


def unescape(text):
    """\\xHH of facts and of strace -xx; the bytes."""
    return ESCAPED.sub(lambda m: bytes.fromhex(m[0].replace(b"\\x", b"").decode()), text.encode("latin-1"))


def text_of(value):
    """A text of a dump, as bytes."""
    return None if value is None else value.encode("latin-1")


def read_facts(path):
    facts = []
    with open(path, encoding="latin-1") as f:
        for line in f:
            if not line.startswith("op="):
                continue
            fact = {}
            for word in line.split():
                key, _, value = word.partition("=")
                if key in ("path", "path2", "peer", "local", "remote"):
                    fact[key] = unescape(value)
                elif key == "op":
                    fact["op"] = value
                elif value == "?":
                    fact[key] = None
                else:
                    fact[key] = int(value)
            fact["args"] = [fact[f"a{i}"] for i in range(6) if f"a{i}" in fact]
            fact["line"] = line.strip()
            facts.append(fact)
    return facts


class Call:
    """One line of strace: op, args (texts), ret (int or None), ret_text, tid."""

    __slots__ = ("tid", "op", "args", "ret", "ret_note", "line", "died")

    def __init__(self, tid, op, args, ret, ret_note, line, died=False):
        self.tid, self.op, self.args, self.ret, self.ret_note, self.line, self.died = tid, op, args, ret, ret_note, line, died


RESTARTS = {"ERESTARTSYS": -512, "ERESTARTNOINTR": -513, "ERESTARTNOHAND": -514, "ERESTART_RESTARTBLOCK": -516}


TOKEN = re.compile(r'"[^"]*"?|[(\[{]|[)\]}]|(?<=[0-9])<|,')
CALL = re.compile(r"(\w+)\((.*)$")
PADDED = re.compile(r"(.*)\)\s+= (.*)$")
CLOSED = re.compile(r"(.*?)\)\s*$")
NUMBER = re.compile(r"(-?(?:0x[0-9a-f]+|\d+))(.*)$")
OCTAL = re.compile(r"0\d+$")
ERROR = re.compile(r"(E\w+)")
OF_THREAD = re.compile(r"(\d+)\s+(.+)$")
SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d+)")
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)$")
BLANKS = re.compile(r"\)\s+= ")
IN_ANGLES = re.compile(r"[\[\]]|(?<!-)>")


def split_args(text):
    """Splits at the commas between arguments."""
    args, depth, start, at = [], 0, 0, 0
    while token := TOKEN.search(text, at):
        c, at = token[0][0], token.end()
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "<":
            at = behind_angle(text, at)
        elif c == "," and depth == 0:
            args.append(text[start:at - 1].strip())
            start = at
    last = text[start:].strip()
    if last or args:
        args.append(last)
    return args


def behind_angle(text, at):
    """Of what strace says of a descriptor the place behind its end: brackets in it may hold another one."""
    inner = 0
    for m in IN_ANGLES.finditer(text, at):
        if m[0] == ">" and inner <= 0:
            return m.end()
        inner += (m[0] == "[") - (m[0] == "]")
    return len(text)


def parse_call(tid, line, errnos):
    m = CALL.match(line)
    if not m:
        return None
    op, rest = m.group(1), m.group(2)
    if op.startswith("syscall_0x") and int(op[8:], 16) >= 1023:
        op = "syscall"  # the number stands in the row's flags
    end = rest.rfind(") = ")
    if end < 0:
        m2 = PADDED.match(rest)
        if not m2:
            return None
        args, result = m2.group(1), m2.group(2)
    else:
        args, result = rest[:end], rest[end + 4:]
    # strace pads with blanks before "="
    m3 = CLOSED.match(args) if args.count("(") < args.count(")") else None
    if m3:
        args = m3.group(1)
    result = result.strip()
    ret, note = None, ""
    if result.startswith("?"):
        for name, value in RESTARTS.items():
            if name in result.split():
                ret = value
    else:
        m4 = NUMBER.match(result)
        if m4:
            digits = m4.group(1)
            ret = int(digits, 8) if OCTAL.match(digits) else int(digits, 0)
            note = m4.group(2).strip()
            m5 = ERROR.match(note)
            if ret == -1 and m5:
                ret = -errnos.get(m5.group(1), 99999)
    died = ret is None and op not in ("exit", "exit_group")
    return Call(tid, op, split_args(args), ret, note, line, died)


def read_strace(path):
    """strace -f -o: the calls by thread, in order. Calls are filed under the thread id at their start."""
    import errno

    errnos = {name: getattr(errno, name) for name in dir(errno) if name.startswith("E")}
    errnos["ENOTSUPP"] = 524
    errnos.update({name: -value for name, value in RESTARTS.items()})
    calls, pending, superseded = {}, {}, {}
    with open(path, encoding="latin-1") as f:
        for line in f:
            line = line.rstrip("\n")
            m = OF_THREAD.match(line)
            if not m:
                continue
            tid, text = int(m.group(1)), m.group(2)
            m = SUPERSEDED.match(text) if text[0] == "+" else None
            if m:
                superseded[tid] = int(m.group(1))
                continue
            if text.startswith("+++ killed") or text.startswith("+++ exited"):
                if tid in pending:
                    call = parse_call(tid, re.sub(r",?\s*<unfinished \.\.\.>$", "", pending.pop(tid)) + ") = ?", errnos)
                    if call:
                        call.died = True
                        calls.setdefault(tid, []).append(call)
                continue
            if text.startswith("---") or text.startswith("+++"):
                continue
            if text.endswith("<unfinished ...>"):
                pending[tid] = text[: -len("<unfinished ...>")].rstrip()
                continue
            m = RESUMED.match(text) if text[0] == "<" else None
            owner = tid
            if m:
                if tid in superseded and superseded[tid] in pending:
                    owner = superseded.pop(tid)
                elif m.group(1) == "execve" and not pending.get(tid, "").startswith("execve("):
                    # A leader that died between its calls: strace does not say by whom it was superseded.
                    owner = next((t for t, head in pending.items() if head.startswith("execve(")), tid)
                head = pending.pop(owner, None)
                if head is None:
                    continue
                text = head + m.group(2)
                text = re.sub(r"\s+\)\s+= ", ") = ", text) if text.count("(") else text
            call = parse_call(owner, BLANKS.sub(") = ", text), errnos)
            if call:
                calls.setdefault(owner, []).append(call)
    return calls


def links(pid):
    """How many programs a recorder has attached."""
    try:
        return sum("bpf_link" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def wait_attached(process):
    """Until a recorder has attached all that it attaches (a slow machine takes seconds). False: it ended, or takes too long."""
    before = same = 0
    for _ in range(3000):
        if process.poll() is not None:
            return False
        now = links(process.pid)
        same = same + 1 if now and now == before else 0
        if same >= 15:
            return True
        before = now
        time.sleep(0.02)
    return False
