#!/usr/bin/env python3
"""Memory estimators: judged on measured jobs, fitted, listed; bad rows are errors with a line."""

import gzip
import json
import re
import subprocess
import sys
import unittest

import cli

ROWS = cli.ROOT / "data" / "memory-h200" / "rows.jsonl.gz"
COLLECTED = cli.ROOT / "data" / "memory-collected" / "rows.jsonl.gz"
LATER = cli.ROOT / "data" / "memory-collected" / "later.jsonl.gz"
CONVOLUTIONS = cli.ROOT / "data" / "memory-collected" / "convolutions.jsonl.gz"
BUNDLED = cli.ROOT / "data" / "memory-estimator" / "h200.model.json"
CONVERT = cli.ROOT / "data" / "gpumemnet" / "convert.py"


class Estimate(cli.CarpoolTest):
    def scores(self, *arguments):
        out = self.prints_json("estimate", "--evaluate", *arguments)
        return {(score["estimator"], score["family"]): score
                for result in out["results"] for score in result["scores"]}

    def convert(self):
        subprocess.run([sys.executable, str(CONVERT), "--output", str(self.folder)], check=True)

    def test_every_estimator_is_judged_by_family(self):
        scores = self.scores(str(COLLECTED), "--estimator", "carpool,horus,deepspeed,llmem,dnnmem,faketensor")
        ours = scores["carpool", "all"]
        self.assertLess(ours["mape"], 0.05)
        self.assertGreater(ours["bound_covers"], 0.98)
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

    def test_a_fitted_estimator_is_judged_as_it_is_on_other_jobs(self):
        out = self.prints_json("estimate", "--evaluate", LATER, "--model-file", BUNDLED)
        self.assertEqual(out["split"], "none")
        overall = out["results"][0]["scores"][0]
        self.assertEqual(overall["rows"], 533)
        self.assertLess(overall["mape"], 0.06)
        self.assertGreater(overall["bound_covers"], 0.98)

    def test_workspaces_are_learned_from_convolutions(self):
        error = {}
        for convolutions in (CONVOLUTIONS, "none"):
            out = self.prints_json("estimate", "--evaluate", LATER, "--estimator", "carpool", "--convolutions", convolutions)
            error[convolutions] = {score["family"]: score["mape"] for score in out["results"][0]["scores"]}
        self.assertLess(error[CONVOLUTIONS]["autotuned convolutions"], 0.5 * error["none"]["autotuned convolutions"])
        self.assertLess(error[CONVOLUTIONS]["all"], error["none"]["all"])

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
        self.assertIn("bad.jsonl:1:", self.refuses("estimate", "--evaluate", str(ROWS), "--convolutions", "bad.jsonl", code=2))
        self.refuses("estimate", "--evaluate", str(ROWS), "--model-file", str(BUNDLED), "--estimator", "horus", code=2)
        self.refuses("estimate", "--batch", "1", "--convolutions", "none", "--", "python", "train.py", code=2)


LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256,
    "max_position_embeddings": 131072, "tie_word_embeddings": True,
}


def gib(size):
    return size / 2**30


class OneJob(cli.CarpoolTest):
    def config(self, **changes):
        self.write("config.json", json.dumps({**LLAMA, **changes}))

    def estimate(self, *arguments):
        # In front: behind -- everything belongs to the job.
        out = cli.strict_json(self.succeeds("estimate", "--json", *map(str, arguments)))
        self.assertGreaterEqual(out["upper_bytes"], out["expected_bytes"])
        self.assertEqual(sum(out["breakdown_bytes"].values()), out["expected_bytes"])
        return out

    def test_the_bundled_estimator_is_the_one_that_a_fit_gives(self):
        self.succeeds("estimate", "--fit", str(COLLECTED), "-o", "again.model.json")
        again = json.loads((self.folder / "again.model.json").read_text())
        bundled = json.loads(BUNDLED.read_text())
        self.assertEqual(again["params"], bundled["params"], "fit data/memory-estimator again")

    def test_a_model_that_is_converted_on_the_gpu_takes_more_than_one_that_comes_converted(self):
        self.config()
        asked = ("config.json", "--batch", 1, "--sequence", 128, "--dtype", "bf16", "--inference")
        self.assertGreater(self.estimate(*asked, "--built-on-gpu")["expected_bytes"],
                           1.3 * self.estimate(*asked)["expected_bytes"])

    def test_a_measured_row_is_estimated_near_its_truth(self):
        with gzip.open(ROWS, "rt") as rows:
            row = next(row for row in map(json.loads, rows)
                       if row["ok"] and row["cfg"]["fam"] == "llm" and row["cfg"]["mode"] == "train")
        self.write("row.json", json.dumps(row))
        out = self.estimate("row.json")
        truth = (row["peak"]["reserved"] + 760) * 2**20
        self.assertAlmostEqual(out["expected_bytes"] / truth, 1.0, delta=0.15)
        self.assertGreaterEqual(out["upper_bytes"], truth)

    def test_a_configuration_with_options(self):
        self.config()
        out = self.estimate("config.json", "--batch", "8", "--sequence", "1024", "--dtype", "bf16", "--fits", "40G")
        self.assertEqual(out["basis"], "config")
        # 1.24 billion parameters of 2 bytes, and twice that for Adam.
        self.assertAlmostEqual(gib(out["breakdown_bytes"]["weights"]), 2.3, delta=0.1)
        self.assertAlmostEqual(gib(out["breakdown_bytes"]["optimizer"]), 4.6, delta=0.1)
        self.assertIn("batch 4 instead of 8", [lever["change"] for lever in out["levers"]])
        batch = out["fits"]["largest_batch"]
        within = self.estimate("config.json", "--batch", batch, "--sequence", "1024", "--dtype", "bf16")
        beyond = self.estimate("config.json", "--batch", batch + 1, "--sequence", "1024", "--dtype", "bf16")
        self.assertLessEqual(within["upper_bytes"], 40 * 2**30)
        self.assertGreater(beyond["upper_bytes"], 40 * 2**30)
        text = self.succeeds("estimate", "config.json", "--batch", "8")
        for words in ("expected peak", "upper bound, 99 %", "[GiB]", "basis: config", "to reduce it"):
            self.assertIn(words, text)

    def test_options_change_what_they_should(self):
        self.config()
        base = ("config.json", "--batch", "4", "--sequence", "512", "--dtype", "bf16")
        plain = self.estimate(*base)
        for less in (("--checkpointing",), ("--lora-rank", "8"), ("--inference",), ("--optimizer", "sgd"),
                     ("--gpus", "4", "--zero-stage", "3")):
            self.assertLess(self.estimate(*base, *less)["expected_bytes"], plain["expected_bytes"], less)
        for more in (("--attention", "eager"), ("--dtype", "fp32")):
            self.assertGreater(self.estimate(*base[:5], *more)["expected_bytes"], plain["expected_bytes"], more)
        self.assertLess(self.estimate(*base, "--confidence", "0.8")["upper_bytes"], plain["upper_bytes"])
        self.assertLess(self.estimate(*base, "--context", "300M")["expected_bytes"], plain["expected_bytes"])

    def test_the_context_of_the_help_is_the_default(self):
        self.config()
        base = ("config.json", "--batch", "4")
        context = re.search(r"--context SIZE.*\(default: (\w+),", self.succeeds("estimate", "--help"))[1]
        self.assertEqual(self.estimate(*base, "--context", context)["expected_bytes"],
                         self.estimate(*base)["expected_bytes"])

    def test_the_flags_of_the_command_and_options_before_them(self):
        command = ("--", "torchrun", "--nproc_per_node=2", "run_clm.py", "--model_name_or_path", "gpt2",
                   "--per_device_train_batch_size", "16", "--bf16", "--block_size", "256")
        out = self.estimate(*command)
        self.assertEqual(out["basis"], "flags")
        self.assertIn("batch 16, bf16 autocast, 256 tokens", out["run"])
        self.assertIn("batch 2,", self.estimate("--batch", "2", *command)["run"])
        trainer = self.estimate("--", "run_glue.py", "--model_name_or_path", "bert-base-cased")
        self.assertTrue(any("batch 8" in note for note in trainer["notes"]), trainer["notes"])
        for name in ("resnet18", "resnet50", "convnext_small"):  # of one set of rows, of the other
            self.assertIn(name, self.estimate("--", "main.py", "-a", name, "-b", "64")["notes"][1])

    def test_a_folder_with_weights(self):
        header = json.dumps({"extra": {"dtype": "BF16", "shape": [1000000, 2000], "data_offsets": [0, 0]}}).encode()
        self.write("net/config.json", json.dumps(LLAMA))
        alone = self.estimate("net", "--batch", "1")
        self.write("net/model.safetensors", len(header).to_bytes(8, "little") + header)
        out = self.estimate("net", "--batch", "1")
        self.assertEqual(out["basis"], "config and weights")
        self.assertGreater(out["expected_bytes"], alone["expected_bytes"] + 4 * 4 * 700_000_000)
        index = {"weight_map": {"a": "model.safetensors", "b": "model.safetensors"}}
        self.write("net/parts.safetensors.index.json", json.dumps(index))
        self.assertEqual(self.estimate("net", "--batch", "1", "--weights", "net/parts.safetensors.index.json"), out)

    def sample(self, name, to):
        corpus = cli.ROOT / "tests" / "fuzz" / "corpus" / "model_files"
        return self.write(to, (corpus / name).read_bytes()[1:])

    def test_layers_from_onnx_and_from_summaries(self):
        self.sample("onnx_small", "net.onnx")
        self.sample("summary_torchsummary", "net.model")
        self.sample("summary_torchinfo", "net.txt")
        self.sample("summary_printed", "print.txt")
        for name in ("net.onnx", "net.model", "net.txt", "print.txt"):
            few, many = (self.estimate(name, "--batch", batch) for batch in (64, 4096))
            self.assertEqual(few["basis"], "layers")
            self.assertGreater(many["expected_bytes"], few["expected_bytes"], name)
        self.assertIn("batch 32,", self.estimate("net.txt")["run"])  # the summary's own
        with_command = self.estimate("print.txt", "--", "python", "t.py", "-b", "8", "--img-size", "512")
        self.assertIn("batch 8,", with_command["run"])
        self.assertTrue(any("512 pixels" in note for note in with_command["notes"]))

    def test_unknown_layers_are_counted(self):
        self.sample("summary_torchsummary", "net.model")
        notes = self.estimate("net.model", "--batch", "2")["notes"]
        self.assertTrue(any(note.startswith("1 layers of unknown type") for note in notes), notes)

    def test_a_trace_is_a_source(self):
        self.sample("row_trace", "trace.json")
        out = self.estimate("trace.json")
        self.assertEqual(out["basis"], "trace")
        self.assertIn("batch 4, fp32, SGD", out["run"])

    def test_relatives_say_so_and_have_a_wider_bound(self):
        self.config()
        own = self.estimate("config.json", "--batch", "1")
        self.config(model_type="somebodys")
        out = self.estimate("config.json", "--batch", "1")
        self.assertEqual(out["expected_bytes"], own["expected_bytes"])
        self.assertGreater(out["upper_bytes"], 1.9 * own["upper_bytes"])
        self.assertTrue(any("somebodys" in note for note in out["notes"]))

    def test_what_cannot_be_estimated(self):
        self.config()
        for wrong in (("--batch", "0"), ("--batch", "1000000000000"), ("--batch", "many"), (),
                      ("--batch", "1", "--sequence", "-4"), ("--batch", "1", "--dtype", "int1"),
                      ("--batch", "1", "--fits", "lots"), ("--batch", "1", "--gpus", "0"),
                      ("--batch", "1", "--confidence", "nan"), ("--batch", "1", "--weights", "none.safetensors"),
                      ("other.json", "--batch", "1"), ("--batch", "1", "--evaluate", str(ROWS))):
            self.refuses("estimate", "config.json", *wrong, code=2)
        self.refuses("estimate", "none.json", "--batch", "1", code=2)
        self.assertIn("does not name a model", self.refuses("estimate", "--", "python", "train.py", code=1))
        self.assertIn("nobody", self.refuses("estimate", "--", "t.py", "--model", "nobody", "-b", "1", code=1))
        self.write("cut.safetensors", b"\xff\xff\0\0\0\0\0\0{")
        self.assertIn("truncated", self.refuses("estimate", "config.json", "--batch", "1", "--weights",
                                              "cut.safetensors", code=2))
        self.sample("onnx_no_shapes", "bare.onnx")
        self.assertIn("no shape", self.refuses("estimate", "bare.onnx", "--batch", "1", code=2))
        self.sample("onnx_varint", "bad.onnx")
        self.assertIn("bad.onnx", self.refuses("estimate", "bad.onnx", "--batch", "1", code=2))
        self.write("prose.txt", "This is no model.\n")
        self.assertIn("prose.txt", self.refuses("estimate", "prose.txt", "--batch", "1", code=2))
        self.write("config.json", '{"model_type": "bert", "hidden_size": "big"}')
        self.assertIn('config.json: "hidden_size"', self.refuses("estimate", "config.json", "--batch", "1", code=2))
        self.write("config.json", "[" * 200000)
        self.refuses("estimate", "config.json", "--batch", "1", code=2)


if __name__ == "__main__":
    unittest.main()
