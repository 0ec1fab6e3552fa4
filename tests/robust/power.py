#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""power.py --weir W --workload L --dump D: what a trace holds after its disk lost power, in a virtual machine whose disk drops what
was not yet written (dm-flakey): all that was committed some seconds before, and without --sync much less. Speaks TAP."""

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import robust  # noqa: E402


class Reader:
    """What robust.numbered() wants."""

    def __init__(self, dump):
        self.dump = dump


def make_image(path):
    with open(path, "wb") as f:
        f.truncate(64 << 20)
    subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", path], check=True, capture_output=True)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 1) as packed:
        shutil.copyfileobj(plain, packed)


def run_vm(options, image):
    vm = [os.path.join(HERE, "..", "qemu", "vm"), "-m", "1536", "-t", "600"]
    for module in "crc32c_generic", "ext4", "loop", "dm-flakey":
        vm += ["-M", module]
    for name in options.weir, options.workload, "/usr/sbin/dmsetup", image + ".gz=/image.gz", os.path.join(HERE, "power_in_vm.sh=/power.sh"):
        vm += ["-f", name]
    return subprocess.run([*vm, "--", "sh", "/power.sh", "1s", "off"], capture_output=True, text=True, errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "weir", "workload", "dump":
        parser.add_argument("--" + name, required=True, type=os.path.realpath)
    options = parser.parse_args()
    if not os.path.exists("/usr/sbin/dmsetup") or not os.path.exists("/usr/sbin/mkfs.ext4"):
        print("1..0 # SKIP dmsetup or mkfs.ext4 is missing (apt install dmsetup e2fsprogs)")
        return 0
    with tempfile.TemporaryDirectory(prefix="weir-power.") as folder:
        image = os.path.join(folder, "image")
        make_image(image)
        done = run_vm(options, image)
        if done.returncode == 77:
            print("1..0 # SKIP " + done.stderr.strip())
            return 0
        found = re.findall(r"^BEGIN (\w+) (\d*)\s(.*?)^END", done.stdout, re.S | re.M)
        failed = 0
        for sync, committed, text in found:
            trace, problem = os.path.join(folder, sync), ""
            try:
                robust.need(committed, "nothing was recorded: " + text[:300])
                with open(trace, "wb") as f:
                    f.write(gzip.decompress(base64.b64decode(text)) if text else b"")
                check = json.loads(subprocess.run([options.weir, "check", "--json", trace], capture_output=True, text=True).stdout)["traces"][0]
                until = int(check.get("complete_until") or 0)
                print(f"# --sync {sync}: {os.path.getsize(trace)} bytes, complete until {(until - int(committed)) / 1e9:.3f} s after what was "
                      f"committed six seconds before")
                if sync == "off":  # the trouble is real
                    robust.need(until < int(committed), "what was never synced is there: this disk drops nothing")
                else:
                    # a block may be torn at the end, and nowhere else
                    faults = [fault for fault in check["faults"] if fault["what"] != "cut at the end of the file"]
                    robust.need(check["status"] in ("unclosed", "damaged") and not faults, f"{check['status']}: {faults[:2]}")
                    robust.need(until >= int(committed), "what was committed six seconds before the power failed is not there")
                    rows, _ = robust.numbered(Reader(options.dump), trace)
                    robust.need(rows > 0, "no call is there")
            except (robust.Bad, ValueError, OSError) as e:
                problem = str(e)
            failed += bool(problem)
            print(f"{'not ' if problem else ''}ok - a power failure with --sync {sync}")
            if problem:
                print("#   " + problem[:500].replace("\n", "\n# "))
        if len(found) != 2:
            failed += 1
            print("not ok - the virtual machine\n# " + "\n# ".join((done.stdout + done.stderr).splitlines()[-30:]))
        print(f"1..{max(len(found), 2)}")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
