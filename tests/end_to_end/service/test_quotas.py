"""Each quota of a tenant acts through the daemon, names its figure, and acts on what waits when it is changed."""
import time

import numpy as np
import pytest
from daemon import SLOWER, Daemon, Refused
from harness import DONE, FORBIDDEN, SMALL_MODELS, SUSPENDED, load
from processes import until

IMAGES = np.random.default_rng(3).standard_normal((12, 784), dtype=np.float32)
PROMPT = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(200, dtype=np.int64)}


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return home


def set_quota(home, name, value, tenant="default"):
    shown = home.call("tenant", "set", tenant, "--quota", f"{name}={value}").json
    assert shown["quotas"][name] == (None if value == "none" else value)
    return shown


def used(home, name):
    return next(line["used"] for line in home.call("tenant", "list").lines if line["tenant"] == "default")[name]


def refused(call, *words):
    with pytest.raises(Refused) as found:
        call()
    assert found.value.status == 429 and found.value.code == "EXHAUSTED", str(found.value)
    for word in words:
        assert str(word) in str(found.value), str(found.value)


def test_queued_jobs(served, tmp_path):
    with Daemon(served, "--device", SLOWER, "--grace", "30") as daemon:
        set_quota(served, "running_jobs", 1)
        set_quota(served, "queued_jobs", 2)
        jobs = [daemon.submit("gen", PROMPT)]
        daemon.wait(jobs[0], lambda it: it["state"] == "running")
        jobs += [daemon.submit("gen", PROMPT), daemon.submit("gen", PROMPT)]
        refused(lambda: daemon.submit("gen", PROMPT), "queued_jobs", "3 of 2")
        np.savez(tmp_path / "x.npz", x=IMAGES)
        found = served.call("submit", "mlp", "--input", tmp_path / "x.npz", expect=FORBIDDEN)
        assert "queued_jobs" in found.err and "3 of 2" in found.err
        refused(lambda: daemon.change(jobs[0], "fork"), "queued_jobs", "3 of 2")
        set_quota(served, "queued_jobs", "none")
        daemon.change(daemon.submit("gen", PROMPT), "cancel")
        for job in jobs:
            daemon.finished(job)
        assert daemon.end() == DONE


def test_checkpoints(home):
    """A job's newest is kept, its older ones go; then new jobs and forks are refused."""
    home.call("register", "loop", f"{SMALL_MODELS}/counted_loop.onnx")
    endless = {"x": np.array([1, -2, 3], np.float32), "rounds": np.array(1 << 40, np.int64)}
    with Daemon(home) as daemon:
        set_quota(home, "checkpoints", 2)
        jobs = [daemon.submit("loop", endless, checkpoint_keep=5) for _ in range(2)]
        for _ in range(3):
            for job in jobs:
                daemon.wait(job, lambda it: it["state"] == "running")
                daemon.suspend(job)
                daemon.change(job, "resume")
        for job in jobs:
            daemon.wait(job, lambda it: it["state"] == "running")
            daemon.suspend(job)
            assert len(daemon.lines(f"/v1/jobs/{job}/checkpoints")) == 1
            whys = [line["why"] for line in daemon.lines(f"/v1/jobs/{job}/events") if line["kind"] == "checkpoint"]
            assert any("quota checkpoints" in (why or "") for why in whys), whys
        assert used(home, "checkpoints") == 2
        refused(lambda: daemon.submit("loop", endless), "quota checkpoints", "is 2")
        refused(lambda: daemon.change(jobs[0], "fork"), "quota checkpoints", "is 2")
        set_quota(home, "checkpoints", "none")
        for job in [*jobs, daemon.change(jobs[0], "fork")["job"]]:
            daemon.change(job, "cancel")
        assert daemon.end() == DONE


def test_running_jobs(served):
    with Daemon(served, "--device", "cpu", "--device", "sim:0") as daemon:
        set_quota(served, "running_jobs", 1)
        jobs = [daemon.submit("gen", PROMPT) for _ in range(4)]
        daemon.wait(jobs[0], lambda it: it["state"] == "running")
        waits = daemon.job(jobs[3])
        assert waits["state"] == "queued" and waits["why"] == "waits for the tenant's quota running_jobs: 1 of 1 run"
        while not daemon.job(jobs[1])["ended"]:
            top = daemon.json("GET", "/v1/top")
            assert sum(device["job"] is not None for device in top["devices"]) <= 1
            assert used(served, "running_jobs") <= 1
            time.sleep(0.01)
        set_quota(served, "running_jobs", "none")  # acts at once on what waits
        daemon.wait(jobs[3], lambda it: it["state"] == "running" or it["ended"])
        for job in jobs:
            daemon.finished(job)


def test_device_seconds_per_hour(endless, models):
    served, arrays = endless, load(endless.input)
    served.call("register", "mlp", f"{models}/mlp.onnx")
    with Daemon(served, "--grace", "30") as daemon:
        set_quota(served, "device_seconds_per_hour", 1)
        jobs = [daemon.submit("endless", arrays) for _ in range(2)]
        until(lambda: used(served, "device_seconds_per_hour") >= 1, 60)
        late = daemon.submit("mlp", {"x": IMAGES})
        time.sleep(0.5)
        at_the_limit = used(served, "device_seconds_per_hour")
        assert 1 <= at_the_limit < 1.2, at_the_limit  # late by the longest kernels of a slice at most
        assert sum(daemon.job(job)["device_seconds"] for job in jobs) == pytest.approx(at_the_limit)
        waits = daemon.job(late)
        assert waits["state"] == "queued" and waits["started"] is None
        assert "device_seconds_per_hour: 1." in waits["why"] and "of 1 used" in waits["why"]
        set_quota(served, "device_seconds_per_hour", 3600)
        daemon.finished(late)
        for job in jobs:
            daemon.change(job, "cancel")
        assert daemon.end() == DONE


def test_device_bytes_and_host_bytes(served):
    with Daemon(served, "--device", SLOWER) as daemon:
        set_quota(served, "device_bytes", 1000)
        refused(lambda: daemon.submit("mlp", {"x": IMAGES}), "device_bytes", "of 1000")
        set_quota(served, "device_bytes", 1 << 30)
        set_quota(served, "host_bytes", 0)  # what leaves its device goes to disk then
        job = daemon.submit("gen", PROMPT)
        daemon.wait(job, lambda it: it["device_seconds"] > 0)
        daemon.suspend(job)
        daemon.change(job, "resume")
        daemon.finished(job)


def test_store_bytes_of_models_and_inputs(served, models, tmp_path):
    with Daemon(served) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "acme"})
        set_quota(served, "store_bytes", 100000, tenant="acme")
        found = served.call("register", "mlp", f"{models}/mlp.onnx", "--tenant", "acme", expect=FORBIDDEN)
        assert "store_bytes" in found.err and "100000" in found.err
        now = used(served, "store_bytes")
        set_quota(served, "store_bytes", now + 1000)
        np.savez(tmp_path / "x.npz", x=IMAGES)
        found = served.call("submit", "mlp", "--items", "--input", tmp_path / "x.npz", expect=FORBIDDEN)
        assert "quota store_bytes, of which 1000 are left" in found.err
        assert used(served, "store_bytes") == now
        assert daemon.request("GET", "/v1/jobs").strip() == b""
        served.is_clean()


def test_store_bytes_of_outputs(served):
    with Daemon(served, "--grace", "1") as daemon:
        set_quota(served, "running_jobs", 0)
        job = daemon.submit("mlp", {"x": IMAGES}, items=True)
        now = used(served, "store_bytes")
        set_quota(served, "store_bytes", now + 10)
        set_quota(served, "running_jobs", "none")
        waits = daemon.wait(job, lambda it: "store_bytes" in (it["why"] or ""))
        assert str(now + 10) in waits["why"] and not waits["ended"]
        set_quota(served, "store_bytes", "none")
        assert len(daemon.finished(job)) > 0  # nothing was lost
        assert "\nlayover_commits_stalled_total 0\n" not in daemon.request("GET", "/metrics").decode()
        assert daemon.end() in (DONE, SUSPENDED)
