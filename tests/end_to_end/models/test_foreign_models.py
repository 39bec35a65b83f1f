"""Models as other people's tools write them: what is unusual in them is read right, or refused by its name."""
import os
import shutil

import numpy as np
import onnx
import pytest
from daemon import Daemon
from harness import SUSPENDED, load, write_npz, write_unchecked
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, STRING, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL
OTHER = {"cpu": "sim:0", "sim:0": "cpu"}


def value(name, kind, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def model_of(nodes, inputs, outputs, initializers=(), functions=(), sparse=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers), sparse_initializer=list(sparse))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def check(home, folder, model, arrays, wanted, device):
    """Runs straight, then suspended at every instruction and resumed on the other device."""
    home.call("register", "m", write_unchecked(folder / "m.onnx", model))
    given = ["--input", write_npz(folder / "in.npz", **arrays)] if arrays else []
    out, checkpoint = folder / "out.npz", folder / "c.lvc"

    def compare():
        outputs = load(out)
        assert sorted(outputs) == sorted(wanted)
        for name, array in wanted.items():
            array = np.asarray(array)
            assert outputs[name].shape == array.shape and outputs[name].dtype.kind == array.dtype.kind, name
            if array.dtype.kind == "f":
                np.testing.assert_allclose(outputs[name], array, rtol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(outputs[name], array, err_msg=name)
        out.unlink()

    home.call("run", "m", *given, "--output", out, "--device", device)
    compare()
    for at in range(1, 200):
        stopped = home.try_call("run", "m", *given, "--output", out, "--device", device, "--suspend-after", at,
                                "--checkpoint", checkpoint)
        if stopped.code != SUSPENDED:
            assert stopped.code == 0, str(stopped)
            compare()
            return
        home.call("resume", checkpoint, "--output", out, "--device", OTHER[device])
        compare()
    pytest.fail("it never ended")


def empty_loop():
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["next"]), helper.make_node("Identity", ["v"], ["row"]),
         helper.make_node("Cast", ["v"], ["text"], to=STRING), helper.make_node("Identity", ["c"], ["d"])],
        "body", [value("i", INT64, []), value("c", BOOL, []), value("v", FLOAT, None)],
        [value("d", BOOL, []), value("next", FLOAT, None), value("row", FLOAT, None), value("text", STRING, None)])
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "rows", "texts"], body=body),
             helper.make_node("Concat", ["more", "rows"], ["all"], axis=0)]
    return model_of(nodes, [value("n", INT64, []), value("x", FLOAT, ["a"]), value("more", FLOAT, ["b", "a"])],
                    [value("last", FLOAT), value("all", FLOAT), value("texts", STRING)])


def overloads():
    functions = [helper.make_function("own", "F", ["a"], ["r"], [helper.make_node(op, ["a"], ["r"])],
                                      [helper.make_opsetid("", 21)], overload=name)
                 for name, op in (("", "Exp"), ("minus", "Neg"), ("size", "Abs"))]
    return model_of([helper.make_node("F", ["x"], ["y"], domain="own", overload="minus"),
                     helper.make_node("F", ["y"], ["z"], domain="own", overload="size")],
                    [value("x", FLOAT, [2])], [value("y", FLOAT), value("z", FLOAT)], functions=functions)


def sparse_tensor(name, values, indices, dims):
    return helper.make_sparse_tensor(numpy_helper.from_array(np.array(values, "f4"), name),
                                     numpy_helper.from_array(np.array(indices, "i8"), name + "_indices"), dims)


def sparse():
    constant = helper.make_node("Constant", [], ["c"], sparse_value=sparse_tensor("", [5], [[1, 0]], [2, 2]))
    return model_of([constant, helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "c"], ["y"])],
                    [value("x", FLOAT, ["n", 2])], [value("y", FLOAT)],
                    sparse=[sparse_tensor("w", [2, 3], [0, 3], [2, 2])])


def unsorted():
    branch = [helper.make_graph([helper.make_node(op, ["later"], ["r"])], op, [], [value("r", FLOAT)]) for op in
              ("Neg", "Abs")]
    return model_of([helper.make_node("If", ["yes"], ["y"], then_branch=branch[0], else_branch=branch[1]),
                     helper.make_node("Add", ["x", "x"], ["later"])],
                    [value("x", FLOAT, ["n"]), value("yes", BOOL, [])], [value("y", FLOAT)])


def unpool():
    return model_of([helper.make_node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
                     helper.make_node("Shape", ["x"], ["s"]),
                     helper.make_node("MaxUnpool", ["p", "i", "s"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
                    [value("x", FLOAT, [1, 1, "h", "w"])], [value("y", FLOAT)])


def free_names():
    return model_of([helper.make_node("ReduceSum", ["a", "axes"], ["y"], keepdims=0)],
                    [value("a", FLOAT, ["x", 3, "x", "x"])], [value("y", FLOAT)],
                    [numpy_helper.from_array(np.array([2, 3], "i8"), "axes")])


def words():
    return model_of([helper.make_node("Cast", ["x"], ["y"], to=BOOL)], [value("x", STRING, ["n"])], [value("y", BOOL)])


PIXELS = np.array([9, 1, 2, 8, 0, 3, 4, 5, 6, 7, 1, 2, 3, 5, 4], "f4").reshape(1, 1, 3, 5)
UNPOOLED = np.array([9, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "f4").reshape(1, 1, 3, 5)
TWO = np.array([-1, 2], "f4")
CASES = {
    "loop_without_a_turn": (empty_loop, {"n": np.int64(0), "x": TWO, "more": np.ones((3, 2), "f4")},
                            {"last": TWO, "all": np.ones((3, 2), "f4"), "texts": np.empty((0, 2), "U1")}),
    "overloads": (overloads, {"x": TWO}, {"y": -TWO, "z": abs(TWO)}),
    "sparse": (sparse, {"x": np.array([[1, 2], [3, 4]], "f4")}, {"y": np.array([[2, 6], [11, 12]], "f4")}),
    "unsorted": (unsorted, {"x": TWO, "yes": np.bool_(True)}, {"y": -2 * TWO}),
    "unpool": (unpool, {"x": PIXELS}, {"y": UNPOOLED}),
    "free_names": (free_names, {"a": np.ones((2, 3, 4, 5), "f4")}, {"y": np.full((2, 3), 20, "f4")}),
}


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
@pytest.mark.parametrize("case", CASES)
def test_it_runs_and_moves_at_every_instruction(home, tmp_path, case, device):
    build, arrays, wanted = CASES[case]
    check(home, tmp_path, build(), arrays, wanted, device)


def test_strings_become_bools(home, tmp_path):
    check(home, tmp_path, words(), {"x": np.array(["True", "0", "false", "2"])},
          {"y": np.array([True, False, False, True])}, "cpu")


def test_what_cannot_be_right_is_refused_by_its_name(home, tmp_path):
    def refuses(model, *named):
        home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), words=named)

    neg = helper.make_node("Neg", ["x"], ["y"])
    x, y = value("x", FLOAT, [2]), value("y", FLOAT)
    refuses(model_of([neg], [x], [y, y]), "two outputs", "y")
    refuses(model_of([helper.make_node("Add", ["x", "b"], ["a"], name="one"),
                      helper.make_node("Neg", ["a"], ["b"], name="two")], [x], [value("b", FLOAT)]), "cycle", "one", "two")
    refuses(model_of([helper.make_node("F", ["x"], ["y"], domain="own", overload="gone")], [x], [y]), "own:F:gone")
    refuses(model_of([helper.make_node("Shape", ["x"], ["y"])], [x], [y]), "y", "float32", "int64")
    refuses(model_of([helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], [x], [y]), "perm")
    refuses(model_of([helper.make_node("MatMul", ["w", "x"], ["y"])], [x], [y],
                     sparse=[sparse_tensor("w", [2, 3], [3, 0], [2, 2])]), "w", "rising order")
    assert home.models() == []


def test_warnings_are_told_once(home, tmp_path):
    path = write_unchecked(tmp_path / "m.onnx", free_names())
    told = home.call("register", "m", path, as_json=False)
    assert told.err.count("warning") == 1 and "input a: x names 3 of its dimensions" in told.err
    assert len(home.call("register", "m", path).json["warnings"]) == 1
    stale = model_of([helper.make_node("Neg", ["x"], ["y"])], [value("x", FLOAT, [2])], [value("y", FLOAT, [3])])
    path = write_unchecked(tmp_path / "m.onnx", stale)
    told = home.call("compile", path, "-o", tmp_path / "m.lvx", as_json=False)
    assert "warning: output y is declared as float32[3]" in told.err


def test_a_daemon_hands_on_its_compilers_warnings(home, tmp_path):
    path = write_unchecked(tmp_path / "m.onnx", free_names())
    with Daemon(home):
        told = home.call("register", "m", path, as_json=False)
        assert told.err.count("warning") == 1
        assert "layover: warning: input a: x names 3 of its dimensions" in told.err
        (line,) = home.call("register", "m", path).json["warnings"]
        assert line.startswith("input a: x names 3 of its dimensions")
        assert home.call("register", "m", path, "--quiet", as_json=False).err == ""
        lower = home.call("register", "m", path, "--precision", "bf16").json
        assert lower["warnings"] == [line]


def two_inputs(*nodes):
    return model_of(nodes, [value("a", FLOAT, ["n"]), value("b", FLOAT, ["n"])], [value("y", FLOAT)])


def test_inputs_that_share_a_name_may_differ_where_nothing_depends_on_it(home, tmp_path):
    path = write_unchecked(tmp_path / "m.onnx", two_inputs(helper.make_node("Concat", ["a", "b"], ["y"], axis=0)))
    (warning,) = home.call("register", "m", path).json["warnings"]
    assert "inputs a and b: both have a dimension named n" in warning
    source = write_npz(tmp_path / "i.npz", a=TWO, b=np.ones(3, "f4"))
    for device in ("cpu", "sim:0"):
        told = home.call("run", "m", "--input", source, "--output", tmp_path / "o.npz", "--device", device, as_json=False)
        assert told.err == ""
        np.testing.assert_array_equal(load(tmp_path / "o.npz")["y"], np.concatenate([TWO, np.ones(3, "f4")]))
    path = write_unchecked(tmp_path / "m.onnx", two_inputs(helper.make_node("Add", ["a", "b"], ["y"])))
    home.call("register", "m", path)
    home.refuses("run", "m", "--input", source, "--output", tmp_path / "o.npz", words=("Add",))


def test_inputs_that_share_a_name_are_checked_where_the_compiler_relied_on_it(home, tmp_path):
    nodes = [helper.make_node("Shape", ["a"], ["s"]), helper.make_node("Reshape", ["b", "s"], ["y"])]
    path = write_unchecked(tmp_path / "m.onnx", two_inputs(*nodes))
    assert "warnings" not in home.call("register", "m", path).json
    source = write_npz(tmp_path / "i.npz", a=TWO, b=np.ones(3, "f4"))
    home.refuses("run", "m", "--input", source, "--output", tmp_path / "o.npz", words=("input b", "(n) is 3", "input a has 2"))


def test_an_initializer_that_is_an_input_takes_another_value(home, tmp_path):
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [2]), value("w", FLOAT, [2])],
                     [value("y", FLOAT)], [numpy_helper.from_array(np.ones(2, "f4"), "w")])
    home.call("register", "m", write_unchecked(tmp_path / "m.onnx", model))
    for given, wanted in (({"x": TWO}, TWO + 1), ({"x": TWO, "w": TWO}, TWO + TWO)):
        home.call("run", "m", "--input", write_npz(tmp_path / "i.npz", **given), "--output", tmp_path / "o.npz")
        assert load(tmp_path / "o.npz")["y"].tobytes() == wanted.tobytes()
    source = write_npz(tmp_path / "i.npz", x=TWO, v=TWO)
    home.refuses("run", "m", "--input", source, "--output", tmp_path / "o.npz", words=("no input v",))


# External data behind links ---------------------------------------------------------------------------------------

def save_with_data(folder):
    os.makedirs(folder)
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, [2])], [value("y", FLOAT)],
                     [numpy_helper.from_array(np.array([10, 20], "f4"), "w")])
    onnx.save_model(model, folder / "model.onnx", save_as_external_data=True, location="model.onnx_data",
                    size_threshold=0)


@pytest.mark.parametrize("below", ["", "onnx"])
def test_a_hub_cache_is_read(home, tmp_path, below):
    save_with_data(tmp_path / "made")
    root = tmp_path / "hub" / "models--x"
    revision = root / "snapshots" / "3f9a" / below
    os.makedirs(root / "blobs")
    os.makedirs(revision)
    for name, blob in (("model.onnx", "a"), ("model.onnx_data", "b")):
        shutil.move(tmp_path / "made" / name, root / "blobs" / blob)
        os.symlink(os.path.relpath(root / "blobs" / blob, revision), revision / name)
    home.call("register", "m", revision / "model.onnx")
    home.call("compile", "model.onnx", "-o", tmp_path / "m.lvx", folder=revision)
    out = tmp_path / "o.npz"
    home.call("run", "m", "--input", write_npz(tmp_path / "i.npz", x=np.ones(2, "f4")), "--output", out)
    np.testing.assert_array_equal(load(out)["y"], [11, 21])


def test_links_that_leave_the_tree_are_followed_when_asked_to(home, tmp_path):
    save_with_data(tmp_path / "model")
    data, moved = tmp_path / "model" / "model.onnx_data", tmp_path / "elsewhere"
    shutil.move(data, moved)
    os.symlink(moved, data)
    home.refuses("register", "m", tmp_path / "model" / "model.onnx", words=("model.onnx_data", "elsewhere", "--follow-links"))
    home.call("register", "m", tmp_path / "model" / "model.onnx", "--follow-links")
    os.unlink(data)
    os.link(moved, data)
    home.call("register", "m", tmp_path / "model" / "model.onnx")
