"""layover verify: a job is run again from a checkpoint, and what comes out is compared with what is stored."""
import os
import signal
import sqlite3
import subprocess

import numpy as np
import pytest
from daemon import Daemon
from harness import DONE, FORBIDDEN, INTERRUPTED, NOT_FOUND, SMALL_MODELS, load
from processes import until

ITEMS = 40
SLOW = "sim:0,speed=0.01"
GENERATED = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    return home


def batch():
    return {"x": np.random.default_rng(3).standard_normal((ITEMS, 784), dtype=np.float32)}


def checkpointed(daemon, job, finish=True):
    """With a checkpoint behind some outputs."""
    daemon.wait(job, lambda it: it["outputs"] >= 2)
    daemon.suspend(job)
    daemon.change(job, "resume")
    return daemon.finished(job) if finish else None


def events(daemon, job, words):
    return [event for event in daemon.job(job)["events"] if words in (event["why"] or "")]


def only(daemon, job):
    return [line["job"] for line in daemon.lines("/v1/jobs")] == [job]


def test_a_finished_job_is_equal_and_leaves_nothing(served):
    with Daemon(served, "--device", SLOW, "--device", "cpu") as daemon:
        job = daemon.submit("mlp", batch(), items=True, device="sim:0")
        checkpointed(daemon, job)
        found = served.call("verify", job).json
        assert (found["job"], found["state"], found["from"], found["sequence"]) == (job, "equal", 1, None)
        assert found["compared"] == found["outputs"] > 0
        assert found["determinism_class"]["job"] == found["determinism_class"]["replay"]
        assert only(daemon, job)
        (event,) = events(daemon, job, "came out the same again")
        assert event["kind"] == "note"
        words = served.call("verify", job, "--from", 1, as_json=False).out
        assert words.startswith(f"{job} equal: ")
        assert daemon.end() == DONE
    served.call("fsck")


def test_a_running_job_runs_on_meanwhile(served):
    with Daemon(served, "--device", SLOW, "--device", "cpu") as daemon:
        job = daemon.submit("mlp", batch(), items=True, device="sim:0", checkpoint_every=0.02, checkpoint_keep=1000)
        daemon.wait(job, lambda it: it["outputs"] >= 4 and it["checkpoint_age"] is not None)
        listed = daemon.lines(f"/v1/jobs/{job}/checkpoints")
        found = served.call("verify", job, "--from", listed[0]["id"]).json
        assert found["state"] == "equal" and found["compared"] > 0
        daemon.finished(job)
        assert only(daemon, job)


def test_an_output_that_was_changed_is_found(served):
    with Daemon(served, "--device", SLOW) as daemon:
        job = daemon.submit("mlp", batch(), items=True)
        whole = checkpointed(daemon, job)
        assert daemon.end() == DONE
    catalog = sqlite3.connect(os.path.join(served.path, "catalog.db"))
    with catalog:
        (data,) = catalog.execute("SELECT bytes FROM contents WHERE kind = 2 AND sequence = 37").fetchone()
        data = data[:-1] + bytes([data[-1] ^ 1])
        catalog.execute("UPDATE contents SET bytes = ? WHERE kind = 2 AND sequence = 37", (data,))
    catalog.close()
    with Daemon(served, "--device", SLOW) as daemon:
        found = served.call("verify", job, expect=1).json
        assert (found["state"], found["sequence"]) == ("differs", 37)
        (event,) = events(daemon, job, "output 37 came out differently")
        assert event["kind"] == "diverged"
        assert daemon.job(job)["state"] == "succeeded" and only(daemon, job)
        assert whole


def test_what_cannot_be_verified_is_refused_with_a_sentence(served):
    with Daemon(served, "--device", "cpu") as daemon:
        job = daemon.submit("mlp", batch(), items=True)
        daemon.finished(job)
        served.refuses("verify", job, code=NOT_FOUND, words=["has no checkpoint to replay it from", "--checkpoint-every"])
        served.refuses("verify", job, "--from", 7, code=NOT_FOUND, words=["checkpoint 7"])
        served.refuses("verify", "000000000001-5", code=NOT_FOUND)
        other = daemon.submit("mlp", batch(), items=True)
        daemon.finished(other)
        served.call("tenant", "add", "eve")
        token = served.call("token", "create", "--tenant", "eve", "--role", "user").json["token"]
        served.refuses("verify", job, code=NOT_FOUND, environment={"LAYOVER_TOKEN": token})
        assert only(daemon, job) is False


def test_a_job_that_has_no_output_behind_its_checkpoint_is_refused(served):
    with Daemon(served, "--device", SLOW) as daemon:
        job = daemon.submit("mlp", batch(), items=True)
        daemon.wait(job, lambda it: it["outputs"] >= 2)
        daemon.suspend(job)
        served.refuses("verify", job, code=FORBIDDEN, words=["has no output stored behind checkpoint 1"])


def test_an_interrupted_client_takes_the_replay_along(served):
    served.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    with Daemon(served, "--device", "sim:0,speed=0.00002", "--device", "cpu") as daemon:
        job = slow_replay(daemon)
        client = subprocess.Popen(served.command("verify", job), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(lambda: len(daemon.lines("/v1/jobs")) == 2, 120)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60)
        assert client.returncode == INTERRUPTED
        assert only(daemon, job)
        assert events(daemon, job, "not verified from checkpoint"), daemon.job(job)["events"]


def test_a_killed_daemon_goes_on_with_the_replay_and_records_what_it_found(served):
    served.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    with Daemon(served, "--device", "sim:0,speed=0.0001", "--device", "cpu") as daemon:
        job = slow_replay(daemon)
        replay = daemon.change(job, "verify")["replay"]
        daemon.kill()
        daemon.start()
        assert {line["job"] for line in daemon.lines("/v1/jobs")} == {job, replay}
        until(lambda: daemon.change(replay, "verification")["state"] == "equal", 120)
        assert only(daemon, job)
        assert events(daemon, job, "came out the same again")


def slow_replay(daemon):
    """A finished job that was made on cpu from its checkpoint on, and demands the slow device."""
    job = daemon.submit("gen", load(GENERATED), device="sim:0", suspend_after=20)
    daemon.wait(job, lambda it: it["state"] == "suspended")
    daemon.change(job, "resume", device="cpu")
    daemon.finished(job)
    return job
