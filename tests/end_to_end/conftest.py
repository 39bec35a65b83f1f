"""What the end-to-end tests share: generated models, and one home where all of them are registered."""
import fcntl
import hashlib
import os
import subprocess
import sys

import pytest

import harness
from harness import ROOT, Home, write_npz

MODELS_FOLDER = os.path.join(ROOT, ".cache", "test-models")
LARGE = ("mlp", "resnet50", "squeezenet", "bert_small", "gpt2_gen_small", "scan_lm", "vad")
SMALL = ("gpt2_gen_tiny", "nested_if", "counted_loop", "while_loop", "nested_loop", "two_way_scan", "loop_if_scan",
         "local_functions", "empty_tensors")


def _scripts_digest():
    digest = hashlib.sha256()
    for folder in ("tests/models", "examples/minilm"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if name.endswith(".py"):
                with open(os.path.join(ROOT, folder, name), "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


def _make_models():
    def run(*command):
        subprocess.run([sys.executable, *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    run("tests/models/make_models.py", MODELS_FOLDER)
    run("tests/models/feeds.py", MODELS_FOLDER)
    run("examples/minilm/minilm.py", "export", f"{MODELS_FOLDER}/minilm.onnx")
    run("examples/minilm/minilm.py", "encode", f"{MODELS_FOLDER}/minilm.sentences.npz")
    run("examples/minilm/minilm.py", "reference", f"{MODELS_FOLDER}/minilm.sentences.npz",
        f"{MODELS_FOLDER}/minilm.sentences.expected.npz")


@pytest.fixture(scope="session")
def models():
    """The folder with all models and feeds, made once for each state of the scripts."""
    os.makedirs(MODELS_FOLDER, exist_ok=True)
    digest = _scripts_digest()
    with open(os.path.join(MODELS_FOLDER, "made-from"), "a+", encoding="ascii") as stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)  # one of those who test at once makes them
        stamp.seek(0)
        if stamp.read() != digest:
            stamp.truncate(0)
            _make_models()
            stamp.write(digest)
    return MODELS_FOLDER


@pytest.fixture(scope="session")
def shelf(models, tmp_path_factory):
    """A home that holds each model as soon as somebody asks for it: shelf(name) gives the home."""
    home = Home(tmp_path_factory.mktemp("shelf") / "home")
    registered = {}

    def get(name):
        if name not in registered:
            registered[name] = home.call("register", name, f"{models}/{name}.onnx").json
        home.registered = registered
        return home

    return get


def pytest_configure(config):
    config.addinivalue_line("markers", "one_home: the tests of the file share a home; they register models, run them, and no more")


@pytest.fixture(scope="module")
def home_of_file(tmp_path_factory):
    return Home(tmp_path_factory.mktemp("file") / "home")


@pytest.fixture
def home(request, tmp_path):
    """A new home, or that of the file where the file says so (to make one takes ten times as long as to register a model)."""
    if not request.node.get_closest_marker("one_home"):
        yield Home(tmp_path / "home")
        return
    import stops  # the sanitizers' builds have no Python package

    shared = request.getfixturevalue("home_of_file")
    yield shared
    stops.forget_models(shared)


@pytest.fixture
def small_home(home):
    """A home of one's own with one small model, nested_loop, and its input."""
    home.call("register", "small", f"{harness.SMALL_MODELS}/nested_loop.onnx")
    home.input = f"{harness.SMALL_MODELS}/nested_loop.early.npz"
    return home


@pytest.fixture
def straight(shelf, models, tmp_path):
    """straight(model, case): the undisturbed run: (home, input path, output path, instructions)."""
    def run(name, case):
        home, source, output = shelf(name), f"{models}/{name}.{case}.npz", tmp_path / f"{name}.{case}.straight.npz"
        result = home.call("run", name, "--input", source, "--output", output).json
        assert result["state"] == "succeeded"
        return home, source, str(output), result["instructions"]

    return run


@pytest.fixture
def endless(home, tmp_path):
    """A home with the model 'endless', which runs for hours, and its input."""
    from graph_builder import BOOL, FLOAT, INT64, GraphBuilder, value
    g = GraphBuilder("endless")
    b = g.child("round")
    b.op("Add", b.op("Mul", "x", b.float_constant(0.5)), b.float_constant(1), name="x_out")
    b.op("Identity", "going", name="going_out")
    body = b.subgraph([value("i", INT64, []), value("going", BOOL, []), value("x", FLOAT, [4])],
                      [value("going_out", BOOL, []), value("x_out", FLOAT, [4])])
    g.op("Loop", "rounds", "", "start", name=["y"], body=body)
    model = g.model([value("start", FLOAT, [4]), value("rounds", INT64, [])], [value("y", FLOAT, [4])])
    home.call("register", "endless", harness.write_model(tmp_path / "endless.onnx", model))
    home.input = write_npz(tmp_path / "endless.npz", start=harness.np.arange(4, dtype="f4"),
                           rounds=harness.np.array(10 ** 12))
    return home
