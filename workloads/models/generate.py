"""Text generation by GPT-2: one step is one token for each sequence of the batch."""

from models import loops
from models.registry import Entry
from models.text import GPT2_SIZES, gpt2

PROMPT = 32
# Tokens after the prompt before a new text starts. Later tokens cost more: a window of a second must
# cover several texts, or its speed would depend on its start.
LENGTH = 16


def _decode(spec):
    import torch
    with loops.on_gpu():
        model = gpt2(spec.model)
    prompt = torch.randint(model.config.vocab_size, (spec.batch, PROMPT), device="cuda")
    tokens, cache, written = prompt, None, 0

    def answer(served):
        nonlocal tokens, cache, written
        if written == LENGTH:
            tokens, cache, written = prompt, None, 0
        output = served(input_ids=tokens, past_key_values=cache, use_cache=True)
        tokens, cache = output.logits[:, -1:].argmax(-1), output.past_key_values
        written += 1

    return loops.inference(spec, model, answer, period=LENGTH)


ENTRIES = tuple(
    Entry(size, "decode", 8,
          f"greedy, {PROMPT} tokens read, {LENGTH} written with a key-value cache", "KACE", _decode,
          unit="tokens")
    for size in GPT2_SIZES
)
