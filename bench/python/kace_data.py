"""The measurements as NumPy arrays: the same rows, in the same order, as bench_data.cpp has them."""

import csv
import tomllib

import numpy as np


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class KaceData:
    """Profiles of all workloads and the measured pairs.

    metrics      (workloads, metrics) the default features without the solo throughput
    full         (metrics,) what a share of something cannot exceed; not a number for others
    averaged     (metrics + 1,) which columns a group averages; the others it adds up
    exclusive    (workloads,) solo speed, units/s
    batch        (workloads,) samples a step
    family       (workloads,) number of the model and task
    members      (pairs, 2) workloads
    throughput   (pairs, 2) units/s
    """

    def __init__(self, folder):
        profiles = read(folder / "profiles.csv")
        self.names = [row["workload"] for row in profiles]
        self.position = {name: i for i, name in enumerate(self.names)}
        with open(folder / "dataset.toml", "rb") as file:
            declared = tomllib.load(file)["metrics"]
        columns = [name for name in profiles[0] if name in declared and declared[name]["group"] != "xu"]
        self.metrics = np.array([[float(row[name]) for name in columns] for row in profiles])
        self.full = np.array([100.0 if "pct" in name else np.nan for name in columns])
        self.averaged = np.array([declared[name]["combine"] == "mean" for name in columns] + [False])
        self.exclusive = np.array([float(row["exclusive_thr"]) for row in profiles])
        self.batch = np.array([float(row["batch"]) for row in profiles])
        kinds = [(row["model"], row["task"]) for row in profiles]
        self.family = np.array([kinds.index(kind) for kind in kinds])
        pairs = read(folder / "pairs.csv")
        self.row_of_id = {row["id"]: i for i, row in enumerate(pairs)}
        self.members = np.array([[self.position[row["w1"]], self.position[row["w2"]]] for row in pairs])
        self.throughput = np.array([[float(row["thr1"]), float(row["thr2"])] for row in pairs])
        self.split_rows = read(folder / "splits" / "pairs_n_occur.csv")

    def split(self, n_occur, seed=10):
        """Positions of pairs: {"fit": …, "holdout": …, "test": …}."""
        chosen = {}
        for row in self.split_rows:
            if row["n_occur"] == str(n_occur) and row["seed"] == str(seed):
                chosen.setdefault(row["role"], []).append(self.row_of_id[row["pair_id"]])
        return {role: np.array(rows) for role, rows in chosen.items()}

    def member_features(self):
        return np.column_stack([self.metrics, self.exclusive])
