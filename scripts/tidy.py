#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build folder: all of them, or those that changed.

Usage: scripts/tidy.py --every|--changed BUILD_FOLDER

Changed is what differs from the commit where this branch left the main one, or, on the main branch
itself, from the commit before; a changed header stands for the source of the same name. What was
found clean is remembered in the build folder under a hash of the source, of every header of ours
that it reaches, and of the configuration: only what is new is looked at.

With --every, sources that are compiled with the same options are looked at in batches: the headers
that they share, the standard library first of all, are read once for all of them. A batch with a
finding is looked at again source by source, so each finding names its place.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TOOL = "clang-tidy-19"
ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES_OF_BATCH = 32  # as many as the build compiles together, in the same order
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def git(*arguments):
    """The output of a git command; None if it fails (no git, no repository, no such name)."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def base_commit():
    """The merge base with the main branch; on the main branch, the previous commit."""
    head = git("rev-parse", "HEAD")
    for main in ("origin/HEAD", "origin/main", "main"):
        fork = git("merge-base", "HEAD", main)
        if fork and fork != head:
            return fork
    return git("rev-parse", "HEAD~1")


def changed_paths():
    """Paths that differ from the base, committed or not; None if unknown."""
    base = base_commit()
    if base is None:
        return None
    tracked = git("diff", "--name-only", "--diff-filter=d", base)
    untracked = git("ls-files", "--others", "--exclude-standard")
    if tracked is None or untracked is None:
        return None
    return {ROOT / name for name in (tracked + "\n" + untracked).splitlines() if name}


def options_of(entry):
    """The words of a compiler's command, without the source and the object."""
    words = shlex.split(entry["command"])
    output = words.index("-o")
    del words[output : output + 2]
    source = words.index("-c")
    del words[source : source + 2]
    return words


def sources_of(database, build):
    """Sources of this repository in the compilation database, without generated ones: each with the
    options that it is compiled with."""
    entries = json.loads((database / "compile_commands.json").read_text())
    found = {pathlib.Path(entry["directory"], entry["file"]).resolve(): options_of(entry) for entry in entries}
    return {path: found[path] for path in sorted(found) if ROOT in path.parents and build not in path.parents}


def plain_database(build):
    """A tree of its own, of which only the compilation database is used: in that of the build sources
    are compiled in batches and with g++'s precompiled headers. So every source is also seen alone,
    with no more than what it includes."""
    folder = build / "tidy" / "plain"
    subprocess.run(["cmake", "--preset", build.name, "-B", folder, "-DCARPOOL_PRECOMPILE=OFF"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def sources_to_check(sources):
    changed = changed_paths()
    if changed is None:
        print("no earlier commit to compare with: nothing is checked (--every checks all files)")
        return []
    if any(path.name == ".clang-tidy" for path in changed):
        return list(sources)
    stems = {path.with_suffix("") for path in changed if path.suffix == ".hpp"}
    return [path for path in sources if path in changed or path.with_suffix("") in stems]


def reached_files(source):
    """The source and all headers of this repository that it includes, directly or indirectly."""
    reached, waiting = {source}, [source]
    while waiting:
        for name in INCLUDE.findall(waiting.pop().read_text()):
            header = ROOT / "src" / name
            if header.exists() and header not in reached:
                reached.add(header)
                waiting.append(header)
    return sorted(reached)


def digest(source, version):
    content = hashlib.sha256(version.encode())
    settings = [folder / ".clang-tidy" for folder in source.parents if ROOT in (folder, *folder.parents)]
    for path in [*filter(pathlib.Path.exists, settings), *reached_files(source)]:
        content.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return content.hexdigest()


def check(source, database):
    done = subprocess.run(
        [TOOL, "--quiet", "-p", database, source], capture_output=True, text=True, cwd=ROOT
    )
    return done.returncode == 0, done.stdout


def batches_of(waiting, sources):
    """Lists of sources, each with the same options."""
    groups = {}
    for source in waiting:
        groups.setdefault((tuple(sources[source]), source.parent), []).append(source)
    lists = {}
    for (options, _), group in groups.items():
        last = lists.setdefault(options, [[]])
        if last[-1] and len(last[-1]) + len(group) > SOURCES_OF_BATCH:
            last.append([])
        last[-1].extend(group)
    cut = (batch[i : i + SOURCES_OF_BATCH] for group in lists.values() for batch in group
           for i in range(0, len(batch), SOURCES_OF_BATCH))
    return [batch for batch in cut if batch]


def batch_is_clean(batch, options, folder):
    """The sources one behind the other are one source: what a check says of the main file holds for
    each of them."""
    name = hashlib.sha256("\0".join(map(str, batch)).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    together = folder / f"{name}.cpp"
    together.write_text("\n".join(source.read_text() for source in batch))
    try:
        done = subprocess.run([TOOL, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", together, "--", *options[1:]],
                              capture_output=True, text=True, cwd=ROOT)
    finally:
        together.unlink()
    return done.returncode == 0


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in ("--every", "--changed"):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[1]).resolve()
    database = plain_database(build)
    sources = sources_of(database, build)
    if arguments[0] == "--changed":
        sources = sources_to_check(sources)
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    clean_folder = build / "tidy"
    clean_folder.mkdir(exist_ok=True)
    marks = {source: clean_folder / digest(source, version) for source in sources}
    waiting = [source for source in sources if not marks[source].exists()]
    print(f"{len(sources)} files, {len(sources) - len(waiting)} of them already clean")
    batches = batches_of(waiting, sources) if arguments[0] == "--every" else [[source] for source in waiting]

    def look(batch):
        if len(batch) > 1 and batch_is_clean(batch, sources[batch[0]], clean_folder / "batches"):
            return [(source, True, "") for source in batch]
        return [(source, *check(source, database)) for source in batch]

    number = failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(look, batches):
            for source, clean, output in results:
                number += 1
                print(f"[{number}/{len(waiting)}] {source.relative_to(ROOT)} {'ok' if clean else 'FAILED'}", flush=True)
                if clean:
                    marks[source].touch()
                else:
                    failures += 1
                    print(output)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
