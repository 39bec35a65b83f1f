"""Which device a job comes to, and how it comes to another one: by speed, by weights, by demand, by loss."""
import time

import pytest
from daemon import Daemon, equal
from harness import DONE, NOT_FOUND, SMALL_MODELS, load

CASE = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"
SLOW, FAST = "sim:0,speed=0.002", "sim:1,speed=0.2"
SLUGGISH = "sim:0,speed=0.00002", "sim:1,speed=0.00003"  # a job there outlasts what is done to it


@pytest.fixture
def served(home):
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    return home


@pytest.fixture
def single(served, tmp_path):
    calls = served.call("run", "gen", "--input", CASE, "--output", tmp_path / "single.npz").json["kernel_calls"]
    return load(tmp_path / "single.npz"), calls


def device_of(daemon, job):
    return daemon.wait(job, lambda it: it["state"] == "running" or it["ended"])["device"]


def test_a_job_goes_to_the_faster_device_and_others_to_the_slower(served):
    with Daemon(served, "--device", SLUGGISH[0], "--device", "sim:1,speed=0.003") as daemon:
        speeds = {row["device"]: row["speed"] for row in daemon.lines("/v1/devices")}
        assert speeds["sim:1"] > speeds["sim:0"] >= 1
        jobs = [daemon.submit("gen", load(CASE)) for _ in range(6)]
        devices = [device_of(daemon, job) for job in jobs]
        assert devices[0] == "sim:1" and "sim:0" in devices
        for job in jobs:
            served.try_call("cancel", job)  # those on the faster one may be done


def test_equal_devices_are_equally_fast_and_a_lone_one_is_not_measured(served):
    with Daemon(served, "--device", "sim:0,speed=0.1", "--device", "sim:1,speed=0.1") as daemon:
        one, two = (row["speed"] for row in daemon.lines("/v1/devices"))
        assert one == two > 0
    with Daemon(served, "--device", "sim:0") as daemon:
        assert [row["speed"] for row in daemon.lines("/v1/devices")] == [0]


def test_a_suspended_job_resumes_on_the_device_that_is_named(served, single):
    with Daemon(served, "--device", SLUGGISH[0], "--device", SLUGGISH[1], "--device", "cpu") as daemon:
        job = daemon.submit("gen", load(CASE), device="sim:0")
        for device in ("sim:1", "sim:0", "cpu"):
            daemon.wait(job, lambda it: it["state"] == "running" or it["ended"])
            time.sleep(0.1)
            assert served.call("suspend", job).json["state"] == "suspended"
            served.refuses("resume", job, "--device", "sim:7", code=NOT_FOUND, words=["sim:7"])
            served.call("resume", job, "--device", device)
            assert device_of(daemon, job) == device
        equal(daemon.finished(job), single[0])


def test_jobs_of_a_lost_device_go_on_elsewhere(served, single):
    single, calls = single
    with Daemon(served, "--device", SLOW, "--device", f"{FAST},lose-after={calls // 2}") as daemon:
        jobs = [daemon.submit("gen", load(CASE), checkpoint_every=0.02) for _ in range(4)]
        for job in jobs:
            equal(daemon.finished(job), single)
        devices = {daemon.job(job)["device"] for job in jobs}
        events = [event for job in jobs for event in daemon.job(job)["events"]]
        assert any("its device was lost" in (event.get("why") or "") for event in events), events
        assert devices <= {"sim:0", "sim:1"}
        assert daemon.end() == DONE
