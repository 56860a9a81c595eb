#!/usr/bin/env python3
"""predict, recommend and assign on the bundled data: answers that hold together."""

import unittest

import cli

TARGET = "bert-base-cased_batch8-train"


class Predict(cli.CarpoolTest):
    def members(self, *arguments):
        return self.prints_json("predict", *arguments)["members"]

    def test_one_alone_runs_at_its_own_speed(self):
        (member,) = self.members(cli.PAIR[0])
        self.assertAlmostEqual(member["slowdown"], 1.0)
        self.assertIsNone(self.prints_json("predict", cli.PAIR[0])["best_split"])

    def test_the_order_of_the_names_does_not_matter(self):
        there, back = self.members(*cli.PAIR), self.members(*reversed(cli.PAIR))
        self.assertEqual((len(there), len(back)), (2, 2))
        for one, other in zip(there, reversed(back)):
            self.assertEqual(one["workload"], other["workload"])
            self.assertAlmostEqual(one["together"], other["together"])

    def test_a_third_member_slows_the_first_two(self):
        two, three = self.members(*cli.PAIR), self.members(*cli.PAIR, "vit_h_14_batch8-train")
        self.assertEqual((len(two), len(three)), (2, 3))
        for before, after in zip(two, three):
            self.assertLess(after["together"], before["together"])

    def test_the_best_split_is_at_least_as_good_as_no_limits(self):
        gains = {}
        for objective in ("throughput", "normalized", "max-min"):
            split = self.prints_json("predict", *cli.PAIR, "--objective", objective)["best_split"]
            self.assertEqual(split["objective"], objective)
            self.assertGreater(split["gain_over_equal"], 0.0)
            gains[objective] = split["gain_over_100"]
        self.assertGreater(gains["throughput"], 0.1)  # limits help the sum of this pair
        self.assertGreaterEqual(min(gains.values()), 0.0)

    def test_weights_move_the_split_towards_the_primary(self):
        def limits(weights):
            asked = ("--objective", "weighted", "--weights", weights)
            return self.prints_json("predict", *cli.PAIR, *asked)["best_split"]["limits"]
        first, second = limits("10,1"), limits("1,10")
        self.assertGreater(first[0] / first[1], second[0] / second[1])

    def test_a_goal_for_members_needs_a_model_that_predicts_them(self):
        for goal in (("--objective", "max-min"), ("--floor", "0.5")):
            self.refuses("predict", *cli.PAIR, "--model", "kace-lr", *goal, says="this model predicts only the sum", code=1)
        self.succeeds("predict", *cli.PAIR, "--model", "kace-lr", "--objective", "throughput")

    def test_the_last_weight_counts_for_all_further_members(self):
        def answer(weights):
            return self.prints_json("recommend", TARGET, "--objective", "weighted", *weights)
        self.assertEqual(answer(()), answer(("--weights", "1,0.5")))
        self.assertEqual(answer(("--weights", "2")), answer(("--weights", "2,2")))

    def test_a_floor_that_nothing_keeps_is_said(self):
        told = self.succeeds("predict", *cli.PAIR, "--floor", "0.99")
        self.assertIn("no limits keep the floor", told)

    def test_a_group_that_does_not_fit_the_memory_is_said(self):
        told = self.succeeds("predict", "vit_h_14_batch16-train", "wav2vec2-base-960h_batch16-inf", "--memory", "32")
        self.assertRegex(told, r"42\.7 .*does not fit")

    def test_the_smallest_limit_makes_no_endless_columns(self):
        told = self.succeeds("predict", *cli.PAIR, "--limits", "1e-300,50")
        self.assertIn(cli.PAIR[0], told)
        self.assertNotRegex(told, r"\d{40}")

    def test_is_the_same_twice(self):
        for model in ("share", "kace-lr"):
            first, second = (self.succeeds("predict", *cli.PAIR, "--model", model) for _ in range(2))
            self.assertEqual(first, second)


class Recommend(cli.CarpoolTest):
    def test_shows_as_many_as_asked_for(self):
        for top in (1, 5, 21):
            self.assertEqual(len(self.prints_json("recommend", TARGET, "--top", top)["partners"]), top)

    def test_considers_only_the_candidates(self):
        told = self.prints_json("recommend", TARGET, "--candidates", ",".join(cli.PAIR))
        self.assertEqual({partner["group"][1] for partner in told["partners"]}, set(cli.PAIR))

    def test_says_who_does_not_fit(self):
        told = self.prints_json("recommend", TARGET, "--memory", "0.5", "--top", "3")
        self.assertEqual(len(told["partners"]), 3)
        for partner in told["partners"]:
            self.assertFalse(partner["feasible"])
            self.assertIn("does not fit", partner["reasons"][0])

    def test_puts_those_who_keep_the_floor_first(self):
        told = self.prints_json("recommend", TARGET, "--floor", "0.6", "--top", "21")
        feasible = [partner["feasible"] for partner in told["partners"]]
        self.assertEqual(feasible, sorted(feasible, reverse=True))
        self.assertEqual({True, False}, set(feasible))

    def test_grows_step_by_step_and_names_the_target_in_its_reasons(self):
        self.assertNotIn("\ufffd", self.succeeds("recommend", TARGET, "--grow", "4"))
        told = self.prints_json("recommend", TARGET, "--grow", "4")["grown"]
        self.assertEqual(told["group"][0], TARGET)
        self.assertEqual([len(step["group"]) for step in told["steps"]], [2, 3, 4])
        for step in told["steps"]:
            self.assertIn(f"slows {TARGET} ", "; ".join(step["reasons"]))

    def test_is_the_same_twice(self):
        first, second = (self.succeeds("recommend", TARGET, "--grow", "3") for _ in range(2))
        self.assertEqual(first, second)


class Assign(cli.CarpoolTest):
    def total(self, *options):
        return self.prints_json("assign", *options)["total"]

    def test_exact_is_as_good_as_the_others_and_says_so(self):
        names = [w["workload"] for w in self.prints_json("dataset")["workloads"]][:8]
        exact = self.prints_json("assign", *names, "--gpus", "4", "--method", "exact")
        self.assertTrue(exact["optimal"])
        for method in ("matching", "local-search"):
            self.assertLessEqual(self.total(*names, "--gpus", "4", "--method", method), exact["total"] + 1e-9)

    def test_a_workload_named_twice_runs_twice(self):
        told = self.prints_json("assign", cli.PAIR[0], cli.PAIR[0], "--gpus", "1")
        self.assertEqual([group["members"] for group in told["groups"]], [[cli.PAIR[0]] * 2])

    def test_says_who_is_left_over_and_why(self):
        told = self.prints_json("assign", "--gpus", "2")
        self.assertEqual((len(told["groups"]), len(told["left_over"])), (2, 17))
        for left in told["left_over"]:
            self.assertIn("every GPU is full", left["reason"])

    def test_respects_the_memory_of_a_gpu(self):
        told = self.prints_json("assign", "--gpus", "11", "--memory", "16")
        needs = [left for left in told["left_over"] if "a GPU has 16" in left["reason"]]
        self.assertTrue(needs, told["left_over"])

    def test_puts_no_more_on_a_gpu_than_allowed(self):
        told = self.prints_json("assign", "--gpus", "7", "--per-gpu", "3")
        self.assertEqual([len(group["members"]) for group in told["groups"]], [3] * 7)

    def test_is_the_same_twice(self):
        first, second = (self.succeeds("assign", "--gpus", "6", "--per-gpu", "4") for _ in range(2))
        self.assertEqual(first, second)


if __name__ == "__main__":
    unittest.main()
