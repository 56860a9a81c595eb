"""Builds workloads and runs them on the GPU; the part of run.py that needs PyTorch."""

import gc
import json
import os
import threading
import time
import warnings

# Nothing is downloaded; checking would only delay the start.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# First, because it records the parent process, and importing PyTorch takes seconds.
import carpool  # noqa: E402
from models import REGISTRY  # noqa: E402
from models.registry import Workload  # noqa: E402

import torch  # noqa: E402

WARM_UP_STEPS = 3
CHECK_STEPS = 3
CPU_THREADS = 2


def prepare(spec):
    """Process-wide settings of a workload."""
    torch.manual_seed(0)
    # Many workloads share the cores, and none computes on them.
    torch.set_num_threads(CPU_THREADS)
    # Off: the choice of algorithms would depend on the other jobs at the start.
    torch.backends.cudnn.benchmark = False
    with warnings.catch_warnings():
        # The older names of these settings, which all versions of PyTorch know.
        warnings.simplefilter("ignore", UserWarning)
        torch.backends.cuda.matmul.allow_tf32 = spec.dtype == "tf32"
        torch.backends.cudnn.allow_tf32 = spec.dtype == "tf32"


def captured(workload):
    """The same work as a CUDA graph, one period per step."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP_STEPS * workload.period):
            workload.step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(workload.period):
            workload.step()

    def replay(_owner=workload):  # keeps the owner of the graph's memory alive
        graph.replay()

    return Workload(replay, units=workload.units * workload.period, depth=workload.depth)


def build_warm(spec):
    """The workload after its slow first steps."""
    workload = REGISTRY.build(spec)
    if spec.graph:
        workload = captured(workload)
    for _ in range(WARM_UP_STEPS):
        workload.step()
    torch.cuda.current_stream().synchronize()
    # Keeps the garbage collector from scanning the model during a step.
    gc.collect()
    gc.freeze()
    return workload


def repeat(spec, workload, steps):
    """Runs steps until it is ended, or `steps` of them and reports their speed."""
    if steps is None:
        while True:
            workload.step()
            carpool.step()
    started = time.perf_counter()
    for _ in range(steps):
        workload.step()
        carpool.step()
    torch.cuda.current_stream().synchronize()
    return report(spec, workload, steps, time.perf_counter() - started)


def report(spec, workload, steps, seconds):
    return {"name": spec.name, "steps": steps, "ms_per_step": 1000 * seconds / steps,
            "units_per_s": workload.units * steps / seconds, "unit": REGISTRY.unit(spec),
            "peak_mib": torch.cuda.max_memory_reserved() / 2**20}


def run(spec, steps):
    prepare(spec)
    workload = build_warm(spec)
    carpool.configure(depth=workload.depth, units=workload.units)
    return repeat(spec, workload, steps)


def run_in_streams(specs, steps):
    """One thread and stream each. Backward passes share PyTorch's single backward thread."""
    prepare(specs[0])
    reports = [None] * len(specs)
    building = threading.Lock()
    all_warm = threading.Barrier(len(specs))

    def work(slot, spec):
        with torch.cuda.stream(torch.cuda.Stream()):
            with building:
                workload = build_warm(spec)
            carpool.configure(depth=workload.depth, units=workload.units, slot=slot)
            all_warm.wait()
            reports[slot] = repeat(spec, workload, steps)

    threads = [threading.Thread(target=work, args=item) for item in enumerate(specs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [entry for entry in reports if entry is not None]


def check(specs, steps, as_json):
    """Runs each for a few steps and reports the result; 1 if any failed."""
    torch.cuda.init()  # for its memory statistics
    width = max(len(spec.name) for spec in specs)
    if not as_json:
        print(f"{'workload':{width}}  {'ms/step':>10}  {'peak MiB':>9}", flush=True)
    results = []
    for spec in specs:
        results.append(try_one(spec, steps))
        if not as_json:
            print(check_line(results[-1], width), flush=True)
    if as_json:
        print(json.dumps(results))
    failed = sum("error" in result for result in results)
    if not as_json:
        print(f"{len(results) - failed} of {len(results)} run")
    return 1 if failed else 0


def try_one(spec, steps):
    """A report or an error. The workload is freed on return."""
    release()
    torch.cuda.reset_peak_memory_stats()
    try:
        prepare(spec)
        return repeat(spec, build_warm(spec), steps)
    except Exception as error:  # any error is the result
        first_line = (str(error).splitlines() or [""])[0]
        return {"name": spec.name, "error": f"{type(error).__name__}: {first_line}"}


def release():
    gc.unfreeze()
    gc.collect()
    torch.cuda.empty_cache()


def check_line(result, width):
    if "error" in result:
        return f"{result['name']:{width}}  {result['error']}"
    return f"{result['name']:{width}}  {result['ms_per_step']:10.3f}  {result['peak_mib']:9.0f}"
