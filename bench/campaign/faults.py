"""Finds the processes of an instance by kind, and kills, stops and continues them."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import time

# Kinds of process, with how often each is chosen.
KINDS = {"server": 4, "server-recovering": 2, "starter": 2, "supervisor-unclaimed": 3, "supervisor": 4,
         "reaper": 2, "keeper": 2, "mps-daemon": 2, "leader": 4, "child": 3}


@dataclasses.dataclass(frozen=True)
class Victim:
    kind: str
    pid: int
    run: str = ""  # "JOB.ATTEMPT" where it is known

    @property
    def job(self):
        return int(self.run.split(".")[0]) if self.run else 0


def arguments(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def stat(pid):
    """The fields of /proc/PID/stat from the state on; empty for a process that has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def start_ticks(pid):
    """Start of a process in ticks after boot; None for one that has ended or is a zombie."""
    fields = stat(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def parent(pid):
    fields = stat(pid)
    return int(fields[1]) if fields else 0


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += [int(word) for word in text.split()]
    return found


def is_supervisor(pid):
    words = arguments(pid)
    return len(words) == 2 and words[1] == b"guard"


def send(pid, number):
    with contextlib.suppress(OSError):
        os.kill(pid, number)
        return True
    return False


class Processes:
    """The processes of one instance. Claims never change, so each is read once."""

    def __init__(self, instance):
        self.instance = instance
        self.claims = {}  # run: {"pid", "start_ticks", "abandoned"}

    def read_claims(self):
        runs = self.instance.state / "runs"
        with contextlib.suppress(OSError):
            for run in os.listdir(runs):
                if run not in self.claims:
                    with contextlib.suppress(OSError, ValueError):
                        self.claims[run] = json.loads((runs / run / "claim").read_text())
        return self.claims

    def run_of(self, pid):
        """The attempt that this supervisor has claimed; empty: none."""
        for run, claim in self.read_claims().items():
            if claim["pid"] == pid and not claim["abandoned"] and claim["start_ticks"] == start_ticks(pid):
                return run
        return ""

    def leader(self, run):
        with contextlib.suppress(OSError, ValueError, KeyError):
            leader = json.loads((self.instance.state / "runs" / run / "leader").read_text())
            if start_ticks(leader["pid"]) == leader["start_ticks"]:
                return leader["pid"]
        return 0

    def starters(self):
        return [pid for pid in children(self.instance.server.pid) if is_supervisor(pid)]

    def supervisors(self):
        return [Victim("supervisor", claim["pid"], run) for run, claim in self.read_claims().items()
                if not claim["abandoned"] and start_ticks(claim["pid"]) == claim["start_ticks"]]

    def unclaimed_below(self, starter):
        """A supervisor is a child of its starter, or of the reaper between them."""
        for child in children(starter):
            if not self.run_of(child):
                below = children(child)
                yield from below if below else [child]

    def reapers(self):
        """Processes that inherit what a killed supervisor leaves; there are none where jobs have cgroups."""
        starters = set(self.starters())
        for victim in self.supervisors():
            above = parent(victim.pid)
            if above not in starters and is_supervisor(above):
                yield Victim("reaper", above, victim.run)

    def fleeting(self, kind, seconds):
        """Starters and supervisors before their claim live for some milliseconds: looks until one is seen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.starters()
            if kind == "supervisor-unclaimed":
                found = [pid for starter in found for pid in self.unclaimed_below(starter)]
            if found:
                return [Victim(kind, pid) for pid in found]
            time.sleep(0.001)
        return []

    def others(self, kind):
        """Keepers, MPS daemons and children of jobs, from the table of processes."""
        mark, work = str(self.instance.folder).encode(), str(self.instance.work)
        leaders = {self.leader(victim.run) for victim in self.supervisors()} if kind == "child" else set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            words = arguments(entry)
            with contextlib.suppress(OSError):
                if kind == "keeper":
                    found = b"--mps" in words and any(mark in word for word in words)
                elif kind == "mps-daemon":
                    found = bool(words) and words[0].endswith(b"nvidia-cuda-mps-control") and words[-1] == b"-d" \
                        and mark in pathlib.Path(f"/proc/{entry}/environ").read_bytes()
                else:
                    found = os.readlink(f"/proc/{entry}/cwd") == work and int(entry) not in leaders
                if found:
                    yield Victim(kind, int(entry))

    def find(self, kind):
        if kind in ("starter", "supervisor-unclaimed"):
            return self.fleeting(kind, 0.25)
        if kind == "supervisor":
            return self.supervisors()
        if kind == "reaper":
            return list(self.reapers())
        if kind == "leader":
            return [Victim(kind, pid, victim.run) for victim in self.supervisors()
                    if (pid := self.leader(victim.run))]
        return list(self.others(kind))

    def stopped(self, pid, patience=1.0):
        """Stops a process and waits until it has stopped, so that what it has written does not change."""
        if not send(pid, signal.SIGSTOP):
            return False
        end = time.monotonic() + patience
        while time.monotonic() < end:
            state = (stat(pid) or "X")[0]
            if state in "TtZX":
                return state in "Tt"
            time.sleep(0.001)
        return False

    def kill_child(self, pid):
        """Kills a process of a job unless it is the first one, which may have begun just now."""
        if not self.stopped(pid):
            return False
        first = is_supervisor(pid) or pid in {self.leader(victim.run) for victim in self.supervisors()}
        send(pid, signal.SIGCONT if first else signal.SIGKILL)
        return not first

    def kill_unclaimed(self, pid):
        """Kills a supervisor only if it has not claimed its attempt. Whether it was killed."""
        if not is_supervisor(pid) or not self.stopped(pid):
            return False
        unclaimed = not self.run_of(pid) and not self.run_of(parent(pid)) and not children(pid)
        send(pid, signal.SIGKILL if unclaimed else signal.SIGCONT)
        return unclaimed


class Stops:
    """Stopped processes and when each continues."""

    def __init__(self):
        self.until = []  # (moment, pid, start ticks)

    def stop(self, pid, seconds):
        ticks = start_ticks(pid)
        if ticks is None or not send(pid, signal.SIGSTOP):
            return False
        self.until.append((time.monotonic() + seconds, pid, ticks))
        return True

    def let_go(self, everything=False):
        now = time.monotonic()
        due = [entry for entry in self.until if everything or entry[0] <= now]
        self.until = [entry for entry in self.until if entry not in due]
        for _, pid, ticks in due:
            if start_ticks(pid) == ticks:
                send(pid, signal.SIGCONT)
