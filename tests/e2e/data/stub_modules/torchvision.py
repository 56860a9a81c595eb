"""Models without layers."""

import types

import torch

models = types.SimpleNamespace(resnet18=lambda **_: torch.nn.Module(), vgg16=lambda **_: torch.nn.Module())
