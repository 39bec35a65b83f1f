#!/usr/bin/env python3
"""embed_headers.py OUT.c DEPFILE ROOT LIBRARY HEADER: the texts of HEADER and of all that it includes, as a table of C.

Names are as they stand in #include "…", from ROOT; what is included as <…> is the text of LIBRARY."""
import os
import re
import sys

_INCLUDE = re.compile(r'^#include ([<"])([^>"]+)[>"]', re.MULTILINE)
_PER_LINE = 24


def collect(root, library, header):
    """{name: path}, in the order they are met."""
    found, waiting = {}, [("\"", header)]
    while waiting:
        kind, name = waiting.pop()
        if name in found:
            continue
        found[name] = os.path.join(root, library if kind == "<" else name)
        with open(found[name], encoding="utf-8") as file:
            waiting += _INCLUDE.findall(file.read())
    return found


def _array(index, data):
    data = [byte - 256 if byte > 127 else byte for byte in data]  # as char is signed
    lines = [", ".join(str(byte) for byte in data[i:i + _PER_LINE]) for i in range(0, len(data), _PER_LINE)]
    return f"static const char text_{index}[] = {{" + ",\n".join(lines) + ", 0};\n"


def write_table(found):
    """The C file."""
    out = ['#include "kernels/cuda/driver/cuda_embedded.h"\n\n']
    names = sorted(found)
    for index, name in enumerate(names):
        with open(found[name], "rb") as file:
            out.append(_array(index, file.read()))
    rows = "".join(f'    {{"{name}", text_{index}}},\n' for index, name in enumerate(names))
    out.append(f"\nconst CudaEmbedded cuda_embedded[] = {{\n{rows}    {{0, 0}},\n}};\n")
    return "".join(out)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    target, depfile, root, library, header = sys.argv[1:]
    found = collect(root, library, header)
    with open(target, "w", encoding="utf-8") as file:
        file.write(write_table(found))
    with open(depfile, "w", encoding="utf-8") as file:
        file.write(target + ": " + " ".join(sorted(set(found.values()))) + "\n")


if __name__ == "__main__":
    main()
