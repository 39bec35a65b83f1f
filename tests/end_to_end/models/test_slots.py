"""Operators with several outputs of which a small one decides, and strings: right on every device, stopped after every
instruction on one and resumed on the other."""
import itertools

import numpy as np
import onnx
import pytest

from daemon import Daemon
from harness import DONE, SUSPENDED, Home

X = (np.arange(100, dtype=np.float32).reshape(5, 20) - 30) / 8
INDICES = np.array([2, 0, 3], np.int64)
WORDS = '<string[4] s = {"1.5", "2", "-3e2", "7"}>'
BRANCH = "<else_branch = e () => (float[] q) {q = Abs (%s)}, then_branch = t () => (float[] p) {p = Neg (%s)}>"


def _text(opset, inputs, outputs, constants, body):
    return f'<ir_version: 10, opset_import: ["": {opset}]> g ({inputs}) => ({outputs}) {constants} {{{body}}}'


MODELS = {
    "split": (_text(21, "float[5,20] x", "float[] y", "<float zero = {0}, int64[2] sizes = {4, 1}>",
                    "a, b = Split <axis = 0> (x, sizes) m = ReduceMax <keepdims = 0> (b) c = Greater (m, zero) "
                    "y = If (c) " + BRANCH % ("b", "b")), {"x": X}, -X[4:]),
    "layer_norm": (_text(21, "float[5,20] x", "float[] y", "<float zero = {0}, float[20] g = {" + ",".join("1" * 20) + "}>",
                         "n, mean, inv = LayerNormalization (x, g) m = ReduceMax <keepdims = 0> (mean) c = Greater (m, zero) "
                         "y = If (c) " + BRANCH % ("mean", "mean")), {"x": X}, -X.mean(1, keepdims=True)),
    "top_k_shape": (_text(21, "float[5,20] x", "float[n,m] y", "<int64[1] k = {14}, int64[1] one = {1}, float two = {2}>",
                          "v, i = TopK <axis = 1> (x, k) j = ReduceMin <keepdims = 0> (i) r = Reshape (j, one) "
                          "d = Concat <axis = 0> (r, one) z = ConstantOfShape (d) y = Add (z, two)"), {"x": X},
                    np.full((6, 1), 2, np.float32)),
    "cast": (_text(21, "int64[n] i", "float[] y", WORDS, "g = Gather (s, i) y = Cast <to = 1> (g)"), {"i": INDICES},
             np.array([-300, 1.5, 7], np.float32)),
    "tf_idf": (_text(9, "int64[n] i", "float[] y", WORDS,
                     'g = Gather (s, i) y = TfIdfVectorizer <max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, '
                     'mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["2", "7"]> (g)'), {"i": INDICES},
               np.array([0, 1], np.float32)),
    "strings_chosen": (_text(21, "int64[n] i", "float[] y", '<string[4] s = {"1.5", "2", "-3e2", "7"}, int64 three = {3}>',
                             "g = Gather (s, i) u, f, v, n = Unique (g) l = ReduceMax <keepdims = 0> (v) c = Less (l, three) "
                             "h = If (c) <then_branch = t () => (string[] p) {p = Identity (g)}, "
                             "else_branch = e () => (string[] q) {q = Identity (u)}> y = Cast <to = 1> (h)"), {"i": INDICES},
                       np.array([-300, 1.5, 7], np.float32)),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slots")
    home = Home(folder / "home")
    for name, (text, inputs, _) in MODELS.items():
        (folder / f"{name}.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
        np.savez(folder / f"{name}.npz", **inputs)
        home.call("register", name, folder / f"{name}.onnx")
    home.folder = folder
    return home


def _check(name, path):
    wanted = MODELS[name][2]
    with np.load(path) as arrays:
        assert arrays["y"].dtype == wanted.dtype and arrays["y"].shape == wanted.shape
        np.testing.assert_allclose(arrays["y"], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
@pytest.mark.parametrize("name", MODELS)
def test_small_outputs_decide_and_strings_stay_on_the_host(home, tmp_path, name, device):
    output = tmp_path / "out.npz"
    home.call("run", name, "--input", home.folder / f"{name}.npz", "--output", output, "--device", device)
    _check(name, output)


@pytest.mark.parametrize("devices", [("cpu", "sim:0"), ("sim:0", "cpu")])
@pytest.mark.parametrize("name", MODELS)
def test_every_instruction_is_a_place_to_move_from(home, tmp_path, name, devices):
    checkpoint, output = tmp_path / "c.lvc", tmp_path / "out.npz"
    for after in itertools.count(1):
        result = home.try_call("run", name, "--input", home.folder / f"{name}.npz", "--output", output, "--device", devices[0],
                               "--suspend-after", after, "--checkpoint", checkpoint)
        if result.code == 0:
            break
        assert result.code == SUSPENDED
        home.call("resume", checkpoint, "--output", output, "--device", devices[1])
        _check(name, output)
        output.unlink()
    assert after > 1


def test_a_daemon_runs_them_on_whichever_device_it_chooses(home):
    with Daemon(home, "--device", "cpu", "--device", "sim:0") as daemon:
        jobs = {(name, device): daemon.submit(name, MODELS[name][1], **({"device": device} if device else {}))
                for name in MODELS for device in ("cpu", "sim:0", None)}
        for (name, device), job in jobs.items():
            arrays = daemon.finished(job)
            np.testing.assert_allclose(arrays["y"], MODELS[name][2], rtol=1e-6, atol=1e-6)
            assert daemon.job(job)["device"] in ((device,) if device else ("cpu", "sim:0"))
        assert daemon.end() == DONE


STRINGS_IN_SLOT_1 = """constant @s slot 1 = string[4] {"1.5", "2", "-3e2", "7"}
primitive %gather = Gather
primitive %cast = Cast {to=float32}
function main(i: int64[3]) -> (y: float32[3]) exported {
    InvokePacked %gather @s, r0 -> r1
    InvokePacked %cast r1 -> r1
    Ret r1
}
function spin(i: int64[3]) -> (y: any) exported {
head:
    Goto head
}
function texts(i: int64[3]) -> (y: string[4]) exported {
    Ret @s
}
"""


def test_a_model_of_strings_in_slot_1_is_only_run_where_it_can_be(tmp_path):
    home = Home(tmp_path / "home")
    (tmp_path / "s.lva").write_text(STRINGS_IN_SLOT_1)
    np.savez(tmp_path / "i.npz", i=INDICES)
    home.call("register", "s", tmp_path / "s.lva")
    home.call("run", "s", "--input", tmp_path / "i.npz", "--output", tmp_path / "y.npz")
    for function in ("main", "texts"):
        home.refuses("run", "s", "--function", function, "--input", tmp_path / "i.npz", "--output", tmp_path / "y.npz",
                     "--device", "sim:0", code=1, words=("sim:0 cannot run this model", "strings in slot 1", "cpu"))
    with Daemon(home, "--device", "cpu", "--device", "sim:0") as daemon:
        jobs = [daemon.submit("s", {"i": INDICES}) for _ in range(20)]
        for job in jobs:
            np.testing.assert_array_equal(daemon.finished(job)["y"], np.array([-300, 1.5, 7], np.float32))
            assert daemon.job(job)["device"] == "cpu"
        home.refuses("submit", "s", "--input", tmp_path / "i.npz", "--device", "sim:0", code=1,
                     words=("sim:0 cannot run this model", "strings in slot 1"))
        spinning = daemon.submit("s", {"i": INDICES}, function="spin")
        daemon.wait(spinning, lambda it: it["state"] == "running")
        daemon.kill()
    with Daemon(home, "--device", "sim:0") as daemon:
        assert "no device here can run this model" in daemon.wait(spinning, lambda it: it["state"] == "suspended")["why"]
        home.refuses("submit", "s", "--input", tmp_path / "i.npz", code=1, words=("no device here can run this model",))
        home.refuses("resume", spinning, code=1, words=("no device here can run this model",))
        assert daemon.end() == DONE
    with Daemon(home, "--device", "sim:0", "--device", "cpu") as daemon:
        daemon.change(spinning, "resume")
        assert daemon.wait(spinning, lambda it: it["state"] == "running")["device"] == "cpu"
        daemon.change(spinning, "cancel")
        assert daemon.end() == DONE
