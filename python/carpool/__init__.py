"""Tells Carpool how fast a job really is: call carpool.step() at the end of every step.

Without a watcher (the environment variable CARPOOL_STEP_FILE) the call returns at once, so it can
stay in a program for good. With one, each step is noted when its GPU work is done, and the watcher
can hold the job between two steps and let it go on.
"""

import threading

from carpool import watched

__all__ = ["configure", "step"]

_PATHS = watched.paths()
_recorders = {}
_lock = threading.Lock()
_thread = threading.local()


def _recorder():
    """The recorder of the calling thread's slot, made when it is first needed."""
    slot = getattr(_thread, "slot", 0)
    with _lock:
        if slot not in _recorders:
            _recorders[slot] = watched.open_recorder(_PATHS, slot)
        return _recorders[slot]


def step(units=None):
    """Marks the end of one step of the calling thread's workload.

    units: how much work a step is, from now on (samples, tokens); 1 if never said.
    Ends the program with SystemExit when the watcher says so.
    """
    if not _PATHS:
        return
    try:
        recorder = _thread.recorder
    except AttributeError:
        recorder = _thread.recorder = _recorder()
    recorder.step(units)


def configure(depth=None, units=None, slot=None):
    """Sets what the calling thread's steps are like; what is left out stays.

    depth: steps whose GPU work may be in flight. 1 waits for each step, as a server does before it
           answers; 2, the default, lets the next one be prepared meanwhile, as training does.
           CARPOOL_STEP_DEPTH overrides it.
    units: how much work a step is (samples, tokens).
    slot:  which of the files in CARPOOL_STEP_FILE this thread writes, where several workloads are
           threads of one process.
    """
    if not _PATHS:
        return
    if slot is not None:
        if not 0 <= slot < len(_PATHS):
            raise ValueError(
                f"carpool: slot {slot} of {len(_PATHS)} files in {watched.FILE_VARIABLE}")
        _thread.slot = slot
    _thread.recorder = _recorder()
    _thread.recorder.configure(depth, units)
