"""The manual page has every verb, option, exit code and variable of the tables, and two readers of such pages accept it."""
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import ROOT
from test_usage import VERBS

LINTERS = {"mandoc": ["mandoc", "-T", "lint", "-W", "warning"], "groff": ["groff", "-man", "-ww", "-b", "-z", "-K", "utf8"]}


@pytest.fixture
def page(home):
    return home.call("manual", as_json=False).out


def sections(page):
    """{verb: the text of its section without the escapes}"""
    plain = re.sub(r"\\f[BIR]", "", page.replace(r"\-", "-"))
    return {part.split()[0]: part for part in plain.split("\n.SH VERBS\n")[1].split("\n.SH ")[0].split(".SS ")[1:]}


def test_each_verb_has_a_section_with_its_options(home, page):
    found = sections(page)
    assert sorted(found) == sorted(VERBS)
    words = dict(re.findall(r"^    ([a-z-]+)\) words='(.*)' ;;", home.call("completion", "bash", as_json=False).out, re.MULTILINE))
    assert sorted(words) == sorted(VERBS) and "--output" in words["run"]
    for verb, options in words.items():
        assert [f"--{name}" for name in re.findall(r"^\.TP\n--([a-z0-9-]+)", found[verb], re.MULTILINE)] == options.split(), verb


def test_exit_codes_are_those_of_the_errors(page):
    errors = (pathlib.Path(ROOT) / "base" / "errors.def").read_text(encoding="ascii")
    codes = set(re.findall(r"^ERROR\(\w+, \d+, \d+, (\d+),", errors, re.MULTILINE))
    listed = re.findall(r"^\\fB(\d+)\\fR$", page, re.MULTILINE)
    assert codes and codes | {"0", "85"} == set(listed) and len(set(listed)) == len(listed)


@pytest.mark.parametrize("name", LINTERS)
def test_the_page_is_clean(name, page):
    if not shutil.which(name):
        pytest.skip(f"there is no {name} here")
    done = subprocess.run(LINTERS[name], input=page, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == "" and done.returncode == 0
