"""Runs a function over many inputs in processes of their own, and shows how far it is."""

import concurrent.futures
import multiprocessing
import sys
import traceback


class Progress:
    """One line on a terminal; nothing elsewhere."""

    def __init__(self, name, stream=sys.stderr):
        self.name, self.stream, self.shown = name, stream, stream.isatty()

    def tell(self, words):
        if self.shown:
            self.stream.write(f"\r\033[K{self.name}: {words}")
            self.stream.flush()

    def end(self):
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()


class Failure(Exception):
    """A part of the campaign broke; this is not a finding about the server."""


def guarded(work, arguments):
    try:
        return work(*arguments)
    except Exception as problem:  # the trace would not survive the way between processes
        raise Failure(f"{problem}\n{traceback.format_exc()}") from None


def each(work, inputs, at_once, progress):
    """work(*input) for each input, at most `at_once` at a time, in the order of the inputs."""
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(max(1, at_once), mp_context=context) as pool:
        waiting = [pool.submit(guarded, work, arguments) for arguments in inputs]
        for done, _ in enumerate(concurrent.futures.as_completed(waiting), start=1):
            progress.tell(f"{done} of {len(waiting)} parts")
        progress.end()
        return [part.result() for part in waiting]
