#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden tests of screens on terminals of 80 and 200 columns: no line is wider, and each row is one line.

widths.py WEIR             compares; TAP on standard output
widths.py WEIR --update    writes the screens as they are now, to be looked at before they are committed
"""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap, columns_of, run_plain as run  # noqa: E402
from terminal import Terminal  # noqa: E402

GOLDEN = os.path.join(HERE, "widths")
WIDTHS = (80, 200)

TRACES = {  # name: arguments of synth
    "mixed": ["--rows", "40000", "--seed", "7"],
    "other": ["--rows", "40000", "--seed", "8"],
}

CASES = {  # name: the command line
    "report": ["report", "mixed.trace"],
    "report-errors": ["report", "errors", "mixed.trace"],
    "report-files": ["report", "files", "mixed.trace", "--head", "12"],
    "report-ops": ["report", "ops", "mixed.trace"],
    "report-peers": ["report", "peers", "mixed.trace"],
    "report-processes": ["report", "processes", "mixed.trace"],
    "report-slow": ["report", "slow", "mixed.trace", "--head", "12"],
    "report-slow-utc": ["report", "slow", "mixed.trace", "--head", "3", "--utc"],
    "report-threads": ["report", "threads", "mixed.trace"],
    "query-rows": ["query", "dur > 1ms | select start, dur, comm, op, bytes, err, path | head 12", "mixed.trace"],
    "diff": ["diff", "mixed.trace", "other.trace"],
}

ENGINE = {
    "query-groups": ["query", "by file, op | count(), sum(bytes), sum(dur), p99(dur), max(dur) | sort sum(dur) desc, file, op | head 12", "mixed.trace"],
    "sql": ["sql", "SELECT op, comm, path, dur, bytes, start_time FROM op_named WHERE dur > 1000000 ORDER BY start, path LIMIT 12", "-i", "mixed.trace"],
}


def screen(weir, args, folder, columns, env):
    """What stands on the terminal, and what the colours said."""
    t = Terminal([weir, *args], folder, env, columns=columns)
    status = t.wait()
    text = t.output.decode("utf-8", "replace").replace("\r\n", "\n")
    text = text.rsplit("\r", 1)[-1] if "\r" in text else text  # progress was drawn over
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text), text, status


def compare(tap, weir, folder, name, args, columns, update):
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    env.update(TZ="Europe/Berlin", TMPDIR=folder, XDG_STATE_HOME=folder)
    text, raw, status = screen(weir, args, folder, columns, env)
    # how well the store packs is measured elsewhere
    text = re.sub(r"trace [0-9.]+ [KM]iB( \([0-9.]+ B per call\))?", "trace SIZE", text)
    wide = [line for line in text.splitlines() if columns_of(line) > columns]
    tap.golden(f"{name} at {columns} columns", os.path.join(GOLDEN, f"{name}.{columns}.txt"), text if status == 0 else f"{text}exit {status}\n", update)
    tap.check(f"{name} at {columns} columns: no line is wider", not wide, "\n".join(wide))
    return raw


def main():
    weir, update = os.path.abspath(sys.argv[1]), "--update" in sys.argv[2:]
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="weir-widths-") as folder:
        for name, args in TRACES.items():
            _, err, code = run(weir, ["synth", "-q", "-o", name + ".trace"] + args, folder)
            tap.check("synth " + name, code == 0, err.decode())
        _, err, _ = run(weir, ["sql", "-i", "mixed.trace", "SELECT 1"], folder)
        cases = dict(CASES, **({} if b"is not installed" in err else ENGINE))
        raw = {(name, c): compare(tap, weir, folder, name, args, c, update) for name, args in cases.items() for c in WIDTHS}
        errors = raw["report-errors", 80]
        tap.check("errors are red", re.search(r"\x1b\[31mENOENT\x1b\[0m", errors), errors[:300])
        tap.check("waiting is dim", "\x1b[2mepoll_wait" in raw["report-ops", 200], raw["report-ops", 200][:2000])
        tap.check("most of the time stands out", "\x1b[1m 123 ms" in raw["report-ops", 200] or "\x1b[1m123 ms" in raw["report-ops", 200], raw["report-ops", 200][:400])
        plain = screen(weir, CASES["report-errors"], folder, 80, dict(os.environ, NO_COLOR="1"))[1]
        tap.check("NO_COLOR has no colours", "\x1b[" not in plain, plain[:200])
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
