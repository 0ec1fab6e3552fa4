#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost that weir adds to a recorded call, relative to that of the minimal tracer: the floor ratio.

Short runs of the program alone, under the floor and under weir alternate, each round starting with another. A run is divided
into turns of about 0.1 ms, each with a probe of its core's speed (tests/programs/turns.h); only turns on an undisturbed core
count, with the same limit for all. The figure of a run is the median of its turns, that of a tool the median of its runs; the
ratio of each round is kept too, to show the spread. A round whose core was never quiet is repeated.
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

import tools

HERE = os.path.dirname(os.path.realpath(__file__))
TURN_CALLS = 250
RUN_CALLS = 60000
PROBE_SLOWER = 1.03  # a turn counts if its probe took at most this factor longer than the fastest
TURNS_LEAST = 10  # quiet turns that a run needs to count
CASES = [("pread 1 B", "load_pread", 1, 1), ("pread 4 KiB", "load_pread", 1, 4096), ("pread 1 B, 2 threads", "load_pread", 2, 1),
         ("pread 4 KiB, 2 threads", "load_pread", 2, 4096), ("stat of a path", "load_stat", 1, 1), ("metadata", "load_meta", 1, 1)]
NAMED_ALONE = [("a byte to and fro", "load_wake", 1, 1)]  # only if --cases names them


class Case:
    """One load under every tool: got[name] is a list over the rounds of [(ns per call, ns of the probe)]. The first tool is
    none, the second the floor."""

    fastest = float("inf")  # fastest probe of all cases, as a single case may never see a quiet core

    def __init__(self, name, case, threads, size, chosen):
        self.name, self.case, self.threads, self.size, self.tools = name, case, threads, size, chosen
        self.got = {t.name: [] for t in chosen}

    def run(self, tool, workload, folder, calls):
        work = os.path.join(folder, "w")
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work)
        env = dict(os.environ, WORK_CALLS=str(calls), WORK_THREADS=str(self.threads), WORK_SIZE=str(self.size),
                   WORK_TURN=str(TURN_CALLS))
        out = os.path.join(folder, "out")
        if os.path.exists(out):  # from the previous tool: weir does not overwrite files that are not traces
            os.unlink(out)
        command = tool.command([workload, self.case, work], out)
        tool.before(folder)
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=work, stdin=subprocess.DEVNULL)
        finally:
            tool.after()
        turns = [(int(ns) / int(n), int(probe)) for n, ns, probe in re.findall(r"^turn (\d+) (\d+) (\d+)$", done.stdout, re.M)]
        if done.returncode or not turns:
            raise RuntimeError(f"{self.name} under {tool.name}: {(done.stderr or done.stdout).strip()[-300:]}")
        self.got[tool.name].append(turns)

    def round(self, number, workload, folder, calls):
        shift = number % len(self.tools)
        for tool in self.tools[shift:] + self.tools[:shift]:
            self.run(tool, workload, folder, calls)

    def measure(self, workload, folder, rounds, minutes, calls=RUN_CALLS):
        """Runs until that many rounds were quiet, or the time is up; returns the number of rounds."""
        until = time.monotonic() + minutes * 60
        number = 0
        while len(self.quiet_rounds()) < rounds and (number < 2 or time.monotonic() < until):
            self.round(number, workload, folder, calls)
            number += 1
        return number

    def limit(self):
        """The slowest probe of a turn that counts. The fastest few in a thousand may be outliers."""
        probes = sorted(p for runs in self.got.values() for run in runs for _, p in run)
        Case.fastest = min(Case.fastest, probes[len(probes) // 200])
        return Case.fastest * PROBE_SLOWER

    def medians(self):
        """{tool: [median of the run's quiet turns, or None]}"""
        limit = self.limit()
        found = {}
        for tool, runs in self.got.items():
            quiet = [[ns for ns, p in run if p <= limit] for run in runs]
            found[tool] = [statistics.median(q) if len(q) >= TURNS_LEAST else None for q in quiet]
        return found

    def quiet_rounds(self):
        return [r for r in zip(*self.medians().values()) if None not in r] if self.got[self.tools[0].name] else []

    def figures(self):
        """{tool: {"ns", "added", "ratio", "ratio_quartiles", "runs"}}; a tool without a quiet run is left out."""
        medians = {n: m for n, m in self.medians().items() if any(v is not None for v in m)}
        rounds = self.quiet_rounds()
        # All quiet runs of a tool count, even if another tool was disturbed in that round.
        ns = {n: statistics.median(v for v in m if v is not None) for n, m in medians.items()}
        names = [t.name for t in self.tools]
        out = {}
        for i, n in enumerate(names):
            if n not in ns or names[0] not in ns:
                continue
            out[n] = {"ns": ns[n], "added": ns[n] - ns[names[0]], "runs": sum(v is not None for v in medians[n])}
            if i == 0 or names[1] not in ns:
                continue
            out[n]["ratio"] = (ns[n] - ns[names[0]]) / (ns[names[1]] - ns[names[0]])
            each = [(r[i] - r[0]) / (r[1] - r[0]) for r in rounds if r[1] > r[0]]
            if len(each) >= 4:
                out[n]["ratio_quartiles"] = statistics.quantiles(each, n=4)
        return out


def table(case):
    lines = [f"{case.name} ({len(case.quiet_rounds())} rounds on a quiet core)"]
    for tool, f in case.figures().items():
        text = f"  {tool:18} {f['ns']:6.0f} ns"
        if "ratio" in f:
            text += f"  added {f['added']:4.0f}  x floor {f['ratio']:.2f}"
        if tool != "floor" and "ratio_quartiles" in f:
            text += "  (half of the rounds: {0:.2f} to {2:.2f})".format(*f["ratio_quartiles"])
        lines.append(text)
    return "\n".join(lines)


class Env:
    def __init__(self, build):
        self.weir = os.path.join(build, "src/cli/weir")
        self.floor = os.path.join(build, "bench/floor/floor")
        self.workload = os.path.join(build, "tests/programs/workload")


class WeirWith(tools.Weir):
    """weir with additional data recorded."""

    def __init__(self, env, what):
        self.env, self.name, self.options = env, f"weir, {what}", ("--with", what)


class BystanderWith(tools.Bystander):
    """The same for a program that is not recorded."""

    def __init__(self, env, what):
        self.env, self.name, self.options = env, f"of another, {what}", ("--with", what)


class OtherWeir(tools.Weir):
    """Another build of weir, to compare with."""

    def __init__(self, name, program):
        self.name, self.program = name, program

    def command(self, command, out):
        return [self.program, "record", "-o", out, "--", *command]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder")
    parser.add_argument("--rounds", type=int, default=30, help="rounds on a quiet core that are wanted")
    parser.add_argument("--minutes", type=float, default=3, help="begin no round of a case after this time")
    parser.add_argument("--calls", type=int, default=RUN_CALLS, help="of a thread in a run")
    parser.add_argument("--cases", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--other", action="store_true", help="also a program that is not recorded while weir records another one")
    parser.add_argument("--weir", nargs="*", default=[], metavar="NAME=PROGRAM", help="other builds of weir beside this one")
    parser.add_argument("--with", dest="beside", metavar="WHAT", help="also weir that records this beside calls: phases, block, ...")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args()
    if os.geteuid():
        print("ratio: needs root to record", file=sys.stderr)
        return 1
    env = Env(os.path.realpath(options.build))
    chosen = [tools.Vanilla(env), tools.Floor(env), tools.Weir(env)] + ([tools.Bystander(env)] if options.other else [])
    if options.beside:
        chosen += [WeirWith(env, options.beside)] + ([BystanderWith(env, options.beside)] if options.other else [])
    chosen += [OtherWeir(*w.split("=", 1)) for w in options.weir]
    folder = tempfile.mkdtemp(prefix="weir-ratio.", dir="/dev/shm")
    written = []
    try:
        for spec in CASES + (NAMED_ALONE if options.cases else []):
            if options.cases and not any(c in spec[0] for c in options.cases):
                continue
            case = Case(*spec, chosen)
            number = case.measure(env.workload, folder, options.rounds, options.minutes, options.calls)
            print(table(case), flush=True)
            written.append({"case": case.name, "rounds": number, "quiet": len(case.quiet_rounds()), "tools": case.figures()})
    except RuntimeError as e:
        print(f"ratio: {e}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(written, f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
