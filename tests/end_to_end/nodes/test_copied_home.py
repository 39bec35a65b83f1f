"""A home that is copied, with cp -r, does not run its original's jobs a second time."""
import subprocess

import numpy as np
import pytest
from daemon import SLOWER, Daemon, equal
from harness import DONE, FORBIDDEN, SUSPENDED, Home

PROMPT = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(250, dtype=np.int64)}


@pytest.fixture
def served(home, models):
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return home


def copy(home, path):
    subprocess.run(["cp", "-r", home.path, path], check=True)
    return Home(path)


def events(home, job):
    return [(event["state"], event["why"]) for event in home.call("job", job).json["events"]]


def test_jobs_of_a_copy_are_held_until_somebody_lets_them_go(served, tmp_path):
    with Daemon(served, "--device", SLOWER, "--grace", "30") as daemon:
        jobs = [daemon.submit("gen", PROMPT) for _ in range(4)]
        daemon.wait(jobs[0], lambda it: it["device_seconds"] > 0)
        daemon.suspend(jobs[3])
        assert daemon.end() == SUSPENDED
    twin = copy(served, tmp_path / "twin")
    with Daemon(twin) as daemon:
        assert [daemon.job(job)["state"] for job in jobs] == ["held"] * 4
        assert any(state == "held" and "copy" in why for state, why in events(twin, jobs[0]))
        assert len(twin.call("jobs", "--state", "held").lines) == 4
        twin.refuses("suspend", jobs[0], code=FORBIDDEN, words=["held"])
        assert twin.call("resume", jobs[0]).json["state"] in ("queued", "running")
        twin.call("cancel", jobs[1])
        ours = daemon.finished(jobs[0])
        fresh = daemon.submit("gen", PROMPT)  # new ones run, under the copy's own name
        equal(daemon.finished(fresh), ours)
        assert fresh.split("-")[0] != jobs[0].split("-")[0]
        daemon.process.terminate()
        _, err = daemon.process.communicate()
    lines = [line for line in err.splitlines() if "copy" in line]
    assert len(lines) == 1 and twin.path in lines[0] and "4 unfinished jobs are held" in lines[0]
    with Daemon(twin) as daemon:  # they stay held, and it is said once
        assert [daemon.job(job)["state"] for job in jobs[2:]] == ["held"] * 2
        daemon.process.terminate()
        assert "copy" not in daemon.process.communicate()[1]
    twin.is_clean()
    with Daemon(served) as daemon:  # the original goes on
        for job in jobs[:3]:
            equal(daemon.finished(job), ours)
        assert daemon.job(jobs[3])["state"] == "suspended"
        assert daemon.end() == DONE


def test_verbs_with_a_copied_home_do_not_reach_the_originals_daemon(served, tmp_path):
    with Daemon(served) as daemon:
        twin = copy(served, tmp_path / "twin")  # of a running daemon, its socket and record along
        daemon.json("POST", "/v1/tenants", {"tenant": "acme"})
        assert "5" == str(twin.try_call("tenant", "list").code)
        with Daemon(twin):
            assert [line["tenant"] for line in twin.call("tenant", "list").lines] == ["default"]


def test_a_renamed_home_is_the_same_home(served, tmp_path):
    with Daemon(served, "--device", SLOWER, "--grace", "30") as daemon:
        job = daemon.submit("gen", PROMPT)
        daemon.wait(job, lambda it: it["device_seconds"] > 0)
        daemon.kill()
    subprocess.run(["mv", served.path, tmp_path / "elsewhere"], check=True)
    with Daemon(Home(tmp_path / "elsewhere")) as daemon:
        daemon.finished(job)
