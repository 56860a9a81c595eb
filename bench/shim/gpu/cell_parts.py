"""The parts coverage and outputs: the same cells in processes with and without the library."""

COVERAGE_STEPS = 3
OUTPUT_STEPS = 5
CELL_LIMIT_S = 150.0
LEAST_S = 15.0  # a cell is not begun with less


def cells_of(chosen):
    return [(model, mode) for mode in chosen.modes.split(",") for model in chosen.models.split(",")]


def both(bench, residents, budget, cell, **arguments):
    """The answers of several processes that compute at the same time."""
    for resident in residents:
        resident.send(cell, **arguments)
    answers = [resident.answer(min(CELL_LIMIT_S, budget.left())) for resident in residents]
    bench.residents.drop_failed(residents, answers)
    return answers


def share(part, whole):
    return round(100.0 * part / whole, 3) if whole else None


def seen_by_library(counted):
    return counted["launches"] + counted["graph_nodes"] if counted else None


def coverage_row(model, mode, without, beside):
    """Launches of the library in one run against those of CUPTI in another one, and both in the same run."""
    row = {"model": model, "mode": mode, "off": without, "on": beside}
    problem = without.get("error") or beside.get("error")
    if problem:
        return {**row, "problem": problem, "same_without": "error" in without}
    alone, together = beside["library"], beside["library_beside_cupti"]
    if alone is None:
        return {**row, "problem": "the library did not count the process"}
    row.update(library=seen_by_library(alone), graph_nodes=alone["graph_nodes"], cupti=without["cupti"]["kernels"],
               library_same_run=seen_by_library(together), cupti_same_run=beside["cupti"]["kernels"])
    row["percent"] = share(row["library"], row["cupti"])
    row["percent_same_run"] = share(row["library_same_run"], row["cupti_same_run"])
    return row


def coverage(bench, chosen, budget):
    rows = []
    for model, mode in cells_of(chosen):
        if not budget.allows(LEAST_S):
            break
        pair = [bench.residents.get("off-1", "off"), bench.residents.get("on-1", "on")]
        if mode == "compiled":  # the second one finds what the first one compiled
            without, beside = (both(bench, [one], budget, "coverage", model=model, mode=mode, steps=COVERAGE_STEPS)[0] for one in pair)
        else:
            without, beside = both(bench, pair, budget, "coverage", model=model, mode=mode, steps=COVERAGE_STEPS)
        rows.append(bench.keep("coverage", coverage_row(model, mode, without, beside)))
        print(f"coverage {model} {mode}: {rows[-1].get('percent', rows[-1].get('problem'))}", flush=True)
    met = bool(rows) and all(row.get("percent") == 100.0 and row.get("percent_same_run") == 100.0 for row in rows)
    table = [f"{'':16} {'library':>8} {'CUPTI':>8} {'%':>8}   same run: {'library':>8} {'CUPTI':>8} {'%':>8}"]
    for row in rows:
        name = f"{row['model']} {row['mode']}"
        table.append(f"{name:16} {row['problem'][:100]}" if "problem" in row else
                     f"{name:16} {row['library']:8} {row['cupti']:8} {row['percent']:8}             "
                     f"{row['library_same_run']:8} {row['cupti_same_run']:8} {row['percent_same_run']:8}")
    return {"rows": rows, "met": met, "table": table, "steps": COVERAGE_STEPS}


def output_row(model, mode, first, second, beside):
    """Whether the bits agree without the library, and then with it."""
    row = {"model": model, "mode": mode, "off": first, "off_again": second, "on": beside}
    problem = next((answer["error"] for answer in (first, second, beside) if "error" in answer), None)
    if problem:
        return {**row, "problem": problem, "same_without": "error" in first}
    keys = ("weights", "output")
    row["repeatable"] = all(first[key] == second[key] for key in keys)
    row["identical"] = all(first[key] == beside[key] for key in keys)
    return row


def verdict(row):
    if "problem" in row:
        return ("fails without the library too: " if row["same_without"] else "") + row["problem"][:100]
    if not row["repeatable"]:
        return "two runs without the library differ"
    return "identical" if row["identical"] else "DIFFERENT"


def outputs(bench, chosen, budget):
    """off-2 and on-1 follow off-1, so that they find what it compiled and tuned."""
    rows = []
    for model, mode in cells_of(chosen):
        if not budget.allows(LEAST_S):
            break
        arguments = {"model": model, "mode": mode, "steps": OUTPUT_STEPS}
        first = both(bench, [bench.residents.get("off-1", "off")], budget, "outputs", **arguments)[0]
        if not budget.allows(LEAST_S / 2):
            break
        others = [bench.residents.get("off-2", "off"), bench.residents.get("on-1", "on")]
        second, beside = both(bench, others, budget, "outputs", **arguments)
        rows.append(bench.keep("outputs", output_row(model, mode, first, second, beside)))
        print(f"outputs {model} {mode}: {verdict(rows[-1])}", flush=True)
    met = bool(rows) and all(row.get("repeatable") and row.get("identical") for row in rows)
    return {"rows": rows, "met": met, "steps": OUTPUT_STEPS,
            "table": [f"{row['model'] + ' ' + row['mode']:16} {verdict(row)}" for row in rows]}
