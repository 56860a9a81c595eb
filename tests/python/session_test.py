"""How workloads are built, warmed up, repeated and checked, with a fake PyTorch."""

import contextlib
import gc
import io
import json
import sys
import threading
import unittest
from unittest import mock

import fake_torch
import tree

tree.use_workloads()
sys.modules["torch"] = fake_torch.module(fake_torch.Gpu())

import run  # noqa: E402
import session  # noqa: E402
from models.registry import Entry, Registry, Workload  # noqa: E402


class OutOfMemoryError(RuntimeError):
    pass


class Recipes:
    """Workloads that count their steps and the threads these ran in."""

    def __init__(self):
        self.steps = []

    def build(self, spec):
        def step():
            self.steps.append((spec.model, threading.get_ident()))
        return Workload(step, units=spec.batch, depth=1)

    def build_too_big(self, spec):
        raise OutOfMemoryError(f"CUDA out of memory for {spec.name}\nmore lines")

    def registry(self):
        return Registry([Entry("small", "train", 4, "", "", self.build),
                         Entry("other", "train", 2, "", "", self.build),
                         Entry("big", "train", 4, "", "", self.build_too_big)])


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.recipes = Recipes()
        self.registry = self.recipes.registry()
        patch = mock.patch.object(session, "REGISTRY", self.registry)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(gc.unfreeze)

    def specs(self, *names):
        return [self.registry.parse(name) for name in names]

    def check(self, names, as_json=False):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = session.check(self.specs(*names), 3, as_json)
        return status, out.getvalue()

    def test_a_run_warms_up_and_then_counts_its_steps(self):
        report = session.run(self.specs("small.train")[0], 5)
        self.assertEqual(len(self.recipes.steps), session.WARM_UP_STEPS + 5)
        self.assertEqual((report["name"], report["steps"], report["peak_mib"]),
                         ("small.train.b4.fp32", 5, 3.0))
        self.assertAlmostEqual(report["units_per_s"] * report["ms_per_step"] / 1000, 4)

    def test_only_tf32_allows_tf32(self):
        torch = sys.modules["torch"]
        for dtype, allowed in (("fp32", False), ("tf32", True), ("bf16", False)):
            session.prepare(self.registry.parse(f"small.train.{dtype}"))
            self.assertEqual(torch.backends.cuda.matmul.allow_tf32, allowed)
            self.assertEqual(torch.backends.cudnn.allow_tf32, allowed)

    def test_streams_run_each_workload_in_a_thread_of_its_own(self):
        reports = session.run_in_streams(self.specs("small.train", "other.train", "small.train"), 5)
        self.assertEqual([report["name"] for report in reports],
                         ["small.train.b4.fp32", "other.train.b2.fp32", "small.train.b4.fp32"])
        self.assertEqual(len(self.recipes.steps), 3 * (session.WARM_UP_STEPS + 5))
        models = dict.fromkeys(ident for _, ident in self.recipes.steps)
        self.assertNotIn(threading.get_ident(), models)

    def test_a_check_goes_on_after_a_failure_and_ends_with_1(self):
        status, out = self.check(["small.train", "big.train", "other.train"])
        self.assertEqual(status, 1)
        self.assertIn("OutOfMemoryError: CUDA out of memory for big.train.b4.fp32\n", out)
        self.assertIn("other.train.b2.fp32", out)
        self.assertIn("2 of 3 run", out)
        self.assertEqual(len(self.recipes.steps), 2 * (session.WARM_UP_STEPS + 3))

    def test_a_check_of_what_works_ends_with_0(self):
        status, out = self.check(["small.train"], as_json=True)
        self.assertEqual(status, 0)
        self.assertEqual([item["name"] for item in json.loads(out)], ["small.train.b4.fp32"])

    def test_out_of_memory_has_a_status_of_its_own(self):
        self.assertEqual(run.status_of(OutOfMemoryError("CUDA out of memory")), run.OUT_OF_MEMORY)
        self.assertEqual(run.status_of(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED")),
                         run.OUT_OF_MEMORY)
        self.assertEqual(run.status_of(RuntimeError("shape mismatch")), run.FAILED)


if __name__ == "__main__":
    unittest.main()
