"""Runs inside the measured process: reads requests, runs cells, answers. residents.py is the other end.

A cell is a function of the modules that ON_GPU_CELLS names (a path; default: cells.py, loop_cells.py and memory_cells.py here), which
takes the arguments of the request and returns what JSON can hold.
"""

import importlib
import json
import os
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("cells", "loop_cells", "memory_cells")
MARK = "@@"


def known_cells():
    """Cells by name."""
    path = os.environ.get("ON_GPU_CELLS")
    names = MODULES
    sys.path.insert(0, str(HERE))
    if path:
        sys.path.insert(0, str(pathlib.Path(path).parent))
        names = (pathlib.Path(path).stem,)
    found = {}
    for name in names:
        found.update(importlib.import_module(name).CELLS)
    return found


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    cells = known_cells()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = cells[request.pop("cell")](**request)
        except Exception as problem:  # noqa: BLE001: the next cell is to run
            traceback.print_exc()
            answer = {"error": f"{type(problem).__name__}: {problem}"[:500]}
        answers.write(f"{MARK} {json.dumps(answer)}\n")
        answers.flush()


if __name__ == "__main__":
    main()
