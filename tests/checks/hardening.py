#!/usr/bin/env python3
"""Checks what is shipped with readelf: hardening.py FILE…

Every file: full RELRO, no executable stack, stack protector, endbr64. A program: PIE, checked C functions,
library assertions. A library, which is loaded into other programs: nothing newer than glibc 2.28, no C++
runtime from outside, no symbols but its entry points, no constructors in a library that takes the driver's place.
"""

import pathlib
import re
import subprocess
import sys

OLDEST_GLIBC = (2, 28)
DRIVER_SYMBOLS = pathlib.Path(__file__).resolve().parents[2] / "src/interpose/library/driver_symbols.inc"
POINTER = 8
ENDBR64 = b"\xf3\x0f\x1e\xfa"
FEWEST_LANDINGS = 100  # a handful comes from the start-up code of the compiler


def readelf(file, *options):
    return subprocess.run(["readelf", "--wide", *options, str(file)], check=True,
                          capture_output=True, text=True).stdout


def dynamic_symbols(file):
    """(name, version or "", is it defined here) of each symbol."""
    found = []
    for line in readelf(file, "--dyn-syms").splitlines():
        words = line.split()
        if len(words) >= 8 and words[0].rstrip(":").isdigit():
            name, _, version = words[7].replace("@@", "@").partition("@")
            found.append((name, version, words[6] != "UND"))
    return found


def imports(symbols):
    return {name for name, _, defined in symbols if not defined}


def has_executable_stack(file):
    stack = re.search(r"GNU_STACK(?:\s+0x\w+)+\s+(R[WE ]*)", readelf(file, "--program-headers"))
    return not stack or "E" in stack.group(1)


def common_problems(file, symbols):
    bound_first = re.search(r"BIND_NOW|Flags:.*\bNOW\b", readelf(file, "--dynamic"))
    if "GNU_RELRO" not in readelf(file, "--program-headers") or not bound_first:
        yield "no full RELRO: link with -z relro -z now"
    if has_executable_stack(file):
        yield "its stack is executable: link with -z noexecstack"
    if "__stack_chk_fail" not in imports(symbols):
        yield "no stack protector: compile with -fstack-protector-strong"
    if file.read_bytes().count(ENDBR64) < FEWEST_LANDINGS:
        yield "no endbr64: compile with -fcf-protection"


def program_problems(file, symbols):
    if not re.search(r"Type:\s+DYN .*Position-Independent", readelf(file, "--file-header")):
        yield "not position-independent: compile with -fPIE, link with -pie"
    if not any(re.fullmatch(r"__\w+_chk", name) for name in imports(symbols)):
        yield "no checked C functions: compile with -D_FORTIFY_SOURCE=3 and optimisation"
    if not any("__glibcxx_assert_fail" in name for name, _, _ in symbols):
        yield "no library assertions: compile with -D_GLIBCXX_ASSERTIONS"


def driver_symbols():
    """The names that libcarpool_cuda.so has in common with the driver."""
    return set(re.findall(r"^DRIVER_SYMBOL\((\w+)\)", DRIVER_SYMBOLS.read_text(), re.MULTILINE))


def entry_points(file):
    """All names that programs may see."""
    if file.name == "libcarpool_cuda.so":
        return driver_symbols() | {"carpool_request_begin", "carpool_request_end", "InitializeInjectionNvtx2"}
    return {"InitializeInjection", "InitializeInjectionNvtx2"}


def driver_problems(file, symbols):
    for name in sorted(driver_symbols() - {it for it, _, defined in symbols if defined}):
        yield f"{name} is missing: programs that use it would not start"
    dynamic = readelf(file, "--dynamic")
    if "[libcuda.so.1]" not in dynamic:
        yield "its SONAME is not libcuda.so.1: programs would load the driver beside it"
    if "NODELETE" not in dynamic:
        yield "programs can unload it: link with -z nodelete"
    constructors = re.search(r"INIT_ARRAYSZ\)\s+(\d+)", dynamic)
    if constructors and int(constructors.group(1)) > POINTER:  # the compiler's own
        yield "it has constructors: use constinit"


def library_problems(file, symbols):
    allowed = entry_points(file)
    if file.name == "libcarpool_cuda.so":
        yield from driver_problems(file, symbols)
    for name, version, defined in symbols:
        numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
        if not defined and numbers and tuple(map(int, numbers.group(1, 2))) > OLDEST_GLIBC:
            yield f"{name} needs {version}; programs with glibc 2.28 must be able to load it"
        elif not defined and re.match(r"GLIBCXX|CXXABI|GCC_|GLIBC_PRIVATE", version):
            yield f"{name} needs {version}: link the C++ runtime statically"
        elif defined and name not in allowed:
            yield f"{name} is visible to the programs that load it"


def problems_of(file):
    symbols = dynamic_symbols(file)
    yield from common_problems(file, symbols)
    yield from (library_problems if ".so" in file.name else program_problems)(file, symbols)


def main():
    failed = False
    for name in sys.argv[1:]:
        for problem in problems_of(pathlib.Path(name)):
            print(f"{name}: {problem}")
            failed = True
    return 1 if failed or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
