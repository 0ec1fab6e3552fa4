#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs and loses: weir, the minimal tracer (floor), and the tools in use today.

Every round runs each workload under each tool, one after another, so that all see the same background load; medians of the
rounds are shown. Costs are CPU time, not elapsed time, as the machine may be busy otherwise. The CPU that a tool takes to start
and stop is measured in every round on a command that does nothing, shown separately, and subtracted from its CPU per call, which
would otherwise depend on the length of the run. A tool's cost is shown next to its losses: losing half of the events is cheap.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import sys
import tempfile
import time

import ratio
import tools
import workloads

HERE = os.path.dirname(os.path.realpath(__file__))


class Env:
    def __init__(self, build):
        self.weir = os.path.join(build, "src/cli/weir")
        self.workload = os.path.join(build, "tests/programs/workload")
        self.dump = os.path.join(build, "tests/oracles/trace_dump")
        self.floor = os.path.join(build, "bench/floor/floor")


# Workloads that measure their own loop; in others, start-up and noise exceed the cost of a tracer.
LOOP_ROUNDS = 2
LOOPS = {w.name for w in workloads.WORKLOADS if isinstance(w, workloads.Load)}


def run_once(load, tool, env, root, options):
    """(Run, error) in a new folder."""
    work = os.path.join(root, "w")
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    return load.run(tool, env, work, options.factor)


def measure(options, env):
    """{workload: {tool: [Run]}}, {tool: [Run of nothing]}, reasons for tools left out."""
    root = tempfile.mkdtemp(prefix="weir-bench.", dir=options.dir)
    runs, starts, left_out, dead = {}, {}, [], set()
    until = time.monotonic() + options.minutes * 60 if options.minutes else None
    chosen = [t(env) for t in (tools.ALL if options.tools else tools.TOOLS) if not options.tools or any(w in t.name for w in options.tools)]
    for tool in list(chosen):
        if tool.missing():
            left_out.append(f"{tool.name}: {tool.missing()}")
            chosen.remove(tool)
    loads = [w for w in workloads.WORKLOADS if not options.workloads or any(o in w.name for o in options.workloads)]
    for load in list(loads):
        if load.missing():
            left_out.append(f"{load.name}: {load.missing()}")
            loads.remove(load)
    # Loops are short, so more of them alternate: all then see the same moments of a busy machine.
    turns = [(r, load, t) for r in range(options.rounds)
             for load in [workloads.NOTHING, *loads] for t in range(LOOP_ROUNDS if load.name in LOOPS else 1)]
    try:
        for at, (round_number, load, _) in enumerate(turns):
            if until and time.monotonic() > until:
                left_out.append(f"from {load.name} in round {round_number + 1} on: the time was up")
                break
            # Every turn begins with another tool, so that none always runs first after a pause.
            shift = at % len(chosen)
            for tool in chosen[shift:] + chosen[:shift]:
                if (load.name, tool.name) in dead or (tool.loops_only and load.name not in LOOPS) or (load.only and tool.name not in load.only):
                    continue
                if not options.quiet:
                    print(f"\r\033[Kround {round_number + 1} of {options.rounds}: {load.name}, {tool.name}", end="", file=sys.stderr)
                run, error = run_once(load, tool, env, root, options)
                if run is None:
                    dead.add((load.name, tool.name))
                    left_out.append(f"{load.name} under {tool.name}: {error.strip() or 'failed'}")
                    continue
                where = starts if load is workloads.NOTHING else runs.setdefault(load.name, {})
                where.setdefault(tool.name, []).append(run)
    except KeyboardInterrupt:
        left_out.append("what would have come after Ctrl-C")
    finally:
        shutil.rmtree(root, ignore_errors=True)
        if not options.quiet:
            print("\r\033[K", end="", file=sys.stderr)
    return runs, starts, left_out


def measure_floor(options, env, left_out):
    """{workload: ratio.Case} of the loops: the cost added to a call, from short runs on a quiet core."""
    chosen = [t(env) for t in (tools.Vanilla, tools.Floor, tools.Weir, tools.Bystander)]
    if any(t.missing() or (options.tools and not any(w in t.name for w in options.tools)) for t in chosen[:3]):
        return {}
    root = tempfile.mkdtemp(prefix="weir-ratio.", dir="/dev/shm")
    cases = {}
    try:
        for spec in ratio.CASES:
            if options.workloads and not any(o in spec[0] for o in options.workloads):
                continue
            if not options.quiet:
                print(f"\r\033[Kthe floor: {spec[0]}", end="", file=sys.stderr)
            case = ratio.Case(*spec, chosen)
            case.measure(env.workload, root, 4 * options.rounds, 0.4 * options.rounds)
            cases[spec[0]] = case
    except (RuntimeError, KeyboardInterrupt) as e:
        left_out.append(f"the rest of the comparison with the floor: {e or 'Ctrl-C'}")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return cases


def put_floor(rows, cases):
    """Replaces the figures of the long loops by these, for the tools that have them."""
    for row in rows:
        f = cases[row["workload"]].figures().get(row["tool"]) if row["workload"] in cases else None
        if f:
            row.update(program_ns=f["ns"], added_ns=f["added"], floor_ratio=f.get("ratio"),
                       floor_ratio_quartiles=f.get("ratio_quartiles"), floor_runs=f["runs"])


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def tool_ns(run, start):
    """CPU of the tool per unit without its start and stop; at least 0, as noise in the start may exceed the work."""
    return max(run.tool_cpu - start, 0) / run.units * 1e9


def summarize(runs, starts):
    """Rows of the table: one per workload and tool."""
    rows = []
    for load, by_tool in runs.items():
        alone = by_tool.get("alone", [])
        base_main = median([r.main_cpu / r.units * 1e9 for r in alone])
        base_wall = median([r.wall / r.units for r in alone])
        floor = by_tool.get("floor", [])
        floor_main = median([r.main_cpu / r.units * 1e9 for r in floor])
        for tool in [t.name for t in tools.ALL if t.name in by_tool]:
            own = by_tool[tool]
            main = median([r.main_cpu / r.units * 1e9 for r in own])
            idle = starts.get(tool, [])
            start = median([r.tool_cpu for r in idle]) or 0
            events = sum(r.kept.get("events") or 0 for r in own)
            lost = sum(r.kept.get("lost") or 0 for r in own)
            missing = sum(max(r.kept["expected"] - r.kept["calls"], 0) for r in own
                          if r.kept.get("calls") is not None and r.kept.get("expected"))
            row = {
                "workload": load, "tool": tool, "runs": len(own),
                "program_ns": main, "added_ns": None if base_main is None else main - base_main,
                "floor_ratio": None, "tool_ns": median([tool_ns(r, start) for r in own]),
                "start_ms": start * 1e3 if idle else None, "start_wall_ms": median([r.wall * 1e3 for r in idle]),
                "cpu_ratio": None, "slowdown": None if not base_wall else median([r.wall / r.units for r in own]) / base_wall,
                "events": events, "lost": lost, "lost_percent": 100 * lost / (events + lost) if events + lost else None,
                "missing": missing, "bytes_per_event": median([r.kept.get("bytes", 0) / r.kept["events"] for r in own
                                                               if r.kept.get("events")]),
                "memory": max(r.memory for r in own), "without_file": sum(r.kept.get("without_file") or 0 for r in own),
                "events_per_unit": median([r.kept["events"] / r.units for r in own if r.kept.get("events")]),
            }
            if base_main:
                row["cpu_ratio"] = (main + row["tool_ns"]) / base_main
            if load in LOOPS and floor_main and base_main and floor_main > base_main and tool != "alone":
                row["floor_ratio"] = (main - base_main) / (floor_main - base_main)
            rows.append(row)
    return rows


def fmt(value, kind):
    if value is None:
        return "-"
    if kind == "ns":
        return f"{value:,.0f}"
    if kind == "x":
        return f"{value:.2f}" if value < 10 else f"{value:.0f}"
    if kind == "%":
        return "0" if value == 0 else f"{value:.1f} %" if value >= 0.1 else "<0.1 %"
    if kind == "B":
        return f"{value:.1f}"
    if kind == "MiB":
        return f"{value / (1 << 20):.0f}"
    return str(value)


COLUMNS = [("tool", None), ("program_ns", "ns"), ("added_ns", "ns"), ("floor_ratio", "x"), ("tool_ns", "ns"), ("start_ms", "ns"),
           ("cpu_ratio", "x"), ("slowdown", "x"), ("lost_percent", "%"), ("bytes_per_event", "B"), ("memory", "MiB")]
HEADS = ["", "program ns", "added ns", "x floor", "tool ns", "start ms", "CPU x", "clock x", "lost", "B/call", "MiB"]


def cells(row):
    out = [fmt(row[c], k) if k else row[c] for c, k in COLUMNS]
    if row["tool"] == "alone":
        out[2:] = ["-"] * (len(out) - 2)
    if row["tool"] == "weir, of another":
        out[4:] = ["-"] * (len(out) - 4)
    if row["tool"] == "strace -c":
        out[-2] = "-"
    return out


def table_text(rows):
    lines = []
    for load in dict.fromkeys(r["workload"] for r in rows):
        own = [r for r in rows if r["workload"] == load]
        body = [[load] + HEADS[1:]] + [cells(r) for r in own]
        widths = [max(len(b[i]) for b in body) for i in range(len(HEADS))]
        widths[0] = max(widths[0], 24)
        for b in body:
            lines.append("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(b, widths))))
        lines.append("")
    return "\n".join(lines)


# The rows of the table in the README; the others are in docs/howto/run-the-bench.md.
SHORT_LOADS = ("pread 1 B", "metadata", "Redis, everysec", "RocksDB")
SHORT_TOOLS = ("strace -f", "perf trace", "weir")


def table_short(rows, said):
    """Four workloads under three tools; events lost are bold."""
    by_load = {w: {r["tool"]: r for r in rows if r["workload"] == w} for w in SHORT_LOADS}
    lines = ["| | " + " | ".join(SHORT_TOOLS) + " |", "|---|" + "---|" * len(SHORT_TOOLS)]
    for load, own in by_load.items():
        words = []
        for r in (own.get(n) for n in SHORT_TOOLS):
            lost = "-" if not r else f"lost {fmt(r['lost_percent'], '%')}"
            words.append("-" if not r else f"{fmt(r['cpu_ratio'], 'x')}x, {f'**{lost}**' if r['lost_percent'] else lost}")
        lines.append(f"| {load} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n\n" + said


def table_markdown(rows, said):
    """Per workload the CPU of program and tool relative to the program alone, events lost, and the number of runs."""
    names = [n for n in dict.fromkeys(r["tool"] for r in rows) if n not in ("alone", "weir --lossless", "weir, of another")]
    lines = ["| CPU, events lost | runs | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for load in dict.fromkeys(r["workload"] for r in rows):
        own = {r["tool"]: r for r in rows if r["workload"] == load}
        words = []
        for n in names:
            r = own.get(n)
            words.append("-" if not r else f"{fmt(r['cpu_ratio'], 'x')}x, lost {fmt(r['lost_percent'], '%')}")
        lines.append(f"| {load} | {min(r['runs'] for r in own.values())} | " + " | ".join(words) + " |")
    by_tool = {r["tool"]: r for r in rows}
    lines.append("| start and stop, CPU | | " + " | ".join(f"{fmt(by_tool[n]['start_ms'], 'ns')} ms" for n in names) + " |")
    return "\n".join(lines) + "\n\n" + said


def write_tables(rows, said):
    """Writes the short table to the README and the whole table to the page about the bench: between the markers <!-- NAME --> and <!-- /NAME -->."""
    root = os.path.join(HERE, "..")
    for path, name, text in ((os.path.join(root, "README.md"), "bench short", table_short(rows, said)),
                             (os.path.join(root, "docs/howto/run-the-bench.md"), "bench", table_markdown(rows, said))):
        with open(path) as f:
            old = f.read()
        new = re.sub(rf"<!-- {name} -->.*?<!-- /{name} -->", lambda m: f"<!-- {name} -->\n{text}\n<!-- /{name} -->", old, flags=re.S)
        if f"<!-- {name} -->" not in old:
            sys.exit(f"{path} has no <!-- {name} --> markers")
        with open(path, "w") as f:
            f.write(new)


def runs_text(rows):
    """"2 to 6 interleaved runs": a workload that was not reached again in time has fewer."""
    least, most = min((r["runs"] for r in rows), default=0), max((r["runs"] for r in rows), default=0)
    return f"{most} interleaved runs" if least == most else f"{least} to {most} interleaved runs"


def from_files(paths):
    """(rows, text about them): for a workload in several files, the rows of the last."""
    by_load, said = {}, []
    for path in paths:
        with open(path) as f:
            one = json.load(f)
        loads = dict.fromkeys(r["workload"] for r in one["rows"])
        by_load.update({w: [r for r in one["rows"] if r["workload"] == w] for w in loads})
        said.append((", ".join(loads) + ": " if said else "") + one["machine"] + ".")
    order = [t.name for t in tools.ALL]
    return [r for own in by_load.values() for r in sorted(own, key=lambda r: order.index(r["tool"]))], "\n".join(said)


def cpu_model():
    with open("/proc/cpuinfo") as f:
        m = re.search(r"model name\s*: (.*)", f.read())
    return m.group(1).strip() if m else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder")
    parser.add_argument("--quick", action="store_true", help="one fifth of the calls, two rounds: a few minutes")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=0, help="begin nothing after this time")
    parser.add_argument("--factor", type=float, default=0, help="part of the calls to make, 1 by default")
    parser.add_argument("--tools", nargs="*", help="only tools whose name contains one of these")
    parser.add_argument("--workloads", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--tables", action="store_true", help="put the tables into README.md and docs/howto/run-the-bench.md")
    parser.add_argument("--from", dest="sources", nargs="+", metavar="JSON", help="measure nothing: show what --json wrote")
    parser.add_argument("--dir", default="/var/tmp", help="where to work: a disk, for the direct and fsync workloads")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.factor = options.factor or (0.2 if options.quick else 1.0)
    options.quiet = options.quiet or not sys.stderr.isatty()
    if options.sources:
        rows, said = from_files(options.sources)
        print(said + "\n\n" + table_text(rows))
        if options.tables:
            write_tables(rows, said)
        return 0
    if os.geteuid():
        print("bench: needs root to record", file=sys.stderr)
        return 1
    env = Env(os.path.realpath(options.build))
    started = time.time()
    load_before = os.getloadavg()[0]
    runs, starts, left_out = measure(options, env)
    rows = summarize(runs, starts)
    cases = measure_floor(options, env, left_out)
    put_floor(rows, cases)
    machine = (f"Linux {platform.release()}, {os.cpu_count()} CPUs ({cpu_model()}), load {load_before:.1f} before and "
               f"{os.getloadavg()[0]:.1f} after; {(time.time() - started) / 60:.0f} minutes, medians of {runs_text(rows)}")
    print(machine)
    print("ns of CPU per call (fio, RocksDB: per operation; Redis: per request); added: to the program; x floor: added against a minimal\n"
          "tracer; tool: the tracer's own CPU without its start and stop (never below 0), which is the next column; CPU x: program\n"
          "and tool together against the program alone; clock x: elapsed time of the program's loop\n")
    print(table_text(rows))
    if cases:
        print("What is added to a call, in short runs on a quiet core (bench/ratio.py):")
    for case in cases.values():
        print(ratio.table(case))
    for reason in left_out:
        print("left out: " + reason.replace("\n", " "))
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "machine": machine, "when": int(started), "rounds": options.rounds,
                       "factor": options.factor, "rows": rows, "left_out": left_out,
                       "floor": {name: case.figures() for name, case in cases.items()}}, f, indent=1)
            f.write("\n")
    if options.markdown:
        with open(options.markdown, "w") as f:
            f.write(table_markdown(rows, machine + ".") + "\n")
    if options.tables:
        write_tables(rows, machine + ".")
    lost = [r for r in rows if r["tool"].startswith("weir") and (r["lost"] or r["missing"])]
    for r in lost:
        print(f"weir lost {r['lost']} events ({r['missing']} calls missing) on {r['workload']}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
