#!/usr/bin/env python3
"""dataset.toml and the configuration: unknown keys and wrong types are errors with file and line."""

import os
import unittest

import cli

MEASURED = "workload,exclusive_thr,heat\njob0,10,1\njob1,20,2\njob2,30,3\n"

DATASET = {
    "an unknown key": ('gpu = "x"\nspeed = 1\n', (":2", "speed", "throughput_unit")),
    "a wrong type": ("gpu = 5\n", (":1", "gpu")),
    "no value": ("gpu =\n", (":1",)),
    "a key twice": ('gpu = "a"\ngpu = "b"\n', (":2", "gpu")),
    "a metric that is no column": ('[metrics]\ncold = { combine = "sum" }\n', (":2", "cold", "profiles.csv")),
    "an unknown way to combine": ('[metrics]\nheat = { combine = "max" }\n', (":2", "heat", "mean")),
    "an unknown key of a metric": ('[metrics]\nheat = { combine = "sum", x = 1 }\n', (":2", '"x"', "group")),
    "metrics that are no section": ("metrics = 3\n", (":1", "metrics")),
    "a NUL": ('gpu = "\0"\n', (":1",)),
    "garbage": (b"\xff\xfe\0\1" * 100, (":1",)),
    "a hundred thousand brackets": ("gpu = " + "[" * 100_000, (":1",)),
}
CONFIG = {
    "an unknown key": ("dta = 1\n", (":1", "dta", "data, model, objective")),
    "a section where text goes": ("[data]\nx = 1\n", (":1", "data", "text in quotes")),
    "text where a number goes": ('floor = "low"\n', (":1", "floor", "number")),
    "a number where text goes": ("data = 5\n", (":1", "data", "text in quotes")),
    "no value": ("data\n", (":1",)),
    "a NUL": ('data = "x"\0\n', (":1",)),
    "garbage": (b"\xff\xfe\0\1" * 100, (":1",)),
    "a floor above 1": ("floor = 2\n", ("floor", "2")),
    "a floor that is no number": ("floor = nan\n", ("floor",)),
    "a negative memory": ("memory_gib = -1\n", ("memory",)),
    "an unknown colour": ('color = "pink"\n', ("color", "pink")),
    "an unknown model": ('model = "shere"\n', ("shere", "share")),
    "an unknown objective": ('objective = "speed"\n', ("speed", "normalized")),
    "a folder that is not there": ('data = "nowhere"\n', ("nowhere",)),
}


class DatasetToml(cli.CarpoolTest):
    def make(self, settings):
        self.write("data/profiles.csv", MEASURED)
        self.write("data/pairs.csv", cli.PAIRS)
        self.write("data/dataset.toml", settings)

    def test_is_shown(self):
        self.make('gpu = "A 100"\ndriver = "550"\nthroughput_unit = "images/s"\n'
                  '[metrics]\nheat = { combine = "mean", group = "system" }\n')
        told = self.prints_json("dataset", "data")
        self.assertEqual((told["gpu"], told["driver"], told["throughput_unit"]), ("A 100", "550", "images/s"))
        self.assertEqual(told["metrics"],
                         [{"name": "heat", "combine": "mean", "group": "system", "missing": 0}])
        self.assertIn("images/s", self.succeeds("predict", "job0", "job1", "--data", "data"))

    def test_may_be_empty(self):
        self.make("")
        self.succeeds("dataset", "data")


class Configuration(cli.CarpoolTest):
    def test_says_what_the_command_line_does_not(self):
        cli.write_dataset(self.folder / "mine")
        config = self.write("c.toml", 'data = "mine"\nobjective = "max-min"\n')
        told = self.prints_json("recommend", "job0", "--config", config)
        self.assertEqual(told["objective"], "max-min")
        told = self.prints_json("recommend", "job0", "--config", config, "--objective", "throughput")
        self.assertEqual(told["objective"], "throughput")

    def test_is_found_in_the_home_of_the_user(self):
        self.write(".config/carpool/config.toml", 'objective = "max-min"\n')
        self.assertEqual(self.prints_json("recommend", cli.PAIR[0])["objective"], "max-min")

    def test_that_is_named_must_be_there(self):
        self.refuses("models", "--config", "no.toml", says=("no.toml", "No such file"))

    def test_is_no_folder(self):
        self.refuses("models", "--config", self.folder, says="regular file")

    def test_that_may_not_be_read_is_an_error(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        config = self.write("c.toml", "")
        config.chmod(0)
        self.refuses("models", "--config", config, says=("c.toml", "Permission denied"), code=1)


def add_refusals(case, cases, file, run):
    def make_test(content, says):
        def test(self):
            run(self, content, (file, *says) if says[0].startswith(":") else says)
        return test

    for name, (content, says) in cases.items():
        setattr(case, f"test_refuses_{name.replace(' ', '_')}", make_test(content, says))


def check_dataset(test, content, says):
    test.make(content)
    test.refuses("dataset", "data", says=says)


def check_config(test, content, says):
    test.write("c.toml", content)
    test.refuses("recommend", cli.PAIR[0], "--config", "c.toml", says=says)


add_refusals(DatasetToml, DATASET, "dataset.toml:", check_dataset)
add_refusals(Configuration, CONFIG, "c.toml:", check_config)


if __name__ == "__main__":
    unittest.main()
