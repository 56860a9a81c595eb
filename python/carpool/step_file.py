"""The step file: shared memory between a running workload and its watcher.

Little-endian, created by the watcher, mapped by both sides. Each field has one writer.

    offset  type     field
    0       8 bytes  "CPSTEP1" and a zero byte
    8       u32      version, 1
    12      u32      capacity C of the ring, a power of two
    16      u64      steps done; written by the worker after the slot of the ring
    24      u32      state, written by the worker: 0 starting, 1 held, 2 running, 3 ended
    28      u32      order, written by the watcher: 0 hold, 1 run, 2 end, 3 count only
    32      f64      units per step (samples, tokens), written by the worker
    40      u64      process id of the worker
    48      u64      cores 0 to 63 to run on, a bit each, written by the watcher; 0: any
    56      u64      reserved
    64      u64 x C  ring: CLOCK_MONOTONIC nanoseconds at which step n was done, in slot n % C
"""

import mmap
import os
import struct
import sys

MAGIC = b"CPSTEP1\0"
VERSION = 1
HEADER_BYTES = 64

STARTING, HELD, RUNNING, ENDED = range(4)
HOLD, RUN, END, COUNT = range(4)

# Indices in the views of 4 and 8 bytes.
_STATE, _ORDER = 24 // 4, 28 // 4
_DONE, _UNITS, _PID, _CORES, _RING = 16 // 8, 32 // 8, 40 // 8, 48 // 8, HEADER_BYTES // 8


class StepFile:
    """One mapped step file. Each access is a single load or store of an aligned word."""

    def __init__(self, path):
        if sys.byteorder != "little":
            raise RuntimeError("carpool: step files need a little-endian machine")
        descriptor = os.open(path, os.O_RDWR)
        try:
            size = os.fstat(descriptor).st_size
            if size < HEADER_BYTES:
                raise RuntimeError(f"carpool: {path}: not a step file: {size} bytes")
            memory = memoryview(mmap.mmap(descriptor, size))
        finally:
            os.close(descriptor)
        magic, version, capacity = struct.unpack_from("<8sII", memory)
        if magic != MAGIC or version != VERSION:
            raise RuntimeError(f"carpool: {path}: {magic!r} version {version} is not a step file of "
                               f"version {VERSION}; use the package of the watcher's release")
        if capacity == 0 or capacity & (capacity - 1) or size != HEADER_BYTES + 8 * capacity:
            raise RuntimeError(f"carpool: {path}: a ring of {capacity} steps in {size} bytes")
        self._capacity = capacity
        self._words = memory.cast("I")
        self._longs = memory.cast("Q")
        self._doubles = memory.cast("d")
        self._done = self._longs[_DONE]

    @staticmethod
    def create(path, capacity):
        """Creates an empty file with the order to hold, as the watcher does."""
        header = struct.pack("<8sIIQIIdQQQ", MAGIC, VERSION, capacity, 0, STARTING, HOLD, 1.0, 0,
                             0, 0)
        with open(path, "wb") as file:
            file.write(header + bytes(8 * capacity))

    def publish(self, nanoseconds):
        """Records a step: first the time, then the count."""
        self._longs[_RING + self._done % self._capacity] = nanoseconds
        self._done += 1
        self._longs[_DONE] = self._done

    @property
    def done(self):
        return self._longs[_DONE]

    def time_of(self, number):
        """The end of this step; only the last C steps are kept."""
        return self._longs[_RING + number % self._capacity]

    @property
    def state(self):
        return self._words[_STATE]

    @state.setter
    def state(self, value):
        self._words[_STATE] = value

    @property
    def order(self):
        return self._words[_ORDER]

    @order.setter
    def order(self, value):
        self._words[_ORDER] = value

    @property
    def units(self):
        return self._doubles[_UNITS]

    @units.setter
    def units(self, value):
        self._doubles[_UNITS] = value

    @property
    def pid(self):
        return self._longs[_PID]

    @pid.setter
    def pid(self, value):
        self._longs[_PID] = value

    @property
    def cores(self):
        return self._longs[_CORES]

    @cores.setter
    def cores(self, mask):
        self._longs[_CORES] = mask
