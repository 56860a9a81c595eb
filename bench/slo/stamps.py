"""Moments that a program writes on the GPU while it computes, in nanoseconds of the GPU's clock, which all its processes share.

With SLO_STAMPS in the environment a service writes one when a request begins on the GPU, within it and at its end, a trainer in both passes and
after each step. Else nothing is written. Needs Triton.
"""

import os
import types

import torch
from torch import nn

MOST = 1 << 20
LAYERS = (nn.Linear, nn.Conv2d, nn.LSTM)
WITHIN_REQUEST = 4  # layers between two stamps of a service

asked = bool(os.environ.get("SLO_STAMPS"))
layers = types.SimpleNamespace(seen=0, between=0)

if asked:
    import triton
    import triton.language as tl

    times = torch.zeros(MOST, dtype=torch.int64, device="cuda")
    written = torch.zeros(1, dtype=torch.int32, device="cuda")

    @triton.jit
    def stamp(times, written, most):
        place = tl.atomic_add(written, 1)
        now = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
        tl.store(times + place % most, now)


def mark(*_):
    """Behind all work of the current stream."""
    if asked:
        stamp[(1,)](times, written, MOST)


def after_layer(module, *_):
    if isinstance(module, LAYERS):
        layers.seen += 1
        if layers.seen % layers.between == 0:
            mark()


def stamp_layers(between):
    """From now on behind every so many layers of all models of this process."""
    if not layers.between:
        nn.modules.module.register_module_forward_hook(after_layer)
    layers.between = between


def of_service(answer):
    """The same service, whose requests write stamps."""
    if not asked:
        return answer
    stamp_layers(WITHIN_REQUEST)

    def stamped(tokens):
        layers.seen = 0
        mark()
        output = answer(tokens)
        mark()
        return output
    return stamped


def of_trainer(model):
    """Stamps of both passes: behind each layer and each gradient."""
    if asked:
        stamp_layers(1)
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(mark)


def clear():
    if asked:
        torch.cuda.synchronize()
        written.zero_()
        torch.cuda.synchronize()


def read():
    """Those since the last clear(), in the order in which they were written."""
    if not asked:
        return []
    torch.cuda.synchronize()
    count = int(written)
    if count > MOST:
        raise ValueError(f"{count} stamps are more than the {MOST} that are kept; take fewer --seconds")
    return times[:count].tolist()
