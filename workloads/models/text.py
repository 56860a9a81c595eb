"""Transformers over text: BERT, ALBERT, XLNet and GPT-2 in training, BERT in inference.

Sequences of 512 random tokens. Attention is what transformers chooses by itself: PyTorch's
scaled_dot_product_attention wherever the model has it.
"""

from models import loops
from models.registry import Entry

SEQUENCE = 512
CLASSES = 2  # the default of transformers

_BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
               "intermediate_size": 4096}
_ALBERT_BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                "intermediate_size": 3072}
_XLNET_BASE = {"d_model": 768, "n_layer": 12, "n_head": 12, "d_inner": 3072}

GPT2_SIZES = {
    "gpt2": {},
    "gpt2-medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-xl": {"n_embd": 1600, "n_layer": 48, "n_head": 25},
}


def _bert_classifier():
    from transformers import BertConfig, BertForSequenceClassification
    return BertForSequenceClassification(BertConfig())


def _bert_large_classifier():
    from transformers import BertConfig, BertForSequenceClassification
    return BertForSequenceClassification(BertConfig(**_BERT_LARGE))


def _albert_classifier():
    from transformers import AlbertConfig, AlbertForSequenceClassification
    return AlbertForSequenceClassification(AlbertConfig(**_ALBERT_BASE))


def _bert_masked():
    from transformers import BertConfig, BertForMaskedLM
    return BertForMaskedLM(BertConfig())


def _bert_large_masked():
    from transformers import BertConfig, BertForMaskedLM
    return BertForMaskedLM(BertConfig(**_BERT_LARGE))


def _xlnet_base():
    from transformers import XLNetConfig, XLNetLMHeadModel
    return XLNetLMHeadModel(XLNetConfig(**_XLNET_BASE))


def _xlnet_large():
    from transformers import XLNetConfig, XLNetLMHeadModel
    return XLNetLMHeadModel(XLNetConfig())


def gpt2(size):
    """A GPT-2 of this size, without a key-value cache, which training does not need."""
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(**GPT2_SIZES[size]))


def _tokens(model, batch):
    import torch
    return torch.randint(model.config.vocab_size, (batch, SEQUENCE), device="cuda")


def _train_classifier(make):
    def build(spec):
        import torch
        with loops.on_gpu():
            model = make()
        tokens = _tokens(model, spec.batch)
        labels = torch.randint(CLASSES, (spec.batch,), device="cuda")

        def loss_of(trained):
            return torch.nn.functional.cross_entropy(trained(input_ids=tokens).logits, labels)

        return loops.training(spec, model, loss_of)
    return build


def _infer_classifier(make):
    def build(spec):
        with loops.on_gpu():
            model = make()
        tokens = _tokens(model, spec.batch)
        return loops.inference(spec, model, lambda served: served(input_ids=tokens))
    return build


def _train_language(make, **options):
    """A prediction for each position, as masked and causal language models are trained."""
    def build(spec):
        import torch
        with loops.on_gpu():
            model = make()
        tokens = _tokens(model, spec.batch)
        goals = _tokens(model, spec.batch).flatten()

        def loss_of(trained):
            logits = trained(input_ids=tokens, **options).logits
            return torch.nn.functional.cross_entropy(logits.flatten(0, 1), goals)

        return loops.training(spec, model, loss_of)
    return build


def _gpt2_entry(size, batch, source):
    return Entry(size, "train", batch, "causal language model, 512 tokens, AdamW", source,
                 _train_language(lambda: gpt2(size), use_cache=False))


_CLASSIFY = "sequence classification, 512 tokens"
_MASKED = "masked language model, 512 tokens, AdamW"
_PERMUTED = "language model with two-way relative attention, 512 tokens, AdamW"

ENTRIES = (
    Entry("bert-base", "train", 8, f"{_CLASSIFY}, AdamW", "KACE",
          _train_classifier(_bert_classifier)),
    Entry("bert-base", "infer", 8, _CLASSIFY, "KACE", _infer_classifier(_bert_classifier)),
    Entry("bert-large", "infer", 8, _CLASSIFY, "Herald", _infer_classifier(_bert_large_classifier)),
    Entry("albert-base", "train", 8, f"{_CLASSIFY}, AdamW", "KACE",
          _train_classifier(_albert_classifier)),
    Entry("bert-base-mlm", "train", 32, _MASKED, "CARMA", _train_language(_bert_masked)),
    Entry("bert-large-mlm", "train", 8, _MASKED, "CARMA", _train_language(_bert_large_masked)),
    Entry("xlnet-base", "train", 8, _PERMUTED, "CARMA", _train_language(_xlnet_base)),
    Entry("xlnet-large", "train", 4, _PERMUTED, "CARMA", _train_language(_xlnet_large)),
    _gpt2_entry("gpt2", 8, "ours"),
    _gpt2_entry("gpt2-medium", 8, "ours"),
    _gpt2_entry("gpt2-large", 8, "CARMA"),
    _gpt2_entry("gpt2-xl", 2, "CARMA"),
)
