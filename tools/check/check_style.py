#!/usr/bin/env python3
"""check_style.py [ROOT] [--no-format]: the rules of docs/style.md that a machine can check."""
import os
import re
import shutil
import subprocess
import sys

from c_source import find_files, read_sources
from check_documents import check_documents

FILE_LINES = 500
FUNCTION_LINES = 70
LONG_FUNCTIONS = {"interpreter_run"}
COMPUTED_GOTO = ("vm/execution/interpreter",)
TEXT_ENDINGS = (".c", ".h", ".def", ".cu", ".py", ".md", ".build", ".sh", ".sql", ".lva", ".txt")

BANNED = {
    "strcpy": "text.h", "strcat": "text.h", "strncpy": "text.h", "strncat": "text.h", "sprintf": "text.h",
    "vsprintf": "text.h", "gets": "file.h", "atoi": "text.h", "atol": "text.h", "atoll": "text.h", "atof": "text.h",
    "strtok": "text.h", "alloca": "allocator.h", "setjmp": "Error *", "longjmp": "Error *", "tmpnam": "file.h",
    "tempnam": "file.h", "mktemp": "file.h", "rand": "Philox", "srand": "Philox", "random": "Philox",
    "system": "posix_spawn", "popen": "posix_spawn", "setlocale": "nothing: texts are the same everywhere",
    "ctime": "clock.h", "asctime": "clock.h", "localtime": "clock.h", "gmtime": "clock.h",
}
# Names, where they may be called (path prefixes), and what to use elsewhere.
ONLY_IN = (
    (("malloc", "calloc", "realloc", "reallocarray", "free", "aligned_alloc", "posix_memalign", "memalign", "strdup",
      "strndup", "asprintf", "vasprintf"),
     ("base/allocator.c", "base/error.c", "tests/", "bench/"), "use base/allocator.h"),
    (("printf", "vprintf", "fprintf", "vfprintf", "dprintf", "puts", "fputs", "putchar", "fputc", "perror"),
     ("tools/", "scheduler/daemon/daemon.c", "tests/", "bench/"), "library code returns an Error"),
    (("exit", "_exit", "_Exit", "quick_exit", "abort"),
     ("tools/", "tests/", "bench/"), "library code returns an Error; assert is for bugs"),
    (("pthread_create",), ("base/thread.c", "tests/", "bench/"), "use base/thread.h: signals are the program's"),
)
# Files without tests/<folder>/test_<file>.c, and what tests them instead.
TESTED_ELSEWHERE = {"tools/": "tests/end_to_end", "bench/": "nothing: they measure", "examples/": "tests/end_to_end"}
# Their tests stand side by side: a folder of a few tests each would hide them.
FLAT_TESTS = ("compiler/",)
# Files directly in a folder of code or of its tests; data has as many as it needs.
FOLDER_FILES = 45
# Assembled, so that this file does not find itself.
FOREIGN = re.compile("|".join((r"\b(issue|session)s? *#?[0-9]", r"(^|[\s\"'(=])/wo" r"rk/", r"\.\./sha" r"red/",
                               r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")), re.IGNORECASE)


def _check_names(source):
    for line in source.line_comments:
        yield line, "'//' is for scratch: use /* */"
    for line, name in source.calls(BANNED):
        yield line, f"{name}() is banned: use {BANNED[name]}"
    for names, allowed, instead in ONLY_IN:
        if not source.path.startswith(allowed):
            for line, name in source.calls(names):
                yield line, f"{name}() only in {', '.join(allowed[:2])}: {instead}"
    for match in re.finditer(r"\bgoto\b\s*(\*?)", source.code):
        if not (match.group(1) and source.path.startswith(COMPUTED_GOTO)):
            yield source.line_of(match.start()), "goto is banned"
    for match in re.finditer(r"}\s*(\w+_t)\s*;|\btypedef\b[^;{]*?\b(\w+_t)\s*;", source.code):
        yield source.line_of(match.end()), f"{match.group(1) or match.group(2)}: types are PascalCase without _t"


def _check_shape(source):
    if len(source.lines) - 1 > FILE_LINES:
        yield FILE_LINES + 1, f"{len(source.lines) - 1} lines; a file has at most {FILE_LINES}"
    for line, name, count in source.functions():
        if count > FUNCTION_LINES and name not in LONG_FUNCTIONS:
            yield line, f"{name} has {count} lines; a function has at most {FUNCTION_LINES}"
    if source.path.endswith(".h"):
        if source.lines[0] != "#pragma once":
            yield 1, "a header's first line is '#pragma once'"
        if len(source.lines) < 2 or not source.lines[1].startswith("/* "):
            yield 2, "a header's second line begins the comment that says what the module is"


def _check_file_names(sources):
    seen = {}
    for source in sources:
        folder, name = os.path.split(source.path)
        if folder == "include":
            continue  # named after the library, as its tool is
        stem = name.split(".")[0]
        if name == "groups.def":
            continue  # every folder of tests has its list
        other = seen.setdefault(stem, folder)
        if other != folder:
            yield source.path, 1, f"the base name {stem} is also in {other}/"


def _check_tests_exist(sources):
    paths = {source.path for source in sources}
    for path in sorted(paths):
        folder = path.split("/")[0]
        if not path.endswith(".c") or folder == "tests" or path.startswith(tuple(TESTED_ELSEWHERE)):
            continue
        if f"tests/{os.path.dirname(path)}/test_{os.path.basename(path)}" in paths:
            continue  # its folder's tests stand alike
        stem = os.path.basename(path)[:-2]
        wanted = f"tests/{os.path.dirname(path)}/test_{stem}.c"
        if wanted not in paths and not (path.startswith(FLAT_TESTS) and f"tests/{folder}/test_{stem}.c" in paths):
            yield path, 1, f"has no {wanted}"


def _check_folders(sources):
    counts = {}
    for source in sources:
        counts.setdefault(os.path.dirname(source.path), []).append(source.path)
    for folder, paths in counts.items():
        if len(paths) > FOLDER_FILES and folder.split("/")[0] != "tests":
            yield paths[0], 1, f"{folder}/ has {len(paths)} files; a folder has at most {FOLDER_FILES}"


def _check_words(root):
    for path in find_files(root, TEXT_ENDINGS):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                match = FOREIGN.search(line)
                if match:
                    yield path, number, f"{match.group(0).strip()!r} has no place in the project's files"


def _check_format(root, sources):
    paths = [source.path for source in sources if source.path.endswith((".c", ".h", ".cu"))]
    if not paths or not shutil.which("clang-format"):
        return
    done = subprocess.run(["clang-format", "--dry-run", *paths], cwd=root, capture_output=True, text=True, check=False)
    seen = set()
    for match in re.finditer(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$", done.stderr, re.MULTILINE):
        if match.group(1) not in seen:
            seen.add(match.group(1))
            yield match.group(1), int(match.group(2)), f"run clang-format -i ({match.group(3)})"


def check_tree(root, with_format=True):
    """[(path, line, what)]"""
    sources = read_sources(root)
    problems = [(source.path, line, what) for source in sources
                for check in (_check_names, _check_shape) for line, what in check(source)]
    problems += _check_file_names(sources)
    problems += _check_tests_exist(sources)
    problems += _check_folders(sources)
    problems += _check_words(root)
    problems += check_documents(root)
    if with_format:
        problems += _check_format(root, sources)
    return problems


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--no-format"]
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    problems = check_tree(root, "--no-format" not in sys.argv)
    for path, line, what in problems:
        print(f"{path}:{line}: {what}")
    print(f"style: {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
