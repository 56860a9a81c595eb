#!/usr/bin/env python3
"""The arrows between the folders of src/ go one way.

Compares with the table below: each #include of Carpool's headers, the USES of each carpool_module(),
the links of other targets, and the table of ARCHITECTURE.md. Vendor headers and dlopen are allowed
only in VENDOR_FOLDERS.
"""

import re

import tree

# Folder: the folders that it may use; these relations are transitive.
MAY_USE = {
    "base": [],
    "core": ["base"],
    "gpu": ["core"],
    "profile": ["gpu", "dataset"],
    "measure": ["profile"],
    "learn": ["base"],
    "dataset": ["core"],
    "model": ["dataset", "learn"],
    "estimate": ["core", "learn"],
    "predict": ["model"],
    "assign": ["predict"],
    "knowledge": ["predict"],
    "policy": ["core"],
    "schedule": ["core"],
    "store": ["core"],
    "simulate": ["knowledge", "policy", "schedule"],
    "run": ["gpu"],
    "observe": ["gpu"],
    "interpose": [],
    "serve": ["schedule", "store"],
    "evaluate": ["assign"],
    "report": ["core"],
    "app": ["estimate", "evaluate", "interpose", "measure", "observe", "report", "run", "serve", "simulate"],
}
# Additional folders for tests.
TESTS_MAY_USE = {"policy": ["knowledge"]}
# Libraries that are not named after their folder.
FOLDER_OF_TARGET = {"cuda": "interpose", "interpose_state": "interpose", "interpose_gate": "interpose"}
VENDOR_FOLDERS = ("gpu", "interpose")

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
VENDOR = re.compile(
    r"#\s*include\s*<(cuda|cupti|nvml|nvperf|nvtx|nccl|cublas|cudnn|hip)[\w/.]*>"
    r"|#\s*include\s*<dlfcn\.h>|\bdl(open|sym)\s*\("
)
MODULE = re.compile(r"carpool_module\s*\(([^)]*)\)")
LINKED = re.compile(r"target_link_libraries\s*\(([^)]*)\)")
ROW = re.compile(r"^\|\s*`src/(\w+)/?`\s*\|.*\|([^|]*)\|\s*$")


def reachable(folder, arrows):
    """All folders that the arrows lead to from this one, itself included."""
    reached, waiting = {folder}, [folder]
    while waiting:
        for target in arrows.get(waiting.pop(), []):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def include_findings(root, folder, linked):
    tests_use = set().union(*(reachable(it, MAY_USE) for it in TESTS_MAY_USE.get(folder, [])))
    for path in tree.files(root, [f"src/{folder}"], tree.CPP):
        is_test = "tests" in path.relative_to(root).parts
        also = tests_use if is_test else set()
        allowed = reachable(folder, MAY_USE) | also
        for number, line in tree.numbered_lines(path):
            if folder not in VENDOR_FOLDERS and VENDOR.search(line):
                yield path, number, f"only src/{', src/'.join(VENDOR_FOLDERS)} know a vendor's API"
            match = INCLUDE.match(line)
            if not match:
                continue
            target, _, rest = match[1].partition("/")
            if not rest:
                yield path, number, f'"{match[1]}": name the folder, as in "base/result.hpp"'
            elif target not in allowed:
                yield path, number, f"src/{folder} may not use src/{target}"
            elif target not in linked | also:
                yield path, number, f"src/{folder}/CMakeLists.txt has no arrow to {target}"
            elif rest.startswith("tests/") and not is_test:
                yield path, number, "only tests may use what is in a tests folder"


def cmake_arrows(text):
    """The folders of ours that a CMakeLists.txt names as USES or links."""
    arrows = set()
    for match in MODULE.finditer(text):
        words = match[1].split()
        if "USES" in words:
            for word in words[words.index("USES") + 1 :]:
                if word.isupper():
                    break
                arrows.add(word)
    for match in LINKED.finditer(text):
        linked = match[1].split(None, 1)[1]  # behind the target itself
        arrows.update(re.findall(r"\bcarpool_(\w+)", linked))
    return {FOLDER_OF_TARGET.get(it, it) for it in arrows} - {"warnings"}


def table_findings(root, folders):
    """ARCHITECTURE.md tells people what MAY_USE tells this check."""
    path = root / "ARCHITECTURE.md"
    if not path.exists():
        return
    told = {}
    for number, line in tree.numbered_lines(path):
        match = ROW.match(line)
        if match:
            told[match[1]] = (number, set(re.findall(r"\w+", match[2])))
    for folder in folders:
        if folder not in told:
            yield path, 1, f"no row for src/{folder} in the table of folders"
            continue
        number, names = told[folder]
        expected = set(MAY_USE.get(folder, []))
        agrees = "all" in names if folder == "app" else names & set(MAY_USE) == expected
        if not agrees:
            yield path, number, f"src/{folder} may use: {', '.join(sorted(expected)) or 'nothing'}"


def find(root):
    folders = sorted(path.name for path in (root / "src").iterdir() if path.is_dir())
    arrows = {}
    for folder in folders:
        cmake = root / "src" / folder / "CMakeLists.txt"
        arrows[folder] = cmake_arrows(cmake.read_text()) if cmake.exists() else set()
        if folder not in MAY_USE:
            yield root / "src" / folder, 1, "not in the table of tests/checks/include_arrows.py"
            continue
        for target in sorted(arrows[folder] - reachable(folder, MAY_USE)):
            yield cmake, 1, f"src/{folder} may not use src/{target}"
    for folder in folders:
        if folder in MAY_USE:
            yield from include_findings(root, folder, reachable(folder, arrows))
    yield from table_findings(root, folders)


if __name__ == "__main__":
    tree.run(find, __doc__)
