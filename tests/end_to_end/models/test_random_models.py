"""Random graphs with fixed seeds: Layover against onnx's reference evaluator and onnxruntime (tests/random_models)."""
import re
import subprocess
import sys

from harness import ROOT

COUNT = 800
PROGRAM = "tests/random_models/compare.py"


def _compare(folder, *options):
    done = subprocess.run([sys.executable, PROGRAM, "--seed", "1", "--folder", str(folder), *map(str, options)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    rows = {key: int(count) for count, key in re.findall(r"^ +(\d+) (.*)$", done.stdout, re.MULTILINE)}
    return done, rows


def test_no_difference_is_unexplained(tmp_path):
    done, rows = _compare(tmp_path / "found", "--count", COUNT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert sum(rows.values()) == COUNT, done.stdout
    assert not [key for key in rows if key.startswith("difference")]
    assert rows["agree"] >= COUNT * 0.65 and rows["agree"] + rows["alone"] >= COUNT * 0.9, done.stdout
    assert rows.get("rejected", 0) + rows.get("invalid", 0) <= COUNT * 0.03, done.stdout


def test_a_run_goes_on_where_it_was(tmp_path):
    first, _ = _compare(tmp_path / "found", "--count", 100)
    again, rows = _compare(tmp_path / "found", "--count", 300)
    assert first.returncode == 0 and again.returncode == 0, again.stdout[-4000:]
    assert sum(rows.values()) == 300
    _, whole = _compare(tmp_path / "other", "--count", 300)
    assert rows == whole
