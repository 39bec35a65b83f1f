"""changed_tests.py: which tests a change can break, for tools/test --changed.

A changed file is one that differs from where the branch left main, committed or not. Two groups of tests can break:

  direct  the programs that are compiled from the file or from tests of its folder, as meson's build files say
  above   the programs of the folders that can include the file's folder: the quick ones, and as many of the others as there
          is time for, the shortest first

Tests of the first group that would take longer than BUDGET_S together are left out, the longest first, and named;
tools/test runs them.
"""
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "check"))

import check_layers  # noqa: E402
from c_source import SOURCE_ENDINGS, find_files  # noqa: E402

DOCUMENTS = (".md", "LICENSE", ".gitignore", ".clang-format", ".clang-tidy")
CODE = (*SOURCE_ENDINGS, ".sql", ".proto", ".build", "meson_options.txt")
END_TO_END = "tests/end_to_end"
# Data of tests: path prefix, the meson tests that read it, the end-to-end tests that read it.
READERS = (("tests/golden/", ("compiler",), ()), ("tests/programs/", ("vm",), ()), ("tests/fuzz/", ("fuzz_",), ()),
           ("tests/models/", (), ("models/test_models.py",)), ("tests/onnx_suite/", (), ("models/test_onnx_suite.py",)),
           ("tests/random_models/", (), ("models/test_random_models.py",)), ("tests/zoo/", (), ("models/test_zoo.py",)),
           ("examples/minilm/", (), ("models/test_minilm_example.py",)))
# Code: path prefix, and tests of other folders that run it.
BESIDE = (("kernels/", ("conformance",), ()), ("tools/", (), ("commands/test_usage.py",)),
          ("scheduler/", (), ("service/test_daemon.py",)), ("store/", (), ("commands/test_store.py",)),
          ("compiler/", (), ("models/test_models.py", "models/test_slots.py", "models/test_zoo.py")),
          ("compiler/frontend/", (), ("models/test_compositions.py", "models/test_contrib_attention.py",
                                      "models/test_contrib_others.py", "models/test_few_bits.py", "models/test_ml.py",
                                      "models/test_searches.py")),
          ("scheduler/migration/", (), ("nodes/test_nodes.py",)))
# How many seconds of one processor a test takes, if more than QUICK_S. A test without a row is quick.
QUICK_S = 5
SECONDS_OF_QUICK = 1  # of most; the longest take QUICK_S
SECONDS = {"kernels": 9, "cuda": 15, "looks at the stop": 130, "conformance": 25, "conformance with SSE41": 25,
           "conformance with AVX2": 25, "conformance of cuda": 36, "serialize": 10, "store": 20, "store faults": 70, "control": 33, "jobs": 29,
           "migration": 60, "models/test_slots.py": 20, "models/test_zoo.py": 15, "models/test_contrib_attention.py": 28,
           "models/test_contrib_others.py": 60, "models/test_searches.py": 40, "models/test_ml.py": 8,
           "models/test_compositions.py": 6}
BUDGET_S = 120 * (os.cpu_count() or 1)  # two minutes of each processor, which leaves one of the three for building


@dataclass
class Selection:
    tests: list = field(default_factory=list)       # names for meson test
    end_to_end: list = field(default_factory=list)  # files for pytest
    left_out: list = field(default_factory=list)


def changed_files(base="main"):
    """Paths that differ from the merge base with main: in commits, the working tree and new files."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")

    found = [name for name in (base, f"origin/{base}") if subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], cwd=ROOT, check=False, capture_output=True).returncode == 0]
    if not found:
        sys.exit(f"run_tests.py: there is no branch {base} to compare with; name the parts that shall run")
    [since] = git("merge-base", "HEAD", found[0])[0].split()
    paths = git("diff", "-z", "--name-only", "--no-renames", since) + git("ls-files", "-z", "--others", "--exclude-standard")
    return sorted({path for path in paths if path})


def own_sources(targets):
    """{target: the paths below the root that it is compiled from}"""
    return {target["id"]: {os.path.relpath(os.path.normpath(path), ROOT) for group in target["target_sources"]
                           for path in group.get("sources", ())} for target in targets}


def above(folder):
    """The folders whose code can see this folder's, itself too; nothing sees bench/ and examples/."""
    if folder not in (*check_layers.LAYERS, "tools"):
        return {folder}
    seen = {folder}
    for upper, lower in check_layers.LAYERS.items():  # lowest first
        if seen & set(lower):
            seen.add(upper)
    return seen | {"tools", "fuzz"} | ({"conformance"} if "kernels" in seen else set())


def direct_targets(path, sources, programs):
    """The test programs that are compiled from the file; else from tests of its folder; else of the nearest folder around it."""
    sources = {target: paths for target, paths in sources.items() if target in programs}
    own = {target for target, paths in sources.items() if path in paths and any(p.startswith("tests/") for p in paths)}
    if own:
        return own
    folder = os.path.dirname(path.removeprefix("tests/"))
    while folder:
        near = {target for target, paths in sources.items() if any(p.startswith(f"tests/{folder}/test_") for p in paths)}
        if near:
            return near
        inside = {target for target, paths in sources.items() if any(p.startswith(f"tests/{folder}/") for p in paths)}
        if inside and "/" not in folder:
            return inside
        folder = os.path.dirname(folder)
    return set()


def _tests_of(targets, tests):
    return {test["name"] for test in tests if targets & set(test["depends"])}


def _end_to_end_of(path, root):
    """The end-to-end tests of a changed file: itself if it has tests, else the files of tests that import it."""
    name = os.path.basename(path)
    if name.startswith("test_"):
        return {path}
    importer = re.compile(rf"^(from|import) {re.escape(name.removesuffix('.py'))}\b", re.MULTILINE)
    found = set()
    for file in find_files(os.path.join(root, END_TO_END), (".py",)):
        if os.path.basename(file).startswith("test_"):
            with open(os.path.join(root, END_TO_END, file), encoding="utf-8") as script:
                if importer.search(script.read()):
                    found.add(f"{END_TO_END}/{file}")
    return found


def select(paths, targets, tests, root=ROOT, budget_s=BUDGET_S):
    """The Selection for the changed paths."""
    sources = own_sources(targets)
    programs = {target for test in tests for target in test["depends"]}
    names = {test["name"] for test in tests}
    folder_of = {test["name"]: suite.split(":")[-1] for test in tests for suite in test["suite"][:1]}
    direct, wide, scripts = set(), set(), set()
    for path in paths:
        for prefix, readers, files in (*READERS, *(BESIDE if path.endswith(CODE) else ())):
            if path.startswith(prefix):
                direct |= {name for name in names for reader in readers if name == reader or (reader[-1] == "_" and name.startswith(reader))}
                scripts |= {f"{END_TO_END}/{file}" for file in files}
        if path.endswith(DOCUMENTS):
            direct |= names & {os.path.basename(path)}
            if path == "README.md":
                scripts.add(f"{END_TO_END}/commands/test_readme.py")
        elif path.startswith(END_TO_END + "/") and path.endswith(".py"):
            scripts |= _end_to_end_of(path, root)
        elif path.endswith(CODE):
            direct |= _tests_of(direct_targets(path, sources, programs), tests)
            wide |= above(path.removeprefix("tests/").split("/")[0]) if "/" in path else set(folder_of.values())
    tidy = [name for name in sorted(names) if folder_of[name] == "tidy"]
    higher = sorted(name for name in names - direct - set(tidy) if folder_of[name] in wide)
    scripts = {path for path in scripts if os.path.exists(os.path.join(root, path))}
    return _within(tidy, higher, sorted(direct - set(tidy)), sorted(scripts), budget_s)


def _within(tidy, higher, direct, scripts, budget_s):
    def cost(name):
        return SECONDS.get(name.removeprefix(END_TO_END + "/"), QUICK_S)

    quick = [name for name in higher if cost(name) <= QUICK_S]
    total, taken, left = len(quick) * SECONDS_OF_QUICK, [], []
    for name in sorted([*direct, *scripts], key=lambda name: (cost(name), name)):
        if taken and total + cost(name) > budget_s:
            left.append(name)
        else:
            taken.append(name)
            total += cost(name)
    for name in sorted(set(higher) - set(quick), key=lambda name: (cost(name), name)):
        if total + cost(name) <= budget_s:
            quick.append(name)
            total += cost(name)
    return Selection(tests=[*tidy, *quick, *(name for name in taken if name in direct)],
                     end_to_end=[name for name in taken if name in scripts], left_out=left)
