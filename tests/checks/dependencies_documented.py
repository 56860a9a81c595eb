#!/usr/bin/env python3
"""docs/dependencies.md explains the packages of scripts/packages.txt, section by section."""

import re

import tree

ROW = re.compile(r"^\|\s*`([^`]+)`\s*\|")
HEADING = re.compile(r"^##.*`\[(\w+)\]`")


def listed(path):
    """(section, package) -> line, of the list."""
    section, found = None, {}
    for number, line in tree.numbered_lines(path):
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found[section, line.strip()] = number
    return found


def explained(path):
    """(section, package) -> line, of the tables of the document."""
    section, found = None, {}
    for number, line in tree.numbered_lines(path):
        if line.startswith("## "):
            heading = HEADING.match(line)
            section = heading[1] if heading else None
        row = ROW.match(line)
        if row and section:
            found[section, row[1]] = number
    return found


def find(root):
    list_path = root / "scripts" / "packages.txt"
    doc_path = root / "docs" / "dependencies.md"
    packages, rows = listed(list_path), explained(doc_path)
    for key in packages.keys() - rows.keys():
        yield list_path, packages[key], f"{key[1]} has no row under [{key[0]}] in docs/dependencies.md"
    for key in rows.keys() - packages.keys():
        yield doc_path, rows[key], f"{key[1]} is not under [{key[0]}] in scripts/packages.txt"


if __name__ == "__main__":
    tree.run(find, __doc__)
