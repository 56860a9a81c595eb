#!/usr/bin/env python3
"""Runs one of Carpool's workloads: random weights, random inputs, no downloads, one GPU.

A name is model.task.bBATCH.dtype, as in bert-base.train.b8.fp32, with the suffix .graph for steps
that are replayed as a CUDA graph. Omitted parts come from --batch and --dtype, else from the defaults
that --list shows. A workload warms up and runs until a watcher (CARPOOL_STEP_FILE) or a signal ends
it, or for --steps.

Exit status: 0 done, 1 failed, 2 wrong command line, 3 out of GPU memory.
"""

import argparse
import json
import os
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from models import REGISTRY  # noqa: E402
from models.registry import DTYPES, TASKS, BadName  # noqa: E402

FAILED, WRONG_USE, OUT_OF_MEMORY = 1, 2, 3


def main(arguments):
    options = parse(arguments)
    if options.list:
        print_list(options.json)
        return 0
    try:
        specs = [REGISTRY.parse(name, options.batch, options.dtype) for name in options.names]
        if not specs:
            specs = default_specs(options)
        check_together(specs, options)
    except BadName as error:
        print(f"run.py: {error}", file=sys.stderr)
        return WRONG_USE
    import session  # not at the top, because it imports PyTorch
    if options.check:
        return session.check(specs, options.steps or session.CHECK_STEPS, options.json)
    if not options.streams:
        report = session.run(specs[0], options.steps)
        print_reports([report], options.json)
        return 0
    print_reports(session.run_in_streams(specs, options.steps), options.json)
    return 0


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="a workload; several with --streams or --check")
    parser.add_argument("--batch", type=positive, help="for names without one")
    parser.add_argument("--dtype", choices=DTYPES, help="for names without one")
    parser.add_argument("--streams", action="store_true",
                        help="run all in this process, one thread and CUDA stream each")
    parser.add_argument("--steps", type=positive,
                        help="number of steps; then report the speed")
    parser.add_argument("--check", action="store_true",
                        help="run the named workloads, or all, one after the other for a few steps")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    return parser.parse_args(arguments)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return number


def default_specs(options):
    if not options.check:
        raise BadName("name a workload; --list shows all")
    asked = options.dtype
    return [REGISTRY.parse(entry.key, options.batch, asked)
            for entry in REGISTRY.entries if asked is None or asked in entry.dtypes]


def check_together(specs, options):
    if options.check:
        return
    if len(specs) > 1 and not options.streams:
        raise BadName("several workloads in one process need --streams")
    if len({spec.dtype == "tf32" for spec in specs}) > 1:
        raise BadName("tf32 is a setting of the process and cannot be mixed with other types")


def print_list(as_json):
    if as_json:
        print(json.dumps([entry.as_json() for entry in REGISTRY.entries], indent=2))
        return
    width = max(len(entry.spec.name) for entry in REGISTRY.entries)
    for entry in REGISTRY.entries:
        dtypes = ",".join(entry.dtypes)
        print(f"{entry.spec.name:{width}}  {dtypes:14}  {entry.about} [{entry.source}]")
    print("\nNames are model.task.bBATCH.dtype, with .graph for steps that are replayed as a CUDA\n"
          "graph (not where a step waits for the GPU); any batch that fits. Tasks:")
    for task, about in TASKS.items():
        print(f"  {task:7} {about}")


def print_reports(reports, as_json):
    if as_json:
        print(json.dumps(reports))
        return
    for report in reports:
        print(f"{report['name']}: {report['ms_per_step']:.3f} ms/step, "
              f"{report['units_per_s']:.2f} {report['unit']}/s, peak {report['peak_mib']:.0f} MiB")


def status_of(error):
    """Out of memory is a result of a measurement, so it has its own exit status."""
    text = f"{type(error).__name__}: {error}"
    full = any(sign in text for sign in ("OutOfMemoryError", "out of memory", "ALLOC_FAILED"))
    return OUT_OF_MEMORY if full else FAILED


def fail(error):
    import traceback
    traceback.print_exception(error)
    status = status_of(error)
    what = "out of GPU memory" if status == OUT_OF_MEMORY else "failed"
    # A watcher shows the last line.
    reason = (str(error).splitlines() or [""])[0]
    print(f"run.py: {what}: {type(error).__name__}: {reason}", file=sys.stderr, flush=True)
    return status


def guarded_main():
    # A failing thread of --streams ends the whole process with the same exit status.
    def on_thread_error(failure):
        if issubclass(failure.exc_type, SystemExit):
            return  # ended by its watcher; the others continue
        status = fail(failure.exc_value)
        sys.stdout.flush()
        os._exit(status)

    threading.excepthook = on_thread_error
    try:
        return main(sys.argv[1:])
    except BrokenPipeError:
        return FAILED
    except Exception as error:
        return fail(error)


if __name__ == "__main__":
    sys.exit(guarded_main())
