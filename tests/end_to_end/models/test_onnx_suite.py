"""ONNX's own backend tests: every case that the onnx package generates, in one process."""
import fcntl
import fnmatch
import hashlib
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test import BackendTest

from harness import ROOT, binary

sys.path += [os.path.join(os.path.dirname(binary()), "python"), os.path.join(ROOT, "tests", "onnx_suite")]

import backend_test  # noqa: E402
import layover  # noqa: E402
from layover import onnx_backend  # noqa: E402

RUNNER = os.path.join(os.path.dirname(os.path.dirname(binary())), "tests", "onnx_suite", "layover-onnx-suite")
SUMMARY = re.compile(r"^(\S+) +(\d+) of +(\d+) passed; up to opset 26 +(\d+) of +(\d+);", re.MULTILINE)
LEAST_NODE_TO_26, LEAST_PYTORCH = 1500, 110
# Names of the cases that have If, Loop or Scan somewhere, and of some that have not.
CONTROL_FLOW = ["test_if*", "test_loop*", "test_scan*", "test_affine_grid_*_expanded", "test_linear_attention_*_expanded",
                "test_range_*_expanded", "test_sequence_map_*_expanded"]


MAKER = os.path.join(ROOT, "tests", "onnx_suite", "make_cases.py")


def _write_cases(folder):
    """The cases, for this version of the package and of the script that writes them."""
    with open(MAKER, "rb") as script:
        wanted = f"{onnx.__version__} {np.__version__} {hashlib.sha256(script.read()).hexdigest()}"
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "made-from"), "a+", encoding="ascii") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)  # one of those who test at once writes them
        stamp.seek(0)
        if stamp.read() != wanted:
            stamp.truncate(0)
            subprocess.run([sys.executable, MAKER, os.path.join(folder, "cases")], check=True, stdout=subprocess.DEVNULL)
            stamp.write(wanted)
    return os.path.join(folder, "cases")


@pytest.fixture(scope="module")
def cases():
    return _write_cases(os.path.join(ROOT, ".cache", "onnx-cases"))


class Found:
    """What the runner says of all cases, each also run one instruction at a time through the bytes of a checkpoint. It must not
    find anything else than tests/onnx_suite/suite_unsupported.def says."""

    def __init__(self, cases, device):
        done = subprocess.run([RUNNER, "--chained", "--verbose", "--device", device, cases], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        # {kind: (passed, ran, passed up to opset 26, of these)}
        self.counts = {kind: tuple(map(int, counts)) for kind, *counts in SUMMARY.findall(done.stdout)}
        self.passed = set(re.findall(r"^passed: (\S+)$", done.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def on_cpu(cases):
    return Found(cases, "cpu")


def test_the_backend_tests_pass_but_for_those_that_are_named_with_a_reason(on_cpu):
    found = on_cpu.counts
    assert found["node"][1] >= 1884 and found["node"][3] >= LEAST_NODE_TO_26
    assert found["pytorch-converted"][0] + found["pytorch-operator"][0] >= LEAST_PYTORCH


def test_all_control_flow_passes(cases, on_cpu):
    names = {name for name in os.listdir(os.path.join(cases, "node")) if any(fnmatch.fnmatch(name, words) for words in CONTROL_FLOW)}
    assert len(names) >= 38 and names <= on_cpu.passed


def test_every_case_survives_bytes_at_every_instruction_on_another_device(cases):
    assert Found(cases, "sim:0").counts["node"][3] >= LEAST_NODE_TO_26


def read_case(folder):
    """(relative, absolute, [(inputs, outputs)]) of a case that make_cases.py wrote."""
    def tensor(number):
        with open(os.path.join(folder, f"{number}.pb"), "rb") as file:
            return numpy_helper.to_array(onnx.load_tensor_from_string(file.read()))

    def value(kind, numbers):
        items = [tensor(number) for number in numbers]
        return items if kind == "list" else items[0] if kind == "tensor" else None
    tolerance, sets = None, []
    with open(os.path.join(folder, "values"), encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words[0] == "tolerance":
                tolerance = tuple(map(float, words[1:]))
            elif words[0] == "set":
                sets.append(([], []))
            else:
                sets[-1][words[0] == "output"].append(value(words[1], words[2:]))
    return (*tolerance, sets)


# Kinds of values that arrays of numpy do not have, and every tenth of the other cases.
SPECIAL = re.compile("seq|optional|string|INT4|INT2|FLOAT4E2M1|int4|int2|BFLOAT16|FLOAT8")


def test_the_python_backend_passes_them(cases):
    names = sorted(os.listdir(os.path.join(cases, "node")))
    chosen = {name for name in names if SPECIAL.search(name)} | set(names[::10])
    ran = 0
    for name in sorted(chosen):
        folder = os.path.join(cases, "node", name)
        if backend_test.reason_of(name):
            continue
        relative, absolute, sets = read_case(folder)
        prepared = onnx_backend.prepare(os.path.join(folder, "model.onnx"))
        for inputs, outputs in sets:
            BackendTest.assert_similar_outputs(outputs, list(prepared.run(inputs)), relative, absolute, name)
        ran += 1
    assert ran > 300


def test_the_python_backend_runs_nodes_and_says_what_it_cannot_do():
    x = np.array([[1, -2], [3, 4]], "f4")
    node = onnx.helper.make_node("TopK", ["x", "k"], ["values", "indices"], axis=-1)
    found = onnx_backend.run_node(node, [x, np.array([1], "i8")])
    assert found.values.tolist() == [[1], [4]] and found.indices.tolist() == [[0], [1]]
    relu = onnx.helper.make_node("Relu", ["x"], ["y"])
    for outputs in (onnx_backend.run_node(relu, {"x": x}, opset_version=6), onnx_backend.run_node(relu, [x], "SIM:0")):
        np.testing.assert_array_equal(outputs[0], np.maximum(x, 0))
    graph = onnx.helper.make_graph([relu], "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 2])],
                                   [onnx.helper.make_tensor_value_info("y", 1, ["n", 2])])
    model = onnx.helper.make_model(graph)
    for given in (model, model.SerializeToString()):
        for inputs in ([x], x, {"x": x}):
            np.testing.assert_array_equal(onnx_backend.run_model(given, inputs).y, np.maximum(x, 0))
    assert onnx_backend.supports_device("CPU") and onnx_backend.supports_device("SIM:1")
    assert not onnx_backend.supports_device("TPU") and not onnx_backend.supports_device("CUDA:99")
    assert onnx_backend.is_compatible(model)
    other = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"])
    graph.node[0].CopyFrom(other)
    assert not onnx_backend.is_compatible(onnx.helper.make_model(graph))
    with pytest.raises(layover.UnsupportedError, match="NoSuchOperator"):
        onnx_backend.run_node(other, [x])
    with pytest.raises(ValueError, match="Relu has 1 inputs, not 2"):
        onnx_backend.run_node(relu, [x, x])
