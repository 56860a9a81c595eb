"""What the library has counted for a process. The parent builds a reader; programs load it by the variable ON_GPU_COUNTERS."""

import ctypes
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent.parent.parent / "src"
NAMES = ("launches", "graph_launches", "graph_nodes", "copies", "copied_bytes", "allocations", "refusals", "used_bytes", "peak_bytes",
         "requests", "p50_ns")


def build(folder):
    """The reader, from the sources of the shared state: of the same version as the library. Tests have built it before."""
    if reader() is not None:
        return os.environ["ON_GPU_COUNTERS"]
    library = folder / "libon_gpu_counters.so"
    state = [*sorted((SOURCES / "interpose/state").glob("*.cpp")), *sorted((SOURCES / "interpose/guard").glob("*.cpp"))]
    done = subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{SOURCES}", "-o", library,
                           HERE / "counters.cpp", *state], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the reader of the shared state does not build:\n{done.stderr}")
    return library


def reader():
    """Null where the program was started by hand."""
    path = os.environ.get("ON_GPU_COUNTERS")
    return ctypes.CDLL(path) if path else None


def of_process(pid=None):
    """Counters by name, or None where the library does not count this process."""
    numbers = (ctypes.c_uint64 * len(NAMES))()
    library = reader()
    if library is None or library.on_gpu_counters(pid or os.getpid(), numbers) == 0:
        return None
    return dict(zip(NAMES, numbers))


def want_log(wanted):
    library = reader()
    return library is not None and library.on_gpu_want_log(int(wanted)) > 0


def since(before):
    """What was counted since of_process() gave `before`; None without the library."""
    now = of_process()
    if before is None or now is None:
        return None
    return {name: now[name] - before[name] for name in NAMES}
