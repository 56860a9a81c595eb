"""Models without layers."""

import types

import torch

models = types.SimpleNamespace(**{name: lambda **_: torch.nn.Module() for name in ("resnet18", "vgg16", "vit_b_16")})
