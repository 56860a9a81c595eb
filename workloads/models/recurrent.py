"""RNNLM: a language model of two LSTM layers, thousands of small kernels."""

from models import loops
from models.registry import FULL_PRECISION, Entry

VOCABULARY, HIDDEN, LAYERS, STEPS = 10_000, 1500, 2, 35
CLIP = 10.0


def _rnnlm():
    from torch import nn

    class Rnnlm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(VOCABULARY, HIDDEN)
            self.drop = nn.Dropout(0.65)
            self.lstm = nn.LSTM(HIDDEN, HIDDEN, LAYERS, dropout=0.65)
            self.head = nn.Linear(HIDDEN, VOCABULARY)

        def forward(self, words, state):
            output, state = self.lstm(self.drop(self.embed(words)), state)
            return self.head(self.drop(output)), state

    return Rnnlm()


def _train(spec):
    import torch
    with loops.on_gpu():
        model = _rnnlm()
    words = torch.randint(VOCABULARY, (STEPS, spec.batch), device="cuda")
    goals = torch.randint(VOCABULARY, (STEPS * spec.batch,), device="cuda")
    shape = (LAYERS, spec.batch, HIDDEN)
    state = (torch.zeros(shape, device="cuda"), torch.zeros(shape, device="cuda"))

    def loss_of(trained):
        # A batch continues the text of the last one, without its gradient.
        nonlocal state
        logits, after = trained(words, state)
        state = tuple(part.detach() for part in after)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), goals)

    return loops.training(spec, model, loss_of, optimizer="sgd", clip=CLIP)


ENTRIES = (
    # No bf16: under autocast cuDNN's LSTM always runs in fp16.
    Entry("rnnlm", "train", 20, f"{LAYERS} LSTM layers of {HIDDEN}, {STEPS} words, SGD", "Herald",
          _train, dtypes=FULL_PRECISION),
)
