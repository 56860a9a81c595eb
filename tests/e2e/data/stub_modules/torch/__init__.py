"""A torch in which everything exists and nothing is computed: it shows that programs for PyTorch run to their end.

Any attribute is an Anything, which can be called, indexed, compared and used with `with`. Real are only classes that programs derive
from or catch, and the few values that they judge.
"""

import contextlib
import json
import sys
import types

GIB = 2**30
limit = 8 * GIB
losses = iter(range(10**9, 0, -1))


class Anything:
    """Answers every question with itself, and is a number where one is needed."""

    is_cuda = True
    shape = (4, 4)
    dtype = "float32"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *words, **_):
        # As a decorator it leaves the function as it is.
        return words[0] if len(words) == 1 and isinstance(words[0], types.FunctionType) else Anything()

    def item(self):
        return float(next(losses))

    def numel(self):
        return 64

    def elapsed_time(self, _):
        return 1.0

    def tolist(self):
        return [1]

    def replay(self):
        return None

    def chunk(self, count, *_):
        return [Anything()] * count

    def numpy(self):
        return types.SimpleNamespace(tobytes=lambda: b"bits")

    def __getitem__(self, _):
        return Anything()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __iter__(self):
        return iter([])

    def __int__(self):
        return 2

    def __float__(self):
        return 1.0

    def __bool__(self):
        return True


def operator(*_):
    return Anything()


for sign in ("add", "radd", "sub", "mul", "truediv", "matmul", "le", "lt", "rmul"):
    setattr(Anything, f"__{sign}__", operator)


class Module(Anything):
    def __call__(self, *words, **more):
        return self.forward(*words, **more)

    def __setattr__(self, name, value):
        self.__dict__[name] = value

    def forward(self, *_, **__):
        return Anything()

    def state_dict(self):
        return {"weight": Anything()}

    def cuda(self):
        return self

    def modules(self):
        return [self]

    def parameters(self):
        return iter([Anything()])


class OutOfMemoryError(RuntimeError):
    pass


class Profile(Anything):
    """Two kernels, one of them of a graph."""

    def __enter__(self):
        return self

    def export_chrome_trace(self, path):
        events = [{"cat": "kernel", "name": "k", "dur": 5, "args": {"stream": 7}},
                  {"cat": "kernel", "name": "k", "dur": 8, "args": {"stream": 7, "graph node id": 3}},
                  {"cat": "cuda_runtime", "name": "cudaLaunchKernel"}, {"cat": "cpu_op", "name": "aten::add"}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def key_averages(self):
        return [types.SimpleNamespace(device_time_total=5)]


class Piece(Anything):
    def __init__(self, count):
        self.count = count
        Piece.held = getattr(Piece, "held", 0) + count

    def __getattr__(self, name):
        return Anything()

    def numel(self):
        return self.count

    def fill_(self, number):
        self.number = number

    def __getitem__(self, _):
        return self.number

    def __del__(self):
        Piece.held -= self.count


def empty(count, **_):
    if getattr(Piece, "held", 0) + count > limit:
        raise OutOfMemoryError("CUDA out of memory")
    return Piece(count)


def module(name, **content):
    made = types.ModuleType(name)
    made.__dict__.update(content)
    made.__getattr__ = lambda attribute: Anything()
    sys.modules[name] = made
    return made


nn = module("torch.nn", Module=Module, Dropout=type("Dropout", (Module,), {}), Sequential=lambda *_: Module(), LSTM=lambda *_: lambda x: (x, x),
            Embedding=lambda *_: Module(), Linear=lambda *_: Module(),
            parallel=types.SimpleNamespace(DistributedDataParallel=lambda model, **_: model))
profiler = module("torch.profiler", profile=lambda **_: Profile(), ProfilerActivity=types.SimpleNamespace(CPU=0, CUDA=1))
cuda = module("torch.cuda", mem_get_info=lambda: (limit, limit), memory_stats=lambda: {"num_alloc_retries": 1, "num_ooms": 0},
              memory_reserved=lambda: 0, memory_allocated=lambda: 1, get_device_name=lambda: "none",
              get_device_properties=lambda _: types.SimpleNamespace(total_memory=limit), CUDAGraph=Anything,
              graph=lambda _: contextlib.nullcontext(), stream=lambda _: contextlib.nullcontext(), make_graphed_callables=lambda model, _: model)
utils = types.SimpleNamespace(data=types.SimpleNamespace(Dataset=object, DataLoader=lambda data, **_: [(Anything(), Anything())]))
multiprocessing = types.SimpleNamespace(spawn=lambda function, words=(), nprocs=1: [function(i, *words) for i in range(nprocs)])
world = {}
distributed = module("torch.distributed", init_process_group=lambda *_, **given: world.update(given),
                     all_reduce=lambda total: setattr(total, "item", lambda: world["world_size"]))
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(), cuda=types.SimpleNamespace(enable_mem_efficient_sdp=lambda _: None))
__version__ = "stub"


def compile(model):  # noqa: A001: PyTorch's name
    return model


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
