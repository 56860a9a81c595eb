#!/usr/bin/env python3
"""The Debian package of the given build: what is in it, and what lintian says.

Usage: package_test.py BUILD
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "checks"))
import install_test  # noqa: E402

PACKAGE = install_test.ROOT / "scripts" / "package.sh"


class Package(install_test.Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_test.output(PACKAGE, cls.build, cls.folder)
        (cls.package,) = cls.folder.glob("*.deb")
        cls.listing = install_test.output("dpkg-deb", "--contents", cls.package)

    def field(self, name):
        return install_test.output("dpkg-deb", "--field", self.package, name).strip()

    def test_is_of_this_version_and_needs_the_libraries_of_the_program(self):
        self.assertEqual(self.field("Version"), (install_test.ROOT / "VERSION").read_text().strip())
        for library in ("libc6", "libstdc++6", "libxgboost0", "libsqlite3-0"):
            self.assertRegex(self.field("Depends"), rf"\b{re.escape(library)}\b")

    def test_has_all_parts_which_belong_to_root(self):
        for part in install_test.PARTS:
            self.assertRegex(self.listing, rf"(?m) \./usr/{re.escape(part)}( -> \S+)?$")
        for line in self.listing.splitlines():
            self.assertEqual(line.split()[1], "root/root", line)
            self.assertNotRegex(line, r"^[-d].{4}w|^[-d].{7}w", line)

    def test_settings_are_conffiles(self):
        conffiles = install_test.output("dpkg-deb", "--info", self.package, "conffiles").split()
        self.assertEqual(conffiles, ["/etc/carpool/config.toml", "/etc/default/carpool"])

    def test_is_the_same_again(self):
        again = self.folder / "again"
        install_test.output(PACKAGE, self.build, again)
        self.assertEqual((again / self.package.name).read_bytes(), self.package.read_bytes())

    def test_lintian_has_no_errors(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(self.package)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    install_test.Folder.build = pathlib.Path(sys.argv.pop()).resolve()
    if not shutil.which("dpkg-shlibdeps"):
        print("skipped: dpkg-dev is not installed")
        sys.exit(0)
    unittest.main()
