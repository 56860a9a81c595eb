"""Traces the GPU memory of a PyTorch program without a GPU: python -m carpool.trace [--out FILE] script.py args…

The script runs on the CPU instead of a GPU up to the end of its first optimizer step, or to its end if it only
infers. Its calls are written as one row that `carpool estimate FILE` reads: layers with the shapes of their
outputs, bytes that autograd keeps, optimizer, precision, batch.
"""

import argparse
import contextlib
import importlib
import json
import os
import runpy
import sys

from carpool import simulated_gpu

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
AUTOCASTS = {"bfloat16": "ampbf16", "float16": "amp16"}
ADAM = ("Adam", "AdamW", "NAdam", "RAdam")
OPTIMIZERS = {"RMSprop": "rmsprop", "Adagrad": "adagrad"}


class Traced(BaseException):
    """Ends the script after its first step. Not an Exception, so that the script does not catch it."""


def type_name(dtype):
    return str(dtype).removeprefix("torch.")


def optimizer_name(kind, settings):
    """The name in the rows; an unknown one counts as Adam, which keeps most."""
    if kind == "SGD":
        return "sgdm" if settings.get("momentum") else "sgd"
    if kind in OPTIMIZERS:
        return OPTIMIZERS[kind]
    if settings.get("fused"):
        return "adamw_fused"
    return "adamw_single" if kind in ADAM and settings.get("foreach") is False else "adamw"


def first_tensor(torch, values):
    """The first tensor in nested arguments or outputs; None without one."""
    if torch.is_tensor(values):
        return values
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (tuple, list)):
        return None
    found = (first_tensor(torch, value) for value in values)
    return next((tensor for tensor in found if tensor is not None), None)


class Trace:
    """Watches modules, saved tensors and optimizers of one program."""

    def __init__(self, torch):
        self.torch = torch
        self.root = None      # the first called module with parameters: the model
        self.depth = 0        # of nested calls of the root
        self.passes = 0       # of the root, before the optimizer's step
        self.layers = []      # of the first pass
        self.optimizer = None
        self.precision = None
        self.batch = self.inputs = None
        self.saved, self.saved_bytes = set(), 0
        self.counted = set()  # parameters that are assigned to a layer

    def enter(self, module, given):
        if self.root is None and next(module.parameters(), None) is not None:
            self.root = module
            self.precision = PRECISIONS.get(type_name(next(module.parameters()).dtype), "fp32")
            # Parameters are counted as weights, not as saved tensors.
            self.saved = {parameter.untyped_storage()._cdata for parameter in module.parameters()}
        # With keyword arguments the batch shows at the first part that receives it by position.
        tensor = first_tensor(self.torch, given) if self.root is not None and self.batch is None else None
        if tensor is not None and tensor.dim() > 0:
            self.batch = int(tensor.shape[0])
            self.inputs = int(tensor.numel() // max(self.batch, 1))
        self.depth += module is self.root

    def leave(self, module, _arguments, output):
        if self.depth and self.passes == 0 and not next(module.children(), None):
            # Some wrap the model's forward, so that autocast starts inside it.
            self.precision = self.autocast_precision() or self.precision
            tensor = first_tensor(self.torch, output)
            if tensor is not None:
                self.layers.append([type(module).__name__, [int(size) for size in tensor.shape],
                                    type_name(tensor.dtype), self.new_weights(module)])
        if module is self.root:
            self.depth -= 1
            self.passes += 1

    def new_weights(self, module):
        """Elements of the module's own parameters; shared ones belong to the first layer."""
        new = [parameter for parameter in module.parameters(recurse=False) if id(parameter) not in self.counted]
        self.counted.update(map(id, new))
        return sum(parameter.numel() for parameter in new)

    def keep(self, tensor):
        storage = tensor.untyped_storage()
        if self.passes == 0 and storage._cdata not in self.saved:
            self.saved.add(storage._cdata)
            self.saved_bytes += storage.nbytes()
        return tensor

    def stepped(self, optimizer, _arguments, _keywords):
        self.optimizer = optimizer_name(type(optimizer).__name__, optimizer.defaults)
        raise Traced

    def autocast_precision(self):
        for device in ("cuda", "cpu"):
            if self.torch.is_autocast_enabled(device):
                return AUTOCASTS.get(type_name(self.torch.get_autocast_dtype(device)), "amp16")
        return None

    def convolution_settings(self):
        """Settings that decide the workspace of convolutions."""
        last = self.torch.channels_last
        kernels = (parameter for parameter in self.root.parameters() if parameter.dim() == 4)
        reordered = any(kernel.is_contiguous(memory_format=last) and not kernel.is_contiguous() for kernel in kernels)
        cudnn = self.torch.backends.cudnn
        return {"tf32": int(cudnn.allow_tf32), "bench": int(cudnn.benchmark), "cl": int(reordered)}

    def row(self, name):
        if self.batch is None or not self.layers:
            raise SystemExit("carpool.trace: the program called no module on a tensor")
        trains = self.optimizer is not None
        row = {
            "cfg": {"fam": "layers", "name": name, "batch": self.batch, "inp": self.inputs,
                    "mode": "train" if trains else "infer", "prec": self.precision,
                    "opt": self.optimizer or "sgd", "accum": max(self.passes, 1) if trains else 1,
                    **self.convolution_settings(),
                    "ckpt": int(bool(getattr(self.root, "is_gradient_checkpointing", False)))},
            "static": {"params": sum(parameter.numel() for parameter in self.root.parameters()),
                       "buffers": sum(buffer.numel() * buffer.element_size() for buffer in self.root.buffers())},
            "layers": self.layers,
        }
        if trains:
            row["saved_mib"] = self.saved_bytes / 2**20
        return row


@contextlib.contextmanager
def watching(torch, trace):
    """Hooks on modules and optimizers, and a simulated GPU."""
    modules = torch.nn.modules.module
    # Not an attribute of torch.optim, which hides it.
    step = importlib.import_module("torch.optim.optimizer").register_optimizer_step_post_hook
    with contextlib.ExitStack() as stack:
        for handle in (modules.register_module_forward_pre_hook(trace.enter),
                       modules.register_module_forward_hook(trace.leave),
                       step(trace.stepped)):
            stack.callback(handle.remove)
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(trace.keep, lambda tensor: tensor))
        stack.enter_context(simulated_gpu.simulated(torch))
        yield


def parse(words):
    parser = argparse.ArgumentParser(prog="python -m carpool.trace", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="trace.json", help="file to write (default: trace.json)")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(words)
    options.out = os.path.abspath(options.out)  # the script may change the current folder
    if not os.path.isfile(options.script):
        parser.error(f"no such script: {options.script}")
    if not os.access(os.path.dirname(options.out), os.W_OK) or os.path.isdir(options.out):
        parser.error(f"cannot write {options.out}; name another file with --out")
    return options


def run(torch, options):
    """The row of the script's first step."""
    trace = Trace(torch)
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    with watching(torch, trace), contextlib.suppress(Traced):
        try:
            runpy.run_path(options.script, run_name="__main__")
        except SystemExit as end:
            if end.code:  # inference may end with exit(0)
                raise
    return trace.row(os.path.basename(options.script))


def main(words=None):
    options = parse(words)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # no real GPU is used
    try:
        import torch
    except ImportError:
        raise SystemExit("carpool.trace: PyTorch is not installed for this Python") from None
    if not hasattr(torch, "get_autocast_dtype"):
        raise SystemExit(f"carpool.trace: PyTorch {torch.__version__} is too old; install 2.4 or newer")
    row = run(torch, options)
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(row, file)
        file.write("\n")
    print(f"carpool.trace: {len(row['layers'])} layers, batch {row['cfg']['batch']}, {row['cfg']['mode']}; "
          f"next: carpool estimate {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
