#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ten questions of the query language: weir over a trace against DuckDB over the same rows in Parquet (zstd).

Both sides alternate in one process with the same library; the least of the runs is shown. With one thread it is CPU time,
which other load does not increase much, on all cores elapsed time. Peak memory is that of a separate process that runs all
ten questions over the trace only.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
SEED = 7


def run(args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args[:2])}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def number(text):
    return None if text == "-" else float(text)


def ask(binary, args):
    """{question: figures}, peak memory in KiB."""
    questions, memory = {}, None
    for line in run([binary, *args]).splitlines():
        name, *cells = line.split("\t")
        if name == "memory":
            memory = int(cells[0])
        else:
            questions[name] = dict(zip(("weir", "parquet", "plan_us", "interrupt"), map(number, cells)))
    return questions, memory


def say(options, what):
    if not options.quiet:
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


def make_files(options, weir, folder):
    trace, parquet, rows = options.trace, options.parquet, os.path.join(folder, "rows.parquet")
    if not trace:
        trace = os.path.join(folder, "bench.trace")
        say(options, f"writing {options.rows:,} calls")
        run([weir, "synth", "-q", "-o", trace, "--rows", str(options.rows), "--seed", str(SEED)])
    if not parquet:
        parquet = os.path.join(folder, "bench.parquet")
        say(options, "writing them as Parquet, names joined")
        run([weir, "sql", "-i", trace, f"COPY (SELECT * EXCLUDE (start_time) FROM op_named) TO '{parquet}' (COMPRESSION zstd)"])
    say(options, "writing them as Parquet, without names")
    run([weir, "sql", "-i", trace, f"COPY (SELECT * EXCLUDE (start_time) FROM op) TO '{rows}' (COMPRESSION zstd)"])
    return trace, parquet, rows


def measure(options):
    weir, query = os.path.join(options.build, "src/cli/weir"), os.path.join(options.build, "bench/query")
    folder = tempfile.mkdtemp(prefix="weir-query.", dir=options.dir)
    try:
        trace, parquet, rows = make_files(options, weir, folder)
        runs = ["-r", str(options.runs)]
        say(options, "asking on one thread")
        one, _ = ask(query, ["-t", "1", *runs, trace, parquet])
        say(options, "asking on all cores")
        every, _ = ask(query, ["-t", "0", *runs, trace, parquet])
        say(options, "memory and interrupts")
        _, memory_one = ask(query, ["-t", "1", "-r", "1", trace])
        _, memory_all = ask(query, ["-t", "0", "-r", "1", trace])
        stopped, _ = ask(query, ["-t", "0", "-r", "1", "-i", trace])
        count = json.loads(run([weir, "query", "-i", trace, "--json", "count()"]))["rows"][0]["count"]
        return {
            "calls": count, "runs": options.runs, "one": one, "all": every,
            "interrupt": {name: q["interrupt"] for name, q in stopped.items()},
            "memory": {"one": memory_one * 1024, "all": memory_all * 1024},
            "bytes": {"trace": os.path.getsize(trace), "parquet_named": os.path.getsize(parquet), "parquet_rows": os.path.getsize(rows)},
        }
    finally:
        say(options, "")
        shutil.rmtree(folder, ignore_errors=True)


def ratios(questions):
    return [q["weir"] / q["parquet"] for q in questions.values()]


def ms(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def table(found):
    """Markdown that is readable as plain text too."""
    heads = ["question", "1 thread: weir, ms", "Parquet, ms", "ratio", "all cores: weir, ms", "Parquet, ms", "ratio", "plan, us", "interrupt, ms"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for name, one in found["one"].items():
        every = found["all"][name]
        cells = [name]
        for q in (one, every):
            cells += [ms(q["weir"]), ms(q["parquet"]), f"{q['weir'] / q['parquet']:.2f}"]
        cells += [f"{one['plan_us']:.0f}", f"{found['interrupt'][name]:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(found):
    one, every, size, mib = ratios(found["one"]), ratios(found["all"]), found["bytes"], 1 << 20
    return (f"{found['calls']:,} calls; ratio to Parquet on one thread: median {statistics.median(one):.2f}, worst {max(one):.2f}; on all "
            f"cores: median {statistics.median(every):.2f}, worst {max(every):.2f}. Trace {size['trace'] / mib:,.0f} MiB; Parquet (zstd) "
            f"{size['parquet_rows'] / mib:,.0f} MiB without names, {size['parquet_named'] / mib:,.0f} MiB with. Peak memory of weir "
            f"{found['memory']['one'] / mib:,.0f} MiB on one thread, {found['memory']['all'] / mib:,.0f} MiB on all cores. Longest plan "
            f"{max(q['plan_us'] for q in found['one'].values()):.0f} us; longest time to an interrupt's end "
            f"{max(found['interrupt'].values()):.0f} ms.")


def cpu_model():
    with open("/proc/cpuinfo") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), "unknown CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder")
    parser.add_argument("--rows", type=int, default=10_000_000, help="calls to make (default 10,000,000; 100,000,000 takes half an hour)")
    parser.add_argument("--trace", metavar="FILE", help="ask this trace instead of a synthetic one")
    parser.add_argument("--parquet", metavar="FILE", help="the op_named of that trace, written before")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--dir", default="/var/tmp", help="where to work: some 40 bytes a call")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    options.quiet = options.quiet or not sys.stderr.isatty()
    if options.parquet and not options.trace:
        parser.error("--parquet needs the --trace that it was made from")
    if not os.path.exists(os.path.join(options.build, "bench/query")):
        print("the ten questions: left out, this build has no engine (-Dengine=true)")
        return 0
    library = os.path.join(options.build, "../out/lib/libduckdb.so")
    if os.path.exists(library):
        os.environ.setdefault("WEIR_DUCKDB", library)
    if "WEIR_DUCKDB" not in os.environ:
        print("the ten questions: left out, DuckDB's library is not here (make engine)")
        return 0
    started, load = time.time(), os.getloadavg()[0]
    try:
        found = measure(options)
    except RuntimeError as e:
        print(f"bench: the ten questions: {e}", file=sys.stderr)
        return 1
    found["machine"] = (f"Linux {platform.release()}, {os.cpu_count()} CPUs ({cpu_model()}), load {load:.1f} before and "
                        f"{os.getloadavg()[0]:.1f} after; {(time.time() - started) / 60:.0f} minutes")
    text = f"{table(found)}\n\n{summary(found)}\n\n{found['machine']}.\n"
    print("The ten questions, weir over a trace against DuckDB over the same rows in Parquet (bench/query.py):\n\n" + text)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(found, f, indent=1)
            f.write("\n")
    if options.markdown:
        with open(options.markdown, "w") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
