#!/usr/bin/env python3
"""Model files: the same answers as training on the fly; a damaged one is an error, never a crash."""

import base64
import hashlib
import json
import re
import unittest

import cli

FAST_MODELS = ("share", "kace-lr")


def read_exactly(text):
    """Every fraction becomes its text between two zero bytes: Python may write the same number with other
    digits, and the hash is over the text."""
    return json.loads(text, parse_float=lambda digits: f"\0{digits}\0")


def written(envelope, **style):
    return re.sub(r'"\\u0000([^"]*)\\u0000"', r"\1", json.dumps(envelope, **style))


def sealed(envelope):
    """With a valid hash over the present content, as after a deliberate manipulation."""
    envelope = {key: value for key, value in envelope.items() if key != "sha256"}
    text = written(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return written({**envelope, "sha256": hashlib.sha256(text.encode()).hexdigest()})


class ModelFile(cli.CarpoolTest):
    def train(self, *options, name="a.model.json"):
        self.succeeds("train", *options, "-o", name)
        return read_exactly((self.folder / name).read_text())

    def refuses_file(self, content, *says):
        """A damaged model file: exit code 1."""
        self.write("bad.model.json", content)
        return self.refuses("predict", *cli.PAIR, "--model-file", "bad.model.json",
                            says=("bad.model.json", *says), code=1)

    def test_gives_the_numbers_of_training_on_the_fly(self):
        for model in FAST_MODELS:
            self.train("--model", model)
            for question in (
                ("predict", *cli.PAIR),
                ("predict", *cli.PAIR, "vit_h_14_batch2-train"),
                ("predict", "gpt2-xl_batch20-inf", cli.PAIR[0]),
                ("recommend", cli.PAIR[0], "--objective", "throughput"),
            ):
                with self.subTest(model=model, question=question):
                    self.assertEqual(self.prints_json(*question, "--model-file", "a.model.json"),
                                     self.prints_json(*question, "--model", model))

    def test_is_the_same_when_trained_again(self):
        for model in FAST_MODELS:
            first, second = (self.train("--model", model) for _ in range(2))
            self.assertEqual(first["params"], second["params"])

    def test_has_an_envelope_and_a_card(self):
        model = self.train()
        self.assertEqual(set(model), {"format", "version", "kind", "card", "params", "sha256"})
        self.assertEqual(json.loads(sealed(model))["sha256"], model["sha256"])
        for key in ("data_hash", "features", "seed", "holdout_mape", "date", "training_rows"):
            self.assertIn(key, model["card"])

    def test_of_a_net_or_a_forest_can_be_read_again(self):
        first, second, *_ = cli.write_part_of_bundled(self.folder / "part")
        for model in ("kace-nn", "xu"):
            self.train("--model", model, "--data", "part")
            result = self.prints_json("predict", first, second, "--model-file", "a.model.json")
            self.assertEqual(result["model"], model)
            self.assertGreater(result["sum"], 0.0)

    def test_of_other_data_answers_with_a_flag(self):
        self.train()
        cli.write_dataset(self.folder / "mine")
        result = self.prints_json("predict", "job0", "job1", "--data", "mine", "--model-file", "a.model.json")
        self.assertEqual([member["extrapolated"] for member in result["members"]], [True, True])

    def test_that_is_not_there_is_an_error(self):
        self.refuses("predict", *cli.PAIR, "--model-file", "no.json", says=("no.json", "No such file"))

    def test_that_is_a_folder_is_an_error(self):
        self.refuses("predict", *cli.PAIR, "--model-file", self.folder, says="regular file")

    def test_cut_anywhere_is_an_error(self):
        text = written(self.train())
        for size in (0, 1, 100, len(text) // 2, len(text) - 1):
            self.refuses_file(text[:size], "truncated or not a model file")

    def test_with_another_number_in_it_is_an_error(self):
        model = self.train()
        model["card"]["training_rows"] += 1
        self.refuses_file(written(model), "altered", "carpool train")

    def test_of_another_version_is_an_error(self):
        model = self.train()
        model["version"] = 99
        self.refuses_file(sealed(model), "version 99", "carpool train")

    def test_of_an_unknown_kind_is_an_error(self):
        model = self.train()
        model["kind"] = "oracle2"
        self.write("bad.model.json", sealed(model))
        self.refuses("predict", *cli.PAIR, "--model-file", "bad.model.json", says="oracle2")

    def test_that_is_not_a_model_is_an_error(self):
        for content in ("{}", "[]", "null", "hello", b"\0" * 100, b"\xff\xfe" * 100, '{"format": 1e400}'):
            self.refuses_file(content, "is truncated or")

    def test_of_deeply_nested_brackets_is_an_error(self):
        depth = 300_000
        for content in ("[" * depth, "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            self.refuses_file(content, "is truncated or")

    def test_with_nonsense_under_a_valid_hash_does_not_crash(self):
        for model in (self.train(), self.train("--model", "kace-lr")):
            for key in model["params"]:
                for value in (None, -1, 1e308, [[]]):
                    broken = {**model, "params": {**model["params"], key: value}}
                    self.write("bad.model.json", sealed(broken))
                    done = self.carpool("predict", *cli.PAIR, "--model-file", "bad.model.json")
                    self.assertIn(done.returncode, (0, 1), (key, value, done.stderr))
                    self.assertNotIn("internal error", done.stderr)

    def test_with_broken_trees_under_a_valid_hash_is_an_error(self):
        cli.write_part_of_bundled(self.folder / "part")
        model = self.train("--model", "xu", "--data", "part")
        forest = model["params"]["regressor"]
        for key in ("nodes", "sizes"):
            sound = base64.b64decode(forest[key])
            for broken in (b"", sound[: len(sound) // 2], b"\0" * len(sound), b"\xff" * len(sound),
                           sound[::-1]):
                text = base64.b64encode(broken).decode()
                self.refuses_file(sealed(
                    {**model, "params": {**model["params"], "regressor": {**forest, key: text}}}), '"nodes" is')


if __name__ == "__main__":
    unittest.main()
