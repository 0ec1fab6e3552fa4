#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of `weir query`: pipelines over synthetic traces of fixed seeds, and what is printed.

golden.py WEIR             compares; TAP on standard output
golden.py WEIR --update    writes the outputs as they are now, to be looked at before they are committed
"""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap, run_plain as run, text_of  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")

TRACES = {  # name: arguments of synth
    "mixed": ["--rows", "40000", "--seed", "7"],
    "redis": ["--rows", "20000", "--seed", "3", "--profile", "redis"],
    "hostile": ["--rows", "20000", "--seed", "2", "--profile", "hostile"],
}

SCANS = {  # no library is needed: rows as they are
    "rows": ["dur > 1ms | select start, dur, comm, op, bytes, err, path | head 12", "mixed.trace", "--rel"],
    "rows-utc": ["dur > 5ms | select start, op, path, size, pos | head 3", "mixed.trace", "--utc"],
    "rows-csv": ["dur > 1ms | select start, dur, comm, op, bytes, err, path | head 12", "mixed.trace", "--csv"],
    "rows-json": ["dur > 1ms | select start, dur, comm, op, bytes, err, path, ino | head 4", "mixed.trace", "--json"],
    "rows-selected": ["select tid, comm, op, dur, path | head 6", "mixed.trace", "-e", "fsync,fdatasync", "--slower", "1ms"],
    "rows-none": ["dur > 1000s", "mixed.trace"],
    "rows-flags": ["flags is not null | select op, flags | head 12", "mixed.trace"],
    "rows-flags-op": ["op in (open, openat) && dur > 20us | select flags, path | head 6", "mixed.trace"],
    "processes": ["from process | head 3", "mixed.trace", "--utc"],
    "hosts": ["from host", "mixed.trace", "--utc"],
    "mistake-function": ["by op | cou()", "mixed.trace"],
    "hostile-names": ["select comm, path | head 15", "hostile.trace"],
    "mistake-name": ["where duration > 1ms", "mixed.trace"],
    "mistake-value": ["where op == raed", "mixed.trace"],
    "mistake-end": ["by op | ", "mixed.trace"],
    "no-trace": ["by op | count()", "missing.trace"],
    "bad-range": ["dur > 1ms", "mixed.trace", "--from", "+2s", "--to", "+1s"],
    "both": ["by op | count()", "mixed.trace", "--json", "--csv"],
    "trace-first": ["mixed.trace", "by op | count()"],
}

ANSWERS = {
    "by-op": ["by op | count(), sum(bytes), sum(dur), avg(dur), p99(dur), max(dur) | sort sum(dur) desc | head 12", "mixed.trace"],
    "by-op-hist": ["by op | count(), hist(dur) | sort count() desc | head 8", "mixed.trace"],
    "hist": ["hist(dur)", "mixed.trace"],
    "quantize": ["op == read | count(), quantize(bytes)", "mixed.trace"],
    "lquantize": ["lquantize(size, 0, 8192, 1024)", "mixed.trace"],
    "status": ["by status | count() as n | head 6", "mixed.trace"],
    "flags": ["op == openat | by flags | count() | sort count() desc, flags", "mixed.trace"],
    "flags-of": ["by op, flags | count() | sort count() desc, op, flags | head 12", "mixed.trace"],
    "flags-mixed": ["by flags | count() | sort count() desc, flags | head 5", "mixed.trace"],
    "peers": ["by peer | count(), sum(bytes) | sort count() desc, peer", "redis.trace"],
    "heat": ["by every 1ms | hist(dur)", "mixed.trace", "--rel"],
    "rates": ["by every 10ms | count(), rate(), rate(bytes) | head 6", "mixed.trace", "--rel"],
    "files": ["by file | count(), sum(bytes), distinct(comm) | sort count() desc, file | head 10", "mixed.trace"],
    "errors": ["err is not null | by op, err | count() | sort count() desc, op, err | head 10", "mixed.trace"],
    "json": ["by op | count(), sum(bytes), hist(dur), first(start) | sort count() desc | head 2", "mixed.trace", "--json"],
    "csv": ["by comm, op | count(), p50(dur), quantize(dur) | sort count() desc, comm, op | head 4", "mixed.trace", "--csv"],
    "pid": ["by comm, pid | count() | sort count() desc, comm, pid", "mixed.trace", "-p", "30620"],
    "path": ["by path | count() | sort count() desc, path | head 5", "mixed.trace", "-P", "/tmp/rocksdb"],
    "range": ["count(), sum(bytes)", "mixed.trace", "--from", "+10ms", "--to", "+30ms"],
    "hostile-keys": ["by comm, path | count() | sort count() desc, comm, path | head 12", "hostile.trace"],
    "not-op": ["count()", "mixed.trace", "-e", "!%file,%desc"],
    "explain": ["dur > 1ms | by comm | count(), p99(dur) | sort p99(dur) desc | head 3", "mixed.trace", "--explain"],
}


def compare(tap, weir, folder, name, args, update, locale="C.UTF-8"):
    text = text_of(*run(weir, ["query"] + args, folder, LC_ALL=locale))
    if name == "explain":  # how long planning took is no matter
        text = text.split("\n", 1)[1].split("\nSQL", 1)[0] + "\n"
    tap.golden(name, os.path.join(GOLDEN, name + ".txt"), text, update)


def hosts(tap, weir, folder):
    """Answers about two machines name them; conditions mean the names without them."""
    run(weir, ["synth", "-q", "-o", "b.trace", "--host", "b"] + TRACES["mixed"], folder)
    both = ["-i", "mixed.trace", "-i", "b.trace"]
    for question, a, b in (("by thread | count()", "synth:fio 30625", "b:fio 30625"),
                           ("by process | count() | sort process", "synth:fio 30625", "b:fio 30625"),
                           ("by file | count()", "synth:/mnt/fio/job.0.0", "b:/mnt/fio/job.0.0"),
                           ("select thread, file", "synth:fio 30625", "b:/mnt/fio/job.0.0"),
                           ('thread == "fio 30625" | by thread | count()', "synth:fio 30625", "b:fio 30625")):
        out = text_of(*run(weir, ["query"] + both + [question], folder))
        tap.check("two hosts: " + question, any(l.startswith(a + " ") for l in out.splitlines()) and " " + b in out.replace("\n", " "), out[:2000])
    one = text_of(*run(weir, ["query", "by thread | count()", "mixed.trace"], folder))
    tap.check("one host is not named", "synth:" not in one, one)


def dashboards(tap, weir, folder):
    """Tiles count calls and time as report does, without waiting, and the bytes of all calls."""
    place = os.path.join(HERE, "..", "..", "web", "public", "dashboards")
    tiles = {}
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name)) as f:
            tiles.update({t["title"]: t["q"] for t in json.load(f)["tiles"]})
    wrong = [t for t, q in tiles.items() if "class != wait" in q.split("|")[0] and "sum(bytes)" in q]
    tap.check("no tile leaves out the bytes of calls that wait", "Files by time" in tiles and not wrong, str(wrong))
    rows = json.loads(run(weir, ["report", "files", "redis.trace", "--json"], folder)[0])["rows"]
    wanted = {r["file"]: (r["time"], r["calls"], r["bytes"], r["max"]) for r in rows if r["files"] == 1}
    rows = json.loads(run(weir, ["query", "-i", "redis.trace", tiles["Files by time"], "--json"], folder)[0])["rows"]
    got = {r["file"]: (r["time"], r["calls"], r["bytes"], r["longest"]) for r in rows if r["file"] in wanted}
    tap.check("files by time are those of the report", got and got == {k: wanted[k] for k in got}, "%s %s" % (got, wanted))


def main():
    weir = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv[2:]
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="weir-query-") as folder:
        for name, args in TRACES.items():
            _, err, code = run(weir, ["synth", "-q", "-o", name + ".trace"] + args, folder)
            tap.check("synth " + name, code == 0, err.decode())
        for name, args in SCANS.items():
            compare(tap, weir, folder, name, args, update)
        _, err, _ = run(weir, ["sql", "-i", "mixed.trace", "SELECT 1"], folder)
        if b"is not installed" in err:
            tap.skip("answers of the engine", err.decode().strip())
        else:
            for name, args in ANSWERS.items():
                compare(tap, weir, folder, name, args, update)
            hosts(tap, weir, folder)
            dashboards(tap, weir, folder)
            for name in ("hist", "heat", "by-op-hist"):  # in ASCII where the locale has no other characters
                compare(tap, weir, folder, name + "-ascii", ANSWERS[name], update, "C")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
