"""Files as people have them: entries that contradict, repeat or say nothing, data beside the file, folders, large graphs."""
import os

import numpy as np
import onnx
import onnxruntime
import pytest
from harness import REFUSED, load, write_npz, write_unchecked
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
RANDOM = np.random.default_rng(4)


def f(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


X, W = f(3, 4), f(4, 4)


def value(name, shape=None, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def plain(nodes=None, initializers=None, imports=((("", 18),)), **more):
    """relu(x w) with the changes that a test makes."""
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    initializers = [numpy_helper.from_array(W, "w")] if initializers is None else initializers
    graph = helper.make_graph(nodes, "g", [value("x", [None, 4])], [value("y", None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*entry) for entry in imports], ir_version=9, **more)


def answer(home, folder, model, x=X, path=None):
    """Registers and runs; the output."""
    home.call("register", "m", path or write_unchecked(folder / "m.onnx", model))
    home.call("run", "m", "--input", write_npz(folder / "in.npz", x=x), "--output", folder / "out.npz")
    return load(folder / "out.npz")["y"]


def same(made, wanted=None):
    np.testing.assert_allclose(made, np.maximum(X @ W, 0) if wanted is None else wanted, rtol=1e-5, atol=1e-6)


# ---- entries ----

def contradicting_shapes(model):
    model.graph.value_info.extend([value("a", [3, 7]), value("a", [9, 9, 9]), value("w", [1])])


def contradicting_types(model):
    model.graph.value_info.extend([value("a", [3, 4], TensorProto.INT64), value("w", [4, 4], TensorProto.STRING)])


def entries_of_nothing(model):
    model.graph.value_info.extend([value("gone", [1]), value("", [2]), value("y", [3, 4]), onnx.ValueInfoProto(name="bare")])
    model.graph.initializer.append(numpy_helper.from_array(f(100), "unused"))
    model.graph.initializer.append(numpy_helper.from_array(f(2), ""))
    model.graph.node.append(helper.make_node("Exp", ["a"], ["nobody reads it"]))
    model.metadata_props.extend([onnx.StringStringEntryProto(key="k", value="1"), onnx.StringStringEntryProto(key="k", value="2")])


def inputs_without_a_name(model):
    """None of them can be read, and no caller can give it."""
    body = helper.make_graph([helper.make_node("Identity", ["more"], ["going"]), helper.make_node("Add", ["s", "one"], ["t"])], "b",
                             [value("", [], TensorProto.INT64), value("more", [], TensorProto.BOOL), value("s", [])],
                             [value("going", [], TensorProto.BOOL), value("t", [])])
    model.graph.initializer.extend([numpy_helper.from_array(np.float32(1), "one"), numpy_helper.from_array(np.int64(2), "two"),
                                    numpy_helper.from_array(np.float32(0), "zero")])
    model.graph.node.append(helper.make_node("Loop", ["two", "", "zero"], ["three"], body=body))
    model.graph.output.append(value("three", []))
    model.graph.input.extend([value("", [7]), value("", [7])])


def equal_initializers(model):
    model.graph.initializer.append(numpy_helper.from_array(W, "w"))


def equal_imports(model):
    model.opset_import.extend([helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx", 18), helper.make_opsetid("own.domain", 7)])


def no_import_of_the_default_domain(model):
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))


def no_names(model):
    model.graph.name = ""
    for node in model.graph.node:
        node.name = ""
    model.producer_name = model.domain = model.doc_string = ""


def names_of_any_letters(model):
    for node in model.graph.node:
        node.name = "ä/b:c\n\"'"
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                names[i] = {"a": "mitte::0/ü \t"}.get(name, name)


def absent_optional_inputs(model):
    model.graph.node[1].CopyFrom(helper.make_node("Clip", ["a", "zero", "", ""], ["y", ""]))
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0), "zero"))


def nodes_in_any_order(model):
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def functions_of_other_domains(model):
    half = helper.make_function("own.domain", "Half", ["p"], ["q"], [helper.make_node("Relu", ["p"], ["q"])], [helper.make_opsetid("", 13)])
    full = helper.make_function("own.domain", "Full", ["p", "r"], ["q"],
                                [helper.make_node("MatMul", ["p", "r"], ["s"]), helper.make_node("Half", ["s"], ["q"], domain="own.domain")],
                                [helper.make_opsetid("", 18), helper.make_opsetid("own.domain", 1)])
    model.functions.extend([full, half])
    model.opset_import.append(helper.make_opsetid("own.domain", 1))
    del model.graph.node[:]
    model.graph.node.append(helper.make_node("Full", ["x", "w"], ["y"], domain="own.domain"))


CHANGES = [contradicting_shapes, contradicting_types, entries_of_nothing, inputs_without_a_name, equal_initializers, equal_imports,
           no_import_of_the_default_domain, no_names, names_of_any_letters, absent_optional_inputs, nodes_in_any_order, functions_of_other_domains]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])
def test_odd_entries_do_no_harm(home, tmp_path, change):
    model = plain()
    change(model)
    same(answer(home, tmp_path, model))


def test_of_initializers_with_one_name_the_last_counts(home, tmp_path):
    other = f(4, 4)
    model = plain(initializers=[numpy_helper.from_array(W, "w"), numpy_helper.from_array(other, "w")])
    wanted = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": X})[0]
    same(wanted, np.maximum(X @ other, 0))
    same(answer(home, tmp_path, model), wanted)


def test_an_output_without_a_name_is_refused(home, tmp_path):
    model = plain()
    model.graph.output.append(value("", [3, 4]))
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED, words=("output 1", "no name"))


def test_a_cycle_is_named(home, tmp_path):
    nodes = [helper.make_node("Add", ["x", "c"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="second"),
             helper.make_node("Neg", ["b"], ["c"], name="third"), helper.make_node("Neg", ["c"], ["y"], name="last")]
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", plain(nodes)), code=REFUSED,
                 words=("cycle", "first (Add)", "second (Relu)", "third (Neg)"))
    nodes = [helper.make_node("Add", ["x", "y"], ["y"], name="self")]
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", plain(nodes)), code=REFUSED, words=("self (Add)", "its own output"))


# ---- data beside the file ----

def outside(name, array, location, offset=None, length=True):
    tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape,
                         data_location=TensorProto.EXTERNAL)
    entries = {"location": location, **({} if offset is None else {"offset": offset}), **({"length": array.nbytes} if length else {})}
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=str(text))
    return tensor


def write_at(path, offset, array):
    """A sparse file: what stands before the offset takes no room on the disk."""
    with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
        file.seek(offset)
        file.write(array.tobytes())


@pytest.mark.parametrize("offset", [0, 4096, 64 << 10, (4 << 30) + 4096, (37 << 30) + 12])
def test_external_data_at_any_offset(home, tmp_path, offset):
    write_at(tmp_path / "m.onnx.data", offset, W)
    same(answer(home, tmp_path, plain(initializers=[outside("w", W, "m.onnx.data", offset)])))


def test_external_data_of_several_files(home, tmp_path):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["r"]), helper.make_node("Add", ["r", "b"], ["s"]),
             helper.make_node("Add", ["s", "c"], ["y"])]
    b, c = f(4), f(4)
    os.mkdir(tmp_path / "weights")
    write_at(tmp_path / "m.onnx.data", 0, W)
    write_at(tmp_path / "weights" / "b.bin", 100, b)
    write_at(tmp_path / "weights" / "b.bin", 200, c)
    model = plain(nodes, [outside("w", W, "m.onnx.data", length=False), outside("b", b, "weights/b.bin", 100), outside("c", c, "./weights/b.bin", 200)])
    same(answer(home, tmp_path, model), np.maximum(X @ W, 0) + b + c)


@pytest.mark.parametrize("offset,size,words", [(0, 63, ("m.onnx.data",)), (64, 64, ("m.onnx.data",)), ((1 << 62), 64, ("m.onnx.data",)), (-4, 64, ("offset",))])
def test_external_data_that_is_not_there_is_refused(home, tmp_path, offset, size, words):
    write_at(tmp_path / "m.onnx.data", 0, np.zeros(size, np.uint8))
    model = plain(initializers=[outside("w", W, "m.onnx.data", offset)])
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=(REFUSED, 3), words=("w", *words))


# ---- folders ----

def test_a_folder_is_its_one_model(home, tmp_path):
    os.mkdir(tmp_path / "model")
    write_at(tmp_path / "model" / "net.onnx.data", 0, W)
    write_unchecked(tmp_path / "model" / "net.onnx", plain(initializers=[outside("w", W, "net.onnx.data", 0)]))
    (tmp_path / "model" / "config.json").write_text("{}")
    same(answer(home, tmp_path, None, path=tmp_path / "model"))


def test_a_folder_of_none_or_several_is_refused(home, tmp_path):
    os.mkdir(tmp_path / "model")
    home.refuses("register", "m", tmp_path / "model", code=(REFUSED, 2, 3), words=("model", "without an .onnx file"))
    for name in ("encoder", "decoder"):
        write_unchecked(tmp_path / "model" / f"{name}.onnx", plain())
    home.refuses("register", "m", tmp_path / "model", code=(REFUSED, 2, 3), words=("decoder.onnx", "encoder.onnx"))


# ---- size ----

def test_ten_thousand_nodes(home, tmp_path):
    nodes = [helper.make_node("Add" if i % 3 else "Mul", [f"v{i}", "w"], [f"v{i + 1}"]) for i in range(10_000)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    small = np.full((4,), 0.5, np.float32)
    model = plain(nodes, [numpy_helper.from_array(small, "w")])
    wanted = X.copy()
    for i in range(10_000):
        wanted = wanted + small if i % 3 else wanted * small
    same(answer(home, tmp_path, model), wanted)


def test_a_vocabulary_of_many_words(home, tmp_path):
    """More words than most lists of attributes have."""
    words = [f"word {i}" for i in range(200_000)]
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], max_gram_length=1, min_gram_length=1, max_skip_count=0, mode="TF",
                            ngram_counts=[0], ngram_indexes=list(range(len(words))), pool_strings=words)
    graph = helper.make_graph([node], "g", [value("x", ["n"], TensorProto.STRING)], [value("y", None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    made = answer(home, tmp_path, model, np.array(["word 7", "word 199999", "none", "word 7"]))
    assert (made.shape, made[7], made[199_999], made.sum()) == ((200_000,), 2, 1, 3)
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=words, values_int64s=list(range(len(words))))
    graph = helper.make_graph([node], "g", [value("x", ["n"], TensorProto.STRING)], [value("y", None, TensorProto.INT64)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=9)
    assert answer(home, tmp_path, model, np.array(["word 7", "none", "word 199999"])).tolist() == [7, -1, 199_999]
