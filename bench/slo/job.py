#!/usr/bin/env python3
"""A service or a trainer as a job of a server (bench/slo/served): writes a line for each request, moment and latency, or for each step its moment.

Usage: job.py service NAME RATE FILE | trainer NAME FILE

Runs until it is ended. SLO_CELLS names another module of services and trainers, for machines without PyTorch.
"""

import importlib
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import latency  # noqa: E402

cells = importlib.import_module(os.environ.get("SLO_CELLS", "slo_cells"))
SPIN_S = 0.0005


def serve(name, rate, out):
    answer = cells.answers(name)
    for _ in range(10):
        answer()
    seed = 0
    while seed := seed + 1:
        start = time.monotonic()
        for moment in latency.poisson(rate, 60.0, seed):
            while (wait := start + moment - time.monotonic()) > 0:
                if wait > 2 * SPIN_S:
                    time.sleep(wait - SPIN_S)
            answer()
            now = time.monotonic()
            print(now, now - start - moment, file=out, flush=True)


def train(name, out):
    for moment in cells.steps_of(name):
        print(moment, file=out, flush=True)


def main():
    kind, name, *more = sys.argv[1:]
    with open(more[-1], "w", encoding="ascii") as out:
        if kind == "service":
            serve(name, float(more[0]), out)
        else:
            train(name, out)


if __name__ == "__main__":
    main()
