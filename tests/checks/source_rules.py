#!/usr/bin/env python3
"""Rules for each file of the tree: size, includes of headers, clocks, unfinished parts, paths."""

import re

import tree

MAX_LINES = 600
MAX_SOURCE_LINES = 320  # of C++ in src/, tests aside
CODE = ("src", "tests", "bench", "cmake", "scripts", "python", "workloads")
CODE_SUFFIXES = (".hpp", ".cpp", ".py", ".sh", ".cmake")
TEXT_SUFFIXES = CODE_SUFFIXES + (".md", ".txt", ".json", ".toml", ".html", ".js", ".css")

# Expensive to compile, so not for headers. Use json_fwd.hpp, Eigen/Core.
HEAVY = re.compile(
    r"#\s*include\s*<(regex|Eigen/(?!Core>|src/)\w+|nlohmann/json\.hpp|CLI/[^>]*|toml\+\+/[^>]*"
    r"|toml\.hpp|spdlog/[^>]*|rapidcheck[^>]*)>"
)

# Code that reads a clock or sleeps cannot be tested exactly.
CLOCK = re.compile(r"::now\s*\(|\bsleep_(for|until)\b|\bclock_gettime\b|\bstd::time\s*\(|\busleep\b")
CLOCKS_ALLOWED = {
    "src/base/": "provides the clock",
    "src/interpose/library/clock.hpp": "in users' processes, without src/base/",
    "tests/fake_clock/": "replaces the clock",
    "bench/": "measures time",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"][^>"]+[>"])', re.MULTILINE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
# At the left margin: indented types are nested.
TYPE = re.compile(r"^(?:struct|class|enum class)\s+(?:alignas\([^)]*\)\s+)?(\w+)[^;]*\{", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace\s+([\w:]+)\s*\{", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home|root|tmp|Users)/\w")


def line_findings(root, path):
    name = str(path.relative_to(root))
    is_cpp = path.suffix in tree.CPP
    clock_allowed = any(name.startswith(prefix) for prefix in CLOCKS_ALLOWED)
    for number, line in tree.numbered_lines(path):
        heavy = HEAVY.search(line) if path.suffix == ".hpp" else None
        if heavy:
            yield path, number, f"<{heavy[1]}> belongs in a .cpp"
        if is_cpp and not clock_allowed and CLOCK.search(line):
            yield path, number, "reads a clock or sleeps; let the caller pass the time"
        if UNFINISHED.search(line):
            yield path, number, "an unfinished part needs an issue: TODO" + "(#12): …"
        if MACHINE_PATH.search(line):
            yield path, number, "a path of one machine"


def own_header_first(root, path, text):
    """A header that is the first include of a source is known to compile by itself."""
    header = path.with_suffix(".hpp")
    if path.suffix != ".cpp" or not header.exists() or root / "src" not in path.parents:
        return
    first = INCLUDE.search(text)
    expected = f'"{header.relative_to(root / "src")}"'
    if first is None or first[1] != expected:
        yield path, 1, f"the first #include is not {expected}"


def types_of(text):
    """The types that a header defines, with their namespace and line."""
    namespace = NAMESPACE.search(text)
    for match in TYPE.finditer(text):
        yield f"{namespace[1] if namespace else ''}::{match[1]}", text.count("\n", 0, match.start()) + 1


def one_definition(root):
    """Two types of one name break the program, and neither compiler nor linker reports it."""
    seen = {}
    for path in tree.files(root, ["src"], (".hpp",)):
        for name, line in types_of(path.read_text(encoding="utf-8")):
            if name in seen:
                yield path, line, f"{name} is defined in {seen[name].relative_to(root)} too"
            seen.setdefault(name, path)


def max_lines(root, path):
    parts = path.relative_to(root).parts
    is_source = parts[0] == "src" and path.suffix in tree.CPP and "tests" not in parts
    return MAX_SOURCE_LINES if is_source else MAX_LINES


def find(root):
    own_rules = root / "tests" / "checks"
    texts = [
        *sorted(root.glob("*.md")),
        *tree.files(root, [*CODE, "docs"], TEXT_SUFFIXES),
        *tree.files(root, ["data"], (".md", ".toml")),
    ]
    for path in texts:
        # The tests of these rules break them.
        if own_rules not in path.parents:
            yield from line_findings(root, path)
    for path in tree.files(root, CODE, CODE_SUFFIXES):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        limit = max_lines(root, path)
        if len(lines) > limit:
            yield path, len(lines), f"more than {limit} lines: split the file at a seam"
        if path.suffix == ".hpp" and "#pragma once" not in lines:
            yield path, 1, "no #pragma once"
        yield from own_header_first(root, path, text)
    yield from one_definition(root)


if __name__ == "__main__":
    tree.run(find, __doc__)
