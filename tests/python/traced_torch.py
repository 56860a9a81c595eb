"""The part of PyTorch that carpool.trace uses: hooks that a test calls, and a CPU that records its calls."""

import contextlib
import sys
import types


class Tensor:
    def __init__(self, *shape, dtype="torch.float32", identity=None, order="contiguous"):
        self.shape, self.dtype, self.identity, self.order = shape, dtype, identity or object(), order

    def is_contiguous(self, memory_format="contiguous"):
        return self.order == memory_format

    def dim(self):
        return len(self.shape)

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def element_size(self):
        return 4

    def untyped_storage(self):
        return types.SimpleNamespace(_cdata=id(self.identity), nbytes=lambda: 4 * self.numel())

    def to(self, *arguments, **keywords):
        return arguments, keywords

    def cuda(self, _device=None):
        raise AssertionError("there is no GPU")

    pin_memory = cuda


class Device:
    def __init__(self, name):
        self.type = name.split(":")[0]


class Module:
    def __init__(self, parts=(), weights=(), result=None):
        self.parts, self.weights, self.result = parts, weights, result
        self.inside = contextlib.nullcontext  # what its own forward does around its parts

    def children(self):
        return iter(self.parts)

    def parameters(self, recurse=True):
        yield from self.weights
        for part in self.parts if recurse else ():
            yield from part.parameters()

    def buffers(self):
        return iter(())


class Linear(Module):
    pass


class Sgd:
    defaults = {"momentum": 0.9}


Sgd.__name__ = "SGD"


def with_hooks(torch):
    """Hooks are kept in lists, so that a test can call what PyTorch would call."""
    def register(hooks):
        def add(hook):
            hooks.append(hook)
            return types.SimpleNamespace(remove=lambda: hooks.remove(hook))
        return add

    @contextlib.contextmanager
    def saved_tensors_hooks(pack, _unpack):
        torch.saving.append(pack)
        yield
        torch.saving.remove(pack)

    torch.before, torch.behind, torch.stepped, torch.saving = [], [], [], []
    torch.nn = types.SimpleNamespace(modules=types.SimpleNamespace(module=types.SimpleNamespace(
        register_module_forward_pre_hook=register(torch.before),
        register_module_forward_hook=register(torch.behind))))
    sys.modules["torch.optim.optimizer"] = types.SimpleNamespace(
        register_optimizer_step_post_hook=register(torch.stepped))
    torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(saved_tensors_hooks=saved_tensors_hooks))


def with_devices(torch):
    """There is no GPU; calls of the CPU go through the active modes."""
    modes = []

    class TorchFunctionMode:
        def __enter__(self):
            modes.append(self)

        def __exit__(self, *_problem):
            modes.remove(self)

    def call(function, *arguments, **keywords):
        if modes:
            return modes[-1].__torch_function__(function, (), arguments, keywords)
        return function(*arguments, **keywords)

    torch.modes, torch.call = modes, call
    torch.overrides = types.SimpleNamespace(TorchFunctionMode=TorchFunctionMode)
    torch.Tensor, torch.device = Tensor, Device
    torch.default_device = None
    torch.set_default_device = lambda device: setattr(torch, "default_device", device)
    torch.cuda = types.SimpleNamespace(is_available=lambda: False, device_count=lambda: 0)


def with_helpers(torch):
    """Classes that programs instantiate; created anew, since a trace changes them."""
    class DataLoader:
        def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                     collate_fn=None, pin_memory=False, timeout=0, multiprocessing_context=None, *,
                     prefetch_factor=None, persistent_workers=False):
            self.given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}

    class autocast:  # noqa: N801
        def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
            self.given = device_type, dtype, enabled

    class GradScaler:
        def step(self, _optimizer):
            return "skipped"

        def unscale_(self, _optimizer):
            raise AssertionError("looks for infinities")

        update = unscale_

    torch.float16 = "torch.float16"
    torch.utils = types.SimpleNamespace(data=types.SimpleNamespace(DataLoader=DataLoader))
    torch.amp = types.SimpleNamespace(autocast_mode=types.SimpleNamespace(autocast=autocast), GradScaler=GradScaler)


def make():
    torch = types.SimpleNamespace(lowered_to=None)  # by autocast, on the CPU
    with_hooks(torch)
    with_devices(torch)
    with_helpers(torch)
    torch.channels_last = "channels last"
    torch.backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(allow_tf32=True, benchmark=False))
    torch.is_tensor = lambda value: isinstance(value, Tensor)
    torch.is_autocast_enabled = lambda device: device == "cpu" and torch.lowered_to is not None
    torch.get_autocast_dtype = lambda device: torch.lowered_to
    return torch


def forward(torch, module, given):
    """Calls a module as PyTorch does, with the hooks before and after it."""
    for hook in list(torch.before):
        hook(module, (given,))
    out = given
    with module.inside():
        for part in module.parts:
            out = forward(torch, part, out)
    out = module.result or out
    for pack in torch.saving:
        pack(given)
        pack(given)  # once is enough
    for hook in list(torch.behind):
        hook(module, (given,), out)
    return out
