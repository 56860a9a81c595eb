"""Stands in for job.py where there is no GPU (UNDESCRIBED_JOB=…/stand_in.py): the same options and lines, no PyTorch.

It sleeps instead of computing, and shows itself and its memory in UNDESCRIBED_FAKE_NVML, the settings file of the fake driver (tests/fake_nvml).
While `long` takes steps, those of `tiny` last fifty times as long. UNDESCRIBED_SPEED divides its times. Without launches to count, it reports its
steps by carpool.step().
"""

import argparse
import contextlib
import fcntl
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
import carpool  # noqa: E402
import turns  # noqa: E402

GIB = 2**30
CONTEXT = GIB
SPEED = float(os.environ.get("UNDESCRIBED_SPEED", "1"))
STEP_S = 0.01
STARVED = 50


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("--size", type=int, default=2)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hold", type=float, default=0.0)
    parser.add_argument("--grow")
    parser.add_argument("--fault")
    parser.add_argument("--turns")
    return parser.parse_args()


def alive(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def show_memory(amount):
    """The memory of this process as the fake driver reports it from now on; 0: it has left the GPU."""
    name = os.environ.get("UNDESCRIBED_FAKE_NVML")
    if not name:
        return
    file = pathlib.Path(name)
    with open(f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        text = file.read_text()
        listed = re.search(r"^mps_processes =(.*)$", text, re.M)
        processes = dict(word.split(":") for word in (listed[1].split() if listed else []))
        processes[str(os.getpid())] = str(amount)
        processes = {pid: size for pid, size in processes.items() if size != "0" and alive(pid)}
        kept = [line for line in text.splitlines() if not line.startswith(("mps_processes", "memory_used"))]
        kept.append("mps_processes = " + " ".join(f"{pid}:{size}" for pid, size in processes.items()))
        kept.append(f"memory_used = {sum(map(int, processes.values()))}")
        new = pathlib.Path(f"{name}.new")
        new.write_text("\n".join(kept) + "\n")
        new.rename(file)


def limit():
    """The memory limit of this process, which MPS would enforce."""
    found = re.search(r"=(\d+)([KMG]?)", os.environ.get("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", ""))
    return int(found[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": GIB}[found[2]] if found else None


def take(before, more):
    most = limit()
    if most is not None and before + more > most:
        sys.exit("Traceback (most recent call last):\n"
                 f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {more / GIB:.2f} GiB. GPU 0 has a total capacity of 139.80 GiB of "
                 f"which 45.85 MiB is free. Including non-PyTorch memory, this process has {before / GIB:.2f} GiB memory in use.")
    show_memory(before + more)
    return before + more


def step(kind):
    """One step; `long` leaves a mark that `tiny` looks for."""
    mark = pathlib.Path(os.environ.get("UNDESCRIBED_FAKE_NVML", "") + ".long")
    if kind == "long":
        mark.touch()
    starved = False
    with contextlib.suppress(OSError):
        starved = kind == "tiny" and time.time() - mark.stat().st_mtime < 0.5
    time.sleep(STEP_S * (STARVED if starved else 1) / SPEED)
    carpool.step()


def main():
    chosen = options()
    began = time.monotonic()
    time.sleep(1.0 / SPEED)
    held = take(CONTEXT, round(chosen.hold * GIB))
    ready = said = time.monotonic()
    grow_gib, grow_at = chosen.grow.split("@") if chosen.grow else ("0", "-1")
    fault_at = int(chosen.fault.split("@")[1]) if chosen.fault else -1
    steps = 0
    mine = turns.of(chosen.turns, lambda: None)
    print(f"{chosen.kind}: first step at {time.time():.3f}", flush=True)
    while steps != chosen.steps and not (chosen.seconds and time.monotonic() - ready > chosen.seconds / SPEED):
        if mine and not mine.wait(steps):
            break
        if steps == fault_at:
            sys.exit("Traceback (most recent call last):\nRuntimeError: CUDA error: an illegal memory access was encountered")
        if steps == int(grow_at):
            held = take(held, round(float(grow_gib) * GIB))
        step(chosen.kind)
        steps += 1
        if time.monotonic() - said > 0.5:
            said = time.monotonic()
            print(f"{chosen.kind}: {steps} steps at {time.time():.3f}, 0.0000", flush=True)
    if mine:
        print(mine.line(), flush=True)
    print(f"{chosen.kind} {chosen.size}: {steps} steps in {time.monotonic() - ready:.2f} s after {ready - began:.2f} s of start-up", flush=True)


if __name__ == "__main__":
    with contextlib.ExitStack() as stack:
        stack.callback(show_memory, 0)
        sys.exit(main())
