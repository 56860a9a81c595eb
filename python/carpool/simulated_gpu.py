"""A simulated GPU for carpool.trace: a PyTorch program that uses a GPU runs on the CPU instead."""

import contextlib
import inspect
import types
from unittest import mock

NAME = "simulated GPU"
MEMORY = 2**37  # bytes that it reports
CAPABILITY = (9, 0)

# Results of the torch.cuda functions that programs call before they train.
ANSWERS = {
    "is_available": True, "is_initialized": True, "is_bf16_supported": True, "device_count": 1, "current_device": 0,
    "get_device_name": NAME, "get_device_capability": CAPABILITY, "mem_get_info": (MEMORY, MEMORY),
    "get_device_properties": types.SimpleNamespace(name=NAME, total_memory=MEMORY, major=CAPABILITY[0],
                                                   minor=CAPABILITY[1], multi_processor_count=132),
    "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0,
    "set_device": None, "synchronize": None, "empty_cache": None, "reset_peak_memory_stats": None, "init": None,
    "_lazy_init": None, "manual_seed": None, "manual_seed_all": None, "is_current_stream_capturing": False,
}

# Other processes do not have the simulated GPU, and pinned memory needs a real one.
LOADS_HERE = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "timeout": 0,
              "multiprocessing_context": None, "pin_memory": False}


def answer(value):
    return lambda *_arguments, **_keywords: value


def answering(torch):
    for name, value in ANSWERS.items():
        if hasattr(torch.cuda, name):
            yield mock.patch.object(torch.cuda, name, answer(value))


def loading_here(torch):
    loader = torch.utils.data.DataLoader
    make = loader.__init__
    signature = inspect.signature(make)

    def make_here(*arguments, **keywords):
        make(**{**signature.bind(*arguments, **keywords).arguments, **LOADS_HERE})

    return mock.patch.object(loader, "__init__", make_here)


def cpu_for(torch, device):
    """The CPU instead of a GPU; any other value unchanged."""
    if isinstance(device, str) and device.split(":")[0] == "cuda":
        return "cpu"
    return torch.device("cpu") if isinstance(device, torch.device) and device.type == "cuda" else device


def is_gpu_number(value):
    return type(value) is int  # not True or False


def computing_on_cpu(torch):
    """A mode in which each call that names a GPU uses the CPU."""
    no_ops = (torch.Tensor.cuda, torch.Tensor.pin_memory)

    class OnCpu(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, _types, arguments=(), keywords=None):
            if function in no_ops:
                return arguments[0]
            if function is torch.Tensor.to and len(arguments) > 1 and is_gpu_number(arguments[1]):
                arguments = (arguments[0], "cpu", *arguments[2:])
            keywords = {name: cpu_for(torch, value) for name, value in (keywords or {}).items()}
            if is_gpu_number(keywords.get("device")):
                keywords["device"] = "cpu"
            return function(*(cpu_for(torch, value) for value in arguments), **keywords)

    return OnCpu()


def default_device_on_cpu(torch):
    """PyTorch reads the default device below all modes, so it is patched separately."""
    set_default = torch.set_default_device

    def set_cpu(device):
        set_default("cpu" if is_gpu_number(device) else cpu_for(torch, device))

    return mock.patch.object(torch, "set_default_device", set_cpu)


def lowering_on_cpu(torch):
    """autocast("cuda") applies to the CPU."""
    autocast = torch.amp.autocast_mode.autocast
    make = autocast.__init__

    def make_for_cpu(self, device_type, dtype=None, *arguments, **keywords):
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        make(self, device_type, dtype, *arguments, **keywords)

    return mock.patch.object(autocast, "__init__", make_for_cpu)


def stepping_at_once(torch):
    """A scaler skips steps until its scale fits; here the first one counts."""
    scaler = torch.amp.GradScaler
    yield mock.patch.object(scaler, "step", lambda _self, optimizer, *_arguments, **_keywords: optimizer.step())
    for name in ("unscale_", "update"):
        yield mock.patch.object(scaler, name, answer(None))


@contextlib.contextmanager
def simulated(torch):
    with contextlib.ExitStack() as stack:
        for patch in (*answering(torch), loading_here(torch), default_device_on_cpu(torch), lowering_on_cpu(torch),
                         *stepping_at_once(torch), computing_on_cpu(torch)):
            stack.enter_context(patch)
        yield
