#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""span.py WEIR: the cost of marking spans (bench/span.c), recorded and not, pinned, in alternating rounds. When recorded it also checks
that nothing was lost. Takes half a minute."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
GOALS = {"recorded": (45, 18), "not recorded": (2, 2)}
ROUNDS = 2


def recorded(weir, program, folder):
    trace = os.path.join(folder, "t")
    got = json.loads(subprocess.run([weir, "record", "-q", "-o", trace, "--", program, "0", "10000"], capture_output=True, check=True).stdout)
    for table in "spans", "notes":
        answer = subprocess.run([weir, "query", "-i", trace, "--json", f"from {table[:-1]} | count()"], capture_output=True, check=True)
        rows = json.loads(answer.stdout)["rows"][0]["count"]
        if rows != got[table]:
            print(f"{table}: {got[table]:,} marked, {rows:,} recorded")
    return got


def main():
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(sys.argv[1]))))
    got = {"recorded": [], "not recorded": []}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "span")
        subprocess.run(["cc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", f"-I{HERE}/../src/span", f"{HERE}/span.c", f"{build}/src/span/libweir-span.a", "-o", program], check=True)
        for _ in range(ROUNDS):
            got["not recorded"].append(json.loads(subprocess.run([program, "0", "100"], capture_output=True, check=True).stdout))
            got["recorded"].append(recorded(sys.argv[1], program, folder))
    print(f"{'':14}{'begin, note, end':>18}{'goal':>6}{'note alone':>12}{'goal':>6}   ns")
    for name, runs in got.items():
        span, note = (statistics.median(r[k] for r in runs) for k in ("span_ns", "note_ns"))
        print(f"{name:14}{span:18.1f}{GOALS[name][0]:6}{note:12.1f}{GOALS[name][1]:6}")
    return 0


sys.exit(main())
