# SPDX-License-Identifier: Apache-2.0
"""What a trace holds after its disk lost power, in a virtual machine whose disk drops what was not yet written (dm-flakey): all that
was committed some seconds before, and without --sync much less."""
import base64
import gzip
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "robust"))
import robust  # noqa: E402


def check(options, trace, sync, committed):
    """Raises Bad; committed: up to when the trace was complete six seconds before."""
    told = json.loads(subprocess.run([options.weir, "check", "--json", trace], capture_output=True, text=True).stdout)["traces"][0]
    until = int(told.get("complete_until") or 0)
    print(f"# --sync {sync}: {os.path.getsize(trace)} bytes, complete until {(until - int(committed)) / 1e9:.3f} s after what was "
          f"committed six seconds before")
    if sync == "off":  # the trouble is real
        robust.need(until < int(committed), "what was never synced is there: this disk drops nothing")
        return
    # a block may be torn at the end, and nowhere else
    faults = [fault for fault in told["faults"] if fault["what"] != "cut at the end of the file"]
    robust.need(told["status"] in ("unclosed", "damaged") and not faults, f"{told['status']}: {faults[:2]}")
    robust.need(until >= int(committed), "what was committed six seconds before the power failed is not there")
    rows, _ = robust.numbered(options, trace)
    robust.need(rows > 0, "no call is there")


def problem_of(options, folder, sync, said):
    """What is wrong with the trace that the machine printed, or ""."""
    trace = os.path.join(folder, "power-" + sync)
    try:
        found = re.search(rf"^BEGIN {sync} (\d*)\s(.*?)^END$", said, re.S | re.M)
        robust.need(found, "the machine did not get there: " + said[-300:])
        committed, text = found.groups()
        robust.need(committed, "nothing was recorded: " + text[:300])
        with open(trace, "wb") as f:
            f.write(gzip.decompress(base64.b64decode(text)) if text else b"")
        check(options, trace, sync, committed)
    except (robust.Bad, ValueError, OSError) as e:
        return str(e)
    return ""
