#!/usr/bin/env python3
"""The window in which kernels are recorded, on a real GPU with PyTorch; about 50 s.

    tests/gpu/kernel_window.py --library build/ci/lib/carpool/libcarpool_profile.so [--out FILE.json]

Plays the server: orders windows through a window file (src/gpu/cupti/window_format.hpp), and checks that
- a loop of large matrix products has an activity above 0.8, a loop of tiny kernels one below 0.2;
- a window costs at most 0.5 % of ten minutes, 5 % of the speed of the large loop while it is open, and
  nothing once it has ended;
- torch.profiler works after it, in the same process;
- a process whose torch.profiler is active is left alone;
- beside another job the corrected activity lies near that of the job alone;
- a program that replays a graph is left alone, and goes on;
- a loop of tiny kernels is not slower after a window in which launches are counted.
Prints, and writes with --out, what was measured. Exit status 1: a check failed.
"""

import argparse
import json
import mmap
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time

STATES = ["None", "Open", "Done", "Busy", "NoCupti", "Refused", "Spoiled", "Unseen"]
MAGIC, VERSION, SLOTS = 0x014E495743504143, 1, 62
HEADER, ORDER, SLOT = 64, 16, 64
LAUNCHES, KERNELS = 0, 1


# --- the job ---------------------------------------------------------------------------------------

def job(kind):
    """Reads orders from standard input: run SECONDS, profile, open, close. Writes JSON lines."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    def say(**what):
        print(json.dumps(what), flush=True)

    if kind == "matmul":
        left = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
        right = torch.randn_like(left)
        out = torch.empty_like(left)

        def step():
            torch.mm(left, right, out=out)
        at_once = 20
    elif kind == "tiny":
        small = torch.zeros(1024, device="cuda")

        def step():
            small.add_(1.0)
        at_once = 2000
    elif kind == "adds":
        value = torch.zeros(1 << 22, device="cuda")

        def step():
            value.add_(1.0)
        at_once = 1000
    else:
        value = torch.zeros(1 << 22, device="cuda")
        for _ in range(3):
            value.add_(1.0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(20):
                value.add_(1.0)
        step = graph.replay
        at_once = 50

    def run(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            for _ in range(at_once):
                step()
            torch.cuda.synchronize()
            now = time.monotonic()
            say(at=begin, until=now, per_s=at_once / (now - begin))

    run(1.0)
    say(ready=True, torch=torch.__version__, cuda=torch.version.cuda,
        gpu=torch.cuda.get_device_name())
    session = None

    def events(one):
        return sum(1 for event in one.events() if event.device_type.name == "CUDA")

    for line in sys.stdin:
        order, *rest = line.split()
        if order == "run":
            run(float(rest[0]))
            say(ran=True)
        elif order == "profile":
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as one:
                for _ in range(20):
                    step()
                torch.cuda.synchronize()
            say(events=events(one))
        elif order == "open":
            session = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            session.__enter__()
            say(opened=True)
        elif order == "close":
            for _ in range(20):
                step()
            torch.cuda.synchronize()
            session.__exit__(None, None, None)
            say(events=events(session))


# --- the server's side -----------------------------------------------------------------------------

class WindowFile:
    def __init__(self, path):
        block = bytearray(HEADER + SLOTS * SLOT)
        struct.pack_into("<QI", block, 0, MAGIC, VERSION)
        path.write_bytes(block)
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)

    def order(self, kind, seconds):
        (number,) = struct.unpack_from("<I", self.memory, ORDER)
        start = time.monotonic_ns() + 400_000_000
        struct.pack_into("<IqI", self.memory, ORDER + 4, int(1000 * seconds), start, kind)
        struct.pack_into("<I", self.memory, ORDER, number + 1)
        return number + 1

    def answer(self, number):
        """Of the first process that has answered; None while none has."""
        for slot in range(SLOTS):
            at = HEADER + slot * SLOT
            _, window, state, code, launches, over = struct.unpack_from("<IIIiQq", self.memory, at)
            if window == number and STATES[state] not in ("None", "Open"):
                count, busy, active, fill, warps, mean, p90 = struct.unpack_from(
                    "<QIIIIII", self.memory, at + 32)
                return {"state": STATES[state], "code": code,
                        "launches_per_s": launches / (over * 1e-9) if over else 0.0,
                        "kernels": count, "busy": busy * 1e-6, "active": active * 1e-6,
                        "fill": fill * 1e-6, "warps": warps * 1e-6,
                        "mean_us": mean * 1e-3, "p90_us": p90 * 1e-3}
        return None


class Job:
    def __init__(self, kind, folder, library, name):
        self.window = WindowFile(folder / name)
        environment = dict(os.environ, CUDA_INJECTION64_PATH=str(library),
                           CARPOOL_WINDOW_FILE=str(folder / name))
        self.process = subprocess.Popen([sys.executable, __file__, "--job", kind], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)
        self.lines, self.changed = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                if line.startswith("{"):
                    self.lines.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.lines.append({"ended": True})
            self.changed.notify_all()

    def tell(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()

    def wait(self, key, patience=60):
        """The first line with this key; it and what came before are taken."""
        def place():
            return next((i for i, line in enumerate(self.lines) if key in line or "ended" in line),
                        None)
        with self.changed:
            if not self.changed.wait_for(lambda: place() is not None, patience):
                raise AssertionError(f"no {key} after {patience} s")
            at = place()
            taken, self.lines = self.lines[:at + 1], self.lines[at + 1:]
        if "ended" in taken[-1]:
            raise AssertionError(f"the job ended with {self.process.wait()} before it said {key}")
        return taken[-1], taken[:-1]

    def recorded(self, kind=KERNELS, seconds=3.0, patience=15.0):
        number = self.window.order(kind, seconds)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if (answer := self.window.answer(number)) is not None:
                return answer
            time.sleep(0.02)
        raise AssertionError(f"no answer to the window after {patience} s")

    def end(self):
        self.process.stdin.close()
        return self.process.wait(30)


def speed(lines, begin, end):
    inside = [line for line in lines if line.get("at", 0) >= begin and line.get("until", end) <= end]
    return sum(line["per_s"] for line in inside) / len(inside) if inside else None


def watched(one, seconds=8.5, kind=KERNELS):
    """Runs the job; a window of 3 s after 2 s. What it answered, and the speed around it."""
    one.tell(f"run {seconds}")
    time.sleep(2.0)
    ordered = time.monotonic()
    answer = one.recorded(kind)
    ended = time.monotonic()
    _, lines = one.wait("ran")
    answer["per_s_before"] = speed(lines, 0, ordered)
    answer["per_s_inside"] = speed(lines, ordered + 0.9, ordered + 3.4)
    answer["per_s_after"] = speed(lines, ended + 0.3, float("inf"))
    return answer


def solo_activity(answer, progress):
    """As src/knowledge/window_learning.cpp."""
    low = max(1 - (1 - answer["busy"]) / progress, 0)
    high = min(answer["busy"] / progress, 1)
    return answer["active"] / answer["busy"] * (low + high) / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--job")
    options = parser.parse_args()
    if options.job:
        return job(options.job)
    result, failures = {}, []

    def check(what, holds):
        if not holds:
            failures.append(what)
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        kinds = {"matmul": "matmul", "other": "matmul", "tiny": "tiny", "counted": "tiny", "adds": "adds", "graph": "graph"}
        jobs = {name: Job(kind, pathlib.Path(folder), options.library.resolve(), name)
                for name, kind in kinds.items()}
        try:
            for one in jobs.values():
                ready, _ = one.wait("ready")
            result["machine"] = {key: ready[key] for key in ("torch", "cuda", "gpu")}
            for name in ("matmul", "tiny"):
                got = result[name] = watched(jobs[name])
                print(name, json.dumps(got), flush=True)
                check(f"{name}: the window is whole", got["state"] == "Done")
                got["slower_inside"] = max(1 - got["per_s_inside"] / got["per_s_before"], 0.0)
                got["share_of_10_minutes"] = 3.0 * got["slower_inside"] / 600
                check(f"{name}: {got['slower_inside']:.1%} slower in the window",
                      got["share_of_10_minutes"] <= 0.005 and
                      (name == "tiny" or got["slower_inside"] <= 0.05))
                check(f"{name}: not slower after it",
                      got["per_s_after"] >= 0.98 * got["per_s_before"])
                jobs[name].tell("profile")
                got["profiler_events"] = jobs[name].wait("events")[0]["events"]
                check(f"{name}: torch.profiler works afterwards", got["profiler_events"] >= 20)
                again = jobs[name].recorded(seconds=0.5)
                check(f"{name}: a process that has profiled itself is left alone",
                      again["state"] == "Busy")
            check("matmul: activity above 0.8", result["matmul"]["active"] > 0.8)
            check("tiny: activity below 0.2", result["tiny"]["active"] < 0.2)

            jobs["other"].tell("open")
            jobs["other"].wait("opened")
            check("an active torch.profiler is left alone",
                  jobs["other"].recorded(seconds=0.5)["state"] == "Busy")
            jobs["other"].tell("close")
            check("and gets its records", jobs["other"].wait("events")[0]["events"] >= 20)

            got = result["counted"] = watched(jobs["counted"], kind=LAUNCHES)
            print("counted", json.dumps(got), flush=True)
            check(f"counting launches: {got['per_s_after'] / got['per_s_before']:.4f} of the speed after it",
                  got["per_s_after"] >= 0.995 * got["per_s_before"])

            jobs["adds"].tell("run 6")
            jobs["other"].tell("run 6")
            time.sleep(1.0)
            beside = result["adds beside matmul"] = jobs["adds"].recorded()
            jobs["adds"].wait("ran")
            jobs["other"].wait("ran")
            alone = result["adds"] = watched(jobs["adds"], 7.0)
            print("adds", json.dumps(alone), "\nbeside", json.dumps(beside), flush=True)
            if alone["state"] == "Done" and beside["state"] == "Done":
                progress = min(beside["launches_per_s"] / alone["launches_per_s"], 1.0)
                corrected = beside["corrected"] = solo_activity(beside, progress)
                check(f"beside another job: {corrected:.2f} after correction, alone "
                      f"{alone['active']:.2f}", abs(corrected - alone["active"]) < 0.3)
            graph = result["graph"] = watched(jobs["graph"], 5.0)
            check("graph: left alone", graph["state"] == "Unseen")
            for name, one in jobs.items():
                check(f"{name}: ends as it should", one.end() == 0)
        finally:
            for one in jobs.values():
                if one.process.poll() is None:
                    one.process.kill()
    result["failures"] = failures
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
