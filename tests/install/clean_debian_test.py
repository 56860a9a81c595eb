#!/usr/bin/env python3
"""The Debian package in a clean Debian 12: install, use, upgrade while a job runs, purge.

Usage: clean_debian_test.py [--record FILE] BUILD FAKE_NVML
"""

import json
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIRROR = "http://deb.debian.org/debian"
INSIDE = "CARPOOL_INSTALL_TEST_INSIDE"  # set in the namespaces of the test
PATIENCE_S = 120
MOST_CPU_S = 20  # of the installation; the time on the clock depends on the network and on other processes
# What a purge leaves: history and outputs of jobs. docs/install.md says so.
KEPT = "/var/lib/carpool"
OF_THE_GROUP = {"/etc/gshadow-"}  # a copy that groupadd makes; the group stays too
# Places where programs of Debian keep caches, logs and lists.
NOT_COMPARED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log",
                "/fake", "/packages", "/usr/bin/systemctl", "/root")

# With the server, does what systemd does with KillMode=process.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/var/log/systemctl
server=$(cat /run/server.pid 2>/dev/null)
runs() { [ -n "$server" ] && [ -e "/proc/$server/exe" ]; }
stop() { ! runs || kill "$server"; while runs; do sleep 0.05; done; }
start() {
  command=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/carpool.service | sed 's/ \\$.*//')
  LD_LIBRARY_PATH=/fake CARPOOL_FAKE_NVML=/fake/nvml.txt setsid $command </dev/null >>/var/log/carpool.log 2>&1 &
  echo $! >/run/server.pid
}
case " $* " in
  *" is-active "*) runs ;;
  *" start carpool.service "*) start ;;
  *" restart carpool.service "*) stop; start ;;
  *" stop carpool.service "*) stop ;;
esac
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(0)


def command(*words, **options):
    done = subprocess.run(list(map(str, words)), text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def make_base(tar):
    """A clean Debian 12 with the lists of its packages, made once."""
    with tempfile.TemporaryDirectory(dir=tar.parent) as folder:
        try:
            command("debootstrap", "--variant=minbase", "bookworm", f"{folder}/root", MIRROR)
        except AssertionError as problem:
            skip(f"debootstrap cannot make a Debian 12: {problem}")
        made = tar.with_suffix(".new")
        command("tar", "-C", f"{folder}/root", "-cf", made, ".")
        made.rename(tar)


class CleanDebian(unittest.TestCase):
    build = fakes = record = None

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="carpool-debian-")
        self.addCleanup(made.cleanup)
        self.root = pathlib.Path(made.name)
        command("tar", "-C", self.root, "-xf", self.build / "debian-12.tar")
        mounts = ((("--types", "proc", "proc"), "proc"), (("--rbind", "/dev"), "dev"),
                  (("--types", "tmpfs", "tmpfs"), "run"))
        for what, where in mounts:
            command("mount", *what, self.root / where)
            self.addCleanup(command, "umount", "--lazy", "--recursive", self.root / where)
        shutil.copy("/etc/resolv.conf", self.root / "etc" / "resolv.conf")

    def inside(self, *words, **more):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive", **more}
        return command("chroot", self.root, *words, env=environment)

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            self.assertLess(time.monotonic(), end, f"waited for {what}")
            time.sleep(0.1)
        return value

    def make_packages(self):
        packages = self.root / "packages"
        version = (ROOT / "VERSION").read_text().strip()
        for one in (version, f"{version}+1"):
            command(ROOT / "scripts" / "package.sh", self.build, packages, one)
        return [f"/packages/{path.name}" for path in sorted(packages.iterdir(), key=lambda path: len(path.name))]

    def files(self):
        """Every file of the root, except where Debian keeps caches and logs."""
        found = command("find", self.root, "-xdev", "(", "-type", "f", "-o", "-type", "l", "-o", "-type", "d", ")")
        names = {name.removeprefix(str(self.root)) for name in found.splitlines()}
        return {name for name in names if not name.startswith(NOT_COMPARED)}

    def owned(self):
        lists = (self.root / "var/lib/dpkg/info").glob("*.list")
        names = {name for path in lists for name in path.read_text().splitlines()}
        return names | {f"/usr{name}" for name in names}  # /lib is a link to /usr/lib

    def install(self, package):
        self.inside("apt-get", "-q", "update")
        # Downloads first, so that the time to install can be told apart from them.
        times = [time.monotonic()]
        self.inside("apt-get", "-qy", "install", "--no-install-recommends", "--download-only", package)
        times.append(time.monotonic())
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.inside("apt-get", "-qy", "install", "--no-install-recommends", package)
        times.append(time.monotonic())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {"download_s": round(times[1] - times[0], 2), "install_s": round(times[2] - times[1], 2),
                "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)}

    def start_server(self):
        shutil.copytree(self.fakes, self.root / "fake")
        (self.root / "fake" / "nvml.txt").write_text(
            f"gpus = 1\nuuid = GPU-{os.getpid() % 0xFFFF:04x}fefe-fefe-fefe-fefe-fefefefefe00\nmemory_used = 0\n"
            "processes =\n")
        systemctl = self.root / "usr/bin/systemctl"
        systemctl.write_text(SYSTEMCTL)
        systemctl.chmod(0o755)
        (self.root / "run/systemd/system").mkdir(parents=True)
        self.inside("systemctl", "start", "carpool.service")
        self.until(self.server_answers, "the server: " + (self.root / "var/log/carpool.log").read_text())

    def server_answers(self):
        try:
            return self.inside("carpool", "queue", "--json")
        except AssertionError:
            return None

    def job(self, number):
        return json.loads(self.inside("carpool", "show", str(number), "--json"))

    def start_job(self):
        self.inside("carpool", "submit", "--mem", "1G", "--", "sh", "-c", "echo $$ >/run/job.pid; exec sleep 600")
        pid = self.root / "run/job.pid"
        self.until(lambda: pid.exists() and pid.read_text().strip(), "the job to start")
        return int(pid.read_text())

    def upgrade_with_a_running_job(self, package):
        job = self.start_job()
        server = (self.root / "run/server.pid").read_text()
        self.inside("dpkg", "--install", package)
        self.assertIn("restart carpool.service", (self.root / "var/log/systemctl").read_text())
        self.assertNotEqual((self.root / "run/server.pid").read_text(), server)
        self.until(self.server_answers, "the server after the upgrade")
        self.until(lambda: self.job(1)["state"] == "running", "the job to be found")
        self.assertEqual(len(self.job(1)["attempts"]), 1)
        self.assertTrue(pathlib.Path(f"/proc/{job}/exe").exists())
        self.inside("carpool", "cancel", "1")
        self.until(lambda: self.job(1)["state"] == "cancelled", "the job to end")

    def test_install_use_upgrade_and_purge(self):
        first, second = self.make_packages()
        before = self.files()
        measured = self.install(first)
        self.assertLessEqual(measured["cpu_s"], MOST_CPU_S)
        version = (ROOT / "VERSION").read_text().strip()
        self.assertEqual(self.inside("carpool", "--version"), f"carpool {version}\n")
        self.assertIn("carpool:", self.inside("getent", "group", "carpool"))
        self.assertIn("kace-v100", self.inside("carpool", "dataset"))
        self.inside("sh", "-c", "cd /root && carpool demo")
        self.start_server()
        self.upgrade_with_a_running_job(second)
        self.assertEqual(self.inside("carpool", "--version"), f"carpool {version}\n")
        said = self.inside("apt-get", "-qy", "purge", "carpool")
        self.assertIn(f"{KEPT}, which holds the history and the outputs of jobs, is kept", said)
        self.assertIn("stop carpool.service", (self.root / "var/log/systemctl").read_text())
        left = {name for name in self.files() - before - self.owned() if not name.startswith(KEPT)}
        self.assertEqual(left - OF_THE_GROUP, set())
        print(json.dumps(measured))
        if self.record:
            pathlib.Path(self.record).write_text(json.dumps({
                "what": "the Debian package installed in a clean Debian 12 (debootstrap, minbase)",
                "command": "tests/install/clean_debian_test.py --record FILE BUILD FAKE_NVML",
                "machine": f"{os.cpu_count()} cores, {platform.machine()}", **measured}, indent=1) + "\n")


def enter_namespaces():
    """Runs this program again where its mounts and processes end with it."""
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv],
        env={**os.environ, INSIDE: "1"}, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    if os.getuid() != 0:
        skip("only root can make a root folder")
    for tool in ("debootstrap", "unshare", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode != 0:
        skip("namespaces cannot be made here")
    if INSIDE not in os.environ:
        enter_namespaces()
    CleanDebian.fakes = sys.argv.pop()
    CleanDebian.build = pathlib.Path(sys.argv.pop()).resolve()
    if "--record" in sys.argv:
        at = sys.argv.index("--record")
        CleanDebian.record = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    if not (CleanDebian.build / "debian-12.tar").exists():
        make_base(CleanDebian.build / "debian-12.tar")
    unittest.main()
