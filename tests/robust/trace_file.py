#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold when something happens to the file of a recording, or when memory or the disk run out.

  trace_file.py [options] [CASE...]     as robust.py
"""

import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import robust  # noqa: E402
from robust import Skip, case, end, need, wait_for  # noqa: E402

robust.CASES.clear()


def end_count(b, f, p, trace):
    """Lets load_count end; the exit status, what record said, the calls that the program made and those that the trace has."""
    open(os.path.join(f, "w", "end"), "w").close()
    status = end(p, 120, "record")
    said = open(os.path.join(f, "out.err")).read()
    rows = b.count(trace)["by_op"].get("pwrite64", 0) if trace and os.path.exists(trace) else 0
    return status, said, b.said(f)["calls"], rows


def meddle(b, change, word, env=None, folder="d"):
    """Records load_count into d/t, changes something about that file meanwhile, and waits until the recorder has said so."""
    f = b.folder()
    d = os.path.join(f, folder)
    os.makedirs(d, exist_ok=True)
    p = b.start(f, ["-o", os.path.join(d, "t")], b.work("load_count", f), env=dict({"WORK_SECONDS": "300", "WORK_PAUSE": "2000"}, **(env or {})))
    wait_for("calls in the trace", 60, lambda: os.path.exists(os.path.join(d, "t")) and b.count(os.path.join(d, "t"))["ops"] > 0 or p.poll() is not None)
    change(d)
    err = os.path.join(f, "out.err")
    wait_for("a word about the file", 20, lambda: word in open(err).read() or p.poll() is not None)
    need(p.poll() is None, "the recording ended: " + open(err).read())
    return f, d, p


def saved_whole(b, f, p, saved, of):
    status, said, calls, rows = end_count(b, f, p, saved)
    need(status == 1, f"exit status {status}: {said}")
    need(rows == calls, f"{rows} rows saved of {calls} calls: {said}")
    need("gap-free" not in said and f"next: weir report {saved}\n" in said and f"next: weir report {of}\n" not in said, f"says: {said}")
    need(subprocess.run([b.weir, "check", saved], capture_output=True).returncode == 0, "the copy is not intact")


@case
def trace_deleted(b):
    """the trace is deleted while it is written: said at once, a copy is saved, exit status 1"""
    f, d, p = meddle(b, lambda d: os.unlink(os.path.join(d, "t")), "was deleted")
    saved_whole(b, f, p, os.path.join(d, "t.saved"), os.path.join(d, "t"))


@case
def trace_replaced(b):
    """another file takes the trace's name: neither is lost"""
    def replace(d):
        with open(os.path.join(d, "new"), "w") as out:
            out.write("another's")
        os.rename(os.path.join(d, "new"), os.path.join(d, "t"))

    f, d, p = meddle(b, replace, "replaced by another file")
    saved_whole(b, f, p, os.path.join(d, "t.saved"), os.path.join(d, "t"))
    need(open(os.path.join(d, "t")).read() == "another's", "the other file was changed")


@case
def trace_folder_deleted(b):
    """the trace's folder is deleted: the copy is saved in the working directory"""
    f, d, p = meddle(b, shutil.rmtree, "was deleted")
    # record runs in f, and names what is there by its name alone
    status, said, calls, rows = end_count(b, f, p, os.path.join(f, "t.saved"))
    need(status == 1 and rows == calls and "next: weir report t.saved" in said, f"{status}, {rows} rows of {calls} calls: {said}")


@case
def trace_unmounted(b):
    """the trace's file system is unmounted lazily: the same"""
    f = os.path.join(b.root, "mounted")
    os.makedirs(f)
    if subprocess.run(["mount", "-t", "tmpfs", "weir", f], capture_output=True).returncode:
        raise Skip("tmpfs cannot be mounted")
    try:
        f, d, p = meddle(b, lambda d: subprocess.run(["umount", "-l", d], check=True), "unmounted", folder=f)
        saved_whole(b, f, p, os.path.join(d, "t.saved"), os.path.join(d, "t"))
    finally:
        subprocess.run(["umount", "-l", os.path.join(b.root, "mounted")], check=False, capture_output=True)


@case
def trace_renamed(b):
    """the trace is renamed: that is no failure, and the name it has is the one that is told"""
    f, d, p = meddle(b, lambda d: os.rename(os.path.join(d, "t"), os.path.join(d, "u")), "was renamed")
    status, said, calls, rows = end_count(b, f, p, os.path.join(d, "u"))
    need(status == 0 and rows == calls and f"next: weir report {d}/u" in said, f"{status}, {rows} rows of {calls} calls: {said}")


@case
def trace_cut(b):
    """the trace is cut to nothing: said at once; what comes later can be read, and what is lost is counted"""
    f, d, p = meddle(b, lambda d: os.truncate(os.path.join(d, "t"), 0), "another program truncated")
    trace = os.path.join(d, "t")
    size = os.path.getsize(trace)
    wait_for("blocks behind the hole", 60, lambda: os.path.getsize(trace) > size)
    status, said, calls, rows = end_count(b, f, p, trace)
    lost = int(re.search(r"lost ([\d,]+)", said)[1].replace(",", ""))
    # the program's other calls, one sleep after every 100, are among the lost
    need(status == 1 and 0 < rows < calls <= rows + lost <= calls + calls // 100 + 200 and "gap-free" not in said, f"{status}, {rows} rows of {calls} calls: {said}")
    page = subprocess.run([b.weir, "report", trace], capture_output=True, text=True).stdout
    need(page.startswith("RECORDING FAILED at ") and "another program truncated this file to 0 bytes" in page.splitlines()[0],
         f"report says: {page[:300]}")


@case
def memory_short(b):
    """the recorder runs out of memory: it says that it failed and when, the trace too, and every call is there or counted"""
    if not b.own_memory:
        raise Skip("a sanitizer needs more address space")
    for room in (*range(204000, 180000, -4000), 208000, 212000):  # in KiB; where exactly it runs out differs from machine to machine
        f = b.folder()
        weir = b.weir
        trace = os.path.join(f, "t")
        done = subprocess.run(["bash", "-c", 'ulimit -v "$1"; shift; exec "$@"', "bash", str(room), weir, "record", "-o", trace, "--",
                               *b.work("load_pread", f)], capture_output=True, text=True, cwd=f, env=dict(os.environ, WORK_CALLS="1500000", WORK_THREADS="2"))
        if done.returncode == 1 and os.path.exists(trace):
            break
    else:
        raise Skip(f"it did not run out: {done.stderr[-200:]}")
    said = done.stderr
    need(re.search(r"weir: FAILED after [\d.]+ m?s: .*(memory|keep)", said) and "gap-free" not in said and "lost 0" not in said, f"says: {said}")
    marks = {m["name"]: m["text"] for m in b.trace(f, "t").marks}
    need("weir.failed" in marks and "weir.sequence" not in marks, f"marks: {marks}")
    rows = b.count(trace)["ops"]
    need(re.search(rf"{trace}   {rows:,} calls", said), f"{rows} rows, but: {said}")
    page = subprocess.run([b.weir, "report", trace], capture_output=True, text=True).stdout
    need(page.startswith("RECORDING FAILED at ") and "gap-free" not in page, f"report says: {page[:300]}")
    done = subprocess.run([b.weir, "query", "count()", trace], capture_output=True, text=True)
    need("recording failed: after " in done.stderr, f"query says: {done.stderr}")


def memory_group(path, limit):
    """A control group that allows so many bytes of memory; None where none can be made."""
    for base, name in ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"):
        group = os.path.join(base, path)
        try:
            os.mkdir(group)
            with open(os.path.join(group, name), "w") as f:
                f.write(str(limit))
            return group
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    return None


@case
def memory_bounded(b):
    """a control group that allows little memory: what that means is said before, and less is kept in memory"""
    if not b.own_memory:
        raise Skip("a sanitizer needs more")
    for mib, word in (64, "may kill the recorder"), (96, "rings of"):
        group = memory_group(f"weir-robust-{os.getpid()}", mib << 20)
        if not group:
            raise Skip("no control group with a limit of memory can be made")
        try:
            f = b.folder()
            work = ["sh", "-c", 'WORK_CALLS=160000 exec "$@"', "sh", *b.work("load_names", f)] if mib == 96 else ["true"]
            done = subprocess.run(["sh", "-c", 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"', "sh", group, b.weir, "record", "-o",
                                   os.path.join(f, "trace"), "--", *work], capture_output=True, text=True, cwd=f)
            said = done.stderr.splitlines()[0]
            need(f"this control group allows {mib}.0 MiB of memory" in said and word in said, f"says: {done.stderr}")
            need(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
        finally:
            wait_for("the group to be empty", 20, lambda: not open(os.path.join(group, "cgroup.procs")).read())
            os.rmdir(group)


@case
def disk_fails(b):
    """the disk takes the writes and then fails: record says so, and claims no call that cannot be read back"""
    f = b.folder()
    small, disk = os.path.join(f, "small"), os.path.join(f, "disk")
    os.mkdir(small)
    os.mkdir(disk)
    # a file system in a file on a full one: what is written to it is refused when it goes to the disk
    made = 'mount -t tmpfs -o size=700k weir "$1" && truncate -s 24M "$1/image" && mkfs.ext4 -q -F -O ^has_journal "$1/image" && ' \
           'mount -o loop "$1/image" "$2" && { dd if=/dev/zero of="$1/fill" bs=1k; sync "$1"; true; }'
    try:
        if subprocess.run(["sh", "-c", "PATH=$PATH:/sbin:/usr/sbin; " + made, "sh", small, disk], capture_output=True).returncode:
            raise Skip("no file system in a file can be mounted")
        trace = os.path.join(disk, "t")
        p = b.start(f, ["-o", trace], b.work("load_names", f), env={"WORK_CALLS": "100000"})
        need(end(p, 120, "record") == 1, "exit status 0")
        said = open(os.path.join(f, "out.err")).read()
        need("weir: FAILED after" in said and "gap-free" not in said, f"says: {said}")
        claimed = int(re.search(r"/t   ([\d,]+) calls?", said)[1].replace(",", ""))
        subprocess.run(["sh", "-c", "echo 1 >/proc/sys/vm/drop_caches"], check=False)
        done = subprocess.run([b.dump, "--count", trace], capture_output=True, text=True)
        rows = json.loads(done.stdout)["ops"] if done.returncode == 0 else 0
        need(claimed <= rows or claimed == 0, f"claims {claimed} calls, {rows} can be read: {said}")
        need(("next: weir report" in said) == (done.returncode == 0), f"says: {said}")
    finally:
        subprocess.run(["umount", disk], check=False, capture_output=True)
        # the loop device lets go of the file in it a moment later
        wait_for("the file systems to be unmounted", 20, lambda: not os.path.ismount(small) or
                 subprocess.run(["umount", small], check=False, capture_output=True).returncode == 0)


if __name__ == "__main__":
    sys.exit(robust.main())
