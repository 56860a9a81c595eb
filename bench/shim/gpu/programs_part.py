"""The part programs: each program without the library and with it; exit codes, outputs, what it says on standard error."""

import concurrent.futures
import dataclasses
import importlib.util
import json
import pathlib

import harness

HERE = pathlib.Path(__file__).resolve().parent / "programs"
LIMIT_S = 120.0
LEAST_S = 10.0


@dataclasses.dataclass(frozen=True)
class Program:
    script: str
    words: tuple = ()
    needs: tuple = ()  # modules, without which it is left out
    limit_s: float = LIMIT_S
    counted: bool = True  # the first process itself uses the GPU, and tells what the library counted


def torch_program(name, *needs, limit_s=LIMIT_S):
    return Program("torch_programs.py", (name,), ("torch", *needs), limit_s)


def framework_program(name, *needs):
    return Program("framework_programs.py", (name,), needs)


PROGRAMS = {
    "eager": torch_program("eager"),
    "torch.compile": torch_program("compiled", limit_s=180.0),
    "torch.cuda.graph": torch_program("graph"),
    "make_graphed_callables": torch_program("graphed-callables"),
    "Trainer": framework_program("trainer", "torch", "transformers", "accelerate"),
    "DDP by NCCL": torch_program("ddp-nccl"),
    "DDP by gloo": dataclasses.replace(torch_program("ddp-gloo"), counted=False),
    "serving with graphs": framework_program("serving", "torch"),
    "static CUDA runtime": Program("static_runtime.cu"),
    "libcuda.so by dlopen": Program("driver.py", ("launch",)),
    "Triton": framework_program("triton", "torch", "triton"),
    "JAX": framework_program("jax", "jax"),
    "CuPy": framework_program("cupy", "cupy"),
    "torch.profiler": torch_program("profiler"),
    "DataLoader by fork": torch_program("data-loader"),
    "spawn": torch_program("spawn"),
    "exec": Program("driver.py", ("exec",)),
    "fork and subprocess": Program("driver.py", ("children",), counted=False),
}


def argv_of(program, folder):
    if program.script.endswith(".cu"):
        return [folder / pathlib.Path(program.script).stem]
    return harness.python(HERE / program.script, *program.words, folder)


def compile_cuda(folder):
    """Problems by source; programs in CUDA C++ are built once, with the static runtime."""
    problems = {}
    for source in sorted(HERE.glob("*.cu")):
        problem = harness.nvcc("-O2", "-std=c++17", "-arch=sm_90", "-cudart", "static", "-o", folder / source.stem, source, "-ldl")
        if problem:
            problems[source.name] = problem
    return problems


def last_answer(out):
    """The line of JSON with which a program ends, or None."""
    for line in reversed(out.splitlines()):
        if line.startswith('{"ok"'):
            return json.loads(line)
    return None


def missing(program, problems):
    absent = [name for name in program.needs if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(absent)}" if absent else problems.get(program.script)


def run_once(bench, budget, way, name, program):
    if not budget.allows(LEAST_S):
        return None
    folder = bench.folder / f"{way}-{name.replace(' ', '-').replace(',', '')}"
    folder.mkdir(exist_ok=True)
    words = argv_of(program, bench.folder if program.script.endswith(".cu") else folder)
    done = bench.run(way, words, min(program.limit_s, budget.left()))
    print(f"programs {name}, {way}: exit code {done['code']} after {done['seconds']} s", flush=True)
    return {**done, "answer": last_answer(done["out"])}


def compare(name, without, beside):
    row = {"program": name}
    for way, done in (("off", without), ("on", beside)):
        row[way] = done and {"code": done["code"], "seconds": done["seconds"], "answer": done["answer"], "stderr": done["err"][-1500:]}
    if without is None or beside is None:
        return {**row, "verdict": "not run: the budget is used up"}
    row["new_on_stderr"] = sorted(harness.kinds_of_lines(beside["err"]) - harness.kinds_of_lines(without["err"]))[:10]
    row["launches"] = (beside["answer"] or {}).get("launches")
    if without["code"] != 0 or without["answer"] is None:
        row["verdict"] = "fails without the library"
    elif beside["code"] != 0 or beside["answer"] is None:
        row["verdict"] = "FAILS" if beside["code"] is not None else "HANGS"
    elif PROGRAMS[name].counted and not row["launches"]:
        row["verdict"] = "runs, NOT COUNTED"
    else:
        row["verdict"] = "runs"
    return row


def run_and_keep(bench, budget, way, name):
    done = run_once(bench, budget, way, name, PROGRAMS[name])
    bench.keep("programs", {"program": name, "way": way, "done": done})
    return done


def programs(bench, chosen, budget):
    """First all without the library, which fills the caches of compilers, then all with it."""
    problems = compile_cuda(bench.folder)
    wanted = [name for name in PROGRAMS if not chosen.only or name in chosen.only.split(",")]
    bench.residents.close()
    ready = [name for name in wanted if missing(PROGRAMS[name], problems) is None]
    found = {}
    for way in ("off", "on"):
        with concurrent.futures.ThreadPoolExecutor(chosen.at_once) as pool:
            running = {name: pool.submit(run_and_keep, bench, budget, way, name) for name in ready}
            found[way] = {name: future.result() for name, future in running.items()}
    rows = [compare(name, found["off"][name], found["on"][name]) if name in ready else
            {"program": name, "verdict": f"left out: {missing(PROGRAMS[name], problems)}"} for name in wanted]
    table = [f"{row['program']:24} {row['verdict']:26} launches {row.get('launches')}, "
             f"{len(row.get('new_on_stderr', []))} new kinds of lines on standard error" for row in rows]
    return {"rows": rows, "met": bool(rows) and all(row["verdict"] == "runs" for row in rows), "table": table}
