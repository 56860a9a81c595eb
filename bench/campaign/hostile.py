"""Hostile requests at a server for all users: its memory stays bounded, and root and another user are answered meanwhile."""

import contextlib
import hashlib
import http.client
import json
import os
import pwd
import signal
import socket
import subprocess
import time

import attacks
import namespace
import parallel
from instance import ENDED, Died, Instance, ROOT, until

MEMORY_MB = 300
GIVE_UP_MB = 2500      # the server is killed before it harms the machine
TOKEN = "campaign-0123456789abcdef"
BYSTANDER = 9          # number of the user who does nothing wrong


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Target:
    """A server that the campaign attacks: for all users where it can be, else a personal one."""

    def __init__(self, places, seed):
        self.instance, self.port = Instance(places, seed, gpus=1), free_port()
        self.many = not namespace.possible()
        tokens = self.instance.folder / "tokens"
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        tokens.write_text(f"sha256:{digest} {pwd.getpwuid(os.geteuid()).pw_name}\n")
        os.chmod(tokens, 0o600)
        self.instance.options = ["--listen", f"127.0.0.1:{self.port}", "--tokens", str(tokens)]
        if self.many:
            accounts = namespace.Accounts(self.instance.folder, BYSTANDER + 1)
            self.instance.wrap = namespace.wrap([(accounts.passwd, "/etc/passwd"), (accounts.group, "/etc/group")])
            self.instance.options += ["--system", "--group", namespace.GROUP]

    def uid(self, number):
        return namespace.uid_of(number) if self.many else os.geteuid()

    def talkative_job(self):
        """A job of the first attacker whose output is large."""
        def send():
            return str(self.instance.submit("head -c 20000000 /dev/zero")[0])
        number = int(namespace.answer_as(self.uid(0), send) if self.many else send())
        until(lambda: (self.instance.job(number) or {}).get("state") in ENDED, 30)
        return number


def ask_by_token(target, path):
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=10)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().status
    finally:
        connection.close()


def poll(target, by_token, until_s):
    """The slowest answer in seconds, the number of failures and the first of them, as JSON."""
    slowest, failures, count, first = 0.0, 0, 0, ""
    while time.monotonic() < until_s:
        path = "/v1/status" if count % 2 else "/healthz"
        began = time.monotonic()
        try:
            status = ask_by_token(target, path) if by_token else target.instance.request("GET", path, timeout=10)[0]
            problem = "" if status == 200 else f"status {status}"
        except (OSError, http.client.HTTPException) as error:
            problem = repr(error)
        failures, first = failures + bool(problem), first or problem
        slowest = max(slowest, time.monotonic() - began)
        count += 1
        time.sleep(0.05)
    return json.dumps([slowest, failures, first])


def pollers(target, end):
    """Pipes from three children, root, a bystander, and root by TCP with a token, that write what poll() says."""
    for uid, by_token in ((0, False), (target.uid(BYSTANDER) if target.many else 0, False), (0, True)):
        reader, writer = os.pipe()

        def tell(writer=writer, by_token=by_token):
            os.write(writer, poll(target, by_token, end).encode())
        pid = namespace.as_user(uid, tell)
        os.close(writer)
        yield pid, reader


def attackers(target, kind, end, seed, job, bomb_mib):
    attack, users = attacks.KINDS[kind]
    aim = attacks.Aim(str(target.instance.socket), target.port, job, end, seed, bomb_mib)

    def work():
        os.nice(10)  # the machine is shared: what is measured is the server
        attack(aim)
    return [namespace.as_user(target.uid(i) if target.many else 0, work) for i in range(users)]


def watch(instance, end):
    """Waits for the end of the attack; kills a server that would take all memory. The peak in MB."""
    peak = 0.0
    while time.monotonic() < end and instance.server.poll() is None:
        peak = max(peak, instance.memory("VmHWM"))
        if instance.memory("VmRSS") > GIVE_UP_MB:
            instance.server.kill()
            return peak, f"killed at {peak:.0f} MB"
        time.sleep(0.05)
    if instance.server.poll() is not None:
        return peak, f"the server died: exit code {instance.server.returncode}: {instance.said(300)}"
    return max(peak, instance.memory("VmHWM")), ""


def stops_in(instance, patience):
    """Seconds that the server takes to end after SIGTERM; None: longer than `patience`."""
    began = time.monotonic()
    instance.server.send_signal(signal.SIGTERM)
    try:
        instance.server.wait(patience)
        return round(time.monotonic() - began, 2)
    except subprocess.TimeoutExpired:
        return None


def one(kind, places, seed, seconds, answer_s, stop_s, bomb_mib):
    target = Target(places, seed)
    instance, own = target.instance, []
    try:
        instance.start()
        job = target.talkative_job()
        end = time.monotonic() + seconds
        # The attack goes on while the server is asked to stop: it may not hold it.
        own = attackers(target, kind, end + stop_s, seed, job, bomb_mib)
        heard = list(pollers(target, end))
        own += [pid for pid, _ in heard]
        peak, trouble = watch(instance, end)
        answers = []
        for _, reader in heard:
            with open(reader, "rb") as pipe:
                answers.append(json.loads(pipe.read()))
        *local, by_token = answers
        slowest, failures = max(answer[0] for answer in local), sum(answer[1] for answer in local)
        words = [text for text in (trouble, *(f"not answered: {answer[2]}" for answer in local if answer[2])) if text]
        stopped = None if trouble else stops_in(instance, stop_s)
        # With one user only, attackers and bystanders have the same share.
        answered = not target.many or slowest <= answer_s and failures == 0
        met = not trouble and peak <= MEMORY_MB and answered and stopped is not None
        return {"kind": kind, "peak_mb": round(peak, 1), "slowest_answer_s": round(slowest, 3), "failed_answers": failures,
                "slowest_by_token_s": round(by_token[0], 3), "failed_by_token": by_token[1], "stopped_s": stopped, "server_died": int(bool(trouble)), "met": met, "words": words}
    except (Died, OSError) as problem:
        return {"kind": kind, "peak_mb": None, "slowest_answer_s": None, "failed_answers": 1, "stopped_s": None,
                "server_died": 1, "met": False, "words": [str(problem)[-400:]]}
    finally:
        for pid in own:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        instance.close()


def run(settings, progress):
    kinds = settings.hostile_kinds
    at_once = max(1, min(2, (os.cpu_count() or 1) // 4))
    rows = parallel.each(one, [(kind, settings.places, settings.seed * 100 + i, settings.hostile_seconds, settings.answer_s,
                                settings.stop_s, settings.bomb_mib) for i, kind in enumerate(kinds)], at_once, progress)
    worst = {name: max((row[name] for row in rows if row[name] is not None), default=None) for name in ("peak_mb", "slowest_answer_s")}
    return {"kinds": len(rows), "seconds_each": settings.hostile_seconds, **worst, "failed_answers": sum(r["failed_answers"] for r in rows),
            "server_died": sum(row["server_died"] for row in rows), "never_stopped": sum(row["stopped_s"] is None for row in rows),
            "failed_by_token": sum(row.get("failed_by_token", 0) for row in rows),
            "targets": {"peak_mb": MEMORY_MB, "slowest_answer_s": settings.answer_s, "failed_answers": 0, "server_died": 0,
                        "never_stopped": 0}, "met": all(row["met"] for row in rows), "rows": rows}
