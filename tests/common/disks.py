# SPDX-License-Identifier: Apache-2.0
"""Loop devices are of the whole machine: a mkfs looks at all of them, and mount takes one that still has the same image."""
import fcntl
import os


def alone():
    """Waits until no other test has loop devices; none gets some before this process ends."""
    fd = os.open('/run/lock/weir-disks', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
