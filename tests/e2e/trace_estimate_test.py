#!/usr/bin/env python3
"""Traces that carpool.trace wrote without a GPU: their estimates hold on the GPU that ran the programs."""

import json
import unittest

import cli

TRACES = cli.ROOT / "data" / "traces"
MEASURED = json.loads((TRACES / "measured.json").read_text())["reserved_bytes"]


class TracedPrograms(cli.CarpoolTest):
    def estimate(self, name):
        return self.prints_json("estimate", TRACES / f"{name}.trace.json", "--no-history")

    def test_estimates_are_near_what_was_measured(self):
        for name, measured in MEASURED.items():
            with self.subTest(name):
                out = self.estimate(name)
                context = out["breakdown_bytes"]["context"]
                self.assertAlmostEqual((out["expected_bytes"] - context) / measured, 1.0, delta=0.15)
                self.assertGreaterEqual(out["upper_bytes"], measured + context)

    def test_what_a_program_does_is_told_as_it_was_traced(self):
        told = {name: self.estimate(name)["run"] for name in MEASURED}
        self.assertEqual(told, {
            "resnet18-ampbf16": "training, batch 16, bf16 autocast, SGD with momentum",
            "bert-4-layers": "training, batch 8, fp32, AdamW",
            "efficientnet-b0-amp16": "training, batch 32, fp16 autocast, AdamW, fused",
            "gpt2-trainer-bf16": "training, batch 4, bf16 autocast, AdamW, fused",
            "llama-inference-bf16": "inference, batch 4, bf16",
        })

    def test_every_trace_is_measured(self):
        traces = {path.name.removesuffix(".trace.json") for path in TRACES.glob("*.trace.json")}
        self.assertEqual(traces, set(MEASURED))
        self.assertEqual({path.stem for path in (TRACES / "scripts").glob("*.py")}, set(MEASURED))


if __name__ == "__main__":
    unittest.main()
