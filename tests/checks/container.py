#!/usr/bin/env python3
"""packaging/Dockerfile: what it copies and runs exists, and Debian 12 has the packages that it installs."""

import fnmatch
import pathlib
import re
import shutil
import subprocess

import dependencies_documented
import tree

DOCKERFILE = "packaging/Dockerfile"
SCRIPT = re.compile(r"(?<![\w/.])(scripts/[\w./-]+)")
INSTALL = re.compile(r"apt-get install ([^&]*)")
ENSURE = re.compile(r"scripts/packages\.sh ensure ((?:[a-z]+ ?)+)")


def instructions(path):
    """(line, instruction), with continued lines joined."""
    text, first = "", 0
    for number, line in tree.numbered_lines(path):
        if line.startswith("#") and not text:
            continue
        first = first if text else number
        text += line.removesuffix("\\")
        if not line.endswith("\\"):
            if text.strip():
                yield first, text
            text = ""


def ignored(root, name):
    """Whether .dockerignore keeps a file out of the build."""
    path = root / ".dockerignore"
    rules = path.read_text(encoding="utf-8").split() if path.exists() else []
    parts = pathlib.PurePosixPath(name).parts
    places = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(fnmatch.fnmatch(place, rule.strip("/")) for rule in rules for place in places)


def files_of(root, line, text):
    words = text.split()
    if words[0] == "COPY" and not words[1].startswith("--from"):
        wanted = words[1:-1]
    else:
        wanted = SCRIPT.findall(text) if words[0] == "RUN" else []
    for name in wanted:
        if not (root / name).exists():
            yield root / DOCKERFILE, line, f"{name} does not exist"
        elif ignored(root, name):
            yield root / DOCKERFILE, line, f"{name} is kept out by .dockerignore"


def packages_of(root, line, text):
    """The packages that it installs, by name and by section; of a section that is unknown, a finding."""
    for name in (word for match in INSTALL.findall(text) for word in match.split()):
        if name[0] not in "-/":
            yield name, (root / DOCKERFILE, line, f"Debian 12 has no package {name}")
    listed = dependencies_documented.listed(root / "scripts" / "packages.txt")
    for section in (word for match in ENSURE.findall(text) for word in match.split()):
        packages = [package for known, package in listed if known == section]
        if not packages:
            yield None, (root / DOCKERFILE, line, f"scripts/packages.txt has no section [{section}]")
        for package in packages:
            yield package, (root / "scripts" / "packages.txt", listed[section, package],
                            f"Debian 12 has no package {package}, which {DOCKERFILE} installs")


def known_packages(names):
    """Those that apt knows; all of them where this is not Debian 12 with lists of packages."""
    release = pathlib.Path("/etc/os-release")
    is_bookworm = release.exists() and "VERSION_CODENAME=bookworm" in release.read_text(encoding="utf-8")
    if not is_bookworm or shutil.which("apt-cache") is None:
        return set(names)
    known = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=False).stdout.split()
    return set(known) if "libc6" in known and "cmake" in known else set(names)


def find(root):
    wanted = []
    for line, text in instructions(root / DOCKERFILE):
        yield from files_of(root, line, text)
        wanted += packages_of(root, line, text)
    known = known_packages([name for name, _ in wanted if name])
    yield from (finding for name, finding in wanted if name not in known)


if __name__ == "__main__":
    tree.run(find, __doc__)
