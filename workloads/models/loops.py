"""One step of training and of inference, for every model.

Inputs stay on the GPU and are the same in every step: what is measured is the GPU's work and the
launching of it, not a data loader.
"""

from models.registry import Workload

# Training on noise at a usual rate ends in NaN.
LEARNING_RATE = 1e-5


def on_gpu():
    """Builds the model on the GPU, where filling weights is fast."""
    import torch
    return torch.device("cuda")


def optimizer_of(model, kind, graph):
    import torch
    makers = {
        # In a CUDA graph the step counter must be on the GPU.
        "adamw": lambda weights: torch.optim.AdamW(weights, lr=LEARNING_RATE, capturable=graph),
        "momentum": lambda weights: torch.optim.SGD(weights, lr=LEARNING_RATE, momentum=0.9),
        "sgd": lambda weights: torch.optim.SGD(weights, lr=LEARNING_RATE),
        "adadelta": lambda weights: torch.optim.Adadelta(weights, lr=LEARNING_RATE),
    }
    return makers[kind](model.parameters())


def training(spec, model, loss_of, optimizer="adamw", clip=None):
    """loss_of(model) is the loss of one batch, computed under autocast in bf16."""
    import torch
    model.train().cuda()  # some weights ignore on_gpu(), such as XLNet's relative positions
    weights = list(model.parameters())
    update = optimizer_of(model, optimizer, spec.graph)
    mixed = spec.dtype == "bf16"

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mixed,
                            cache_enabled=not spec.graph):
            loss = loss_of(model)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(weights, clip)
        update.step()
        update.zero_grad(set_to_none=True)

    return Workload(step, units=spec.batch, depth=2)


def inference_dtype(spec):
    import torch
    return torch.bfloat16 if spec.dtype == "bf16" else torch.float32


def inference(spec, model, answer, period=1):
    """answer(model) is one batch of requests, or one of `period` parts of it; inputs have
    inference_dtype()."""
    import torch
    model.eval().to(inference_dtype(spec))

    @torch.inference_mode()
    def step():
        answer(model)

    return Workload(step, units=spec.batch, depth=1, period=period)
