"""Arrivals, and what is told about latencies."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import resampling  # noqa: E402

MULTIPLES = (1.5, 2.0, 3.0)
SWITCH_MS = 0.1


def poisson(rate, seconds, seed):
    """Moments of requests, in seconds from the start."""
    draw, moments, now = random.Random(seed), [], 0.0
    while (now := now + draw.expovariate(rate)) < seconds:
        moments.append(now)
    return moments


def quantile(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, int(share * len(ordered) + 0.999999) - 1))]


def summary(latencies, alone_p99=None):
    """Milliseconds, and the share of requests within multiples of the p99 without a neighbour."""
    if not latencies:
        return {"requests": 0}
    found = {"requests": len(latencies), "p50_ms": 1e3 * quantile(latencies, 0.5), "p95_ms": 1e3 * quantile(latencies, 0.95),
             "p99_ms": 1e3 * quantile(latencies, 0.99), "max_ms": 1e3 * max(latencies),
             "p99_interval_ms": [1e3 * edge for edge in resampling.interval(latencies, lambda drawn: quantile(drawn, 0.99))]}
    if alone_p99 is not None:
        found["p99_of_alone"] = found["p99_ms"] / alone_p99
        found["attainment"] = {str(times): sum(1e3 * value <= times * alone_p99 for value in latencies) / len(latencies)
                               for times in MULTIPLES}
    return found


def against_bound(p99_ms, alone_p99_ms, longest_ms):
    """The bound of a p99, and whether it was kept: a request may wait for one kernel of the trainers. Empty where the profiler saw no kernel."""
    if None in longest_ms:
        return {}
    bound = alone_p99_ms + max(longest_ms) + SWITCH_MS
    return {"bound_ms": bound, "within_bound": p99_ms <= bound}


def speed(moments, window):
    """Steps a second, from the first to the last end of a step in the window."""
    inside = [moment for moment in moments if window[0] <= moment <= window[1]]
    return (len(inside) - 1) / (inside[-1] - inside[0]) if len(inside) > 1 else 0.0


def harvest(share, busy):
    """Training speed relative to what turn-taking without loss leaves."""
    return share / (1.0 - busy) if busy < 1.0 else None
