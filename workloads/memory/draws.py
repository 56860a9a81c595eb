"""Draws configurations from a seed. Does not import PyTorch."""
import hashlib
import json

SEED = 20261115


def key_of(cfg):
    """A stable key of a configuration."""
    return hashlib.sha256(json.dumps(cfg, sort_keys=True).encode()).hexdigest()[:16]


def weighted(draw, shares):
    return draw.choices(list(shares), weights=list(shares.values()))[0]


def log_uniform(draw, low, high):
    return int(round(low * (high / low) ** draw.random()))
