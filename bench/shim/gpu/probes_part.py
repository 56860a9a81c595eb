"""The part probes: what the mechanisms of sharing cost on this GPU, without the library. Letters name the questions."""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys

import harness

HERE = pathlib.Path(__file__).resolve().parent / "probes"
sys.path.insert(0, str(harness.ROOT / "bench" / "undescribed"))
import ways  # noqa: E402

LIMIT_S = 60.0
SHORT_KERNELS = ("arrivals", "300")
CHAIN = ("chain", "300")
WAITING_STREAMS = ((0, "value"), (1, "value"), (2, "value"), (2, "event"), (8, "value"), (8, "event"))
# What may wait behind a gate as well.
WAITING_WORK = ((32, "value"), (2, "word"), (32, "word"), (1, "value-copy"), (1, "value-upload"), (1, "value-fill"), (1, "value-small-fill"),
                (3, "word-copy"), (3, "word-fill"), (3, "word-small-fill"), (1, "value-kernel"), (3, "value-kernel"), (3, "word-kernel"),
                (1, "value-launches"), (3, "value-launches"), (3, "word-launches"), (3, "value-cooperative"), (3, "word-cooperative"), (3, "word-dependent"))
ASKS = {
    "a": "nanoseconds of processor time of a call",
    "b": "microseconds of the GPU that a write-value or an event behind a kernel adds",
    "c": "microseconds until another process sees a write-value in shared memory",
    "d": "microseconds of a kernel of 10 us and high priority beside another process under MPS",
    "e": "the same without MPS",
    "f": "by which calls BERT and VGG launch",
    "g": "whether this MPS has static partitions of multiprocessors",
    "h": "throughput with a bound of the work in flight, of that without",
    "i": "kernels on a part of the multiprocessors: a green context, in the order of the default stream",
    "j": "a stream that waits for a word of shared memory: its cost, and whether other streams and processes go on",
    "k": "the same under MPS, and whether others go on when such a process is killed",
    "l": "microseconds of 300 short kernels, one after the other, beside a process whose streams wait",
    "m": "the same beside many streams that wait, other work behind a gate, and launches while it is closed",
}
# Name: MPS, environment of the other process.
NEIGHBOURS = {
    "default": (True, {}),
    "other has low priority": (True, {"CUDA_MPS_CLIENT_PRIORITY": "1"}),
    "other has 90 % of the threads": (True, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "90"}),
    "time slicing": (False, {}),
}


def build(bench):
    """The program and its PTX, built once. An error that says what went wrong."""
    program, ptx = bench.folder / "probes", bench.folder / "kernels.ptx"
    if program.exists() and ptx.exists():
        return program, ptx
    for words in (["-ptx", "-arch=sm_90", "-o", ptx, HERE / "kernels.cu"],
                  ["-std=c++20", "-O2", "-cudart", "none", "-o", program, *sorted(HERE.glob("*.cpp")), "-lcuda", "-lpthread"]):
        problem = harness.nvcc(*words)
        if problem and "-lcuda" in words:  # a toolkit without stubs
            problem = harness.nvcc(*(word for word in words if word != "-lcuda"), "-Xlinker", harness.driver_file())
        if problem:
            raise RuntimeError(problem)
    return program, ptx


def ask(bench, way, *words, limit_s=LIMIT_S, env=None):
    """The answer of the program, or {"error": …}."""
    program, ptx = build(bench)
    done = bench.run(way, [program, ptx, *words], limit_s, env=env)
    if done["code"] != 0:
        return {"error": f"exit code {done['code']}: {done['err'][-300:]}"}
    return json.loads(done["out"].splitlines()[-1])


def launch_cost(bench, budget, processes):
    """Nanoseconds that the library adds to cuLaunchKernel, in a program that does nothing else; and with its kernel log."""
    found = []
    for _ in range(processes):
        if not budget.allows(5.0):
            break
        seen = ask(bench, "on", "launches")
        if "error" in seen:
            return {**seen, "processes": found}
        found.append(seen)
    if not found:
        return {"processes": []}
    return {"processes": found, **{key: statistics.median(seen[key] for seen in found if key in seen)
                                   for key in ("driver_ns", "added_ns", "logged_ns") if any(key in seen for seen in found)}}


@contextlib.contextmanager
def plain_mps():
    """The environment of its clients."""
    with ways.PlainMps() as started:
        yield {key: started[key] for key in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY")}


def beside(bench, words, other_words, env, more):
    """The answer of the program beside the other process, which ends with its standard input. `more`: environment of the other one alone."""
    program, ptx = build(bench)
    other = bench.start("off", [program, ptx, *other_words], env={**env, **more}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT)
    try:
        if other.stdout.readline() != "ready\n":
            return {"error": f"the other process: {other.stdout.read()[-300:]}"}
        found = ask(bench, "off", *words, env=env)
        said, _ = other.communicate("", timeout=LIMIT_S)
        return {**found, "other": json.loads(said.splitlines()[-1])}
    except (subprocess.TimeoutExpired, IndexError, ValueError) as problem:
        return {"error": str(problem)}
    finally:
        harness.end(other)


def waits(bench, budget, mps):
    """Probe d (with MPS) or e (without)."""
    found = {"alone": ask(bench, "off", *SHORT_KERNELS)}
    with plain_mps() if mps else contextlib.nullcontext({}) as env:
        for name, (shared, more) in NEIGHBOURS.items():
            for kind in ("persistent", "waves", *(["confined"] if mps else [])):
                if shared is mps and budget.allows(8.0):
                    found[f"{kind}, {name}"] = beside(bench, SHORT_KERNELS, ("best-effort", kind), env, more)
    return found


def waiting(bench, env):
    """Probe j: a stream that waits, in one process, and beside another process."""
    return {"alone": ask(bench, "off", *SHORT_KERNELS, env=env), "one process": ask(bench, "off", "j", env=env),
            "beside": beside(bench, SHORT_KERNELS, ("waiting", "1", "value"), env, {})}


def waiting_under_mps(bench):
    """Probe k."""
    program, ptx = build(bench)
    with plain_mps() as env:
        found = waiting(bench, env)
        other = bench.start("off", [program, ptx, "waiting", "1", "value"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            ready = other.stdout.readline() == "ready\n"
        finally:
            other.kill()
            harness.end(other)
        after = ask(bench, "off", *SHORT_KERNELS, env=env) if ready else {"error": "the other process did not wait"}
        return {**found, "after it was killed": after}


def chains(bench):
    """Probe l: neither process under MPS, both, and the one that waits alone."""
    found = {"alone": ask(bench, "off", *CHAIN)}
    with plain_mps() as mps:
        found["alone under MPS"] = ask(bench, "off", *CHAIN, env=mps)
        for name, env, more in (("no MPS", {}, {}), ("both under MPS", mps, {}), ("other under MPS", {}, mps)):
            for streams, kind in WAITING_STREAMS:
                found[f"{name}, {streams} streams, {kind}"] = beside(bench, CHAIN, ("waiting", str(streams), kind), env, more)
    return found


def chains_beside_more(bench):
    """Probe m: the one that waits is under MPS, the other is not."""
    found = {"alone": ask(bench, "off", *CHAIN)}
    with plain_mps() as mps:
        for streams, kind in WAITING_WORK:
            found[f"{streams} streams, {kind}"] = beside(bench, CHAIN, ("waiting", str(streams), kind), {}, mps)
    return found


def histogram(bench, budget):
    """Calls that launch, by name, of each model and mode: as CUPTI sees them."""
    found = {}
    for mode in ("eager", "graph", "compiled"):
        for model in ("bert", "vgg"):
            if not budget.allows(20.0):
                return found
            resident = bench.residents.get("off-1", "off")
            answer = resident.ask("coverage", min(120.0, budget.left()), model=model, mode=mode, steps=2)
            found[f"{model} {mode}"] = answer.get("cupti", answer)
    return found


def partitions():
    said = harness.said_by("nvidia-cuda-mps-control", "-h")
    return {"help": said[:2000], "has_static_partitions": "-S" in said} if said else {"error": "nvidia-cuda-mps-control says nothing"}


def probes(bench, chosen, budget):
    build(bench)
    bench.residents.close()
    answers = {
        **{letter: lambda letter=letter: ask(bench, "off", letter) for letter in "abchi"},
        "d": lambda: waits(bench, budget, True),
        "e": lambda: waits(bench, budget, False),
        "f": lambda: histogram(bench, budget),
        "g": partitions,
        "j": lambda: waiting(bench, {}),
        "k": lambda: waiting_under_mps(bench),
        "l": lambda: chains(bench),
        "m": lambda: chains_beside_more(bench),
    }
    rows = []
    for letter in "abcghijedfklm":
        if chosen.only and letter not in chosen.only.split(","):
            continue
        if not budget.allows(5.0):
            break
        try:
            seen = answers[letter]()
        except (OSError, RuntimeError, subprocess.SubprocessError) as problem:
            seen = {"error": str(problem)}
        rows.append(bench.keep("probes", {"probe": letter, "asks": ASKS[letter], "seen": seen}))
        print(f"probe {letter}: {json.dumps(seen)[:160]}", flush=True)
    table = [line for row in sorted(rows, key=lambda row: row["probe"]) for line in lines_of(row)]
    return {"rows": rows, "met": bool(rows) and not any(failed(row["seen"]) for row in rows), "table": table}


def failed(seen):
    """Whether an answer, or one of those that it consists of, is an error."""
    return "error" in seen or any(isinstance(part, dict) and "error" in part for part in seen.values())


def lines_of(row):
    def text(value):
        return f"{value:.3g}" if isinstance(value, float) else str(value)[:110]
    seen = {key: value for key, value in row["seen"].items() if key != "help"}
    return [f"{row['probe']}: {row['asks']}", *(f"   {key}: {text(value)}" for key, value in seen.items())]
