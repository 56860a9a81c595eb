"""The part requests: services of different shapes, alone and beside a best-effort program, and what the library has found of their
requests."""

import pathlib
import subprocess

import harness
import programs_part

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "request_shapes.py"
SHAPES = ("plain", "several-inputs", "copy-stream", "beside-others", "waited-for-later", "polled", "called-back", "launched-ahead",
          "two-threads")
SLO = "20ms"
FLOOD_S = 300
LIMIT_S = 60
LEAST_S = 8.0
# Of what the program has timed itself.
MOST_OFF_COUNT, MOST_OFF_MEDIAN = 0.1, 0.15
# A request waits for one kernel of the flood at most, and for a change of the process on the GPU.
MOST_LATER_MS = 0.5 + 0.5


def serve(bench, budget, shape, count):
    if not budget.allows(LEAST_S):
        return None
    done = bench.run("on", harness.python(PROGRAM, shape, count), min(LIMIT_S, budget.left()), mps="auto", options=["--slo", SLO])
    answer = programs_part.last_answer(done["out"])
    return answer or {"problem": f"exit code {done['code']}: {done['err'][-400:]}"}


def start_flood(bench):
    flood = bench.start("on", harness.python(PROGRAM, "flood", FLOOD_S), mps="auto", options=["--best-effort"], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if flood.stdout.readline() != "ready\n":
        harness.end(flood)
        raise RuntimeError("the best-effort program has not begun")
    return flood


def is_near(found, truth, part):
    return found is not None and abs(found - truth) <= part * truth


def judge(shape, alone, beside):
    row = {"shape": shape, "alone": alone, "beside": beside}
    told = [answer for answer in (alone, beside) if answer and "problem" not in answer]
    row["counted"] = len(told) == 2 and all(is_near(answer["counted"]["requests"], answer["requests"], MOST_OFF_COUNT) for answer in told)
    row["timed"] = len(told) == 2 and all(is_near(answer["counted"]["p50_ns"], 1e6 * answer["p50_ms"], MOST_OFF_MEDIAN) for answer in told)
    row["kept"] = len(told) == 2 and beside["p95_ms"] <= alone["p95_ms"] + MOST_LATER_MS
    return row


def line(row):
    told = [f"{name} {answer['requests']} requests, p50 {answer['p50_ms']:.2f} ms, p95 {answer['p95_ms']:.2f} ms; found "
            f"{answer['counted']['requests']}, p50 {(answer['counted']['p50_ns'] or 0) / 1e6:.2f} ms" if "problem" not in answer else
            f"{name} {answer['problem']}" for name in ("alone", "beside") if (answer := row[name])]
    missed = [name for name in ("counted", "timed", "kept") if not row[name]]
    return f"{row['shape']:16} {'met' if not missed else 'NOT ' + ', '.join(missed):24} {' | '.join(told)}"


def requests(bench, chosen, budget):
    """All alone, then all beside the same flood."""
    shapes = [shape for shape in SHAPES if not chosen.only or shape in chosen.only.split(",")]
    if not shapes:
        raise ValueError(f"no such service: {chosen.only}; known are {', '.join(SHAPES)}")
    bench.residents.close()
    alone = {shape: serve(bench, budget, shape, chosen.requests) for shape in shapes}
    flood = start_flood(bench)
    try:
        beside = {shape: serve(bench, budget, shape, chosen.requests) for shape in shapes}
        if flood.poll() is not None:
            raise RuntimeError("the best-effort program has ended beside the services")
    finally:
        harness.end(flood)
    rows = [bench.keep("requests", judge(shape, alone[shape], beside[shape])) for shape in shapes]
    return {"rows": rows, "met": bool(rows) and all(row["counted"] and row["timed"] and row["kept"] for row in rows),
            "table": [line(row) for row in rows]}
