"""A service and a trainer that compute nothing, for bench/slo/served where there is no PyTorch."""

import time


def answers(service):
    return lambda: time.sleep(0.002 if service else 0.0)


def steps_of(trainer):
    while trainer:
        time.sleep(0.01)
        yield time.monotonic()
