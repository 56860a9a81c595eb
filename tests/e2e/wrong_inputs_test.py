#!/usr/bin/env python3
"""Mistakes that people make: each is refused with exit code 2, nothing on standard output, the name of what is wrong,
and what to do.

A row is the command line, then every text that the message must contain: first what is wrong, last what to do.
"""

import unittest

import cli
import server

UNIT_OF_MEMORY = "write 12G for 12 GiB or 12M for 12 MiB"
UNIT_OF_TIME = "write 2d for days, 2h for hours, 2m for minutes or 2s for seconds"
RUN = ("--", "true")

WITHOUT_SERVER = (
    # Units
    (("submit", "--mem", "12", *RUN), "--mem: 12 has no unit;", UNIT_OF_MEMORY),
    (("submit", "--mem=12", *RUN), "--mem: 12 has no unit;", UNIT_OF_MEMORY),
    (("submit", "--mem", "1.5", *RUN), "--mem: 1.5 has no unit;", "write 1.5G"),
    (("submit", "--mem-limit", "12", *RUN), "--mem-limit: 12 has no unit;", UNIT_OF_MEMORY),
    (("submit", "--mem", "12Q", *RUN), '--mem: "12Q"', "write 12G or 512M"),
    (("submit", "--mem", "-4G", *RUN), '--mem: "-4G"', "write 12G or 512M"),
    (("submit", "--mem", "lots", *RUN), '--mem: "lots"', "write 12G or 512M"),
    (("submit", "--mem-limit", "auto", *RUN), '--mem-limit: "auto"', "write 12G or 512M"),
    (("submit", "--time", "2", *RUN), "--time: 2 has no unit;", UNIT_OF_TIME),
    (("submit", "--runtime", "2", *RUN), "--runtime: 2 has no unit;", UNIT_OF_TIME),
    (("submit", "--time", "1h30", *RUN), '--time: "1h30"', "write 90s, 15m, 2h, 1d or 1:30:00"),
    (("submit", "--time", "soon", *RUN), '--time: "soon"', "write 90s"),
    (("submit", "--time", "-5m", *RUN), '--time: "-5m"', "write 90s"),
    (("submit", "--time", "0s", *RUN), '--time: "0s"', "write 90s"),
    (("run", "--mem", "12", *RUN), "--mem: 12 has no unit;", UNIT_OF_MEMORY),
    (("run", "--mem-guarantee", "12", *RUN), "--mem-guarantee: 12 has no unit;", UNIT_OF_MEMORY),
    (("run", "--time", "2", *RUN), "--time: 2 has no unit;", UNIT_OF_TIME),
    (("submit", "mem.toml"), "mem.toml: mem: 12 has no unit;", UNIT_OF_MEMORY, "in quotes"),
    (("submit", "time.toml"), "time.toml: time: 2 has no unit;", UNIT_OF_TIME, "in quotes"),
    (("submit", "./mem.sh"), "./mem.sh: #CARPOOL: --mem: 12 has no unit;", UNIT_OF_MEMORY),
    (("estimate", "config.json", "--fits", "40"), "--fits: 40 has no unit;", "write 40G for 40 GiB"),
    (("estimate", "config.json", "--context", "600"), "--context: 600 has no unit;", "600M for 600 MiB"),
    (("simulate", "trace.csv", "--cluster", "4x40"), "40 has no unit;", "write 40GiB", "4x40GiB"),
    (("serve", "--stop-grace", "1m"), '--stop-grace: "1m"', "a number of seconds"),
    (("usage", "--since", "7"), '--since: "7"', "write 7d"),
    (("usage", "--since", "2999-01-01"), '--since: "2999-01-01" is in the future'),
    (("usage", "--by", "gpu"), "--by", "user"),
    (("wait", "--limit", "1h", "1"), '--limit: "1h"', "a number of seconds"),
    # What is submitted
    (("submit",), "no command given", "name a program behind --"),
    (("run",), "no program", "carpool run -- python train.py"),
    (("run", "--no-server", "--time", "2h", *RUN), "--time is for a job of a server", "leave it out"),
    (("run", "--no-server", "--mem", "auto", *RUN), "--mem auto is for a job of a server", "such as 40G"),
    (("submit", "missing.toml"), "missing.toml: no such file", "correct its name"),
    (("submit", "missing.rad"), "missing.rad: no such file", "correct its name"),
    (("submit", "--", "missing.py"), "missing.py: no such file", "correct its name"),
    (("submit", "train.py"), "train.py is not executable", "carpool submit -- python train.py"),
    (("submit", "./train.py", "--epochs", "3"), "./train.py is not executable", "python ./train.py"),
    (("submit", "plain.sh"), "plain.sh is not executable", "carpool submit -- bash plain.sh"),
    (("submit", "--", "own"), "own is not in a folder of PATH", "./own"),
    (("submit", "folder/"), "folder/ is a folder", "name the program"),
    (("submit", "good.toml", "--epochs"), "good.toml takes no arguments", '"--epochs"', "remove it"),
    (("submit", "broken.toml"), "broken.toml:1:"),
    (("submit", "hold.toml"), "hold: expected true or false"),
    (("submit", "./unknown.sh"), "./unknown.sh: #CARPOOL:", "--partition", "the server has one queue"),
    (("submit", "--env", "NOT_SET_ANYWHERE", *RUN), "--env NOT_SET_ANYWHERE", "expected NAME=VALUE"),
    (("submit", "--mem", "1G", "--model", "config.json", *RUN), "--model", "requires --mem auto"),
    (("submit", "--mem", "auto", "--model", "none.json", *RUN), "none.json", "--mem SIZE"),
    # Numbers and words of options
    (("submit", "--gpus", "two", *RUN), '--gpus: "two"', "a whole number"),
    (("submit", "--gpus", "-1", *RUN), '--gpus: "-1"', "a whole number"),
    (("submit", "--retries", "1.5", *RUN), '--retries: "1.5"', "a whole number"),
    (("submit", "--priority", "high", *RUN), "--priority", "high"),
    (("submit", "--gpus", "99999999999", *RUN), "--gpus: 99999999999 is not between", "4294967295"),
    (("submit", "--gpu", "99999999999", *RUN), "--gpu: 99999999999 is not between 0 and", "4294967295"),
    (("submit", "--gpu", "first", *RUN), '--gpu: "first"', "a whole number"),
    (("submit", "--begin", "2h", *RUN), '--begin: "2h"', "write now+2h"),
    (("submit", "--begin", "now+2", *RUN), "--begin: 2 has no unit;", UNIT_OF_TIME),
    (("submit", "--begin", "2020-01-01", *RUN), "--begin: 2020-01-01", "has passed"),
    (("submit", "--begin", "tonight", *RUN), '--begin: "tonight"', "22:00"),
    (("submit", "--slo", "0", *RUN), '--slo: "0" is not a latency', "write 20ms"),
    (("submit", "--slo", "5", *RUN), "--slo: 5 has no unit;", "write 5ms for milliseconds or 5s for seconds"),
    (("run", "--slo", "fast", "--", "true"), '--slo: "fast" is not a latency', "write 20ms, 0.5s or 800us"),
    (("submit", "--slo", "5ms", "--class", "normal", *RUN), "--slo makes a job of class slo", "leave --class normal out"),
    (("run", "--slo", "5ms", "--quantile", "99", "--", "true"), "--quantile: 99 is not between 0 and 1", "write 0.99"),
    (("run", "--quantile", "0.9", "--", "true"), "--quantile", "--slo"),
    (("run", "--slo", "5ms", "--quantile", "0.5", "--", "true"), "0.5", "0.6 to 0.999", "the median is always shown"),
    (("run", "--slo", "5ms", "--quantile", "0.9999", "--", "true"), "0.9999", "at most three digits"),
    (("run", "--slo", "0.0001us", "--", "true"), "--slo", "from 1us to 3600s"),
    (("run", "--slo", "1h", "--", "true"), '"1h" is not a latency in us, ms or s', "from 1us to 3600s"),
    (("run", "--slo", "5ms", "--best-effort", "--", "true"), "--slo", "--best-effort"),
    (("run", "--policy", "time", "--", "true"), "--policy", "--best-effort"),
    (("run", "--best-effort", "--policy", "spacetim", "--", "true"), 'unknown gate policy "spacetim"',
     'did you mean "spacetime"?'),
    (("submit", "--best-effort", "--env", "CARPOOL_SHIM_POLICY=spacetim", *RUN), "CARPOOL_SHIM_POLICY", '"spacetim"',
     'did you mean "spacetime"?'),
    (("submit", "--best-effort", "--policy", "time", "--env", "CARPOOL_SHIM_POLICY=orion", *RUN), "--policy time",
     "CARPOOL_SHIM_POLICY=orion differ", "leave one of them out"),
    (("submit", "--after", "first", *RUN), "--after", "first"),
    (("submit", "--memory", "12G", *RUN), '"--memory"', "write --mem 20G"),
    # Words of other tools
    (("sbatch", "train.sh"), '"sbatch"', "here it is `carpool submit`"),
    (("sinfo",), '"sinfo"', "here it is `carpool status`"),
    (("submit", "-J", "x", *RUN), '"-J"', "write --name NAME"),
    (("submit", "--gres=gpu:1", *RUN), '"--gres=gpu:1"', "write --gpus N"),
    (("submit", "--dependency", "afterok:1", *RUN), '"--dependency"', "write --after JOB"),
    (("submit", "--cpus-per-task", "4", *RUN), '"--cpus-per-task"', "processors are not reserved"),
    (("run", "--gpu-memory", "20G", *RUN), '"--gpu-memory"', "write --mem 20G"),
    (("queue", "-u", "ann"), '"-u"', "write --user NAME"),
    (("cancel", "-u", "ann"), '"-u"', "write --all-mine"),
    (("submit", "./slurm.sh"), "./slurm.sh: its #SBATCH lines are not read", "add #CARPOOL lines"),
    (("submit", "--dry-run", "--wait", *RUN), "--dry-run submits no job", "leave --wait out"),
    (("submit", "--dry-run", "--parsable", *RUN), "--dry-run submits no job", "leave --parsable out"),
    (("queue", "--state", "runing"), '--state: unknown state "runing"', 'did you mean "running"?'),
    (("queue", "--state", "queued,,held"), '--state: unknown state ""', "known: queued, held"),
    (("queue", "--colour", "always"), "--colour", "carpool queue --help"),
    (("show", "seventeen"), '"seventeen" names no job', "write 3, 3-12"),
    (("show",), "no job given", "--name GLOB"),
    (("cancel", "1.5"), '"1.5" names no job', "@ for the last"),
    (("update", "3"), "nothing to change", "give --time"),
    (("update", "3", "--mem", "12"), "--mem: 12 has no unit;", UNIT_OF_MEMORY),
    (("cancel", "12-3"), '"12-3" names no job: 12 is above 3', "write 3-12"),
    (("explain", "1-10001"), '"1-10001" names 10,001 jobs', "at most 10,000"),
    (("hold", "17_[a]"), '"17_[a]" names no job', "17_[0-9]"),
    (("cancel", "3", "--all-mine"), '"3" beside --all-mine', "give one of them"),
    (("cancel", "--name", "x*", "--all-mine"), "--name", "--all-mine"),
    (("logs", "-f", "3-5"), "--follow prints the output of one job", "name one"),
    (("logs", "1", "--attempt", "-1"), '--attempt: "-1"', "a whole number"),
    (("logs", "--json", "--follow", "1"), "--follow", "give one of them"),
    (("logs", "1", "--tail", "few"), '--tail: "few"', "a whole number"),
    (("submit", "--param", "lr", *RUN), 'param: "lr"', "as in lr=1e-3,1e-4"),
    (("submit", "--param", "lr=", *RUN), "param: lr", "write lr=1e-3,1e-4"),
    (("submit", "--param", "2x=1", *RUN), 'param: "2x" is not a name', "letters"),
    (("submit", "--param", "lr=1", "--param", "lr=2", *RUN), '"lr" is given twice', "in one list"),
    (("submit", "--gpus", "0", *RUN), '--gpus: "0"', "at least 1"),
    (("logs", "1", "--attempt", "0"), '--attempt: "0"', "at least 1"),
    (("history", "-n", "0"), '--most: "0"', "at least 1"),
    (("gpus", "--watch", "1", "--count", "0"), '--count: "0"', "at least 1"),
    (("history", "-n", "many"), '--most: "many"', "a whole number"),
    (("frobnicate",), "frobnicate", "carpool --help"),
    (("qeue",), "qeue", "queue"),
    (("--color", "sometimes", "queue"), "sometimes", "auto"),
    (("serve", "--simulated", "many"), 'cluster "many"', "4xA100-40"),
    (("serve", "--simulated", "2xA200"), '"A200"', "known: A100-40"),
    (("serve", "--simulated", "2xA100-40", "--policy", "carpol"), '"carpol"', "known:"),
    (("serve", "--simulated", "2xA100-40", "--order", "lifo"), '"lifo"', "known:"),
    (("serve", "--simulated", "2xA100-40", "--recovery", "hope"), '"hope"', "known:"),
    (("serve", "--simulated", "2xA100-40", "--speed", "0"), '--speed: "0"', "above 0"),
    (("serve", "--simulated", "2xA100-40", "--operators", "no-such-group"), "--operators",
     'no group "no-such-group"', "groupadd"),
    (("serve", "--simulated", "2xA100-40", "--slo-group", "no-such-group"), "--slo-group",
     'no group "no-such-group"', "groupadd"),
    (("serve", "--simulated", "2xA100-40", "--listen", "127.0.0.1:1", "--tokens", "absent"), "absent"),
    (("serve", "--simulated", "2xA100-40", "--listen", "127.0.0.1:1"), "--listen", "--tokens"),
    (("serve", "--simulated", "2xA100-40", "--listen", "0.0.0.0:1", "--tokens", "tokens"), "0.0.0.0:1",
     "--tls-cert"),
    (("serve", "--simulated", "2xA100-40", "--listen", "gpu1:1", "--tokens", "tokens"), "gpu1:1", "numeric address"),
    (("serve", "--simulated", "2xA100-40", "--tls-cert", "x.pem"), "--tls-cert", "--tls-key"),
    (("serve", "--simulated", "2xA100-40", "--listen", "127.0.0.1:1", "--tokens", "tokens", "--tls-cert", "config.json",
      "--tls-key", "config.json"), "--tls-cert config.json", "PEM"),
    (("token", "create"), "create needs either a USER or --metrics"),
    (("token", "create", "no-such-user", "--tokens", "tokens"), 'no user "no-such-user"'),
    (("token", "make"), "make", "create"),
    (("token", "list", "--tokens", "absent"), "absent", "No such file"),
    (("token", "revoke", "--tokens", "tokens"), "ID", "carpool token list"),
    (("token", "revoke", "ann", "--tokens", "tokens"), 'no token "ann"', "carpool token list"),
    (("serve", "--window", "median"), "--window", "mean"),
    (("serve", "--output-limit", "1"), "--output-limit: 1 has no unit;", "write 1G for 1 GiB"),
    (("serve", "--keep-outputs", "30"), "--keep-outputs: 30 has no unit;", "30h for hours"),
    (("prune",), "nothing says what to remove", "give --older-than 30d, or --keep 20G"),
    (("prune", "--older-than", "30"), "--older-than: 30 has no unit;", "30h for hours"),
    (("prune", "--keep", "20"), "--keep: 20 has no unit;", "write 20G for 20 GiB"),
    # Files and names of the other commands
    (("simulate", "absent.csv"), "absent.csv", "No such file"),
    (("simulate",), "trace", "--generate"),
    (("simulate", "trace.csv", "-o", "out.csv"), "-o is for --generate"),
    (("simulate", "trace.csv", "--jobs", "9"), "--jobs is for --generate"),
    (("simulate", "trace.csv", "--validate", "aegis"), "--validate replays no trace", "leave trace.csv out"),
    (("simulate", "trace.csv", "--generate", "philly", "-o", "out.csv"), "--generate replays no trace"),
    (("simulate", "--validate", "aegis", "--report", "out.html"), "--report is for a trace"),
    (("simulate", "trace.csv", "--seeds", "0"), '--seeds: "0"', "above 0"),
    (("simulate", "trace.csv", "--rates", "2"), '--rates: "2"', "a number from 0 to 1"),
    (("estimate", "config.json", "--estimator", "horus"), "--estimator is for --evaluate"),
    (("estimate", "config.json", "--split", "published"), "--split is for --evaluate"),
    (("estimate", "config.json", "--from", "flags"), "--from is for --evaluate and --fit"),
    (("estimate", "config.json", "--catalogue", "rows.jsonl"), "--catalogue is for --evaluate and --fit"),
    (("estimate", "--fit", "rows.jsonl", "-o", "fitted.model.json", "--estimator", "horus"), "--estimator is for --evaluate"),
    *((("predict", "a", "b", "--data", "small", "--model-file", "m.model.json", *option), "--model-file", "trained already")
      for option in (("--tables", "pairs"), ("--features", "none"), ("--seed", "1"))),
    (("estimate", "absent.json"), "absent.json", "No such file"),
    (("estimate", "config.json", "--dtype", "fp12"), "fp12", "bf16"),
    (("predict", "job0", "job99", "--data", "small"), "job99", "did you mean"),
    (("recommend", "no-such-workload"), "no-such-workload"),
    (("recommend", "job0", "--data", "absent"), "absent"),
    (("train", "--model", "shere", "-o", "x.model.json"), '"shere"', 'did you mean "share"?'),
    (("evaluate", "--protocol", "guess"), '"guess"', "known:"),
    (("evaluate", "--protocol", "random", "--train-table", "triples"), "random does not use --train-table", "transfer"),
    (("evaluate", "--objective", "weighted"), "--objective weighted needs weights", "max-min"),
    (("evaluate", "--protocol", "mps-split", "--objective", "max-min"), "does not use", "--objective"),
    (("evaluate", "--protocol", "larger-groups", "--objective", "max-min"), "does not use", "--objective"),
    (("dataset", "absent"), "absent"),
    (("report", "--data", "absent", "-o", "x.html"), "absent"),
    (("measure", "absent.toml"), "absent.toml", "No such file"),
    (("gpus", "--watch", "often"), '--watch: "often"', "a number of seconds"),
    (("gpus", "--replay", "absent.jsonl"), "absent.jsonl"),
    (("gpus", "--replay", "config.json"), "config.json:1", "not a recording: it does not start with the header"),
    (("serve", "--speed", "3"), "--speed requires --simulated"),
    (("completion", "tcsh"), 'shell: "tcsh" is not one of bash, zsh, fish'),
    (("record", "--seconds", "-1", "-o", "x.jsonl"), '--seconds: "-1"', "a number of seconds"),
    (("help", "frobnicate"), "frobnicate"),
    (("journal", "chek"), "chek", "check"),
)

WITH_SERVER = (
    (("show", "99"), "no job 99"),
    (("explain", "99"), "no job 99"),
    (("cancel", "99"), "no job 99"),
    (("logs", "99"), "no job 99"),
    (("wait", "99"), "no job 99"),
    (("cancel", "99[]"), "there is no array with job 99"),
    (("cancel", "@"), "@: you have not submitted a job"),
    (("cancel", "--name", "x*"), 'has a name like "x*"', "carpool queue"),
    (("submit", "--gpus", "99", "--mem", "1G", *RUN), "gpus: 99 requested; this server has 2"),
    (("queue", "--user", "no-such-user"), '--user: there is no user "no-such-user"', "--all"),
    (("submit", "--mem", "999T", *RUN), "mem: 1022976 GiB requested; the largest GPU that the job may use has"),
    (("submit", "--class", "urgent", "--mem", "1G", *RUN), '"urgent"', "normal"),
    (("submit", "--array", "9-1", "--mem", "1G", *RUN), '"9-1"', "write 0-9"),
    (("submit", "--array", "a-z", "--mem", "1G", *RUN), '"a-z"', "write 0-9"),
    (("submit", "--array", "0-9%0", "--mem", "1G", *RUN), 'array: "0"', "write 0-99%4"),
    (("submit", "--gpu", "7", "--mem", "1G", *RUN), "gpu: there is no GPU 7", "this server has GPU 0 ("),
    (("submit", "--gpu-type", "B300", "--mem", "1G", *RUN), "gpu_type: there are no B300 GPUs", "this server has GPU 0 ("),
    (("submit", "--param", "lr=1,2", "--mem", "1G", *RUN), 'nothing in the command uses "lr"', "write {lr}"),
    (("submit", "--param", "lr=1,2", "--array", "0-3", "--mem", "1G", "--", "echo", "{lr}"),
     "params", "leave array out"),
    (("submit", "--param", f"x={','.join(map(str, range(200)))}", "--param", f"y={','.join(map(str, range(200)))}",
      "--mem", "1G", "--", "echo", "{x}{y}"), "more than 10000 combinations", "in parts"),
    (("submit", "--output", "%x", "--mem", "1G", *RUN), 'output: "%x"', "write %%"),
    (("submit", "--output", "%a", "--mem", "1G", *RUN), 'output: "%a"', "write %j, or add --array"),
    (("submit", "--output", "folder/", "--mem", "1G", *RUN), "output: name a file"),
    (("submit", "--error", "x", "--array", "0-3", "--mem", "1G", *RUN), "would write to one file", "add %a or %j"),
    (("submit", "--notify", "htps://hooks.example.org/x", "--mem", "1G", *RUN), "notify: it begins with neither",
     "https://HOST", "a shell command"),
    (("submit", "--notify", "https://", "--mem", "1G", *RUN), "notify: it names no host", "https://HOST"),
    (("submit", "--notify", "https://a:b@hooks.example.org/x", "--mem", "1G", *RUN), "notify: it names a user", "path"),
    (("submit", "--notify", "http://hooks.example.org:99999", "--mem", "1G", *RUN), "notify: its port", "65535"),
    (("submit", "--priority", "5000", "--mem", "1G", *RUN), "priority"),
    (("submit", "--after", "99", "--mem", "1G", *RUN), "99"),
    (("submit", "--progress", "(", "--mem", "1G", *RUN), "progress"),
    (("submit", "key.toml"), "prioritty", "priority"),
)


def write_files(test):
    test.write("mem.toml", 'argv = ["true"]\nmem = 12\n')
    test.write("time.toml", 'argv = ["true"]\ntime = 2\n')
    test.write("hold.toml", 'argv = ["true"]\nmem = "1G"\nhold = "yes"\n')
    test.write("good.toml", 'argv = ["true"]\n')
    test.write("key.toml", 'argv = ["true"]\nmem = "1G"\nprioritty = 1\n')
    test.write("broken.toml", "argv = [\n")
    test.write("mem.sh", "#!/bin/sh\n#CARPOOL --mem 12\ntrue\n")
    test.write("unknown.sh", "#!/bin/sh\n#CARPOOL --partition gpu\ntrue\n")
    test.write("slurm.sh", "#!/bin/sh\n#SBATCH --mem=20G\ntrue\n")
    test.write("plain.sh", "true\n")
    test.write("train.py", "print()\n")
    test.write("own", "#!/bin/sh\n").chmod(0o755)
    test.write("config.json", '{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, '
                              '"vocab_size": 50257, "n_positions": 1024}')
    test.write("trace.csv", "")
    test.write("tokens", "# none\n").chmod(0o600)
    (test.folder / "folder").mkdir()
    cli.write_dataset(test.folder / "small")


class WrongInputs(cli.CarpoolTest):
    def test_are_refused_with_what_to_do(self):
        write_files(self)
        for arguments, *says in WITHOUT_SERVER:
            with self.subTest(" ".join(arguments)):
                self.refuses(*arguments, says=says)

    def test_are_at_least_sixty(self):
        self.assertGreaterEqual(len({row[0] for row in WITHOUT_SERVER + WITH_SERVER}), 60)


class WrongInputsOfAServer(server.ServerTest):
    def test_are_refused_with_what_to_do(self):
        write_files(self)
        self.start()
        for arguments, *says in WITH_SERVER:
            with self.subTest(" ".join(arguments)):
                self.refuses(*arguments, says=says)


if __name__ == "__main__":
    unittest.main()
