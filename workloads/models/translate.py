"""Translation: encoder and decoder of torch.nn.Transformer, which score a sentence."""

from models import loops
from models.registry import Entry

SOURCE_TOKENS, TARGET_TOKENS = 128, 128
VOCABULARY = 32_000

_SIZES = {
    "transformer-base": {"d_model": 512, "nhead": 8, "dim_feedforward": 2048},
    "transformer-big": {"d_model": 1024, "nhead": 16, "dim_feedforward": 4096},
}


def _translator(size):
    from torch import nn

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(VOCABULARY, size["d_model"])
            self.core = nn.Transformer(num_encoder_layers=6, num_decoder_layers=6,
                                       batch_first=True, **size)
            self.head = nn.Linear(size["d_model"], VOCABULARY)

        def forward(self, source, target, mask):
            hidden = self.core(self.embed(source), self.embed(target), tgt_mask=mask,
                               tgt_is_causal=True)
            return self.head(hidden)

    return Translator()


def _infer(spec):
    import torch
    with loops.on_gpu():
        model = _translator(_SIZES[spec.model])
    source = torch.randint(VOCABULARY, (spec.batch, SOURCE_TOKENS), device="cuda")
    target = torch.randint(VOCABULARY, (spec.batch, TARGET_TOKENS), device="cuda")
    mask = torch.nn.Transformer.generate_square_subsequent_mask(
        TARGET_TOKENS, device="cuda", dtype=loops.inference_dtype(spec))
    return loops.inference(spec, model, lambda served: served(source, target, mask))


ENTRIES = tuple(
    Entry(size, "infer", 8, f"{SOURCE_TOKENS} tokens read, {TARGET_TOKENS} scored", "Herald",
          _infer)
    for size in _SIZES
)
