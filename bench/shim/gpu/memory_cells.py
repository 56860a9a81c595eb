"""Cells of the part quota: what PyTorch does where the library refuses memory."""

import json
import pathlib
import subprocess
import sys

import counters
import torch

GIB = 2**30
FILLER = pathlib.Path(__file__).resolve().parent / "programs" / "driver.py"


def hold(gib):
    return torch.empty(int(gib * GIB), dtype=torch.uint8, device="cuda")


def statistics():
    stats = torch.cuda.memory_stats()
    return {"retries": stats.get("num_alloc_retries"), "ooms": stats.get("num_ooms"), "reserved": torch.cuda.memory_reserved(),
            "allocated": torch.cuda.memory_allocated()}


def told():
    """What a program sees of the GPU's memory."""
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return {"free": free, "total": total, "properties_total": torch.cuda.get_device_properties(0).total_memory,
            "counters": counters.of_process()}


def caching(gib):
    """Allocates in steps, frees into the cache, and asks for more than is left: lives if the cache is given back."""
    before = statistics()
    pieces = [hold(gib / 8) for _ in range(6)]
    for piece in pieces:
        piece.fill_(1)
    del piece, pieces
    cached = statistics()
    large = hold(gib * 0.85)
    large.fill_(2)
    lives = int(large[-1]) == 2
    after = statistics()
    del large
    torch.cuda.empty_cache()
    return {"lives": lives, "before": before, "cached": cached, "after": after, "counters": counters.of_process()}


def beyond(gib):
    """Asks for more than the quota: an error that a program can handle, after which it goes on."""
    try:
        hold(gib * 1.1)
        refused = False
    except torch.OutOfMemoryError as problem:
        refused = str(problem)[:200]
    torch.cuda.empty_cache()
    rest = hold(gib * 0.25)
    rest.fill_(3)
    lives = int(rest[-1]) == 3
    del rest
    torch.cuda.empty_cache()
    return {"refused": refused, "lives": lives, "counters": counters.of_process()}


def steps(gib):
    """Allocates in small steps until refused; the most that it had."""
    pieces = []
    try:
        while len(pieces) < 1000:
            pieces.append(hold(gib / 64))
    except torch.OutOfMemoryError:
        pass
    used = counters.of_process()
    found = {"held": len(pieces) * int(gib / 64 * GIB), "free": torch.cuda.mem_get_info()[0], "counters": used}
    pieces.clear()
    torch.cuda.empty_cache()
    return found


def together(gib):
    """This process holds a part, another process of the same job takes what is left."""
    torch.cuda.empty_cache()
    held = hold(gib * 0.4)
    done = subprocess.run([sys.executable, str(FILLER), "fill", "64"], capture_output=True, text=True, check=False, timeout=60)
    found = {"mine": held.numel(), "code": done.returncode, "other": None, "stderr": done.stderr[-300:]}
    if done.returncode == 0:
        found["other"] = json.loads(done.stdout.splitlines()[-1])
    del held
    torch.cuda.empty_cache()
    return found


CELLS = {"told": told, "caching": caching, "beyond": beyond, "steps": steps, "together": together}
