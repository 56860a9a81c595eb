#!/usr/bin/env python3
"""`cmake --install` of the given build to a prefix.

Usage: install_test.py BUILD
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = (
    "bin/carpool", "lib/carpool/libcarpool_profile.so", "lib/carpool/libcarpool_cuda.so",
    "lib/carpool/cuda/libcuda.so", "lib/carpool/cuda/libcuda.so.1",
    "lib/python3/dist-packages/carpool/__init__.py", "lib/python3/dist-packages/carpool/trace.py",
    "lib/systemd/system/carpool.service", "lib/systemd/user/carpool.service", "lib/sysusers.d/carpool.conf",
    "lib/tmpfiles.d/carpool.conf", "share/bash-completion/completions/carpool",
    "share/zsh/vendor-completions/_carpool", "share/fish/vendor_completions.d/carpool.fish",
    "share/carpool/data/kace-v100/pairs.csv", "share/carpool/data/carma-traces/aegis_pairs_a100.csv",
    "share/carpool/data/memory-collected/rows.jsonl.gz", "share/carpool/data/memory-estimator/h200.model.json",
    "share/carpool/data/memory-h200/rows.jsonl.gz", "share/carpool/monitoring/prometheus-alerts.yml",
    "share/carpool/monitoring/grafana-dashboard.json",
)


def output(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Folder(unittest.TestCase):
    build = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="carpool-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)


class Prefix(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prefix = cls.folder / "prefix"
        output("cmake", "--install", cls.build, "--prefix", cls.prefix)

    def carpool(self, *words):
        return output(self.prefix / "bin" / "carpool", *words, cwd="/", env={})

    def test_has_all_parts(self):
        for part in PARTS:
            self.assertTrue((self.prefix / part).is_file(), part)
        self.assertEqual(list(self.prefix.rglob("__pycache__")), [])

    def test_has_a_manual_page_for_each_command(self):
        commands = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", self.carpool("--help"))
        self.assertGreater(len(commands), 30)
        pages = {path.name for path in (self.prefix / "share/man/man1").iterdir()}
        self.assertEqual(pages, {"carpool.1", *(f"carpool-{command}.1" for command in commands)})

    def test_the_program_finds_its_data_there(self):
        self.assertIn("kace-v100", self.carpool("dataset"))
        self.carpool("simulate", "--validate", "aegis")

    def test_the_python_module_loads(self):
        output(sys.executable, "-B", "-c", "import carpool; carpool.step()",
               env={"PYTHONPATH": str(self.prefix / "lib/python3/dist-packages")}, cwd="/")

    def test_units_name_the_program_and_are_right(self):
        for kind in ("system", "user"):
            unit = self.prefix / "lib" / "systemd" / kind / "carpool.service"
            self.assertIn(f"ExecStart={self.prefix}/bin/carpool serve", unit.read_text())
            if shutil.which("systemd-analyze"):
                done = subprocess.run(["systemd-analyze", "verify", f"--{kind}", "--man=no", str(unit)], check=False,
                                      capture_output=True, text=True, env={"XDG_RUNTIME_DIR": str(self.folder)})
                # Systems before 254 do not know DelegateSubgroup=, and say so.
                said = [line for line in done.stderr.splitlines()
                        if "carpool.service" in line and "DelegateSubgroup" not in line]
                self.assertEqual((done.returncode, said), (0, []))


if __name__ == "__main__":
    Folder.build = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
