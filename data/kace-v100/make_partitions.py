#!/usr/bin/env python3
"""Makes partitions.csv, the groups measured under MPS thread limits, from the raw table.

usage: make_partitions.py RAW [OUT]

RAW is pairs_raw_mps.csv: campaign, first, second, pct_first, pct_second, thr_first, thr_second.
profiles.csv and exclusive_mps.csv are read from the folder of this script; OUT is partitions.csv
there unless named. w1 is the member that was launched first; both launch orders and pairs of equal
members are kept. Dropped, in this order, with the count of each printed:

  time slicing  campaign 0624, which did not run under MPS (it has 100/100 rows alone)
  no profile    a member that profiles.csv does not list (resnet, mobilenet)
  not positive  a throughput that is zero, negative or no number
  impossible    a member faster than 1.3 times its own unlimited speed alone: broken logs of runs
                that ended after a few steps. Campaigns 0617 and MPS100_0624 ran other versions of
                some jobs than the runs alone did, and are held to 10 times.
"""

import csv
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TIME_SLICING = "0624"
SAME_JOBS_AS_ALONE = {"0505", "0520"}


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def speeds_alone():
    """Unlimited speed of each workload with a profile; the newer measurement wins."""
    speeds = {row["workload"]: float(row["exclusive_thr"]) for row in read(HERE / "profiles.csv")}
    for row in read(HERE / "exclusive_mps.csv"):
        if row["mps_pct"] == "100" and row["workload"] in speeds:
            speeds[row["workload"]] = float(row["thr"])
    return speeds


def reason_to_drop(row, alone):
    members = (row["first"], row["second"])
    speeds = (float(row["thr_first"]), float(row["thr_second"]))
    most = 1.3 if row["campaign"] in SAME_JOBS_AS_ALONE else 10.0
    if row["campaign"] == TIME_SLICING:
        return "time slicing"
    if not all(member in alone for member in members):
        return "no profile"
    if not all(math.isfinite(speed) and speed > 0 for speed in speeds):
        return "not positive"
    if any(speed > most * alone[member] for speed, member in zip(speeds, members)):
        return "impossible"
    return None


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else HERE / "partitions.csv"
    alone = speeds_alone()
    dropped = {}
    kept = []
    for row in read(sys.argv[1]):
        reason = reason_to_drop(row, alone)
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
        else:
            columns = "first second pct_first pct_second thr_first thr_second campaign".split()
            kept.append([len(kept), *(row[column] for column in columns)])
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("id w1 w2 pct1 pct2 thr1 thr2 campaign".split())
        writer.writerows(kept)
    print(f"{out}: {len(kept)} rows kept; dropped: {dropped}")


if __name__ == "__main__":
    main()
