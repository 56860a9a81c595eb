"""Shared by the checks: finding files, reading lines, reporting findings."""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CPP = (".hpp", ".cpp")


def files(root, folders, suffixes):
    """Files below these folders with one of these suffixes, sorted."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file() and "__pycache__" not in path.parts:
                yield path


def numbered_lines(path):
    return enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)


def run(find, description):
    """Runs find(root), which yields (path, line, message); exits with 1 if it yields any."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the source tree")
    root = parser.parse_args().root.resolve()
    findings = list(find(root))
    for path, line, message in findings:
        print(f"{path.relative_to(root)}:{line}: {message}")
    print(f"{len(findings)} findings")
    sys.exit(1 if findings else 0)
