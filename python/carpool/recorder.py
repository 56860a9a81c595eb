"""The worker's side of a step file: records steps when their GPU work ends and follows orders."""

import collections
import os
import sys
import time

from carpool import step_file

# Dozens of held jobs must not disturb running ones: they poll often only at first.
POLL_S = 0.004
PATIENT_POLL_S = 0.025
QUICK_POLLS = 25


class Recorder:
    """Records the steps of one workload in one step file; used by one thread at a time."""

    def __init__(self, file, watcher, fixed_depth=None, clock=time.monotonic_ns, pause=time.sleep,
                 parent=os.getppid):
        self._file = file
        self._watcher = watcher
        self._clock = clock
        self._pause = pause
        self._parent = parent
        self._fixed_depth = fixed_depth
        self._depth = fixed_depth or 2
        self._units = None
        self._in_flight = collections.deque()
        self._spare = []
        self._running = False
        self._home = os.sched_getaffinity(0)  # cores without an order
        file.pid = os.getpid()

    def configure(self, depth=None, units=None):
        if depth is not None:
            if depth < 1:
                raise ValueError(f"carpool: depth {depth} is below 1")
            self._depth = self._fixed_depth or depth
        if units is not None and units != self._units:
            self._units = units
            self._file.units = float(units)

    def step(self, units=None):
        if units is not None:
            self.configure(units=units)
        event = self._record_event()
        if event is None:
            self._file.publish(self._clock())
        else:
            self._in_flight.append(event)
            while len(self._in_flight) >= self._depth:
                self._publish_oldest()
        if self._file.order != step_file.RUN or not self._running:
            self._obey()
        elif self._parent() != self._watcher:
            self._leave(1)

    def close(self):
        """At the end of the program; steps in flight count if the GPU still answers."""
        try:
            self._drain()
        except RuntimeError:
            pass  # The GPU context is broken.
        finally:
            self._file.state = step_file.ENDED

    def _record_event(self):
        """An event after this step's GPU work; None for a step without a GPU."""
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return None
        event = self._spare.pop() if self._spare else torch.cuda.Event()
        event.record()
        return event

    def _publish_oldest(self):
        event = self._in_flight.popleft()
        event.synchronize()
        self._file.publish(self._clock())
        self._spare.append(event)

    def _drain(self):
        while self._in_flight:
            self._publish_oldest()

    def _obey(self):
        self._running = False
        self._drain()
        if self._file.order == step_file.HOLD:
            run_on(self._home)
            self._file.state = step_file.HELD
        polls = 0
        while self._file.order == step_file.HOLD:
            if self._parent() != self._watcher:
                self._leave(1)
            self._pause(POLL_S if polls < QUICK_POLLS else PATIENT_POLL_S)
            polls += 1
        if self._file.order == step_file.END:
            self._leave(0)
        run_on(cores_in(self._file.cores))
        self._file.state = step_file.RUNNING
        self._running = True

    def _leave(self, status):
        """Ends the program: by order (0), or because the watcher died (1)."""
        self.close()
        raise SystemExit(status)


def cores_in(mask):
    return {core for core in range(64) if mask >> core & 1}


def run_on(cores):
    """Moves all threads of this process to these cores; no change if there are none."""
    if not cores:
        return
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), cores)
        except OSError:
            pass  # The thread has ended, or the cores are not available.
