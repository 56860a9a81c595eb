"""An ordinary PyTorch program that knows nothing of Carpool: sets up, computes a number of steps, prints, ends.

Usage: job.py KIND [--size N] [--steps N | --seconds S] [--seed N] [--hold GIB] [--grow GIB@STEP] [--fault KIND@STEP] [--turns FILE@N]

`long` launches kernels of tens of milliseconds on all multiprocessors, one behind the other; `tiny` launches kernels of microseconds. Side by side
under MPS the kernels of `tiny` wait for those of `long`.
"""

import argparse
import ctypes
import importlib
import pathlib
import sys
import time

began = time.monotonic()

import torch  # noqa: E402: its import is part of the start-up that is timed
from torch import nn  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import turns  # noqa: E402

GIB = 2**30


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.body(x))


class Decoder(nn.Module):
    """Causal language model of `layers` blocks."""

    def __init__(self, layers, width, words=8192):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True), layers)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.words(tokens), mask=mask, is_causal=True))


class Recommender(nn.Module):
    def __init__(self, rows, width=64, tables=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width) for _ in range(tables))
        self.top = nn.Sequential(nn.Linear(width * tables, 1024), nn.ReLU(), nn.Linear(1024, 1))

    def forward(self, ids):
        return self.top(torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], 1))


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, 64)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


class Products(nn.Module):
    """Products of large matrices, each one kernel. The CPU waits for each step, so that few launches wait in the queue."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("matrix", torch.full((width, width), 1e-3))

    def forward(self, x):
        if not x.is_cuda:
            return x
        out = self.matrix
        for _ in range(4):
            out = torch.mm(out, self.matrix)
        torch.cuda.synchronize()
        return out[:1]


class Additions(nn.Module):
    """Small kernels, one behind the other."""

    def forward(self, x):
        for _ in range(20):
            x = x + 1.0
        if x.is_cuda:
            torch.cuda.synchronize()
        return x


def convolutions(width, depth, classes=100):
    return nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU(), *[Residual(width) for _ in range(depth)],
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def encoder(layers, width):
    layer = nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, layers), nn.Flatten(1), nn.LazyLinear(10))


# model, one batch on the CPU, training, autocast type; `n` is --size
KINDS = {
    "mlp": lambda n: (nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(2048, 2048), nn.ReLU())]),
                      torch.randn(1024 * n, 2048), True, None),
    "cifar": lambda n: (convolutions(64, 8), torch.randn(64 * n, 3, 32, 32), True, torch.bfloat16),
    "photos": lambda n: (convolutions(128, 6), torch.randn(8 * n, 3, 160, 160), True, None),
    "encoder": lambda n: (encoder(6, 512), torch.randn(16 * n, 128, 512), True, torch.bfloat16),
    "language": lambda n: (Decoder(6, 512), torch.randint(8192, (4 * n, 256)), True, None),
    "recurrent": lambda n: (Recurrent(768), torch.randn(32 * n, 64, 768), True, None),
    "clicks": lambda n: (Recommender(500_000 * n), torch.randint(500_000, (8192, 8, 4)), True, None),
    "patches": lambda n: (encoder(12, 768), torch.randn(16 * n, 196, 768), False, torch.float16),
    "pixels": lambda n: (nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), *[Residual(64) for _ in range(6)], nn.Conv2d(64, 3, 1)),
                         torch.randn(2 * n, 3, 256, 256), False, None),
    "decode": lambda n: (Decoder(8, 512), torch.randint(8192, (n, 64)), False, torch.float16),
    "long": lambda n: (Products(1024 * n), torch.zeros(4, 4), False, None),
    "tiny": lambda n: (Additions(), torch.zeros(64 * n, 64), False, None),
}
SAY_EVERY_S = 0.5
# Stores to address 0, where nothing is mapped.
ILLEGAL_STORE = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry illegal_store()
{
    .reg .b32 %value;
    .reg .b64 %address;
    mov.u64 %address, 0;
    mov.u32 %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
"""


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--size", type=int, default=2)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hold", type=float, default=0.0, metavar="GIB", help="memory to hold besides the model's")
    parser.add_argument("--grow", metavar="GIB@STEP", help="memory to take at this step")
    parser.add_argument("--fault", metavar="KIND@STEP", help="fatal error at this step: store (illegal address) or assert (index out of range)")
    parser.add_argument("--turns", metavar="FILE@N", help="compute only while FILE says N; prints the speed of each turn (turns.py)")
    return parser.parse_args()


def loss_of(out):
    return out.float().square().mean()


def illegal_store():
    """Launches ILLEGAL_STORE in the context that PyTorch made current."""
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    done = [driver.cuModuleLoadData(ctypes.byref(module), ILLEGAL_STORE)]
    done.append(driver.cuModuleGetFunction(ctypes.byref(function), module, b"illegal_store"))
    done.append(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
    if any(done):
        sys.exit(f"the planted fault could not be launched: codes {done}")


def index_out_of_range():
    table = torch.zeros(16, device="cuda")
    table[torch.full((4,), 1 << 20, device="cuda")].sum()


FAULTS = {"store": illegal_store, "assert": index_out_of_range}


def planted_fault(name):
    print(f"planted fault at {time.time():.3f}", flush=True)
    FAULTS[name]()
    torch.cuda.synchronize()
    sys.exit("the planted fault had no effect")


def number_at_step(text, kind):
    value, step = text.split("@") if text else (None, -1)
    return value and kind(value), int(step)


def main():
    chosen = options()
    torch.manual_seed(chosen.seed)
    if chosen.kind in ("encoder", "language", "decode", "patches"):
        try:
            importlib.import_module("transformers")  # such programs do; it is a good part of their start-up
        except ImportError:
            pass
    model, batch, training, kind = KINDS[chosen.kind](chosen.size)
    with torch.no_grad():
        model(batch[:1])  # lazy layers
    dataset = [batch] + [batch.clone() for _ in range(3)]
    held = torch.empty(int(chosen.hold * GIB), dtype=torch.uint8, device="cuda")
    grow_gib, grow_at = number_at_step(chosen.grow, float)
    fault, fault_at = number_at_step(chosen.fault, str)
    model.cuda().train(training)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4) if training else None
    mine = turns.of(chosen.turns, torch.cuda.synchronize)
    ready = said = time.monotonic()
    steps = 0
    print(f"{chosen.kind}: first step at {time.time():.3f}", flush=True)
    while steps != chosen.steps and not (chosen.seconds and time.monotonic() - ready > chosen.seconds):
        if mine and not mine.wait(steps):
            break
        if steps == fault_at:
            planted_fault(fault)
        if steps == grow_at:
            print(f"{chosen.kind}: grows by {grow_gib} GiB at {time.time():.3f}", flush=True)
            held = [held, torch.empty(int(grow_gib * GIB), dtype=torch.uint8, device="cuda")]
        inputs = dataset[steps % len(dataset)].cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=kind, enabled=kind is not None), torch.set_grad_enabled(training):
            loss = loss_of(model(inputs))
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        steps += 1
        if time.monotonic() - said > SAY_EVERY_S:
            value = loss.item()  # waits for the step
            said = time.monotonic()
            print(f"{chosen.kind}: {steps} steps at {time.time():.3f}, {value:.4f}", flush=True)
    torch.cuda.synchronize()
    ended = time.monotonic()
    if mine:
        print(mine.line(), flush=True)
    print(f"{chosen.kind} {chosen.size}: {steps} steps in {ended - ready:.2f} s after {ready - began:.2f} s of start-up", flush=True)


if __name__ == "__main__":
    sys.exit(main())
