#!/usr/bin/env python3
"""Rules for the folders of src/: at most 40 files, a README, and the namespace of the folder."""

import re

import tree

MAX_FILES = 40
PARENT_NAMESPACE = ("base", "core")  # in namespace carpool itself
WITHOUT_NAMESPACE = {
    "src/gpu/cupti/inject/entry.cpp": "only functions that the driver and NVTX call by their C names",
    "src/run/tests/supervisor_program.cpp": "only main()",
}
NAMESPACE = re.compile(r"^namespace\s+(carpool[\w:]*)\s*\{", re.MULTILINE)


def folders(root):
    return [path for path in sorted((root / "src").iterdir()) if path.is_dir()]


def large_folders(root):
    for folder in folders(root):
        for path in [folder, *sorted(folder.rglob("*"))]:
            if path.is_dir() and "tests" not in path.relative_to(folder).parts:
                count = sum(1 for file in path.iterdir() if file.suffix in tree.CPP)
                if count > MAX_FILES:
                    yield path, 1, f"{count} C++ files, more than {MAX_FILES}: split the folder"


def missing_readmes(root):
    for folder in folders(root):
        if not (folder / "README.md").is_file():
            yield folder, 1, "no README.md: what comes in, what goes out, where to start reading"


def wrong_namespaces(root):
    for folder in folders(root):
        expected = "carpool" if folder.name in PARENT_NAMESPACE else f"carpool::{folder.name}"
        for path in tree.files(root, [f"src/{folder.name}"], tree.CPP):
            if str(path.relative_to(root)) in WITHOUT_NAMESPACE:
                continue
            text = path.read_text(encoding="utf-8")
            opened = list(NAMESPACE.finditer(text))
            if not opened:
                yield path, 1, f"no namespace {expected}"
            for match in opened:
                if match[1] != expected and not match[1].startswith(expected + "::"):
                    line = text.count("\n", 0, match.start()) + 1
                    yield path, line, f"namespace {match[1]}, expected {expected}"


def find(root):
    yield from large_folders(root)
    yield from missing_readmes(root)
    yield from wrong_namespaces(root)


if __name__ == "__main__":
    tree.run(find, __doc__)
