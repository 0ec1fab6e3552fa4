#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of `weir diff`: unchanged runs are not told to have changed, changes are found and told first.

compare.py WEIR synth INJECT RUNS      seeded streams, changed by the program inject
compare.py WEIR real LEDGER RUNS       recordings of the program ledger (root; exit 77 where nothing can be recorded)

TAP on standard output. RUNS unchanged runs are compared pairwise.
"""
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

ALARMS_MAX = 0.05  # of the pairs of unchanged runs
CHANGED = 5        # runs with each change
PREAD, FSYNC, PWRITE = "17", "74", "18"

weir, kind, program, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
weir, program = os.path.abspath(weir), os.path.abspath(program)
tap = Tap()
check = tap.check


def must(args, **more):
    p = subprocess.run(args, capture_output=True, text=True, **more)
    if p.returncode:
        sys.exit("%s: status %d: %s" % (" ".join(args), p.returncode, p.stderr))
    return p.stdout


def diff(a, b):
    args = [weir, "diff", "--json"]
    for side, runs in (("-a", a), ("-b", b)):
        for run in runs:
            args += [side, run]
    return json.loads(must(args))


def diffs(pairs):
    """Of each pair of runs, several at a time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda pair: diff(pair[:1], pair[1:]), pairs))


def changes(doc):
    """(by, op, name, metrics) of what is listed, first things first."""
    rows = {}
    for r in doc["rows"]:
        if r["rank"]:
            metrics = rows.setdefault((r["rank"], r["by"], r["op"], r["name"]), [])
            if r["presence"] != "both":
                metrics.append(r["presence"])
            elif r["metric_changed"]:
                metrics.append(r["metric"])
    return [(k[1], k[2], k[3], m) for k, m in sorted(rows.items(), key=lambda item: item[0][0])]


def counted(doc):
    """changes() without what changed in its times alone, which on a busy machine are the disk's: a change of counts stands out."""
    return [c for c in changes(doc) if not set(c[3]) <= {"latency", "mean"}]


def alarmed(doc):
    shift = doc["all_calls"]
    return bool(doc["changes"] or (shift and shift["metric_changed"]))


def unchanged(same):
    pairs = list(itertools.combinations(same, 2))
    alarms = [(a, b, changes(d)[:2]) for (a, b), d in zip(pairs, diffs(pairs)) if alarmed(d)]
    check("%d of %d pairs of unchanged runs are told to differ, at most 5 %%" % (len(alarms), len(pairs)),
          len(alarms) <= ALARMS_MAX * len(pairs), "\n".join(map(str, alarms[:10])))
    groups = [(same[i::4], same[i + 1::4]) for i in range(3)] + [(same[::2], same[1::2])]
    told = [changes(d)[:2] for a, b in groups for d in [diff(a, b)] if alarmed(d)]
    check("%d of %d groups of unchanged runs are told to differ" % (len(told), len(groups)), len(told) <= 1, told)


def found(what, groups, changed, is_it, single=True, look=changes):
    """The change is the first that is told, of groups and (where single runs can tell it) of most single pairs."""
    # of several groups, as one in twenty may well tell a false alarm first
    first = [look(diff(group, changed))[:2] for group in groups]
    right = sum(bool(f) and is_it(f[0]) for f in first)
    check("%s: first of what %d runs a side tell, in %d of %d groups" % (what, CHANGED, right, len(groups)),
          right * 3 >= len(groups) * 2, "\n".join(map(str, first)))
    if not single:
        return
    pairs = [look(d)[:1] for d in diffs(list(itertools.product(groups[0], changed)))]
    right = sum(bool(p) and is_it(p[0]) for p in pairs)
    check("%s: first in %d of %d single pairs" % (what, right, len(pairs)), right >= 0.8 * len(pairs),
          "\n".join(map(str, pairs)))


def synth(folder):
    def traces(profile, rows):
        paths = []
        for seed in range(count):
            paths.append(os.path.join(folder, "%s.%d.trace" % (profile, seed)))
            must([weir, "synth", "-q", "-o", paths[-1], "--rows", str(rows), "--seed", str(seed + 1),
                  "--profile", profile])
        return paths

    def injected(same, *change):
        paths = []
        for path in same[-CHANGED:]:
            paths.append("%s.%s" % (path, change[0]))
            must([program, path, paths[-1], *change])
        return paths

    fio = traces("fio", 40000)
    groups = [fio[i:i + CHANGED] for i in range(0, max(count - 2 * CHANGED, 0) + 1, CHANGED)]
    unchanged(fio)
    unchanged(traces("network", 20000))
    found("pread64 20 % slower", groups, injected(fio, "slow", PREAD, "20"),
          lambda c: c[1] == "pread64" and ("latency" in c[3] or "mean" in c[3]), single=False)
    found("one more fsync each", groups, injected(fio, "twice", FSYNC), lambda c: c[1] == "fsync" and "calls" in c[3])
    found("a new file", groups, injected(fio, "file", PWRITE, "64"), lambda c: c[2] == "/srv/new.log")


def real(folder, memory):
    work = os.path.join(memory, "work")

    def record(name, change, transactions=6000):
        path = os.path.join(folder, name)
        must(["rm", "-rf", work])
        os.mkdir(work)
        must([weir, "record", "-o", path, "--", program, work, str(transactions), change])
        return path

    try:
        record("try.trace", "same")
    except SystemExit as e:
        print("1..0 # SKIP nothing can be recorded here: %s" % str(e).splitlines()[-1])
        sys.exit(77)
    # a short run of each: 80 commits, doubled, stay a change of counts that others do not share
    short = {"same": [], "fsync": []}
    for i in range(CHANGED):
        for c in short:
            short[c].append(record("short.%s.%d" % (c, i), c, 640))
    runs = {c: [] for c in ("same", "slow", "file", "once", "fsync")}
    spread = count // CHANGED
    for i in range(count):  # in turn and all the time, so that the machine's moods are shared
        runs["same"].append(record("same.%d" % i, "same"))
        for c in ("slow", "file", "once", "fsync") if i % spread == 0 and i < CHANGED * spread else ():
            runs[c].append(record("%s.%d" % (c, i), c))
    same = [runs["same"][i::spread][:CHANGED] for i in range(spread)]
    unchanged(runs["same"])
    pairs = [counted(d)[:1] for d in diffs(list(itertools.product(short["same"], short["fsync"])))]
    right = sum(bool(p) and p[0][1] == "fdatasync" and "calls" in p[0][3] for p in pairs)
    check("one more fdatasync each of 80: first in %d of %d single pairs" % (right, len(pairs)), right >= 0.8 * len(pairs),
          "\n".join(map(str, pairs)))
    found("one more fdatasync each", same, runs["fsync"], lambda c: c[1] == "fdatasync" and "calls" in c[3], look=counted)
    found("a new file", same, runs["file"], lambda c: str(c[2]).endswith("/audit.log"), look=counted)
    found("a new file, once", same, runs["once"], lambda c: str(c[2]).endswith("/audit.log"), look=counted)
    # how much longer it takes is the machine's: by how much more it reads is told as well
    found("pread64 20 % slower", same, runs["slow"], lambda c: c[1] == "pread64" and str(c[2]).endswith("/accounts.db"), look=counted)


with tempfile.TemporaryDirectory(prefix="weir-compare-") as folder:
    if kind == "synth":
        synth(folder)
    else:
        # the program's files are in memory: another's load on a disk comes and goes, and is a difference of the runs that meet it
        with tempfile.TemporaryDirectory(prefix="weir-compare-", dir="/dev/shm") as memory:
            real(folder, memory)
sys.exit(tap.end())
