"""register and compile --precision: what runs is lower, how far it is from float32 is said, and suspending changes no bit."""
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from daemon import Daemon
from harness import SMALL_MODELS, SUSPENDED, USAGE, Home
from graph_builder import model_bytes

PRECISIONS = ("bf16", "int8")
# relative root mean square errors that a product of these sizes stays below
LIMITS = {"bf16": 0.01, "int8": 0.03}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def _weights(generator, *shape):
    return (generator.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


@pytest.fixture
def perceptron(tmp_path):
    """Two layers with a bias and a residual, and one that is too small; with its inputs."""
    generator = np.random.default_rng(5)
    constants = {"w1": _weights(generator, 40, 96), "b1": _weights(generator, 96), "w2": _weights(generator, 96, 40),
                 "w3": _weights(generator, 40, 8)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["m1"]), helper.make_node("Add", ["m1", "b1"], ["a1"]),
             helper.make_node("Gelu", ["a1"], ["g1"]), helper.make_node("MatMul", ["g1", "w2"], ["m2"]),
             helper.make_node("Add", ["m2", "x"], ["y"]), helper.make_node("MatMul", ["y", "w3"], ["z"])]
    graph = helper.make_graph(
        nodes, "perceptron", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 40])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name, width in (("y", 40), ("z", 8))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    path, source = tmp_path / "perceptron.onnx", tmp_path / "in.npz"
    path.write_bytes(model_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])))
    np.savez(source, x=generator.standard_normal((7, 40)).astype(np.float32))
    return path, source


@pytest.fixture
def images(tmp_path):
    """Three convolutions with bias, stride and residual, of which the first sees too few channels; with its inputs."""
    generator = np.random.default_rng(6)

    def filters(*shape):
        return (generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    constants = {"w1": filters(24, 3, 3, 3), "w2": filters(24, 24, 3, 3), "b2": filters(24, 1)[:, 0], "w3": filters(40, 24, 3, 3)}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1]), helper.make_node("Add", ["c2", "r1"], ["a2"]),
             helper.make_node("Conv", ["a2", "w3"], ["c3"], strides=[2, 2]), helper.make_node("GlobalAveragePool", ["c3"], ["y"])]
    graph = helper.make_graph(
        nodes, "images", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 15, 17])],
        [helper.make_tensor_value_info("c3", TensorProto.FLOAT, ["n", 40, 7, 8]),
         helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 40, 1, 1])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    path, source = tmp_path / "images.onnx", tmp_path / "in.npz"
    path.write_bytes(model_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])))
    np.savez(source, x=generator.standard_normal((3, 3, 15, 17)).astype(np.float32))
    return path, source


def _run(home, reference, source, output, *options, expect=0):
    home.call("run", reference, "--input", source, "--output", output, *options, expect=expect)
    with np.load(output) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _relative(got, wanted):
    return float(np.sqrt(np.square(got - wanted).sum() / np.square(wanted).sum()))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_lower_precision_says_what_it_costs_and_that_is_true(home, perceptron, tmp_path, precision):
    path, source = perceptron
    home.call("register", "full", path)
    said = home.call("register", "lower", path, "--precision", precision, "--input", source).json["precision"]
    assert (said["mode"], said["lowered"], said["left"], said["left_by"]) == (precision, 2, 1, {"small": 1})
    assert said["inputs"] == "given"
    full, lower = (_run(home, name, source, tmp_path / f"{name}.npz") for name in ("full", "lower"))
    for output in said["outputs"]:
        wanted, got = full[output["name"]], lower[output["name"]]
        assert 0 < _relative(got, wanted) < LIMITS[precision]
        assert output["rms_error_relative"] == pytest.approx(_relative(got, wanted), rel=1e-3)
        assert output["max_abs_error"] == pytest.approx(np.abs(got - wanted).max(), rel=1e-3)
        same = np.mean(got.argmax(axis=-1) == wanted.argmax(axis=-1))
        assert output["argmax_agreement"] == pytest.approx(same)
    sizes = {line["model"]: line["bytes_raw"] for line in home.call("models").lines}
    assert sizes["lower"] < sizes["full"] * (0.6 if precision == "bf16" else 0.4)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_convolutions_between_images_are_lowered(home, images, tmp_path, precision):
    path, source = images
    home.call("register", "full", path)
    said = home.call("register", "lower", path, "--precision", precision, "--input", source).json["precision"]
    assert (said["lowered"], said["left"], said["left_by"]) == (2, 1, {"small": 1})
    wanted, got = (_run(home, name, source, tmp_path / f"{name}.npz") for name in ("full", "lower"))
    for output in said["outputs"]:
        name = output["name"]
        assert 0 < _relative(got[name], wanted[name]) < LIMITS[precision]
        assert output["rms_error_relative"] == pytest.approx(_relative(got[name], wanted[name]), rel=1e-3)
    assert home.call("show", "lower").json["lowered_to"] == precision
    assert f"lowered to {precision}" in home.call("show", "lower", as_json=False).out
    assert "lowered_to" not in home.call("show", "full").json
    on_sim = _run(home, "lower", source, tmp_path / "sim.npz", "--device", "sim:0")
    one = np.load(source)["x"][1:2]
    np.savez(tmp_path / "one.npz", x=one)
    alone = _run(home, "lower", tmp_path / "one.npz", tmp_path / "alone.npz", "--threads", "2")
    for name in got:
        assert np.array_equal(on_sim[name], got[name]) and np.array_equal(alone[name], got[name][1:2])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_suspending_changes_no_bit_of_lower_products(home, perceptron, tmp_path, precision):
    path, source = perceptron
    checkpoint, output = tmp_path / "c.lvc", tmp_path / "out.npz"
    home.call("register", "lower", path, "--precision", precision)
    wanted = _run(home, "lower", source, tmp_path / "wanted.npz")
    # sim runs the cpu's kernels: it is of the cpu's determinism class
    for after, device in ((1, "cpu"), (2, "sim:0"), (3, "cpu")):
        home.call("run", "lower", "--input", source, "--output", output, "--suspend-after", after, "--checkpoint",
                  checkpoint, "--threads", 2, expect=SUSPENDED)
        home.call("resume", checkpoint, "--output", output, "--device", device)
        with np.load(output) as got:
            for name, value in wanted.items():
                np.testing.assert_array_equal(got[name], value)


def test_the_same_file_gives_the_same_executable(home, perceptron, tmp_path):
    path, _ = perceptron
    identities = set()
    for isa in ("AVX2", "SSE41", "ALL"):
        for precision in PRECISIONS:
            said = home.call("compile", path, "-o", tmp_path / "m.lvx", "--precision", precision,
                             environment={"ONEDNN_MAX_CPU_ISA": isa}).json
            assert said["precision"]["lowered"] == 2
            identities.add((precision, said["executable"]))
    assert len(identities) == len(PRECISIONS)
    plain = home.call("compile", path, "-o", tmp_path / "m.lvx").json
    assert "precision" not in plain and plain["executable"] not in {identity for _, identity in identities}


def test_a_loop_is_lowered_and_inputs_are_made_up(home):
    path = os.path.join(SMALL_MODELS, "gpt2_gen_tiny.onnx")
    said = home.call("register", "gpt", path, "--precision", "int8").json["precision"]
    assert said["lowered"] == 9 and said["inputs"] == "generated" and "unmeasured" not in said
    assert [output["name"] for output in said["outputs"]] == ["generated", "log_probabilities"]
    shown = home.call("register", "gpt", path, "--precision", "int8", as_json=False).out
    assert "9 operators were lowered" in shown and "made up" in shown


def test_a_model_without_products_says_so(home):
    path = os.path.join(SMALL_MODELS, "counted_loop.onnx")
    said = home.call("register", "loop", path, "--precision", "bf16").json["precision"]
    assert said["lowered"] == said["left"] == 0
    assert "nothing was lowered" in home.call("register", "loop", path, "--precision", "bf16", as_json=False).out


def test_inputs_that_a_model_refuses_are_no_failure_when_made_up(home, tmp_path):
    nodes = [helper.make_node("Gather", ["table", "i"], ["row"]), helper.make_node("MatMul", ["row", "w"], ["y"])]
    graph = helper.make_graph(
        nodes, "gather", [helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])],
        [numpy_helper.from_array(np.ones((1, 16), np.float32), "table"),
         numpy_helper.from_array(np.ones((16, 16), np.float32), "w")])
    path = tmp_path / "gather.onnx"
    path.write_bytes(model_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])))
    said = home.call("register", "gather", path, "--precision", "int8").json
    assert said["version"] == 1 and said["precision"]["lowered"] == 1
    assert "outside" in said["precision"]["unmeasured"] and said["precision"]["outputs"] == []
    np.savez(tmp_path / "in.npz", i=np.array([1]))
    home.refuses("register", "other", path, "--precision", "int8", "--input", tmp_path / "in.npz", words=("outside",))
    assert [line["model"] for line in home.call("models").lines] == ["gather"]


def test_precisions_that_are_none_are_refused(home, perceptron):
    path, source = perceptron
    for verb in (("register", "m", path), ("compile", path, "-o", os.devnull)):
        home.refuses(*verb, "--precision", "int4", code=USAGE, words=("bf16", "int8"))
    home.refuses("register", "m", path, "--input", source, code=USAGE, words=("--precision",))


def test_a_daemon_compiles_the_same(home, perceptron, tmp_path):
    path, source = perceptron
    with Daemon(home):
        said = home.call("register", "lower", path, "--precision", "int8", "--input", source).json
    assert said["precision"]["lowered"] == 2 and said["precision"]["outputs"][0]["rms_error_relative"] > 0
    compiled = home.call("compile", path, "-o", tmp_path / "m.lvx", "--precision", "int8").json
    assert compiled["executable"] == said["executable"]
