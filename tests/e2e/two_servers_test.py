#!/usr/bin/env python3
"""One server per GPU; the second names the first. Who may not use a server is told why."""

import contextlib
import os
import pathlib
import pwd
import subprocess
import unittest

import cli
import server

AS_ROOT = unittest.skipUnless(os.geteuid() == 0, "other users need root")


class SecondServer(server.ServerTest):
    def second(self, *options):
        """The words of a second server, which ends."""
        other = self.folder / "other"
        return self.refuses("serve", "--state", other / "state", "--socket", other / "s", *options)

    def setUp(self):
        super().setUp()
        (self.folder / "other").mkdir()

    def test_is_refused_and_names_the_first(self):
        first = self.start()
        told = self.second()
        self.assertRegex(told, r"carpool: GPU 0 \(GPU-fake-\d+-0\) is managed by the server of user ")
        self.assertIn(f"(process {first.pid}: {cli.PROGRAM} serve", told)
        self.assertIn(f"Submit jobs there, or stop it: kill {first.pid}", told)
        self.stop_server()
        self.start()

    def test_starts_at_once_after_a_kill_while_jobs_go_on(self):
        for _ in range(3):
            self.start()
            job = self.submit("--mem", "1G", "--", "sleep", "600")
            self.await_state(job, "running")
            self.kill_server()
        self.start()
        self.assertEqual(self.job(job)["state"], "running")

    def test_of_other_gpus_starts(self):
        self.start()
        self.settings = self.write("nvml2", "gpus = 1\nmemory_used = 0\nprocesses =\n")
        self.socket, self.state = self.folder / "other" / "s", self.folder / "other" / "state"
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.start()

    def test_of_simulated_gpus_starts(self):
        self.start()
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)
        self.socket, self.state = self.folder / "other" / "s", self.folder / "other" / "state"
        self.start("--simulated", "2xA100-40")

    def test_of_simulated_gpus_has_a_folder_of_its_own_and_not_the_socket(self):
        self.start()
        self.refuses("serve", "--simulated", "1xA100-40", says=f"a server already listens on {self.socket}")
        states = self.folder / ".local" / "state"
        self.assertEqual([folder.name for folder in states.iterdir()], ["carpool-simulated"])

    def test_that_finds_the_socket_taken_leaves_the_folder_to_any_kind_of_server(self):
        self.start("--simulated", "1xA100-40")
        state = self.folder / "other" / "state"
        self.refuses("serve", "--simulated", "1xA100-40", "--state", state, says="already listens")
        self.assertEqual(list(state.iterdir()), [])
        self.stop_server()
        self.state = state
        self.start()

    def test_of_simulated_gpus_leaves_the_jobs_of_a_real_one_alone(self):
        self.start()
        job = self.submit("--mem", "1G", "--hold", "--", "true")
        self.stop_server()
        self.refuses("serve", "--simulated", "1xA100-40", "--state", self.state,
                     says="holds the jobs of a server that runs them")
        self.start()
        self.assertEqual(self.job(job)["state"], "held")

    def test_never_runs_simulated_jobs(self):
        self.start("--simulated", "1xA100-40")
        self.submit("--mem", "1G", "--hold", "--", "true")
        self.stop_server()
        self.refuses("serve", "--state", self.state, says="the folder of a server that simulates its GPUs")
        self.start("--simulated", "1xA100-40")

    def test_is_found_by_doctor(self):
        first = self.start()
        checks = {check["name"]: check for check in cli.strict_json(
            self.carpool("doctor", "--json").stdout)["checks"]}
        self.assertIn(f"process {first.pid}", checks["server"]["found"])
        self.assertEqual(checks["server"]["state"], "ok")
        self.assertEqual(checks["access to the server"]["found"], str(self.socket))


@AS_ROOT
class OtherUsers(server.ServerTest):
    """Servers of root and of nobody, who is in no group."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        os.chmod(self.runtime, 0o711)
        self.mine = self.folder / "mine"
        self.mine.mkdir()
        os.chown(self.mine, 65534, 65534)
        self.addCleanup(self.remove_claims)

    def remove_claims(self):
        for file in pathlib.Path("/run/carpool/gpus").glob("GPU-fake-*"):
            with contextlib.suppress(OSError):
                if str(self.socket) in file.read_text():
                    file.unlink()

    def as_nobody(self, *arguments):
        def change():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        surroundings = self.surroundings(CARPOOL_SOCKET=str(self.mine / "s"), XDG_RUNTIME_DIR=str(self.mine))
        return subprocess.Popen(
            [cli.PROGRAM, *map(str, arguments)], cwd=self.mine, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=change,
            env=cli.environment(self.mine, **surroundings))

    def start_system(self):
        return self.start("--system", "--group", "daemon", "--socket", str(self.socket))

    def said(self, process):
        return process.communicate(timeout=cli.TIMEOUT_S)[0]

    def test_a_user_cannot_keep_the_server_of_the_machine_from_starting(self):
        personal = self.as_nobody("serve")
        self.addCleanup(personal.wait)
        self.addCleanup(personal.kill)
        server.until((self.mine / "s").exists, "the personal server")
        name = pwd.getpwuid(65534).pw_name
        told = self.refuses("serve", "--state", self.folder / "roots")
        self.assertIn(f"the server of user {name} (process {personal.pid}: ", told)
        first = self.start_system()
        log = (self.folder / "server.log").read_text()
        self.assertIn(f"was managed by the server of user {name} (process {personal.pid}: ", log)
        words = self.said(personal)
        self.assertEqual(personal.returncode, 2, words)
        self.assertIn(f"the server of this machine (process {first.pid}, socket {self.socket})", words)
        again = self.as_nobody("serve")
        self.assertIn(f"carpool submit --socket {self.socket} -- COMMAND", self.said(again))
        self.assertEqual(again.returncode, 2)

    def test_the_server_of_the_machine_restarts_at_once_after_a_kill(self):
        self.start_system()
        self.kill_server()
        self.start_system()
        self.stop_server()
        self.start()

    def test_who_is_not_in_the_group_is_told_what_to_ask_for(self):
        self.start_system()
        name = pwd.getpwuid(65534).pw_name
        for command in (("queue",), ("submit", "--", "true"), ("history",)):
            asked = self.as_nobody(*command, "--socket", self.socket) if command[0] != "submit" else (
                self.as_nobody("submit", "--socket", self.socket, "--", "true"))
            words = self.said(asked)
            self.assertIn(f"user {name} is not a member of the group daemon", words)
            self.assertIn(f"`usermod -aG daemon {name}`", words)
            self.assertEqual(asked.returncode, 1, words)


if __name__ == "__main__":
    unittest.main()
