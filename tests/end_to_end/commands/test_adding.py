"""docs/adding.md: its diffs apply to this tree, the changed tree builds, and the commands of the page run the added cases.

All diffs are applied to one copy of the tree. The copy stays in .cache/adding, so that a later run compiles only the files
that differ."""
import filecmp
import os
import re
import shutil
import subprocess

import pytest

from harness import ROOT

FOLDER = os.path.join(ROOT, ".cache", "adding")
COPY = os.path.join(FOLDER, "tree")
BUILD_TIMEOUT_S = 1800


def read_page(path=os.path.join(ROOT, "docs", "adding.md")):
    """{title: (diff, commands)} of the sections that have a diff."""
    with open(path, encoding="utf-8") as file:
        sections = re.split(r"^## ", file.read(), flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        blocks = dict.fromkeys(("diff", "sh"), "")
        for kind, text in re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL):
            blocks[kind] += text
        if blocks["diff"]:
            found[section.split("\n")[0]] = (blocks["diff"], blocks["sh"].splitlines())
    return found


PAGE = read_page()


def run(*command, cwd=COPY, **options):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def files_of_the_tree():
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    return [name for name in names if name and os.path.isfile(os.path.join(ROOT, name))]


def update(source, target):
    """Makes the target's files those of the source. Equal files keep their times, so that ninja does not compile them."""
    wanted = set()
    for folder, _, files in os.walk(source):
        for file in files:
            full = os.path.join(folder, file)
            path = os.path.relpath(full, source)
            there = os.path.join(target, path)
            wanted.add(path)
            if not os.path.isfile(there) or not filecmp.cmp(there, full, shallow=False):
                os.makedirs(os.path.dirname(there), exist_ok=True)
                shutil.copy(full, there)
    for folder, _, files in os.walk(target):
        for path in [os.path.relpath(os.path.join(folder, file), target) for file in files]:
            if path not in wanted and not path.startswith("build" + os.sep):
                os.remove(os.path.join(target, path))


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """The tree with all of the page's diffs."""
    fresh = tmp_path_factory.mktemp("adding") / "tree"
    for name in files_of_the_tree():
        os.makedirs(os.path.dirname(fresh / name), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), fresh / name)
    for title, (diff, _) in PAGE.items():
        try:
            run("git", "apply", "--whitespace=error", "-", cwd=fresh, input=diff, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(fresh.parent)})
        except AssertionError as error:
            pytest.fail(f"docs/adding.md: the diff of '{title}' does not apply: make it anew\n{error}")
    update(fresh, COPY)
    return COPY


@pytest.fixture(scope="module")
def built(changed):
    """Builds what the page's commands name, and the program of worker processes."""
    if not os.path.exists(os.path.join(changed, "build", "build.ninja")):
        compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
        # few calls run there, so the compiler's time counts
        run("meson", "setup", "build", "--buildtype=plain", "-Doptimization=0", "-Dwerror=false", "-Dcuda=disabled", env={**os.environ, "CC": compiler})
    programs = sorted({"build/tools/layover"} | {word for _, commands in PAGE.values() for command in commands for word in command.split()
                       if word.startswith("build/")})
    run("ninja", "-C", "build", *(os.path.relpath(program, "build") for program in programs), timeout=BUILD_TIMEOUT_S)
    return changed


@pytest.mark.parametrize("title", PAGE)
def test_the_cases_of_a_diff_run(built, title):
    """A command's last comment says what its output must have: the new cases ran, and passed."""
    commands = PAGE[title][1]
    assert commands
    for line in commands:
        command, _, wanted = line.partition("#")
        output = run("bash", "-c", command, cwd=built)
        assert wanted.strip() and wanted.strip() in output, output[-3000:]


@pytest.mark.parametrize("title", PAGE)
def test_a_thing_is_written_in_few_places(title):
    """Counts the hunks that a person writes outside tests and generated documents."""
    hunks = 0
    for part in re.split(r"^diff --git ", PAGE[title][0], flags=re.MULTILINE)[1:]:
        path = part.split(" b/")[1].split("\n")[0]
        hunks += 0 if path.startswith(("docs/", "tests/")) else len(re.findall(r"^@@ ", part, re.MULTILINE))
    most = {"An elementwise operator": 2, "An operator": 3, "An instruction": 2, "A route with its verb": 2}[title]
    assert 0 < hunks <= most
