#!/usr/bin/env python3
"""run_clang_tidy.py [--build FOLDER] [--jobs N] [FILE ...]: clang-tidy with the checks of .clang-tidy.

Reads how each file is compiled from the build folder (default: build). Without files: all C files of the tree, which takes
some minutes; with files, those alone. Ends with 'N files, N findings'; 1 if there is a finding.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FINDING = re.compile(r"^(\S+?):(\d+):\d+: (?:warning|error): (.*)$", re.MULTILINE)
# Options that gcc has and clang 14 has not, and the counting of basic blocks for the tests of looks.
GCC_ALONE = re.compile(r"-fsanitize-coverage=\S+|-m(?:move|store)-max=\S+|-fno-semantic-interposition|-fexcess-precision=\S+")
COMPILER = re.compile(r"^(ccache\s+)?\S+")


def read_commands(build, root=ROOT):
    """{path: entry of compile_commands.json}: each C file of the tree once, with clang in the place of gcc."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.relpath(os.path.normpath(os.path.join(entry["directory"], entry["file"])), root)
        if path.endswith(".c") and not path.startswith(("..", "build")) and path not in found:
            command = GCC_ALONE.sub("", COMPILER.sub("clang", entry["command"], count=1))
            found[path] = {**entry, "command": command, "file": os.path.join(root, path)}
    return found


def check(path, database, build):
    """{(path, line, what)}: the findings in a file and its headers; clang-tidy names them as the build folder sees them."""
    done = subprocess.run(["clang-tidy", "-p", database, "--quiet", os.path.join(ROOT, path)], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    findings = {(os.path.relpath(os.path.join(build, name), ROOT), int(line), what) for name, line, what in FINDING.findall(done.stdout)}
    if any("_Float16 is not supported" in what for _, _, what in findings):
        return set()  # clang 14 has no _Float16 for x86, so only gcc can read this file
    if done.returncode != 0 and not findings:
        findings.add((path, 1, f"clang-tidy ended with {done.returncode}: {done.stderr.strip()[-300:]}"))
    return findings


def run(paths, build, jobs):
    """(how many files, sorted findings)"""
    commands = read_commands(build)
    wanted = sorted(path for path in (paths or commands) if path in commands)
    findings = set()
    with tempfile.TemporaryDirectory() as database:
        with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump([commands[path] for path in wanted], file)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(lambda path: check(path, database, build), wanted):
                for path, line, what in sorted(found - findings):
                    print(f"{path}:{line}: {what}", flush=True)
                findings |= found
    return len(wanted), findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if not shutil.which("clang-tidy"):
        sys.exit("run_clang_tidy.py: there is no clang-tidy here; tools/setup.sh installs it")
    paths = [os.path.relpath(os.path.abspath(path), ROOT) for path in arguments.files]
    count, findings = run(paths, arguments.build, arguments.jobs)
    print(f"{count} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
