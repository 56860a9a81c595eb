#!/usr/bin/env python3
"""A bundle of the given carpool runs from any folder, with its own libraries and data.

Usage: bundle_test.py CARPOOL
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import hardening  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUNDLE = ROOT / "scripts" / "bundle.sh"


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


class Bundle(unittest.TestCase):
    carpool = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        made = pathlib.Path(folder.name) / "made"
        output(BUNDLE, cls.carpool, made)
        output(BUNDLE, cls.carpool, made)  # again, over the first
        cls.bundle = made.rename(made.with_name("moved here"))

    def test_says_its_version_without_any_environment(self):
        version = (ROOT / "VERSION").read_text().strip()
        printed = output(self.bundle / "bin" / "carpool", "--version", env={}, cwd="/")
        self.assertIn(version, printed)

    def test_takes_only_glibc_from_the_machine(self):
        lines = output("ldd", self.bundle / "bin" / "carpool", env={}).splitlines()
        self.assertGreater(len(lines), 10)
        for line in lines:
            name = line.split()[0]
            if re.match(r"linux-vdso|/lib64/ld-linux|lib(c|m|dl|rt|pthread|mvec)\.so", name):
                continue
            self.assertIn(f"=> {self.bundle}/", line.replace("/bin/../", "/"))

    def test_has_the_profilers_library_which_needs_only_glibc(self):
        library = self.bundle / "lib" / "carpool" / "libcarpool_profile.so"
        exported = output("nm", "-D", "--defined-only", library).split()[2::3]
        self.assertEqual(exported, ["InitializeInjection", "InitializeInjectionNvtx2"])
        for line in output("ldd", library, env={}).splitlines():
            self.assertRegex(line.split()[0], r"linux-vdso|/lib64/ld-linux|lib(c|m|dl|pthread)\.so")

    def test_has_the_library_in_front_of_the_driver_which_needs_only_glibc(self):
        library = self.bundle / "lib" / "carpool" / "libcarpool_cuda.so"
        exported = set(output("nm", "-D", "--defined-only", library).split()[2::3])
        self.assertEqual(exported, hardening.entry_points(library))
        for line in output("ldd", library, env={}).splitlines():
            self.assertRegex(line.split()[0], r"linux-vdso|/lib64/ld-linux|lib(c|dl|pthread)\.so")
        for name in ("libcuda.so", "libcuda.so.1"):
            self.assertTrue((self.bundle / "lib" / "carpool" / "cuda" / name).samefile(library))

    def test_has_no_executable_stack(self):
        for file in [*self.bundle.glob("bin/*"), *self.bundle.rglob("lib/**/*.so*")]:
            self.assertFalse(hardening.has_executable_stack(file), file)

    def test_has_licences_and_measurements(self):
        for name in (
            "share/doc/carpool/LICENSE", "share/doc/carpool/libraries/libxgboost0.txt",
            "share/carpool/data/kace-v100/profiles.csv",
            "share/carpool/data/memory-estimator/h200.model.json",
            "share/carpool/data/carma-traces/trace60.csv", "share/carpool/data/traces/measured.json",
            "share/carpool/monitoring/prometheus-alerts.yml", "share/carpool/monitoring/grafana-dashboard.json",
            "lib/python3/dist-packages/carpool/__init__.py",
            "share/man/man1/carpool.1", "share/man/man1/carpool-submit.1",
            "share/bash-completion/completions/carpool", "lib/sysusers.d/carpool.conf",
        ):
            self.assertTrue((self.bundle / name).is_file(), name)

    def test_has_units_that_name_the_usual_place(self):
        for kind in ("system", "user"):
            unit = (self.bundle / "lib" / "systemd" / kind / "carpool.service").read_text()
            self.assertIn("ExecStart=/opt/carpool/bin/carpool serve", unit)

    def test_leaves_nothing_beside_it(self):
        self.assertEqual([path.name for path in self.bundle.parent.iterdir()], ["moved here"])


if __name__ == "__main__":
    Bundle.carpool = sys.argv.pop()
    unittest.main()
