"""run --profile: what it says of each kernel, on the processor and on a pretend accelerator."""
import json

import pytest

from harness import SMALL_MODELS

FIELDS = {"operator", "kernel", "calls", "ms", "share", "gflops", "gbytes_per_s", "flops_share", "bytes_share"}


@pytest.fixture
def decoder(home):
    home.call("register", "gpt", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    home.input = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"
    return home


def profile(home, tmp_path, *words, as_json=True):
    result = home.call("run", "gpt", "--input", home.input, "--output", tmp_path / "o.npz", "--profile", *words,
                       as_json=as_json)
    return result.err


@pytest.mark.parametrize("device,threads", [("cpu", 1), ("cpu", 2), ("sim:0", 1)])
def test_a_profile_names_kernels_and_rates(decoder, tmp_path, device, threads):
    text = profile(decoder, tmp_path, "--device", device, "--threads", threads)
    lines = [json.loads(line) for line in text.splitlines()]
    rows, end = lines[:-1], lines[-1]
    assert rows and all(set(row) == FIELDS for row in rows)
    assert all(row["operator"] and row["kernel"] and row["calls"] > 0 for row in rows)
    assert abs(sum(row["share"] for row in rows) - 1) < 1e-4
    assert [row["ms"] for row in rows] == sorted((row["ms"] for row in rows), reverse=True)
    views = [row for row in rows if row["kernel"] == "view"]
    assert views and all(row["gflops"] == row["gbytes_per_s"] == 0 for row in views)
    products = [row for row in rows if "MatMul" in row["operator"]]
    assert products and all(row["gflops"] > 0 and row["flops_share"] > 0 for row in products)
    assert "append" in {row["kernel"] for row in rows}
    limits, total = end["limits"], end["total"]
    assert limits["gflops"] > 0 and limits["gbytes_per_s"] > 0 and 1 <= limits["threads"] <= threads
    assert total["calls"] == sum(row["calls"] for row in rows)
    assert abs(total["ms"] - sum(row["ms"] for row in rows)) < 1e-3 * total["ms"] + 1e-3
    # a share of the limit is the rate by the limit
    for row in rows:
        assert abs(row["flops_share"] * limits["gflops"] - row["gflops"]) < 1e-3 * row["gflops"] + 1e-3


def test_a_profile_for_people_ends_with_the_limits(decoder, tmp_path):
    lines = profile(decoder, tmp_path, as_json=False).splitlines()
    assert lines[0].split()[:2] == ["operator", "kernel"]
    assert lines[-3].startswith("total ")
    assert lines[-2].startswith("limits of this machine on 1 thread: ") and "GFLOP/s" in lines[-2]
