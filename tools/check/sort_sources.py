#!/usr/bin/env python3
"""sort_sources.py FILE...: sorts the lists of C files in meson.build files, and begins a line for each folder."""
import re
import sys

COLUMNS = 120
NAME = r"'[^'\n]*\.c'"
LIST_MIN = 5  # shorter lists stay as they are
LIST = re.compile(rf"{NAME}(?:\s*,\s*{NAME}){{{LIST_MIN - 1},}}")


def _folder(name):
    return name.rpartition("/")[0]


def _lines(names, indent):
    lines, folder = [], None
    for name in sorted(names, key=lambda one: (_folder(one), one)):
        item = f"'{name}',"
        if lines and _folder(name) == folder and len(lines[-1]) + 1 + len(item) <= COLUMNS:
            lines[-1] += f" {item}"
        else:
            lines.append(indent + item)
        folder = _folder(name)
    return "\n".join(lines)[:-1]


def sort_sources(text):
    """The text of a meson.build with its lists sorted."""
    def replace(match):
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        margin = re.match(" *", before).group()
        names = [name[1:-1] for name in re.findall(NAME, match.group())]
        if before.strip():  # the list begins behind something else
            return "\n" + _lines(names, margin + "  ")
        return _lines(names, margin)[len(margin):]
    return re.sub(r" +\n", "\n", LIST.sub(replace, text))


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(sort_sources(text))


if __name__ == "__main__":
    main()
