"""README.md's steps can be pasted: each line of them is run, but for the set-up."""
import os
import re
import subprocess

import numpy as np
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
