"""Reports the speed of a job to Carpool: call carpool.step() at the end of each step.

Without a watcher (environment variable CARPOOL_STEP_FILE) the call returns immediately, so it can
stay in the program. With one, each step is recorded when its GPU work is done, and the watcher can
hold the job between two steps.

A service that was started with an SLO declares its requests: with carpool.request(): ...
"""

import threading

from carpool import requests, watched

__all__ = ["configure", "request", "step"]

request = requests.request

_PATHS = watched.paths()
_recorders = {}
_lock = threading.Lock()
_thread = threading.local()


def _recorder():
    """The recorder of the calling thread's slot, created at its first use."""
    slot = getattr(_thread, "slot", 0)
    with _lock:
        if slot not in _recorders:
            _recorders[slot] = watched.open_recorder(_PATHS, slot)
        return _recorders[slot]


def step(units=None):
    """Marks the end of one step of the calling thread's workload.

    units: work per step from now on (samples, tokens); 1 by default.
    Raises SystemExit when the watcher orders the end.
    """
    if not _PATHS:
        return
    try:
        recorder = _thread.recorder
    except AttributeError:
        recorder = _thread.recorder = _recorder()
    recorder.step(units)


def configure(depth=None, units=None, slot=None):
    """Sets the properties of the calling thread's steps; omitted ones stay unchanged.

    depth: steps whose GPU work may be in flight. 1 waits for each step, as a server does before it
           answers; 2, the default, prepares the next step meanwhile, as training does.
           CARPOOL_STEP_DEPTH overrides it.
    units: work per step (samples, tokens).
    slot:  index of this thread's file in CARPOOL_STEP_FILE, if several workloads are threads of one
           process.
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
