"""Worker process of collect.py: measures the GPU memory of configurations, one per line on standard input."""
import json
import os
import subprocess
import sys
import time

import convolutions
from row_files import append

MIB = 2**20
STEPS = 3
MOST_LEFT_MIB = 64  # of an earlier configuration, for a worker to continue


def reset(torch):
    """Frees the memory of the last configuration. Returns the MiB that remain: 0 if all was freed."""
    import gc
    gc.collect()
    torch.cuda.synchronize()
    # First: a workspace may lie in a large segment, which could not be freed otherwise.
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
    """For the first pass only: accumulation and checkpointing run it again."""
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
    """Counts the storages that autograd keeps, each once, without parameters."""

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
                # One round: a second would reuse the same memory.
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
    row = {"cfg": cfg, "ok": 1, "left_mib": reset(torch)}
    try:
        convolutions.measure(torch, cfg, row)
    except torch.cuda.OutOfMemoryError:
        row.update(ok=0, oom=1)
    row["peak"] = {"retries": torch.cuda.memory_stats()["num_alloc_retries"]}
    return row


def process_mib():
    """Memory of this process by the driver; None if it does not report it."""
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
    """After some CUDA errors a process cannot continue."""
    try:
        torch.ones(1, device="cuda").add_(1).item()
        return True
    except Exception:  # noqa: BLE001
        return False


def work(options):
    """Runs the configurations of standard input, one per line; answers each on standard output."""
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
        except Exception as error:  # noqa: BLE001: any error of a model library ends only this configuration
            append(options.output / "failed.jsonl", {"cfg": cfg, "error": f"{type(error).__name__}: {error}"[:500]})
            alive = works(torch)
            print("failed" if alive else "broken", flush=True)
            if alive:
                continue
            return 1
        append(options.output / f"{options.part}.jsonl", row)
        print("done", flush=True)
    return 0
