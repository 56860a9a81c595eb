"""The part quota: PyTorch under --mem, with its three allocators, with and without MPS."""

GIB = 2**30
LIMIT_S = 100.0
LEAST_S = 20.0
CELLS = ("told", "caching", "beyond", "steps", "together")


def allocator(text):
    """PyTorch's setting, by its two names."""
    return {"PYTORCH_CUDA_ALLOC_CONF": text, "PYTORCH_ALLOC_CONF": text}


# Name: MPS, environment.
WAYS = {
    "cudaMalloc": ("off", {}),
    "expandable segments": ("off", allocator("expandable_segments:True")),
    "cudaMallocAsync": ("off", allocator("backend:cudaMallocAsync")),
    "cudaMalloc, MPS": ("on", {}),
}


def checks(way, cell, found, limit):
    """What must hold for the answer of a cell."""
    counted = found.get("counters") or {}
    if cell == "told":
        return {"total": found["total"] <= limit, "free": found["free"] <= limit, "counted": bool(counted)}
    if cell == "caching":
        # The other allocators grow what they have freed, so that the quota may suffice.
        refused = {} if way in ("expandable segments", "cudaMallocAsync") else {"refused": counted.get("refusals", 0) > 0}
        return {"lives": found["lives"], "peak": counted.get("peak_bytes", limit + 1) <= limit, **refused}
    if cell == "beyond":
        return {"refused": bool(found["refused"]), "lives": found["lives"], "peak": counted.get("peak_bytes", limit + 1) <= limit}
    # Contexts are part of the quota, about 0.5 of 8 GiB each.
    least = [0.9 * limit - processes * limit / 16 for processes in (0, 1, 2)]
    if cell == "steps":
        return {"most": least[1] <= found["held"] <= limit, "peak": counted.get("peak_bytes", limit + 1) <= limit}
    other = found["other"] or {}
    return {"other": found["code"] == 0, "sum": least[2] <= found["mine"] + other.get("held", 0) <= limit}


def judge(way, cell, found, limit):
    row = {"way": way, "cell": cell, "found": found}
    row["checks"] = {} if "error" in found else checks(way, cell, found, limit)
    row["met"] = "error" not in found and all(row["checks"].values())
    return row


def bytes_of(text):
    return int(float(text[:-1]) * {"G": GIB, "M": 2**20}[text[-1]])


def quota(bench, chosen, budget):
    limit = bytes_of(chosen.mem)
    rows = []
    bench.residents.close()
    # All start at once: each has a quota of its own.
    residents = {name: bench.residents.get(f"quota-{number}", "on", mps=mps, mem=chosen.mem, env=env)
                 for number, (name, (mps, env)) in enumerate(WAYS.items())}
    for name, resident in residents.items():
        for cell in CELLS:
            if not budget.allows(LEAST_S / 4) or not resident.alive():
                rows.append({"way": name, "cell": cell, "met": False, "found": {"error": "not run: " + resident.said()[-300:]}, "checks": {}})
                continue
            arguments = {} if cell == "told" else {"gib": limit / GIB}
            found = resident.ask(cell, min(LIMIT_S, budget.left()), **arguments)
            rows.append(bench.keep("quota", judge(name, cell, found, limit)))
            print(f"quota {name}, {cell}: {'met' if rows[-1]['met'] else 'NOT MET'}", flush=True)
    bench.residents.close()
    table = [f"{row['way']:22} {row['cell']:9} " + (row["found"]["error"][:100] if "error" in row["found"] else
             ", ".join(f"{name} {'yes' if good else 'NO'}" for name, good in row["checks"].items())) for row in rows]
    return {"rows": rows, "limit_bytes": limit, "met": bool(rows) and all(row["met"] for row in rows), "table": table}
