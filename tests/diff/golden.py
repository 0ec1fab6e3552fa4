#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of `weir diff` on seeded streams.

golden.py WEIR INJECT            compares; TAP on standard output
golden.py WEIR INJECT --update   writes the outputs as they are now, to be looked at before they are committed
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
LINES_MAX, COLUMNS_MAX = 45, 100
CASES = {  # name: arguments of diff
    "same": ["fio1.trace", "fio2.trace"],
    "fsync": ["fio1.trace", "fsync.trace"],
    "file": ["fio1.trace", "file.trace"],
    "slow": ["-a", "fio1.trace", "-a", "fio2.trace", "-a", "fio3.trace", "-b", "slow4.trace", "-b", "slow5.trace", "-b",
             "slow6.trace"],
    # the calls double and take less time each: what explains more time is told first
    "halves": ["-a", "fio1.trace", "-a", "fio2.trace", "-a", "fio3.trace", "-b", "half4.trace", "-b", "half5.trace", "-b",
               "half6.trace"],
    # a file that all runs of one side have: counts beside the time per run are per run too
    "files": ["-a", "fio1.trace", "-a", "fio2.trace", "-a", "fio3.trace", "-b", "file4.trace", "-b", "file5.trace", "-b",
              "file6.trace"],
    "folders": ["before", "after"],
    "parts": ["fio1.trace", "--a-to", "+1s", "--b-from", "+1s"],
    "per-fsync": ["fio1.trace", "fsync.trace", "--per", "pwrite64"],
    "selection": ["fio1.trace", "fsync.trace", "-e", "fsync"],
    "where": ["fio1.trace", "--a-where", 'path ~ "*.0.0"', "--b-where", 'path ~ "*.1.0"'],
    "bad-where": ["fio1.trace", "--b-where", "dur >"],
    "strangers": ["fio1.trace", "redis.trace"],
    "hostile": ["hostile.trace", "fio1.trace"],
    "cut": ["fio1.trace", "cut.trace"],
    "itself": ["fio1.trace", "fio1.trace"],
    "as-long": ["fio1.trace", "fio1.trace", "--per", "second"],
    "empty": ["empty.trace", "fio1.trace"],
    "json": ["fio1.trace", "file.trace", "--json"],
    "bad-one": ["fio1.trace"],
    "bad-three": ["fio1.trace", "fio2.trace", "fio3.trace"],
    "bad-side": ["-a", "fio1.trace"],
    "bad-csv": ["fio1.trace", "fio2.trace", "--json", "--csv"],
    "bad-per": ["fio1.trace", "fio2.trace", "--per", "week"],
    "bad-unit": ["fio1.trace", "redis.trace", "--per", "epoll_wait"],
    "bad-mix": ["-a", "fio1.trace", "-b", "fio2.trace", "fio3.trace"],
    "no-trace": ["fio1.trace", "missing.trace"],
}

weir, inject, update = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), "--update" in sys.argv
tap = Tap()
check = tap.check


def make(folder):
    def run(*args):
        subprocess.run(args, cwd=folder, check=True)

    for seed in range(1, 7):
        run(weir, "synth", "-q", "-o", "fio%d.trace" % seed, "--profile", "fio", "--rows", "20000", "--seed", str(seed))
    for seed in (4, 5, 6):
        run(inject, "fio%d.trace" % seed, "slow%d.trace" % seed, "slow", "17", "30")
        run(inject, "fio%d.trace" % seed, "half%d.trace" % seed, "twice", "74", "60")
        run(inject, "fio%d.trace" % seed, "file%d.trace" % seed, "file", "18", "64")
    run(inject, "fio2.trace", "fsync.trace", "twice", "74")
    run(inject, "fio2.trace", "file.trace", "file", "18", "64")
    run(weir, "synth", "-q", "-o", "redis.trace", "--profile", "redis", "--rows", "20000", "--seed", "1")
    run(weir, "synth", "-q", "-o", "hostile.trace", "--profile", "hostile", "--rows", "20000", "--seed", "2")
    run(weir, "synth", "-q", "-o", "empty.trace", "--rows", "13", "--seed", "1")
    with open(os.path.join(folder, "fio2.trace"), "rb") as f, open(os.path.join(folder, "cut.trace"), "wb") as out:
        out.write(f.read()[:-20000])
    for side, seeds in (("before", (1, 2, 3)), ("after", (4, 5, 6))):
        os.mkdir(os.path.join(folder, side))
        for seed in seeds:
            run("cp", "fio%d.trace" % seed, side)


WIDTHS = {"slow": (80, 120, 200), "fsync": (80, 120, 200), "strangers": (80, 120, 200)}  # beside COLUMNS_MAX


def output(folder, args, columns=COLUMNS_MAX):
    env = dict(os.environ, TZ="Europe/Berlin", LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS=str(columns))
    p = subprocess.run([weir, "diff"] + args, cwd=folder, env=env, capture_output=True)
    return p.stdout.decode(), "status %d\n%s%s" % (p.returncode, p.stdout.decode(), p.stderr.decode())


def same_json(got, want):
    """Figures of floating point may differ in their last digits between machines."""
    if isinstance(got, float) and isinstance(want, float):
        return abs(got - want) <= 1e-6 * max(abs(got), abs(want), 1e-9)
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(same_json(got[k], want[k]) for k in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(same_json, got, want))
    return got == want


def compare(name, args, folder, columns=COLUMNS_MAX):
    if columns != COLUMNS_MAX:
        name += "-%d" % columns
    path = os.path.join(GOLDEN, name + ".txt")
    text, whole = output(folder, args, columns)
    if update:
        with open(path, "w") as f:
            f.write(whole)
        return
    with open(path) as f:
        want = f.read()
    if name == "json":
        check(name, same_json(json.loads(text), json.loads(want.split("\n", 1)[1])), "differs from %s" % path)
        return
    check(name, whole == want, "differs from %s, it is now:\n%s" % (path, whole))
    wide = [line for line in whole.splitlines() if len(line) > columns and not line.startswith("weir: ")]
    check(name + ": fits a screen", not wide and whole.count("\n") <= LINES_MAX + 1, "\n".join(wide))


def cell(value):
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def same_cell(got, want):
    if isinstance(want, float) and got:
        return same_json(float(got), want)
    return got == cell(want)


def csv_is_json(folder, args):
    """--csv has the rows of --json."""
    text, whole = output(folder, args + ["--csv"])
    document = json.loads(output(folder, args + ["--json"])[0])
    rows = list(csv.reader(io.StringIO(text)))
    names = [c["name"] for c in document["columns"]]
    good = rows[:1] == [names] and len(rows) == len(document["rows"]) + 1 > 1 and \
        all(len(r) == len(names) and all(same_cell(v, want[n]) for v, n in zip(r, names))
            for r, want in zip(rows[1:], document["rows"]))
    check("CSV of " + " ".join(args), good, whole[:2000])


with tempfile.TemporaryDirectory(prefix="weir-compare-") as folder:
    make(folder)
    if not update:
        for name in ("file", "hostile", "folders"):
            csv_is_json(folder, CASES[name])
    for name, args in CASES.items():
        compare(name, args, folder)
        for columns in WIDTHS.get(name, ()):
            compare(name, args, folder, columns)
sys.exit(tap.end())
