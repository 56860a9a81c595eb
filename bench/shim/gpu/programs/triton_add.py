"""A Triton kernel; Triton reads its source from this file."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(left, right, out, count, block: tl.constexpr):
    places = tl.program_id(0) * block + tl.arange(0, block)
    inside = places < count
    tl.store(out + places, tl.load(left + places, mask=inside) + tl.load(right + places, mask=inside), mask=inside)


def add(left, right):
    out = torch.empty_like(left)
    add_kernel[(triton.cdiv(left.numel(), BLOCK),)](left, right, out, left.numel(), block=BLOCK)
    return out
