#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of `weir synth` and `weir report`.

golden.py WEIR ROWS         compares; TAP on standard output
golden.py WEIR ROWS --update   writes the outputs as they are now, to be looked at before they are committed

ROWS is the program report_rows, whose rows plain loops here add up, to be compared with --json.
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap, columns_of, run_plain as run, text_of  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")
LINES_MAX, COLUMNS_MAX = 45, 100

TRACES = {  # name: arguments of synth
    "mixed": ["--rows", "40000", "--seed", "7"],
    "redis": ["--rows", "30000", "--seed", "1", "--profile", "redis"],
    "hostile": ["--rows", "20000", "--seed", "2", "--profile", "hostile"],
    "empty": ["--rows", "13", "--seed", "1"],
}

CASES = {  # name: arguments of report
    "screen-mixed": ["mixed.trace"],
    "screen-redis": ["redis.trace"],
    "screen-hostile": ["hostile.trace"],
    "screen-empty": ["empty.trace"],
    "screen-range": ["mixed.trace", "--from", "+10ms", "--to", "+30ms", "--utc"],
    "screen-comm": ["mixed.trace", "--comm", "redis-server"],
    "screen-calls": ["redis.trace", "-e", "read"],
    "screen-none": ["mixed.trace", "-P", "/no/such"],
    "screen-beyond": ["mixed.trace", "--comm", "fio", "--from", "+10s"],
    "screen-name": ["a trace's name.trace", "-i", "empty.trace"],
    "ops": ["ops", "mixed.trace"],
    "files-glob": ["files", "mixed.trace", "-P", "*.sst", "--head", "3"],
    "files": ["files", "mixed.trace", "--head", "25"],
    "dirs": ["dirs", "mixed.trace", "--head", "10"],
    "processes": ["processes", "mixed.trace"],
    "threads": ["threads", "mixed.trace"],
    "peers": ["peers", "mixed.trace"],
    "errors": ["errors", "mixed.trace", "--head", "20"],
    "slow": ["slow", "mixed.trace", "--head", "20", "--rel"],
    "slow-sync": ["slow", "-i", "mixed.trace", "-e", "fsync,fdatasync"],
    "ops-network": ["ops", "mixed.trace", "-e", "%network", "--sort", "calls"],
    "ops-failed": ["ops", "mixed.trace", "-Z"],
    "ops-slower": ["ops", "mixed.trace", "--slower", "1ms"],
    "files-path": ["files", "mixed.trace", "-P", "/tmp/rocksdb", "--head", "8"],
    "threads-pid": ["threads", "mixed.trace", "-p", "30620"],
    "hostile-files": ["files", "hostile.trace", "--head", "15"],
    "hostile-threads": ["threads", "hostile.trace", "--head", "5"],
    "json-ops": ["ops", "redis.trace", "--json"],
    "bad-sort": ["ops", "mixed.trace", "--sort", "size"],
    "bad-range": ["mixed.trace", "--from", "+2s", "--to", "+1s"],
    "no-trace": ["missing.trace"],
    "no-table": ["fils"],
    "two-tables": ["ops", "files", "mixed.trace"],
    "table-last": ["mixed.trace", "dirs", "--head", "3"],
    "screen-cut": ["cut.trace"],
    "json-cut": ["ops", "cut.trace", "--json"],
}


def goldens(tap, weir, folder, update):
    for name, args in CASES.items():
        out, err, code = run(weir, ["report"] + args, folder)
        text = text_of(out, err, code)
        # how well the store packs is measured elsewhere
        text = re.sub(r"trace [0-9.]+ [KM]iB( \([0-9.]+ B per call\))?", "trace SIZE", text)
        tap.golden(name, os.path.join(GOLDEN, name + ".txt"), text, update)
        if name.startswith("screen"):
            lines = out.decode().splitlines()
            wide = [l for l in lines if columns_of(l) > COLUMNS_MAX]
            tap.check(name + ": one page", len(lines) <= LINES_MAX and not wide, "%d lines\n%s" % (len(lines), "\n".join(wide)))


def characters(tap, weir, folder):
    """Blocks where the locale has them or none was chosen, else ASCII."""
    for name, locale, ascii in (("C", "C", True), ("no locale", "", False)):
        out, _, code = run(weir, ["report", "ops", "redis.trace"], folder, LC_ALL=locale, LC_CTYPE="", LANG="")
        tap.check("spark lines in " + name, code == 0 and out.isascii() == ascii, out.decode())


def several(tap, weir, folder):
    """What traces of a folder say of themselves differently is not told as the first one's."""
    inside = os.path.join(folder, "two")
    os.mkdir(inside)
    for name in ("mixed", "redis"):
        os.link(os.path.join(folder, name + ".trace"), os.path.join(inside, name + ".trace"))
    page = run(weir, ["report", "two"], folder)[0].decode().splitlines()
    tap.check("two traces, two streams", "two/mixed.trace and 1 more   synthetic: 2 streams" in page[1], page[1])
    tap.check("two traces, one host", "   host synth" in page[1], page[1])
    run(weir, ["synth", "-o", "second.trace", "--host", "b"] + TRACES["mixed"], folder)
    page = run(weir, ["report", "mixed.trace", "second.trace"], folder)[0].decode()
    tap.check("both hosts are named", "   hosts synth, b" in page.splitlines()[1], page)
    tap.check("threads and files of two hosts", all(w in page for w in (" synth:fio ", " b:fio ", " b:/mnt/fio/job.0.0")), page)
    for table, name in (("threads", "fio"), ("processes", "fio"), ("files", "/mnt/fio/job.0.0"), ("slow", "fio"), ("errors", "/"), ("peers", "clients")):
        out = run(weir, ["report", table, "mixed.trace", "second.trace"], folder)[0].decode()
        tap.check(table + " of two hosts", "  synth:" + name in out and "  b:" + name in out, out)
        out = run(weir, ["report", table, "mixed.trace", "second.trace", "--json"], folder)[0].decode()
        tap.check(table + " of two hosts in JSON", {r["host"] for r in json.loads(out)["rows"]} >= {"synth", "b"}, out)
    out = run(weir, ["report", "threads", "mixed.trace", "second.trace", "--json"], folder)[0].decode()
    tap.check("names in JSON are the programs'", '"fio"' in out and "b:fio" not in out, out)


def narrow(tap, weir, folder):
    """At 80 columns the lines of the head are shortened at their names, so that each stays one line."""
    inside = os.path.join(folder, "a-long-folder-of-recordings")
    os.mkdir(inside)
    for n in "abc":
        run(weir, ["synth", "-o", os.path.join(inside, "a-recording-with-a-long-name-%s.trace" % n), "--rows", "2000", "--seed", "7",
                   "--host", "a-long-host-name-" + n], folder)
    page = run(weir, ["report", inside], folder, COLUMNS="80")[0].decode().splitlines()
    tap.check("three recordings and hosts are one line of 80 columns", columns_of(page[1]) <= 80 and " and 2 more   synthetic: " in page[1] and
              page[1].endswith("   3 hosts") and page[2].startswith("21 Nov "), "\n".join(page[:4]))
    run(weir, ["synth", "-o", "long.trace", "--profile", "redis", "--rows", "2000", "--host", "a-quite-long-host-name"], folder)
    page = run(weir, ["report", "long.trace", "empty.trace"], folder, COLUMNS="80")[0].decode().splitlines()
    tap.check("the file and the process of the first line are cut, not the numbers", columns_of(page[0]) <= 80 and " 30617: " in page[0] and
              page[0].endswith(" in I/O") and page[1].startswith("long.trace and 1 more"), "\n".join(page[:4]))


def load_rows(rows, path):
    out = subprocess.run([rows, path], capture_output=True, check=True).stdout
    keys = ("start", "dur", "op", "class", "err", "bytes", "tid", "pid", "file", "local", "file2", "local2", "status")
    return [dict(zip(keys, json.loads(l))) for l in out.decode().splitlines()]


COPIES = ("copy_file_range", "sendfile", "splice", "tee")


def each_file(rows):
    """A call that moves bytes between two files, once for each."""
    return rows + [dict(r, file=r["file2"], local=r["local2"]) for r in rows if r["op"] in COPIES and r["file2"] not in (None, r["file"])]


def plain(rows, key, waits):
    """Sums by key, the way a reader would write them down."""
    sums = collections.defaultdict(lambda: {"calls": 0, "errors": 0, "bytes": 0, "time": 0, "max": 0, "durs": []})
    for r in rows:
        if (r["status"] or 0) & 1 or (r["class"] == "wait" and not waits) or key(r) is None:
            continue
        s = sums[key(r)]
        s["calls"] += 1
        s["errors"] += r["err"] is not None
        s["bytes"] += r["bytes"] or 0
        s["time"] += r["dur"]
        s["max"] = max(s["max"], r["dur"])
        s["durs"].append(r["dur"])
    return sums


def compare_sums(tap, name, doc, sums, key):
    got = {key(r): r for r in doc["rows"]}
    why = "" if set(got) == set(sums) else "keys: %s" % sorted(map(str, set(got) ^ set(sums)))[:5]
    for k in set(got) & set(sums):
        for field in ("calls", "errors", "bytes", "time", "max"):
            if got[k][field] != sums[k][field]:
                why += "%s %s: %s, loops say %s\n" % (k, field, got[k][field], sums[k][field])
        durs = sorted(sums[k]["durs"])
        for field, q in (("p50", 50), ("p90", 90), ("p99", 99)):
            exact = durs[max(-(-len(durs) * q // 100), 1) - 1]
            # a bucket of the histogram is 1/16 wide, its middle at most 1/32 off
            if abs(got[k][field] - exact) > exact / 31 + 1:
                why += "%s %s: %s, exact %s\n" % (k, field, got[k][field], exact)
    tap.check(name, not why, why)


def loops(tap, weir, rows_program, folder):
    rows = load_rows(rows_program, os.path.join(folder, "mixed.trace"))
    tap.check("rows of the trace", len(rows) == 40000, str(len(rows)))

    def doc(*args):
        out, err, code = run(weir, ["report"] + list(args) + ["mixed.trace", "--json"], folder)
        d = json.loads(out)
        names = [c["name"] for c in d["columns"]]
        tap.check("form of %s" % " ".join(args), code == 0 and d["loss"]["events"] == 0 and d["origin"].isdigit() and
                  all(list(r) == names for r in d["rows"]) and
                  all(set(c) == {"name", "type", "unit"} for c in d["columns"]), err.decode())
        return d

    compare_sums(tap, "ops against plain loops", doc("ops"), plain(rows, lambda r: (r["op"], r["class"]), True),
                 lambda r: (r["op"], r["class"]))
    compare_sums(tap, "files against plain loops", doc("files"), plain(each_file(rows), lambda r: r["file"] if r["local"] is None else None,
                 False), lambda r: r["file"])
    compare_sums(tap, "processes against plain loops", doc("processes"), plain(rows, lambda r: r["pid"], False),
                 lambda r: r["pid"])
    compare_sums(tap, "threads against plain loops", {"rows": [r for r in doc("threads")["rows"] if r["calls"]]},
                 plain(rows, lambda r: r["tid"], False), lambda r: r["tid"])
    compare_sums(tap, "peers against plain loops", doc("peers"), plain(each_file(rows), lambda r: r["local"], False),
                 lambda r: r["peer"].replace("clients, ", ""))
    compare_sums(tap, "failed calls against plain loops", doc("ops", "-Z"),
                 plain([r for r in rows if r["err"]], lambda r: (r["op"], r["class"]), True), lambda r: (r["op"], r["class"]))
    slow = doc("slow", "--head", "50")
    want = sorted((r["dur"] for r in rows if r["class"] != "wait" and not (r["status"] or 0) & 1), reverse=True)[:50]
    tap.check("slow against plain loops", [r["dur"] for r in slow["rows"]] == want)
    origin = int(slow["origin"])
    times = {(r["start"], r["dur"]) for r in rows}
    tap.check("times are from the origin", all((origin + r["start"], r["dur"]) in times for r in slow["rows"]))
    pid = rows[0]["pid"]
    tid = next(r["tid"] for r in rows if r["pid"] != pid)
    compare_sums(tap, "a process or a thread against plain loops", doc("ops", "-p", str(pid), "-t", str(tid)),
                 plain([r for r in rows if r["pid"] == pid or r["tid"] == tid], lambda r: (r["op"], r["class"]), True),
                 lambda r: (r["op"], r["class"]))
    out, _, _ = run(weir, ["query", "-p", str(pid), "-t", str(tid), "--csv", "count()", "mixed.trace"], folder)
    tap.check("query takes either, too", int(out.split()[-1]) == sum(r["pid"] == pid or r["tid"] == tid for r in rows), out.decode())
    ends = sorted(r["start"] + r["dur"] for r in rows if not (r["status"] or 0) & 1)
    clocks = [time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t // 10 ** 9)) + f".{t % 10 ** 9:09d}" for t in ends[::len(ends) // 8]]
    tap.check("a time to the nanosecond is the call's own",
              [sum(r["calls"] for r in doc("ops", "--utc", "--from", c)["rows"]) for c in clocks] ==
              [sum(e >= t for e in ends) for t in ends[::len(ends) // 8]], str(clocks))
    ranged = doc("ops", "--from", "+10ms", "--to", "+20ms")
    low, high = origin + 10_000_000, origin + 20_000_000
    compare_sums(tap, "a range against plain loops", ranged,
                 plain([r for r in rows if low <= r["start"] + r["dur"] < high], lambda r: (r["op"], r["class"]), True),
                 lambda r: (r["op"], r["class"]))


def blocks(data):
    """(rows, where its payload begins, its length) of each block: docs/FORMAT.md."""
    mark, at, found = data[16:32], 64, []
    while data[at:at + 16] == mark:
        header, payload, rows = struct.unpack_from("<24xIII", data, at)
        found.append((rows, at + header, payload))
        at += header + payload
    return found


def damage(tap, weir, folder):
    """Two blocks of calls cannot be read, of one its sums can: it counts nowhere, and every command says the same."""
    run(weir, ["synth", "-q", "-o", "hurt.trace", "--rows", "150000", "--seed", "3"], folder)
    path = os.path.join(folder, "hurt.trace")

    def loss(*args):
        out, err, code = run(weir, list(args) + ["--json"], folder)
        doc = json.loads(out) if code == 0 else {"rows": [], "loss": {"events": err.decode()}}
        return doc, doc["loss"]["events"]

    def calls(doc):
        return sum(r["calls"] for r in doc["rows"])

    whole = loss("report", "ops", "hurt.trace")[0]
    total, running = calls(whole), 150000 - calls(whole)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    found = blocks(data)
    of_calls = [i for i, b in enumerate(found) if b[0] == 65536]
    tap.check("two whole blocks of calls", len(of_calls) == 2, str(found))
    for i in (of_calls[0], of_calls[1], of_calls[1] + 1):  # its sums follow a block
        _, at, size = found[i]
        data[at:at + size] = bytes(b ^ 0x55 for b in data[at:at + size])
    with open(path, "wb") as f:
        f.write(data)
    both = 2 * 65536

    page = run(weir, ["report", "hurt.trace"], folder)[0].decode().splitlines()
    tap.check("the page tells what its sums lack", page[0].startswith("DAMAGED 3 blocks, 139,073 rows: block ") and
              page[1] == "LOST 131,072 calls: corrupt 131,072" and "NEXT   weir check hurt.trace   (lists what is damaged)" in page, "\n".join(page[:5]))
    with open(os.path.join(folder, "cut.trace"), "wb") as f:
        f.write(data[:found[of_calls[0]][1] + 5000])
    done = run(weir, ["report", "cut.trace"], folder)
    tap.check("a page of a trace that is cut before its first call", done[0].startswith(b"DAMAGED 1 block, rows unknown: ") and done[2] == 1 and
              b"(lists what is damaged; no call can be read here)" in done[0] and b"nothing was recorded" not in done[0], str(done))
    doc, lost = loss("report", "hurt.trace")
    tap.check("the page as JSON", (calls(doc), lost) == (total - both, both), str((lost, doc.get("trace"))))
    doc, lost = loss("report", "ops", "hurt.trace")
    tap.check("a table of sums", (calls(doc), lost) == (total - both, both), str((calls(doc), lost)))
    tap.check("the slowest", loss("report", "slow", "hurt.trace")[1] == both)
    for args in (["query", "count() as calls", "hurt.trace"],
                 ["query", "by op | count() as calls", "hurt.trace"], ["query", "by op | sum(dur), count() as calls", "hurt.trace"],
                 ["query", "by fd | count() as calls", "hurt.trace"], ["sql", "-i", "hurt.trace", "SELECT count(*) AS calls FROM op"]):
        doc, lost = loss(*args)
        if "DuckDB" in str(lost):
            continue  # its library is not here
        tap.check("what %s tells and lacks are all calls" % " ".join(args[:-1]), (calls(doc), lost) == (150000 - both, both),
                  "%s + %s" % (calls(doc), lost))
    lines, err, _ = run(weir, ["trace", "-i", "hurt.trace"], folder)
    tap.check("trace tells how many it lacks", b"131,072 calls lost" in err, err.decode())
    tap.check("and prints the others", lines.count(b"\n") == 150000 - both, "%d, %d run" % (lines.count(b"\n"), running))


def damaged_folder(tap, weir, folder):
    """Traces of a folder that cannot be read at all hide none of the others, and are named; alone they are an error."""
    inside = os.path.join(folder, "several")
    os.mkdir(inside)
    with open(os.path.join(folder, "mixed.trace"), "rb") as f:
        data = f.read()
    heads = {"b.trace": data[:40], "c.trace": data[:20] + b"\1" + data[21:], "d.trace": data[:8] + b"\xff" + data[9:], "notes": b"none"}
    for name, content in heads.items():
        with open(os.path.join(inside, name), "wb") as f:
            f.write(content)
    os.symlink("nowhere", os.path.join(inside, "gone"))
    _, err, code = run(weir, ["report", "several"], folder)
    tap.check("no trace of a folder can be read", code != 0 and b"b.trace is truncated within its first 64 bytes" in err, err.decode())
    with open(os.path.join(inside, "e.trace"), "wb") as f:
        f.write(data)
    page = run(weir, ["report", "several"], folder)[0].decode()
    tap.check("the unreadable ones of a folder are named", "DAMAGED 3 whole traces, rows unknown: the trace several/b.trace is truncated" in page, page[:400])
    one = json.loads(run(weir, ["report", "ops", "mixed.trace", "--json"], folder)[0])
    out = run(weir, ["report", "ops", "several", "--json"], folder)[0]
    doc = json.loads(out) if out else {}
    tap.check("the others are read", doc.get("rows") == one["rows"] and doc["loss"]["at_least"], str(doc.get("loss")))


def old(tap, weir, folder):
    """Summaries of an earlier weir do not know the second files of calls: the rows do."""
    rows = json.loads(run(weir, ["report", "files", "--json", os.path.join(HERE, "..", "store", "old", "copies.trace")], folder)[0])["rows"]
    tap.check("copies in an old trace", {os.path.basename(r["file"]): (r["calls"], r["bytes"]) for r in rows} == {"from": (5, 4500), "to": (5, 4500)}, str(rows))


def main():
    weir, rows_program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    update = "--update" in sys.argv[3:]
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="weir-golden-") as folder:
        for name, args in TRACES.items():
            _, err, code = run(weir, ["synth", "-q", "-o", name + ".trace"] + args, folder)
            tap.check("synth " + name, code == 0, err.decode())
        with open(os.path.join(folder, "mixed.trace"), "rb") as whole, open(os.path.join(folder, "cut.trace"), "wb") as cut:
            cut.write(whole.read(100))  # within the first block
        shutil.copy(os.path.join(folder, "mixed.trace"), os.path.join(folder, "a trace's name.trace"))
        goldens(tap, weir, folder, update)
        characters(tap, weir, folder)
        several(tap, weir, folder)
        narrow(tap, weir, folder)
        loops(tap, weir, rows_program, folder)
        damage(tap, weir, folder)
        damaged_folder(tap, weir, folder)
        old(tap, weir, folder)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
