"""The ledger that jobs write about themselves, and the judgement of it.

Each line is one write to a file that is open for appending, so the order of the lines is the order in
which things happened:

    begin|beat|end JOB ATTEMPT PID BOOT_SECONDS [EXIT_CODE]

The judge compares the ledger with what clients were told (acknowledged jobs and requests) and with what the
server shows at the end. The server's own journal is not consulted.
"""

import dataclasses

SAY = ('say() { read -r now rest < /proc/uptime; '
       'echo "$1 $CARPOOL_JOB_ID $CARPOOL_ATTEMPT $$ $now $2" >> "$LEDGER"; }; ')


def script(body, code=0):
    """A shell script that writes its beginning and its end around the body."""
    return f"{SAY}say begin; {body}; say end {code}; exit {code}"


def sleeping(seconds):
    return script(f"sleep {seconds}")


def beating(seconds):
    """Writes a line ten times a second."""
    return script(f'i=0; while [ $i -lt {int(seconds * 10)} ]; do say beat; sleep 0.1; i=$((i+1)); done')


def with_children(seconds):
    """A child in a session of its own, without the environment of the job, that outlives the script."""
    child = ('i=0; while [ $i -lt 600 ]; do read -r now rest < /proc/uptime; '
             'echo "beat $J $A $$ $now" >> "$LEDGER"; sleep 0.1; i=$((i+1)); done')
    return script("env -i LEDGER=\"$LEDGER\" J=$CARPOOL_JOB_ID A=$CARPOOL_ATTEMPT setsid sh -c '"
                  + child + f"' & sleep {seconds}")


@dataclasses.dataclass(frozen=True)
class Line:
    what: str
    job: int
    attempt: int
    pid: int
    at_s: float
    code: int | None = None


def read(path):
    """The complete lines of a ledger. A job that was killed cannot leave half a line: one line, one write."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    lines = []
    for words in (line.split() for line in text.splitlines()):
        code = int(words[5]) if len(words) > 5 else None
        lines.append(Line(words[0], int(words[1]), int(words[2]), int(words[3]), float(words[4]), code))
    return lines


@dataclasses.dataclass
class Expected:
    """What a client knows about a job that the server acknowledged."""
    job: int
    kind: str = "plain"
    ends: str = "succeeded"      # succeeded, failed, time-limit, cancelled; any: a request was not answered
    code: int | None = None      # of a job that fails by itself
    retries: int = 0
    losses_left: int = 1         # supervisors that may be killed before the job counts as lost
    failures_left: int = 0       # first processes that may be killed before the job counts as failed
    requeues: int = 0            # requests, answered or not


@dataclasses.dataclass
class Verdict:
    lost: list = dataclasses.field(default_factory=list)
    twice: list = dataclasses.field(default_factory=list)
    stuck: list = dataclasses.field(default_factory=list)
    wrongly_failed: list = dataclasses.field(default_factory=list)

    def counts(self):
        return {name: len({number for number, _ in found}) for name, found in dataclasses.asdict(self).items()}

    def words(self):
        return [f"{name}: job {number}: {why}" for name, found in dataclasses.asdict(self).items()
                for number, why in found]


def run_twice(lines, reported, expected):
    """Pairs (job, why). `reported`: (job, attempt) whose supervisor recorded success."""
    begun, latest, done = set(), {}, set()
    for line in lines:
        attempt = (line.job, line.attempt)
        if line.what == "begin":
            if attempt in begun:
                yield line.job, f"attempt {line.attempt} began twice"
            known = expected.get(line.job)
            if line.job in done and (known is None or known.requeues == 0):
                yield line.job, f"attempt {line.attempt} began although an earlier one had succeeded"
            begun.add(attempt)
            latest[line.job] = max(line.attempt, latest.get(line.job, 0))
        elif line.attempt < latest.get(line.job, 0):
            yield line.job, (f"process {line.pid} of attempt {line.attempt} ran beside attempt "
                             f"{latest[line.job]}")
        if line.what == "end" and line.code == 0 and attempt in reported:
            done.add(line.job)


def wrong_end(known, view):
    """Why the end that the server shows is not the one that the job earned; empty where it is."""
    end = view.get("end") or view["state"]
    if known.ends == "any" or end == known.ends and known.ends != "failed":
        return ""
    if known.ends == "failed" and end == "failed" and view.get("exit_code") == known.code:
        return ""
    return f"{known.kind}: {end} instead of {known.ends}: {view.get('reason', '')}"


def judge(lines, expected, views, reported=frozenset()):
    """`expected`: Expected by number; `views`: the job as the server shows it, None where it knows none."""
    verdict = Verdict()
    verdict.twice = list(dict.fromkeys(run_twice(lines, reported, expected)))
    ran = {line.job for line in lines if line.what == "end" and line.code == 0}
    for number, known in expected.items():
        view = views.get(number)
        if view is None:
            verdict.lost.append((number, "acknowledged, and unknown to the server"))
        elif view["state"] not in ("succeeded", "failed", "cancelled"):
            verdict.stuck.append((number, f"{known.kind}: {view['state']}: {view.get('reason', '')}"))
        elif view["state"] == "succeeded" and number not in ran:
            verdict.lost.append((number, "reported as succeeded, and never ran to its end"))
        elif view["state"] == "succeeded" and known.ends == "cancelled":
            verdict.lost.append((number, "its cancellation was acknowledged and forgotten"))
        elif why := wrong_end(known, view):
            verdict.wrongly_failed.append((number, why))
    return verdict
