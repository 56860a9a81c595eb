"""An ordinary PyTorch program that knows nothing of Carpool: sets up, computes a number of steps, prints, ends.

Usage: job.py KIND [--size N] [--steps N | --seconds S] [--seed N] [--hold GIB] [--grow GIB@STEP]
"""

import argparse
import importlib
import sys
import time

began = time.monotonic()

import torch  # noqa: E402: its import is part of the start-up that is timed
from torch import nn  # noqa: E402

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
}


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--size", type=int, default=2)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hold", type=float, default=0.0, metavar="GIB", help="memory to hold besides the model's")
    parser.add_argument("--grow", metavar="GIB@STEP", help="memory to take at this step")
    return parser.parse_args()


def loss_of(out):
    return out.float().square().mean()


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
    grow_gib, grow_at = (float(word) for word in chosen.grow.split("@")) if chosen.grow else (0.0, -1)
    model.cuda().train(training)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4) if training else None
    ready = time.monotonic()
    steps = 0
    while steps != chosen.steps and not (chosen.seconds and time.monotonic() - ready > chosen.seconds):
        if steps == grow_at:
            held = [held, torch.empty(int(grow_gib * GIB), dtype=torch.uint8, device="cuda")]
        inputs = dataset[steps % len(dataset)].cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=kind, enabled=kind is not None), torch.set_grad_enabled(training):
            loss = loss_of(model(inputs))
        if training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        steps += 1
        if steps % 50 == 0:
            print(f"{chosen.kind}: {steps} steps, {loss.item():.4f}", flush=True)
    torch.cuda.synchronize()
    ended = time.monotonic()
    print(f"{chosen.kind} {chosen.size}: {steps} steps in {ended - ready:.2f} s after {ready - began:.2f} s of start-up", flush=True)


if __name__ == "__main__":
    sys.exit(main())
