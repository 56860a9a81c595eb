"""Two users and the system server of root: neither sees, changes, delays or harms what belongs to the other.

Each check answers with the breaches that it found, in words.
"""

import fcntl
import http.client
import json
import os
import pathlib
import signal
import stat
import subprocess
import time

import faults
import ledger
import namespace
from instance import ENDED, Died, Instance, until

A, B = 0, 1
NAME, VALUE, ROOT_VALUE = "ccsecretname", "ccsecretvalue", "ccrootsecret"
PATIENCE_S = 20
NOT_OTHERS = ("show", "explain", "logs", "wait")
VERBS = ("cancel", "hold", "release", "requeue")


class Scene:
    """The server, and a running job of user B with a name, an argument and a variable that are secret."""

    def __init__(self, places, seed):
        self.instance = Instance(places, seed, gpus=1, options=("--system", "--group", namespace.GROUP),
                                 variables={"CC_ROOT": ROOT_VALUE})
        accounts = namespace.Accounts(self.instance.folder, 2)
        self.instance.wrap = namespace.wrap([(accounts.passwd, "/etc/passwd"), (accounts.group, "/etc/group")])

    def submit(self, user, script, **keys):
        env = {"PATH": os.environ["PATH"], "LEDGER": str(self.instance.ledger), "SECRET": VALUE}
        text = namespace.answer_as(namespace.uid_of(user), lambda: str(self.instance.submit(script, env=env, name=NAME, **keys)[0]))
        return int(text)

    def ask(self, user, method, path, body=None):
        """(status, text) as this user; status 0: no answer in time."""
        def send():
            try:
                status, answer = self.instance.request(method, path, body, timeout=5)
            except (OSError, http.client.HTTPException) as problem:
                status, answer = 0, str(problem).encode()
            return json.dumps([status, answer.decode(errors="replace")])
        return json.loads(namespace.answer_as(namespace.uid_of(user), send))

    def begun(self, job, patience=PATIENCE_S):
        return until(lambda: any(line.job == job for line in ledger.read(self.instance.ledger)), patience)

    def ended(self, job, patience=PATIENCE_S):
        return until(lambda: (view := self.instance.job(job))["state"] in ENDED and view, patience)


def secrets_in(text):
    return [secret for secret in (NAME, VALUE, ROOT_VALUE) if secret in text]


def cannot_see(scene, job):
    for path in ("/v1/jobs?all=1", "/v1/queue?all=1", "/v1/history?all=1&commands=1", "/v1/gpus", "/v1/status", "/metrics",
                 *(f"/v1/jobs/{job}{'' if what == 'show' else '/' + what}" for what in NOT_OTHERS)):
        status, text = scene.ask(A, "GET", path)
        if found := secrets_in(text):
            yield f"GET {path} shows {found}"
        if path.startswith(f"/v1/jobs/{job}") and status != 403:
            yield f"GET {path} answers {status} to another user"


def cannot_change(scene, job):
    for verb in VERBS:
        status, _ = scene.ask(A, "POST", f"/v1/jobs/{job}/{verb}", "{}")
        if status != 403:
            yield f"{verb} answers {status} to another user"
    if scene.ask(A, "POST", "/v1/drain", '{"drain": true}')[0] != 403:
        yield "drain is open to every user"
    if (state := scene.instance.job(job)["state"]) != "running":
        yield f"the job of the other user is {state}"


def everything_below(*folders):
    for folder in folders:
        yield folder
        for place, folders_in_it, files in os.walk(folder):
            yield from (pathlib.Path(place) / name for name in (*folders_in_it, *files))


def mode_of(path):
    """None: the server has removed the file, as it does with the copy that becomes its backup."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def opened_by(uid, paths):
    """Paths that this user can open although they are not the user's own, with how."""
    def attempt():
        found = []
        for path in paths:
            for how, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY)):
                try:
                    file = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
                except OSError:
                    continue
                if os.fstat(file).st_uid != uid:
                    found.append([str(path), how])
                os.close(file)
        return json.dumps(found)
    return json.loads(namespace.answer_as(uid, attempt))


def cannot_open(scene, _):
    instance = scene.instance
    paths = [path for path in everything_below(instance.state, instance.runtime) if not path.is_socket()]
    for path, how in opened_by(namespace.uid_of(A), paths):
        yield f"another user can {how} {path[len(str(instance.folder)):]}"
    for path in paths:
        mode = mode_of(path)
        if mode is not None and not stat.S_ISLNK(mode) and mode & 0o022 and not mode & stat.S_ISVTX:
            yield f"mode {stat.S_IMODE(mode):o} of {str(path)[len(str(instance.folder)):]}"


def lock_holder(scene, paths):
    """A process of user A that locks whatever it can open and then waits."""
    def hold():
        files = []
        for path in paths:
            for flags in (os.O_RDWR, os.O_RDONLY):
                try:
                    file = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
                    files.append(file)
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    continue
        signal.pause()
    return namespace.as_user(namespace.uid_of(A), hold)


def cannot_freeze(scene, _):
    instance = scene.instance
    paths = [path for path in everything_below(instance.state, instance.runtime) if path.is_file() or path.is_dir()]
    holder = lock_holder(scene, paths)
    try:
        time.sleep(0.3)
        job = scene.submit(B, ledger.sleeping(0.1), mem="1G")
        if not scene.begun(job, 10):
            yield "a job does not begin within 10 s while another user locks what it can open"
            os.kill(holder, signal.SIGKILL)
        if not scene.ended(job):
            yield "a job does not end after that"
    finally:
        faults.send(holder, signal.SIGKILL)
        os.waitpid(holder, 0)


def environment_is_own(scene, job):
    """Neither B's job and helpers hold root's environment, nor can A read theirs."""
    instance = scene.instance
    processes = faults.Processes(instance)
    helpers = [*processes.others("keeper"), *processes.others("mps-daemon"), *processes.others("child")]
    leaders = [pid for victim in processes.supervisors() if (pid := processes.leader(victim.run))]
    for kind, pid in [*((victim.kind, victim.pid) for victim in helpers), *(("leader", pid) for pid in leaders)]:
        try:
            if ROOT_VALUE.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                yield f"the environment of root is in that of a {kind} of the user"
        except OSError:
            continue
    everyone = [victim.pid for victim in (*helpers, *processes.supervisors())] + [instance.server.pid]
    for pid in everyone:
        words = b" ".join(faults.arguments(pid)).decode(errors="replace")
        if VALUE in words or ROOT_VALUE in words:
            yield "a secret is in the arguments of a process, which every user can read"
    for path, _ in opened_by(namespace.uid_of(A), [f"/proc/{pid}/environ" for pid in everyone]):
        yield f"another user can read {path}"


def outputs_are_own(scene, _):
    job = scene.submit(B, ledger.script("echo out; echo trouble > /dev/stderr; id -u"))
    view = scene.ended(job)
    if not view or view["state"] != "succeeded":
        yield f"a job that writes to /dev/stderr: {view and view.get('reason')}"
    for name in ("stdout", "stderr"):
        file = scene.instance.state / "runs" / f"{job}.1" / name
        if file.exists() and file.stat().st_uid != namespace.uid_of(B):
            yield f"{name} belongs to user {file.stat().st_uid} instead of the user of the job"


def reused_pid_survives(scene, _):
    """A killed supervisor, and the number of the job's first process given to a process of another user meanwhile."""
    instance = scene.instance
    job = scene.submit(B, ledger.beating(30))
    if not scene.begun(job):
        yield "a job does not begin"
        return
    # Its session and process group have the number of its process, as those of a login have.
    innocent = subprocess.Popen(["sleep", "300"], start_new_session=True,
                                cwd="/", preexec_fn=lambda: os.setresuid(*[namespace.uid_of(A)] * 3))
    try:
        processes = faults.Processes(instance)
        supervisor = next((victim for victim in processes.supervisors() if victim.job == job), None)
        instance.kill()
        leader = instance.state / "runs" / f"{job}.1" / "leader"
        record = json.loads(leader.read_text())
        faults.send(supervisor.pid, signal.SIGKILL)
        faults.send(record["pid"], signal.SIGKILL)
        leader.write_text(json.dumps({**record, "pid": innocent.pid}))
        instance.start()
        until(lambda: len(instance.job(job)["attempts"]) > 1 or instance.job(job)["state"] in ENDED, PATIENCE_S)
        instance.request("POST", f"/v1/jobs/{job}/cancel", "{}")
        scene.ended(job)
        if innocent.poll() is not None:
            yield "a process that got the number of a job's process was killed"
    finally:
        innocent.kill()
        innocent.wait()


CHECKS = {"cannot see": cannot_see, "cannot change": cannot_change, "cannot open files": cannot_open,
          "environment": environment_is_own, "cannot freeze": cannot_freeze, "outputs": outputs_are_own, "reused process number": reused_pid_survives}


def run(settings, progress):
    targets = {"breaches": 0}
    if why := namespace.possible():
        return {"skipped": why, "targets": targets, "met": True}
    scene, rows = Scene(settings.places, settings.seed * 100), {}
    try:
        scene.instance.start()
        job = scene.submit(B, ledger.beating(120))
        beside = scene.submit(B, ledger.beating(120))  # both share the GPU, under MPS
        for number in (job, beside):
            scene.begun(number)
        for name, check in CHECKS.items():
            progress.tell(name)
            if name == "cannot freeze":  # makes room on the GPU for further jobs under MPS
                scene.ask(B, "POST", f"/v1/jobs/{beside}/cancel", "{}")
                scene.ended(beside)
            rows[name] = sorted(set(check(scene, job)))
    except Died as problem:
        rows["server"] = [str(problem)[-400:]]
    finally:
        progress.end()
        scene.instance.close()
    breaches = sum(len(found) for found in rows.values())
    return {"checks": len(rows), "breaches": breaches, "targets": targets, "met": breaches == 0,
            "words": [f"{name}: {words}" for name, found in rows.items() for words in found]}
