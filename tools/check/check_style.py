#!/usr/bin/env python3
"""check_style.py [ROOT] [--no-format]: the rules of docs/style.md that a machine can check."""
import os
import re
import shutil
import subprocess
import sys

from c_source import find_files, read_sources
from check_documents import check_documents
from sort_sources import sort_sources

FILE_LINES = 500
FUNCTION_LINES = 70
LONG_FILES = {"include/layover.h": 800}  # the one public header, half of it comments
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
     ("tools/", "scheduler/daemon/daemon.c", "tests/", "bench/", "examples/"), "library code returns an Error"),
    (("exit", "_exit", "_Exit", "quick_exit", "abort"),
     ("tools/", "tests/", "bench/"), "library code returns an Error; assert is for bugs"),
    (("pthread_create",), ("base/thread.c", "tests/", "bench/"), "use base/thread.h: signals are the program's"),
)
# Files without tests/<folder>/test_<file>.c, and what tests them instead.
TESTED_ELSEWHERE = {"tools/": "tests/end_to_end", "bench/": "nothing: they measure", "examples/": "tests/end_to_end"}
# Files directly in a folder; data has as many as it needs.
FOLDER_FILES = 45
DATA_FOLDERS = ("tests/golden", "tests/fuzz/corpus", "tests/models", "tests/zoo/graphs")
# Retired words, and the word to use instead: a thing has one word. No identifier and no file's name may have a retired word
# as a part. A key of several words stands for take_up, TakeUp and TAKE_UP; a key with a '$' only for the end of a name.
RETIRED = {
    "incoming": "arrival (between nodes) or entering (a device)", "incomings": "arrivals",
    "outgoing": "departure", "outgoings": "departures",
    "parcel": "job_manifest", "parcels": "job_manifests",
    "evacuation": "node_drain", "evacuations": "node_drains", "evacuate": "drain",
    "disown": "abort", "take_up": "load", "control_let_go": "control_release_to_file", "control_hold$": "control_freeze",
    "control_keep$": "control_thaw", "control_give$": "control_migration_commit",
    "control_take_back": "control_migration_revert", "control_own$": "control_arrival_own",
    "control_leaving": "control_releasing",
}
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
    limit = LONG_FILES.get(source.path, FILE_LINES)
    if len(source.lines) - 1 > limit:
        yield limit + 1, f"{len(source.lines) - 1} lines; a file has at most {limit}"
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
        if not path.endswith(".c") or path.startswith(("tests/", *TESTED_ELSEWHERE)):
            continue
        wanted = f"tests/{os.path.dirname(path)}/test_{os.path.basename(path)}"
        if wanted not in paths:
            yield path, 1, f"has no {wanted}"


def _check_folders(all_paths):
    counts = {}
    for path in all_paths:
        counts.setdefault(os.path.dirname(path), []).append(path)
    for folder, paths in counts.items():
        if len(paths) > FOLDER_FILES and not folder.startswith(DATA_FOLDERS):
            yield paths[0], 1, f"{folder}/ has {len(paths)} files; a folder has at most {FOLDER_FILES}"


_MAY_BE_RETIRED = tuple(word.rstrip("$").replace("_", "") for word in RETIRED)
_NAME = re.compile(r"\w+")


def _words_of(name):
    """"_take_up_" of take_up, TakeUp and TAKE_UP."""
    return "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_") + "_"


def _check_retired(source):
    where = [(1, os.path.splitext(os.path.basename(source.path))[0])]
    flat = source.code.lower().replace("_", "")
    if any(word in flat for word in _MAY_BE_RETIRED):
        where += [(number, name) for number, line in enumerate(source.code.split("\n"), 1) for name in _NAME.findall(line)]
    for line, name in where:
        words = _words_of(name)
        for retired, instead in RETIRED.items():
            found = words.endswith(f"_{retired[:-1]}_") if retired.endswith("$") else f"_{retired}_" in words
            if found:
                yield line, f"{name}: the word '{retired.rstrip('$')}' is retired: use {instead}"


def _check_words(texts):
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            match = FOREIGN.search(line)
            if match:
                yield path, number, f"{match.group(0).strip()!r} has no place in the project's files"


def _check_lists(texts):
    for path, text in texts.items():
        if path.endswith("meson.build"):
            for number, (line, sorted_line) in enumerate(zip(text.split("\n"), sort_sources(text).split("\n")), 1):
                if line != sorted_line:
                    yield path, number, "a list of C files is not sorted: run tools/check/sort_sources.py"
                    break


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


def read_texts(root, paths):
    """{path: text} of those paths whose files are texts."""
    texts = {}
    for path in paths:
        if path.endswith(TEXT_ENDINGS):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    return texts


def check_tree(root, with_format=True):
    """[(path, line, what)]"""
    sources, paths = read_sources(root), find_files(root, "")
    texts = read_texts(root, paths)
    problems = [(source.path, line, what) for source in sources
                for check in (_check_names, _check_shape, _check_retired) for line, what in check(source)]
    problems += _check_file_names(sources)
    problems += _check_tests_exist(sources)
    problems += _check_folders(paths)
    problems += _check_words(texts)
    problems += _check_lists(texts)
    problems += check_documents(root, paths, texts)
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
