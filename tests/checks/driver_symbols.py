#!/usr/bin/env python3
"""The list of the driver's functions is sorted and, where a CUDA toolkit is installed, complete.

A name that the list lacks is a function that programs reach past the library, or do not find.
"""

import pathlib
import re
import subprocess

import tree

LIST = "src/interpose/library/driver_symbols.inc"
WRAPPED = ("src/interpose/library/driver_calls.inc", "src/interpose/library/copy_calls.inc")
TOOLKITS = (pathlib.Path("/usr/local/cuda"), pathlib.Path("/opt/cuda"))
KNOWN_VERSION = 13000
GRAPHICS = ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h")


def listed(path):
    return re.findall(r"^DRIVER_(?:SYMBOL|CALL|COPY)\((\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)


def stub_names(library):
    lines = subprocess.run(["nm", "--dynamic", "--defined-only", str(library)], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {name for *_, name in map(str.split, lines) if re.match(r"cu[A-Z]", name)}


def header_names(folder):
    """The functions of the headers whose names the stub lacks: drivers have them."""
    for name in GRAPHICS:
        header = folder / name
        if header.exists():
            # Those with WGL are of Windows.
            yield from re.findall(r"\bCUresult CUDAAPI (cu(?!WGL)\w+)\s*\(", header.read_text(encoding="utf-8"))


def toolkit_names(toolkits=TOOLKITS):
    """The names of the first toolkit whose version the list knows."""
    for toolkit in toolkits:
        header, stub = toolkit / "include/cuda.h", toolkit / "lib64/stubs/libcuda.so"
        if header.exists() and stub.exists():
            version = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8"))
            if version and int(version[1]) <= KNOWN_VERSION:
                return stub_names(stub) | set(header_names(header.parent))
    return set()


def find(root):
    path = root / LIST
    names = listed(path)
    if names != sorted(set(names)):
        yield path, 1, "the names are not sorted, or one is there twice"
    for name in sorted(toolkit_names() - set(names)):
        yield path, 1, f"{name} of the installed toolkit is missing"
    for wrapped in WRAPPED:
        for name in listed(root / wrapped):
            if name not in names:
                yield root / wrapped, 1, f"{name} is not in the list of the driver's functions"


if __name__ == "__main__":
    tree.run(find, __doc__)
