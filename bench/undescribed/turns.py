"""Two jobs that compute in turn, so that both see the same machine: its speed drifts by several percent within seconds.

A file of one byte names the job whose turn it is; a job waits for its number between two steps.
"""

import json
import mmap
import pathlib
import re
import time

NOBODY, END = 254, 255
SETTLE_S = 0.04  # at the beginning of a turn, in which the other job ends its last step
POLL_S = 0.0005
SAID = re.compile(r"^turns: (\[.*\])$", re.M)


def make(file):
    pathlib.Path(file).write_bytes(bytes([NOBODY]))


def give(file, number):
    with open(file, "r+b") as opened:
        opened.write(bytes([number]))


def alternate(file, seconds, turn_s, first=0):
    """Gives turns to the jobs 0 and 1 until the time is over; then both end."""
    end, number = time.monotonic() + seconds, first
    while time.monotonic() < end:
        give(file, number)
        time.sleep(turn_s)
        number = 1 - number
    give(file, END)


def of(text, synchronize):
    """The turns of the job N of FILE@N; None without the option."""
    return Turns(*text.rsplit("@", 1), synchronize) if text else None


class Turns:
    """The side of a job: steps a second of each of its turns."""

    def __init__(self, file, number, synchronize):
        with open(file, "r+b") as opened:
            self.word = mmap.mmap(opened.fileno(), 1)
        self.number, self.synchronize = int(number), synchronize
        self.speeds, self.began = [], None  # moment and steps at the beginning of the turn

    def wait(self, steps):
        """Returns when a step may begin; False: the job is to end."""
        if self.word[0] == self.number and self.began:
            return True
        if self.began:
            self.synchronize()
            self.speeds.append((steps - self.began[1]) / (time.monotonic() - self.began[0]))
            self.began = None
        while self.word[0] != self.number:
            if self.word[0] == END:
                return False
            time.sleep(POLL_S)
        time.sleep(SETTLE_S)
        self.began = (time.monotonic(), steps)
        return True

    def line(self):
        return f"turns: {json.dumps(self.speeds)}"


def speeds(log):
    """Of the turns of a job, from what it has printed."""
    found = SAID.search(log)
    return json.loads(found[1]) if found else []
