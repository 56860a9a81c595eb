#!/usr/bin/env python3
"""carpool simulate and carpool policies: the same twice, true to what was published, strict with traces."""

import csv
import json
import re
import shutil
import unittest

import cli

TRACES = cli.ROOT / "data" / "carma-traces"
HEADER = "submit_s,workload,solo_s,peak_mem_mib\n"

BAD = {
    "a missing column": ("submit_s,workload,solo_s\n1,a,2\n", ("trace.csv:1", "peak_mem_mib")),
    "a time that is no number": (HEADER + "1,a,nan,3\n", ("trace.csv:2", "solo_s")),
    "a time that is text": (HEADER + "soon,a,2,3\n", ("trace.csv:2", "submit_s", "soon")),
    "a negative time": (HEADER + "1,a,2,3\n-1,a,2,3\n", ("trace.csv:3", "submit_s")),
    "a run time of nothing": (HEADER + "1,a,0,3\n", ("trace.csv:2", "solo_s")),
    "no memory": (HEADER + "1,a,2,0\n", ("trace.csv:2", "peak_mem_mib")),
    "a ragged row": (HEADER + "1,a,2\n", ("trace.csv:2",)),
    "no jobs": (HEADER, ("trace.csv", "has no jobs")),
    "nothing": ("", ("trace.csv",)),
    "garbage": (b"\xff\xfe\0\1" * 100, ("trace.csv",)),
}
WORDS = {
    ("--policy", "magn"): ("magn", "magm"),
    ("--policy", "magm@nobody"): ("nobody",),
    ("--policy", "magm:guess"): ("guess", "told"),
    ("--cluster", "4xB999"): ("B999", "A100-40"),
    ("--cluster", "A100-40"): ("COUNTxGPU",),
    ("--order", "random"): ("random", "fifo"),
    ("--recovery", "none"): ("none", "reserve"),
    ("--estimator", "guess"): ("guess", "gpumemnet"),
    ("--policy", "magm/random"): ("random", "fifo"),
    ("--truth", "nowhere.model.json"): ("nowhere.model.json",),
    ("--truth", "pairs*many"): ("pairs*many", "pairs*1.4"),
    ("--belief", "known"): ("known", "learned"),
    ("--rates", "2"): ("--rates",),
    ("--runtime-error", "2"): ("--runtime-error",),
}


class Simulate(cli.CarpoolTest):
    def setUp(self):
        super().setUp()
        shutil.copy(TRACES / "trace_t1.csv", self.folder)

    def test_gives_the_same_twice_and_every_figure_of_the_table_as_json(self):
        arguments = ("simulate", "trace_t1.csv", "--runtime-error", "0.3", "--seeds", "2")
        one, two = self.prints_json(*arguments), self.prints_json(*arguments)
        self.assertEqual(one, two)
        self.assertEqual([row["policy"] for row in one["rows"]], ["exclusive", "magm:told", "carpool"])
        for row in one["rows"]:
            self.assertLessEqual(row["makespan_s"]["least"], row["makespan_s"]["most"])
            self.assertEqual(row["failed_jobs"]["most"], 0)
            self.assertGreater(row["energy_mj"]["mean"], 0)
        text = self.succeeds(*arguments)
        for row in one["rows"]:
            self.assertIn(format(row["makespan_s"]["mean"], ".0f"), text)

    def test_ours_beats_the_published_way_on_traces_of_carma(self):
        rows = {row["policy"]: row for row in self.prints_json(
            "simulate", "trace_t1.csv", "--policy", "aegis:gpumemnet,carpool:told", "--belief", "truth",
            "--runtime-error", "0.3", "--seeds", "5")["rows"]}
        ours, theirs = rows["carpool:told"], rows["aegis:gpumemnet"]
        self.assertLess(ours["makespan_s"]["mean"], theirs["makespan_s"]["mean"])
        self.assertLess(ours["mean_jct_s"]["mean"], 0.75 * theirs["mean_jct_s"]["mean"])
        self.assertLess(ours["energy_mj"]["mean"], theirs["energy_mj"]["mean"])
        self.assertEqual(ours["out_of_memory"]["most"], 0)

    def test_ours_wins_the_examples_of_the_help(self):
        examples = [line.split()[1:] for line in self.succeeds("simulate", "--help").splitlines()
                    if line.startswith("  carpool simulate") and "--validate" not in line]
        self.succeeds(*examples[0])  # makes the trace
        self.assertEqual(len(examples), 3)
        for example in examples[1:]:
            self.assertNotIn("--belief", example)
            rows = self.prints_json(*example, "--belief", "learned")["rows"]
            self.assertEqual([row["policy"] for row in rows[2:]], ["carpool"])
            for other in rows[:2]:
                for figure in ("makespan_s", "mean_jct_s", "energy_mj"):
                    self.assertLess(rows[2][figure]["mean"], other[figure]["mean"], (example, other["policy"], figure))

    def test_agrees_with_published_runs(self):
        answer = self.prints_json("simulate", "--validate", "aegis", "--seeds", "5")
        self.assertEqual(len(answer["rows"]), 8)
        self.assertEqual(sum(row["fitted_on"] for row in answer["rows"]), 1)
        for row in answer["rows"]:
            self.assertTrue(row["met"], row)
        self.assertEqual([one["contention"] for one in answer["factors"]], [1.4, 1.9, 3.0])
        ratios = [one["carma_ratio"] for one in answer["factors"]]
        self.assertEqual(ratios, sorted(ratios))
        self.assertEqual(answer["rows"], answer["factors"][1]["rows"])

    def test_writes_every_job_of_every_run(self):
        self.write("mine.csv", "submit_s,workload,solo_s,peak_mem_mib,gpus,smact\n0,a,100,2000,1,0.5\n1,b,50,2000,9,0.5\n")
        answer = self.prints_json("simulate", "mine.csv", "--cluster", "2x40GiB", "--policy", "exclusive,carpool",
                                  "--seeds", "2", "--shuffle", "2", "--per-job", "jobs.csv")
        self.assertEqual(answer["runs"], 4)
        for row in answer["rows"]:
            self.assertEqual(row["failed_jobs"], {"mean": 1.0, "least": 1.0, "most": 1.0})  # no cluster of 9 GPUs
        with open(self.folder / "jobs.csv", encoding="utf-8") as table:
            jobs = list(csv.DictReader(table))
        self.assertEqual(len(jobs), 2 * 4 * 2)
        for job in jobs:
            self.assertEqual((job["succeeded"], job["ends"]), ("yes", "succeeded") if job["workload"] == "a" else ("no", ""))

    def test_policies_get_the_truth_only_when_asked(self):
        arguments = ("simulate", "trace_t1.csv", "--policy", "kace:told")
        known = self.prints_json(*arguments, "--belief", "truth")["rows"][0]
        blind = self.prints_json(*arguments, "--belief", "blind")["rows"][0]
        self.assertNotEqual(known["makespan_s"], blind["makespan_s"])
        self.assertEqual(blind, self.prints_json(*arguments, "--belief", "blind", "--rates", "0")["rows"][0])
        mild = self.prints_json("simulate", "trace_t1.csv", "--policy", "aegis:none", "--truth", "pairs*1.4")["rows"][0]
        harsh = self.prints_json("simulate", "trace_t1.csv", "--policy", "aegis:none", "--truth", "pairs*3")["rows"][0]
        self.assertLess(mild["mean_jct_s"]["mean"], harsh["mean_jct_s"]["mean"])

    def test_writes_a_page_that_needs_nothing_else(self):
        self.succeeds("simulate", "trace_t1.csv", "--policy", "carpool", "--report", "page.html")
        page = (self.folder / "page.html").read_text()
        self.assertIn("Jobs on each GPU", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))
        (height,) = re.findall(r'<svg viewBox="0 0 \d+ (\d+)" role="img"', page)
        tops = [float(y) for y in re.findall(r'<rect class="kind-\d" x="[\d.]+" y="([\d.]+)"', page)]
        self.assertGreater(len(tops), 30)
        self.assertLess(float(height) - max(tops), 60)  # no blank space below the last bar
        charts = json.loads(re.search(r'id="chart-data">(.*?)</script>', page, re.DOTALL).group(1))
        over_time = [chart for chart in charts if chart["type"] == "line"]
        self.assertEqual(len(over_time), 3)
        for chart in over_time:
            self.assertEqual(min(chart["xs"]), 0)
            for series in chart["series"]:
                self.assertGreaterEqual(min(series["values"]), 0)
        self.succeeds("simulate", "trace_t1.csv", "--policy", "aegis:none", "--shuffle", "2", "--report", "page.html")
        self.assertIn("by order of the jobs", (self.folder / "page.html").read_text())

    def test_makes_traces_that_it_reads(self):
        self.succeeds("simulate", "--generate", "philly", "--jobs", "30", "--days", "0.1", "--seed", "3", "-o", "made.csv")
        first = (self.folder / "made.csv").read_bytes()
        self.succeeds("simulate", "--generate", "philly", "--jobs", "30", "--days", "0.1", "--seed", "3", "-o", "made.csv")
        self.assertEqual(first, (self.folder / "made.csv").read_bytes())
        self.assertEqual(self.prints_json("simulate", "made.csv", "--policy", "magm")["jobs"], 30)
        self.refuses("simulate", "--generate", "venus", "-o", "made.csv", says="philly")
        self.refuses("simulate", "--generate", "philly", says="-o")

    def test_takes_speeds_from_a_model(self):
        names = cli.write_part_of_bundled(self.folder / "part")
        self.succeeds("train", "--data", "part", "-o", "part.model.json")
        self.write("mine.csv", HEADER + "".join(f"{10 * i},{name},300,4000\n" for i, name in enumerate(names)))
        answer = self.prints_json("simulate", "mine.csv", "--truth", "part.model.json", "--belief", "truth", "--data", "part",
                                  "--cluster", "1x40GiB", "--policy", "exclusive,kace:told")
        alone, shared = answer["rows"]
        self.assertLess(shared["mean_wait_s"]["mean"], alone["mean_wait_s"]["mean"])

    def test_says_which_workloads_a_model_does_not_know(self):
        names = cli.write_part_of_bundled(self.folder / "part")
        self.succeeds("train", "--data", "part", "-o", "part.model.json")
        truth = ("--truth", "part.model.json", "--data", "part", "--policy", "exclusive")
        self.write("mine.csv", HEADER + f"0,{names[0]},30,4000\n1,other,30,4000\n")
        done = self.carpool("simulate", "mine.csv", *truth)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 2 workloads have no profile, such as other", done.stderr)
        self.write("mine.csv", HEADER + "0,other,30,4000\n")
        self.refuses("simulate", "mine.csv", *truth, says=("no workload of mine", "--data"))

    def test_refuses_bad_traces_with_file_and_line(self):
        for what, (text, says) in BAD.items():
            with self.subTest(what):
                self.write("trace.csv", text)
                self.refuses("simulate", "trace.csv", says=says)
        self.refuses("simulate", "nowhere.csv", says="nowhere.csv")
        self.refuses("simulate", says="TRACE.csv")

    def test_refuses_words_that_it_does_not_know(self):
        for arguments, says in WORDS.items():
            with self.subTest(" ".join(arguments)):
                self.refuses("simulate", "trace_t1.csv", *arguments, says=says)


class Policies(cli.CarpoolTest):
    def test_are_listed_with_orders_and_recovery_rules(self):
        listed = self.prints_json("policies")
        names = {entry["name"] for entry in listed["policies"]}
        self.assertLessEqual({"carpool", "kace", "magm", "lug", "mug", "carma", "aegis", "exclusive"}, names)
        self.assertEqual({entry["name"] for entry in listed["recovery"]}, {"reserve", "carma", "aegis"})
        self.assertIn("carpool", self.succeeds("policies"))
        self.assertEqual(listed["gate"][0]["name"], "spacetime")
        self.assertIn("xsched-lv1", {entry["name"] for entry in listed["gate"]})


if __name__ == "__main__":
    unittest.main()
