#!/usr/bin/env python3
"""Bad command lines: exit code 2, nothing on stdout, a message that names the mistake."""

import unittest

import cli

FIRST, SECOND = cli.PAIR
PREDICT = ("predict", FIRST, SECOND)
RECOMMEND = ("recommend", FIRST)
EVALUATE = ("evaluate",)
RANDOM = ("evaluate", "--protocol", "random", "--models", "memcap")
ASSIGN = ("assign",)
RULES = "memcap, sm-busy, mem-busy, best-rule"

# Command line, and what its error message contains.
REFUSED = {
    "nothing": ((), ("no command given", "`carpool --help`")),
    "an unknown command": (("quue",), ('no command or option "quue"; did you mean "queue"?', "`carpool --help`")),
    "an unknown option first": (("--nope",), ('no command or option "--nope"', "`carpool --help`")),
    "an unknown option": ((*EVALUATE, "--nope"), ('unexpected argument "--nope"', "`carpool evaluate --help`")),
    "an argument too many": ((*EVALUATE, "extra"), ('unexpected argument "extra"', "`carpool evaluate --help`")),
    "a mistyped option": (("queue", "--usr", "me"), ('unexpected argument "--usr"; did you mean "--user"?',)),
    "an option of a command before it": (("--socket", "/x", "queue"),
                                         ("--socket goes behind the command: carpool queue --socket PATH", "`carpool queue --help`")),
    "the same with its value": (("--socket=/x", "queue"), ("goes behind the command: carpool queue --socket=/x",)),
    "a flag of a command before it": (("--holds", "explain", "1"), ("carpool explain --holds\n",)),
    "an option with choices without its value": ((*EVALUATE, "--color"), ("--color has no value; write --color WHEN\n",)),
    "an option twice": (("queue", "--socket", "/x", "--socket", "/y"), ("--socket is given 2 times; give it once",)),
    "a flag with a value": (("queue", "--all=maybe"), ("--all takes no value; write --all alone",)),
    "two folders": (("dataset", "one", "two"), ('unexpected argument "two"', "`carpool dataset --help`")),
    "help of an unknown command": (("help", "sumbit"), ('no command "sumbit"; did you mean "submit"?',)),
    "help of two commands": (("help", "queue", "show"), ('unexpected argument "show"', "`carpool help --help`")),
    "no workload": (("predict",), ("workloads is required",)),
    "no target": (("recommend",), ("target is required",)),
    "no output file": (("train",), ("--output is required",)),
    "an option without its value": ((*EVALUATE, "--models"), ("--models has no value; write --models A,B",)),
    "an unknown colour": ((*EVALUATE, "--color", "pink"), ('--color: "pink" is not one of auto, always, never',)),
    # names
    "an unknown workload": (("predict", FIRST, "albert-base-v2_batch8-trian"),
                            ("albert-base-v2_batch8-trian", "albert-base-v2_batch8-train")),
    "an empty workload": (("predict", "", FIRST), ('"" is no', "workload of profiles.csv")),
    "an unknown target": (("recommend", "nobody"), ('"nobody" is no', "workload of profiles.csv")),
    "an unknown candidate": ((*RECOMMEND, "--candidates", "nobody"), ('"nobody" is no', "workload of profiles.csv")),
    "an unknown workload to assign": ((*ASSIGN, "nobody"), ('"nobody" is no', "workload of profiles.csv")),
    "an unknown model": ((*PREDICT, "--model", "shere"), ("shere", "share", "kace-lr")),
    "a rule as model": ((*PREDICT, "--model", "memcap"), ("memcap", "share")),
    "an unknown model to judge": ((*EVALUATE, "--models", "memcap,nope"), ("nope", RULES)),
    "an unknown protocol": ((*EVALUATE, "--protocol", "nope"), ("nope", "pairs-n-occur, unseen")),
    "an unknown objective": ((*PREDICT, "--objective", "speed"), ("speed", "normalized, max-min")),
    "an unknown objective to judge by": ((*EVALUATE, "--objective", "speed"), ("speed", "max-min")),
    "an unknown method": ((*ASSIGN, "--method", "nope"), ("nope", "exact, matching, local-search")),
    "an unknown table": ((*EVALUATE, "--table", "nope"), ("nope", "pairs", "triples")),
    "an unknown table to train on": ((*PREDICT, "--tables", "nope"), ("nope", "pairs", "triples")),
    "an unknown train table": (
        (*EVALUATE, "--protocol", "transfer", "--train-table", "nope"), ("nope", "pairs")),
    "a table by its path": ((*PREDICT, "--tables", "../pairs"), ('"../pairs" is no', "without .csv")),
    "a table that is none": ((*EVALUATE, "--table", "profiles"), ("profiles.csv:1", "w1, w2")),
    "an unknown set of metrics": ((*PREDICT, "--features", "nope"), ("nope", "kernel, system")),
    "a target that no table has": ((*EVALUATE, "--targets", "nobody"), ("no train/test split with training rows and a target", "--targets")),
    "no splits file": ((*EVALUATE, "--protocol", "file"), ("protocol file needs --splits FILE",)),
    "a splits file that is not there": ((*EVALUATE, "--splits", "no.csv"), ("no.csv", "No such file")),
    "limited rows alone to train on": ((*PREDICT, "--tables", "partitions"), ("no training rows without thread limits",)),
    # numbers
    "a limit of nothing": ((*PREDICT, "--limits", "0,100"), ("thread limit 0", FIRST)),
    "a limit above all": ((*PREDICT, "--limits", "50,101"), ("thread limit 101", SECOND)),
    "a negative limit": ((*PREDICT, "--limits=-5,50"), ("thread limit -5",)),
    "a limit that is no number": ((*PREDICT, "--limits", "nan,50"), ("thread limit nan",)),
    "a limit in words": ((*PREDICT, "--limits", "half,50"), ('--limits: "half" is not a number',)),
    "one limit for two": ((*PREDICT, "--limits", "50"), ("--limits has 1 values for 2",)),
    "three limits for two": ((*PREDICT, "--limits", "30,30,40"), ("--limits has 3 values for 2",)),
    "a floor above 1": ((*PREDICT, "--floor", "2"), ('--floor: "2" is not a number from 0 to 1',)),
    "a negative floor": ((*PREDICT, "--floor=-1"), ('--floor: "-1" is not a number from 0 to 1',)),
    "a floor that is no number": ((*PREDICT, "--floor", "nan"), ('--floor: "nan" is not a number from 0 to 1',)),
    "a floor in words": ((*PREDICT, "--floor", "low"), ('--floor: "low" is not a number from 0 to 1',)),
    "a floor to judge by that is no number": ((*EVALUATE, "--floor", "nan"), ('--floor: "nan" is not a number from 0 to 1',)),
    "no memory": ((*RECOMMEND, "--memory", "0"), ('--memory: "0" is not a number above 0',)),
    "endless memory": ((*RECOMMEND, "--memory", "inf"), ('--memory: "inf" is not a number above 0',)),
    "memory that is no number": ((*RECOMMEND, "--memory", "nan"), ('--memory: "nan" is not a number above 0',)),
    "weights without their objective": ((*PREDICT, "--weights", "1,2"), ("--weights needs --objective weighted",)),
    "a negative weight": ((*PREDICT, "--objective", "weighted", "--weights=-1,2"), ("weights that are zero or more",)),
    "a weight that is no number": (
        (*PREDICT, "--objective", "weighted", "--weights", "nan,2"), ("weights that are zero or more",)),
    "more weights than members": (
        (*PREDICT, "--objective", "weighted", "--weights", "1,2,3"), ("--weights has 3 values for 2",)),
    "weights that are all nothing": (
        (*PREDICT, "--objective", "weighted", "--weights", "0,0"), ("one of them above zero",)),
    "a negative seed": ((*PREDICT, "--seed=-1"), ('--seed: "-1" is not a whole number',)),
    "a seed beyond 64 bits": (
        (*PREDICT, "--seed", "99999999999999999999"), ('--seed: "99999999999999999999" is not a whole number',)),
    "a seed in words": ((*PREDICT, "--seed", "x"), ('--seed: "x" is not a whole number',)),
    "a negative top": ((*RECOMMEND, "--top=-1"), ('--top: "-1" is not a whole number',)),
    "a negative size to grow to": ((*RECOMMEND, "--grow=-1"), ('--grow: "-1" is not a whole number',)),
    "no GPU": ((*ASSIGN, "--gpus", "0"), ("at least one GPU",)),
    "a negative number of GPUs": ((*ASSIGN, "--gpus=-1"), ('--gpus: "-1" is not a whole number',)),
    "nobody on a GPU": ((*ASSIGN, "--per-gpu", "0"), ("--per-gpu must be at least 1",)),
    "a negative number on a GPU": ((*ASSIGN, "--per-gpu=-1"), ('--per-gpu: "-1" is not a whole number',)),
    "n_occur below 0": ((*EVALUATE, "--n-occur=-1"), ("--n-occur -1",)),
    "n_occur 0": ((*EVALUATE, "--n-occur", "0"), ("--n-occur 0",)),
    "n_occur beyond all": ((*EVALUATE, "--n-occur", "999999999999"), ("--n-occur: 999999999999 is not between",)),
    "n_occur that no split has": ((*EVALUATE, "--n-occur", "77"), ("pairs_n_occur.csv: no split of table pairs",)),
    "n_occur with a fraction": ((*EVALUATE, "--n-occur", "3.5"), ('--n-occur: "3.5" is not a whole number',)),
    "four thousand million seeds": ((*EVALUATE, "--seeds", "0-4294967295"), ("0-4294967295", "1000-1049")),
    "a million million seeds": ((*EVALUATE, "--seeds", "1000000000000"), ("1000000000000", "1000-1049")),
    "seeds backwards": ((*EVALUATE, "--seeds", "5-3"), ("5-3", "1000-1049")),
    "seeds in words": ((*EVALUATE, "--seeds", "few"), ("few", "1000-1049")),
    "no seed": ((*EVALUATE, "--seeds", "0"), ('seeds "0"', "1000-1049")),
    "a seed beyond 32 bits": ((*EVALUATE, "--seeds", "4294967290-4294967299"), ("4294967299", "1000-1049")),
    "a train fraction of 0": ((*RANDOM, "--train-fraction", "0"), ("--train-fraction 0",)),
    "a train fraction of 1": ((*RANDOM, "--train-fraction", "1"), ("--train-fraction 1",)),
    "a train fraction that is no number": ((*RANDOM, "--train-fraction", "nan"), ("--train-fraction nan",)),
    "a negative train fraction": ((*RANDOM, "--train-fraction=-0.5"), ("--train-fraction -0.5",)),
    "a train fraction in words": ((*RANDOM, "--train-fraction", "half"), ('--train-fraction: "half" is not a number',)),
    "a ratio that was not published": (
        (*EVALUATE, "--protocol", "triples-ratio", "--train-fraction", "0.123"), ("triples_trainratio.csv: no split of table triples",)),
    "no time at all": ((*EVALUATE, "--time-budget", "0"), ('--time-budget: "0" is not a number above 0',)),
    "a time that is no number": ((*EVALUATE, "--time-budget", "nan"), ('--time-budget: "nan" is not a number above 0',)),
    # combinations that are not allowed
    "an option of another protocol": (
        (*EVALUATE, "--train-fraction", "0.5"), ("protocol pairs-n-occur does not use --train-fraction",)),
    "test data of another protocol": (
        (*EVALUATE, "--test-data", cli.DATA), ("protocol pairs-n-occur does not use --test-data", "larger-groups")),
    "a target for larger groups": (
        (*EVALUATE, "--protocol", "larger-groups", "--per-target"), ("protocol larger-groups does not use --targets",)),
    "a table for thread limits": (
        (*EVALUATE, "--protocol", "mps-split", "--table", "pairs"), ("protocol mps-split does not use --table",)),
    "model and model file": (
        (*PREDICT, "--model", "share", "--model-file", "a.model.json"), ("--model-file", "--model")),
    "a tour in JSON": (("demo", "--json"), ("`carpool evaluate --json`",)),
    "a program's output in JSON": (("--json", "run", "--", "true"), ("`carpool submit --wait --json`",)),
    "a folder that is not there": ((*EVALUATE, "--data", "nowhere"), ("nowhere", "profiles.csv")),
    "a file as folder": ((*EVALUATE, "--data", cli.DATA / "pairs.csv"), ("pairs.csv", "folder")),
    "no name of a folder": ((*EVALUATE, "--data", ""), ("folder", "profiles.csv")),
}

# Sound requests that this model or method cannot serve: exit code 1.
UNSUPPORTED = {
    "members of a model of sums": ((*RECOMMEND, "--model", "kace-lr"), ("normalized", "throughput")),
    "thread limits of a model without": (
        (*PREDICT, "--model", "kace-lr", "--limits", "50,50"), ("kace-lr does not model thread limits",)),
    "exact for many": ((*ASSIGN, "--method", "exact"), ("exact", "matching")),
    "matching of three": ((*ASSIGN, "--method", "matching", "--per-gpu", "3"), ("local-search",)),
}


class CommandLine(cli.CarpoolTest):
    def test_takes_extreme_values_that_make_sense(self):
        self.succeeds(*EVALUATE, "--models", "memcap", "--seeds", "1")
        self.succeeds(*PREDICT, "--seed", str(2**64 - 1))
        self.succeeds(*RECOMMEND, "--top", "99999999999", "--grow", "99999999999")
        self.succeeds(*ASSIGN, "--gpus", "99999999999")


def add_refusal(name, arguments, says, code):
    def test(self):
        self.refuses(*arguments, says=says, code=code)
        self.assertEqual(self.contents(), {})

    setattr(CommandLine, f"test_refuses_{name.replace(' ', '_')}", test)


for refused, (words, message) in REFUSED.items():
    add_refusal(refused, words, message, code=2)
for refused, (words, message) in UNSUPPORTED.items():
    add_refusal(refused, words, message, code=1)


if __name__ == "__main__":
    unittest.main()
