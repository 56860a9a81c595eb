"""Small BERT, ResNet, GPT-2, LSTM and VGG with random weights of a fixed seed, to train and to ask, in three modes.

No dropout: the modes draw random numbers differently. Inputs are on the GPU and the same in every step.
"""

import torch
from torch import nn

MODES = ("eager", "compiled", "graph")
LEARNING_RATE = 1e-3
SEED = 7
WARM_UP = 3


class Lstm(nn.Module):
    """A language model of two LSTM layers."""

    def __init__(self, words=2000, width=512):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.LSTM(width, width, 2)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens))[0])


class Logits(nn.Module):
    """A model of transformers that returns a tensor."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, tokens):
        return self.model(input_ids=tokens, **self.options).logits


def bert():
    from transformers import BertConfig, BertForMaskedLM
    return Logits(BertForMaskedLM(BertConfig(num_hidden_layers=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return Logits(GPT2LMHeadModel(GPT2Config(n_layer=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)), use_cache=False)


def vision(name):
    import torchvision
    model = getattr(torchvision.models, name)(weights=None, num_classes=100)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def tokens_of(words, *shape):
    return lambda: (torch.randint(words, shape, device="cuda"), torch.randint(words, shape, device="cuda"))


def images_of(count, side):
    return lambda: (torch.randn(count, 3, side, side, device="cuda"), torch.randint(100, (count,), device="cuda"))


# Name: model, its inputs and goals.
MODELS = {
    "bert": (bert, tokens_of(30_000, 8, 128)),
    "resnet": (lambda: vision("resnet18"), images_of(32, 128)),
    "gpt2": (gpt2, tokens_of(50_000, 4, 128)),
    "lstm": (Lstm, tokens_of(2000, 32, 16)),
    "vgg": (lambda: vision("vgg16"), images_of(16, 128)),
}


def deterministic():
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Trained:
    """A model in one mode: step() trains once, ask() computes the output of the first input."""

    def __init__(self, name, mode, seed=SEED):
        deterministic()
        torch.manual_seed(seed)
        make, data = MODELS[name]
        with torch.device("cuda"):
            self.model = make()
        self.model.cuda().train()
        self.inputs, self.goals = data()
        # `foreach` writes weights by few kernels; in a graph nothing else of SGD stays on the host.
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LEARNING_RATE, momentum=0.9)
        if mode == "compiled":
            torch._dynamo.reset()  # it counts recompilations of a function over all models
        self.called = torch.compile(self.model) if mode == "compiled" else self.model
        self.graph = None
        self.step = self.plain_step
        if mode == "graph":
            self.capture()

    def loss(self):
        out = self.called(self.inputs)
        return nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]).float(), self.goals.reshape(-1))

    def plain_step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self.optimizer.step()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.plain_step()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss().backward()
            self.optimizer.step()
        self.step = self.graph.replay

    @torch.no_grad()
    def ask(self):
        self.model.eval()
        out = self.called(self.inputs)
        self.model.train()
        return out
