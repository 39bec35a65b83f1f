"""ONNX's own backend tests: every case that the onnx package generates, in one process."""
import os
import re
import subprocess
import sys

import pytest

from harness import ROOT, binary

RUNNER = os.path.join(os.path.dirname(os.path.dirname(binary())), "tests", "onnx_suite", "layover-onnx-suite")
SUMMARY = re.compile(r"^(\S+) +(\d+) of +(\d+) passed; up to opset 26 +(\d+) of +(\d+);", re.MULTILINE)
LEAST_NODE_TO_26, LEAST_PYTORCH = 1500, 110
# Names of the cases that have If, Loop or Scan somewhere, and of some that have not.
CONTROL_FLOW = ["test_if*", "test_loop*", "test_scan*", "test_affine_grid_*_expanded", "test_linear_attention_*_expanded",
                "test_range_*_expanded", "test_sequence_map_*_expanded"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "cases"
    subprocess.run([sys.executable, os.path.join(ROOT, "tests", "onnx_suite", "make_cases.py"), str(folder)], check=True,
                   stdout=subprocess.DEVNULL)
    return str(folder)


def run(*arguments):
    """The runner's summary: {kind: (passed, ran, passed up to opset 26, of these)}. It must not find anything else than
    tests/onnx_suite/suite_unsupported.def says."""
    done = subprocess.run([RUNNER, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return {kind: tuple(map(int, counts)) for kind, *counts in SUMMARY.findall(done.stdout)}


def test_the_backend_tests_pass_but_for_those_that_are_named_with_a_reason(cases):
    found = run(cases)
    assert found["node"][1] >= 1884 and found["node"][3] >= LEAST_NODE_TO_26
    assert found["pytorch-converted"][0] + found["pytorch-operator"][0] >= LEAST_PYTORCH


def test_all_control_flow_passes(cases):
    passed, ran, _, _ = run(cases, *CONTROL_FLOW)["node"]
    assert passed == ran >= 38


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_every_case_survives_bytes_at_every_instruction(cases, device):
    assert run("--chained", "--device", device, cases)["node"][3] >= LEAST_NODE_TO_26
