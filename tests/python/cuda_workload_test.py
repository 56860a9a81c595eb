"""The CUDA workloads compile, where there is a CUDA compiler; no GPU is needed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import tree

SKIPPED = 77


def build(program):
    return subprocess.run([str(tree.WORKLOADS / "cuda" / "build.sh"), str(program)],
                          capture_output=True, text=True, timeout=280, check=False)


class Micro(unittest.TestCase):
    def test_it_lists_its_kinds_and_refuses_what_it_does_not_know(self):
        def run(*arguments):
            return subprocess.run([str(PROGRAM), *arguments], capture_output=True, text=True,
                                  timeout=60, check=False)

        listed = run("--help")
        self.assertEqual(listed.returncode, 0)
        for kind in ("compute", "tensor", "dram", "l2", "launch"):
            self.assertIn(f"  {kind} ", listed.stdout)
        for arguments, part in ((("--kind", "disk"), "no kind disk"),
                                ((), "--kind is missing"),
                                (("--kind", "dram", "--mib", "100"), "power of two"),
                                (("--kind", "tensor", "--threads", "33"), "multiple of 32"),
                                (("--kind", "l2", "--blocks", "-1"), "--blocks -1"),
                                (("--kind", "l2", "--blocks"), "needs a value")):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(part, result.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PROGRAM = pathlib.Path(folder) / "micro"
        result = build(PROGRAM)
        if result.returncode == SKIPPED:
            print(f"skipped: {result.stderr.strip()}")
            sys.exit(SKIPPED)
        if result.returncode != 0:
            sys.exit(f"build.sh ended with {result.returncode}:\n{result.stdout}{result.stderr}")
        unittest.main()
