"""The ways in which a service and a trainer share a GPU."""

import dataclasses
import os
import pathlib
import re
import typing

class Kind(typing.NamedTuple):
    service_mps: bool
    trainer_mps: bool
    trainer_environment: dict
    gated: bool


CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
KINDS = {
    "slicing": Kind(False, False, {}, False),
    "mps": Kind(True, True, {}, False),
    "mps-50": Kind(True, True, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"}, False),
    "mps-priority": Kind(True, True, {"CUDA_MPS_CLIENT_PRIORITY": "1"}, False),
    "gate": Kind(False, True, {"CUDA_MPS_CLIENT_PRIORITY": "1", CONNECTIONS: "1"}, True),  # as carpool does it
    "gate-mps": Kind(True, True, {"CUDA_MPS_CLIENT_PRIORITY": "1", CONNECTIONS: "1"}, True),
    "gate-time": Kind(False, False, {CONNECTIONS: "1"}, True),
}
USUAL = [name for name, kind in KINDS.items() if not kind.gated]


@dataclasses.dataclass(frozen=True)
class Way:
    name: str
    kind: Kind = dataclasses.field(hash=False)
    policy: str
    slo_ms: float  # 0: not known yet
    program: pathlib.Path | None  # carpool, of a gate
    times_alone: float = 0.0  # the SLO as a multiple of the p99 alone; 0: it is told

    @property
    def gated(self):
        return self.kind.gated

    @property
    def needs_mps(self):
        return self.kind.service_mps or self.kind.trainer_mps

    @property
    def library(self):
        return self.program.resolve().parent.parent / "lib" / "carpool" / "libcarpool_cuda.so"

    @property
    def in_file_names(self):
        return re.sub("[:@=/]", "-", self.name) + (f"-{self.slo_ms:.3f}" if self.times_alone else "")

    def state_in(self, folder):
        """The folder of the shared state of this way's processes."""
        return folder / f"state-{self.in_file_names}"

    def gate_environment(self, folder, quantile=None):
        """What `carpool run` sets; `quantile` that of a service. The library finds the driver by itself."""
        state, slo = self.state_in(folder), quantile is not None
        state.mkdir(mode=0o700, exist_ok=True)
        mps = self.kind.service_mps if slo else self.kind.trainer_mps
        environment = {"LD_PRELOAD": str(self.library), "CARPOOL_STATE_DIR": str(state), "CARPOOL_SHIM_MPS": "1" if mps else "0",
                       "CARPOOL_SHIM_NAME": "service" if slo else "trainer", "CARPOOL_SHIM_CLASS": "slo" if slo else "best-effort",
                       "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [str(self.library.parent / "cuda"), os.environ.get("LD_LIBRARY_PATH")]))}
        if slo:
            return {**environment, "CARPOOL_SHIM_SLO_NS": str(int(self.slo_ms * 1e6)), "CARPOOL_SHIM_QUANTILE": quantile}
        return {**environment, "CARPOOL_SHIM_POLICY": self.policy}


def of_cell(way, p99_ms):
    """The way in a cell, whose services have this p99 alone."""
    return dataclasses.replace(way, slo_ms=way.times_alone * p99_ms) if way.times_alone else way


def way_of(text, slo_ms, program=None):
    """None if there is no such way. `program`: of a gate that names none."""
    parts = re.fullmatch(r"([a-z0-9-]+)(?:/([1-9]|[12]\d|3[0-2]))?(?::([a-z0-9-]+(?::\d+)?))?(?:@(\d+(?:\.\d+)?)(x?))?(?:=(.+))?", text)
    if not parts or parts[1] not in KINDS or (any(parts.groups()[1:]) and not KINDS[parts[1]].gated):
        return None
    name, connections, policy, slo, times, own = parts.groups()
    kind = KINDS[name]
    if connections:
        kind = kind._replace(trainer_environment={**kind.trainer_environment, CONNECTIONS: connections})
    told, program = float(slo or slo_ms), pathlib.Path(own) if own else program
    return Way(text, kind, policy or "spacetime", 0.0 if times else told, program, told if times else 0.0)
