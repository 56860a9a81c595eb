"""What runs inside the processes of bench/slo/run, with PyTorch: a service that answers requests, and trainers.

Moments are those of the monotonic clock, which all processes of a machine share.
"""

import collections
import contextlib
import gc
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time

import stamps
import torch
import turns
from latency import poisson
from slo_models import TRAINERS, service_of
from torch import nn, profiler

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from carpool import requests  # noqa: E402

SPIN_S = 0.0005  # a sleep may end that late
WARM_UP = 10
MOST_TIMES = 1.25  # the time of all arrivals, after which no request is sent
# Salus knows the iterations of a program; nothing is told to the other policies.
iteration = requests.request if os.environ.get("CARPOOL_SHIM_POLICY") == "salus" else contextlib.nullcontext
built = {}


def once(kind, name, make):
    """The one that was asked for last stays."""
    if built.get("name") != (kind, name):
        built.clear()
        gc.collect()
        torch.cuda.empty_cache()
        torch.manual_seed(0)
        built.update(name=(kind, name), made=make())
    return built["made"]


def pin(first, count):
    """Processors from `first` on, those that there are."""
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, here & set(range(first, first + count)) or here)
    return {"cores": sorted(os.sched_getaffinity(0))}


@torch.inference_mode()
def request(answer, tokens):
    return answer(tokens.cuda(non_blocking=True)).float().cpu()


def answers(service):
    """A function that answers a request."""
    made = once("service", service, lambda: service_of(service))
    return lambda: request(*made)


def ready(service):
    """Builds a service and answers one request."""
    answers(service)()
    return {}


def busy(service):
    """Seconds of the GPU for a request, without a neighbour."""
    answer, tokens = once("service", service, lambda: service_of(service))
    began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for number in range(4 * WARM_UP):
        if number == WARM_UP:
            torch.cuda.synchronize()
            began.record()
        with torch.inference_mode():
            answer(tokens.cuda(non_blocking=True))
    ended.record()
    torch.cuda.synchronize()
    return {"seconds": began.elapsed_time(ended) / 1e3 / (3 * WARM_UP)}


def serve(service, rate, seconds, seed, warm_up=2.0):
    """Latencies from the scheduled arrivals, and the window in which requests were counted."""
    answer, tokens = once("service", service, lambda: service_of(service))
    for _ in range(WARM_UP):
        request(answer, tokens)
    stamps.clear()
    latencies, spans, start = [], [], time.monotonic()
    arrivals = poisson(rate, warm_up + seconds, seed)
    for moment in arrivals:
        if time.monotonic() - start > MOST_TIMES * (warm_up + seconds):
            break  # a service that is slower than its arrivals falls behind for ever
        while (wait := start + moment - time.monotonic()) > 0:
            if wait > 2 * SPIN_S:
                time.sleep(wait - SPIN_S)
        sent = time.monotonic_ns()
        request(answer, tokens)
        spans.append((sent, time.monotonic_ns()))
        if moment >= warm_up:
            latencies.append(time.monotonic() - start - moment)
    ended = time.monotonic() - start
    latencies += [ended - moment for moment in arrivals[len(spans):] if warm_up <= moment]  # at least
    return {"latencies": latencies, "window": [start + warm_up, start + warm_up + seconds], "spans": spans if stamps.asked else [],
            "unsent": len(arrivals) - len(spans),
            "stamps": turns.by_request(stamps.read(), len(spans))}


def made(trainer):
    if trainer not in TRAINERS:
        raise ValueError(f"there is no trainer {trainer}; known are {', '.join(TRAINERS)}")
    return once("trainer", trainer, lambda: on_gpu(*TRAINERS[trainer]()))


def build(trainer):
    """A trainer, without a step."""
    made(trainer)
    return {}


def prepare(trainer):
    """Builds a trainer and makes a few steps."""
    train(trainer, 0.5)
    return {}


def steps_of(trainer):
    """The moment at which a step had ended, for ever; the host is at most two steps ahead."""
    model, inputs, goals, optimizer = made(trainer)
    waiting = collections.deque()
    while True:
        with iteration():
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(inputs), goals).backward()
            optimizer.step()
        stamps.mark()
        event = torch.cuda.Event()
        event.record()
        waiting.append(event)
        if len(waiting) > 2:
            waiting.popleft().synchronize()
            yield time.monotonic()


def train(trainer, seconds, stop=""):
    """Moments at which steps had ended, until the file `stop` exists."""
    stamps.clear()
    end, moments = time.monotonic() + seconds, []
    for moment in steps_of(trainer):
        moments.append(moment)
        if moment >= end or os.path.exists(stop):
            break
    torch.cuda.synchronize()
    return {"moments": moments, "stamps": stamps.read()}


def longest(trainer):
    """Of the kernels of a few steps, by the profiler; no milliseconds where it sees none."""
    steps = steps_of(trainer)
    for _ in range(WARM_UP):
        next(steps)
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            next(steps)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        kernels = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    found = max(kernels, key=lambda event: event["dur"], default=None)
    return {"ms": found["dur"] / 1e3, "kernel": found["name"][:100]} if found else {"ms": None}


def weights(trainer, steps):
    """A hash of the weights after some steps from a fixed start, as far as PyTorch can repeat them."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    built.clear()
    for number, _ in enumerate(steps_of(trainer), start=1):
        if number >= steps:
            break
    torch.cuda.synchronize()
    model, *_ = built["made"]
    found = hashlib.sha256()
    for parameter in model.parameters():
        found.update(parameter.detach().cpu().numpy().tobytes())
    built.clear()
    return {"sha256": found.hexdigest()}


def on_gpu(model, inputs, goals):
    model = model.cuda().train()
    stamps.of_trainer(model)
    return model, inputs.cuda(), goals.cuda(), torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)


CELLS = {"pin": pin, "ready": ready, "busy": busy, "serve": serve, "build": build, "prepare": prepare, "train": train, "longest": longest, "weights": weights}
