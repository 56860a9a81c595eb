#!/usr/bin/env python3
"""The published figures are reproduced; those of `share` reach their goals."""

import collections
import csv
import statistics
import unittest

import cli

# Score of each policy on pairs, n_occur 3, in percent, as published or computed from the artifact.
PUBLISHED = {
    "kace-lr": 90.6, "best-rule": 83.7, "memcap": 78.5, "sm-busy": 35.4, "mem-busy": 71.8, "random": 54.3,
}
# What `share` has to reach, in percent of the oracle.
UNSEEN = {"pairs": 95.5, "triples": 97.5, "quads": 99.0, "quads_batch4": 97.0}
FROM_PAIRS = {"triples": 97.5, "quads": 99.0}
BY_N_OCCUR = {2: 97.5, 3: 98.2, 10: 99.4}


def mean_by_target(rows):
    scores = collections.defaultdict(list)
    for row in rows:
        scores[row["target"]].append(float(row["score"]))
    return {target: statistics.fmean(values) for target, values in scores.items()}


def artifact_scores(policy, size=3.0):
    """Mean over the seeds of pairs_n_occur, by target."""
    with open(cli.DATA / "reference_results.csv", newline="", encoding="utf-8") as table:
        return mean_by_target(
            {"target": row["target"], "score": row["normalized_sum"]} for row in csv.DictReader(table)
            if (row["protocol"], row["policy"], float(row["size"])) == ("pairs_n_occur", policy, size))


class Figures(cli.CarpoolTest):
    def judge(self, *options):
        return {r["name"]: r for r in self.prints_json("evaluate", *options)["results"]}

    def share(self, *options):
        return self.judge("--models", "share", *options)["share"]

    def assert_reaches(self, result, percent):
        self.assertGreaterEqual(result["score_mean"] * 100.0, percent)

    def test_published_policies_score_as_published(self):
        results = self.judge("--protocol", "pairs-n-occur", "--n-occur", "3")
        for name, score in PUBLISHED.items():
            self.assertAlmostEqual(results[name]["score_mean"] * 100.0, score, delta=0.1, msg=name)
            self.assertEqual(results[name]["splits"], 5)
        self.assertAlmostEqual(results["kace-lr"]["mse_z"], 0.1442, delta=0.00005)
        self.assertEqual(results["oracle"]["score_mean"], 1.0)

    def test_the_published_model_is_best_in_13_of_21_targets(self):
        """Against the rules, and Xu et al. as the artifact itself reports them ("hotcloud")."""
        rivals = {target: [score] for target, score in artifact_scores("hotcloud").items()}
        results = self.judge("--n-occur", "3", "--per-target", "--models",
                             "kace-lr,memcap,sm-busy,mem-busy,random")
        ours = mean_by_target(results.pop("kace-lr")["targets"])
        for rule in results.values():
            for target, score in mean_by_target(rule["targets"]).items():
                rivals[target].append(score)
        best = [target for target, score in ours.items() if score >= max(rivals[target]) - 1e-9]
        self.assertEqual((len(best), len(ours)), (13, 21))

    def test_share_reaches_its_goal_by_training_size(self):
        for n_occur, percent in BY_N_OCCUR.items():
            with self.subTest(n_occur):
                self.assert_reaches(self.share("--n-occur", str(n_occur)), percent)

    def test_share_predicts_throughputs_within_its_goal(self):
        result = self.share("--n-occur", "3")
        self.assertLessEqual(result["mape_sum"], 0.095)
        self.assertLessEqual(result["mape_member"], 0.125)

    def test_share_keeps_score_and_coverage_on_fresh_splits(self):
        result = self.share("--n-occur", "3", "--seeds", "1000-1049")
        self.assertEqual(result["splits"], 50)
        self.assert_reaches(result, 97.9)
        self.assertGreaterEqual(result["coverage90"], 0.86)
        self.assertLessEqual(result["coverage90"], 0.94)

    def test_share_reaches_its_goal_on_unseen_workloads(self):
        for table, percent in UNSEEN.items():
            with self.subTest(table):
                self.assert_reaches(self.share("--protocol", "unseen", "--table", table), percent)

    def test_share_trained_on_pairs_reaches_its_goal_on_larger_groups(self):
        for table, percent in FROM_PAIRS.items():
            with self.subTest(table):
                self.assert_reaches(
                    self.share("--protocol", "transfer", "--train-table", "pairs", "--table", table), percent)

    def test_the_chosen_thread_limits_are_near_the_best_measured(self):
        results = self.prints_json("evaluate", "--protocol", "mps-split")["results"]
        regret = {r["objective"]: r["regret_median"] for r in results
                  if (r["name"], r["campaign"]) == ("model", "")}
        for objective in ("throughput", "max-min"):
            self.assertLessEqual(regret[objective], 0.03)


if __name__ == "__main__":
    unittest.main()
