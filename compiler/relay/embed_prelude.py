"""Writes the prelude into a C header: embed_prelude.py OUT.h PRELUDE.relay"""
import pathlib
import sys


def literal(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    out, prelude = sys.argv[1:]
    lines = "\n".join(literal(line) for line in pathlib.Path(prelude).read_text().splitlines())
    pathlib.Path(out).write_text(
        "#pragma once\n/* Made by embed_prelude.py of prelude.relay. */\n"
        f"static const char relay_prelude[] =\n{lines};\n")


main()
