"""The Python package, as a program uses it: arrays in place, runs that stop and continue, errors that say what is wrong."""
import os
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import onnx
import pytest
from graph_builder import FLOAT, GraphBuilder, value
from onnx import TensorProto
from harness import ROOT, binary, write_model

PACKAGE = os.path.join(os.path.dirname(binary()), "python")
sys.path.insert(0, PACKAGE)

import layover  # noqa: E402


@pytest.fixture
def open_model(tmp_path):
    """open_model(graph, inputs, outputs): the model in Python."""
    def make(graph, inputs, outputs, **options):
        return layover.load(write_model(tmp_path / "m.onnx", graph.model(inputs, outputs)), **options)
    return make


@pytest.fixture
def two(open_model):
    """y = 2 x, z = y + 1, of a [n, 3]; w is added to z where it is given another value."""
    def make(**options):
        g = GraphBuilder("two")
        g.op("Mul", "x", g.float_constant(2), name="y")
        g.op("Add", "y", g.float_constant(1), name="z")
        return open_model(g, [value("x", FLOAT, ["n", 3])], [value("y", FLOAT, ["n", 3]), value("z", FLOAT, ["n", 3])],
                          **options)
    return make


X = np.arange(6, dtype="f4").reshape(2, 3)


def check(outputs, x=X):
    np.testing.assert_array_equal(outputs["y"], 2 * x)
    np.testing.assert_array_equal(outputs["z"], 2 * x + 1)


def test_calls_take_arrays_by_place_and_by_name(two):
    model = two()
    for outputs in (model(X), model(x=X), model(X.tolist()), model.function("main")(X)):
        assert outputs.names == ("y", "z") and len(outputs) == 2
        check(outputs)
        assert outputs[0] is outputs["y"] and [name for name, _ in outputs.items()] == ["y", "z"]


def test_ports_say_names_types_and_shapes(two):
    model = two()
    assert model.inputs == (layover.Port("x", "float32", ("n", 3)),)
    assert [port.name for port in model.outputs] == ["y", "z"]
    assert model.outputs[0].dtype == "float32"


@pytest.mark.parametrize("view", ["reversed", "transposed", "every_second", "read_only", "swapped", "unaligned"])
def test_any_array_of_the_type_is_taken(two, view):
    wide = np.arange(24, dtype="f4").reshape(4, 6)
    unaligned = np.frombuffer(b"\0" + X.tobytes(), dtype="u1")[1:].view("f4").reshape(2, 3)
    x = {"reversed": X[::-1], "transposed": np.asfortranarray(X), "every_second": wide[::2, ::2], "read_only": X.copy(),
         "swapped": X.astype(">f4"), "unaligned": unaligned}[view]
    x.flags.writeable = view not in ("read_only", "unaligned")
    check(two()(x), x)


def test_results_are_arrays_of_their_own(two):
    model = two()
    outputs = model(X)
    outputs["y"][...] = 7
    check(model(X))


class Lent:
    """Only DLPack's protocol, as other packages' tensors have it."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_tensors_of_other_packages_cross_by_dlpack(two):
    check(two()(Lent(X.copy())))


def test_types_that_numpy_lacks(open_model):
    g = GraphBuilder("bf16")
    g.op("Add", "x", "x", name="y")
    model = open_model(g, [value("x", TensorProto.BFLOAT16, ["n"])], [value("y", TensorProto.BFLOAT16, ["n"])])
    x = np.array([1, 2.5], dtype=ml_dtypes.bfloat16)
    for given in (x, [1, 2.5]):
        y = model(given)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, x + x)


@pytest.mark.parametrize("name, proto", [("int4", TensorProto.INT4), ("uint2", TensorProto.UINT2),
                                         ("float4_e2m1fn", TensorProto.FLOAT4E2M1)])
@pytest.mark.parametrize("shape", [(5,), (3, 3), (), (0, 2)])
def test_types_of_less_than_a_byte(open_model, name, proto, shape):
    """numpy has an element in a byte, Layover packs them: both ways, also as lists, and what is cast from them."""
    g = GraphBuilder("small")
    g.op("Cast", "x", name="y", to=FLOAT)
    g.op("Identity", "x", name="same")
    dims = list("abc"[:len(shape)])
    model = open_model(g, [value("x", proto, dims)], [value("y", FLOAT, dims), value("same", proto, dims)])
    x = np.resize(np.arange(4), shape).astype(getattr(ml_dtypes, name))
    for given in (x, x[::-1], np.asfortranarray(x)) if shape else (x,):
        outputs = model(given)
        np.testing.assert_array_equal(outputs["y"], given.astype("f4"))
        assert outputs["same"].dtype == x.dtype
        np.testing.assert_array_equal(outputs["same"].astype("f4"), given.astype("f4"))
    if x.size:  # an empty list has one dimension
        np.testing.assert_array_equal(model(x.astype("f4").tolist())["y"], x.astype("f4"))


def test_lists_of_arrays(open_model):
    g = GraphBuilder("lists")
    g.op("ConcatFromSequence", "xs", name="y", axis=0)
    kind = onnx.helper.make_tensor_sequence_value_info("xs", FLOAT, None)
    model = open_model(g, [kind], [value("y", FLOAT, ["n"])])
    assert model.inputs[0].list
    for given in ([X[0], X[1, :1]], (X[0], X[1, :1])):
        np.testing.assert_array_equal(model(given), [0, 1, 2, 3])
    with pytest.raises(layover.InvalidError, match="xs"):
        model([X[0], X[0].astype("f8")])


def test_texts(open_model):
    g = GraphBuilder("texts")
    g.op("Concat", "a", "b", name="c", axis=0)
    model = open_model(g, [value("a", TensorProto.STRING, ["n"]), value("b", TensorProto.STRING, ["m"])],
                       [value("c", TensorProto.STRING, ["k"])])
    c = model(["Lay", "é"], np.array(["over", "😀"]))
    assert c.tolist() == ["Lay", "é", "over", "😀"] and c.dtype == object
    assert model(np.array([b"a"], dtype=object), ["b"]).tolist() == ["a", "b"]
    assert model(np.zeros(0, object), np.zeros(0, object)).shape == (0,)
    with pytest.raises(TypeError, match="input a: element 1 is no text: 5"):
        model(np.array(["x", 5], dtype=object), ["b", "c"])


@pytest.mark.parametrize("given, error, text", [
    (lambda m: m(X.astype("f8")), layover.InvalidError, "input x is float64, not float32"),
    (lambda m: m(X[0]), ValueError, "x"),
    (lambda m: m(), TypeError, "input 'x' is missing"),
    (lambda m: m(X, X), TypeError, r"main takes 1 inputs \('x',\), not 2"),
    (lambda m: m(X, x=X), TypeError, "is given 'x' twice"),
    (lambda m: m(y=X), TypeError, "no input 'y'; its inputs are"),
    (lambda m: m(object()), TypeError, "input x: element 0 is no text"),
    (lambda m: m("abc"), layover.Error, "x"),
    (lambda m: m(X.astype("M8[s]")), TypeError, "input x: an array of this element type cannot be given"),
    (lambda m: m(None), layover.Error, "x"),
    (lambda m: m(Lent(X, (2, 0))), ValueError, "input x: the tensor is on a device of DLPack's type 2"),
    (lambda m: m.function("other"), layover.NotFoundError, "other"),
    (lambda m: m.start(X).advance(0), ValueError, "above 0"),
    (lambda m: m.start(X).advance(seconds=-1), ValueError, "above 0"),
    (lambda m: m(X)["q"], KeyError, "no output 'q'; there are y, z"),
])
def test_wrong_arguments_are_named(two, given, error, text):
    model = two()
    with pytest.raises(error, match=text):
        given(model)
    check(model(X))


def test_files_and_references(home, tmp_path, monkeypatch):
    """Formats are told by contents; a name without a slash may be a model of the home."""
    g = GraphBuilder("double")
    g.op("Add", "x", "x", name="y")
    file = write_model(tmp_path / "double.onnx", g.model([value("x", FLOAT, ["n", 3])], [value("y", FLOAT, ["n", 3])]))
    home.call("register", "double", file, "--alias", "prod")
    home.call("register", "double-v1.5", file)
    home.call("export", "double", tmp_path / "double.lvx")
    monkeypatch.setenv("LAYOVER_HOME", str(home.path))
    for name in (file, tmp_path / "double.lvx", "double", "double@1", "double@prod", "double-v1.5"):
        np.testing.assert_array_equal(layover.load(name)(X), X + X)
    for name in ("other", "double@7"):
        with pytest.raises(layover.NotFoundError, match=f"no file {name}, and in {home.path}: "):
            layover.load(name)
    fixtures = os.path.join(ROOT, "tests", "relax", "fixtures")
    relax = next(os.path.join(folder, name) for folder, _, names in os.walk(fixtures) for name in names
                 if name == "loop_goto.bin")
    assert "sum_to" in repr(layover.load(relax).function("sum_to"))


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(layover.Error, match="nothing.lvx"):
        layover.load(tmp_path / "nothing.lvx")
    (tmp_path / "bad.lvx").write_bytes(b"no model" * 9)
    with pytest.raises(layover.Error) as caught:
        layover.load(tmp_path / "bad.lvx")
    assert caught.value.code in ("CORRUPT", "INVALID", "UNSUPPORTED")


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_a_run_stops_at_every_instruction_and_continues_elsewhere(two, tmp_path, device):
    here, there = two(), two(device=device)
    run, stops = here.start(X), 0
    while not run.advance(1):
        stops += 1
        path = tmp_path / "half.lvc"
        run.checkpoint(path)
        run = layover.resume(path, (there, here)[stops % 2])
    assert run.finished and stops >= 2
    check(run.result())


def test_a_run_that_is_stored_is_independent_of_the_array(two):
    model, x = two(), X.copy()
    run = model.start(x)
    del x
    check(run.result())


ENDLESS = """
import sys, threading, time, os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background passes it on as ignored
sys.path.insert(0, sys.argv[1])
import numpy as np, layover
model = layover.load(sys.argv[2])
run = model.start(np.arange(4, dtype="f4"), np.array(10 ** 12))
if sys.argv[3] == "ctrl-c":
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        run.advance()
    except KeyboardInterrupt:
        print("interrupted", run.finished)
    assert not run.advance(1000)
    run.checkpoint(sys.argv[4])
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    model(np.arange(4, dtype="f4"), np.array(10 ** 12))
"""


@pytest.fixture
def endless_file(endless, tmp_path):
    endless.call("export", "endless", tmp_path / "endless.lvx")
    return tmp_path / "endless.lvx"


def test_ctrl_c_stops_a_run_that_can_go_on(endless_file, tmp_path):
    process = subprocess.run([sys.executable, "-c", ENDLESS, PACKAGE, endless_file, "ctrl-c", tmp_path / "half.lvc"],
                             capture_output=True, text=True, timeout=120)
    assert process.stdout == "interrupted False\n", process.stderr
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in process.stderr
    run = layover.resume(tmp_path / "half.lvc", endless_file)
    assert not run.advance(10)


def test_a_limit_of_time_and_another_thread_stop_a_run(endless_file):
    run = layover.load(endless_file).start(np.arange(4, dtype="f4"), np.array(10 ** 12))
    assert not run.advance(seconds=0.05)
    stopper = threading.Timer(0.05, run.suspend)
    stopper.start()
    assert not run.advance()
    stopper.join()
    stopper = threading.Timer(0.05, run.suspend)
    stopper.start()
    with pytest.raises(layover.Suspended):
        run.result()
    stopper.join()


def test_a_run_belongs_to_one_thread_at_a_time(endless_file):
    run, over = layover.load(endless_file).start(np.arange(4, dtype="f4"), np.array(10 ** 12)), threading.Event()

    def work():
        while not over.is_set():
            try:
                run.advance()
            except RuntimeError:  # the other thread was first
                pass
    thread = threading.Thread(target=work)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="another thread uses this run"):
            while True:
                run.advance(1)
                time.sleep(0.01)
    finally:
        over.set()
        run.suspend()
        thread.join()


def test_threads_share_a_model(two):
    model, failed = two(), []

    def work(number):
        try:
            x = np.full((2, 3), number, "f4")
            for _ in range(200):
                check(model(x), x)
        except Exception as error:  # the thread's, told by the test below
            failed.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_importing_is_quick():
    loads = "import sys; sys.path.insert(0, sys.argv[1]); import layover; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads, PACKAGE], capture_output=True, text=True).stdout == "False\n"
