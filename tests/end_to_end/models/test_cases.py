"""Small models that failed once: right on every device, whatever instruction they stop at and wherever they go on."""
import os

import numpy as np
import pytest

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
    straight, instructions = {}, 0
    for device in ("cpu", "sim:0"):
        straight[device] = tmp_path / f"{device[:3]}.npz"
        instructions = _run(home, name, device, straight[device])["instructions"]
        _check_wanted(straight[device], name)
    same_bits(straight["cpu"], straight["sim:0"])
    checkpoint, output = tmp_path / "c.lvc", tmp_path / "moved.npz"
    for stop in range(1, instructions):
        for first, second in (("cpu", "sim:0"), ("sim:0", "cpu")):
            _run(home, name, first, output, "--suspend-after", stop, "--checkpoint", checkpoint, expect=SUSPENDED)
            assert home.call("resume", checkpoint, "--device", second, "--output", output).json["instructions"] == instructions
            same_bits(output, straight[second])


@pytest.mark.parametrize("name", sorted(REFUSED_CASES))
def test_a_case_that_is_wrong_is_refused_when_it_is_registered(home, name):
    home.refuses("register", name, f"{FOLDER}/{name}.onnx", code=REFUSED, words=REFUSED_CASES[name])
    assert home.models() == []
