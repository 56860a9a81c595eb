"""The part of PyTorch that steps and sessions use, with a GPU whose work the test completes."""

import contextlib
import types


class Gpu:
    """Records the calls, in order."""

    def __init__(self):
        self.calls = []
        self.initialized = True
        self.failing = False

    def event(self):
        return Event(self)


class Event:
    made = 0

    def __init__(self, gpu):
        Event.made += 1
        self._gpu = gpu
        self._number = None

    def record(self):
        self._number = sum(call[0] == "record" for call in self._gpu.calls)
        self._gpu.calls.append(("record", self._number))

    def synchronize(self):
        if self._gpu.failing:
            raise RuntimeError("CUDA error: unspecified launch failure")
        self._gpu.calls.append(("wait", self._number))


def module(gpu):
    """The module for `import torch`."""
    stream = types.SimpleNamespace(synchronize=lambda: None)
    torch = types.ModuleType("torch")
    torch.manual_seed = lambda seed: None
    torch.set_num_threads = lambda count: None
    torch.backends = types.SimpleNamespace(
        cudnn=types.SimpleNamespace(), cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
    torch.cuda = types.SimpleNamespace(
        init=lambda: None,
        is_initialized=lambda: gpu.initialized,
        Event=gpu.event,
        Stream=lambda: stream,
        stream=lambda chosen: contextlib.nullcontext(),
        current_stream=lambda: stream,
        max_memory_reserved=lambda: 3 * 2**20,
        reset_peak_memory_stats=lambda: None,
        empty_cache=lambda: None)
    return torch
