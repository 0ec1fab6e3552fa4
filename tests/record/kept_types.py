#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kept_types.py WEIR: the kernel's types that a start keeps in /run/weir for the next one. Run in a mount namespace with a folder of its own
there. Whether the types were searched again is seen with strace: it then opens /sys/kernel/btf/vmlinux."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
FOLDER = '/run/weir'
CALLS = ['-e', '%file,read,write']  # without the object that other calls need
tap = Tap()


def calls(*options):
    """The names of the calls of a program, as recorded."""
    r = subprocess.run([weir, 'trace', *options, *CALLS, '--', 'cat', '/etc/hostname'], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, check=True)
    return re.findall(r'^[\d:.]+ (?:\[pid[^]]*\] )?(\w+)\(', r.stdout + r.stderr, re.M)


def searches():
    """Whether a start searches the kernel's types."""
    r = subprocess.run(['strace', '-f', '-e', 'trace=openat', weir, 'trace', '-o', '/dev/null', *CALLS, '--', 'true'], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, check=True)
    return '/sys/kernel/btf/vmlinux' in r.stderr


def kept():
    return sorted(f'{FOLDER}/{n}' for n in os.listdir(FOLDER))


def content(path):
    with open(path, 'rb') as f:
        return f.read()


def put(path, data):
    with open(path, 'wb') as f:
        f.write(data)


def checks():
    fresh = calls()
    tap.check('the first start keeps its types, in a file that others cannot write', len(kept()) == 1 and
              os.stat(kept()[0]).st_mode & 0o777 == 0o644, kept())
    again = calls()
    tap.check('the next one records the same calls', again == fresh and 'openat' in again, fresh, again)
    tap.check('and does not search', not searches())
    path = kept()[0]
    good = content(path)
    bad = []
    for name, data in (('a flipped bit', good[:5000] + bytes([good[5000] ^ 4]) + good[5001:]), ('half of it', good[:len(good) // 2]),
                       ('nothing', b''), ('a sum of nothing', bytes(8)), ('another key', good[:-8] + bytes(8))):
        put(path, data)
        if not searches() or content(path) != good:
            bad.append(f'{name}: used, or not replaced')
    tap.none('a damaged file is not used, and replaced', bad)
    os.chown(path, 65534, 65534)
    tap.check('nor is one of another user', searches() and os.stat(path).st_uid == 0)
    os.chmod(path, 0o666)
    tap.check('nor one that others may write', searches() and os.stat(path).st_mode & 0o777 == 0o644)
    os.rename(path, FOLDER + '/elsewhere')
    os.symlink(FOLDER + '/elsewhere', path)
    tap.check('nor a link', searches() and not os.path.islink(path) and content(path) == good)
    os.unlink(FOLDER + '/elsewhere')
    os.chmod(FOLDER, 0o777)
    tap.check('nor any of a folder in which others may write', searches())
    os.chmod(FOLDER, 0o755)
    for i in range(30):
        put(f'{FOLDER}/types-{i:016x}', b'of an older build')
    os.unlink(path)
    put(FOLDER + '/note', b'not a file of types')
    tap.check('many files are cleared away', searches() and kept() == [FOLDER + '/note', path], kept())
    tap.check('other objects have a file of their own', calls('-s', '32') == fresh and len(kept()) >= 2, kept())
    os.chmod(FOLDER, 0o555)
    os.unlink(path)
    subprocess.run(['mount', '-o', 'remount,ro', FOLDER], check=True)
    tap.check('where nothing can be kept, it records all the same', calls() == fresh and not os.path.exists(path))


def main():
    if os.getuid() != 0:
        print('1..0 # SKIP needs root')
        return 0
    if not shutil.which('strace'):
        print('1..0 # SKIP needs strace')
        return 0
    if not os.environ.get('KEPT_TYPES_INSIDE'):
        os.makedirs(FOLDER, exist_ok=True)
        return subprocess.run(['unshare', '--mount', 'sh', '-c', f'mount -t tmpfs none {FOLDER} && chmod 755 {FOLDER} && exec "$0" "$@"', sys.executable,
                               *sys.argv], env=dict(os.environ, KEPT_TYPES_INSIDE='1'), check=False).returncode
    checks()
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
