"""What runs inside the processes of bench/slo/run, with PyTorch: a service that answers requests, and trainers.

Moments are those of the monotonic clock, which all processes of a machine share.
"""

import collections
import contextlib
import gc
import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import torch
from latency import poisson
from torch import nn, profiler

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from carpool import requests  # noqa: E402

SPIN_S = 0.0005  # a sleep may end that late
WARM_UP = 10
# Salus knows the iterations of a program; nothing is told to the other policies.
iteration = requests.request if os.environ.get("CARPOOL_SHIM_POLICY") == "salus" else contextlib.nullcontext
built = {}


def bert(large, batch, kind):
    from transformers import BertConfig, BertModel
    sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096} if large else {}
    with torch.device("cuda"):
        model = BertModel(BertConfig(**sizes)).to(kind).eval()
    return (lambda tokens: model(input_ids=tokens).last_hidden_state[:, 0]), torch.randint(30_000, (batch, 128)).pin_memory()


def encoder_decoder(batch):
    with torch.device("cuda"):
        model = nn.Transformer(512, 8, 6, 6, 2048, batch_first=True).to(torch.bfloat16).eval()
        words = nn.Embedding(30_000, 512).to(torch.bfloat16)
    return (lambda tokens: model(words(tokens), words(tokens[:, :64]))[:, -1]), torch.randint(30_000, (batch, 128)).pin_memory()


def tick(batch):
    """A kernel of some microseconds: its latency beside a trainer is the wait for the GPU."""
    return (lambda tokens: tokens * 2), torch.randint(30_000, (batch, 128)).pin_memory()


# Name: what makes it, with a batch size; the usual one.
SERVICES = {
    "tick": (tick, 1),
    "bert-large": (lambda batch: bert(True, batch, torch.bfloat16), 8),
    "bert-base": (lambda batch: bert(False, batch, torch.float32), 1),
    "encoder-decoder": (encoder_decoder, 16),
}


@torch.inference_mode()
def graphed(answer, tokens):
    """The same service as a CUDA graph, whose speed depends little on the host."""
    inputs, side = tokens.cuda(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            answer(inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = answer(inputs)

    def replayed(tokens):
        inputs.copy_(tokens, non_blocking=True)
        graph.replay()
        return output
    replayed.model = answer  # whose weights the graph reads
    return replayed, tokens


def service_of(name):
    """bert-base; bert-base.b4: with batches of 4; bert-base.graph, bert-base.b4.graph: as a CUDA graph."""
    parts = re.fullmatch(r"([a-z-]+)(?:\.b([1-9]\d*))?(\.graph)?", name)
    if not parts or parts[1] not in SERVICES:
        raise ValueError(f"there is no service {name}; known are {', '.join(SERVICES)}")
    kind, batch, graph = parts.groups()
    make, usual = SERVICES[kind]
    made = make(int(batch or usual))
    return graphed(*made) if graph else made


class Rnnlm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layers, self.head = nn.Embedding(10_000, 1500), nn.LSTM(1500, 1500, 2), nn.Linear(1500, 10_000)

    def forward(self, words):
        return self.head(self.layers(self.embed(words))[0]).flatten(0, 1)


class RnnlmHead(nn.Module):
    """The long matrix products of Rnnlm, in one stream and without those of its layers."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(10_000, 1500), nn.Linear(1500, 10_000)

    def forward(self, words):
        return self.head(self.embed(words)).flatten(0, 1)


class RnnlmOneStream(Rnnlm):
    """Rnnlm with PyTorch's own LSTM: cuDNN's spreads its kernels over streams that wait for one another."""

    def forward(self, words):
        with torch.backends.cudnn.flags(enabled=False):
            return super().forward(words)


class Products(nn.Module):
    """Kernels of about half a millisecond on an H200, one after the other."""

    def __init__(self):
        super().__init__()
        self.register_buffer("matrix", torch.randn(2560, 2560) / 51.0)
        self.head = nn.Linear(10, 10)

    def forward(self, values):
        with torch.no_grad():
            product = self.matrix
            for _ in range(40):
                product = self.matrix @ product
        return self.head(values) + product[0, 0]


def vision(name, batch):
    import torchvision
    return getattr(torchvision.models, name)(weights=None), torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))


def language(model):
    return model, torch.randint(10_000, (35, 20)), torch.randint(10_000, (700,))


TRAINERS = {
    "rnnlm": lambda: language(Rnnlm()),
    "rnnlm-head": lambda: language(RnnlmHead()),
    "rnnlm-one-stream": lambda: language(RnnlmOneStream()),
    "products": lambda: (Products(), torch.randn(4, 10), torch.randint(10, (4,))),
    "vgg16": lambda: vision("vgg16", 32),
    "vit-b": lambda: vision("vit_b_16", 64),
}


def once(kind, name, make):
    """The one that was asked for last stays."""
    if built.get("name") != (kind, name):
        built.clear()
        gc.collect()
        torch.cuda.empty_cache()
        torch.manual_seed(0)
        built.update(name=(kind, name), made=make())
    return built["made"]


def pin(first, count):
    """Processors from `first` on, those that there are."""
    here = os.sched_getaffinity(0)
    os.sched_setaffinity(0, here & set(range(first, first + count)) or here)
    return {"cores": sorted(os.sched_getaffinity(0))}


@torch.inference_mode()
def request(answer, tokens):
    return answer(tokens.cuda(non_blocking=True)).float().cpu()


def answers(service):
    """A function that answers a request."""
    made = once("service", service, lambda: service_of(service))
    return lambda: request(*made)


def ready(service):
    """Builds a service and answers one request."""
    answers(service)()
    return {}


def busy(service):
    """Seconds of the GPU for a request, without a neighbour."""
    answer, tokens = once("service", service, lambda: service_of(service))
    began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for number in range(4 * WARM_UP):
        if number == WARM_UP:
            torch.cuda.synchronize()
            began.record()
        with torch.inference_mode():
            answer(tokens.cuda(non_blocking=True))
    ended.record()
    torch.cuda.synchronize()
    return {"seconds": began.elapsed_time(ended) / 1e3 / (3 * WARM_UP)}


def serve(service, rate, seconds, seed, warm_up=2.0):
    """Latencies from the scheduled arrivals, and the window in which requests were counted."""
    answer, tokens = once("service", service, lambda: service_of(service))
    for _ in range(WARM_UP):
        request(answer, tokens)
    latencies, start = [], time.monotonic()
    for moment in poisson(rate, warm_up + seconds, seed):
        while (wait := start + moment - time.monotonic()) > 0:
            if wait > 2 * SPIN_S:
                time.sleep(wait - SPIN_S)
        request(answer, tokens)
        if moment >= warm_up:
            latencies.append(time.monotonic() - start - moment)
    return {"latencies": latencies, "window": [start + warm_up, start + warm_up + seconds]}


def made(trainer):
    if trainer not in TRAINERS:
        raise ValueError(f"there is no trainer {trainer}; known are {', '.join(TRAINERS)}")
    return once("trainer", trainer, lambda: on_gpu(*TRAINERS[trainer]()))


def build(trainer):
    """A trainer, without a step."""
    made(trainer)
    return {}


def prepare(trainer):
    """Builds a trainer and makes a few steps."""
    train(trainer, 0.5)
    return {}


def steps_of(trainer):
    """The moment at which a step had ended, for ever; the host is at most two steps ahead."""
    model, inputs, goals, optimizer = made(trainer)
    waiting = collections.deque()
    while True:
        with iteration():
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(model(inputs), goals).backward()
            optimizer.step()
        event = torch.cuda.Event()
        event.record()
        waiting.append(event)
        if len(waiting) > 2:
            waiting.popleft().synchronize()
            yield time.monotonic()


def train(trainer, seconds, stop=""):
    """Moments at which steps had ended, until the file `stop` exists."""
    end, moments = time.monotonic() + seconds, []
    for moment in steps_of(trainer):
        moments.append(moment)
        if moment >= end or os.path.exists(stop):
            break
    torch.cuda.synchronize()
    return {"moments": moments}


def longest(trainer):
    """Of the kernels of a few steps, by the profiler; no milliseconds where it sees none."""
    steps = steps_of(trainer)
    for _ in range(WARM_UP):
        next(steps)
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            next(steps)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        kernels = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "kernel"]
    found = max(kernels, key=lambda event: event["dur"], default=None)
    return {"ms": found["dur"] / 1e3, "kernel": found["name"][:100]} if found else {"ms": None}


def weights(trainer, steps):
    """A hash of the weights after some steps from a fixed start, as far as PyTorch can repeat them."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    built.clear()
    for number, _ in enumerate(steps_of(trainer), start=1):
        if number >= steps:
            break
    torch.cuda.synchronize()
    model, *_ = built["made"]
    found = hashlib.sha256()
    for parameter in model.parameters():
        found.update(parameter.detach().cpu().numpy().tobytes())
    built.clear()
    return {"sha256": found.hexdigest()}


def on_gpu(model, inputs, goals):
    model = model.cuda().train()
    return model, inputs.cuda(), goals.cuda(), torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)


CELLS = {"pin": pin, "ready": ready, "busy": busy, "serve": serve, "build": build, "prepare": prepare, "train": train, "longest": longest, "weights": weights}
