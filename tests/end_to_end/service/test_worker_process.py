"""A device in a worker process: the same bits, and whatever becomes of the worker, its daemon and its jobs go on."""
import os
import re
import signal
import stat
import subprocess
import time

import numpy as np
import pytest
from daemon import Daemon, equal
from harness import DONE, SMALL_MODELS, SUSPENDED, USAGE, binary, load, same_bits
from processes import children, is_gone, until

CASE = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"
DEVICE = "sim:0,worker=process"
ITEMS = 40


def losses(daemon):
    return int(re.search(rb"^layover_device_losses_total (\d+)$", daemon.request("GET", "/metrics"), re.M)[1])


@pytest.fixture
def gen(home):
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    return home


def straight(home, folder, name, source):
    home.call("run", name, "--input", source, "--output", folder / "straight.npz")
    return load(folder / "straight.npz")


def test_runs_and_stops_with_the_same_bits(gen, tmp_path):
    straight(gen, tmp_path, "gen", CASE)
    done = gen.call("run", "gen", "--input", CASE, "--output", tmp_path / "whole.npz", "--device", DEVICE).json
    same_bits(tmp_path / "straight.npz", tmp_path / "whole.npz")
    for stop in (1, done["instructions"] // 3, done["instructions"] - 1):
        gen.call("run", "gen", "--input", CASE, "--output", tmp_path / "x.npz", "--device", DEVICE,
                 "--suspend-after", stop, "--checkpoint", tmp_path / "x.lvc", expect=SUSPENDED)
        for device in (DEVICE, "cpu"):
            gen.call("resume", tmp_path / "x.lvc", "--output", tmp_path / "x.npz", "--device", device)
            same_bits(tmp_path / "straight.npz", tmp_path / "x.npz")


def test_a_batch_survives_its_worker(home, models, tmp_path):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    rows = np.random.default_rng(3).standard_normal((ITEMS, 784), dtype=np.float32)
    items = []
    for i in range(ITEMS):
        np.savez(tmp_path / "row.npz", x=rows[i:i + 1])
        items.append(straight(home, tmp_path, "mlp", tmp_path / "row.npz"))
    expected = {name: np.concatenate([item[name] for item in items]) for name in items[0]}
    with Daemon(home, "--device", DEVICE + ",speed=0.002") as daemon:
        [worker] = children(daemon.process.pid)
        job = daemon.submit("mlp", {"x": rows}, items=True, checkpoint_every=0.05)
        daemon.wait(job, lambda it: it["outputs"] >= 3)
        os.kill(worker, signal.SIGKILL)
        equal(daemon.finished(job), expected)
        found = daemon.job(job)
        assert found["outputs"] == ITEMS and losses(daemon) == 1
        notes = [event.get("why") or "" for event in found["events"]]
        assert sum("its device was lost" in note for note in notes) == 1, notes
        assert not [event for event in found["events"] if event.get("event") == "diverged"]
        [other] = children(daemon.process.pid)
        assert other != worker and is_gone(worker)
        assert daemon.lines("/v1/devices")[-1]["name"] == "sim"
        assert daemon.end() == DONE and is_gone(other)


def test_one_that_dies_often_is_left_alone(gen, tmp_path):
    expected = straight(gen, tmp_path, "gen", CASE)
    with Daemon(gen, "--device", "cpu", "--device", DEVICE) as daemon:
        for count in (1, 2, 3):
            [worker] = until(lambda: children(daemon.process.pid))
            os.kill(worker, signal.SIGKILL)
            until(lambda: is_gone(worker))
            job = daemon.submit("gen", load(CASE), device="sim:0")
            until(lambda count=count: losses(daemon) == count)
            if count < 3:
                equal(daemon.finished(job), expected)
        waiting = daemon.wait(job, lambda it: "sim:0" in (it["why"] or ""))
        assert waiting["why"] == "waits for sim:0, which is lost, to come back"
        time.sleep(3)
        assert children(daemon.process.pid) == [] and not daemon.job(job)["ended"]
        equal(daemon.finished(daemon.submit("gen", load(CASE), device="cpu")), expected)


@pytest.mark.parametrize("how", ["end", "kill"])
def test_no_worker_outlives_its_daemon(gen, how):
    with Daemon(gen, "--device", DEVICE, "--device", "sim:1,worker=process") as daemon:
        workers = children(daemon.process.pid)
        assert len(workers) == 2
        # as a terminal or a service manager would: the daemon decides, not the worker
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(workers[0], number)
        os.kill(workers[1], signal.SIGSTOP)
        time.sleep(0.1)
        assert not is_gone(workers[0])
        getattr(daemon, how)()
        until(lambda: all(is_gone(worker) for worker in workers))


def test_others_are_served_while_a_device_is_opened(gen, tmp_path):
    """Its program takes seconds to begin once there is a file, as a driver may."""
    program, slow = tmp_path / "slow.sh", tmp_path / "slow"
    program.write_text(f"#!/bin/sh\nif [ -e {slow} ]; then sleep 4; fi\nexec {binary()} \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    expected = straight(gen, tmp_path, "gen", CASE)
    os.environ["LAYOVER_WORKER"] = str(program)
    try:
        with Daemon(gen, "--device", "cpu", "--device", DEVICE) as daemon:
            [worker] = children(daemon.process.pid)
            slow.touch()
            os.kill(worker, signal.SIGKILL)
            until(lambda: is_gone(worker))
            waiting = daemon.submit("gen", load(CASE), device="sim:0")
            until(lambda: children(daemon.process.pid, "sleep") or children(daemon.process.pid, str(program)))
            start = time.monotonic()
            equal(daemon.finished(daemon.submit("gen", load(CASE), device="cpu")), expected)
            assert time.monotonic() - start < 3 and not daemon.job(waiting)["ended"]
            equal(daemon.finished(waiting), expected)
    finally:
        del os.environ["LAYOVER_WORKER"]


def test_what_cannot_be_opened_says_why(gen, tmp_path):
    run = ("run", "gen", "--input", CASE, "--output", tmp_path / "x.npz", "--device")
    nowhere = {"LAYOVER_WORKER": "/nowhere/layover"}
    gen.refuses(*run, DEVICE, words=["/nowhere/layover", "cannot be started"], environment=nowhere)
    gen.refuses(*run, DEVICE, words=["worker", "ended"], environment={"LAYOVER_WORKER": "/bin/true"})
    gen.refuses(*run, "cpu,worker=process", code=USAGE, words=["its memory is the host's"])
    gen.refuses(*run, "sim:0,worker=thread", code=USAGE, words=["worker=thread"])
    gen.refuses(*run, DEVICE + ",colour=red", code=USAGE, words=["no option \"colour\""])


def test_it_is_no_command_for_people():
    for start in ({}, {"close_fds": True}):
        done = subprocess.run([binary(), "worker", "sim:0"], capture_output=True, text=True, check=False, **start)
        assert done.returncode == USAGE and "started by layover itself" in done.stderr
