"""Counts the steps of a job of a server: the job never waits, and follows no orders."""

import collections
import sys
import time

# Steps whose end is not known yet; those beyond are counted when the program reaches their end.
MOST_IN_FLIGHT = 64


class Counter:
    """Counts steps in one step file when their GPU work has ended; used by one thread at a time."""

    def __init__(self, file, clock=time.monotonic_ns):
        self._file = file
        self._clock = clock
        self._in_flight = collections.deque()
        self._spare = []

    def configure(self, depth=None, units=None):
        """The depth has no meaning here: nothing waits."""
        del depth
        if self._file is not None and units is not None:
            self._file.units = float(units)

    def step(self, units=None):
        if self._file is None:
            return
        if units is not None:
            self.configure(units=units)
        event = self._record_event()
        if event is None:
            self._file.publish(self._clock())
            return
        self._in_flight.append(event)
        while self._in_flight and (len(self._in_flight) > MOST_IN_FLIGHT
                                   or self._in_flight[0].query()):
            self._spare.append(self._in_flight.popleft())
            self._file.publish(self._clock())

    def _record_event(self):
        """An event after this step's GPU work; None for a step without a GPU, or in a graph."""
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return None
        if torch.cuda.is_current_stream_capturing():
            return None
        event = self._spare.pop() if self._spare else torch.cuda.Event()
        event.record()
        return event
