# SPDX-License-Identifier: Apache-2.0
"""hosts.py: traces of two hosts that send messages to each other, each with a clock of its own, made of rows by MARK."""
import os
import subprocess

ORIGIN = 1700000000 * 10**9
LENGTH = 60 * 10**9


def line(table, **fields):
    return '\t'.join((table, *(f'{k}={v}' for k, v in fields.items()))) + '\n'


class Host:
    """A recording with one thread, on a machine of its own if none is named, whose clock shows clock(t) at the time t."""

    def __init__(self, name, number, clock, machine=None):
        self.name, self.clock, self.rows = name, clock, []
        other = 3 - number
        self.head = (line('host', id=0, name=machine or name, boot=f'boot-{machine or name}') + line('process', id=0, pid=100 + number, host_id=0) +
                     line('thread', id=0, task=0, tid=100 + number, tid_ns=100 + number, process_id=0, comm=name, pid_ns=1, net_ns=number) +
                     line('file', id=0, inode=0, type='socket', family='AF_INET', proto=1 << 16 | 6, ino=50 + number,
                          local=f'10.0.0.{number}:{4000 + number}', peer=f'10.0.0.{other}:{4000 + other}'))

    def call(self, op, start, end, **fields):
        a, b = self.clock(start), self.clock(end)
        self.rows.append((b, line('op', start=a, dur=b - a, thread_id=0, tid=101, op=op, kind='syscall', **fields)))

    def write(self, mark, folder, *more):
        path = os.path.join(folder, f'{self.name}.weir')
        text = self.head + ''.join(row for _, row in sorted(self.rows)) + ''.join(more)
        subprocess.run([mark, '-', path], input=text, text=True, check=True, timeout=60)
        return path


def messages(a, b, count, rng):
    """From a to b, each a send and a receive, which end in order."""
    free_a = free_b = ORIGIN + 10**6
    for at in sorted(rng.randrange(10**7, LENGTH - 10**8) for _ in range(count)):
        send = max(ORIGIN + at, free_a)
        delay = 50_000 + int(min(rng.expovariate(1 / 2e6), 2e7))
        end = max(send + delay, free_b + 2000)
        a.call('sendto', send, send + 5000, file_id=0, bytes=100, ret=100)
        b.call('recvfrom', end - 1000, end, file_id=0, bytes=100, ret=100)
        free_a, free_b = send + 6000, end
