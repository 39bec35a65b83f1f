#!/usr/bin/env python3
"""embed_page.py OUT.c FILE ...: the files of the daemon's page as a table of C (scheduler/http/page/page_files.h)."""
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_PER_LINE = 24


def _array(index, data):
    lines = [", ".join(str(byte) for byte in data[i:i + _PER_LINE]) for i in range(0, len(data), _PER_LINE)]
    return f"static const unsigned char file_{index}[] = {{" + ",\n".join(lines) + "};\n"


def write_table(paths):
    """The C file."""
    out, rows = ['#include "scheduler/http/page/page_files.h"\n\n'], []
    for index, path in enumerate(sorted(paths, key=os.path.basename)):
        name = os.path.basename(path)
        with open(path, "rb") as file:
            out.append(_array(index, file.read()))
        rows.append(f'    {{"{name}", "{TYPES[os.path.splitext(name)[1]]}", file_{index}, sizeof file_{index}}},\n')
    out.append("\nconst PageFile page_files[] = {\n" + "".join(rows) + "};\n")
    out.append("const size_t page_file_count = sizeof page_files / sizeof *page_files;\n")
    return "".join(out)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(write_table(sys.argv[2:]))


if __name__ == "__main__":
    main()
