"""README.md's steps can be pasted: each line of them is run, but for the set-up."""
import os
import re
import subprocess
import sys

import numpy as np
import onnx
from harness import ROOT, TIMEOUT_S, binary


def test_the_steps_of_the_readme_run_as_they_stand(tmp_path):
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    steps = re.search(r"^```sh\n(tools/setup\.sh .*?)^```$", readme, re.DOTALL | re.MULTILINE).group(1)
    first, steps = steps.split("\n", 1)
    assert first.startswith("tools/setup.sh && meson setup build && ninja")
    assert steps.count("/tmp/layover") >= 8
    script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + steps.replace("/tmp/layover", str(tmp_path))
    script = script.replace("$PWD/build/tools", os.path.dirname(os.path.abspath(binary())))
    done = subprocess.run(["bash"], input=script, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit code 85: suspended" in done.stdout
    assert "the same bits" in done.stdout
    straight, job = (np.load(tmp_path / f"{name}.npz")["y"] for name in ("straight", "job"))
    assert straight.tobytes() == job.tobytes()


def test_the_script_makes_the_example(tmp_path):
    subprocess.run([sys.executable, "examples/loop/make_loop.py", str(tmp_path)], cwd=ROOT, check=True)
    made, kept = (onnx.load(os.path.join(folder, "loop.onnx")) for folder in (tmp_path, f"{ROOT}/examples/loop"))
    weights = [onnx.numpy_helper.to_array(model.graph.initializer[0]) for model in (made, kept)]
    assert np.allclose(*weights, rtol=0, atol=1e-6)
    for model in (made, kept):
        model.graph.initializer[0].raw_data = b""
    assert made == kept
    made, kept = (np.load(os.path.join(folder, "in.npz")) for folder in (tmp_path, f"{ROOT}/examples/loop"))
    assert sorted(made) == sorted(kept) == ["rounds", "x"]
    assert all(np.array_equal(made[name], kept[name]) for name in kept)
