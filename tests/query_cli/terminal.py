# SPDX-License-Identifier: Apache-2.0
"""A program on a pseudo-terminal, for tests."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

WAIT_S = 20  # until something that must come is given up


class Terminal:
    def __init__(self, argv, cwd, env, rows=40, columns=100):
        self.output = b''
        self.seen = 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup: what a program leaves behind would stay
            os.chdir(cwd)
            os.execve(argv[0], argv, dict(env, TERM='xterm-256color', PAGER='cat', WEIR_PAGER='cat', LC_ALL='C.UTF-8'))

    def _more(self, seconds):
        """Takes what comes within the time; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.output += piece
        return bool(piece)

    def expect(self, text, seconds=WAIT_S):
        """Waits for the text; what came since the last call up to its end, or None where it did not come."""
        end = time.monotonic() + seconds
        while True:
            at = self.output.find(text.encode(), self.seen)
            if at >= 0:
                begin, self.seen = self.seen, at + len(text.encode())
                return self.output[begin:self.seen].decode(errors='replace')
            if time.monotonic() > end:
                return None
            if not self._more(0.1):
                end = 0

    def send(self, text):
        os.write(self.fd, text.encode())

    def leave(self, keys):
        """Types the keys until the program ends: what is typed while a statement still runs may be dropped with the terminal's
        mode. The exit status, or None where it never ends."""
        for _ in range(WAIT_S):
            try:
                self.send(keys)
            except OSError:  # it has ended
                pass
            end = time.monotonic() + 1
            while time.monotonic() < end:
                if not self._more(0.1):
                    return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return None

    def wait(self):
        """Reads to the end; the exit status."""
        while self._more(WAIT_S):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def takes_signals(process):
    """Waits until a weir takes signals by itself: from then on Ctrl-C ends it in its own way, whatever it does."""
    while process.poll() is None:
        with open(f'/proc/{process.pid}/status', encoding='utf-8') as f:
            blocked = next(line for line in f if line.startswith('SigBlk:')).split()[1]
        if int(blocked, 16) >> (signal.SIGINT - 1) & 1:
            return
        time.sleep(0.01)
