#!/usr/bin/env python3
"""wrap_markdown.py FILE...: wraps the paragraphs and list items of Markdown files at 100 columns.

Headings, tables and code between fences stay as they are.
"""
import re
import sys
import textwrap

COLUMNS = 100
ITEM = re.compile(r"(\s*)([-*]|\d+\.) +")
FIXED = re.compile(r"\s*(#|\||>|```|$)")


def wrap(lines):
    """The lines of one document, wrapped."""
    result, paragraph, fenced = [], [], False

    def flush():
        if paragraph:
            item = ITEM.match(paragraph[0])
            first = item.group(0) if item else re.match(r"\s*", paragraph[0]).group(0)
            text = " ".join(line.strip() for line in paragraph)[len(first.strip()):].strip()
            result.extend(textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=" " * len(first),
                                        break_long_words=False, break_on_hyphens=False))
            paragraph.clear()

    for line in lines:
        if fenced or FIXED.match(line):
            flush()
            result.append(line.rstrip())
            fenced ^= line.lstrip().startswith("```")
            continue
        if ITEM.match(line):
            flush()
        paragraph.append(line)
    flush()
    return result


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(wrap(lines)) + "\n")


if __name__ == "__main__":
    main()
