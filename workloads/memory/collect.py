#!/usr/bin/env python3
"""Measures the GPU memory of many PyTorch configurations, for `carpool estimate`.

usage: workloads/memory/collect.py --output DIR [--part rows|fresh|convolutions] [--seconds 540] [--workers 4]

Takes up where an earlier run ended: DIR/rows.jsonl (or fresh.jsonl, convolutions.jsonl) grows by a line
for each configuration, what failed for another reason than memory goes to DIR/failed.jsonl, and neither
is run again. A worker process does the work and is replaced when it dies, hangs, or cannot give back
the memory of an earlier configuration; `fresh` uses a new one for each, to measure the context.
DIR/machine.json says what it ran on.
Several workers share the GPU; what ran short of memory beside others is run once more, alone.

Exit status: 0 all of the part is done, 3 the time was up first, 1 nothing could be run.
"""
import argparse
import json
import os
import pathlib
import select
import subprocess
import sys
import threading
import time

import configurations

MIB = 2**20
STEPS = 3
HANG_SECONDS = 120  # one configuration
MOST_LEFT_MIB = 64  # of an earlier configuration, in a worker that goes on
PARTS = {"rows": configurations.configurations, "fresh": configurations.fresh_configurations,
         "convolutions": configurations.convolutions}


def append(path, row):
    """A whole line in one write, for others may append too; on the disk before the next one is begun."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, (json.dumps(row) + "\n").encode())
        os.fsync(file)
    finally:
        os.close(file)


def mend(path):
    """Ends a line that a crash cut short, so that the next one stands by itself."""
    if path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n"):
        with open(path, "a", encoding="utf-8") as out:
            out.write("\n")


def read_rows(path):
    rows = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # cut short by a crash: run again
    return rows


# ---- in the worker

def reset(torch):
    """Gives back what the last configuration held. Says what is left of it, MiB: 0 where it went well."""
    import gc
    gc.collect()
    torch.cuda.synchronize()
    # First: a workspace may lie in a large segment, which could not be given back then.
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_reserved() / MIB


def peaks(torch):
    stats = torch.cuda.memory_stats()
    return {"alloc": torch.cuda.max_memory_allocated() / MIB, "reserved": torch.cuda.max_memory_reserved() / MIB,
            "retries": stats["num_alloc_retries"], "ooms": stats["num_ooms"],
            "seg": stats["segment.all.peak"], "inactive": stats["inactive_split_bytes.all.peak"] / MIB}


def static_facts(model):
    parameters = list(model.parameters())
    by_type, kinds = {}, {}
    for parameter in parameters:
        by_type[str(parameter.dtype)] = by_type.get(str(parameter.dtype), 0) + parameter.numel()
    for module in model.modules():
        if not list(module.children()):
            kinds[type(module).__name__] = kinds.get(type(module).__name__, 0) + 1
    return {"params": sum(parameter.numel() for parameter in parameters), "params_by_dtype": by_type,
            "n_tensors": len(parameters), "largest_tensor": max(parameter.numel() for parameter in parameters),
            "trainable": sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
            "buffers": sum(buffer.numel() * buffer.element_size() for buffer in model.buffers()), "layers": kinds}


def record_layers(torch, model, layers):
    """Of the first pass alone: accumulation and checkpointing pass again."""
    handles = []

    def hook(module, _, out):
        out = out[0] if isinstance(out, (tuple, list)) and out else out
        if torch.is_tensor(out):
            own = sum(parameter.numel() for parameter in module.parameters(recurse=False))
            layers.append([type(module).__name__, list(out.shape), str(out.dtype).removeprefix("torch."), own])

    def end(*_):
        for handle in handles:
            handle.remove()

    handles += [module.register_forward_hook(hook) for module in model.modules() if not list(module.children())]
    handles.append(model.register_forward_hook(end))


class SavedTensors:
    """Counts what autograd keeps, each storage once, parameters left out."""

    def __init__(self, torch, model):
        self.known = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
        self.bytes, self.count, self.seen = 0, 0, set()
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, lambda tensor: tensor)

    def pack(self, tensor):
        storage = tensor.untyped_storage()
        if tensor.is_cuda and storage.data_ptr() not in self.known and storage.data_ptr() not in self.seen:
            self.seen.add(storage.data_ptr())
            self.bytes += storage.nbytes()
            self.count += 1
        return tensor


def run_steps(torch, cfg, row):
    import builders
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = bool(cfg["tf32"])
    torch.backends.cudnn.benchmark = bool(cfg.get("bench"))
    model = builders.build(cfg)
    row["static"], row["mem_weights"] = static_facts(model), torch.cuda.memory_allocated() / MIB
    inputs, labels = builders.make_input(cfg)
    record_layers(torch, model, row["layers"])
    if cfg["mode"] == "infer":
        builders.infer_step(cfg, model, inputs)
        builders.infer_step(cfg, model, inputs)
        torch.cuda.synchronize()
        return
    optimizer = builders.make_optimizer(cfg, model)
    scaler = torch.amp.GradScaler("cuda", enabled=cfg["prec"] == "amp16")
    began = 0.0
    for step in range(STEPS):
        if step == 1:
            torch.cuda.synchronize()
            began = time.perf_counter()
        if step == STEPS - 1:
            saved = SavedTensors(torch, model)
            with saved.hooks:
                # One round: a second would keep the same in the same places.
                builders.train_step(dict(cfg, accum=1), model, optimizer, inputs, labels, scaler)
            row["saved_mib"], row["saved_n"] = saved.bytes / MIB, saved.count
        else:
            builders.train_step(cfg, model, optimizer, inputs, labels, scaler)
    torch.cuda.synchronize()
    row["step_s"] = (time.perf_counter() - began) / (STEPS - 1)


def measure(torch, cfg):
    row, began = {"cfg": cfg, "layers": [], "nvml_mib": None, "ok": 1, "left_mib": reset(torch)}, time.perf_counter()
    try:
        run_steps(torch, cfg, row)
    except torch.cuda.OutOfMemoryError:
        row.update(ok=0, oom=1, layers=[])
    row["peak"], row["secs"] = peaks(torch), round(time.perf_counter() - began, 2)
    return row


def measure_convolution(torch, cfg):
    left = reset(torch)
    torch.backends.cudnn.allow_tf32 = cfg["prec"] == "tf32"
    torch.backends.cudnn.benchmark = bool(cfg["bench"])
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(cfg["prec"], torch.float32)
    layout = torch.channels_last if cfg["cl"] else torch.contiguous_format
    row = {"cfg": cfg, "ok": 1, "left_mib": left}
    try:
        layer = torch.nn.Conv2d(cfg["cin"], cfg["cout"], cfg["k"], cfg["stride"], cfg["k"] // 2, groups=cfg["groups"],
                                bias=False, device="cuda", dtype=dtype).to(memory_format=layout)
        inputs = torch.randn(cfg["n"], cfg["cin"], cfg["size"], cfg["size"], device="cuda", dtype=dtype)
        inputs = inputs.to(memory_format=layout).requires_grad_(True)
        for name in ("first", "again"):
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            out = layer(inputs)
            made = torch.cuda.memory_allocated() - before
            forward = torch.cuda.max_memory_allocated() - before - made
            gradient = torch.randn_like(out)
            before = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            out.backward(gradient)
            made = torch.cuda.memory_allocated() - before
            backward = torch.cuda.max_memory_allocated() - before - max(made, 0)
            row[name] = {"forward_mib": forward / MIB, "backward_mib": backward / MIB}
            inputs.grad = layer.weight.grad = None
            del out, gradient
    except torch.cuda.OutOfMemoryError:
        row.update(ok=0, oom=1)
    row["peak"] = peaks(torch)
    return row


def process_mib():
    """Memory of this process as the driver counts it, or None where it does not say."""
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    used = dict(line.split(", ") for line in lines if ", " in line)
    value = used.get(str(os.getpid()), next(iter(used.values())) if len(used) == 1 else None)
    return float(value) if value and value.replace(".", "").isdigit() else None


def machine(torch):
    facts = torch.cuda.get_device_properties(0)
    return {"gpu": facts.name, "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "total_mib": facts.total_memory / MIB}


def works(torch):
    """After some errors nothing runs in a process any more."""
    try:
        torch.ones(1, device="cuda").add_(1).item()
        return True
    except Exception:  # noqa: BLE001
        return False


def work(options):
    """Runs what comes in on standard input, one configuration a line; says on standard output when done."""
    import torch
    if options.cap < 1.0:
        torch.cuda.set_per_process_memory_fraction(options.cap)
    about = options.output / "machine.json"
    if not about.exists():
        about.write_text(json.dumps(machine(torch), indent=1) + "\n")
    one = measure_convolution if options.part == "convolutions" else measure
    for line in sys.stdin:
        asked = json.loads(line)
        cfg, retries = asked["cfg"], torch.cuda.memory_stats().get("num_alloc_retries", 0)
        try:
            row = one(torch, cfg)
            if row["left_mib"] > MOST_LEFT_MIB:
                print("stale", flush=True)
                return 1
            if asked["beside"] and ("oom" in row or row["peak"]["retries"] > retries):
                print("short", flush=True)
                continue
            if options.part == "fresh":
                row["nvml_mib"] = process_mib()
                row["held_mib"] = torch.cuda.memory_reserved() / MIB
        except Exception as error:  # noqa: BLE001: whatever a model library raises ends this one alone
            append(options.output / "failed.jsonl", {"cfg": cfg, "error": f"{type(error).__name__}: {error}"[:500]})
            alive = works(torch)
            print("failed" if alive else "broken", flush=True)
            if alive:
                continue
            return 1
        append(options.output / f"{options.part}.jsonl", row)
        print("done", flush=True)
    return 0


# ---- in the parent

class Worker:
    def __init__(self, options):
        command = [sys.executable, __file__, "--worker", "--part", options.part, "--output", str(options.output), "--cap",
                   str(options.cap)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, cfg, beside, seconds):
        """What the worker answered, or None: it died or took too long, and is gone."""
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
    """The configurations that are left, and the workers that take them."""

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
            # Cut off by the end is not its fault: it comes again in the next run.
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
    known = {configurations.key_of(row["cfg"]) for name in (options.part, "failed")
             for row in read_rows(options.output / f"{name}.jsonl")}
    campaign = Campaign(options, [cfg for cfg in PARTS[options.part]() if configurations.key_of(cfg) not in known])
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
    parser.add_argument("--seconds", type=float, default=540.0, help="end after that")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the GPU")
    parser.add_argument("--cap", type=float, default=1.0, help="share of the GPU's memory that may be used")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    return work(options) if options.worker else collect(options)


if __name__ == "__main__":
    sys.exit(main())
