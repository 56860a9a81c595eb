"""Files of measured rows: JSON lines that several processes append to and that survive a crash."""
import json
import os


def append(path, row):
    """Appends a line in one write, as other processes append too, and syncs it."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, (json.dumps(row) + "\n").encode())
        os.fsync(file)
    finally:
        os.close(file)


def mend(path):
    """Ends a line that a crash left incomplete."""
    if path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n"):
        with open(path, "a", encoding="utf-8") as out:
            out.write("\n")


def read_rows(path):
    rows = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # left incomplete by a crash: run again
    return rows
