# SPDX-License-Identifier: Apache-2.0
"""What tests in Python share: the lines of TAP, texts kept in files, and a weir whose output is the same everywhere."""
import os
import subprocess
import time
import unicodedata

REASON_MAX = 4000  # characters of a reason


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = False

    def check(self, name, good, *why):
        """One test. Its reasons, printed where it fails, come first, without characters that a terminal obeys."""
        self.count += 1
        self.failed |= not good
        for line in (line for w in why if not good for line in str(w)[:REASON_MAX].splitlines()):
            print('# ' + ''.join(c if c.isprintable() else repr(c)[1:-1] for c in line))
        print(f'{"" if good else "not "}ok {self.count} - {name}', flush=True)

    def none(self, name, bad):
        """A test that found nothing wrong."""
        self.check(name, not bad, *bad)

    def skip(self, name, why):
        self.check(f'{name} # SKIP {why}', True)

    def golden(self, name, path, text, update=False):
        """The text is what the file holds; with update the file is written first."""
        if update:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
        with open(path, encoding='utf-8') as f:
            want = f.read()
        pairs = zip(want.splitlines() + [''], text.splitlines() + [''])
        why = next((f'line {i}\nwant {a!r}\ngot  {b!r}' for i, (a, b) in enumerate(pairs, 1) if a != b), 'one is longer')
        self.check(name, want == text, f'{path}, {why}\nmeant? run the test with --update')

    def end(self):
        """The plan; the exit status."""
        print(f'1..{self.count}')
        return 1 if self.failed else 0


def wait_attached(recorder):
    """Until it has attached all that it attaches, or is gone."""
    before = same = 0
    while same < 5 and recorder.poll() is None:
        time.sleep(0.1)
        try:
            links = [os.readlink(f.path) for f in os.scandir(f'/proc/{recorder.pid}/fd')]
        except OSError:  # one was closed meanwhile
            continue
        now = sum('bpf_link' in link or 'bpf-link' in link for link in links)
        same = same + 1 if now and now == before else 0
        before = now


def columns_of(line):
    """How many columns of a terminal a line takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line)


def run_plain(weir, args, folder, **settings):
    """Standard output, standard error and exit status, in one time zone and locale, without colours."""
    env = dict(os.environ, TZ='Europe/Berlin', LC_ALL='C.UTF-8', NO_COLOR='1', TMPDIR=folder) | settings
    p = subprocess.run([weir, *args], cwd=folder, env=env, capture_output=True, timeout=120, check=False)
    return p.stdout, p.stderr, p.returncode


def text_of(out, err, code):
    """All of it in one text."""
    return out.decode() + ''.join(f'stderr: {line}\n' for line in err.decode().splitlines()) + f'exit {code}\n'
