#!/usr/bin/env python3
"""Measures the GPU memory of many PyTorch configurations, for `carpool estimate`.

usage: workloads/memory/collect.py --output DIR [--part rows|later|fresh|convolutions] [--seconds 540] [--workers 4]

Resumes an earlier run: DIR/rows.jsonl (or the file of another part) gets one line per configuration,
DIR/failed.jsonl those that failed for another reason than memory; neither is run again. A worker process
runs the configurations and is replaced when it dies, hangs, or cannot free the memory of an earlier
configuration; `fresh` uses a new process for each, to measure the CUDA context. DIR/machine.json describes
the machine. Several workers share the GPU; a configuration that ran out of memory beside others is run
once more by itself.

Exit status: 0 the part is complete, 3 the time limit was reached, 1 nothing could be run.
"""
import argparse
import json
import pathlib
import select
import subprocess
import sys
import threading
import time

import configurations
import convolutions
from draws import key_of
from row_files import append, mend, read_rows

HANG_SECONDS = 120  # one configuration
PARTS = {"rows": configurations.configurations, "later": configurations.later_configurations,
         "fresh": configurations.fresh_configurations,
         "convolutions": convolutions.convolutions}


class Worker:
    def __init__(self, options):
        command = [sys.executable, __file__, "--worker", "--part", options.part, "--output", str(options.output), "--cap",
                   str(options.cap)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, cfg, beside, seconds):
        """The answer of the worker; None if it died or was killed after the time limit."""
        try:
            self.process.stdin.write(json.dumps({"cfg": cfg, "beside": beside}) + "\n")
            self.process.stdin.flush()
        except OSError:
            self.end()
            return None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        answer = self.process.stdout.readline().strip() if ready else ""
        if not answer:
            self.end()
            return None
        return answer

    def end(self):
        self.process.kill()
        self.process.wait()


class Campaign:
    """The remaining configurations and the workers that run them."""

    def __init__(self, options, left):
        self.options, self.left, self.short = options, left, []
        self.deadline, self.lock = time.monotonic() + options.seconds, threading.Lock()
        self.done, self.deaths = 0, 0

    def next(self):
        with self.lock:
            return self.left.pop(0) if self.left and time.monotonic() < self.deadline and not self.hopeless() else None

    def hopeless(self):
        return self.deaths > 5 and self.deaths > self.done

    def take(self, cfg, answer):
        with self.lock:
            self.done += answer is not None
            if answer == "short":
                self.short.append(cfg)
            if answer == "stale":
                self.left.insert(0, cfg)
            # Interrupted by the time limit: the next run tries it again.
            if answer is None and time.monotonic() < self.deadline:
                append(self.options.output / "failed.jsonl", {"cfg": cfg, "error": "the worker died or hung"})
                self.deaths += 1

    def serve(self, beside):
        worker = None
        while (cfg := self.next()) is not None:
            worker = worker or Worker(self.options)
            answer = worker.run(cfg, beside, min(HANG_SECONDS, max(0.0, self.deadline - time.monotonic())))
            self.take(cfg, answer)
            spent = self.options.part == "fresh" or answer in ("broken", "stale")
            if spent and answer is not None:
                worker.end()
            if spent or answer is None:
                worker = None
        if worker:
            worker.end()

    def run(self):
        threads = [threading.Thread(target=self.serve, args=(self.options.workers > 1,))
                   for _ in range(self.options.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.left, self.short = self.left + self.short, []
        self.serve(beside=False)


def collect(options):
    options.output.mkdir(parents=True, exist_ok=True)
    for name in (options.part, "failed"):
        mend(options.output / f"{name}.jsonl")
    known = {key_of(row["cfg"]) for name in (options.part, "failed")
             for row in read_rows(options.output / f"{name}.jsonl")}
    campaign = Campaign(options, [cfg for cfg in PARTS[options.part]() if key_of(cfg) not in known])
    campaign.run()
    if campaign.hopeless():
        print("collect.py: no worker stays alive", file=sys.stderr)
        return 1
    rows = len(read_rows(options.output / f"{options.part}.jsonl"))
    print(f"{options.part}: {rows} rows of {len(PARTS[options.part]())} configurations")
    return 0 if time.monotonic() < campaign.deadline else 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--part", choices=sorted(PARTS), default="rows")
    parser.add_argument("--seconds", type=float, default=540.0, help="time limit")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the GPU")
    parser.add_argument("--cap", type=float, default=1.0, help="largest share of the GPU's memory to use")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        import measure
        return measure.work(options)
    return collect(options)


if __name__ == "__main__":
    sys.exit(main())
