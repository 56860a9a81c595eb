"""Cells without PyTorch, for tests of the parts: the names and answers of the real ones, with launches and allocations by ctypes."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "programs")]
import counters  # noqa: E402
import driver  # noqa: E402

GIB = 2**30
KERNELS = {"bert": 40, "resnet": 60, "gpt2": 50, "lstm": 70, "vgg": 30}
opened = []


def gpu():
    if not opened:
        opened.append(driver.Driver())
    return opened[0]


def ready():
    gpu().launch(1)
    return {"counted": counters.of_process() is not None}


def outputs(model, mode, steps):
    number = gpu().launch(steps * KERNELS[model])
    text = f"{model} {mode} {number} {os.environ.get('ON_GPU_FAKE_OUTPUT', '')}"
    return {"weights": hashlib.sha256(text.encode()).hexdigest(), "output": str(number), "loss": 0.0}


def coverage(model, mode, steps):
    """A model named by ON_GPU_FAKE_MISSED has a kernel more than the driver is asked for."""
    launches = steps * KERNELS[model]
    kernels = launches + (os.environ.get("ON_GPU_FAKE_MISSED") == model)
    gpu()
    before = counters.of_process()
    gpu().launch(launches)
    alone = counters.since(before)
    return {"library": alone, "library_beside_cupti": alone, "mode": mode,
            "cupti": {"kernels": kernels, "calls": {"cuLaunchKernel": launches}, "streams": {"7": kernels}, "in_graphs": 0}}


def loop(name, seconds):
    began, done = time.perf_counter(), 0
    while done == 0 or time.perf_counter() - began < seconds:
        done += gpu().launch(50)
    return {"seconds_each": (time.perf_counter() - began) / done, "name": name}


def logged(seconds):
    if not counters.want_log(True):
        return {"error": "there is no kernel log"}
    try:
        return loop("launches", seconds)
    finally:
        counters.want_log(False)


def profiled(seconds):
    return loop("launches", seconds)


def pin(cores):
    return {"cores": cores}


def take(count):
    """Addresses of pieces of 1/64 of `count`, until refused."""
    pieces = []
    while len(pieces) < 1000 and (piece := gpu().allocate(count // 64)):
        pieces.append(piece)
    return pieces


def free(pieces):
    for piece in pieces:
        driver.check(gpu().cuda.cuMemFree_v2(driver.ctypes.c_uint64(piece)), "cuMemFree")


def told():
    free_bytes, total = driver.ctypes.c_size_t(), driver.ctypes.c_size_t()
    driver.check(gpu().cuda.cuMemGetInfo_v2(driver.ctypes.byref(free_bytes), driver.ctypes.byref(total)), "cuMemGetInfo")
    return {"free": free_bytes.value, "total": total.value, "counters": counters.of_process()}


def caching(gib):
    """As a program that frees its cache when it is refused."""
    pieces = take(int(gib * GIB))
    refused = gpu().allocate(int(gib * GIB * 0.85)) == 0
    free(pieces)
    large = gpu().allocate(int(gib * GIB * 0.85))
    free([large])
    return {"lives": refused and large != 0, "counters": counters.of_process()}


def beyond(gib):
    refused = gpu().allocate(int(gib * GIB * 1.1)) == 0
    rest = gpu().allocate(int(gib * GIB * 0.25))
    free([rest])
    return {"refused": refused, "lives": rest != 0, "counters": counters.of_process()}


def steps(gib):
    pieces = take(int(gib * GIB))
    found = {"held": len(pieces) * (int(gib * GIB) // 64), "counters": counters.of_process()}
    free(pieces)
    return found


def together(gib):
    held = gpu().allocate(int(gib * GIB * 0.4))
    done = subprocess.run([sys.executable, HERE / "programs" / "driver.py", "fill", "1"], capture_output=True, text=True, check=False)
    free([held])
    other = json.loads(done.stdout) if done.returncode == 0 else None
    return {"mine": int(gib * GIB * 0.4), "code": done.returncode, "other": other, "stderr": done.stderr}


CELLS = {"ready": ready, "outputs": outputs, "coverage": coverage, "loop": loop, "logged": logged, "profiled": profiled, "pin": pin,
         "told": told, "caching": caching, "beyond": beyond, "steps": steps, "together": together}
