#!/usr/bin/env python3
"""Each test that docs/security.md names for a promise exists."""

import re

import tree

NAME = re.compile(r"`([^`]+)`")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)")
PYTHON = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)


def known_tests(root):
    """Names of suites, tests, test files, and folders of benchmarks."""
    known = {f"bench/{path.name}" for path in (root / "bench").iterdir()}
    for path in tree.files(root, ["src", "tests"], (".cpp",)):
        for suite, test in TEST.findall(path.read_text(encoding="utf-8")):
            known |= {suite, f"{suite}.{test}"}
    for path in tree.files(root, ["tests/e2e", "tests/checks", "tests/fuzz"], (".py",)):
        names = PYTHON.findall(path.read_text(encoding="utf-8"))
        known |= {path.stem, *names, *(f"{path.stem}.{name}" for name in names)}
        known |= {f"{left}.{right}" for left in names for right in names}
    return known | {f"tests/fuzz/{path.name}" for path in (root / "tests/fuzz").glob("run")}


def find(root):
    path = root / "docs/security.md"
    known = known_tests(root)
    rows = 0
    for number, line in tree.numbered_lines(path):
        cells = line.strip().strip("|").split("|")
        if line.startswith("|") and len(cells) == 2 and "`" in cells[1]:
            rows += 1
            for name in NAME.findall(cells[1]):
                if name.removeprefix("…") not in known:
                    yield path, number, f"there is no test {name}"
    if rows == 0:
        yield path, 1, "no promise names a test"


if __name__ == "__main__":
    tree.run(find, __doc__)
