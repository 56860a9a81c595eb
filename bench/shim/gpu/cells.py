"""Cells of the parts coverage and outputs, with PyTorch: what runs inside the measured process."""

import collections
import hashlib
import json
import os
import tempfile

import counters
import torch
import torch.profiler
from models import Trained

LAUNCHES = ("LaunchKernel", "LaunchCooperative", "GraphLaunch")


def digest(tensors):
    """Of all bits, in order."""
    found = hashlib.sha256()
    for tensor in tensors:
        raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
        found.update(raw.cpu().numpy().tobytes())
    return found.hexdigest()


def outputs(model, mode, steps):
    """Digests of weights after some steps and of an output."""
    trained = Trained(model, mode)
    for _ in range(steps):
        trained.step()
    torch.cuda.synchronize()
    found = {"weights": digest(trained.model.state_dict().values())}
    found["output"] = digest([trained.ask()])
    found["loss"] = float(trained.loss().detach())
    release(trained)
    return found


def release(trained):
    """Gives graphs and memory back, for the next cell."""
    trained.graph = None
    trained.step = None
    del trained
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def recorded(work):
    """Kernels that CUPTI saw while `work` ran: on the GPU, and the calls that launched them, by name."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    calls = collections.Counter(event["name"] for event in events
                                if event.get("cat") in ("cuda_runtime", "cuda_driver")
                                and any(word in event.get("name", "") for word in LAUNCHES))
    streams = collections.Counter(str(event.get("args", {}).get("stream")) for event in kernels)
    return {"kernels": len(kernels), "calls": dict(calls), "streams": dict(streams),
            "in_graphs": sum(1 for event in kernels if event.get("args", {}).get("graph node id"))}


def coverage(model, mode, steps):
    """Launches of the same steps: as the library counts them, as CUPTI sees them, and both at once."""
    trained = Trained(model, mode)

    def work():
        for _ in range(steps):
            trained.step()
        trained.ask()
        torch.cuda.synchronize()

    work()  # loads kernels, compiles
    work()
    before = counters.of_process()
    work()
    alone = counters.since(before)
    recorded(work)  # starts CUPTI
    before = counters.of_process()
    seen = recorded(work)
    found = {"library": alone, "library_beside_cupti": counters.since(before), "cupti": seen}
    release(trained)
    return found


def ready():
    """The GPU is in use, and what runs."""
    torch.zeros(1, device="cuda").add_(1)
    torch.cuda.synchronize()
    return {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "counted": counters.of_process() is not None}


CELLS = {"ready": ready, "outputs": outputs, "coverage": coverage}
