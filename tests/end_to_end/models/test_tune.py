"""layover-tune: what it measures is nobody's business here, only what it does with a table."""
import os
import re
import subprocess

import pytest

from harness import REFUSED, ROOT, USAGE, binary

TABLE = os.path.join(ROOT, "kernels", "cpu", "core", "cpu_rules.def")
ROW = re.compile(r"^CPU_RULE\((\w+), (\d+), (\d+), (\d+), ", re.MULTILINE)
VERSION = re.compile(r"^CPU_RULES\((\d+)\)", re.MULTILINE)


def tune(*arguments):
    program = os.path.join(os.path.dirname(binary()), "layover-tune")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return int(VERSION.search(text).group(1)), ROW.findall(text), ROW.sub("", VERSION.sub("", text))


def test_a_tuned_table_is_the_same_but_for_its_values(tmp_path):
    copy = tmp_path / "rules.def"
    copy.write_text(open(TABLE, encoding="utf-8").read(), encoding="utf-8")
    done = tune("--quick", "--write", copy)
    assert done.returncode == 0, done.stderr
    version, rows, rest = read(TABLE)
    new_version, new_rows, new_rest = read(copy)
    assert [row[0] for row in new_rows] == [row[0] for row in rows] and new_rest == rest
    assert new_version == version + (new_rows != rows)
    for name in (row[0] for row in rows):
        assert f"\n{name}, " in done.stdout, name
    assert " stands: loses " in done.stdout


def test_a_rule_is_measured_alone(tmp_path):
    done = tune("--quick", "--rule", "PANELS_COLUMNS_MIN")
    assert done.returncode == 0, done.stderr
    assert "\nPANELS_COLUMNS_MIN, " in done.stdout and "WINOGRAD" not in done.stdout


def test_another_table_is_refused_and_left_alone(tmp_path):
    other = tmp_path / "other.def"
    other.write_text("CPU_RULES(1)\n", encoding="utf-8")
    done = tune("--quick", "--rule", "PANELS_COLUMNS_MIN", "--write", other)
    assert done.returncode == REFUSED and "no row for rule" in done.stderr
    assert other.read_text(encoding="utf-8") == "CPU_RULES(1)\n"


@pytest.mark.parametrize("arguments", [["--rule"], ["--rule", "NO_SUCH"], ["--threads", "0"], ["--frobnicate", "1"]])
def test_wrong_words_are_a_usage_error(arguments):
    done = tune(*arguments)
    assert done.returncode == USAGE and done.stderr.startswith("usage: ")
