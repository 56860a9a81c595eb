"""Cells of the part overhead: loops whose speed is limited by launches, by the GPU, or by replays of a graph."""

import os
import time

import counters
import torch
import torch.profiler
from models import Trained

LAUNCHES_AT_ONCE = 2000
PRODUCTS_AT_ONCE = 20
REPLAYS_AT_ONCE = 200
NODES = 20
STEPS_AT_ONCE = 4
PROFILED_S = 0.2


def launch_bound():
    """Tiny kernels, launched eagerly."""
    small = torch.zeros(64, device="cuda")

    def work():
        for _ in range(LAUNCHES_AT_ONCE):
            small.add_(1.0)
    return work, LAUNCHES_AT_ONCE


def gpu_bound():
    """Products of large matrices."""
    left = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    right = torch.randn_like(left)
    out = torch.empty_like(left)

    def work():
        for _ in range(PRODUCTS_AT_ONCE):
            torch.mm(left, right, out=out)
    return work, PRODUCTS_AT_ONCE


def replays():
    """A graph of small kernels."""
    value = torch.zeros(1 << 16, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        value.add_(1.0)
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            value.add_(1.0)

    def work(_written=value):  # the graph writes to its memory, so it must not be freed
        for _ in range(REPLAYS_AT_ONCE):
            graph.replay()
    return work, REPLAYS_AT_ONCE


def training():
    """Eager steps of a small BERT: thousands of launches with the host work of a real program between them."""
    return steps_of("bert")


def streams():
    """Steps of an LSTM, whose kernels cuDNN spreads over streams that wait for one another."""
    return steps_of("lstm")


def steps_of(model):
    trained = Trained(model, "eager")

    def work():
        for _ in range(STEPS_AT_ONCE):
            trained.step()
    return work, STEPS_AT_ONCE


LOOPS = {"launches": launch_bound, "products": gpu_bound, "replays": replays, "training": training, "streams": streams}
made = {}


def seconds_each(work, count, seconds):
    """Mean time of one of the things that work() does, over batches of at least `seconds`."""
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        work()
        torch.cuda.synchronize()
        done += count
    return (time.perf_counter() - began) / done


def loop(name, seconds):
    """One timing. The first one of a loop warms up."""
    if name not in made:
        made[name] = LOOPS[name]()
        seconds_each(*made[name], min(0.3, seconds))
    before = counters.of_process()
    each = seconds_each(*made[name], seconds)
    seen = counters.since(before)
    return {"seconds_each": each, "launches": seen and seen["launches"]}


def logged(seconds):
    """The same loop with the kernel log of the library; an error without the library."""
    if not counters.want_log(True):
        return {"error": "there is no kernel log"}
    try:
        return loop("launches", seconds)
    finally:
        counters.want_log(False)


def profiled(seconds):
    """The same loop under torch.profiler, which records kernels and calls. Its start and its end, which take long, are not timed."""
    loop("launches", 0.05)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        work, count = made["launches"]
        work()
        torch.cuda.synchronize()
        return {"seconds_each": seconds_each(work, count, min(seconds, PROFILED_S))}


def pin(cores):
    """Runs on these processors alone, those that there are."""
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, here & set(cores) or here)
    return {"cores": sorted(os.sched_getaffinity(0))}


CELLS = {"loop": loop, "logged": logged, "profiled": profiled, "pin": pin}
