#!/usr/bin/env python3
"""Bad tables: every error names file, line and column; nothing is guessed, nothing crashes."""

import os
import unittest

import cli

GROUPS = "w1,w2,thr1,thr2\n"
METRICS = "workload,exclusive_thr,heat\njob0,10,{}\njob1,20,2\njob2,30,3\n"
SPLITS = "role,row_id,seed\n"


def throughput(value):
    return {"pairs.csv": f"{GROUPS}job0,job2,4,20\njob0,job1,{value},5\n"}


def alone(value):
    return {"profiles.csv": cli.PROFILES.replace("20", value)}


def limited(row):
    return {"exclusive_mps.csv": f"workload,mps_pct,thr\n{row}\n"}


NOT_A_THROUGHPUT = "pairs.csv:3: column thr1: "

# What is put in place of the sound files, and what the message has to say.
REFUSED = {
    "profiles that are not there": ({"profiles.csv": None}, ("profiles.csv", "No such file")),
    "empty profiles": ({"profiles.csv": ""}, ("profiles.csv", "empty")),
    "a header alone": ({"profiles.csv": "workload,exclusive_thr\n"}, ("profiles.csv:1", "no rows")),
    "no group": ({"pairs.csv": GROUPS}, ("pairs.csv:1", "no rows")),
    "a missing column": ({"profiles.csv": "workload,thr\njob0,1\n"},
                         ("profiles.csv:1", "exclusive_thr is missing")),
    "a column twice": ({"profiles.csv": "workload,exclusive_thr,exclusive_thr\njob0,1,2\n"},
                       ("profiles.csv:1", "exclusive_thr", "twice")),
    "a group without one throughput": ({"pairs.csv": "w1,w2,thr1\njob0,job1,5\n"},
                                       ("pairs.csv:1", "thr2")),
    "a group without its second member": ({"pairs.csv": "w1,thr1,thr2\njob0,5,6\n"},
                                          ("pairs.csv:1", "w2")),
    "a gap in the members": ({"pairs.csv": "w1,w3,thr1,thr3\njob0,job1,5,6\n"},
                             ("pairs.csv:1", "w2")),
    "a short row": ({"pairs.csv": GROUPS + "job0,job1,5\n"}, ("pairs.csv:2", "3 fields", "4")),
    "a long row": ({"pairs.csv": GROUPS + "job0,job1,5,6,7\n"}, ("pairs.csv:2", "5 fields", "4")),
    "a decimal comma": (throughput("1,5"), ("pairs.csv:3", "5 fields")),
    "a truncated row": ({"pairs.csv": cli.PAIRS[:-8]}, ("pairs.csv:4", "fields")),
    "a truncated number": ({"pairs.csv": cli.PAIRS[:-3]}, ("pairs.csv:4: column thr2",)),
    "a negative throughput": (throughput("-1"), (NOT_A_THROUGHPUT, '"-1" is negative')),
    "a limit of nothing": ({"pairs.csv": "w1,w2,thr1,thr2,pct1,pct2\njob0,job1,5,6,0,50\n"},
                           ("pairs.csv:2: column pct1", "percent")),
    "a limit above all": ({"pairs.csv": "w1,w2,thr1,thr2,pct1,pct2\njob0,job1,5,6,50,101\n"},
                          ("pairs.csv:2: column pct2", "percent")),
    "a duplicate workload": ({"profiles.csv": cli.PROFILES + "job1,5\n"},
                             ("profiles.csv:5: column workload", "job1", "line 3")),
    "a workload without name": ({"profiles.csv": cli.PROFILES + ",5\n"},
                                ("profiles.csv:5: column workload",)),
    "an unknown workload": ({"pairs.csv": cli.PAIRS + "job0,jbo1,1,2\n"},
                            ("pairs.csv:5: column w2", "jbo1", "job1")),
    "an id twice": ({"pairs.csv": "id,w1,w2,thr1,thr2\n1,job0,job1,5,6\n1,job0,job2,5,6\n"},
                    ("pairs.csv:3: column id", "line 2")),
    "a repeat in words": ({"pairs.csv": "w1,w2,thr1,thr2,repeat\njob0,job1,5,6,x\n"},
                          ("pairs.csv:2: column repeat",)),
    "a batch in words": ({"profiles.csv": "workload,exclusive_thr,batch\njob0,10,many\n"},
                         ("profiles.csv:2: column batch", "many")),
    "garbage as profiles": ({"profiles.csv": bytes(range(255, -1, -1)) * 20}, ("profiles.csv:1", "UTF-8")),
    "garbage as groups": ({"pairs.csv": bytes(range(255, -1, -1)) * 20}, ("pairs.csv:1", "UTF-8")),
    "nothing as groups": ({"pairs.csv": ""}, ("pairs.csv", "empty")),
    "UTF-16": ({"profiles.csv": cli.PROFILES.encode("utf-16")}, ("profiles.csv:1", "UTF-8")),
    "a NUL in a name": ({"pairs.csv": cli.PAIRS.replace("job1", "jo\0b1")}, ("pairs.csv:2", "0x00")),
    "an escape code in a name": ({"profiles.csv": cli.PROFILES.replace("job1", "\033[31mjob1")},
                                 ("profiles.csv:3", "0x1b")),
    "a quote that never ends": ({"profiles.csv": cli.PROFILES.replace("job0", '"job0')},
                                ("profiles.csv:2", "quote")),
    "semicolons": ({"profiles.csv": cli.PROFILES.replace(",", ";")}, ("profiles.csv:1", "workload")),
    "blank lines between rows": ({"profiles.csv": cli.PROFILES.replace("\n", "\n\n")},
                                 ("profiles.csv:2", "blank")),
    "a broken table beside a sound one": (
        {"triples.csv": "w1,w2,w3,thr1,thr2,thr3\njob0,job1,job2,1,2\n"}, ("triples.csv:2", "fields")),
    "a run alone under no limit": (limited("job0,0,1"), ("exclusive_mps.csv:2: column mps_pct",)),
    "a run alone that is no number": (limited("job0,50,nan"), ("exclusive_mps.csv:2: column thr",)),
    "no run alone": ({"exclusive_mps.csv": ""}, ("exclusive_mps.csv", "empty")),
}
for bad in ("nan", "NaN", "inf", "-inf", "fast", "", "1e400", "0x10", "--5", "1_000", " 5", "\u0663"):
    REFUSED[f"the throughput {bad!r}"] = (throughput(bad), (NOT_A_THROUGHPUT, f'"{bad}"'))
for bad in ("nan", "inf", "-1", "0", "fast", "", "1e400"):
    REFUSED[f"the speed alone {bad!r}"] = (alone(bad), ("profiles.csv:3: column exclusive_thr", f'"{bad}"'))
for bad in ("nan", "inf"):
    REFUSED[f"the metric {bad!r}"] = (
        {"profiles.csv": METRICS.format(bad)}, ("profiles.csv:2: column heat", f'"{bad}"'))

BAD_SPLITS = {
    "an unknown row": (SPLITS + "fit,9,1\ntest,0,1\n", ("s.csv:2: column row_id", "9")),
    "a negative row": (SPLITS + "fit,-1,1\ntest,0,1\n", ("s.csv:2: column row_id", "-1")),
    "an unknown role": (SPLITS + "play,0,1\n", ("s.csv:2: column role", "play", "holdout")),
    "a row that trains and tests": (SPLITS + "fit,0,1\ntest,0,1\n", ("s.csv:3: column row_id", "line 2")),
    "nothing to test": (SPLITS + "fit,0,1\n", ("s.csv", "test")),
    "no row key": ("role,seed\nfit,1\n", ("s.csv:1", "row_id")),
    "an empty file": ("", ("s.csv", "empty")),
    "garbage": (b"\xff\xfe\0\1" * 50, ("s.csv:1", "UTF-8")),
}


class Tables(cli.CarpoolTest):
    def make(self, files):
        for name, content in {"profiles.csv": cli.PROFILES, "pairs.csv": cli.PAIRS, **files}.items():
            if content is not None:
                self.write(f"data/{name}", content)

    def accepts(self, files):
        self.make(files)
        told = self.prints_json("dataset", "data")
        self.assertEqual([w["workload"] for w in told["workloads"]], ["job0", "job1", "job2"])
        self.assertEqual(told["tables"], [{"name": "pairs", "rows": 3, "group_size": 2}])

    def test_accepts_what_the_refused_ones_are_made_from(self):
        self.accepts({})

    def test_accepts_windows_line_ends_and_byte_order_marks(self):
        files = {"profiles.csv": cli.PROFILES, "pairs.csv": cli.PAIRS}
        for name, text in files.items():
            files[name] = "\ufeff" + text.replace("\n", "\r\n")
        self.accepts(files)

    def test_accepts_quoted_names_and_a_missing_last_line_end(self):
        self.accepts({"profiles.csv": cli.PROFILES.replace("job0", '"job0"').rstrip(),
                      "pairs.csv": cli.PAIRS.rstrip()})

    def test_checks_splits_of_each_table(self):
        self.make({"splits/mine.csv": SPLITS + "fit,0,1\ntest,1,1\n",
                   "triples.csv": "id,w1,w2,w3,thr1,thr2,thr3\n7,job0,job1,job2,1,2,3\n8,job0,job0,job1,1,1,2\n",
                   "splits/triples.csv": SPLITS + "fit,7,1\ntest,8,1\n"})
        self.assertIn("every file is sound", self.succeeds("dataset", "data"))
        self.write("data/splits/triples.csv", SPLITS + "fit,7,1\ntest,9,1\n")
        self.refuses("dataset", "data", says=("triples.csv:3: column row_id", "9"))

    def test_does_not_take_an_empty_name_for_the_bundled_folder(self):
        self.refuses("dataset", "", says="not a folder")

    def test_refuses_a_folder_where_a_file_should_be(self):
        (self.folder / "data" / "profiles.csv").mkdir(parents=True)
        self.refuses("dataset", "data", says=("profiles.csv", "regular file"))

    def test_does_not_wait_for_a_pipe(self):
        (self.folder / "data").mkdir()
        os.mkfifo(self.folder / "data" / "profiles.csv")
        self.refuses("dataset", "data", says=("profiles.csv", "regular file"), timeout=10)

    def test_evaluates_the_largest_numbers_without_nonsense_in_the_json(self):
        self.make({"pairs.csv": cli.PAIRS.replace("5,12", "1e308,1e308")})
        for result in self.prints_json("evaluate", "--data", "data")["results"]:
            self.assertLessEqual(result["score_mean"] or 0.0, 1.0)

    def test_shows_the_largest_numbers_in_columns_one_can_read(self):
        self.make(alone("1e308"))
        self.assertNotRegex(self.succeeds("dataset", "data"), r"\d{40}")

    def test_says_that_groups_without_any_throughput_teach_nothing(self):
        self.make({"pairs.csv": GROUPS + "job0,job1,0,0\njob0,job2,0,0\n"})
        self.refuses("predict", "job0", "job1", "--data", "data", says="throughput")


def add_refusal(title, files, says):
    def refuses_to_use_it(self):
        self.make(files)
        self.refuses("predict", "job0", "job1", "--data", "data", says=says)

    def check_finds_it(self):
        self.make(files)
        self.refuses("dataset", "data", says=says)

    title = title.replace(" ", "_")
    setattr(Tables, f"test_check_finds_{title}", check_finds_it)
    if "triples.csv" not in files:
        setattr(Tables, f"test_refuses_{title}", refuses_to_use_it)


def add_bad_splits(title, content, says):
    def test(self):
        self.make({})
        self.write("s.csv", content)
        self.refuses("evaluate", "--data", "data", "--splits", "s.csv", says=says)
        self.write("data/splits/s.csv", content)
        self.refuses("dataset", "data", says=says)

    setattr(Tables, f"test_refuses_splits_with_{title.replace(' ', '_')}", test)


for name, (replaced, message) in REFUSED.items():
    add_refusal(name, replaced, message)
for name, (text, message) in BAD_SPLITS.items():
    add_bad_splits(name, text, message)


if __name__ == "__main__":
    unittest.main()
