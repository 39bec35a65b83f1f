"""Whatever is wrong with a file ends in one clear line and the right exit code, and leaves the store as it was."""
import os
import random
import resource
import signal

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from graph_builder import BOOL, FLOAT, INT64, GraphBuilder, value
from harness import (DONE, FORBIDDEN, NOT_FOUND, REFUSED, SMALL_MODELS, SUSPENDED, load, same_bits, write_model, write_npz,
                     write_unchecked)

MUTATIONS = int(os.environ.get("LAYOVER_MUTATIONS", "40"))


def add_model(shape=("N", 3)):
    g = GraphBuilder("add")
    g.op("Add", "x", g.weight("w", np.ones(3, np.float32)), name="y")
    return g.model([value("x", FLOAT, list(shape))], [value("y", FLOAT, list(shape))])


@pytest.fixture
def adder(home, tmp_path):
    home.call("register", "add", write_model(tmp_path / "add.onnx", add_model()))
    return home


# Inputs of a run ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("arrays, words", [
    ({}, ["x"]),
    ({"z": np.zeros((2, 3), "f4")}, ["z"]),
    ({"x": np.zeros((2, 3), "f4"), "z": np.zeros(1, "f4")}, ["z"]),
    ({"x": np.zeros((2, 4), "f4")}, ["x", "4"]),
    ({"x": np.zeros(3, "f4")}, ["x"]),
    ({"x": np.zeros((2, 3), "f8")}, ["x", "float64"]),
    ({"x": np.zeros((2, 3), "i8")}, ["x", "int64"]),
    ({"x": np.zeros((2, 3), "c8")}, ["x"]),
    ({"x": np.array([["a", "b", "c"]])}, ["x"]),
], ids=["none", "wrong-name", "one-too-many", "wrong-size", "wrong-rank", "float64", "int64", "complex", "text"])
def test_wrong_inputs_are_named(adder, tmp_path, arrays, words):
    source = write_npz(tmp_path / "in.npz", **arrays)
    adder.refuses("run", "add", "--input", source, "--output", tmp_path / "o.npz", words=words)
    assert not (tmp_path / "o.npz").exists()


def test_big_endian_is_read_as_such_or_refused(adder, tmp_path):
    source = write_npz(tmp_path / "in.npz", x=np.array([[1, 2, 3]], ">f4"))
    result = adder.try_call("run", "add", "--input", source, "--output", tmp_path / "o.npz")
    assert result.code in (DONE, REFUSED), str(result)
    if result.code == DONE:
        assert load(tmp_path / "o.npz")["y"].tolist() == [[2, 3, 4]]


def test_missing_and_foreign_files(adder, tmp_path):
    output = ["--output", tmp_path / "o.npz"]
    adder.refuses("run", "add", "--input", tmp_path / "gone.npz", *output, code=(REFUSED, NOT_FOUND), words=["gone.npz"])
    for name, content in (("empty", b""), ("text", b"hello\n"), ("zeros", bytes(4096)), ("zip", b"PK\x03\x04" * 30),
                          ("end", b"PK\x05\x06" + b"\xff" * 18)):
        (tmp_path / f"{name}.npz").write_bytes(content)
        adder.refuses("run", "add", "--input", tmp_path / f"{name}.npz", *output, words=[f"{name}.npz"])
        adder.refuses("register", "bad", tmp_path / f"{name}.npz", "--format", "onnx")
        adder.refuses("import", "bad", tmp_path / f"{name}.npz")
    os.rename(tmp_path / "text.npz", tmp_path / "text.npy")
    adder.refuses("run", "add", "--input", f"x={tmp_path}/text.npy", *output, words=["text.npy"])
    assert [model[0] for model in adder.models()] == ["add"]


@pytest.mark.parametrize("header", [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 3), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808, 1), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 3), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1, 3), }",
    "{'descr': '<f4', 'shape': (1, 3), }",
    "{" * 200,
])
def test_npy_headers_that_lie(adder, tmp_path, header):
    text = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(12)
    (tmp_path / "x.npy").write_bytes(content)
    adder.refuses("run", "add", "--input", f"x={tmp_path}/x.npy", "--output", tmp_path / "o.npz", words=["x.npy"])


def test_an_output_that_cannot_be_written(adder, tmp_path):
    source = write_npz(tmp_path / "in.npz", x=np.zeros((2, 3), "f4"))
    adder.refuses("run", "add", "--input", source, "--output", tmp_path / "no" / "o.npz", code=(REFUSED, NOT_FOUND),
                  words=["o.npz"])
    os.mkdir(tmp_path / "folder.npz")
    adder.refuses("run", "add", "--input", source, "--output", tmp_path / "folder.npz", words=["folder.npz"])


# Models ---------------------------------------------------------------------------------------------------------

def refuses_model(home, folder, model, words=(), checked=False):
    path = (write_model if checked else write_unchecked)(folder / "bad.onnx", model)
    before = home.models() if os.path.exists(home.path) else []
    home.refuses("register", "bad", path, words=words)
    assert home.models() == before
    home.is_clean()


def test_unsupported_operators_are_named_with_their_node(home, tmp_path):
    for domain, kind in (("", "NoSuchOperator"), ("com.example", "Fancy")):
        node = helper.make_node(kind, ["x"], ["y"], name="the_culprit", domain=domain)
        graph = helper.make_graph([node], "g", [value("x", FLOAT, [1])], [value("y", FLOAT, [1])])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
        refuses_model(home, tmp_path, helper.make_model(graph, opset_imports=opsets, ir_version=8),
                      [kind, "the_culprit"])


def broken_graphs():
    def one(node, inputs=(("x", [3]),), outputs=(("y", [3]),), weights=()):
        graph = helper.make_graph([node] if not isinstance(node, list) else node, "g",
                                  [value(name, FLOAT, shape) for name, shape in inputs],
                                  [value(name, FLOAT, shape) for name, shape in outputs], list(weights))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def raw(dims, content, kind=TensorProto.FLOAT):
        return TensorProto(name="w", data_type=kind, dims=dims, raw_data=content)

    relu = helper.make_node("Relu", ["x"], ["y"], name="n")
    add = helper.make_node("Add", ["x", "w"], ["y"], name="n")
    loop = [helper.make_node("Relu", ["b"], ["a"], name="n1"), helper.make_node("Relu", ["a"], ["b"], name="n2"),
            helper.make_node("Relu", ["a"], ["y"], name="n3")]
    no_opset = one(relu)
    del no_opset.opset_import[:]
    future = one(relu)
    future.opset_import[0].version = 1000
    return {
        "undefined-value": one(helper.make_node("Relu", ["nothing"], ["y"], name="n")),
        "missing-output": one(relu, outputs=(("z", [3]),)),
        "defined-twice": one([relu, helper.make_node("Neg", ["x"], ["y"], name="n2")]),
        "cycle": one(loop),
        "too-few-inputs": one(helper.make_node("Add", ["x"], ["y"], name="n")),
        "too-many-outputs": one(helper.make_node("Relu", ["x"], ["y", "z"], name="n")),
        "shapes-disagree": one(helper.make_node("MatMul", ["x", "w"], ["y"], name="n"), (("x", [2, 3]),),
                               (("y", [2, 5]),), [numpy_helper.from_array(np.ones((4, 5), "f4"), "w")]),
        "types-disagree": one(add, weights=[numpy_helper.from_array(np.ones(3, "i8"), "w")]),
        "bad-axis": one(helper.make_node("Concat", ["x", "x"], ["y"], name="n", axis=7), outputs=(("y", [6]),)),
        "short-weight": one(add, weights=[raw([3], bytes(8))]),
        "long-weight": one(add, weights=[raw([3], bytes(16))]),
        "huge-weight": one(add, weights=[raw([1 << 40, 1 << 40], bytes(4))]),
        "wrapping-weight": one(add, weights=[raw([1 << 62, 4], b"")]),
        "negative-weight": one(add, weights=[raw([-1, 3], bytes(12))]),
        "unknown-type": one(add, weights=[raw([3], bytes(12), 99)]),
        "no-opset": no_opset,
        "opset-from-the-future": future,
        "no-graph": onnx.ModelProto(ir_version=8),
    }


# What only operators' shape rules notice may wait until shapes are known.
NOTICED_BY_SHAPES = ("shapes-disagree", "types-disagree", "bad-axis")


@pytest.mark.parametrize("kind", sorted(set(broken_graphs()) - set(NOTICED_BY_SHAPES)))
def test_broken_graphs(home, tmp_path, kind):
    refuses_model(home, tmp_path, broken_graphs()[kind])


@pytest.mark.parametrize("kind, shape", list(zip(NOTICED_BY_SHAPES, ([2, 3], [3], [3]))))
def test_graphs_whose_shapes_and_types_disagree(home, tmp_path, kind, shape):
    path = write_unchecked(tmp_path / "bad.onnx", broken_graphs()[kind])
    registered = home.try_call("register", "bad", path, as_json=False)
    if registered.code == DONE:
        source = write_npz(tmp_path / "in.npz", x=np.zeros(shape, "f4"))
        home.refuses("run", "bad", "--input", source, "--output", tmp_path / "o.npz", words=["n"])
    else:
        assert registered.code == REFUSED and registered.err.count("\n") == 1, str(registered)


def test_a_tiny_file_that_claims_two_to_the_63_elements(home, tmp_path):
    # ModelProto{ir 8, opset {"", 17}, graph{initializer{dims 2^62, dims 2, FLOAT, name "w", raw_data 1 byte}}}
    tensor = b"\x08" + b"\x80" * 8 + b"\x40" + b"\x08\x02" + b"\x10\x01" + b"\x42\x01w" + b"\x4a\x01\x00"
    graph = b"\x2a" + bytes([len(tensor)]) + tensor + b"\x12\x01g"
    content = b"\x08\x08" + b"\x42\x04\x0a\x00\x10\x11" + b"\x3a" + bytes([len(graph)]) + graph
    content += b"\x12" + bytes([43 - len(content) - 2]) + b"p" * (43 - len(content) - 2)
    assert len(content) == 43
    (tmp_path / "tiny.onnx").write_bytes(content)

    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    limited = None if "asan" in os.environ.get("LAYOVER_BIN", "") else little_memory
    home.refuses("register", "tiny", tmp_path / "tiny.onnx", before=limited)


def _field(number, content):
    """A length-delimited protobuf field: nesting deeper than Python's own protobuf can write."""
    length, encoded = len(content), b""
    while True:
        encoded += bytes([length & 127 | (128 if length > 127 else 0)])
        length >>= 7
        if not length:
            return bytes([number << 3 | 2]) + encoded + content


@pytest.mark.parametrize("depth", [5, 20, 100, 3000])
def test_deeply_nested_graphs(home, tmp_path, depth):
    def named(name, shape, kind):
        return value(name, kind, shape).SerializeToString()

    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "g", [],
                              [value("o", FLOAT, [1])]).SerializeToString()
    for i in range(depth):
        branches = b"".join(_field(5, _field(1, name) + _field(6, graph if name == b"then_branch" else last)
                                   + b"\xa0\x01\x05") for last in [helper.make_graph(
                                       [helper.make_node("Neg", ["x"], ["e"])], "e", [],
                                       [value("e", FLOAT, [1])]).SerializeToString()]
                            for name in (b"then_branch", b"else_branch"))
        node = _field(1, b"c") + _field(2, b"o") + _field(3, f"if{i}".encode()) + _field(4, b"If") + branches
        inputs = b"" if i < depth - 1 else (_field(11, named("x", [1], FLOAT)) + _field(11, named("c", [], BOOL)))
        graph = _field(1, node) + _field(2, b"g") + inputs + _field(12, named("o", [1], FLOAT))
    (tmp_path / "deep.onnx").write_bytes(b"\x08\x08" + _field(8, b"\x10\x11") + _field(7, graph))
    result = home.try_call("register", "deep", tmp_path / "deep.onnx", as_json=False)
    assert result.code == (DONE if depth < 10 else result.code) and result.code in (DONE, REFUSED), str(result)
    assert result.code == DONE or result.err.count("\n") == 1, str(result)
    if depth == 5:
        source = write_npz(tmp_path / "in.npz", x=np.ones(1, "f4"), c=np.array(True))
        home.call("run", "deep", "--input", source, "--output", tmp_path / "o.npz")
        assert load(tmp_path / "o.npz")["o"].tolist() == [1]


def loop_model(condition_in, condition_out):
    """A Loop whose conditions have the given shapes."""
    g = GraphBuilder("bad_condition")
    b = g.child("round")
    b.op("Identity", "x", name="x_out")
    b.op("Reshape", b.op("Less", "i", b.constant(3)), b.constant(condition_out, np.int64), name="go_on")
    body = b.subgraph([value("i", INT64, []), value("going", BOOL, None), value("x", FLOAT, [2])],
                      [value("go_on", BOOL, None), value("x_out", FLOAT, [2])])
    g.op("Loop", "", "start", "x_in", name=["y"], body=body)
    return g.model([value("x_in", FLOAT, [2]), value("start", BOOL, condition_in)], [value("y", FLOAT, [2])])


@pytest.mark.parametrize("condition_in, condition_out, start", [
    ([1], [], np.array([True])), ([], [1], np.array(True)), ([2], [], np.array([True, True])),
    ([], [1, 1], np.array(True)), ([0], [], np.zeros(0, bool)),
])
def test_loop_conditions_that_are_no_scalars(home, tmp_path, condition_in, condition_out, start):
    path = write_unchecked(tmp_path / "loop.onnx", loop_model(condition_in, condition_out))
    registered = home.try_call("register", "loop", path, as_json=False)
    if registered.code == DONE:
        source = write_npz(tmp_path / "in.npz", x_in=np.zeros(2, "f4"), start=start)
        home.refuses("run", "loop", "--input", source, "--output", tmp_path / "o.npz")
    else:
        assert registered.code == REFUSED and registered.err.count("\n") == 1, str(registered)


def test_shapes_computed_at_run_time_that_overflow(home, tmp_path):
    g = GraphBuilder("huge")
    g.op("ConstantOfShape", "shape", name="y")
    home.call("register", "huge", write_model(
        tmp_path / "huge.onnx", g.model([value("shape", INT64, [2])], [value("y", FLOAT, ["A", "B"])])))
    for sizes in ([1 << 31, 1 << 33], [1 << 62, 4], [-1, 3], [(1 << 63) - 1, 2], [1 << 40, 1]):
        source = write_npz(tmp_path / "in.npz", shape=np.array(sizes))
        home.refuses("run", "huge", "--input", source, "--output", tmp_path / "o.npz", code=(REFUSED, FORBIDDEN))
    source = write_npz(tmp_path / "in.npz", shape=np.array([0, 1 << 40]))
    home.call("run", "huge", "--input", source, "--output", tmp_path / "o.npz")
    assert load(tmp_path / "o.npz")["y"].shape == (0, 1 << 40)


def test_indices_out_of_range(home, tmp_path):
    g = GraphBuilder("gather")
    g.op("Gather", g.weight("table", np.arange(10, dtype=np.float32)), "i", name="y")
    home.call("register", "gather", write_model(
        tmp_path / "gather.onnx", g.model([value("i", INT64, ["N"])], [value("y", FLOAT, ["N"])])))
    for index in (10, -11, 1 << 40, -(1 << 63), (1 << 63) - 1):
        source = write_npz(tmp_path / "in.npz", i=np.array([0, index]))
        home.refuses("run", "gather", "--input", source, "--output", tmp_path / "o.npz")
    source = write_npz(tmp_path / "in.npz", i=np.array([9, -10, -1]))
    home.call("run", "gather", "--input", source, "--output", tmp_path / "o.npz")
    assert load(tmp_path / "o.npz")["y"].tolist() == [9, 0, 9]


def test_division_of_integers_never_traps(home, tmp_path):
    g = GraphBuilder("divide")
    g.op("Div", "a", "b", name="y")
    g.op("Mod", "a", "b", name="z")
    home.call("register", "divide", write_model(tmp_path / "divide.onnx", g.model(
        [value("a", INT64, ["N"]), value("b", INT64, ["N"])], [value("y", INT64, ["N"]), value("z", INT64, ["N"])])))
    source = write_npz(tmp_path / "in.npz", a=np.array([7, 7, -(1 << 63)]), b=np.array([2, 0, -1]))
    home.call("run", "divide", "--input", source, "--output", tmp_path / "o.npz")
    assert load(tmp_path / "o.npz")["y"][0] == 3


# External data --------------------------------------------------------------------------------------------------

def external_model(folder, location, **entries):
    model = add_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, content in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(content))
    return write_unchecked(folder / "model.onnx", model)


@pytest.fixture
def folder(tmp_path):
    os.mkdir(tmp_path / "model")
    (tmp_path / "outside.bin").write_bytes(np.arange(5, 8, dtype="<f4").tobytes())
    (tmp_path / "model" / "w.bin").write_bytes(bytes(64) + np.arange(1, 4, dtype="<f4").tobytes())
    return tmp_path / "model"


def test_external_data_beside_the_model(home, folder, tmp_path):
    home.call("register", "add", external_model(folder, "w.bin", offset=64, length=12))
    source = write_npz(tmp_path / "in.npz", x=np.zeros((1, 3), "f4"))
    home.call("run", "add", "--input", source, "--output", tmp_path / "o.npz")
    assert load(tmp_path / "o.npz")["y"].tolist() == [[1, 2, 3]]


def _link(kind):
    def make(folder):
        target = folder.parent / "outside.bin"
        if kind == "symlink":
            os.symlink(target, folder / "l.bin")
        elif kind == "folder":
            os.symlink(folder.parent, folder / "up")
        elif kind == "fifo":
            os.mkfifo(folder / "l.bin")
        elif kind == "directory":
            os.mkdir(folder / "l.bin")
    return make


@pytest.mark.parametrize("make, location, entries", [
    (None, "../outside.bin", {}), (None, "{outside}", {}), (None, "sub/../../outside.bin", {}),
    (None, "./../outside.bin", {}), (_link("symlink"), "l.bin", {}),
    (_link("folder"), "up/outside.bin", {}), (_link("fifo"), "l.bin", {}),
    (_link("directory"), "l.bin", {}), (None, "gone.bin", {}), (None, "", {}), (None, "/dev/zero", {}),
    (None, "w.bin", {"offset": 65}), (None, "w.bin", {"offset": 64, "length": 13}),
    (None, "w.bin", {"offset": 64, "length": 8}), (None, "w.bin", {"offset": -4}),
    (None, "w.bin", {"offset": 1 << 63}), (None, "w.bin", {"offset": "64x"}),
    (None, "w.bin", {"offset": 64, "length": (1 << 64) - 1}),
])
def test_external_data_that_is_refused(home, folder, tmp_path, make, location, entries):
    if make:
        make(folder)
    path = external_model(folder, location.format(outside=tmp_path / "outside.bin"), **entries)
    home.refuses("register", "add", path, code=(REFUSED, NOT_FOUND), words=["w"])
    assert home.models() == []


# Every reader against changed bytes -----------------------------------------------------------------------------

def mutations(content, seed):
    """Sampled single flips and truncations, the first and last bytes among them."""
    draw = random.Random(seed)
    places = {0, 1, 8, 16, len(content) - 1, len(content) // 2}
    places |= {draw.randrange(len(content)) for _ in range(MUTATIONS)}
    for place in sorted(place for place in places if place < len(content)):
        yield f"bit at {place}", content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1:]
    for length in sorted({0, 1, len(content) - 1} | {draw.randrange(len(content)) for _ in range(MUTATIONS // 2)}):
        yield f"first {length} bytes", content[:length]


def survives(home, what, *arguments, codes=(DONE, REFUSED)):
    result = home.try_call(*arguments, as_json=False)
    assert result.code in codes, f"{what}\n{result}"
    assert result.code == DONE or result.err.count("\n") == 1, f"{what}\n{result}"
    return result.code


def test_changed_models(home, tmp_path):
    content = open(f"{SMALL_MODELS}/nested_if.onnx", "rb").read()
    for i, (what, changed) in enumerate(mutations(content, 1)):
        (tmp_path / "m.onnx").write_bytes(changed)
        survives(home, what, "register", f"m{i}", tmp_path / "m.onnx")
    home.is_clean()


def test_changed_executables_are_refused(small_home, tmp_path):
    """Or they mean the same: a compressed section has bits that change nothing."""
    small_home.call("export", "small", tmp_path / "good.lvx")
    before = small_home.models()
    for what, changed in mutations((tmp_path / "good.lvx").read_bytes(), 2):
        (tmp_path / "bad.lvx").write_bytes(changed)
        if survives(small_home, what, "import", "bad", tmp_path / "bad.lvx") == DONE:
            assert small_home.call("show", "bad").json["executable"] == before[0][2], what
            small_home.call("rm", "bad")
    assert small_home.models() == before
    small_home.is_clean()


def test_changed_checkpoints_are_refused(small_home, tmp_path):
    """Or they mean the same, and the run ends as it would have."""
    run = ["run", "small", "--input", small_home.input, "--output"]
    small_home.call(*run, tmp_path / "straight.npz")
    small_home.call(*run, tmp_path / "o.npz", "--suspend-after", 30, "--checkpoint", tmp_path / "good.lvc",
                    expect=SUSPENDED)
    for what, changed in mutations((tmp_path / "good.lvc").read_bytes(), 3):
        (tmp_path / "bad.lvc").write_bytes(changed)
        survives(small_home, what, "inspect", tmp_path / "bad.lvc")
        if survives(small_home, what, "resume", tmp_path / "bad.lvc", "--output", tmp_path / "o.npz",
                    codes=(DONE, REFUSED, NOT_FOUND)) == DONE:
            same_bits(tmp_path / "straight.npz", tmp_path / "o.npz")


def test_changed_inputs(small_home, tmp_path):
    for what, changed in mutations(open(small_home.input, "rb").read(), 4):
        (tmp_path / "in.npz").write_bytes(changed)
        survives(small_home, what, "run", "small", "--input", tmp_path / "in.npz", "--output", tmp_path / "o.npz")


def test_a_checkpoint_without_its_executable(small_home, tmp_path):
    small_home.call("run", "small", "--input", small_home.input, "--output", tmp_path / "o.npz", "--suspend-after", 30,
                    "--checkpoint", tmp_path / "c.lvc", expect=SUSPENDED)
    executable = small_home.models()[0][2]
    small_home.call("rm", "small")
    small_home.call("gc")
    small_home.refuses("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz", code=(REFUSED, NOT_FOUND),
                       words=[executable[:12]])
    # registering the same model again makes the same executable, and the checkpoint goes on
    small_home.call("register", "again", f"{SMALL_MODELS}/nested_loop.onnx")
    small_home.call("resume", tmp_path / "c.lvc", "--output", tmp_path / "o.npz")


# The system around ----------------------------------------------------------------------------------------------

def test_a_full_disk(home, models, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    home.call("register", "small", f"{SMALL_MODELS}/nested_loop.onnx")
    before = home.models()
    for _ in range(2):
        home.refuses("register", "mlp", f"{models}/mlp.onnx", code=(REFUSED, FORBIDDEN), before=small_files)
        assert home.models() == before
        home.is_clean()
    home.call("register", "mlp", f"{models}/mlp.onnx")
    source = f"{models}/scan_lm.short.npz"
    home.call("register", "scan", f"{models}/scan_lm.onnx")
    home.call("run", "scan", "--input", source, "--output", tmp_path / "first.npz")  # its weights are prepared
    home.refuses("run", "scan", "--input", source, "--output", tmp_path / "o.npz", before=small_files)
    assert not (tmp_path / "o.npz").exists()
    for point in (400, 800):
        home.try_call("run", "scan", "--input", source, "--output", tmp_path / "o.npz", "--suspend-after", point,
                      "--checkpoint", tmp_path / "c.lvc", before=small_files)
        if (tmp_path / "c.lvc").exists():
            home.call("inspect", tmp_path / "c.lvc")
    home.is_clean()
