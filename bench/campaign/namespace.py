"""A system server with users of its own: /etc/passwd, /etc/group and /dev are private to it.

The server runs in a mount namespace where these are bound to files of the instance, which the campaign can change
while the server runs. Needs root.
"""

import contextlib
import grp
import os
import pathlib
import pwd
import stat
import subprocess
import sys
import traceback

FIRST_UID = 64100
GROUP = "cccampaign"
GROUP_ID = 64099
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def user_name(number):
    return f"ccuser{number}"


def uid_of(number):
    return FIRST_UID + number


def free_ids(users):
    """Whether no user of the machine has one of the made-up numbers."""
    taken = {entry.pw_uid for entry in pwd.getpwall()} | {entry.gr_gid for entry in grp.getgrall()}
    return not taken & {GROUP_ID, *(uid_of(i) for i in range(users))}


class Accounts:
    """Made-up users, known to the server of one instance only."""

    def __init__(self, folder, users):
        self.folder, self.users = folder, users
        self.passwd, self.group = folder / "passwd", folder / "group"
        self.known = pathlib.Path("/etc/passwd").read_text()
        self.tell(True)
        self.group.write_text(pathlib.Path("/etc/group").read_text() + f"{GROUP}:x:{GROUP_ID}:\n")

    def tell(self, known):
        """Rewrites the file in place: the server sees it through a bind mount. False: nobody is known."""
        made_up = "".join(f"{user_name(i)}:x:{uid_of(i)}:{GROUP_ID}::/:/bin/sh\n" for i in range(self.users))
        with open(self.passwd, "r+" if self.passwd.exists() else "w", encoding="utf-8") as file:
            file.write(self.known + made_up if known else "")
            file.truncate()


def make_devices(folder):
    """A /dev whose files can be removed. None where devices cannot be made."""
    devices = folder / "dev"
    devices.mkdir()
    for name in DEVICES:
        with contextlib.suppress(OSError):
            there = os.stat(f"/dev/{name}")
            os.mknod(devices / name, stat.S_IFCHR | 0o666, there.st_rdev)
            os.chmod(devices / name, 0o666)
    (devices / "shm").mkdir(mode=0o1777)
    try:
        with open(devices / "null", "wb") as null:
            null.write(b"x")
    except OSError:
        return None
    return devices


def wrap(binds):
    """The words before a command that runs it with these (source, target) mounts."""
    mounts = " && ".join(f"mount --bind '{source}' '{target}'" for source, target in binds)
    return ["unshare", "-m", "sh", "-c", f'mount --make-rprivate / && {mounts} && exec "$@"', "sh"]


def possible():
    """Why a private namespace cannot be made; empty where it can."""
    if os.geteuid() != 0:
        return "needs root"
    done = subprocess.run(["unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount --bind /etc/passwd /etc/passwd"],
                          check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return f"no mount namespace: {done.stderr.strip()}"
    return "" if free_ids(10) else f"users {FIRST_UID} to {uid_of(9)} exist on this machine"


def as_user(uid, work, gid=GROUP_ID):
    """Runs work() in a child with this user's rights; the child's process id. Its exit code is the result of
    work(), 99 after an exception."""
    pid = os.fork()
    if pid != 0:
        return pid
    code = 99
    try:
        if uid != 0:
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        code = work() or 0
    except BaseException:  # nothing may leave the child
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def answer_as(uid, work, gid=GROUP_ID):
    """The text that work() returns, computed with this user's rights."""
    reader, writer = os.pipe()

    def tell():
        os.close(reader)
        with open(writer, "w", encoding="utf-8") as out:
            out.write(work())

    pid = as_user(uid, tell, gid)
    os.close(writer)
    with open(reader, encoding="utf-8") as heard:
        text = heard.read()
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise OSError(f"a step as user {uid} failed: {text[-500:]}")
    return text
