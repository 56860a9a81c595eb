#!/usr/bin/env python3
"""Memory estimators: judged on measured jobs, fitted, listed; bad rows are errors with a line."""

import json
import subprocess
import sys
import unittest

import cli

ROWS = cli.ROOT / "data" / "memory-h200" / "rows.jsonl.gz"
CONVERT = cli.ROOT / "data" / "gpumemnet" / "convert.py"


class Estimate(cli.CarpoolTest):
    def scores(self, *arguments):
        out = self.prints_json("estimate", "--evaluate", *arguments)
        return {(score["estimator"], score["family"]): score
                for result in out["results"] for score in result["scores"]}

    def convert(self):
        subprocess.run([sys.executable, str(CONVERT), "--output", str(self.folder)], check=True)

    def test_every_estimator_is_judged_by_family(self):
        scores = self.scores(str(ROWS), "--estimator", "carpool,horus,deepspeed,llmem,dnnmem,faketensor")
        ours = scores["carpool", "all"]
        self.assertLess(ours["mape"], 0.09)
        self.assertGreater(ours["bound_covers"], 0.96)
        for name in ("horus", "deepspeed", "llmem", "dnnmem", "faketensor"):
            self.assertGreater(scores[name, "all"]["mape"], ours["mape"], name)
        self.assertGreater(scores["llmem", "all"]["unanswered"], 0)
        self.assertLess(scores["carpool", "mlp"]["mape"], 0.02)

    def test_the_published_mlp_split(self):
        self.convert()
        scores = self.scores("mlp_step2.jsonl", "--split", "published", "--estimator", "carpool,gpumemnet-mlp")
        ours, theirs = scores["carpool", "all"], scores["gpumemnet-mlp", "all"]
        self.assertEqual((ours["rows"], theirs["rows"]), (306, 306))
        self.assertGreaterEqual(ours["accuracy_1gb"], 0.99)
        self.assertLessEqual(ours["mape"], 0.007)
        self.assertLessEqual(ours["mape_above_context"], 0.045)
        self.assertEqual(ours["under_5"], 0.0)
        self.assertAlmostEqual(theirs["accuracy_1gb"], 0.984, delta=0.01)

    def test_the_published_split_of_convolutional_nets(self):
        self.convert()
        ours = self.scores("cnn_early.jsonl", "--split", "published", "--estimator", "carpool")["carpool", "all"]
        self.assertGreaterEqual(ours["accuracy_8gb"], 0.93)
        self.assertLessEqual(ours["mape"], 0.055)

    def test_real_models_each_left_out(self):
        self.convert()
        scores = self.scores("real_models.jsonl", "--split", "leave-one-out", "--estimator", "carpool")
        ours = scores["carpool", "uncontested"]
        self.assertLessEqual(ours["mape"], 0.10)
        self.assertEqual(ours["bound_under_5"], 0.0)
        self.assertGreater(scores["gpumemnet (published)", "uncontested"]["mape"], 0.9)

    def test_names_need_a_catalogue_where_layers_may_not_be_seen(self):
        without = self.prints_json("estimate", "--evaluate", ROWS, "--from", "config", "--estimator", "horus")
        self.assertGreater(without["without_model"], 50)
        with_it = self.prints_json("estimate", "--evaluate", ROWS, "--from", "config", "--catalogue", ROWS,
                                   "--estimator", "horus")
        self.assertLess(with_it["without_model"], 5)

    def test_a_table_for_people(self):
        out = self.succeeds("estimate", "--evaluate", str(ROWS), "--estimator", "carpool", "--split", "in-sample")
        self.assertIn("bound covers [%]", out)
        self.assertIn("carpool", out)

    def test_every_estimate_on_demand(self):
        out = self.prints_json("estimate", "--evaluate", ROWS, "--estimator", "horus", "--split", "in-sample",
                               "--per-row")
        estimates = out["results"][0]["estimates"]
        self.assertEqual(len(estimates), out["rows"])
        self.assertLessEqual({"line", "truth", "expected", "upper"}, set(estimates[0]))

    def test_a_fitted_estimator_is_a_model_file(self):
        self.succeeds("estimate", "--fit", str(ROWS), "-o", "h200.model.json")
        envelope = json.loads((self.folder / "h200.model.json").read_text())
        self.assertEqual(envelope["kind"], "memory-estimator")
        self.assertEqual(len(envelope["card"]["data_hash"]), 64)
        self.refuses("predict", *cli.PAIR, "--model-file", "h200.model.json", code=2)

    def test_the_listing(self):
        out = self.prints_json("estimators")
        self.assertEqual(out["estimators"][0]["name"], "carpool")
        self.assertIn("published", [split["name"] for split in out["splits"]])
        self.assertIn("horus", self.succeeds("estimators"))

    def test_bad_use_and_bad_rows(self):
        self.refuses("estimate", code=2)
        self.refuses("estimate", "--fit", str(ROWS), code=2)
        self.refuses("estimate", "--evaluate", "none.jsonl", code=2)
        self.refuses("estimate", "--evaluate", str(ROWS), "--estimator", "horos", code=2)
        self.refuses("estimate", "--evaluate", str(ROWS), "--split", "nams", code=2)
        self.refuses("estimate", "--evaluate", str(ROWS), "--from", "thin air", code=2)
        self.write("bad.jsonl", '{"cfg": 3}\n')
        self.assertIn("bad.jsonl:1:", self.refuses("estimate", "--evaluate", "bad.jsonl", code=2))
        self.write("cut.jsonl.gz", ROWS.read_bytes()[:1000])
        self.refuses("estimate", "--evaluate", "cut.jsonl.gz", code=2)


if __name__ == "__main__":
    unittest.main()
