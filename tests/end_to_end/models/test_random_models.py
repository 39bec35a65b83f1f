"""Random graphs with fixed seeds: Layover against onnx's reference evaluator and onnxruntime (tests/random_models)."""
import collections
import json
import re
import subprocess
import sys

from harness import ROOT

COUNT, BEGUN = 800, 30
PROGRAM = "tests/random_models/compare.py"


def _compare(folder, *options):
    done = subprocess.run([sys.executable, PROGRAM, "--seed", "1", "--folder", str(folder), *map(str, options)], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    rows = {key: int(count) for count, key in re.findall(r"^ +(\d+) (.*)$", done.stdout, re.MULTILINE)}
    return done, rows


def _blocks(folder):
    """What the log says of each block of graphs: {(first, end): the tally}."""
    with open(folder / "progress-1.jsonl", encoding="utf-8") as log:
        rows = [json.loads(line) for line in log]
    blocks = {(row["low"], row["high"]): row["tally"] for row in rows}
    assert len(blocks) == len(rows), "a block was judged twice"
    return blocks


def test_no_difference_is_unexplained_also_where_a_run_goes_on(tmp_path):
    begun, _ = _compare(tmp_path / "found", "--count", BEGUN)
    assert begun.returncode == 0, begun.stdout[-6000:] + begun.stderr[-2000:]
    first = _blocks(tmp_path / "found")
    again, _ = _compare(tmp_path / "other", "--count", BEGUN)
    assert again.returncode == 0 and _blocks(tmp_path / "other") == first  # a number is always the same graph
    done, rows = _compare(tmp_path / "found", "--count", COUNT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert sum(rows.values()) == COUNT, done.stdout
    assert not [key for key in rows if key.startswith("difference")]
    assert rows["agree"] >= COUNT * 0.65 and rows["agree"] + rows["alone"] >= COUNT * 0.9, done.stdout
    assert rows.get("rejected", 0) + rows.get("invalid", 0) <= COUNT * 0.03, done.stdout
    blocks = _blocks(tmp_path / "found")
    assert first and first.items() <= blocks.items()
    ends = sorted(blocks)
    assert [low for low, _ in ends] + [COUNT] == [0] + [high for _, high in ends], ends
    tally = collections.Counter()
    for block in blocks.values():
        tally.update(block)
    assert rows == tally
