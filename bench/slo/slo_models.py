"""The services and trainers of bench/slo/run, with PyTorch."""

import re

import stamps
import torch
from torch import nn


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


def gpt2(batch):
    """Eight tokens of an answer, one after the other: the program looks at each of them."""
    from transformers import GPT2Config, GPT2LMHeadModel
    with torch.device("cuda"):
        model = GPT2LMHeadModel(GPT2Config()).to(torch.bfloat16).eval()
    return (lambda tokens: model.generate(tokens, attention_mask=torch.ones_like(tokens), min_new_tokens=8, max_new_tokens=8, do_sample=False,
                                          pad_token_id=0)[:, -1]), torch.randint(30_000, (batch, 64)).pin_memory()


def tick(batch):
    """A kernel of some microseconds: its latency beside a trainer is the wait for the GPU."""
    return (lambda tokens: tokens * 2), torch.randint(30_000, (batch, 128)).pin_memory()


# Name: what makes it, with a batch size; the usual one.
SERVICES = {
    "tick": (tick, 1),
    "bert-large": (lambda batch: bert(True, batch, torch.bfloat16), 8),
    "gpt2": (gpt2, 1),
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
    parts = re.fullmatch(r"([a-z0-9-]+)(?:\.b([1-9]\d*))?(\.graph)?", name)
    if not parts or parts[1] not in SERVICES:
        raise ValueError(f"there is no service {name}; known are {', '.join(SERVICES)}")
    kind, batch, graph = parts.groups()
    make, usual = SERVICES[kind]
    answer, tokens = make(int(batch or usual))
    answer = stamps.of_service(answer)
    return graphed(answer, tokens) if graph else (answer, tokens)


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
    "mobilenet": lambda: vision("mobilenet_v3_small", 16),  # short kernels, for which the GPU waits
    "resnet50": lambda: vision("resnet50", 32),
    "vgg16": lambda: vision("vgg16", 32),
    "vit-b": lambda: vision("vit_b_16", 64),
}
