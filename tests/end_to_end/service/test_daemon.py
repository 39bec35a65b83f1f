"""The daemon: jobs of many run side by side, lay over, survive kill -9, and give the bits of an undisturbed run."""

import json
import os
import subprocess
import time

import numpy as np
import pytest
from daemon import SLOWER, Daemon, Refused, equal
from harness import DONE, FORBIDDEN, SUSPENDED, binary, load

PROMPT = np.array([[5, 3, 9]], dtype=np.int64)


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return home


def images(count):
    return np.random.default_rng(11).standard_normal((count, 784), dtype=np.float32)


def undisturbed(home, model, folder, **arrays):
    np.savez(folder / "in.npz", **arrays)
    home.call("run", model, "--input", folder / "in.npz", "--output", folder / "out.npz")
    return load(folder / "out.npz")


def generation(home, tokens):
    return {"input_ids": PROMPT, "max_new_tokens": np.array(tokens, dtype=np.int64)}


def test_a_batch_job_equals_runs_with_the_same_items(served, tmp_path):
    data = images(7)
    expected = [undisturbed(served, "mlp", tmp_path, x=data[i:i + 3]) for i in (0, 3, 6)]
    with Daemon(served) as daemon:
        job = daemon.submit("mlp", {"x": data}, items=True, batch=3)
        found = daemon.finished(job)
        equal(found, {name: np.concatenate([part[name] for part in expected]) for name in found})
        shown = daemon.job(job)
        assert (shown["items_done"], shown["items_total"], shown["outputs"]) == (7, 7, 3)
        assert shown["submitted"] <= shown["started"] <= shown["finished"]
        lines = daemon.watch(job)
        assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
        assert lines[-1]["state"] == "succeeded"
        assert daemon.end() == DONE


def test_suspended_and_resumed_on_another_device(served, tmp_path):
    arrays = generation(served, 500)
    expected = undisturbed(served, "gen", tmp_path, **arrays)
    with Daemon(served, "--device", "cpu", "--device", SLOWER) as daemon:
        job = daemon.submit("gen", arrays)
        for device in ("sim:0", "cpu", "sim:0"):
            daemon.wait(job, lambda it: it["state"] == "running" and it["device_seconds"] > 0)
            assert daemon.suspend(job)["state"] == "suspended"
            with pytest.raises(Refused) as refused:
                daemon.suspend(job)
            assert refused.value.status == 409
            assert daemon.change(job, "resume", device=device)["state"] in ("queued", "running")
        equal(daemon.finished(job), expected)
        header, *rows = served.call("checkpoints", job, as_json=False).out.splitlines()
        assert "items" in header and rows
        for row in rows:
            assert row.split()[-2:] == ["-", "0"], row  # a single job has no items
        with pytest.raises(Refused) as refused:
            daemon.change(job, "cancel")
        assert refused.value.status == 409


def test_a_fork_gives_the_same_outputs(served, tmp_path):
    arrays = generation(served, 200)
    with Daemon(served, "--device", SLOWER) as daemon:
        job = daemon.submit("gen", arrays)
        daemon.wait(job, lambda it: it["device_seconds"] > 0.02)
        fork = daemon.change(job, "fork")["job"]
        assert fork != job
        equal(daemon.finished(fork), daemon.finished(job))


def test_wrong_inputs_are_named_at_once(served):
    with Daemon(served) as daemon:
        for arrays, policy, word in (
                ({"x": images(2), "y": images(2)}, {}, "y"), ({}, {}, "x"),
                ({"x": images(2).astype(np.float64)}, {}, "float64"), ({"x": images(2)[:, :5]}, {}, "shape"),
                ({"x": np.float32(1)}, {"items": True}, "item axis")):
            with pytest.raises(Refused) as refused:
                daemon.submit("mlp", arrays, **policy)
            assert refused.value.status == 400 and word in str(refused.value)
        with pytest.raises(Refused) as refused:
            daemon.submit("nobody", {"x": images(1)})
        assert refused.value.status == 404


def test_a_second_daemon_is_refused(served):
    with Daemon(served):
        second = served.try_call("serve")
        assert second.code == FORBIDDEN and "pid" in second.err


@pytest.mark.parametrize("arguments", [[], ["--socket", "here"]])
def test_it_is_found_from_another_folder(home, tmp_path, arguments):
    """Where the home or the socket was named from the folder that it was started in."""
    home.call("models")
    folder, name = os.path.split(home.path)
    command = [binary(), "--home", name, "--json", "serve", *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        ready = json.loads(process.stdout.readline())
        assert ready["socket"] == os.path.join(os.path.realpath(folder if arguments else home.path),
                                               "here" if arguments else "socket")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        home.call("jobs", folder=elsewhere)
        home.call("jobs", environment={"LAYOVER_SERVER": ready["socket"]}, folder=elsewhere)
    finally:
        process.terminate()
        _, err = process.communicate()
    assert process.returncode == 0 and not os.path.exists(ready["socket"]), err


def test_sigterm_drains_and_the_next_start_goes_on(served, tmp_path):
    arrays = generation(served, 250)
    expected = undisturbed(served, "gen", tmp_path, **arrays)
    with Daemon(served, "--device", SLOWER, "--grace", "30") as daemon:
        jobs = [daemon.submit("gen", arrays) for _ in range(4)]
        daemon.wait(jobs[0], lambda it: it["device_seconds"] > 0)
        assert daemon.end() == SUSPENDED
    with Daemon(served) as daemon:
        for job in jobs:
            equal(daemon.finished(job), expected)
        assert daemon.end() == DONE
    served.is_clean()


@pytest.mark.parametrize("asked, answered, ends", [
    (None, None, SUSPENDED), ("suspend", FORBIDDEN, SUSPENDED), ("cancel", DONE, DONE)])
def test_a_stop_in_a_long_kernel_keeps_what_was_asked(served, asked, answered, ends):
    """Nobody waits for a kernel that does not stop, and the exit code says whether a job is left to go on."""
    with Daemon(served, "--device", "sim:0,speed=0.00001", "--grace", "1") as daemon:
        job = daemon.submit("mlp", {"x": images(40)})
        daemon.wait(job, lambda it: it["state"] == "running")
        assert [row["job"] for row in served.call("jobs", "--state", "running").lines] == [job]
        if asked:
            served.call(asked, job, expect=answered)
        assert daemon.end() == ends
    with Daemon(served) as daemon:
        if asked == "cancel":
            assert daemon.job(job)["state"] == "cancelled"
        else:
            assert daemon.finished(job)
    served.is_clean()


def test_other_tenants_see_nothing(served):
    with Daemon(served) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "acme"})
        token = daemon.json("POST", "/v1/tokens", {"tenant": "acme", "role": "user"})["token"]
        job = daemon.submit("mlp", {"x": images(1)})
        daemon.finished(job)
        theirs = {"Authorization": f"Bearer {token}"}
        assert daemon.request("GET", "/v1/jobs", headers=theirs).strip() == b""
        assert daemon.request("GET", "/v1/models", headers=theirs).strip() == b""
        for path in (f"/v1/jobs/{job}", f"/v1/jobs/{job}/outputs", f"/v1/jobs/{job}/watch", "/v1/models/mlp/1"):
            with pytest.raises(Refused) as refused:
                daemon.request("GET", path, headers=theirs)
            assert refused.value.status == 404, path
        for path in (f"/v1/jobs/{job}/cancel", f"/v1/jobs/{job}/suspend", f"/v1/jobs/{job}/fork"):
            with pytest.raises(Refused) as refused:
                daemon.request("POST", path, b"{}", "application/json", headers=theirs)
            assert refused.value.status == 404, path
