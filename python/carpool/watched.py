"""The watcher of this process, as the environment describes it."""

import atexit
import os

from carpool.counter import Counter
from carpool.recorder import Recorder
from carpool.step_file import COUNT, StepFile

FILE_VARIABLE = "CARPOOL_STEP_FILE"
DEPTH_VARIABLE = "CARPOOL_STEP_DEPTH"

# The parent process is the watcher. Read at import: it may die later.
_WATCHER = os.getppid()


def paths():
    """The step files of this process, one per workload; empty without a watcher."""
    return tuple(path for path in os.environ.get(FILE_VARIABLE, "").split(":") if path)


def depth_override():
    text = os.environ.get(DEPTH_VARIABLE)
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"carpool: {DEPTH_VARIABLE}={text!r} is not a number of steps, 1 or more")
    return int(text)


def open_recorder(files, slot):
    try:
        file = StepFile(files[slot])
    except (FileNotFoundError, PermissionError):
        return Counter(None)  # The file is not visible here, for example in a container.
    if file.order == COUNT:
        return Counter(file)
    recorder = Recorder(file, watcher=_WATCHER, fixed_depth=depth_override())
    # A program that ends by itself publishes its last steps and its end.
    atexit.register(recorder.close)
    return recorder
