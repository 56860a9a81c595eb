"""What the parts see of a server and its jobs: events as they arrive, times and steps that jobs print, the folder of an attempt."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time

FIRST_STEP = re.compile(r": first step at ([\d.]+)")
STEPS = re.compile(r": (\d+) steps at ([\d.]+)")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self.path)


class Events:
    """The events of a server since it began, in a list that grows until the server stops."""

    def __init__(self, server):
        self.rows = []
        self.connection = UnixConnection(server.environment["CARPOOL_SOCKET"])
        self.connection.request("GET", "/v1/events?since=0")
        stream = self.connection.getresponse()
        if stream.status != 200:
            sys.exit(f"the server refused the stream of events: {stream.read().decode()}")
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while line := stream.readline():
                if line.startswith(b"data:"):
                    self.rows.append(json.loads(line[5:]))

    def of(self, kind, *jobs):
        return [row for row in list(self.rows) if row["event"] == kind and row["job"] in jobs]


def until(condition, patience_s, every_s=0.25):
    """The value of the condition as soon as it holds; its last value when patience is over."""
    end = time.monotonic() + patience_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(every_s)
    return value


def first_step_s(server, number):
    found = FIRST_STEP.search(server.log(number))
    return float(found[1]) if found else None


def await_first_step(server, number, patience_s=90.0):
    began = until(lambda: first_step_s(server, number), patience_s)
    if began is None:
        sys.exit(f"job {number} computes no step: {server.show(number)}\n{server.log(number)[-800:]}")
    return began


def steps_between(log, from_s, to_s):
    """Steps a second between the first and the last line that the job printed in this time; None: fewer than two lines."""
    said = [(int(steps), float(at)) for steps, at in STEPS.findall(log) if from_s <= float(at) <= to_s]
    if len(said) < 2 or said[-1][1] <= said[0][1]:
        return None
    return (said[-1][0] - said[0][0]) / (said[-1][1] - said[0][1])


class RunFolder:
    """The folder of a running attempt. Pauses it as the server does: a file, and a signal to its supervisor (src/run/job_pause.hpp)."""

    def __init__(self, server, number, attempt=1):
        self.path = server.folder / "state" / "runs" / f"{number}.{attempt}"
        ticks = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        self.request = json.dumps({"pid": server.process.pid, "start_ticks": int(ticks)})

    def record(self, name):
        with contextlib.suppress(OSError, ValueError):
            return json.loads((self.path / name).read_text())
        return {}

    def over(self):
        return (self.path / "exit").exists()

    def began(self):
        return "pid" in self.record("leader")

    def wake(self):
        pid = self.record("claim").get("pid")
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def pause(self):
        new = self.path / "pause.new"
        new.write_text(self.request)
        new.rename(self.path / "pause")
        self.wake()

    def resume(self):
        (self.path / "pause").unlink(missing_ok=True)
        self.wake()

    def stands_still(self):
        with contextlib.suppress(OSError):
            cgroup = pathlib.Path((self.path / "cgroup").read_text().strip())
            if "frozen 1" in (cgroup / "cgroup.events").read_text():
                return True
        with contextlib.suppress(OSError, IndexError):
            state = pathlib.Path(f"/proc/{self.record('leader').get('pid')}/stat").read_text().rpartition(")")[2].split()[0]
            return state in "Tt"
        return False
