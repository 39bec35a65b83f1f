"""Hostile programs of one tenant beside another's batch job: they end with an error of their own, and nothing else changes."""
import os
import time

import numpy as np
import pytest
from daemon import Daemon, equal
from harness import ROOT, load, write_npz

HOSTILE = os.path.join(ROOT, "tests", "programs", "hostile")
ITEMS = 12
MIB = 1 << 20
QUOTAS = {"device_bytes": 64 * MIB, "host_bytes": 32 * MIB, "depth": 5000}

# What each asks for, and what its error says: the figure is that of the tenant's quota.
HOARDERS = {
    "deep": "calls nest deeper than 5000 frames",
    "tensors": f"of {64 * MIB}",
    "host_tensors": f"limit of {32 * MIB}",
    "huge": "is too large",
    "views": f"limit of {32 * MIB}",
    "strings": f"limit of {32 * MIB}",
    "heaps": f"limit of {32 * MIB}",
    "explodes": "more than 16384 arrays",
    "repeats": f"of {32 * MIB}",
    "unwritten": "output y is a tensor that was never written",
    "unwritten_yield": "is a tensor that was never written",
}


def images(count):
    return np.random.default_rng(5).standard_normal((count, 784), dtype=np.float32)


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def shared_home(home, models, tmp_path):
    """A good tenant's model with the outputs of an undisturbed run, and a hostile tenant's models."""
    home.call("register", "mlp", f"{models}/mlp.onnx")
    for name in ("hoarders", "runners"):
        home.call("register", name, f"{HOSTILE}/{name}.lva", "--format", "lva")
    home.data, parts = images(ITEMS), []
    for i in range(ITEMS):
        source = write_npz(tmp_path / "in.npz", x=home.data[i:i + 1])
        home.call("run", "mlp", "--input", source, "--output", tmp_path / "out.npz")
        parts.append(load(tmp_path / "out.npz"))
    home.expected = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return home


@pytest.fixture(params=["cpu", "sim:0,memory=256MiB"], ids=["cpu", "sim"])
def served(request, shared_home):
    with Daemon(shared_home, "--device", request.param) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "good"})
        shared_home.call("export", "mlp", f"{shared_home.path}.lvx")
        shared_home.call("import", "mlp", f"{shared_home.path}.lvx", "--tenant", "good")
        daemon.json("POST", "/v1/tenants/default", {"quotas": QUOTAS})
        token = daemon.json("POST", "/v1/tokens", {"tenant": "good"})["token"]
        daemon.good = {"Authorization": f"Bearer {token}"}
        daemon.home = shared_home
        yield daemon
        assert daemon.end() in (0, 85)
    shared_home.is_clean()


def submit_good(daemon):
    return daemon.submit("mlp", {"x": daemon.home.data}, headers=daemon.good, items=True)


def test_programs_that_take_all_they_can_get_fail_alone(served):
    good = [submit_good(served)]
    jobs = {name: served.submit("hoarders", {}, function=name) for name in HOARDERS}
    most = 0
    for name, words in HOARDERS.items():
        found = served.wait(jobs[name], lambda it: it["ended"])
        most = max(most, resident_bytes(served.process.pid))
        assert found["state"] == "failed" and words in found["why"], (name, found["state"], found["why"])
        assert found["outputs"] == 0  # of memory that nobody wrote, too, whatever the good job left in it
        good.append(submit_good(served))
    for job in good:
        equal(served.finished(job), served.home.expected)
    assert most < 1024 * MIB, most


def test_programs_that_do_not_end_share_the_device_and_can_be_cancelled(served):
    jobs = [served.submit("runners", {}, function=name) for name in ("endless", "empty_rows", "towers", "yields")]
    endless, empty, towers, yields = jobs
    equal(served.finished(submit_good(served)), served.home.expected)
    assert served.wait(empty, lambda it: it["ended"])["state"] == "succeeded"
    found = served.wait(towers, lambda it: it["ended"])
    assert found["state"] == "failed" and "pairs of values" in found["why"]
    before = served.job(endless)["device_seconds"]
    charged = served.wait(endless, lambda it: it["device_seconds"] > before + 0.1)
    assert charged["state"] == "running"
    # it gives as fast as outputs are stored, and holds no more of them than a job may have
    assert served.wait(yields, lambda it: it["outputs"] > 3000)["state"] in ("queued", "running")
    assert resident_bytes(served.process.pid) < 1024 * MIB
    start = time.monotonic()
    for job in (endless, yields):
        assert served.change(job, "cancel")["state"] == "cancelled"
    assert time.monotonic() - start < 20
    equal(served.finished(submit_good(served)), served.home.expected)


def test_outputs_of_an_endless_program_stop_at_the_store_quota(served):
    used = next(line["used"]["store_bytes"] for line in served.lines("/v1/tenants") if line["tenant"] == "default")
    served.json("POST", "/v1/tenants/default", {"quotas": {"store_bytes": used + MIB // 4}})
    job = served.submit("runners", {}, function="yields")
    found = served.wait(job, lambda it: "waits until its data can be stored" in (it["why"] or ""))
    assert "store_bytes" in found["why"]
    before = resident_bytes(served.process.pid)
    seconds = served.job(job)["device_seconds"]
    time.sleep(1.5)
    assert served.job(job)["device_seconds"] < seconds + 0.5  # it does not run on
    assert resident_bytes(served.process.pid) < before + 128 * MIB
    equal(served.finished(submit_good(served)), served.home.expected)
    assert served.change(job, "cancel")["state"] == "cancelled"
