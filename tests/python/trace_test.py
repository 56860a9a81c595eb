#!/usr/bin/env python3
"""carpool.trace with as much of PyTorch as it touches: what it writes, and where it stops."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

import traced_torch
import tree
from traced_torch import Linear, Module, Sgd, Tensor

tree.use_package()

from carpool import trace  # noqa: E402


class TraceTest(unittest.TestCase):
    def setUp(self):
        self.torch = traced_torch.make()
        self.trace = trace.Trace(self.torch)
        self.model = Module([Linear(weights=[Tensor(8, 16)], result=Tensor(4, 16))])

    def forward(self, model=None):
        traced_torch.forward(self.torch, model or self.model, Tensor(4, 8))

    def test_a_training_step(self):
        self.torch.lowered_to = "torch.bfloat16"
        with trace.watching(self.torch, self.trace):
            self.forward()
            self.forward()  # accumulated
            with self.assertRaises(trace.Traced):
                self.torch.stepped[0](Sgd(), (), {})
        row = self.trace.row("train.py")
        self.assertEqual(row["cfg"], {"fam": "layers", "name": "train.py", "batch": 4, "inp": 8, "mode": "train",
                                      "prec": "ampbf16", "opt": "sgdm", "accum": 2, "tf32": 1, "bench": 0, "cl": 0,
                                      "ckpt": 0})
        self.assertEqual(row["layers"], [["Linear", [4, 16], "float32", 128]])
        self.assertEqual(row["static"], {"params": 128, "buffers": 0})
        self.assertEqual(row["saved_mib"] * 2**20, 4 * 32)  # the input, once
        self.assertEqual((self.torch.before, self.torch.behind, self.torch.stepped, self.torch.saving),
                         ([], [], [], []))

    def test_autocast_that_begins_inside_the_model(self):
        @contextlib.contextmanager
        def autocast():
            self.torch.lowered_to = "torch.float16"
            yield
            self.torch.lowered_to = None

        self.model.inside = autocast
        with trace.watching(self.torch, self.trace):
            self.forward()
        self.assertEqual(self.trace.row("infer.py")["cfg"]["prec"], "amp16")

    def test_without_autocast_the_weights_say_the_precision(self):
        half = Module([Linear(weights=[Tensor(8, 16, dtype="torch.bfloat16")], result=Tensor(4, 16))])
        with trace.watching(self.torch, self.trace):
            self.forward(half)
        self.assertEqual(self.trace.row("infer.py")["cfg"]["prec"], "bf16")

    def test_weights_that_layers_share_are_counted_once(self):
        shared = Tensor(8, 16)
        tied = Module([Linear(weights=[shared], result=Tensor(4, 16)),
                       Linear(weights=[shared, Tensor(16)], result=Tensor(4, 16))])
        with trace.watching(self.torch, self.trace):
            self.forward(tied)
        self.assertEqual([layer[3] for layer in self.trace.layers], [128, 16])

    def test_what_convolutions_may_do(self):
        kernel = Tensor(8, 3, 5, 5, order=self.torch.channels_last)
        with trace.watching(self.torch, self.trace):
            self.forward(Module([Linear(weights=[kernel], result=Tensor(4, 8))]))
        self.torch.backends.cudnn.allow_tf32, self.torch.backends.cudnn.benchmark = False, True
        cfg = self.trace.row("infer.py")["cfg"]
        self.assertEqual((cfg["tf32"], cfg["bench"], cfg["cl"]), (0, 1, 1))

    def test_a_model_that_is_called_by_keywords(self):
        with trace.watching(self.torch, self.trace):
            self.torch.before[0](self.model, ())
            self.forward(self.model.parts[0])
        self.assertEqual((self.trace.root, self.trace.batch, self.trace.inputs), (self.model, 4, 8))

    def test_inference_has_no_optimizer(self):
        with trace.watching(self.torch, self.trace):
            self.forward()
        row = self.trace.row("infer.py")
        self.assertEqual(row["cfg"]["mode"], "infer")
        self.assertNotIn("saved_mib", row)

    def test_what_cannot_be_read_or_written_is_told_at_once(self):
        for words, told in ((["no such.py"], "no such script: no such.py"), ([__file__, "--later"], None),
                            (["--out", "/no such folder/x", __file__], "cannot write"),
                            (["--out", "/", __file__], "cannot write")):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                if told is None:
                    self.assertEqual(trace.parse(words).arguments, ["--later"])
                    continue
                with self.assertRaises(SystemExit) as ended:
                    trace.parse(words)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(told, said.getvalue())

    def test_a_program_without_a_model_is_told_so(self):
        with self.assertRaisesRegex(SystemExit, "no module"):
            self.trace.row("x.py")

    def test_optimizers_by_name(self):
        for kind, settings, name in (("SGD", {}, "sgd"), ("AdamW", {"fused": True}, "adamw_fused"),
                                     ("Adam", {"foreach": False}, "adamw_single"), ("AdamW", {}, "adamw"),
                                     ("RMSprop", {}, "rmsprop"), ("Mine", {}, "adamw")):
            self.assertEqual(trace.optimizer_name(kind, settings), name)


class Scripts(unittest.TestCase):
    """Whole runs of the command."""

    def setUp(self):
        self.torch = traced_torch.make()
        self.model = Module([Linear(weights=[Tensor(8, 16)], result=Tensor(4, 16))])
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script, self.out = pathlib.Path(folder.name) / "script.py", pathlib.Path(folder.name) / "row.json"
        self.state = types.ModuleType("trace_test_state")
        for name, module in (("trace_test_state", self.state), ("torch", self.torch)):
            sys.modules[name] = module
            self.addCleanup(sys.modules.pop, name)

    def run_script(self, text, program):
        self.script.write_text(text)
        self.state.run = program
        before, path = sys.argv, list(sys.path)
        try:
            with contextlib.redirect_stderr(io.StringIO()) as told:
                trace.main(["--out", str(self.out), str(self.script), "--epochs", "3"])
        finally:
            sys.argv, sys.path[:] = before, path
        return told.getvalue()

    def infer(self):
        traced_torch.forward(self.torch, self.model, Tensor(4, 8))

    def test_a_script_runs_up_to_its_first_step(self):
        def train(words):
            self.state.words, self.state.found = words, self.torch.cuda.is_available()
            self.infer()
            self.torch.stepped[0](Sgd(), (), {})

        told = self.run_script("import sys, trace_test_state as state\nstate.run(sys.argv)\nstate.after = True\n", train)
        self.assertEqual(self.state.words[1:], ["--epochs", "3"])
        self.assertTrue(self.state.found, "a GPU")
        self.assertFalse(self.torch.cuda.is_available())
        self.assertFalse(hasattr(self.state, "after"))
        self.assertEqual(json.loads(self.out.read_text())["cfg"]["batch"], 4)
        self.assertIn("1 layers, batch 4, train", told)

    def test_a_script_that_ends_itself(self):
        ends = "import sys, trace_test_state as state\nstate.run()\nsys.exit({})\n"
        self.assertIn("infer", self.run_script(ends.format(0), self.infer))
        self.out.unlink()
        with self.assertRaises(SystemExit) as end:
            self.run_script(ends.format(3), self.infer)
        self.assertEqual(end.exception.code, 3)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
