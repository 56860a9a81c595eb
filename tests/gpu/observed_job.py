#!/usr/bin/env python3
"""What the server tells of a GPU and of one job on it; about 30 s. Needs a GPU and no other package.

    tests/gpu/observed_job.py --carpool build/ci/bin/carpool [--xid] [--mib 2048] [--out FILE.json] [SERVE OPTIONS]

Starts a server with a job that keeps a GPU busy, and checks what /metrics, `carpool gpus`, `top` and `usage --json`
say of power, temperature, energy, clocks, ECC errors, and of the SMs and the memory by process and by job: that it is
there, that it is plausible, and that the ways agree. --xid: then a second job makes a memory fault, which must be
counted as an XID error. `--no-mps` and other options go to `carpool serve`. Exit status 1: a check failed.
"""

import argparse
import datetime
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).resolve().with_name("busy_program.py")
PATIENCE_S = 25
SPAN_S = 6  # between the two readings of the energy counter
GIB = 1 << 30
REASONS = 7
LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Server:
    """`carpool serve` with folders of its own; ended with what it runs."""

    def __init__(self, carpool, folder, options):
        self.carpool, self.socket = carpool, folder / "socket"
        self.environment = {**os.environ, "CARPOOL_SOCKET": str(self.socket), "XDG_RUNTIME_DIR": str(folder)}
        self.log = open(folder / "log", "w+b")
        self.process = subprocess.Popen(
            [carpool, "serve", "--state", folder / "state", "--stop-grace", "3", "--dcgm-names", *options],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.until(self.answers, "the server to answer")

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                sys.exit(f"waited for {what}; the log of the server:\n{self.log.read().decode()}")
            time.sleep(0.1)
        return value

    def answers(self):
        try:
            return bool(self.metrics())
        except (OSError, http.client.HTTPException):
            return False

    def metrics(self):
        """{(name, labels): value} of /metrics; labels are a frozenset of pairs."""
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE_S)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.connect(str(self.socket))
        try:
            connection.request("GET", "/metrics")
            page = connection.getresponse().read().decode()
        finally:
            connection.close()
        rows = (LINE.match(line) for line in page.splitlines())
        return {(row[1], frozenset(LABEL.findall(row[2] or ""))): float(row[3]) for row in rows if row}

    def ask(self, *arguments):
        done = subprocess.run([self.carpool, *arguments], env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"carpool {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def submit(self, name, *command):
        return int(self.ask("submit", "--parsable", "--name", name, "--mem", "4G", "--", *command))

    def end(self):
        subprocess.run([self.carpool, "cancel", "--all-mine"], env=self.environment, check=False, capture_output=True)
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def told(metrics, name, **labels):
    """The value of the only series of this name with these labels, and None where there is none."""
    wanted = set(labels.items())
    found = [value for (series, its), value in metrics.items() if series == name and wanted <= its]
    return found[0] if len(found) == 1 else None


def count(metrics, name, **labels):
    wanted = set(labels.items())
    return sum(series == name and wanted <= its for series, its in metrics)


class Table:
    """Rows of what was checked: quantity, where it was read, what it said, whether that can be."""

    def __init__(self):
        self.rows = []

    def check(self, what, where, value, low, high, unit=""):
        holds = value is not None and low <= value <= high
        said = "not told" if value is None else f"{value:.4g}"
        self.rows.append({"quantity": what, "where": where, "value": value, "from": low, "to": high, "unit": unit,
                          "holds": holds})
        print(f"{'ok  ' if holds else 'FAIL'} {what:28} {where:22} {said:>10} {unit:5} {low:.4g} to {high:.4g}", flush=True)


def check_gpu(table, before, after, span, gpu, uuid):
    """Sensors of the GPU in /metrics. Returns its power and its energy over the span."""
    power = told(after, "carpool_gpu_power_watts", gpu=gpu)
    limit = told(after, "carpool_gpu_power_limit_watts", gpu=gpu)
    table.check("power limit", "/metrics", limit, 20, 3000, "W")
    table.check("power", "/metrics", power, 20, 1.2 * (limit or 2500), "W")
    table.check("temperature", "/metrics", told(after, "carpool_gpu_temperature_celsius", gpu=gpu), 10, 110, "°C")
    table.check("SM clock", "/metrics", told(after, "carpool_gpu_clock_hertz", gpu=gpu, clock="sm"), 1e8, 4e9, "Hz")
    counters = [told(page, "carpool_gpu_energy_joules_total", gpu=gpu) for page in (before, after)]
    energy = None if None in counters else counters[1] - counters[0]
    expected = (power or 0) * span
    table.check(f"energy in {span:.1f} s", "/metrics", energy, 0.4 * expected, 2.5 * expected, "J")
    table.check("throttle reasons", "/metrics", count(after, "carpool_gpu_throttled", gpu=gpu), REASONS, REASONS)
    for kind, most in (("corrected", 1e9), ("uncorrected", 0)):
        table.check(f"ECC errors, {kind}", "/metrics", told(after, "carpool_gpu_ecc_errors_total", gpu=gpu, kind=kind),
                    0, most)
    table.check("XID errors", "/metrics", told(after, "carpool_gpu_xid_errors_total", gpu=gpu), 0, 0)
    # carpool_gpu_sm_active_ratio has no value before its window of 30 s is full.
    table.check("SM active of the GPU", "/metrics", told(after, "DCGM_FI_PROF_SM_ACTIVE", UUID=uuid), 0.3, 1)
    table.check("power, DCGM's name", "/metrics", told(after, "DCGM_FI_DEV_POWER_USAGE", UUID=uuid), 20, 3000, "W")
    return power, energy


def check_job(table, after, before, gpu, job, memory, energy):
    """SMs, memory and energy of the job in /metrics."""
    name = str(job)
    table.check("SM active of the job", "/metrics",
                told(after, "carpool_job_sm_active_ratio", job_id=name, gpu=gpu), 0.3, 1)
    table.check("memory of the job", "/metrics",
                told(after, "carpool_job_memory_bytes", job_id=name, gpu=gpu, kind="used"), *memory, "B")
    used = [told(page, "carpool_job_energy_joules_total", job_id=name) for page in (before, after)]
    own = None if None in used else used[1] - used[0]
    table.check("energy of the job", "/metrics", own, 0.4 * (energy or 0), 1.6 * (energy or 0), "J")


def check_screen(table, where, gpus, uuid, job, memory, power):
    """The JSON of `carpool gpus` and `top`."""
    here = next((one for one in gpus if one["uuid"] == uuid), {})
    sample = here.get("sample", {})
    table.check("power", where, sample.get("power_watts"), 0.4 * (power or 0), 2.5 * (power or 0), "W")
    table.check("temperature", where, sample.get("temperature_celsius"), 10, 110, "°C")
    table.check("SM active of the GPU", where, here.get("activity", {}).get("sm_active"), 0.3, 1)
    reasons = sample.get("throttle_reasons")
    table.check("throttle reasons", where, None if reasons is None else len(reasons), 0, REASONS)
    process = next((one for one in here.get("processes", ()) if one.get("job") == job), {})
    table.check("SM active of the process", where, process.get("sm_active"), 0.3, 1)
    table.check("memory of the process", where, process.get("memory_bytes"), *memory, "B")
    row = next((one for one in here.get("jobs", ()) if one["id"] == job), {})
    table.check("SM active of the job", where, row.get("sm_active"), 0.3, 1)
    table.check("memory of the job", where, row.get("used_bytes"), *memory, "B")


def check_usage(table, rows, job, memory, after):
    row = next((one for one in rows if one["id"] == job), {})
    total = told(after, "carpool_job_energy_joules_total", job_id=str(job)) or 0
    table.check("energy of the job", "usage --json", row.get("energy_j"), 0.8 * total, 1.5 * total, "J")
    table.check("GPU time of the job", "usage --json", row.get("gpu_held_s"), SPAN_S, 60, "s")
    table.check("peak of the job", "usage --json", row.get("peak_bytes"), *memory, "B")


def observe(server, table, options):
    job = server.submit("busy", sys.executable, PROGRAM, "compute", str(options.mib))
    name = str(job)
    # The first readings come from a time when the program still started.
    server.until(lambda: (told(server.metrics(), "carpool_job_energy_joules_total", job_id=name) or 0) > 0 and
                 count(server.metrics(), "carpool_job_memory_bytes", job_id=name, kind="used"), "the job to be seen")
    time.sleep(2)
    before, begin = server.metrics(), time.monotonic()
    time.sleep(SPAN_S)
    after, span = server.metrics(), time.monotonic() - begin
    gpus, top = (json.loads(server.ask(command, "--json")) for command in ("gpus", "top"))
    usage = json.loads(server.ask("usage", "--by", "job", "--json"))["rows"]
    labels = next(dict(its) for series, its in after if series == "carpool_job_info" and ("job_id", name) in its)
    gpu = labels["gpu"]
    uuid = next(dict(its)["uuid"] for series, its in after if series == "carpool_gpu_info" and ("gpu", gpu) in its)
    # The driver adds the context of the program to its memory.
    memory = (options.mib << 20, (options.mib << 20) + 2 * GIB)
    print(f"job {job} on GPU {gpu}, {labels['share']}")
    power, energy = check_gpu(table, before, after, span, gpu, uuid)
    check_job(table, after, before, gpu, job, memory, energy)
    for where, shown in (("gpus --json", gpus), ("top --json", top)):
        check_screen(table, where, shown, uuid, job, memory, power)
    check_usage(table, usage, job, memory, after)
    server.ask("cancel", name)
    return gpu


def make_fault(server, table, gpu):
    """A job with a memory fault: the driver reports it once the context is torn down."""
    before = told(server.metrics(), "carpool_gpu_xid_errors_total", gpu=gpu) or 0
    job = server.submit("fault", sys.executable, PROGRAM, "fault")
    print(f"job {job} makes a memory fault", flush=True)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and (told(server.metrics(), "carpool_gpu_xid_errors_total", gpu=gpu) or 0) <= before:
        time.sleep(0.2)
    after = server.metrics()
    table.check("XID errors after a fault", "/metrics", told(after, "carpool_gpu_xid_errors_total", gpu=gpu), before + 1, 99)
    table.check("last XID", "/metrics", told(after, "carpool_gpu_last_xid", gpu=gpu), 1, 999)


def said_by(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def machine():
    gpu, _, driver = said_by("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    return {"gpu": gpu, "driver": driver, "date": datetime.date.today().isoformat(),
            "commit": os.environ.get("CARPOOL_COMMIT") or said_by("git", "rev-parse", "--short", "HEAD")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--carpool", type=pathlib.Path, required=True)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--xid", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    options, more = parser.parse_known_args()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="carpool-gpu-") as folder:
        server = Server(options.carpool.resolve(), pathlib.Path(folder), more)
        try:
            gpu = observe(server, table, options)
            if options.xid:
                make_fault(server, table, gpu)
        finally:
            server.end()
    failed = sum(not row["holds"] for row in table.rows)
    print(f"{len(table.rows) - failed} of {len(table.rows)} hold")
    if options.out:
        result = {**machine(), "command": " ".join(["tests/gpu/observed_job.py", *sys.argv[1:]]), "checks": table.rows}
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
