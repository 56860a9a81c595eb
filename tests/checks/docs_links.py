#!/usr/bin/env python3
"""Each relative link in the documents leads to a file, and to a heading if it names one."""

import re

import tree

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE_SPAN = re.compile(r"`[^`]*`")


def prose_lines(path):
    """Numbered lines outside code fences."""
    fenced = False
    for number, line in tree.numbered_lines(path):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(path):
    """The anchors that GitHub makes of the headings of a document."""
    found = set()
    for _, line in prose_lines(path):
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def find(root):
    for path in [*sorted(root.glob("*.md")), *tree.files(root, ["docs", "src", "data", "tests", "workloads", "python"], (".md",))]:
        for number, line in prose_lines(path):
            for match in LINK.finditer(CODE_SPAN.sub("", line)):
                target, _, anchor = match[1].partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                goal = (path.parent / target).resolve() if target else path
                if not goal.exists():
                    yield path, number, f"{match[1]}: there is no such file"
                elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                    yield path, number, f"{match[1]}: there is no such heading"


if __name__ == "__main__":
    tree.run(find, __doc__)
