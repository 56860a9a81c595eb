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

import tree

tree.use_package()

from carpool import trace  # noqa: E402


class Tensor:
    def __init__(self, *shape, dtype="torch.float32", identity=None):
        self.shape, self.dtype, self.identity = shape, dtype, identity or object()

    def dim(self):
        return len(self.shape)

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def element_size(self):
        return 4

    def untyped_storage(self):
        return types.SimpleNamespace(_cdata=id(self.identity), nbytes=lambda: 4 * self.numel())


class Module:
    def __init__(self, parts=(), weights=(), result=None):
        self.parts, self.weights, self.result = parts, weights, result

    def children(self):
        return iter(self.parts)

    def parameters(self, recurse=True):
        yield from self.weights
        for part in self.parts if recurse else ():
            yield from part.parameters()

    def buffers(self):
        return iter(())


class Linear(Module):
    pass


class Sgd:
    defaults = {"momentum": 0.9}


Sgd.__name__ = "SGD"


def fake_torch():
    """Hooks are kept in lists, so that a test can call what PyTorch would call."""
    torch = types.SimpleNamespace(before=[], behind=[], stepped=[], saving=[])

    def register(hooks):
        def add(hook):
            hooks.append(hook)
            return types.SimpleNamespace(remove=lambda: hooks.remove(hook))
        return add

    @contextlib.contextmanager
    def saved_tensors_hooks(pack, _unpack):
        torch.saving.append(pack)
        yield
        torch.saving.remove(pack)

    torch.nn = types.SimpleNamespace(modules=types.SimpleNamespace(module=types.SimpleNamespace(
        register_module_forward_pre_hook=register(torch.before),
        register_module_forward_hook=register(torch.behind))))
    sys.modules["torch.optim.optimizer"] = types.SimpleNamespace(
        register_optimizer_step_post_hook=register(torch.stepped))
    torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(saved_tensors_hooks=saved_tensors_hooks))
    torch.is_tensor = lambda value: isinstance(value, Tensor)
    torch.is_autocast_enabled = lambda device: device == "cuda"
    torch.get_autocast_dtype = lambda device: "torch.bfloat16"
    return torch


def call(torch, module, given):
    for hook in list(torch.before):
        hook(module, (given,))
    out = given
    for part in module.parts:
        out = call(torch, part, out)
    out = module.result or out
    for pack in torch.saving:
        pack(given)
        pack(given)  # once is enough
    for hook in list(torch.behind):
        hook(module, (given,), out)
    return out


class TraceTest(unittest.TestCase):
    def setUp(self):
        self.torch = fake_torch()
        self.trace = trace.Trace(self.torch)
        weight = Tensor(8, 16)
        self.model = Module([Linear(weights=[weight], result=Tensor(4, 16))])

    def test_a_training_step(self):
        with trace.watching(self.torch, self.trace, real=True):
            call(self.torch, self.model, Tensor(4, 8))
            call(self.torch, self.model, Tensor(4, 8))  # accumulated
            with self.assertRaises(trace.Traced):
                self.torch.stepped[0](Sgd(), (), {})
        row = self.trace.row("train.py")
        self.assertEqual(row["cfg"], {"fam": "layers", "name": "train.py", "batch": 4, "inp": 8, "mode": "train",
                                      "prec": "ampbf16", "opt": "sgdm", "accum": 2, "ckpt": 0})
        self.assertEqual(row["layers"], [["Linear", [4, 16], "float32", 128]])
        self.assertEqual(row["static"], {"params": 128, "buffers": 0})
        self.assertEqual(row["saved_mib"] * 2**20, 4 * 32)  # the input, once
        self.assertEqual((self.torch.before, self.torch.behind, self.torch.stepped, self.torch.saving),
                         ([], [], [], []))

    def test_a_model_that_is_called_by_keywords(self):
        with trace.watching(self.torch, self.trace, real=True):
            self.torch.before[0](self.model, ())
            call(self.torch, self.model.parts[0], Tensor(4, 8))
        self.assertEqual((self.trace.root, self.trace.batch, self.trace.inputs), (self.model, 4, 8))

    def test_inference_has_no_optimizer(self):
        with trace.watching(self.torch, self.trace, real=True):
            call(self.torch, self.model, Tensor(4, 8))
        row = self.trace.row("infer.py")
        self.assertEqual(row["cfg"]["mode"], "infer")
        self.assertNotIn("saved_mib", row)

    def test_parameters_move_although_the_mode_refers_to_them(self):
        swapped = []
        self.torch.utils = types.SimpleNamespace(swap_tensors=lambda *pair: swapped.append(pair))
        before = self.torch.utils.swap_tensors
        memo = {"a": 1}
        mode = types.SimpleNamespace(fake_tensor_converter=types.SimpleNamespace(tensor_memo=memo))
        with trace.movable(self.torch, mode):
            self.torch.utils.swap_tensors("old", "new")
        self.assertEqual((memo, swapped, self.torch.utils.swap_tensors), ({}, [("old", "new")], before))

    def test_a_program_without_a_model_is_told_so(self):
        with self.assertRaisesRegex(SystemExit, "no module"):
            self.trace.row("x.py")

    def test_optimizers_by_name(self):
        for kind, settings, name in (("SGD", {}, "sgd"), ("AdamW", {"fused": True}, "adamw_fused"),
                                     ("Adam", {"foreach": False}, "adamw_single"), ("AdamW", {}, "adamw"),
                                     ("RMSprop", {}, "rmsprop"), ("Mine", {}, "adamw")):
            self.assertEqual(trace.optimizer_name(kind, settings), name)

    def test_a_script_runs_up_to_its_first_step(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "script.py"
            script.write_text("import sys, trace_test_state as state\nstate.run(sys.argv)\nstate.after = True\n")
            state = types.ModuleType("trace_test_state")

            def program(words):
                state.words = words
                call(self.torch, self.model, Tensor(4, 8))
                self.torch.stepped[0](Sgd(), (), {})

            state.run = program
            sys.modules["trace_test_state"] = state
            self.addCleanup(sys.modules.pop, "trace_test_state")
            self.addCleanup(sys.modules.pop, "torch")
            sys.modules["torch"] = self.torch
            out = pathlib.Path(folder) / "row.json"
            before, path = sys.argv, list(sys.path)
            with contextlib.redirect_stderr(io.StringIO()) as told:
                trace.main(["--real", "--out", str(out), str(script), "--epochs", "3"])
            sys.argv, sys.path[:] = before, path
            self.assertEqual(state.words[1:], ["--epochs", "3"])
            self.assertFalse(hasattr(state, "after"))
            self.assertEqual(json.loads(out.read_text())["cfg"]["batch"], 4)
            self.assertIn("1 layers, batch 4, train", told.getvalue())


if __name__ == "__main__":
    unittest.main()
