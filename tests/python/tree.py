"""Where things are, and how the tests find the package and the workloads."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "python"
WORKLOADS = ROOT / "workloads"


def use_package():
    sys.path.insert(0, str(PACKAGE))


def use_workloads():
    use_package()
    sys.path.insert(0, str(WORKLOADS))
