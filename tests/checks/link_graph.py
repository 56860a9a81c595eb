#!/usr/bin/env python3
"""The server side links no model.

Reads from build.ninja what the test programs of the folders below link: neither the models nor their
libraries. The includes (include_arrows.py) do not show this.

    link_graph.py BUILD_FOLDER
"""

import pathlib
import re
import sys

PROGRAMS = ("run", "observe", "store", "schedule")
FORBIDDEN = re.compile(r"libcarpool_(model|learn|predict|assign|knowledge)\.a|xgboost|lemon")
LINK = re.compile(r"^build bin/carpool_(\w+?)_test\b[^:]*: (.*)$")
VARIABLE = re.compile(r"^  LINK_LIBRARIES = (.*)$")


def linked(build_file):
    """Folder → what its test program links."""
    programs, folder = {}, None
    for line in build_file.read_text(encoding="utf-8").splitlines():
        if match := LINK.match(line):
            folder = match[1]
            programs[folder] = match[2]
        elif not line.strip():
            folder = None
        elif folder and (match := VARIABLE.match(line)):
            programs[folder] += " " + match[1]
    return programs


def find(build_file, folders=PROGRAMS):
    programs = linked(build_file)
    for folder in folders:
        if folder not in programs:
            yield f"{build_file}: no program carpool_{folder}_test"
            continue
        for match in sorted({found[0] for found in FORBIDDEN.finditer(programs[folder])}):
            yield f"carpool_{folder}_test links {match}"


if __name__ == "__main__":
    findings = list(find(pathlib.Path(sys.argv[1]) / "build.ninja"))
    print("\n".join(findings))
    sys.exit(1 if findings else 0)
