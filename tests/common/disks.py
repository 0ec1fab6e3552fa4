# SPDX-License-Identifier: Apache-2.0
"""Loop devices are of the whole machine: a mkfs looks at all of them, and mount takes one that still has the same image."""
import ctypes
import fcntl
import os
import subprocess
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 1 << 14, 1 << 18
BUSY_S = 60


def alone():
    """Waits until no other test has loop devices; none gets some before this process ends. From here on mounts are those of a namespace
    of its own: one that another program makes would keep what is mounted here, and the device below it, after it was unmounted."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None)  # fails where / is no mount point; then / is all that is shared
    fd = os.open('/run/lock/weir-disks', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)


def unmount(path):
    """Unmounts, as soon as what was ended a moment ago has let go of it: a process that was killed, a loop device over a file in it."""
    until = time.monotonic() + BUSY_S
    while subprocess.run(['umount', path], capture_output=True, check=False).returncode:
        if time.monotonic() > until:
            raise RuntimeError(f'{path} is held: ' + subprocess.run(['umount', path], capture_output=True, text=True, check=False).stderr)
        time.sleep(0.05)
