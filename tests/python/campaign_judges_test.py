#!/usr/bin/env python3
"""The judges of bench/campaign find what they look for: made-up ledgers, listings and repairs, each with one fault."""

import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "campaign"))

import damage  # noqa: E402
import ledger  # noqa: E402
import wounds  # noqa: E402

DONE = {"state": "succeeded", "end": "succeeded"}


def lines(text):
    """A ledger from lines "what job attempt [code]"; the time is the number of the line."""
    found = []
    for number, words in enumerate(line.split() for line in text.strip().splitlines()):
        code = int(words[3]) if len(words) > 3 else None
        found.append(ledger.Line(words[0], int(words[1]), int(words[2]), 100 + int(words[2]), float(number), code))
    return found


class Judge(unittest.TestCase):
    def judge(self, text, view, reported=(), **expected):
        known = {1: ledger.Expected(1, **expected)}
        return ledger.judge(lines(text), known, {1: view}, set(reported)).counts()

    def found(self, counts):
        return [name for name, count in counts.items() if count]

    def test_a_job_that_ran_once_and_one_that_ran_again_after_a_loss_are_right(self):
        self.assertEqual(self.found(self.judge("begin 1 1\nend 1 1 0", DONE, [(1, 1)])), [])
        self.assertEqual(self.found(self.judge("begin 1 1\nbegin 1 2\nbeat 1 2\nend 1 2 0", DONE, [(1, 2)])), [])

    def test_a_job_that_the_server_does_not_know_is_lost(self):
        self.assertEqual(self.found(self.judge("begin 1 1\nend 1 1 0", None)), ["lost"])

    def test_a_success_without_a_run_to_the_end_is_a_loss(self):
        self.assertEqual(self.found(self.judge("begin 1 1", DONE)), ["lost"])
        self.assertEqual(self.found(self.judge("begin 1 1\nend 1 1 3", DONE)), ["lost"])

    def test_a_forgotten_cancellation_is_a_loss(self):
        self.assertEqual(self.found(self.judge("begin 1 1\nend 1 1 0", DONE, ends="cancelled")), ["lost"])

    def test_an_attempt_that_begins_twice_is_found(self):
        self.assertEqual(self.found(self.judge("begin 1 1\nbegin 1 1\nend 1 1 0", DONE)), ["twice"])

    def test_two_attempts_at_the_same_time_are_found(self):
        self.assertEqual(self.found(self.judge("begin 1 1\nbegin 1 2\nbeat 1 1\nend 1 2 0", DONE)), ["twice"])

    def test_a_job_that_runs_again_after_its_success_was_recorded_is_found(self):
        text = "begin 1 1\nend 1 1 0\nbegin 1 2\nend 1 2 0"
        self.assertEqual(self.found(self.judge(text, DONE, [(1, 1), (1, 2)])), ["twice"])
        self.assertEqual(self.found(self.judge(text, DONE, [(1, 2)])), [])  # its supervisor was killed before it recorded it
        self.assertEqual(self.found(self.judge(text, DONE, [(1, 1), (1, 2)], requeues=1)), [])

    def test_a_job_without_an_end_is_stuck(self):
        for state in ("queued", "held", "running", "stopping"):
            self.assertEqual(self.found(self.judge("begin 1 1", {"state": state})), ["stuck"])

    def test_an_end_that_the_job_did_not_earn_is_wrong(self):
        lost = {"state": "failed", "end": "lost"}
        self.assertEqual(self.found(self.judge("begin 1 1", lost)), ["wrongly_failed"])
        self.assertEqual(self.found(self.judge("", {"state": "failed", "end": "never-started"})), ["wrongly_failed"])
        self.assertEqual(self.found(self.judge("", {"state": "cancelled", "end": "cancelled"})), ["wrongly_failed"])
        self.assertEqual(self.found(self.judge("begin 1 1", lost, ends="time-limit")), ["wrongly_failed"])
        self.assertEqual(self.found(self.judge("begin 1 1", lost, ends="any")), [])

    def test_a_job_that_fails_by_itself_fails_with_its_own_code(self):
        for code, found in ((3, []), (4, ["wrongly_failed"]), (None, ["wrongly_failed"])):
            view = {"state": "failed", "end": "failed", "exit_code": code}
            self.assertEqual(self.found(self.judge("begin 1 1\nend 1 1 3", view, ends="failed", code=3)), found)

    def test_a_ledger_is_read_as_jobs_write_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ledger"
            self.assertEqual(ledger.read(file), [])
            file.write_text("begin 7 2 4711 12.34 \nbeat 7 2 4711 12.40 \nend 7 2 4711 12.50 0\n")
            self.assertEqual(ledger.read(file)[0], ledger.Line("begin", 7, 2, 4711, 12.34))
            self.assertEqual(ledger.read(file)[2].code, 0)


class Damage(unittest.TestCase):
    TRUTH = {number: {**dict.fromkeys(damage.FIELDS), "state": "queued", "name": "a", "reason": ""} for number in (1, 2)}

    def test_missing_and_changed_jobs_are_found(self):
        self.assertEqual(damage.differences(self.TRUTH, dict(self.TRUTH)), ([], []))
        self.assertEqual(damage.differences(self.TRUTH, {1: self.TRUTH[1], 2: None})[0], [2])
        changed = {**self.TRUTH, 2: {**self.TRUTH[2], "state": "succeeded"}}
        self.assertEqual([number for number, _ in damage.differences(self.TRUTH, changed)[1]], [2])

    def test_a_job_with_a_damaged_record_may_fail_with_words_about_it_only(self):
        for reason, right in (("its exit file is damaged", True), ("lost", False)):
            now = {**self.TRUTH, 2: {**self.TRUTH[2], "state": "failed", "reason": reason}}
            self.assertEqual(damage.differences(self.TRUTH, now, (2,)) == ([], []), right)
            self.assertNotEqual(damage.differences(self.TRUTH, now), ([], []))

    def test_a_repair_tells_what_it_could_not_bring_back(self):
        report = {"lost_jobs": [[4, 7]], "lost_events": [[10, 12]], "incomplete_jobs": []}
        self.assertTrue(damage.told([4, 7], [], report))
        self.assertTrue(damage.told([5], [9], report))
        self.assertFalse(damage.told([4, 8], [], report))
        self.assertFalse(damage.told([], [9], {**report, "lost_events": []}))
        self.assertTrue(damage.told([], [9], {**report, "lost_events": [], "incomplete_jobs": [9]}))
        self.assertFalse(damage.told([4], [], {"said": "repaired"}))

    def test_every_wound_changes_a_file(self):
        for kind, (wound, log) in wounds.JOURNAL.items():
            with tempfile.TemporaryDirectory() as folder:
                state = pathlib.Path(folder)
                content = random.Random(1).randbytes(16) + (4096).to_bytes(2, "big") + random.Random(2).randbytes(4096 * 5 - 18)
                content = content[:4096] + b"\x0a" + content[4097:]
                for name in (wounds.DB, wounds.WAL):
                    (state / name).write_bytes(content)
                wound(state, random.Random(3))
                hurt = state / (wounds.WAL if log else wounds.DB)
                self.assertTrue(not hurt.exists() or hurt.read_bytes() != content, kind)


if __name__ == "__main__":
    unittest.main()
