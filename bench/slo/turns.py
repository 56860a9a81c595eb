"""How the GPU changed between a service and a trainer, from their stamps (stamps.py)."""

import bisect
import statistics

from latency import quantile

SLOWEST = 5
MOST_INSIDE = 40


def by_request(stamps, count):
    """The stamps of each of so many requests, which wrote the same number of them; none where no stamps were asked for."""
    if not stamps:
        return []
    each, left = divmod(len(stamps), count)
    if left:
        raise ValueError(f"{len(stamps)} stamps of {count} requests: each request is to write the same number")
    return [stamps[first:first + each] for first in range(0, len(stamps), each)]


def intervals_of(request):
    return [then - now for now, then in zip(request, request[1:])]


def figures(values):
    """Microseconds of nanoseconds."""
    return {name: round(quantile(values, share) / 1e3, 1) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))} if values else {}


def summary(requests, spans, trainer):
    """Microseconds from the sending of a request, of which `spans` has the moments at which it was sent and answered, to its begin on the GPU, and on the GPU;
    from the last sign of the trainer to its begin and from its end to the next sign; signs within requests; and where the slowest requests took longer
    than usual, step by step."""
    trainer = sorted(trainer)
    usual = [statistics.median(step) for step in zip(*map(intervals_of, requests))]
    # Between the clocks of host and GPU: the soonest answer is taken for one without delay.
    apart = min((answered - request[-1] for request, (_, answered) in zip(requests, spans)), default=0)
    found = []
    for request, (sent, answered) in zip(requests, spans):
        first, last = bisect.bisect_left(trainer, request[0]), bisect.bisect_right(trainer, request[-1])
        found.append({
            "all": answered - sent,
            "queued": request[0] + apart - sent,
            "gpu": request[-1] - request[0],
            "before": request[0] - trainer[first - 1] if first else None,
            "after": trainer[last] - request[-1] if last < len(trainer) else None,
            "extra_us": [round((step - norm) / 1e3) for step, norm in zip(intervals_of(request), usual)],
            "trainer_at_us": [round((moment - request[0]) / 1e3) for moment in trainer[first:last]],
        })
    slowest = sorted(found, key=lambda each: -each["all"])[:SLOWEST]
    return {"requests": len(found),
            **{f"{name}_us": figures([each[name] for each in found if each[name] is not None]) for name in ("queued", "gpu", "before", "after")},
            "trainer_stamps_inside": sum(len(each["trainer_at_us"]) for each in found) / len(found) if found else 0.0,
            "usual_steps_us": [round(step / 1e3) for step in usual],
            "slowest": [{"queued_us": round(each["queued"] / 1e3), "gpu_us": round(each["gpu"] / 1e3), "extra_us": each["extra_us"], "trainer_at_us": each["trainer_at_us"][:MOST_INSIDE]}
                        for each in slowest]}
