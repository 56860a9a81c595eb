"""What bench/slo/run measures, written after every row: a run that is ended keeps it."""

import json
import math
import time

# Of a row: the head of a column, its key, digits.
COLUMNS = (("p50", "p50_ms", 1), ("p99", "p99_ms", 1), ("max", "max_ms", 1), ("x alone", "p99_of_alone", 2), ("bound", "bound_ms", 1),
           ("training", "training", 2), ("harvest", "harvest", 2))


class Kept:
    def __init__(self, facts, out):
        self.result, self.out, self.began = {**facts, "blocks": []}, out, time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.began:6.1f} s  {text}", flush=True)

    def unfinished(self, found):
        """A block that lacks ways, and the second timing of its services alone."""
        self.result["unfinished"] = found
        self.write()

    def block(self, found):
        self.result.pop("unfinished", None)
        self.result["blocks"].append(found)
        self.write()

    def write(self):
        if self.out:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(json.dumps(self.result, indent=1) + "\n")

    def print_table(self):
        print(f"\n{'':46} {' '.join(f'{head:>8}' for head, *_ in COLUMNS)}")
        for block in self.result["blocks"]:
            for service, alone in zip(block["services"], block["alone"]):
                title = f"{service['name']} {service['rate']:.1f}/s, {block['trainer']}"
                print(f"{title + ', alone':46} {alone['p50_ms']:8.1f} {alone['p99_ms']:8.1f} {alone['max_ms']:8.1f}   drift {block['drift']:+.2f}")
                for row in block["rows"]:
                    if row["service"] == service["name"]:
                        print(f"{title + ', ' + row['way']:46} {figures_of(row)}")


def figures_of(row):
    return " ".join(f"{math.nan if row.get(key) is None else row[key]:8.{digits}f}" for _, key, digits in COLUMNS)
