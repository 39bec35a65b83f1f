"""Inputs that have a value in the file: the default is a constant, another value runs the model's second form."""
import numpy as np
import onnxruntime
import pytest
from daemon import Daemon
from harness import REFUSED, load, same_bits, write_npz, write_unchecked
from one_node import check, run_with_stops
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

RANDOM = np.random.default_rng(3)


def f(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


X, W, B = f(5, 8), f(8, 6), f(6)
SHAPE = np.array([-1, 3], np.int64)


def value(name, array, shape=None):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape or array.shape)


def model(ir_version=8):
    """x w + b, in rows of a width that is an initializer, too."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Add", ["xw", "b"], ["sum"]),
             helper.make_node("Relu", ["sum"], ["high"]), helper.make_node("Reshape", ["high", "shape"], ["y"])]
    arrays = {"w": W, "b": B, "shape": SHAPE}
    inputs = [value("x", X, ["n", 8]), value("w", W, [8, "m"]), value("b", B, ["m"]), value("shape", SHAPE)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(array, name) for name, array in arrays.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def expected(made, given):
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return {"y": session.run(None, given)[0]}


GIVEN = [{}, {"w": f(8, 6)}, {"b": f(6)}, {"shape": np.array([2, -1], np.int64)}, {"w": f(8, 9), "b": f(9), "shape": np.array([9, 5], np.int64)}]


@pytest.mark.parametrize("given", GIVEN, ids=[" ".join(given) or "none" for given in GIVEN])
def test_a_value_that_is_given_counts(home, tmp_path, given):
    given = {"x": X, **given}
    check(home, tmp_path, model(), given, expected(model(), given))


def test_the_default_given_is_the_default(home, tmp_path):
    plain = run_with_stops(home, tmp_path, model(), {"x": X})
    given = run_with_stops(home, tmp_path, model(), {"x": X, "w": W})
    np.testing.assert_allclose(plain["y"], given["y"], rtol=1e-5, atol=1e-6)


def test_one_executable_has_both_forms(home, tmp_path):
    path = write_unchecked(tmp_path / "m.onnx", model())
    identity = home.call("register", "m", path).json["executable"]
    assert home.call("register", "n", path).json["executable"] == identity
    home.call("export", "m", tmp_path / "m.lvx")
    home.call("register", "again", tmp_path / "m.lvx")
    given = {"x": X, "w": f(8, 6)}
    out = tmp_path / "out.npz"
    home.call("run", "again", "--input", write_npz(tmp_path / "in.npz", **given), "--output", out)
    np.testing.assert_allclose(load(out)["y"], expected(model(), given)["y"], rtol=1e-4, atol=1e-5)


def test_a_job_takes_given_values(home, tmp_path):
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model()))
    given = {"x": X, "b": f(6)}
    arrays = write_npz(tmp_path / "in.npz", **given)
    home.call("run", "m", "--input", arrays, "--output", tmp_path / "run.npz")
    with Daemon(home):
        job = home.call("submit", "m", "--input", arrays).json["job"]
        home.call("watch", job)
        home.call("result", job, "-o", tmp_path / "job.npz")
    same_bits(tmp_path / "job.npz", tmp_path / "run.npz")


def test_bad_values_are_refused_by_name(home, tmp_path):
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model()))
    for given, words in (({"w": f(7, 6)}, ("w", "7")), ({"w": f(8, 6).astype(np.float64)}, ("w", "float64")), ({"v": W}, ("v",)),
                         ({"w": f(8, 5)}, ("m",))):
        path = write_npz(tmp_path / "in.npz", x=X, **given)
        home.refuses("run", "m", "--input", path, "--output", tmp_path / "out.npz", code=REFUSED, words=words)


def test_files_of_ir_version_3_have_constants(home, tmp_path):
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model(ir_version=3)))
    path = write_npz(tmp_path / "in.npz", x=X, w=W)
    home.refuses("run", "m", "--input", path, "--output", tmp_path / "out.npz", code=REFUSED, words=("no input w", "initializer"))


def test_values_that_the_import_needs_stay_constants(home, tmp_path):
    """Weights of few bits are unpacked when the model is compiled."""
    packed, scales = np.full((8, 1, 8), 0x9A, np.uint8), np.ones(8, np.float32)
    node = helper.make_node("MatMulNBits", ["x", "packed", "scales"], ["y"], domain="com.microsoft", K=8, N=8, bits=4, block_size=16)
    graph = helper.make_graph([node], "g", [value("x", X), value("packed", packed), value("scales", scales)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(packed, "packed"), numpy_helper.from_array(scales, "scales")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    registered = home.call("register", "m", write_unchecked(tmp_path / "m.onnx", made)).json
    assert [function["name"] for function in registered["functions"]] == ["main"]
    assert any("are constants: node y (MatMulNBits)" in line for line in registered["warnings"]), registered["warnings"]
    path = write_npz(tmp_path / "in.npz", x=X, packed=packed)
    home.refuses("run", "m", "--input", path, "--output", tmp_path / "out.npz", code=REFUSED, words=("no input packed",))
