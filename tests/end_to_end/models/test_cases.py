"""Small models that failed once: right on every device, whatever instruction they stop at and wherever they go on."""
import os

import numpy as np
import pytest

import stops
from harness import REFUSED, ROOT, SUSPENDED, load, same_bits

FOLDER = os.path.join(ROOT, "tests", "models", "cases")
REFUSED_CASES = {"output_twice": ("output", "y", "twice")}
CASES = sorted(name[:-len(".onnx")] for name in os.listdir(FOLDER) if name.endswith(".onnx"))
RUNNABLE = [name for name in CASES if name not in REFUSED_CASES]
RELATIVE, ABSOLUTE = 1e-5, 1e-6


def _check_wanted(path, name):
    made, wanted = load(path), load(f"{FOLDER}/{name}.want.npz")
    assert sorted(made) == sorted(wanted)
    for key, array in wanted.items():
        assert (made[key].dtype.kind, made[key].shape) == (array.dtype.kind, array.shape), key
        if array.dtype.kind != "f":
            np.testing.assert_array_equal(made[key], array, err_msg=key)
            continue
        assert made[key].dtype == array.dtype, key
        np.testing.assert_allclose(made[key], array, rtol=RELATIVE, atol=ABSOLUTE, err_msg=key)


def _run(home, name, device, output, *options, expect=0):
    return home.call("run", name, "--input", f"{FOLDER}/{name}.in.npz", "--device", device, "--output", output, *options,
                     expect=expect).json


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_case_is_right_on_every_device_and_stopped_at_every_instruction(home, tmp_path, name):
    home.call("register", name, f"{FOLDER}/{name}.onnx")
    straight, given = {}, load(f"{FOLDER}/{name}.in.npz")
    for device in ("cpu", "sim:0"):
        straight[device] = tmp_path / f"{device[:3]}.npz"
        instructions = _run(home, name, device, straight[device])["instructions"]
        _check_wanted(straight[device], name)
    same_bits(straight["cpu"], straight["sim:0"])
    models = [stops.opened(home, name, device) for device in ("cpu", "sim:0")]
    for ring in (models, models[::-1]):  # each instruction runs on either device, between two on the other
        cut, count = stops.run_cut(ring, given)
        assert count == instructions - 1
        stops.assert_same(cut, load(straight["cpu"]))
    checkpoint, output, middle = tmp_path / "c.lvc", tmp_path / "moved.npz", instructions // 2
    if middle > 0:  # and once in processes of their own
        _run(home, name, "cpu", output, "--suspend-after", middle, "--checkpoint", checkpoint, expect=SUSPENDED)
        assert home.call("resume", checkpoint, "--device", "sim:0", "--output", output).json["instructions"] == instructions
        same_bits(output, straight["sim:0"])


@pytest.mark.parametrize("name", sorted(REFUSED_CASES))
def test_a_case_that_is_wrong_is_refused_when_it_is_registered(home, name):
    home.refuses("register", name, f"{FOLDER}/{name}.onnx", code=REFUSED, words=REFUSED_CASES[name])
    assert home.models() == []
