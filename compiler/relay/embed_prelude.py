"""Writes the prelude into a C header: embed_prelude.py OUT.h PRELUDE.relay

What stands behind the mark FAMILY is there once for each element type."""
import pathlib
import sys

TYPES = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool")


def literal(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    out, prelude = sys.argv[1:]
    once, family = pathlib.Path(prelude).read_text().split("/* FAMILY */\n")
    text = once + "".join(family.replace("float32", name) for name in TYPES)
    lines = "\n".join(literal(line) for line in text.splitlines())
    pathlib.Path(out).write_text(
        "#pragma once\n/* Made by embed_prelude.py of prelude.relay. */\n"
        f"static const char relay_prelude[] =\n{lines};\n")


main()
