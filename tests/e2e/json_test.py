#!/usr/bin/env python3
"""--json: one JSON document on standard output for every listing, with the documented keys."""

import unittest

import cli

RESULT_KEYS = {
    "name", "group_size", "score_mean", "score_sd", "score_worst", "mape_sum", "mape_member", "r2",
    "spearman", "mse_z", "coverage90", "width90", "floor_violations", "assignment",
    "train_seconds", "splits",
}
RATIOS = ("score_mean", "score_worst", "coverage90", "floor_violations", "assignment")
NOT_NEGATIVE = ("score_sd", "mape_sum", "mape_member", "mse_z", "width90", "train_seconds")
PREDICTIONS = ("mape_sum", "mape_member", "r2", "spearman", "mse_z", "coverage90", "width90")
RULES = ("memcap", "sm-busy", "mem-busy", "best-rule", "sm-throughput", "exclusive-throughput",
         "random", "oracle")
FAST = ("--models", "share,kace-lr,memcap,oracle")

PROTOCOLS = {
    "pairs-n-occur": ("--n-occur", "3"),
    "unseen": ("--table", "triples"),
    "triples-ratio": ("--train-fraction", "0.1"),
    "random": ("--train-fraction", "0.5", "--seeds", "3"),
    "leave-one-out": (),
    "transfer": ("--train-table", "pairs", "--table", "quads"),
    "file": ("--splits", cli.DATA / "splits" / "pairs_n_occur.csv", "--n-occur", "5"),
}


class Evaluate(cli.CarpoolTest):
    def check_result(self, result):
        self.assertLessEqual(RESULT_KEYS, set(result))
        for key in RATIOS:
            if result[key] is not None:
                self.assertGreaterEqual(result[key], 0.0, key)
                self.assertLessEqual(result[key], 1.0 + 1e-12, key)
        for key in NOT_NEGATIVE:
            if result[key] is not None:
                self.assertGreaterEqual(result[key], 0.0, key)
        if result["spearman"] is not None:
            self.assertLessEqual(abs(result["spearman"]), 1.0 + 1e-12)
        self.assertGreater(result["splits"], 0)

    def test_has_the_documented_keys_under_every_protocol(self):
        sizes = {"unseen": 3, "triples-ratio": 3, "transfer": 4}
        for protocol, options in PROTOCOLS.items():
            with self.subTest(protocol):
                told = self.prints_json("evaluate", "--protocol", protocol, *options, *FAST)
                self.assertEqual(set(told), {"protocol", "data", "noise", "results"})
                self.assertEqual(told["protocol"], protocol)
                names = [result["name"] for result in told["results"]]
                self.assertEqual(names, ["share", "kace-lr", "memcap", "oracle"])
                for result in told["results"]:
                    self.assertEqual(result["group_size"], sizes.get(protocol, 2))
                    self.check_result(result)
                self.assertAlmostEqual(told["results"][-1]["score_mean"], 1.0)

    def test_of_thread_limits_compares_the_model_with_fixed_limits(self):
        told = self.prints_json("evaluate", "--protocol", "mps-split")
        self.assertEqual(told["protocol"], "mps-split")
        self.assertLessEqual({"100 % each", "equal shares", "model"}, {r["name"] for r in told["results"]})
        for result in told["results"]:
            self.assertGreaterEqual(result["regret_median"], 0.0)
            self.assertLessEqual(result["regret_median"], result["regret_p90"])

    def test_of_larger_groups_has_one_result_a_table(self):
        told = self.prints_json("evaluate", "--protocol", "larger-groups", "--table", "triples,quads_batch4")
        self.assertEqual((told["protocol"], told["train_tables"]), ("larger-groups", ["pairs"]))
        self.assertEqual([(r["table"], r["group_size"]) for r in told["results"]], [("triples", 3), ("quads_batch4", 4)])
        for result in told["results"]:
            self.assertLess(result["median_member"], result["mape_member"])
            self.assertGreater(result["coverage90"], 0.8)

    def test_has_null_where_a_policy_predicts_nothing(self):
        results = {r["name"]: r for r in self.prints_json("evaluate")["results"]}
        for name in RULES:
            self.assertEqual([results[name][key] for key in PREDICTIONS], [None] * len(PREDICTIONS))
        for key in ("mape_member", "coverage90", "width90", "floor_violations"):
            self.assertIsNone(results["kace-lr"][key])
        for key in PREDICTIONS:
            self.assertIsNotNone(results["share"][key])

    def test_leaves_out_only_the_slow_models_by_default(self):
        named = [result["name"] for result in self.prints_json("evaluate")["results"]]
        self.assertEqual(named, ["share", "kace-lr", *RULES])

    def test_adds_the_choices_of_each_target(self):
        told = self.prints_json("evaluate", "--per-target", *FAST)
        self.assertEqual(len(told["results"]), 4)
        for result in told["results"]:
            targets = {choice["target"] for choice in result["targets"]}
            self.assertEqual((len(targets), result["best_of"]), (21, 21))
            for choice in result["targets"]:
                self.assertIn(choice["target"], choice["group"])
                self.assertLessEqual(choice["score"], 1.0 + 1e-12)

    def test_of_nothing_tested_has_no_score(self):
        cli.write_dataset(self.folder / "two", workloads=2)
        results = self.prints_json("evaluate", "--data", "two")["results"]
        # The others need a metric or a second row.
        self.assertEqual([result["name"] for result in results],
                         ["share", "best-rule", "exclusive-throughput", "random", "oracle"])
        for result in results:
            self.assertEqual((result["splits"], result["score_mean"]), (0, None))

    def test_compares_sets_of_metrics(self):
        told = self.prints_json("evaluate", "--ablation")
        self.assertEqual(len(told["results"]), 5)
        self.assertEqual(len({result["name"] for result in told["results"]}), 5)

    def test_is_the_same_twice(self):
        def told():
            answer = self.prints_json("evaluate", "--seeds", "3", "--per-target", *FAST)
            for result in answer["results"]:
                result.pop("train_seconds")
            return answer
        self.assertEqual(told(), told())


class Others(cli.CarpoolTest):
    def test_predict(self):
        told = self.prints_json("predict", *cli.PAIR, "--limits", "30,70")
        self.assertEqual([m["workload"] for m in told["members"]], list(cli.PAIR))
        for member, limit in zip(told["members"], (30.0, 70.0)):
            low, high = member["together_interval90"]
            self.assertTrue(0.0 < low <= member["together"] <= high)
            self.assertAlmostEqual(member["slowdown"], member["alone"] / member["together"])
            self.assertAlmostEqual(member["progress"], member["together"] / member["alone"])
            self.assertEqual(member["thread_limit"], limit)
        self.assertAlmostEqual(told["sum"], sum(m["together"] for m in told["members"]))
        self.assertEqual(len(told["best_split"]["limits"]), 2)

    def test_predict_with_a_model_of_sums(self):
        told = self.prints_json("predict", *cli.PAIR, "--model", "kace-lr")
        self.assertGreater(told["sum"], 0.0)
        self.assertIsNone(told["best_split"])

    def test_recommend(self):
        told = self.prints_json("recommend", cli.PAIR[0], "--top", "4", "--grow", "3")
        values = [partner["value"] for partner in told["partners"]]
        self.assertEqual(len(values), 4)
        self.assertEqual(values, sorted(values, reverse=True))
        for partner in told["partners"]:
            self.assertEqual(partner["group"][0], cli.PAIR[0])
            self.assertTrue(partner["reasons"])
        self.assertEqual(told["grown"]["group"][0], cli.PAIR[0])

    def test_assign(self):
        told = self.prints_json("assign", "--gpus", "11")
        placed = [name for group in told["groups"] for name in group["members"]]
        self.assertEqual((len(placed), len(set(placed)), told["left_over"]), (21, 21, []))
        self.assertLessEqual(len(told["groups"]), 11)
        self.assertAlmostEqual(told["total"], sum(group["value"] for group in told["groups"]))

    def test_train_and_report_name_their_file(self):
        for command, file in (("train", "a.model.json"), ("report", "a.html")):
            told = self.prints_json(command, "-o", file)
            self.assertEqual(told["file"], file)
            self.assertTrue((self.folder / file).is_file())

    def test_dataset(self):
        told = self.prints_json("dataset")
        self.assertEqual((len(told["workloads"]), len(told["metrics"])), (31, 17))
        self.assertEqual({key: told["workloads"][0][key] for key in ("workload", "model", "task", "batch")},
                         {"workload": "bert-base-cased_batch2-inf", "model": "bert-base-cased", "task": "inf",
                          "batch": 2.0})
        rows = {table["name"]: (table["group_size"], table["rows"]) for table in told["tables"]}
        self.assertEqual((rows["pairs"], rows["triples"], rows["quads"]), ((2, 181), (3, 400), (4, 1108)))

    def test_models(self):
        told = self.prints_json("models")
        self.assertLessEqual({"share", "kace-lr", "kace-rf", "kace-nn", "kace-automl", "xu"},
                             {entry["name"] for entry in told["models"]})
        self.assertEqual([entry["name"] for entry in told["rules"]], list(RULES))

    def test_may_stand_before_or_after_the_command(self):
        for words in (("--json", "models"), ("models", "--json")):
            told = cli.strict_json(self.succeeds(*words))
            self.assertEqual(sorted(told), ["models", "objectives", "protocols", "rules"])

    def test_survives_names_that_need_escaping(self):
        self.write("odd/profiles.csv", 'workload,exclusive_thr\n"a ""b"" \\",10\nj\u00f6b,20\n')
        self.write("odd/pairs.csv", 'w1,w2,thr1,thr2\n"a ""b"" \\",j\u00f6b,5,12\n')
        told = self.prints_json("predict", 'a "b" \\', "j\u00f6b", "--data", "odd")
        self.assertEqual([m["workload"] for m in told["members"]], ['a "b" \\', "j\u00f6b"])


if __name__ == "__main__":
    unittest.main()
