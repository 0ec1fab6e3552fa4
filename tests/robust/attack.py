# SPDX-License-Identifier: Apache-2.0
"""What the parts of an attack share: they count cases, print what they found with the command that repeats it, and speak TAP.
`make nightly` reads the lines "# N cases", "not ok" and "# repeat: COMMAND"."""
import shlex
import sys
import threading

SHOWN_MAX = 50  # findings that are printed; all are counted


class Attack:
    def __init__(self, seed=None):
        self.seed, self.cases, self.findings, self.checks, self.lock = seed, 0, 0, 0, threading.Lock()
        self.groups = {}  # what was tried: how often

    def tried(self, group, count=1):
        with self.lock:
            self.cases += count
            self.groups[group] = self.groups.get(group, 0) + count

    def found(self, what, *repeat):
        """A finding, and the words of the command that repeats it."""
        with self.lock:
            self.findings += 1
            if self.findings > SHOWN_MAX:
                return
            self.checks += 1
            print(f'not ok {self.checks} - {" ".join(what.split())[:600]}')
            print(f'# repeat: {shlex.join(str(w) for w in repeat)}', flush=True)

    def end(self):
        """Prints the sums; the exit status."""
        if self.findings > SHOWN_MAX:
            print(f'# {self.findings - SHOWN_MAX} more not shown')
        for group, count in sorted(self.groups.items()):
            self.checks += 1
            print(f'ok {self.checks} - {group}: {count} cases')
        print(f'# {self.cases} cases, {self.findings} found' + (f', seed {self.seed}' if self.seed is not None else ''))
        print(f'1..{self.checks}')
        sys.stdout.flush()
        return 1 if self.findings else 0
