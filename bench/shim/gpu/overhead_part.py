"""The part overhead: loops with and without the library, in turn, and the kernel log against torch.profiler."""

import statistics

import probes_part

LOOPS = ("launches", "products", "replays", "training")
ROUNDS = 5  # pairs of timings of one pair of processes
CORES = [2, 3, 4, 5]
START_S = 25.0
RECORDING_S = 1.0  # kept for what follows the loops
MOST_LOST = 0.005
MOST_NS = 100.0
LOG_SHARE = 0.1


def ratio_row(name, pairs):
    """Throughput with the library, of that without; times are seconds of one launch, product, replay or step."""
    ratios = [without / beside for without, beside in pairs]
    added = [beside - without for without, beside in pairs]
    return {"loop": name, "pairs": pairs, "throughput": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
            "seconds_without": statistics.median(without for without, _ in pairs), "added_ns": 1e9 * statistics.median(added),
            "added_ns_least": 1e9 * min(added), "added_ns_most": 1e9 * max(added)}


def timed_pair(two, loop, chosen, budget, turn):
    """One timing of each process, one after the other; None if a process failed."""
    found = {}
    for way in ("off", "on") if turn % 2 == 0 else ("on", "off"):
        found[way] = two[way].ask("loop", min(60.0, budget.left() + 1), name=loop, seconds=chosen.seconds)
    if any("error" in answer for answer in found.values()):
        return None, found
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


RECORDERS = {"kernel log": ("on", "logged"), "torch.profiler": ("off", "profiled"), "torch.profiler, with the library": ("on", "profiled")}


def recording(two, chosen, budget):
    """Nanoseconds that each way to record launches adds to one. Last, and the log first: CUPTI stays in a process that has used it."""
    plain = {way: [two[way].ask("loop", 60.0, name="launches", seconds=chosen.seconds) for _ in range(2)] for way in two}
    found = {}
    for name, (way, cell) in RECORDERS.items():
        if not budget.allows(2 * chosen.seconds + 2.0) or any("error" in answer for answer in plain[way]):
            continue
        answers = [two[way].ask(cell, 60.0, seconds=chosen.seconds) for _ in range(2)]
        values = [1e9 * (answer["seconds_each"] - statistics.mean(one["seconds_each"] for one in plain[way]))
                  for answer in answers if "error" not in answer]
        if values:
            found[name] = {"added_ns": statistics.median(values), "values": values}
    return found


def overhead(bench, chosen, budget):
    pairs, problems, recorded, two = {name: [] for name in LOOPS}, [], {}, None
    for turn in range(chosen.pairs):
        if turn % ROUNDS == 0:
            if not budget.allows(START_S if turn else 0.0):
                break
            two = start_two(bench, turn // ROUNDS)
        for loop in LOOPS:
            if not budget.allows(2 * chosen.seconds + RECORDING_S):
                continue
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
        return probes_part.launch_cost(bench, budget, chosen.pairs)
    except RuntimeError as problem:
        return {"error": str(problem), "pairs": []}


def judged(rows, recorded, driver, problems):
    lost = {row["loop"]: 1 - row["throughput"] for row in rows}
    log = recorded.get("kernel log", {}).get("added_ns")
    profiler = recorded.get("torch.profiler", {}).get("added_ns")
    launch_ns = driver.get("added_ns")
    met = {"throughput": bool(rows) and all(value <= MOST_LOST for value in lost.values()),
           "ns_a_launch": launch_ns is not None and launch_ns <= MOST_NS,
           "log": log is not None and profiler is not None and log <= LOG_SHARE * profiler}
    table = [f"{row['loop']:10} {row['throughput']:.4f} of the throughput ({row['least']:.4f} to {row['most']:.4f}), "
             f"{row['added_ns']:8.0f} ns more of {1e6 * row['seconds_without']:.2f} us, {len(row['pairs'])} pairs" for row in rows]
    if launch_ns is not None:
        table.append(f"{'cuLaunchKernel':10} {launch_ns:.0f} ns more of {driver['without_ns']:.0f} ns, {len(driver['pairs'])} pairs")
    table += [f"{name}: {value['added_ns']:.0f} ns more a launch" for name, value in recorded.items()]
    table.append(", ".join(f"{name}: {'yes' if good else 'NO'}" for name, good in met.items()))
    return {"rows": rows, "recording": recorded, "driver_loop": driver, "problems": problems, "targets": met, "met": all(met.values()),
            "table": table}
