"""What the environment says about being watched."""

import atexit
import os

from carpool.recorder import Recorder
from carpool.step_file import StepFile

FILE_VARIABLE = "CARPOOL_STEP_FILE"
DEPTH_VARIABLE = "CARPOOL_STEP_DEPTH"

# Whoever started the program watches it. Read at import: later it may have died already.
_WATCHER = os.getppid()


def paths():
    """The step files of this process, one a workload; none when nobody watches."""
    return tuple(path for path in os.environ.get(FILE_VARIABLE, "").split(":") if path)


def depth_override():
    text = os.environ.get(DEPTH_VARIABLE)
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"carpool: {DEPTH_VARIABLE}={text!r} is no number of steps, 1 or more")
    return int(text)


def open_recorder(files, slot):
    recorder = Recorder(StepFile(files[slot]), watcher=_WATCHER, fixed_depth=depth_override())
    # A program that ends by itself says so, and publishes its last steps.
    atexit.register(recorder.close)
    return recorder
