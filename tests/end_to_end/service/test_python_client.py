"""The Python client: every verb of a daemon as a method."""
import os
import re
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import onnx
import pytest
from daemon import SLOWER, Daemon
from graph_builder import FLOAT, GraphBuilder, value
from harness import ROOT, binary, load, write_model

sys.path.insert(0, os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402


@pytest.fixture
def daemon(shelf):
    """A daemon with the model gpt2_gen_small, and a client of it."""
    with Daemon(shelf("gpt2_gen_small"), "--device", SLOWER, "--device", "cpu") as running, \
            layover.Client(running.socket) as client:
        running.client = client
        yield running


@pytest.fixture
def two_file(home, tmp_path):
    """An executable with an input x and outputs y, z."""
    g = GraphBuilder("two")
    g.op("Mul", "x", g.float_constant(2), name="y")
    g.op("Add", "y", g.float_constant(1), name="z")
    rows = [value(name, FLOAT, ["n", 3]) for name in "xyz"]
    home.call("compile", write_model(tmp_path / "two.onnx", g.model(rows[:1], rows[1:])), "-o", tmp_path / "made.lvx")
    return tmp_path / "made.lvx"


@pytest.fixture
def inputs(models):
    return load(f"{models}/gpt2_gen_small.long.npz")


def test_a_job_from_its_submission_to_its_result(daemon, inputs, models):
    client = daemon.client
    job = client.submit("gpt2_gen_small", inputs, priority="high", key="one")
    assert client.submit("gpt2_gen_small", inputs, priority="high", key="one") == job
    assert job.wait(timeout=120) == "succeeded" and job.state == "succeeded"
    result = job.result()
    with layover.Client(daemon.socket) as other:
        assert job in other.jobs("succeeded")
        for name, array in other.job(job.id).result().items():
            assert array.tobytes() == result[name].tobytes()
    assert {line["state"] for line in job.watch() if line.get("state")} >= {"succeeded"}
    assert [event["seq"] for event in job.logs()] == sorted(event["seq"] for event in job.logs())
    assert job.remove()["job"] == job.id
    with pytest.raises(layover.NotFoundError):
        job.info()


def test_suspend_fork_move_and_go_on(daemon, inputs, tmp_path):
    client = daemon.client
    expected = client.submit("gpt2_gen_small", inputs, device="cpu").result()
    job = client.submit("gpt2_gen_small", inputs, device="sim:0")
    until(job, lambda info: info["state"] == "running")
    assert job.suspend()["state"] == "suspended"
    assert job.wait() == "suspended"
    with pytest.raises(layover.ConflictError, match="is suspended"):
        job.result()
    assert len(list(job.checkpoints())) >= 1
    assert job.checkpoint(tmp_path / "job.lvc") == os.path.getsize(tmp_path / "job.lvc")
    fork = job.fork()
    restored = client.restore(tmp_path / "job.lvc", device="cpu")
    job.resume(device="cpu")
    for each in (job, fork, restored):
        for name, array in each.result().items():
            assert array.tobytes() == expected[name].tobytes()
    assert job.verify()["state"] == "equal"
    with pytest.raises(layover.ConflictError):
        job.cancel()


def until(job, wanted):
    """The job's fields when they are as wanted; a job that ends otherwise fails the test."""
    while True:
        info = job.info()
        if wanted(info):
            return info
        assert not info["ended"], info["why"]
        time.sleep(0.01)


def test_items_partial_results_and_cancelling(daemon, models):
    client, count = daemon.client, 20000
    client.register("many", f"{models}/mlp.onnx")
    port = client.show("many")["functions"][0]["inputs"][0]
    x = np.random.default_rng(1).standard_normal((count, *port["shape"][1:]), np.float32)
    job = client.submit("many", {port["name"]: x}, items=True, device="sim:0")
    until(job, lambda info: info["outputs"])
    part = next(iter(job.result(partial=True).values()))
    assert 1 <= len(part) < count
    job.cancel()
    with pytest.raises(layover.CancelledError, match=job.id):
        job.result()
    whole = client.submit("many", {port["name"]: x[:64]}, items=True, batch=8).result()
    np.testing.assert_allclose(next(iter(whole.values()))[:len(part)], part[:64], rtol=1e-4, atol=1e-5)


def test_models_are_registered_shown_exported_and_removed(daemon, shelf, models, tmp_path):
    client = daemon.client
    row = client.register("mlp", f"{models}/mlp.onnx", alias=["prod", "best"])
    assert row["model"] == "mlp" and row["version"] == 1
    assert {each["model"] for each in client.models()} >= {"mlp", "gpt2_gen_small"}
    client.alias("mlp", "old", 1)
    assert client.show("mlp")["executable"] == client.show("mlp@old")["executable"] == client.show("mlp@1")["executable"]
    size = client.export("mlp@prod", tmp_path / "mlp.lvx")
    assert size == os.path.getsize(tmp_path / "mlp.lvx")
    model = layover.load(tmp_path / "mlp.lvx")
    assert [port.name for port in model.inputs] == [port["name"] for port in client.show("mlp")["functions"][0]["inputs"]]
    client.rm("mlp@1")
    with pytest.raises(layover.NotFoundError):
        client.show("mlp")
    with pytest.raises(layover.NotFoundError):
        client.export("mlp", tmp_path / "gone.lvx")
    assert sorted(os.listdir(tmp_path)) == ["mlp.lvx"]


def test_tenants_tokens_and_rights(daemon):
    client = daemon.client
    client.tenant_add("acme", weight=2, quotas={"queued_jobs": 5})
    assert client.tenant_set("acme", weight=3)["weight"] == 3
    assert "acme" in {each["tenant"] for each in client.tenants()}
    token = client.token_create(tenant="acme", role="user")
    with layover.Client(daemon.socket, token["token"]) as user:
        assert user.jobs() == user.models() == []
        with pytest.raises(layover.RefusedError):
            user.tenants()
        with pytest.raises(layover.NotFoundError):
            user.submit("gpt2_gen_small", {})
    client.token_revoke(token["id"])
    with pytest.raises(layover.RefusedError), layover.Client(daemon.socket, token["token"]) as user:
        user.jobs()
    assert [device["device"] for device in client.devices()] == ["sim:0", "cpu"]
    assert client.top() and client.nodes() == [] and client.rebalance() == []
    assert client.fsck()["errors"] == [] and client.gc()
    with pytest.raises(layover.UnreachableError, match="no node answers"):
        client.drain()
    assert not client.drained()["draining"]


def test_errors_say_what_the_daemon_said(daemon, inputs):
    client = daemon.client
    with pytest.raises(layover.NotFoundError, match="nothing"):
        client.submit("nothing", inputs)
    with pytest.raises(layover.InvalidError, match="wrong_name"):
        client.submit("gpt2_gen_small", {"wrong_name": np.zeros(1)})
    with pytest.raises(layover.InvalidError, match="colour"):
        client.submit("gpt2_gen_small", inputs, colour="red")
    with pytest.raises(layover.NotFoundError):
        client.job("000000000000-99")
    job = client.submit("gpt2_gen_small", inputs, device="sim:0", priority="low")
    with pytest.raises(TimeoutError, match=job.id):
        job.wait(timeout=0)
    job.cancel()


def test_no_daemon(tmp_path, monkeypatch):
    with pytest.raises(layover.UnreachableError, match="socket"), layover.Client(tmp_path / "socket") as client:
        client.jobs()
    with pytest.raises(layover.UnreachableError), layover.Client("http://127.0.0.1:9") as client:
        client.jobs()
    with pytest.raises(layover.InvalidError, match="ftp"):
        layover.Client("ftp://somewhere")
    monkeypatch.setenv("LAYOVER_SERVER", str(tmp_path / "other"))
    assert layover.Client().server == str(tmp_path / "other")


def test_a_restarted_daemon_and_many_threads(daemon):
    client, failed = daemon.client, []
    jobs = client.jobs()
    daemon.end()
    with pytest.raises(layover.UnreachableError):
        client.jobs()
    daemon.start()

    def ask():
        try:
            for _ in range(20):
                assert client.jobs() == jobs
        except Exception as error:  # the thread's, told below
            failed.append(error)
    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    child = os.fork()
    if child == 0:  # the child opens connections of its own
        os._exit(0 if client.jobs() == jobs else 1)
    assert os.waitpid(child, 0)[1] == 0 and client.jobs() == jobs


def test_arrays_that_npy_lacks_travel():
    from layover import _npz
    arrays = {"a": np.array([1, 2.5], ml_dtypes.bfloat16), "file": np.array(["Lay", "é"], object), "c": np.zeros((0, 2))}
    read = _npz.read(_npz.write(arrays))
    assert read["a"].dtype == arrays["a"].dtype and read["a"].tobytes() == arrays["a"].tobytes()
    assert read["file"].tolist() == ["Lay", "é"] and read["c"].shape == (0, 2)


def test_tables_escape_what_users_wrote():
    from layover._html import table
    assert "<script>" not in table([{"model": "<script>alert(1)</script>"}], ("model",))


def test_the_examples_of_the_page(daemon, two_file, tmp_path, monkeypatch):
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as page:
        code = "".join(re.findall(r"^```python\n(.*?)^```", page.read(), re.MULTILINE | re.DOTALL))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAYOVER_SERVER", daemon.socket)
    os.replace(two_file, tmp_path / "two.lvx")
    names = {"onnx_model": onnx.load(tmp_path / "two.onnx")}
    exec(compile(code, "docs/python.md", "exec"), names)
    assert names["run"].finished and names["job"].state == "succeeded"


# Verbs of the command line that act on a daemon, and where the package has them.
METHODS = {"submit": "Client", "jobs": "Client", "job": "Client", "models": "Client", "show": "Client", "rm": "Client",
           "alias": "Client", "config": "Client", "register": "Client", "export": "Client", "restore": "Client", "devices": "Client",
           "top": "Client", "drain": "Client", "rebalance": "Client", "gc": "Client", "fsck": "Client", "import": "register",
           "tenant": "tenants tenant_add tenant_set", "token": "tokens token_create token_revoke",
           "node": "nodes node_add node_remove", "rm-job": "remove"}
# Verbs that need no daemon: layover.load and what it gives has them, or a shell.
LOCAL = {"compile", "disasm", "run", "inspect", "bench", "completion", "doctor", "login", "logout", "manual", "serve",
         "simulate", "worker", "native-worker"}


def test_every_verb_has_a_method():
    text = subprocess.run([binary(), "--help"], capture_output=True, text=True, check=True).stdout
    verbs = set(re.findall(r"^  ([a-z][a-z-]+) ", text, re.MULTILINE)) - LOCAL
    assert len(verbs) > 25
    from layover.client import Client, Job
    for verb in verbs:
        place = METHODS.get(verb, "Job")
        names = [verb] if place in ("Client", "Job") else place.split()
        for name in names:
            assert hasattr(Client if place == "Client" else Job if place == "Job" else Client, name) or hasattr(Job, name), verb
    assert os.path.exists(os.path.join(ROOT, "tools", "client", "commands.def"))
