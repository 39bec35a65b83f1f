#!/usr/bin/env python3
"""cuda_kernels.py compile FATBIN REPORT NVCC…: compiles the kernels, and keeps what the assembler says of them.
cuda_kernels.py check REPORT KERNELS.def: no kernel spills, and each fits twice on a multiprocessor."""
import re
import subprocess
import sys

REGISTERS_MAX = 128
_FUNCTION = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<architecture>\w+)'"
    r"|(?P<spills>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r"|Used (?P<registers>\d+) registers")


def compile_kernels(fatbin, report, command):
    done = subprocess.run([*command, "-fatbin", "-Xptxas", "-v,-warn-spills", "-o", fatbin],
                          capture_output=True, text=True, check=False)
    with open(report, "w", encoding="utf-8") as file:
        file.write(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
    return done.returncode


def read_report(text):
    """{(kernel, architecture): registers}, and what is wrong."""
    found, problems, current = {}, [], None
    for match in _FUNCTION.finditer(text):
        if match.group("name"):
            current = (match.group("name"), match.group("architecture"))
        elif match.group("spills") and int(match.group("spills")) + int(match.group("loads")):
            problems.append(f"{current}: {match.group(0)}")
        elif match.group("registers"):
            found[current] = int(match.group("registers"))
    return found, problems


def check(report, table):
    """What is wrong, a line each."""
    with open(report, encoding="utf-8") as file:
        found, problems = read_report(file.read())
    with open(table, encoding="utf-8") as file:
        names = re.findall(r"^CUDA_KERNEL\(\w+, (\w+),", file.read(), re.MULTILINE)
    architectures = sorted({architecture for _, architecture in found})
    if not names or not architectures:
        problems.append("nothing was compiled")
    for name in names:
        for architecture in architectures:
            registers = found.get((name, architecture))
            if registers is None:
                problems.append(f"{name}: not in the module of {architecture}")
            elif registers > REGISTERS_MAX:
                problems.append(f"{name}: {registers} registers on {architecture}, at most {REGISTERS_MAX}")
    return problems


def main():
    if len(sys.argv) > 4 and sys.argv[1] == "compile":
        sys.exit(compile_kernels(sys.argv[2], sys.argv[3], sys.argv[4:]))
    if len(sys.argv) == 4 and sys.argv[1] == "check":
        found = check(sys.argv[2], sys.argv[3])
        for problem in found:
            print(problem)
        print(f"CUDA kernels: {len(found)} problems")
        sys.exit(1 if found else 0)
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
