"""Cells without PyTorch, for tests of the flow: a service whose requests wait for a step of the trainer that runs beside it."""

import json
import os
import pathlib
import time

from latency import poisson

STEP_S = 0.01


def lane():
    """A file that exists while a trainer runs."""
    return pathlib.Path(os.environ["SLO_FAKE_FOLDER"]) / "trains"


def nanoseconds(seconds):
    return round(1e9 * seconds)


def ready(service):
    return {"service": service}


def busy(service):
    if service == "missing":
        raise ValueError("there is no service missing")
    return {"seconds": 0.01}


def serve(service, rate, seconds, seed, warm_up=0.0):
    start = time.monotonic()
    time.sleep(seconds)
    wait = STEP_S if lane().exists() else 0.0
    moments = poisson(rate, seconds, seed)
    in_time = [] if service == "slow" and wait else moments
    return {"latencies": [0.005 + wait for _ in in_time], "window": [start, start + seconds], "service": service, "warm_up": warm_up,
            "unsent": 3 if service == "slow" else 0,
            "spans": [[nanoseconds(start + moment), nanoseconds(start + moment + 0.006)] for moment in moments],
            "stamps": [[nanoseconds(start + moment), nanoseconds(start + moment + 0.005)] for moment in moments]}


def build(trainer):
    return {"trainer": trainer}


def prepare(trainer):
    return {"trainer": trainer}


def train(trainer, seconds, stop=""):
    lane().touch()
    end, moments = time.monotonic() + seconds, []
    while time.monotonic() < end and not os.path.exists(stop):
        time.sleep(STEP_S)
        moments.append(time.monotonic())
    lane().unlink(missing_ok=True)
    return {"moments": moments, "trainer": trainer, "stamps": [nanoseconds(moment) for moment in moments]}


def longest(trainer):
    return {"ms": 1e3 * STEP_S, "kernel": trainer}


def weights(trainer, steps):
    return {"sha256": f"{trainer}-{steps}"}


def pin(first, count):
    """The first cell of each process: leaves what the process was started with."""
    told = {name: value for name, value in os.environ.items() if name.startswith(("CARPOOL_SHIM", "LD_PRELOAD"))}
    (lane().parent / f"environment-{os.getpid()}.json").write_text(json.dumps(told))
    return {"cores": [first, count]}


CELLS = {"pin": pin, "ready": ready, "busy": busy, "serve": serve, "build": build, "prepare": prepare, "train": train, "longest": longest, "weights": weights}
