"""How sure a figure of repeated measurements is."""

import random

RESAMPLES = 400


def interval(values, statistic, seed=0):
    """The 95 % bootstrap interval of a statistic."""
    draw = random.Random(seed)
    found = sorted(statistic(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return [found[int(0.025 * RESAMPLES)], found[int(0.975 * RESAMPLES)]]
