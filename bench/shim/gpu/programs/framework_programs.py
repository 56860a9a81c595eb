"""Programs of other frameworks, and a serving loop: framework_programs.py NAME FOLDER."""

import math

from common import main, need, ok


def trainer(folder):
    """transformers' Trainer on a small BERT."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
    model = BertForSequenceClassification(BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                                                     vocab_size=100))
    data = [{"input_ids": torch.randint(100, (16,)), "attention_mask": torch.ones(16, dtype=torch.long), "labels": index % 2}
            for index in range(64)]
    arguments = TrainingArguments(output_dir=str(folder / "trainer"), max_steps=10, per_device_train_batch_size=8, save_strategy="no",
                                  report_to="none", disable_tqdm=True, logging_steps=5)
    done = Trainer(model=model, args=arguments, train_dataset=data).train()
    need(done.global_step == 10 and math.isfinite(done.training_loss), f"the Trainer ended with {done}")
    need(next(model.parameters()).is_cuda, "the Trainer did not use the GPU")
    ok("trainer")


class Decoder:
    """Greedy decoding with a cache of fixed size: one token for each sequence, by a graph for each batch size."""

    WIDTH, HEADS, LENGTH, WORDS = 256, 4, 64, 1000

    def __init__(self, batch):
        import torch
        torch.manual_seed(0)
        self.torch = torch
        width, words = self.WIDTH, self.WORDS

        def weights(*shape):
            return torch.randn(*shape, device="cuda") / math.sqrt(width)

        self.embed, self.mix, self.out = weights(words, width), weights(width, 3 * width), weights(width, words)
        self.keys = torch.zeros(batch, self.LENGTH, width, device="cuda")
        self.values = torch.zeros_like(self.keys)
        self.tokens = torch.zeros(batch, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self.places = torch.arange(self.LENGTH, device="cuda")
        for _ in range(2):
            self.step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def step(self):
        torch = self.torch
        batch = self.tokens.shape[0]
        query, key, value = (self.embed[self.tokens] @ self.mix).chunk(3, -1)
        self.keys.index_copy_(1, self.position, key.unsqueeze(1))
        self.values.index_copy_(1, self.position, value.unsqueeze(1))
        heads = (batch, -1, self.HEADS, self.WIDTH // self.HEADS)
        mask = (self.places <= self.position).view(1, 1, 1, -1)
        mixed = torch.nn.functional.scaled_dot_product_attention(
            query.view(heads).transpose(1, 2), self.keys.view(heads).transpose(1, 2), self.values.view(heads).transpose(1, 2), attn_mask=mask)
        logits = mixed.transpose(1, 2).reshape(batch, -1) @ self.out
        self.tokens.copy_(logits.argmax(-1))
        self.position.add_(1)

    def answer(self, prompts, length):
        self.tokens.copy_(prompts)
        self.position.zero_()
        for _ in range(length):
            self.graph.replay()
        return self.tokens.tolist()


def serving(_):
    """Batches of changing size, each by the graph of that size; the same request has the same answer."""
    import torch
    with torch.no_grad():
        decoders = {batch: Decoder(batch) for batch in (1, 2, 4)}
        answers = {}
        for request in range(30):
            batch = (1, 2, 4)[request % 3]
            found = decoders[batch].answer(torch.arange(batch, device="cuda"), 40)
            need(answers.setdefault(batch, found) == found, f"batch {batch} has two answers: {answers[batch]} and {found}")
    ok("serving")


def triton_kernel(_):
    import torch
    import triton_add
    left, right = torch.randn(10_000, device="cuda"), torch.randn(10_000, device="cuda")
    for _ in range(20):
        out = triton_add.add(left, right)
    need(torch.equal(out, left + right), "the Triton kernel computes another sum")
    ok("triton")


def jax_program(_):
    import jax
    import jax.numpy as jnp
    need(any(device.platform in ("gpu", "cuda") for device in jax.devices()), f"JAX sees {jax.devices()}")
    weights = jnp.ones((256, 256)) / 256

    @jax.jit
    def step(values):
        return values - 0.1 * jax.grad(lambda v: jnp.sum(jnp.tanh(v @ weights) ** 2))(values)

    values = jax.random.normal(jax.random.PRNGKey(0), (256, 256))
    for _ in range(20):
        values = step(values)
    need(bool(jnp.isfinite(values).all()), "JAX's values are not finite")
    ok("jax")


def cupy_program(_):
    import cupy
    values = cupy.arange(4096, dtype=cupy.float32)
    square = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square")
    raw = cupy.RawKernel('extern "C" __global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; '
                         "if (i < n) x[i] *= 2; }", "twice")
    out = square(values)
    raw((16,), (256,), (out, cupy.int32(4096)))
    product = cupy.ones((512, 512), dtype=cupy.float32) @ cupy.ones((512, 512), dtype=cupy.float32)
    need(float(out[3]) == 18.0 and float(product[0, 0]) == 512.0, f"CuPy computes {float(out[3])} and {float(product[0, 0])}")
    ok("cupy")


if __name__ == "__main__":
    main({"trainer": trainer, "serving": serving, "triton": triton_kernel, "jax": jax_program, "cupy": cupy_program})
