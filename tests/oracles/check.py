# SPDX-License-Identifier: Apache-2.0
"""Compares a call that must have happened with the row that weir recorded. Each check returns a list of complaints."""

import os
import re
import socket

import traces
from traces import text_of, unescape

RAW_ROLES = {"INT", "UINT", "HEX", "IOVCNT", "FLAGS2", "MODE", "CMD", "PID", "SIG", "LONG"}
MASK64 = (1 << 64) - 1


def int32(value):
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def int64(value):
    value &= MASK64
    return value - (1 << 64) if value >= 1 << 63 else value


def check_ret(row, ret):
    got = row.get("ret")
    if ret is None:
        return [] if got is None or row["name"] in ("rt_sigreturn",) else [f"ret {got}, where the call did not return"]
    if got is None:
        return [f"ret null instead of {ret}"]
    if int64(got) != int64(ret):
        return [f"ret {got} instead of {ret}"]
    if -4096 < ret < 0 and -ret < 512 and row.get("err") != -ret:
        return [f"err {row.get('err')} instead of {-ret}"]
    return []


def check_args(row, roles, args, returns, ret):
    """args: raw numbers as the registers held them."""
    bad = []
    new_fd = returns == "FD" and ret is not None and ret >= 0

    def want(column, value, bits=64):
        got = row.get(column)
        if got is None:
            bad.append(f"{column} null instead of {value}")
        elif (int32(got) != int32(value)) if bits == 32 else (int64(got) != int64(value)):
            bad.append(f"{column} {got} instead of {value}")

    def want_none(column):
        if row.get(column) is not None:
            bad.append(f"{column} {row[column]} of the working directory")

    for i, (role, arg) in enumerate(zip(roles, args)):
        if role == "FD":
            want("fd", arg, 32)
        elif role == "DIRFD":
            if int32(arg) == -100 and not new_fd:
                want_none("fd")
            elif not (new_fd and row.get("fd") == ret):
                want("fd", arg, 32)
        elif role == "DIRFD2" and int32(arg) == -100:
            want_none("fd2")
        elif role in ("FD2", "DIRFD2"):
            want("fd2", arg, 32)
        elif role in ("SIZE", "LEN"):
            want("size", arg)
        elif role == "FLAGS":
            want("flags", arg, 32)
        elif role == "POS":
            status = row.get("status", 0)
            if ret is not None and ret >= 0 and int64(arg) >= 0 and not status & traces.APPEND and row["name"] != "mmap":
                want("pos", arg)
        elif role in RAW_ROLES:
            want(f"a{i}", arg, 32 if role in ("CMD", "MODE", "PID", "SIG") else 64)
        elif f"a{i}" in row and role != "?" and int64(row[f"a{i}"]) != int64(arg):
            bad.append(f"a{i} {row[f'a{i}']} instead of {arg & MASK64} ({role})")
    if returns == "POS" and ret is not None and ret >= 0:
        want("pos", ret)
    if new_fd:
        want("fd2" if "FD" in roles else "fd", ret, 32)
    if returns == "BYTES" and ret is not None:
        moved = max(ret, 0)
        if row["name"] in ("recvfrom", "recvmsg"):
            flags = args[roles.index("FLAGS")]
            moved = 0 if flags & socket.MSG_PEEK else min(moved, row["size"]) if flags & socket.MSG_TRUNC else moved
        if row.get("bytes", 0) != moved:
            bad.append(f"bytes {row.get('bytes')} instead of {moved}")
    return bad


def file_path(f):
    """The path that a file row stands for, as the process sees it."""
    path = text_of(f.get("path"))
    if path:
        return path
    argument, base = text_of(f.get("argument")), text_of(f.get("base"))
    if argument is None:
        return None
    if argument.startswith(b"/") or base is None:
        return argument
    return base.rstrip(b"/") + b"/" + argument


def check_path(row, key, expected):
    f = row.get(key)
    if f is None:
        return [f"no {key} where it is {expected!r}"]
    got = file_path(f)
    argument = text_of(f.get("argument"))
    if got == expected:
        return []
    if got is not None and argument is not None:
        # A failed or relative name: the folder and the argument as given tell the same.
        base = text_of(f.get("base")) or b""
        if argument == expected or base.rstrip(b"/") + b"/" + argument == expected:
            return []
    if got is not None and got.endswith(b" (deleted)") and got[:-10] == expected:
        return [f"{key} has \" (deleted)\" in its path"]
    return [f"{key} {got!r} instead of {expected!r}"]


def without_prefix(text):
    return text[5:] if text.startswith(b"unix:") else text


def check_fact(row, fact, roles, returns):
    bad = []
    ret = fact["ret"]
    if fact.get("dies") and row.get("ret") == -512:
        pass  # SIGKILL woke it: the call was left, and the thread died on its way out
    elif fact.get("interrupted") or fact.get("restarted"):
        if not -516 <= (row.get("ret") or 0) <= -512:
            bad.append(f"ret {row.get('ret')}, where the call was interrupted (-512 ... -516)")
        if not row.get("status", 0) & traces.INTERRUPTED:
            bad.append("status lacks interrupted")
        if row.get("err") is not None:
            bad.append(f"err {row['err']} of a call that did not fail")
    elif fact.get("exec"):
        if row.get("ret") != 0:
            bad.append(f"ret {row.get('ret')} of an execve that succeeded")
    else:
        bad += check_ret(row, ret)
    if fact.get("unfinished") and not row.get("status", 0) & traces.UNFINISHED:
        bad.append("status lacks unfinished")
    if fact.get("no_start") and (row.get("start") is not None or not row.get("status", 0) & traces.NO_START):
        bad.append(f"start {row.get('start')}, status {row.get('status', 0)} of a call that began before the recording")
    if fact.get("dies") and not row.get("status", 0) & traces.INTERRUPTED and not row.get("status", 0) & traces.NORETURN:
        bad.append("status lacks noreturn")
    if not fact.get("exec") and not fact.get("dies"):
        bad += check_args(row, roles, fact["args"], returns, None if fact.get("interrupted") or fact.get("restarted") else ret)
    for key, column in (("path", "file"), ("path2", "file2")):
        if key in fact:
            bad += check_path(row, column, fact[key])
    for key in ("fd", "pos", "pos2", "size", "flags", "tid_ns"):
        if key in fact and row.get(key, -1 if key == "fd" else None) != fact[key]:
            bad.append(f"{key} {row.get(key)} instead of {fact[key]} (status {row.get('status', 0)})")
    for key in ("pos", "pos2"):
        if "no_" + key in fact and row.get(key) is not None:
            bad.append(f"{key} {row[key]} where there is none")
    f = row.get("file") or {}
    if "ino" in fact:
        if f.get("ino") != fact["ino"]:
            bad.append(f"inode {f.get('ino')} instead of {fact['ino']}")
        st_dev = fact["dev"]
        dev = ((st_dev >> 8) & 0xFFF) << 20 | (st_dev & 0xFF) | ((st_dev >> 12) & 0xFFF00)
        if f.get("dev") != dev:
            bad.append(f"dev {f.get('dev')} instead of {dev}")
    for key, column in (("not_ino", "file"), ("not_ino2", "file2")):
        if key in fact and (row.get(column) or {}).get("ino") == fact[key]:
            bad.append(f"{column} is inode {fact[key]}, which had the name before")
    if "moved" in fact and row.get("bytes", 0) != fact["moved"]:
        bad.append(f"bytes {row.get('bytes')} instead of {fact['moved']}")
    if "peerless" in fact and row.get("peer"):
        bad.append(f"peer {row['peer']} of a call that received nothing")
    if "peer" in fact:
        peer = row.get("peer") or {}
        texts = [without_prefix(text_of(peer.get(k)) or b"") for k in ("peer", "local", "path", "name")]
        if without_prefix(fact["peer"]) not in texts:
            bad.append(f"peer {texts} instead of {fact['peer']}")
    for key, column in (("local", "local"), ("remote", "peer")):
        if key in fact and without_prefix(text_of(f.get(column)) or b"") != without_prefix(fact[key]):
            bad.append(f"{key} address {f.get(column)} instead of {fact[key]}")
    if "at_least_ns" in fact and row.get("dur", 0) < fact["at_least_ns"]:
        bad.append(f"dur {row.get('dur')} below {fact['at_least_ns']}")
    if row.get("dur", 0) < 0:
        bad.append(f"dur {row['dur']}")
    return bad


def check_several(rows, fact):
    """The rows of the table poll of a call against what the program knows: descriptors found ready, or waited on."""
    bad = []
    wanted = {key: value for key, value in fact.items() if key.startswith(("found_", "waited_"))}
    if wanted or "rows" in fact:
        if len(rows) != fact.get("rows", len(wanted)):
            bad.append(f"{len(rows)} rows of poll instead of {fact.get('rows', len(wanted))}")
        if any(row.get("left_out", -1) != fact.get("left_out", 0) for row in rows):
            bad.append(f"left_out {[row.get('left_out') for row in rows]} instead of {fact.get('left_out', 0)}")
    for key, events in wanted.items():
        what, fd = key.split("_")
        own = [row for row in rows if row.get("fd", -1) == int(fd)]
        if len(own) != 1:
            bad.append(f"{len(own)} rows of poll for descriptor {fd}")
        elif what == "found" and own[0].get("revents") != events:
            bad.append(f"revents {own[0].get('revents')} of {fd} instead of {events}")
        elif what == "waited" and (own[0].get("events"), own[0].get("revents")) != (events, None):
            bad.append(f"{own[0]} instead of waiting for {events}")
        elif int(fd) >= 0 and (own[0].get("file") or {}).get("type") != traces.PIPE:
            bad.append(f"file {own[0].get('file')} of {fd} instead of a pipe")
    return bad


def check_away(row, fact, waited):
    """Who woke the call, and how long it had no CPU. waited: by thread id how long each had none, over its versions."""
    bad = []
    if "waker" in fact and row.get("waker_tid", 0) != fact["waker"]:
        bad.append(f"woken by {row.get('waker_tid')} instead of {fact['waker']}")
    if row.get("runq", 0) > fact.get("runq_most", row.get("dur", 0)):
        bad.append(f"runq {row['runq']}, more than {fact.get('runq_most', row.get('dur'))}")
    if "runq_known" in fact and row.get("runq") is None:
        bad.append("no runq of a call that slept")
    if "thread_runq" in fact and waited.get(row["tid"], 0) < fact["thread_runq"]:
        bad.append(f"runq {waited.get(row['tid'])} of the thread, less than {fact['thread_runq']}")
    return bad


def check_stored(row, fact, files):
    """What the rows of files and the call say of sizes and peers; -1: nothing."""
    f = files.get((row.get("file") or {}).get("id"), {})
    found = {"file_size": row.get("file_size", -1), "first_size": f.get("size", -1), "peer_ino": f.get("peer_ino", -1)}
    return [f"{key} {value} instead of {fact[key]}" for key, value in found.items() if key in fact and fact[key] != value]


def check_run_queue(trace):
    """Where a thread shares its CPU with one that never sleeps, some calls of it wait for that."""
    return [] if any(row.get("runq") for row in trace.ops) else [("run_queue", ["no call waited for its CPU"])]


def check_majors(trace, facts):
    """Each major fault that the kernel counted of a thread has its row."""
    bad = []
    for fact in facts:
        if "majflt" in fact:
            rows = sum(row["name"] == "fault" for row in trace.by_tid.get(fact["tid"], []))
            if rows != fact["majflt"]:
                bad.append((fact["line"], [f"{rows} rows of faults, the kernel counted {fact['majflt']}"]))
    return bad


def matches(row, fact):
    """Is this the row of the fact, as far as one can tell before its columns are checked?"""
    return row["name"] == fact["op"] or (fact["op"].startswith("umount") and row["name"].startswith("umount"))


def check_request(row, fact):
    """A row of io_uring or libaio against what the program knows of the request."""
    status = row.get("status", 0)
    if row["name"] != fact["op"] or row.get("kind") != fact["kind"]:
        return [f"{row['name']} of kind {row.get('kind')}"]
    bad = check_ret(row, fact["ret"])
    for key in ("fd", "fd2", "pos", "size", "flags"):
        if row.get(key) != fact.get(key):
            bad.append(f"{key} {row.get(key)} instead of {fact.get(key)}")
    for key, column in (("path", "file"), ("path2", "file2")):
        if key in fact:
            bad += check_path(row, column, fact[key])
    if status & fact.get("bits", 0) != fact.get("bits", 0) or status & fact.get("no_bits", 0):
        bad.append(f"status {status:#x} instead of {fact.get('bits', 0):#x}")
    if fact.get("bits", 0) & traces.POLLED:
        if row.get("pid") != fact["tid"] or not (row.get("comm") or "").startswith("iou-sqp-"):
            bad.append(f"thread {row['tid']} {row.get('comm')} of process {row.get('pid')}")
    elif row["tid"] != fact["tid"]:
        bad.append(f"thread {row['tid']} instead of {fact['tid']}")
    if (row.get("dur") is None) != bool(fact.get("bits", 0) & traces.NO_END) or row.get("dur", 0) < 0:
        bad.append(f"dur {row.get('dur')}")
    if row.get("start") is None:
        bad.append("no start")
    return bad


def check_requests(trace, facts):
    """Every request has a row, and every row is of a request; they may complete in any order."""
    problems, left = [], list(trace.requests)
    for fact in facts:
        found = [(check_request(row, fact), row) for row in left]
        best = min(found, key=lambda pair: (len(pair[0]), pair[1]["number"]), default=(["no row"], None))
        if best[0]:
            problems.append((fact["line"], best[0] + [str(best[1])]))
        if best[1] and best[1]["name"] == fact["op"]:
            left.remove(best[1])
    return problems + [(f"{row['name']} ret {row.get('ret')} of {row['tid']}", ["a row without a fact"]) for row in left]


def check_facts(trace, facts, ops, names=("workload",)):
    """Every fact has its row, in the order of its thread, and between them is nothing but the C library's calls."""
    problems = check_requests(trace, [fact for fact in facts if "kind" in fact])
    threads = {}
    for fact in facts:
        if "kind" in fact:
            continue
        threads.setdefault(fact["tid"], []).append(fact)
    lives = {}
    several = {}
    for row in trace.other:
        if row["table"] == "poll":
            several.setdefault((row["thread_id"], row["start"]), []).append(row)
    latest = {row["id"]: row for row in trace.other if row["table"] == "thread"}  # the last row of an id counts
    files = {row["id"]: row for row in trace.other if row["table"] == "file"}
    waited = {}
    for row in latest.values():
        waited[row["tid"]] = waited.get(row["tid"], 0) + row.get("runq", 0)
    for tid, own in threads.items():
        rows = trace.by_tid.get(tid, [])
        at = 0
        for fact in own:
            skipped = []
            while at < len(rows) and not (matches(rows[at], fact) and plausible(rows[at], fact, ops)):
                skipped.append(rows[at])
                at += 1
            if at == len(rows):
                problems.append((fact["line"], ["no row (every later call of the thread was looked at)"]))
                at -= len(skipped)
                continue
            row = rows[at]
            at += 1
            if skipped and fact is not own[0]:
                strange = [r["name"] for r in skipped if r["name"] not in NOISE_ROWS]
                if strange:
                    problems.append((fact["line"], [f"rows that nobody made: {strange[:5]}"]))
            op = ops.by_name.get(fact["op"], {"roles": [], "ret": "INT"})
            bad = check_fact(row, fact, op["roles"], op["ret"])
            bad += check_several(several.get((row["thread_id"], row.get("start")), []), fact)
            bad += check_away(row, fact, waited)
            bad += check_stored(row, fact, files)
            if bad:
                problems.append((fact["line"], bad))
            if "life" in fact and row.get("file"):
                lives.setdefault(fact["life"], set()).add(row["file"].get("inode"))
            if fact.get("restarted") and at < len(rows) and rows[at]["name"] in (fact["op"], "rt_sigreturn"):
                while at < len(rows) and rows[at]["name"] != fact["op"]:
                    at += 1
                at += 1
    seen = {}
    for life, ids in lives.items():
        if len(ids) != 1:
            problems.append((f"life {life}", [f"one file, {len(ids)} generations {ids}"]))
        for i in ids:
            if i in seen:
                problems.append((f"life {life}", [f"has generation {i} of life {seen[i]}: an inode number used again"]))
            seen[i] = life
    return problems


NOISE_ROWS = traces.NOISE


def plausible(row, fact, ops):
    """Tells the call of a fact from the C library's calls of the same name."""
    if fact["op"] not in traces.NOISE:
        return True
    if fact["op"] == "fault":
        return row.get("a2") == fact["args"][2]
    if fact["op"] in ("execve",):
        return fact.get("exec") is None or row.get("ret") == 0
    ret = fact["ret"]
    if fact.get("interrupted") or fact.get("restarted"):
        return True
    if ret is None or row.get("ret") is None:
        return ret is None and row.get("ret") is None
    return row["ret"] == ret


# ---- strace ----

def number(text):
    """The number that an argument of strace -X raw begins with, or None."""
    m = re.match(r"(-?(?:0x[0-9a-f]+|\d+))", text)
    if text == "NULL":
        return 0
    if not m:
        return None
    t = m.group(1)
    return int(t, 8) if re.match(r"0\d+$", t) else int(t, 0)


def decoration(text):
    """What strace -yy says of a descriptor: (kind, text)."""
    m = re.match(r"-?\d+<(.*)>(\(deleted\))?$", text)
    return unescape(m.group(1)) if m else None


def sum_iov(text):
    return sum(int(n, 0) for n in re.findall(r"iov_len=(\d+)", text))


def check_decorated(row, key, deco, ops_row):
    """strace's path of a descriptor against the file of the row."""
    f = row.get(key)
    if deco is None:
        return []
    if f is None:
        return [f"no {key} where strace has {deco!r}"]
    m = re.match(rb"(TCP|UDP|TCPv6|UDPv6):\[(.*)\]$", deco)
    if m:
        if b"." not in m.group(2) and b":" not in m.group(2):
            return []  # not yet bound: only an inode number
        local, _, peer = m.group(2).partition(b"->")
        bad = []
        if text_of(f.get("local")) != local:
            bad.append(f"{key} local {f.get('local')} instead of {local!r}")
        if peer and text_of(f.get("peer")) != peer:
            bad.append(f"{key} peer {f.get('peer')} instead of {peer!r}")
        return bad
    m = re.match(rb"(?:pipe|socket|UNIX\S*?|UNIX-STREAM|UNIX-DGRAM|UNIX-SEQPACKET):\[(\d+)", deco)
    if m:
        return [] if f.get("ino") == int(m.group(1)) else [f"{key} inode {f.get('ino')} instead of {m.group(1)!r}"]
    if deco.startswith(b"anon_inode:") or b":[" in deco:
        return []
    if re.fullmatch(rb"pid:\d+", deco):  # a pidfd, as strace says it from /proc/PID/fdinfo; the kernel's name is pidfd
        got = file_path(f) or b""
        return [] if b"pidfd" in got else [f"{key} {got!r} instead of a pidfd"]
    deco = re.sub(rb"<(?:char|block) [0-9:]+>?$", b"", deco)
    got = file_path(f)
    if deco in (got, text_of(f.get("hostpath"))):
        return []
    if got is not None and deco.removesuffix(b" (deleted)") == got.removesuffix(b" (deleted)"):
        return []
    return [f"{key} {got!r} instead of {deco!r}"]


def check_decoded(row, call, roles, returns, same_root=True):
    """A row against a line of strace -X raw -xx -yy -v."""
    if died_in_call(row, call):
        return []
    bad = check_ret(row, call.ret) if call.ret is not None or not call.died else []
    if len(call.args) < len(roles):
        roles = roles[: len(call.args)]
    for i, (role, arg) in enumerate(zip(roles, call.args)):
        if role == "FD2" and returns == "FD" and call.ret is not None and call.ret >= 0:
            if same_root and call.ret_note.startswith("<"):  # dup2: the second file is what the descriptor became
                bad += check_decorated(row, "file2", decoration(f"{call.ret}{call.ret_note}"), None)
        elif role in ("FD", "FD2") and same_root:
            bad += check_decorated(row, "file" if role == "FD" else "file2", decoration(arg), None)
        elif role == "DIRFD" and same_root:
            bad += check_folder(row, arg, call, returns)
        elif role == "IOV" and arg.startswith("[") and "..." not in arg and call.ret != -22:
            if row.get("size") != sum_iov(arg):
                bad.append(f"size {row.get('size')} instead of {sum_iov(arg)}")
        elif role == "MSG" and "msg_iov=[" in arg and "..." not in arg:
            inner = re.search(r"msg_iov=\[(.*?)\]", arg).group(1)
            if row.get("size") != sum_iov(inner):
                bad.append(f"size {row.get('size')} instead of {sum_iov(inner)}")
        elif role in ("PATH", "PATH2", "TARGET") and arg.startswith('"'):
            bad += check_argument(row, "file" if role == "PATH" else "file2", unescape(arg.strip('"')), call.ret)
        elif role in ("ADDR", "ADDROUT") and arg.startswith("{"):
            bad += check_address(row, arg)
    if returns == "FD" and same_root and call.ret is not None and call.ret >= 0 and "FD" not in roles and call.ret_note.startswith("<"):
        bad += check_decorated(row, "file", decoration(f"{call.ret}{call.ret_note}"), None)
    return bad


def check_folder(row, arg, call, returns):
    """The folder that a call's path starts from, against what strace says beside the descriptor."""
    deco = decoration(arg)
    if deco is None:
        return []
    if row.get("dir") is not None:
        return check_decorated(row, "dir", deco, None)
    path = next((unescape(a.strip('"')) for a in call.args if a.startswith('"')), b"/")
    opened = returns == "FD" and call.ret is not None and call.ret >= 0
    if opened and not arg.startswith("-100") and not path.startswith(b"/"):
        return [f"no folder where strace has {deco!r}"]
    return []


def check_argument(row, key, argument, ret):
    f = row.get(key)
    if f is None:
        return [f"no {key} where the argument is {argument!r}"] if argument else []
    given, path = text_of(f.get("argument")), text_of(f.get("path"))
    if path is not None and (path == argument or (argument and path.endswith(b"/" + argument))):
        return []  # a name that was met before in another spelling has one row
    if given is not None:
        if argument.startswith(given) and len(given) >= 4095:
            return []  # longer than the kernel takes
        return [] if given == argument else [f"{key} argument {given!r} instead of {argument!r}"]
    if path is None:
        return [f"{key} has no name where the argument is {argument!r}"] if argument else []
    if not argument or path == argument or os.path.normpath(path).endswith(os.path.normpath(b"/" + argument.lstrip(b"./"))):
        return []
    if ret is not None and ret >= 0 and row.get("name") in ("open", "openat", "openat2", "creat", "execve", "chdir", "stat", "newfstatat", "statx"):
        return []  # a symbolic link was followed: the path is where it led
    return [f"{key} {path!r} where the argument is {argument!r}"]


def check_address(row, arg):
    port = re.search(r"sin6?_port=htons\((\d+)\)", arg)
    path = re.search(r'sun_path=(@?)"((?:\\x[0-9a-f]{2})*)"', arg)
    peer = row.get("peer") or {}
    text = b" ".join(text_of(peer.get(k)) or b"" for k in ("peer", "local", "path", "name"))
    if port and (b":" + port.group(1).encode()) not in text:
        return [f"peer {text!r} where the port is {port.group(1)}"]
    if path and unescape(path.group(2)).rstrip(b"\0") not in text:
        return [f"peer {text!r} where the path is {unescape(path.group(2))!r}"]
    return []


def died_in_call(row, call):
    """SIGKILL wakes the call, the kernel leaves it (-512), and the thread dies on its way out: strace sees no end."""
    return call.died and row.get("ret") == -512


def check_raw(row, call, roles, returns):
    """A row against a line of strace -e raw=all."""
    if died_in_call(row, call):
        return []
    args = [number(a) for a in call.args]
    if None in args:
        return [f"strace's arguments {call.args} not understood"]
    bad = check_ret(row, call.ret) if call.ret is not None or not call.died else []
    if call.op == "rt_sigreturn" or (call.op in ("execve", "execveat") and call.ret == 0):
        return bad
    return bad + check_args(row, roles, args, returns, call.ret)


def align(rows, calls):
    """Pairs rows and calls of one thread. Returns (pairs, rows without a call, calls without a row)."""
    import difflib

    def key_row(r):
        return (r["name"], r.get("ret") if r["name"] not in ("exit", "exit_group") else None)

    def key_call(c):
        return (c.op, c.ret if c.op not in ("exit", "exit_group") else None)

    a, b = [key_row(r) for r in rows], [key_call(c) for c in calls]
    if a == b:
        return list(zip(rows, calls)), [], []
    pairs, extra, missing = [], [], []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal" or (tag == "replace" and i2 - i1 == j2 - j1 and [x[0] for x in a[i1:i2]] == [x[0] for x in b[j1:j2]]):
            pairs += zip(rows[i1:i2], calls[j1:j2])
        else:
            extra += rows[i1:i2]
            missing += calls[j1:j2]
    return pairs, extra, missing
