"""For programs: the last line, with what the library counted."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import counters  # noqa: E402


def ok(name, **more):
    counted = counters.of_process()
    print(json.dumps({"ok": name, "launches": counted and counted["launches"] + counted["graph_nodes"], **more}), flush=True)


def need(condition, problem):
    if not condition:
        sys.exit(problem)


def main(programs):
    """Runs the program that the first argument names; the folder of the second one is for its files."""
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else os.getcwd())
    programs[sys.argv[1]](folder)
