"""Models of strings: what is joined, grown in a loop, filled up and found once; stopped after every instruction."""
import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from graph_builder import model_bytes
from harness import SUSPENDED, Home

WORDS = np.array([["b", "aa"], ["", "ü"], ["b", "a"]])


def _value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def _model():
    body = helper.make_graph(
        [helper.make_node("Concat", ["grown", "words"], ["more"], axis=0), helper.make_node("Identity", ["go"], ["on"])], "body",
        [_value("round", TensorProto.INT64, []), _value("go", TensorProto.BOOL, []), _value("grown", TensorProto.STRING, None)],
        [_value("on", TensorProto.BOOL, []), _value("more", TensorProto.STRING, None)])
    nodes = [
        helper.make_node("SequenceConstruct", ["words", "words"], ["list"]),
        helper.make_node("ConcatFromSequence", ["list"], ["beside"], axis=1),
        helper.make_node("ConcatFromSequence", ["list"], ["stacked"], axis=1, new_axis=1),
        helper.make_node("Loop", ["rounds", "", "words"], ["looped"], body=body),
        helper.make_node("Pad", ["words", "pads"], ["padded"]),
        helper.make_node("Unique", ["words"], ["unique", "first", "inverse", "counts"]),
        helper.make_node("OneHot", ["inverse", "depth", "marks"], ["marked"])]
    constants = [numpy_helper.from_array(np.array(value, np.int64), name)
                 for name, value in (("rounds", 3), ("pads", [1, 0, 0, 1]), ("depth", 5))]
    constants.append(helper.make_tensor("marks", TensorProto.STRING, [2], [b".", b"here"]))
    outputs = [_value("beside", TensorProto.STRING, ["n", 4]), _value("stacked", TensorProto.STRING, ["n", 2, 2]),
               _value("looped", TensorProto.STRING, ["m", 2]), _value("padded", TensorProto.STRING, ["k", 3]),
               _value("unique", TensorProto.STRING, ["u"]), _value("counts", TensorProto.INT64, ["u"]),
               _value("marked", TensorProto.STRING, ["s", 5])]
    graph = helper.make_graph(nodes, "strings", [_value("words", TensorProto.STRING, ["n", 2])], outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _expected():
    unique, inverse, counts = np.unique(WORDS, return_inverse=True, return_counts=True)
    padded = np.full((4, 3), "", WORDS.dtype)
    padded[1:, :2] = WORDS
    return {"beside": np.concatenate([WORDS, WORDS], 1), "stacked": np.stack([WORDS, WORDS], 1),
            "looped": np.concatenate([WORDS] * 4), "padded": padded, "unique": unique, "counts": counts,
            "marked": np.where(np.arange(5) == inverse.reshape(-1, 1), "here", ".")}


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "strings.onnx").write_bytes(model_bytes(_model()))
    np.savez(tmp_path / "in.npz", words=WORDS)
    home.call("register", "strings", tmp_path / "strings.onnx")
    return home


def _check(path):
    with np.load(path) as arrays:
        for name, wanted in _expected().items():
            assert arrays[name].tolist() == wanted.tolist(), name


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_strings_are_joined_grown_filled_up_and_found(home, tmp_path, device):
    home.call("run", "strings", "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz", "--device", device)
    _check(tmp_path / "out.npz")


def test_strings_survive_a_stop_after_every_instruction(home, tmp_path):
    checkpoint, output = tmp_path / "c.lvc", tmp_path / "out.npz"
    for after in itertools.count(1):
        result = home.try_call("run", "strings", "--input", tmp_path / "in.npz", "--output", output, "--suspend-after", after,
                               "--checkpoint", checkpoint)
        if result.code == 0:
            break
        assert result.code == SUSPENDED
        home.call("resume", checkpoint, "--output", output)
        _check(output)
        output.unlink()
    assert after > 15
    _check(output)
