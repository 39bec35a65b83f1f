#!/usr/bin/env python3
"""torch_without_cuda.py: makes PyTorch's ordinary wheel importable where NVIDIA's libraries are not installed.

Its libraries name those of CUDA, gigabytes that exporting a model never calls. For each one that is missing an empty library
is written beside them (with gcc), whose functions return an error: torch.cuda.is_available() is then False.
"""
import collections
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

MISSING = re.compile(r"lib(cu|nv|nccl)\w*\.so")
ERROR = 35  # cudaErrorInsufficientDriver
SYSTEM = ("libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path, which):
    """{(name, version): kind}"""
    found = {}
    for line in run("nm", "-D", which, path).splitlines():
        *_, kind, word = line.split()
        name, _, version = word.partition("@")
        found[name, version.lstrip("@")] = kind
    return found


def versions(path):
    """{library: the versions of its symbols that this file asks for}"""
    found, library = collections.defaultdict(set), None
    for line in run("readelf", "-V", path).splitlines():
        match = re.search(r" File: (\S+)", line)
        library = match[1] if match else library
        match = re.search(r" Name: (\S+) +Flags", line)
        if match and library:
            found[library].add(match[1])
    return found


def write_library(path, by_version):
    with tempfile.TemporaryDirectory() as folder:
        code, script = os.path.join(folder, "code.s"), os.path.join(folder, "versions")
        with open(code, "w", encoding="ascii") as file:
            for name in sorted(set().union(*by_version.values())):
                file.write(f'.globl "{name}"\n.type "{name}",@function\n"{name}": movl ${ERROR},%eax\n ret\n')
            file.write('.section .note.GNU-stack,"",@progbits\n')
        with open(script, "w", encoding="ascii") as file:
            for version, names in by_version.items():
                listed = "".join(f'"{name}"; ' for name in sorted(names))
                file.write(f"{version} {{ global: {listed or '*;'} }};\n")
        run("gcc", "-shared", "-nostdlib", "-o", path, code, f"-Wl,-soname,{os.path.basename(path)}",
            f"-Wl,--version-script={script}")


def main():
    torch = os.path.dirname(importlib.util.find_spec("torch").origin)
    folder = os.path.join(torch, "lib")
    kept = [path for path in glob.glob(f"{folder}/*.so*") if not MISSING.match(os.path.basename(path)) and "linalg" not in path]
    kept += glob.glob(os.path.join(os.path.dirname(torch), "torchvision", "_C*.so"))
    needed = {name for path in kept for name in re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", path))}
    needed = {name for name in needed if MISSING.match(name)}
    defined = {name for path in kept for name, _ in symbols(path, "--defined-only")}
    for path in SYSTEM:
        defined |= {name for name, _ in symbols(run("gcc", f"-print-file-name={path}").strip(), "--defined-only")}
    wanted = collections.defaultdict(set)
    asked = collections.defaultdict(set)
    for path in kept:
        for library, names in versions(path).items():
            asked[library] |= names
        for (name, version), kind in symbols(path, "--undefined-only").items():
            if kind != "w" and name not in defined and not name.startswith(("Py", "_Py")):
                wanted[version].add(name)
    for name in sorted(needed):
        target = os.path.join(folder, name)
        # Functions without a version may come from any of the libraries without versions.
        by_version = {version: wanted[version] for version in asked[name] or {""}}
        write_library(target, by_version)
        print(f"{name}: {sum(map(len, by_version.values()))} functions")
    sys.exit(subprocess.call([sys.executable, "-c", "import torch, torchvision; print(torch.__version__)"]))


if __name__ == "__main__":
    main()
