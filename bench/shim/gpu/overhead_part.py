"""The part overhead: loops with and without the library, in turn, and the kernel log against torch.profiler."""

import math
import pathlib
import statistics
import sys

import probes_part

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import resampling  # noqa: E402

LOOPS = ("launches", "products", "replays", "training", "streams")
CORES = [2, 3, 4, 5]
START_S = 25.0
DRIVER_PROCESSES = 3
RECORDING_S = 1.0  # kept for what follows the loops
MOST_LOST = 0.005
WIDE = 0.02
MOST_NS = 100.0
LOG_SHARE = 0.1


def ratio_row(name, pairs):
    """Throughput with the library, of that without; times are seconds of one launch, product, replay or step."""
    ratios = [without / beside for without, beside in pairs]
    # The second timing of a pair runs on a GPU that the first has warmed up. Whose it is alternates.
    both_orders = [math.sqrt(one * other) for one, other in zip(ratios[0::2], ratios[1::2])] or ratios
    each = statistics.median(without for without, _ in pairs)
    throughput = statistics.median(both_orders)
    return {"loop": name, "pairs": pairs, "throughput": throughput, "interval_95": resampling.interval(both_orders, statistics.median),
            "seconds_without": each, "added_ns": 1e9 * each * (1 / throughput - 1)}


def timed_pair(two, loop, chosen, budget, turn):
    """One timing of each process, one after the other; None if a process failed."""
    found = {}
    for way in ("off", "on") if turn % 2 == 0 else ("on", "off"):
        found[way] = two[way].ask("loop", min(60.0, budget.left() + 1), name=loop, seconds=chosen.seconds)
    if any("error" in answer for answer in found.values()):
        return None, {way: {**answer, "stderr": two[way].said()} for way, answer in found.items()}
    return (found["off"]["seconds_each"], found["on"]["seconds_each"]), found


def start_two(bench, number):
    """Others have ended: only these two have the GPU."""
    bench.residents.close()
    two = {way: bench.residents.get(f"{way}-loop-{number}", way) for way in ("off", "on")}
    for way in two:
        two[way].send("pin", cores=CORES)
    for way in two:
        two[way].answer(60.0)
    return two


# Name: process, cell, timings.
RECORDERS = {"kernel log": ("on", "logged", 40), "torch.profiler": ("off", "profiled", 5),
             "torch.profiler, with the library": ("on", "profiled", 5)}


def recording(two, chosen, budget):
    """Nanoseconds that each way to record launches adds to one. The log comes first: CUPTI stays in a process that has used it."""
    found = {}
    for name, (way, cell, timings) in RECORDERS.items():
        added = []
        for _ in range(timings):
            if not budget.allows(2 * chosen.seconds + 0.5):
                break
            plain = two[way].ask("loop", 60.0, name="launches", seconds=chosen.seconds)
            recorded = two[way].ask(cell, 60.0, seconds=chosen.seconds)
            if "error" not in plain and "error" not in recorded:
                added.append(1e9 * (recorded["seconds_each"] - plain["seconds_each"]))
        if added:
            found[name] = {"added_ns": statistics.median(added), "interval_95": resampling.interval(added, statistics.median), "values": added}
    return found


def overhead(bench, chosen, budget):
    pairs, problems, recorded, two = {name: [] for name in LOOPS}, [], {}, None
    for turn in range(chosen.processes * chosen.pairs):
        if turn % chosen.pairs == 0:
            if not budget.allows(START_S if turn else 0.0):
                break
            two = start_two(bench, turn // chosen.pairs)
        for loop in LOOPS:
            if problems or not budget.allows(2 * chosen.seconds + RECORDING_S):
                continue  # an error of CUDA stays in a process
            pair, found = timed_pair(two, loop, chosen, budget, turn)
            if pair is None:
                problems.append({"loop": loop, "turn": turn, "found": found})
            else:
                pairs[loop].append(pair)
                bench.keep("overhead", {"loop": loop, "turn": turn, "pair": pair})
    if two is not None:
        recorded = recording(two, chosen, budget)
    rows = [ratio_row(name, values) for name, values in pairs.items() if values]
    driver = launch_cost(bench, chosen, budget)
    return judged(rows, recorded, driver, problems)


def launch_cost(bench, chosen, budget):
    bench.residents.close()
    try:
        return probes_part.launch_cost(bench, budget, DRIVER_PROCESSES)
    except RuntimeError as problem:
        return {"error": str(problem), "processes": []}


def judged(rows, recorded, driver, problems):
    """A loop whose interval is wide decides nothing: one that the host limits, on a machine whose processors are shared."""
    decided = [row for row in rows if row["interval_95"][1] - row["interval_95"][0] <= WIDE]
    profiler = recorded.get("torch.profiler", {}).get("added_ns")
    launch_ns, log_ns = driver.get("added_ns"), recorded.get("kernel log", {}).get("added_ns")
    met = {"throughput": bool(decided) and not problems and all(row["throughput"] >= 1 - MOST_LOST for row in decided),
           "ns_a_launch": launch_ns is not None and launch_ns <= MOST_NS,
           "log": log_ns is not None and profiler is not None and log_ns <= LOG_SHARE * profiler}
    table = [f"{row['loop']:10} {row['throughput']:.4f} of the throughput ({row['interval_95'][0]:.4f} to {row['interval_95'][1]:.4f}), "
             f"{1e6 * row['seconds_without']:.2f} us each, {len(row['pairs'])} pairs{'' if row in decided else ': not decided'}" for row in rows]
    table += [f"cuLaunchKernel: {driver[key]:.0f} ns more{words} of {driver['driver_ns']:.0f} ns, {len(driver['processes'])} processes"
              for key, words in (("added_ns", ""), ("logged_ns", " with the kernel log")) if key in driver]
    table += [f"{name}: {value['added_ns']:.0f} ({value['interval_95'][0]:.0f} to {value['interval_95'][1]:.0f}) ns more a launch of PyTorch"
              for name, value in recorded.items()]
    table.append(", ".join(f"{name}: {'yes' if good else 'NO'}" for name, good in met.items()))
    return {"rows": rows, "recording": recorded, "driver_loop": driver, "problems": problems, "targets": met, "met": all(met.values()),
            "table": table}
