"""Writes the migration scripts into a C header: embed_schema.py OUT.h SCRIPT.sql ...

A script's name is DATABASE_NNNN_what.sql; the numbers of a database are 1, 2, ... without a gap."""
import pathlib
import sys


def literal(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def main():
    out, *scripts = sys.argv[1:]
    databases = {}
    for path in sorted(map(pathlib.Path, scripts)):
        database, number, _ = path.stem.split("_", 2)
        rows = databases.setdefault(database, [])
        if int(number) != len(rows) + 1:
            sys.exit(f"{path}: expected number {len(rows) + 1:04} of {database}")
        rows.append("\n".join(literal(line) for line in path.read_text().splitlines()))
    text = "#pragma once\n/* Made by embed_schema.py: entry i brings a database from version i to i + 1. */\n"
    for database, rows in databases.items():
        text += f"static const char *const schema_{database}[] = {{\n" + ",\n".join(rows) + "};\n"
    pathlib.Path(out).write_text(text)


main()
