"""The registry of workloads by name.

A name holds everything that decides how a workload behaves: model.task.bBATCH.dtype, as in
bert-base.train.b8.fp32. With the suffix .graph its steps are replayed as a CUDA graph, whose launch
costs the CPU next to nothing, so that the speed does not depend on the CPU.
"""

import dataclasses
import difflib
import re
from typing import Callable

DTYPES = ("fp32", "tf32", "bf16")
FULL_PRECISION = ("fp32", "tf32")
TASKS = {
    "train": "forward, backward, optimiser",
    "infer": "one batch of requests, answered before the next",
    "decode": "one generated token for each sequence of the batch",
}

_NAME = re.compile(r"(?P<model>[a-z0-9-]+)\.(?P<task>[a-z]+)"
                   r"(?:\.b(?P<batch>[1-9][0-9]*))?(?:\.(?P<dtype>[a-z]+[0-9]+))?"
                   r"(?P<graph>\.graph)?")


class BadName(ValueError):
    """A name that is not a workload; the message suggests known ones."""


@dataclasses.dataclass(frozen=True)
class Spec:
    """The complete description of a workload."""

    model: str
    task: str
    batch: int
    dtype: str
    graph: bool = False

    @property
    def name(self):
        graph = ".graph" if self.graph else ""
        return f"{self.model}.{self.task}.b{self.batch}.{self.dtype}{graph}"


@dataclasses.dataclass(frozen=True)
class Workload:
    """A built workload: step() queues one step of GPU work and need not wait for it.

    Every period steps it does the same again, from the same start.
    """

    step: Callable[[], None]
    units: float
    depth: int
    period: int = 1


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model and a task, with the default batch."""

    model: str
    task: str
    batch: int
    about: str
    source: str
    build: Callable[[Spec], Workload]
    dtypes: tuple = DTYPES
    unit: str = "samples"

    @property
    def key(self):
        return f"{self.model}.{self.task}"

    @property
    def spec(self):
        return Spec(self.model, self.task, self.batch, self.dtypes[0])

    def as_json(self):
        return {"name": self.spec.name, "model": self.model, "task": self.task, "batch": self.batch,
                "dtypes": list(self.dtypes), "unit": self.unit, "source": self.source,
                "about": self.about}


class Registry:
    """All entries, found by name."""

    def __init__(self, entries):
        self.entries = tuple(entries)
        self._by_key = {entry.key: entry for entry in self.entries}

    def parse(self, name, batch=None, dtype=None):
        """The workload of this name; batch and dtype apply where the name leaves them out."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise BadName(f"{name}: expected model.task.bBATCH.dtype, as in gpt2.train.b8.fp32")
        entry = self._entry(f"{match['model']}.{match['task']}")
        batch = _agreed(name, "batch", int(match["batch"]) if match["batch"] else None, batch)
        dtype = _agreed(name, "dtype", match["dtype"], dtype)
        spec = Spec(entry.model, entry.task, batch or entry.batch, dtype or entry.dtypes[0],
                    match["graph"] is not None)
        if spec.batch < 1:
            raise BadName(f"{name}: batch {spec.batch} is below 1")
        if spec.dtype not in entry.dtypes:
            known = ", ".join(entry.dtypes)
            raise BadName(f"{name}: {entry.key} runs in {known}, not {spec.dtype}")
        return spec

    def build(self, spec):
        return self._entry(f"{spec.model}.{spec.task}").build(spec)

    def unit(self, spec):
        return self._entry(f"{spec.model}.{spec.task}").unit

    def _entry(self, key):
        if key in self._by_key:
            return self._by_key[key]
        near = difflib.get_close_matches(key, self._by_key, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "--list shows all"
        raise BadName(f"{key}: no such workload; {hint}")


def _agreed(name, what, said, asked):
    if said is not None and asked is not None and said != asked:
        raise BadName(f"{name} gives {what} {said}, but --{what} gives {asked}")
    return said if said is not None else asked
