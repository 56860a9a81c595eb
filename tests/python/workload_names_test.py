"""Names of workloads, and the command line of workloads/run.py on a machine without PyTorch."""

import json
import subprocess
import sys
import unittest

import tree

tree.use_workloads()

from models import REGISTRY  # noqa: E402
from models.registry import TASKS, BadName, Spec  # noqa: E402

# Fails on any import of a framework.
WITHOUT_FRAMEWORKS = """
import os, runpy, sys
for name in ("torch", "torchvision", "transformers", "timm", "numpy"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(*arguments):
    command = [sys.executable, "-c", WITHOUT_FRAMEWORKS, str(tree.WORKLOADS / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


class Names(unittest.TestCase):
    def test_a_full_name_says_everything(self):
        self.assertEqual(REGISTRY.parse("bert-base.train.b16.bf16"),
                         Spec("bert-base", "train", 16, "bf16"))

    def test_what_a_name_leaves_out_is_filled_in(self):
        self.assertEqual(REGISTRY.parse("rnnlm.train").name, "rnnlm.train.b20.fp32")
        self.assertEqual(REGISTRY.parse("rnnlm.train", 4, "tf32").name, "rnnlm.train.b4.tf32")
        self.assertEqual(REGISTRY.parse("rnnlm.train.tf32").name, "rnnlm.train.b20.tf32")

    def test_names_of_the_list_are_found_again_and_are_unique(self):
        names = [entry.spec.name for entry in REGISTRY.entries]
        self.assertEqual([REGISTRY.parse(name).name for name in names], names)
        self.assertEqual(len(set(names)), len(names))
        self.assertGreaterEqual(len(names), 40)
        self.assertEqual({entry.task for entry in REGISTRY.entries}, set(TASKS))

    def test_wrong_names_say_what_is_wrong(self):
        for name, part in (("bert-bsae.train", "did you mean bert-base.train"),
                           ("bert-base.decode", "no such workload"),
                           ("bert-base", "expected model.task"),
                           ("bert-base.train.b0.fp32", "expected model.task"),
                           ("bert-base.train.b8.fp32.more", "expected model.task"),
                           ("rnnlm.train.b20.bf16", "fp32, tf32, not bf16")):
            with self.subTest(name), self.assertRaisesRegex(BadName, part):
                REGISTRY.parse(name)

    def test_a_name_and_an_option_that_differ_are_an_error(self):
        with self.assertRaisesRegex(BadName, "gives batch 8, but --batch gives 4"):
            REGISTRY.parse("bert-base.train.b8.fp32", batch=4)


class CommandLine(unittest.TestCase):
    def test_the_list_names_every_workload(self):
        result = run("--list")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for entry in REGISTRY.entries:
            self.assertIn(entry.spec.name, result.stdout)

    def test_the_list_is_there_as_json(self):
        listed = json.loads(run("--list", "--json").stdout)
        self.assertEqual([item["name"] for item in listed],
                         [entry.spec.name for entry in REGISTRY.entries])
        self.assertEqual(set(listed[0]), {"name", "model", "task", "batch", "dtypes", "unit",
                                          "source", "about"})

    def test_wrong_uses_end_with_2_and_one_line(self):
        for arguments, part in (((), "name a workload"),
                                (("nothing.train",), "nothing.train"),
                                (("gpt2.train", "gpt2.train"), "--streams"),
                                (("--streams", "gpt2.train.tf32", "gpt2.train.fp32"), "tf32")):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(part, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)

    def test_without_pytorch_a_run_fails_and_says_why(self):
        result = run("gpt2.train")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.splitlines()[-1], "failed: ModuleNotFoundError: .*torch")


if __name__ == "__main__":
    unittest.main()
