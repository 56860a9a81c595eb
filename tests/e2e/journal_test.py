#!/usr/bin/env python3
"""The journal of a server: damage, a missing file, backups, modes, a full disk."""

import contextlib
import sqlite3
import subprocess
import unittest

import cli
import server


class Journal(server.ServerTest):
    def run_jobs(self, count):
        self.start()
        for _ in range(count):
            number = self.submit("--mem", "1G", "--", "true")
        self.await_end(number)
        return number

    def journal(self, action, *more):
        return self.carpool("journal", action, "--state", self.state, *more)

    def start_refused(self):
        done = self.carpool("serve", "--state", self.state)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def spoil_event(self, sequence):
        """As a flipped bit does: another digit in the text of an event."""
        with contextlib.closing(sqlite3.connect(self.state / "jobs.sqlite")) as database, database:
            body, = database.execute("SELECT body FROM events WHERE sequence = ?", (sequence,)).fetchone()
            database.execute("UPDATE events SET body = ? WHERE sequence = ?",
                             (body.replace('"at_s":1', '"at_s":2', 1), sequence))

    def test_a_healthy_journal_is_checked_while_the_server_runs_and_after(self):
        self.run_jobs(2)
        self.assertIn("is healthy: 2 jobs", self.succeeds("journal", "check", "--state", self.state))
        self.stop_server()
        found = self.prints_json("journal", "check", "--state", self.state)
        self.assertEqual((found["healthy"], found["jobs"], found["problems"]), (True, 2, []))
        self.assertIn("Nothing was changed", self.succeeds("journal", "repair", "--state", self.state))

    def test_a_repair_needs_a_stopped_server(self):
        self.start()
        done = self.journal("repair")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another server", done.stderr)

    def test_a_damaged_event_is_refused_repaired_and_named_and_its_number_not_used_again(self):
        self.run_jobs(3)
        self.stop_server()
        for copy in self.state.glob("jobs.sqlite.backup*"):
            copy.unlink()
        self.spoil_event(1)  # the submission of job 1
        self.assertIn("carpool journal repair", self.start_refused())
        check = self.journal("check")
        self.assertEqual(check.returncode, 1, check.stderr)
        self.assertIn("wrong checksum at sequence 1", check.stdout)
        repair = self.journal("repair")
        self.assertEqual(repair.returncode, 1, repair.stderr)
        self.assertIn("Lost: the submissions of jobs 1; these numbers are not used again.", repair.stdout)
        self.assertEqual(len(list(self.state.glob("jobs.sqlite.damaged-*"))), 1)
        self.start()
        self.assertEqual({job["id"] for job in self.get("/v1/history")["jobs"]}, {2, 3})
        self.assertGreater(self.submit("--mem", "1G", "--", "true"), 3)

    def test_the_backup_of_the_server_replaces_what_is_damaged(self):
        self.run_jobs(3)
        self.stop_server()
        self.spoil_event(1)
        self.start()  # by itself: the backup has every event
        self.assertEqual(len(self.get("/v1/history")["jobs"]), 3)
        self.assertIn("nothing is lost", (self.folder / "server.log").read_text())

    def test_a_missing_journal_beside_outputs_is_refused(self):
        last = self.run_jobs(2)
        self.stop_server()
        (self.state / "jobs.sqlite").unlink()
        words = self.start_refused()
        for part in ("is missing", f"jobs up to number {last}", "jobs.sqlite.backup", "journal repair"):
            self.assertIn(part, words)
        self.assertFalse((self.state / "jobs.sqlite").exists())
        self.assertEqual(self.journal("repair").returncode, 0)
        self.start()
        self.assertEqual(self.submit("--mem", "1G", "--", "true"), last + 1)

    def test_a_copy_is_written_once(self):
        self.run_jobs(1)
        copy = self.folder / "copy"
        self.succeeds("journal", "backup", copy, "--state", self.state)
        self.assertEqual(copy.stat().st_mode & 0o777, 0o600)
        with contextlib.closing(sqlite3.connect(copy)) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM jobs").fetchone(), (1,))
        self.assertIn("exists", self.refuses("journal", "backup", copy, "--state", self.state))
        self.refuses("journal", "backup", "--state", self.state, says="FILE")
        self.refuses("journal", "check", "--state", self.folder / "nowhere", says="holds no journal")

    def test_of_a_simulated_server_is_named_where_there_is_none_of_a_real_one(self):
        self.state = self.folder / "server-simulated"
        self.start("--simulated", "1xA100-40")
        self.stop_server()
        for action in (("check",), ("backup", self.folder / "copy")):
            self.refuses("journal", *action, "--state", self.folder / "server",
                         says=f"is in {self.state}: name it with --state")

    def test_an_existing_folder_of_mode_0755_is_made_private(self):
        self.state.mkdir(mode=0o755)
        self.state.chmod(0o755)
        (self.state / "runs").mkdir()
        (self.state / "runs").chmod(0o755)
        self.start()
        self.assertEqual(self.state.stat().st_mode & 0o777, 0o700)
        self.assertEqual((self.state / "runs").stat().st_mode & 0o777, 0o700)
        self.assertIn("has mode 0755", (self.folder / "server.log").read_text())
        for file in self.state.glob("j*"):
            self.assertEqual(file.stat().st_mode & 0o077, 0, file)

    def mount_small_disk(self):
        self.state.mkdir(mode=0o700)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", self.state],
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("a disk of 1 MB cannot be mounted")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=True)

    def test_a_disk_that_nobody_can_write_holds_a_healthy_journal(self):
        self.state = self.folder / "100% #1?"
        self.start()
        self.submit("--mem", "1G", "--", "true")
        self.stop_server()
        bound = subprocess.run(["mount", "--bind", self.state, self.state], capture_output=True, check=False)
        if bound.returncode != 0:
            self.skipTest("a file system of its own needs the right to mount one")
        self.addCleanup(subprocess.run, ["umount", "-l", self.state], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.state], check=True)
        self.assertIn("is healthy: 1 jobs", self.succeeds("journal", "check", "--state", self.state))
        self.succeeds("journal", "backup", self.folder / "copy", "--state", self.state)
        self.assertTrue((self.folder / "copy").stat().st_size)

    def fill_disk(self):
        with open(self.state / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def test_a_full_disk_refuses_submissions_until_there_is_space(self):
        self.mount_small_disk()
        self.start()
        self.succeeds("drain")
        first = self.submit("--mem", "1G", "--", "true")
        self.fill_disk()
        submit = [cli.PROGRAM, "submit", "--parsable", "--mem", "1G", "--", "true", "x" * 20000]
        waiting = subprocess.Popen(  # its events do not fit; it is answered when they do
            submit, env=cli.environment(self.folder, **self.surroundings()), cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(waiting.kill)
        server.until(lambda: self.request("GET", "/healthz")[0] == 503, "the disk to be full")
        self.assertIn(b"the disk is full", self.request("GET", "/healthz")[1])
        refused = self.carpool("submit", "--mem", "1G", "--", "true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the disk is full", refused.stderr)
        self.assertIsNone(self.server.poll(), "the server goes on")
        (self.state / "filler").unlink()
        self.assertEqual(int(waiting.communicate(timeout=server.PATIENCE_S)[0]), first + 1)
        self.assertEqual(self.submit("--mem", "1G", "--", "true"), first + 2)
        self.kill_server()
        self.start()
        self.assertEqual(len(self.get("/v1/queue")["jobs"]) + len(self.get("/v1/history")["jobs"]), 3)


if __name__ == "__main__":
    unittest.main()
