#!/usr/bin/env python3
"""./start, ./test and the package list, with fake dpkg-query, apt-get and id in PATH."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ROOT / "scripts" / "packages.sh"

# Reports each package but those in $ABSENT as installed, like dpkg-query -W -f=…
DPKG_QUERY = """#!/bin/bash
status=0
for name in "${@:3}"; do
  if [[ " $ABSENT " == *" $name "* ]]; then status=1; else echo "ii  $name"; fi
done
exit $status
"""
APT_GET = """#!/bin/bash
echo "$*" >>"$APT_LOG"
[[ "$*" != *update* ]]
"""
ID = """#!/bin/bash
echo "$FAKE_UID"
"""


def listed(section):
    command = [PACKAGES, "list", section]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.apt_log = self.folder / "apt.log"
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("id", ID)):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def run_script(self, *command, uid="1000", absent="", path=None):
        environment = {
            "PATH": path or f"{self.bin}:{os.environ['PATH']}",
            "ABSENT": absent,
            "FAKE_UID": uid,
            "APT_LOG": str(self.apt_log),
        }
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=self.folder,
            stdin=subprocess.DEVNULL, timeout=60,
        )

    def apt_calls(self):
        return self.apt_log.read_text().splitlines() if self.apt_log.exists() else []

    def test_help_names_every_option(self):
        start = self.run_script(ROOT / "start", "--help")
        self.assertEqual((start.returncode, start.stderr), (0, ""))
        for option in ("--build-only", "--bundle DIR", "--package DIR", "-- ARGUMENTS"):
            self.assertIn(option, start.stdout)
        test = self.run_script(ROOT / "test", "--help")
        self.assertEqual((test.returncode, test.stderr), (0, ""))
        for option in ("--all", "--gpu", "--tidy"):
            self.assertIn(option, test.stdout)

    def test_wrong_usage_ends_with_2_and_the_usage(self):
        for command in (
            ("start", "--fast"), ("start", "demo"), ("start", "--bundle"), ("start", "--package"),
            ("start", "--bundle", "x", "--build-only"), ("start", "--build-only", "--", "demo"),
            ("test", "--fast"), ("test", "--all", "x"), ("scripts/packages.sh", "remove", "build"),
        ):
            with self.subTest(command):
                done = self.run_script(ROOT / command[0], *command[1:])
                self.assertEqual(done.returncode, 2)
                self.assertIn("Usage:", done.stderr)
                self.assertEqual(done.stdout, "")

    def test_start_names_the_missing_packages(self):
        done = self.run_script(ROOT / "start", absent="cmake libxgboost-dev")
        self.assertEqual(done.returncode, 2)
        self.assertIn(
            "sudo apt-get install --no-install-recommends cmake libxgboost-dev\n", done.stderr
        )
        self.assertEqual(self.apt_calls(), [])

    def test_test_names_the_packages_of_tests_too(self):
        done = self.run_script(ROOT / "test", absent="cmake libgtest-dev python3-sklearn")
        self.assertEqual(done.returncode, 2)
        self.assertIn("install --no-install-recommends cmake libgtest-dev\n", done.stderr)

    def test_root_installs_exactly_what_is_missing(self):
        done = self.run_script(PACKAGES, "ensure", "build", uid="0", absent="g++ nettle-dev")
        self.assertEqual(done.returncode, 0, done.stderr)
        update, install = self.apt_calls()
        self.assertIn("update", update)
        self.assertTrue(install.endswith("install -y --no-install-recommends g++ nettle-dev"))

    def test_nothing_missing_means_no_apt_call(self):
        done = self.run_script(PACKAGES, "ensure", "build", "test", uid="0")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.apt_calls(), [])

    def test_without_dpkg_the_libraries_are_listed(self):
        for tool in ("bash", "env", "dirname", "grep", "awk", "sed", "cat"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "dpkg-query").unlink()
        done = self.run_script(PACKAGES, "ensure", "build", path=str(self.bin))
        self.assertEqual(done.returncode, 2)
        for name in listed("build"):
            self.assertIn(f"    {name}\n", done.stderr)
        self.assertIn("Not found: cmake ninja g++ pkg-config", done.stderr)

    def test_a_bundle_does_not_replace_another_folder(self):
        taken = self.folder / "taken"
        taken.mkdir()
        (taken / "thesis.txt").write_text("mine")
        for target, words in ((taken, "not empty"), (taken / "thesis.txt", "not a folder")):
            done = self.run_script(ROOT / "start", "--bundle", str(target))
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertEqual((taken / "thesis.txt").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
