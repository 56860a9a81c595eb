#!/usr/bin/env python3
"""The collector of memory measurements, up to the point where it needs PyTorch."""
import argparse
import collections
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import threading
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "workloads" / "memory"
sys.path.insert(0, str(FOLDER))

import collect  # noqa: E402
import configurations  # noqa: E402
import convolutions  # noqa: E402
import draws  # noqa: E402
import row_files  # noqa: E402


class Configurations(unittest.TestCase):
    def test_are_enough_distinct_and_always_the_same(self):
        found = configurations.configurations()
        self.assertGreaterEqual(len(found), 1200)
        self.assertEqual(len({draws.key_of(cfg) for cfg in found}), len(found))
        self.assertEqual(found, configurations.configurations())
        self.assertEqual(collections.Counter(cfg["fam"] for cfg in found), configurations.COUNTS)

    def test_heads_divide_what_they_share(self):
        for cfg in configurations.configurations():
            if cfg["fam"] == "llm":
                conf = cfg["conf"]
                self.assertEqual(conf["hidden_size"] % conf["num_attention_heads"], 0)
                self.assertEqual(conf["num_attention_heads"] % conf["num_key_value_heads"], 0)

    def test_fresh_ones_are_some_of_each_family(self):
        fresh = configurations.fresh_configurations()
        self.assertEqual(len(fresh), configurations.FRESH)
        self.assertEqual({cfg["fam"] for cfg in fresh}, set(configurations.COUNTS))

    def test_later_ones_are_others(self):
        known = {draws.key_of(cfg) for cfg in configurations.configurations()}
        later = configurations.later_configurations()
        self.assertGreaterEqual(len(later), 500)
        self.assertFalse(known & {draws.key_of(cfg) for cfg in later})

    def test_convolutions_differ_and_each_setting_has_its_turn(self):
        found = convolutions.convolutions()
        self.assertGreaterEqual(len(found), 300)
        self.assertEqual(len({draws.key_of(cfg) for cfg in found}), len(found))
        self.assertEqual(len({(cfg["prec"], cfg["bench"], cfg["cl"]) for cfg in found[:16]}), 16)


class FakeWorker:
    """A worker without PyTorch that dies at each tenth configuration, is stale at each ninth, and runs
    out of memory at each seventh beside others."""

    runs, lock = 0, threading.Lock()

    def __init__(self, options):
        self.options = options

    def run(self, cfg, beside, seconds):
        with FakeWorker.lock:
            FakeWorker.runs += 1
            number = FakeWorker.runs
        if number % 10 == 0:
            return None
        if number % 9 == 0:
            return "stale"
        if beside and number % 7 == 0:
            return "short"
        row_files.append(self.options.output / f"{self.options.part}.jsonl", {"cfg": cfg, "ok": 1, "beside": beside})
        return "done"

    def end(self):
        pass


class Collect(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.output = pathlib.Path(self.folder.name)
        self.real, collect.Worker = collect.Worker, FakeWorker
        self.counts = convolutions.COUNT, convolutions.STRICT_COUNT
        convolutions.COUNT, convolutions.STRICT_COUNT = 280, 40
        FakeWorker.runs = 0

    def tearDown(self):
        collect.Worker = self.real
        convolutions.COUNT, convolutions.STRICT_COUNT = self.counts
        self.folder.cleanup()

    def collect(self, seconds, workers=1):
        options = argparse.Namespace(output=self.output, part="convolutions", seconds=seconds, cap=1.0, workers=workers)
        with contextlib.redirect_stdout(io.StringIO()):
            return collect.collect(options)

    def test_runs_everything_once_and_notes_what_killed_a_worker(self):
        self.assertEqual(self.collect(1000.0), 0)
        total = len(convolutions.convolutions())
        rows = row_files.read_rows(self.output / "convolutions.jsonl")
        failed = row_files.read_rows(self.output / "failed.jsonl")
        self.assertEqual(len(rows) + len(failed), total)
        self.assertEqual(len(failed), FakeWorker.runs // 10)
        runs = FakeWorker.runs
        self.assertEqual(self.collect(1000.0), 0)
        self.assertEqual(FakeWorker.runs, runs)

    def test_what_ran_short_beside_others_is_run_again_alone(self):
        self.assertEqual(self.collect(1000.0, workers=4), 0)
        rows = row_files.read_rows(self.output / "convolutions.jsonl")
        failed = row_files.read_rows(self.output / "failed.jsonl")
        keys = {draws.key_of(row["cfg"]) for row in rows + failed}
        self.assertEqual(len(keys), len(rows) + len(failed))
        self.assertEqual(len(keys), len(convolutions.convolutions()))
        self.assertGreater(sum(not row["beside"] for row in rows), 20)

    def test_ends_when_the_time_is_up_and_goes_on_later(self):
        self.assertEqual(self.collect(-1.0), 3)
        self.assertEqual(FakeWorker.runs, 0)

    def test_a_line_cut_short_is_run_again(self):
        (self.output / "convolutions.jsonl").write_text(
            json.dumps({"cfg": convolutions.convolutions()[0], "ok": 1}) + "\n" + '{"cfg": {"n"')
        self.assertEqual(self.collect(1000.0), 0)
        rows = row_files.read_rows(self.output / "convolutions.jsonl")
        self.assertEqual(len(rows) + len(row_files.read_rows(self.output / "failed.jsonl")),
                         len(convolutions.convolutions()))


if __name__ == "__main__":
    unittest.main()
