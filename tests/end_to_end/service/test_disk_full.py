"""A disk that fills up under a daemon: jobs are suspended with the reason, not failed, and go on when there is room; cancelling
and deleting need none."""
import os
from concurrent.futures import ThreadPoolExecutor

import harness
import numpy as np
import pytest
from daemon import Daemon, Refused, equal
from disk import fill, small_disk  # noqa: F401  the fixture
from migration import Node, Pair

ITEMS = 4000


def test_jobs_are_suspended_and_go_on_when_there_is_room(small_disk, models):
    home = harness.Home(small_disk / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    data = np.random.default_rng(3).standard_normal((ITEMS, 784), dtype=np.float32)
    with Daemon(home) as daemon:
        expected = daemon.finished(daemon.submit("mlp", {"x": data}, items=True))
        job = daemon.submit("mlp", {"x": data}, items=True)
        daemon.wait(job, lambda it: it["items_done"] > 0)
        filler = fill(small_disk)
        found = daemon.wait(job, lambda it: it["state"] == "suspended" or it["ended"])
        assert found["state"] == "suspended" and "no space left" in found["why"], found
        with pytest.raises(Refused) as refused:
            daemon.change(job, "resume")
        assert refused.value.status in (429, 507)
        with pytest.raises(Refused) as refused:
            daemon.submit("mlp", {"x": -data[:200]}, items=True)
        assert refused.value.status in (429, 507)
        os.remove(filler)
        daemon.change(job, "resume")
        equal(daemon.finished(job), expected)
        assert daemon.job(job)["outputs"] == ITEMS
        assert daemon.end() == harness.DONE
    home.is_clean()


def test_outputs_need_no_room(small_disk, models, tmp_path):
    """They are made while they are read: who wants to take them away to make room can."""
    home = harness.Home(small_disk / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    data = np.random.default_rng(5).standard_normal((ITEMS, 784), dtype=np.float32)
    with Daemon(home) as daemon:
        job = daemon.submit("mlp", {"x": data}, items=True)
        expected = daemon.finished(job)
        fill(small_disk)
        equal(daemon.outputs(job), expected)
        home.call("result", job, "-o", tmp_path / "out.npz")
        with np.load(tmp_path / "out.npz") as arrays:
            equal(dict(arrays), expected)
        home.call("rm-job", job)
        assert daemon.end() == harness.DONE


def test_files_need_no_room(small_disk, models, tmp_path):
    """Of jobs and of models: they are made while they are read, beside their target."""
    home = harness.Home(small_disk / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "loop", f"{harness.SMALL_MODELS}/counted_loop.onnx")
    data = np.random.default_rng(6).standard_normal((ITEMS, 784), dtype=np.float32)
    endless = {"x": np.array([1, -2, 3], np.float32), "rounds": np.array(1 << 40, np.int64)}
    with Daemon(home) as daemon:
        expected = daemon.finished(daemon.submit("mlp", {"x": data}, items=True))
        batch = daemon.submit("mlp", {"x": data}, items=True)
        daemon.wait(batch, lambda it: it["items_done"] > 0)
        loop = daemon.submit("loop", endless)
        daemon.wait(loop, lambda it: it["state"] == "running")
        for job in batch, loop:
            daemon.suspend(job)
        fill(small_disk)
        home.call("export", "mlp", tmp_path / "mlp.lvx")
        home.call("checkpoint", batch, "-o", tmp_path / "batch.lvc", "--with-model")
        home.call("checkpoint", loop, "-o", tmp_path / "loop.lvc")
        assert not os.listdir(small_disk / "home" / "uploads")
    with Daemon(harness.Home(tmp_path / "other")) as daemon:
        other = daemon.home
        restored = other.call("restore", tmp_path / "batch.lvc", "--with-outputs").json["job"]
        equal(daemon.finished(restored), expected)
        other.call("import", "again", tmp_path / "mlp.lvx")
        equal(daemon.finished(daemon.submit("again", {"x": data}, items=True)), expected)
    assert (tmp_path / "loop.lvc").stat().st_size > 0


@pytest.mark.parametrize("small_disk", [192], indirect=True)
def test_large_inputs_need_no_room(small_disk, models, tmp_path):
    """What is left of them is cut out while the file is read, however large they are."""
    home = harness.Home(small_disk / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    data = np.random.default_rng(7).standard_normal((16000, 784), dtype=np.float32)
    with Daemon(home) as daemon:
        expected = daemon.finished(daemon.submit("mlp", {"x": data}, items=True))
        batch = daemon.submit("mlp", {"x": data}, items=True)
        daemon.wait(batch, lambda it: it["items_done"] > 0)
        daemon.suspend(batch)
        assert 0 < daemon.job(batch)["items_done"] < len(data)
        fill(small_disk)
        home.call("checkpoint", batch, "-o", tmp_path / "batch.lvc", "--with-model")
        assert (tmp_path / "batch.lvc").stat().st_size > 34 << 20
        assert not os.listdir(small_disk / "home" / "uploads")
    with Daemon(harness.Home(tmp_path / "other")) as daemon:
        restored = daemon.home.call("restore", tmp_path / "batch.lvc", "--with-outputs").json["job"]
        equal(daemon.finished(restored), expected)


def test_outputs_of_a_moved_job_need_no_room(small_disk, tmp_path):
    """They are passed on from the other node while they come."""
    with Pair(Node(harness.Home(small_disk / "home"), "a"), Node(harness.Home(tmp_path / "b"), "b")) as pair:
        job = pair.submit("batch")
        pair.a.wait(job, lambda it: it["items_done"] > 0)
        pair.a.home.call("migrate", job, "--to", "b")
        assert pair.a.state(job) == "moved"
        pair.b.wait(job, lambda it: it["outputs"] > 8)
        pair.b.suspend(job)
        expected = pair.b.outputs(job)
        fill(small_disk)
        equal(pair.a.outputs(job), expected)
        assert not os.listdir(small_disk / "home" / "uploads")


def test_cancelling_and_deleting_need_no_room(small_disk, models):
    home = harness.Home(small_disk / "home")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "loop", f"{harness.SMALL_MODELS}/counted_loop.onnx")
    data = np.random.default_rng(4).standard_normal((1000, 784), dtype=np.float32)
    endless = {"x": np.array([1, -2, 3], np.float32), "rounds": np.array(1 << 40, np.int64)}
    with Daemon(home) as daemon:
        ended = daemon.submit("mlp", {"x": data}, items=True)
        daemon.finished(ended)
        jobs = [daemon.submit("loop", endless) for _ in range(16)]
        for job in jobs[8:]:
            daemon.suspend(job)
        fill(small_disk)

        def cancel(job):
            try:
                daemon.exchange("POST", f"/v1/jobs/{job}/cancel", b"{}", "application/json")
            except Refused as refused:  # it is cancelled, or others wait for the same already
                return refused.status
            return 200

        with ThreadPoolExecutor(4 * len(jobs)) as pool:  # more than the server has threads
            answers = list(pool.map(cancel, 4 * jobs))
        assert answers.count(200) >= len(jobs) and set(answers) <= {200, 409}, answers
        for job in jobs:
            assert daemon.job(job)["state"] == "cancelled"
        for job in [ended, *jobs]:
            home.call("rm-job", job)
        fill(small_disk)
        home.call("gc")
        fill(small_disk)
        assert daemon.end() == harness.DONE
    filler = fill(small_disk)
    with Daemon(home) as daemon:
        home.call("rm", "mlp")
        assert home.call("gc").json["chunks"] > 0
        fill(small_disk)
        assert daemon.end() == harness.DONE
    fill(small_disk)
    home.call("gc")
    os.remove(filler)
    home.is_clean()
    home.call("register", "mlp", f"{models}/mlp.onnx")
