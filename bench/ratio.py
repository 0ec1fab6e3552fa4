#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What weir adds to a call of the program it records, against what the least tracer adds: the floor ratio.

Short runs of the program alone, under the floor and under weir alternate, each round beginning with another. A run is cut into
turns of some 0.1 ms, each with a probe of how fast its core was (tests/programs/turns.h); only turns on an undisturbed core
count, by the same limit for all. The figure of a run is the median of its turns, that of a tool the median of its runs; the
ratio of each round is kept apart, so that the spread is seen. A round whose core was never quiet is made again.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TURN_CALLS = 250
RUN_CALLS = 60000
PROBE_SLOWER = 1.03  # a turn counts while its probe took at most so much longer than the fastest
TURNS_LEAST = 10  # of a run, on a quiet core, for the run to count
CASES = [("pread 1 B", "load_pread", 1, 1), ("pread 4 KiB", "load_pread", 1, 4096), ("pread 1 B, 2 threads", "load_pread", 2, 1),
         ("pread 4 KiB, 2 threads", "load_pread", 2, 4096), ("metadata", "load_meta", 1, 1)]


class Case:
    """One load under every tool: got[tool] is a list over the rounds of [(ns per call, ns of the probe)]."""

    def __init__(self, name, case, threads, size, tools):
        self.name, self.case, self.threads, self.size, self.tools = name, case, threads, size, tools
        self.got = {t: [] for t in tools}

    def run(self, tool, workload, folder, calls):
        work = os.path.join(folder, "w")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        env = dict(os.environ, WORK_CALLS=str(calls), WORK_THREADS=str(self.threads), WORK_SIZE=str(self.size),
                   WORK_TURN=str(TURN_CALLS))
        done = subprocess.run([*self.tools[tool], workload, self.case, work], capture_output=True, text=True, env=env, cwd=work,
                              stdin=subprocess.DEVNULL)
        turns = [(int(ns) / int(n), int(probe)) for n, ns, probe in re.findall(r"^turn (\d+) (\d+) (\d+)$", done.stdout, re.M)]
        if done.returncode or not turns:
            raise SystemExit(f"{self.name} under {tool}: {(done.stderr or done.stdout).strip()[-300:]}")
        self.got[tool].append(turns)

    def round(self, number, workload, folder, calls):
        names = list(self.tools)
        shift = number % len(names)
        for tool in names[shift:] + names[:shift]:
            self.run(tool, workload, folder, calls)

    def limit(self):
        """The slowest probe of a turn that counts. The fastest few in a thousand may be chance."""
        probes = sorted(p for runs in self.got.values() for run in runs for _, p in run)
        return probes[len(probes) // 200] * PROBE_SLOWER

    def medians(self):
        """{tool: [median of the run's quiet turns, or None]}"""
        limit = self.limit()
        found = {}
        for tool, runs in self.got.items():
            quiet = [[ns for ns, p in run if p <= limit] for run in runs]
            found[tool] = [statistics.median(q) if len(q) >= TURNS_LEAST else None for q in quiet]
        return found

    def quiet_rounds(self):
        return [r for r in zip(*self.medians().values()) if None not in r]

    def figures(self):
        """{tool: {"ns", "added", "ratio", "ratio_quartiles", "runs"}}; the first tool is none, the second the floor."""
        medians = self.medians()
        names = list(self.tools)
        rounds = [r for r in zip(*(medians[n] for n in names)) if None not in r]
        # Of a tool all runs count, also where another tool's core was disturbed in that round.
        ns = {n: statistics.median([m for m in medians[n] if m is not None] or [float("nan")]) for n in names}
        out = {}
        for i, n in enumerate(names):
            out[n] = {"ns": ns[n], "added": ns[n] - ns[names[0]], "runs": sum(m is not None for m in medians[n])}
            if i == 0:
                continue
            out[n]["ratio"] = (ns[n] - ns[names[0]]) / (ns[names[1]] - ns[names[0]])
            each = [(r[i] - r[0]) / (r[1] - r[0]) for r in rounds if r[1] > r[0]]
            if len(each) >= 4:
                low, middle, high = statistics.quantiles(each, n=4)
                out[n]["ratio_quartiles"] = [low, middle, high]
        return out


def table(case):
    lines = [f"{case.name} ({len(case.quiet_rounds())} rounds on a quiet core)"]
    for tool, f in case.figures().items():
        text = f"  {tool:12} {f['ns']:6.0f} ns"
        if "ratio" in f:
            text += f"  added {f['added']:4.0f}  x floor {f['ratio']:.2f}"
        if tool != "floor" and "ratio_quartiles" in f:
            text += "  half of the rounds between {0:.2f} and {2:.2f}".format(*f["ratio_quartiles"])
        lines.append(text)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder")
    parser.add_argument("--rounds", type=int, default=30, help="rounds on a quiet core that are wanted")
    parser.add_argument("--minutes", type=float, default=3, help="begin no round of a case after this time")
    parser.add_argument("--calls", type=int, default=RUN_CALLS, help="of a thread in a run")
    parser.add_argument("--cases", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--weir", nargs="*", default=[], metavar="NAME=PROGRAM", help="other builds of weir beside this one")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args()
    if os.geteuid():
        print("ratio: needs root to record", file=sys.stderr)
        return 1
    build = os.path.realpath(options.build)
    folder = tempfile.mkdtemp(prefix="weir-ratio.", dir="/dev/shm")
    out = os.path.join(folder, "out")
    tools = {"alone": [], "floor": [os.path.join(build, "bench/floor/floor"), "-o", out, "--"]}
    for name, program in [("weir", os.path.join(build, "src/cli/weir")), *(w.split("=", 1) for w in options.weir)]:
        tools[name] = [program, "record", "-o", out, "--"]
    written = []
    try:
        for spec in CASES:
            if options.cases and not any(c in spec[0] for c in options.cases):
                continue
            case = Case(*spec, tools)
            until = time.monotonic() + options.minutes * 60
            number = 0
            while number < options.rounds or len(case.quiet_rounds()) < options.rounds:
                if number >= 2 and time.monotonic() > until:
                    break
                case.round(number, os.path.join(build, "tests/programs/workload"), folder, options.calls)
                number += 1
            print(table(case), flush=True)
            written.append({"case": case.name, "rounds": number, "quiet": len(case.quiet_rounds()), "tools": case.figures()})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(written, f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
