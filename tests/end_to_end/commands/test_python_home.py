"""Homes in Python: what the command line does with one, without a process of it."""
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from daemon import Daemon
from graph_builder import FLOAT, GraphBuilder, value
from harness import binary, write_model

sys.path.insert(0, os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402

X = np.arange(6, dtype="f4").reshape(2, 3)


@pytest.fixture
def double(tmp_path):
    """A file of y = x + x."""
    g = GraphBuilder("double")
    g.op("Add", "x", "x", name="y")
    return write_model(tmp_path / "double.onnx", g.model([value("x", FLOAT, ["n", 3])], [value("y", FLOAT, ["n", 3])]))


def test_python_and_the_command_line_say_the_same(home, double, tmp_path):
    """Both work on one home, by turns."""
    here = layover.Home(home.path)
    assert here.path == home.path and here.models() == []
    made = here.register("double", double, alias=["prod", "best"])
    assert (made["model"], made["version"], made["aliases"]) == ("double", 1, ["best", "prod"])
    assert here.models() == home.call("models").lines
    assert here.show("double@prod") == home.call("show", "double").json
    assert here.alias("double", "old", 1)["aliases"] == ["best", "old", "prod"]
    assert here.disasm("double") == home.call("disasm", "double").json["assembly"]
    assert here.export("double@old", tmp_path / "double.lvx") == os.path.getsize(tmp_path / "double.lvx")
    assert here.register("again", tmp_path / "double.lvx")["executable"] == made["executable"]
    assert here.fsck() == home.call("fsck").json
    assert here.fsck(repair=True, repair_from=tmp_path / "double.lvx")["errors"] == []
    assert here.rm("again") == {"removed": 1} and here.rm("double@1") == {"removed": 1}
    assert here.gc()["chunks"] >= 0
    assert home.call("models").lines == []


def test_models_of_a_home_run_and_their_runs_move(home, double, tmp_path):
    here = layover.Home(home.path)
    here.register("double", double, alias="prod")
    model = here.load("double@prod", threads=2)
    np.testing.assert_array_equal(model(X), X + X)
    run = model.start(X)
    run.advance(1)
    run.checkpoint(tmp_path / "half.lvc")
    np.testing.assert_array_equal(layover.resume(tmp_path / "half.lvc", model, device="sim:0").result(), X + X)


def test_what_a_home_refuses(home, double, tmp_path):
    here = layover.Home(home.path)
    with pytest.raises(layover.NotFoundError, match="no store at"):
        here.load("double")
    for call in (here.show, here.rm, here.disasm, here.load, lambda name: here.export(name, tmp_path / "x.lvx")):
        with pytest.raises(layover.NotFoundError):
            call("nothing@prod")
    with pytest.raises(layover.InvalidError, match="is no model name"):
        here.register("a/b", double)
    with pytest.raises(layover.Error, match="int4"):
        here.register("double", double, precision="int4")
    with pytest.raises(layover.NotFoundError, match="missing.onnx"):
        here.register("double", tmp_path / "missing.onnx")
    with pytest.raises(layover.NotFoundError, match="nobody"):
        layover.Home(home.path, tenant="nobody").models()
    with pytest.raises(TypeError):
        here.register("double", double, alias=[5])
    with pytest.raises(TypeError):
        layover.Home(5)
    with pytest.raises(layover.InvalidError, match="empty"):
        layover.Home("")
    assert here.models() == []


def test_a_home_with_a_daemon_is_the_daemons(small_home):
    with Daemon(small_home, "--device", "cpu"):
        with pytest.raises(layover.RefusedError, match="home is in use by pid"):
            layover.Home(small_home.path).models()
    assert [row["model"] for row in layover.Home(small_home.path).models()] == ["small"]


def test_threads_share_a_home(home, double):
    here, failed = layover.Home(home.path), []

    def work(name):
        try:
            here.register(name, double, prepare=False)
            np.testing.assert_array_equal(layover.Home(home.path).load(name)(X), X + X)
        except Exception as error:  # the thread's, told by the test below
            failed.append(error)
    threads = [threading.Thread(target=work, args=(f"m{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and len(here.models()) == 4


FORKS = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, layover
model, x = layover.load(sys.argv[2], threads=2), np.ones((2, 3), "f4")
run = model.start(x)
child = os.fork()
if child == 0:
    for use in (lambda: model(x), run.advance, lambda: model.start(x)):
        try:
            use()
        except layover.ConflictError as error:
            assert "forked" in str(error), error
        else:
            sys.exit(3)
    sys.exit(0 if layover.load(sys.argv[2])(x).sum() == 12 else 4)
assert os.waitpid(child, 0)[1] == 0
assert run.result().sum() == 12
"""


def test_a_forked_process_opens_its_own_models(double):
    package = os.path.join(os.path.dirname(binary()), "python")
    done = subprocess.run([sys.executable, "-c", FORKS, package, double], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


# Verbs of the command line that work without a daemon, and where the package has them, if not as a method of Home.
ELSEWHERE = {"import": "register", "run": "load", "bench": "load"}
OTHERS = {"compile", "resume", "inspect", "devices", "doctor", "completion", "login", "logout", "manual", "serve", "simulate",
          "submit", "jobs", "job", "watch", "result", "logs", "migrate", "adopt", "verify", "checkpoint", "restore", "top", "tenant",
          "token", "drain", "node", "worker", "native-worker"}


def test_every_verb_of_a_home_has_a_method():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "..", "tools", "client", "commands.def"),
              encoding="utf-8") as table:
        verbs = set(re.findall(r'^COMMAND\("([a-z-]+)"', table.read(), re.MULTILINE))
    assert OTHERS < verbs
    for verb in verbs - OTHERS:
        assert callable(getattr(layover.Home, ELSEWHERE.get(verb, verb))), verb
