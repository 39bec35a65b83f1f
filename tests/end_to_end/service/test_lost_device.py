"""A device that is lost under two tenants' jobs: they go on, with the bits of an undisturbed run, each output once."""
import re
import signal
import time

import numpy as np
import pytest
from daemon import Daemon, equal
from harness import DONE, SMALL_MODELS, load

CASE = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"
ITEMS = 24


@pytest.fixture
def served(home, models):
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    return home


def undisturbed(home, folder, name, source):
    result = home.call("run", name, "--input", source, "--output", folder / f"{name}.npz").json
    return load(folder / f"{name}.npz"), result["kernel_calls"]


def expectations(home, folder):
    """Of a single run and of a batch; and how many kernels the larger one calls."""
    rows = np.random.default_rng(3).standard_normal((ITEMS, 784), dtype=np.float32)
    single, single_calls = undisturbed(home, folder, "gen", CASE)
    items = []
    for i in range(ITEMS):
        np.savez(folder / "row.npz", x=rows[i:i + 1])
        item, item_calls = undisturbed(home, folder, "mlp", folder / "row.npz")
        items.append(item)
    batch = {name: np.concatenate([item[name] for item in items]) for name in items[0]}
    return rows, single, batch, max(single_calls, item_calls * ITEMS)


def second_tenant(home, daemon, models):
    daemon.json("POST", "/v1/tenants", {"tenant": "second"})
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx", "--tenant", "second")
    home.call("register", "mlp", f"{models}/mlp.onnx", "--tenant", "second")
    return {"Authorization": "Bearer " + daemon.json("POST", "/v1/tokens", {"tenant": "second"})["token"]}


def ended(daemon, job, headers):
    end = time.monotonic() + 200
    while not (found := daemon.job(job, headers))["ended"]:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    assert found["state"] == "succeeded", found
    return found


def losses(daemon):
    return int(re.search(rb"^layover_device_losses_total (\d+)$", daemon.request("GET", "/metrics"), re.M)[1])


def submit_all(daemon, headers, rows):
    """Three rounds of both tenants' jobs: (job, who, whether it is a batch)."""
    jobs = []
    for _ in range(3):
        for who in (None, headers):
            jobs.append((daemon.submit("gen", load(CASE), who, device="sim:0", checkpoint_every=0.02), who, False))
            jobs.append((daemon.submit("mlp", {"x": rows}, who, items=True, device="sim:0"), who, True))
            jobs.append((daemon.submit("mlp", {"x": rows}, who, items=True), who, True))
    return jobs


@pytest.mark.parametrize("devices", [(), ("--device", "cpu")], ids=["alone", "beside-cpu"])
def test_jobs_of_two_tenants_go_on(served, models, tmp_path, devices):
    rows, single, batch, calls = expectations(served, tmp_path)
    with Daemon(served, *devices, "--device", f"sim:0,lose-after={calls * 6}") as daemon:
        headers, notes = second_tenant(served, daemon, models), 0
        for job, who, is_batch in submit_all(daemon, headers, rows):
            found = ended(daemon, job, who)
            assert found["outputs"] == (ITEMS if is_batch else 1)
            equal(daemon.outputs(job, headers=who), batch if is_batch else single)
            assert not [event for event in found["events"] if event.get("event") == "diverged"], found
            notes += sum("its device was lost" in (event.get("why") or "") for event in found["events"])
        count = losses(daemon)
        assert count >= 1 and notes >= 1, (count, notes)
        assert daemon.lines("/v1/devices")[-1]["device"] == "sim:0"
        daemon.process.send_signal(signal.SIGTERM)
        _, err = daemon.process.communicate(timeout=60)
        assert daemon.process.returncode == DONE and err.count("layover: device sim:0 is lost") == count, err


def test_a_job_that_demands_it_waits_and_goes_on(served, tmp_path):
    """The pause of a second before it is opened anew is when the other device has all to itself."""
    single, calls = undisturbed(served, tmp_path, "gen", CASE)
    log = tmp_path / "events"
    with Daemon(served, "--device", "cpu", "--device", f"sim:0,lose-after={calls + 1}", "--event-log", log) as daemon:
        jobs = [daemon.submit("gen", load(CASE), device="sim:0") for _ in range(2)]
        waiting = daemon.wait(jobs[1], lambda it: "lost" in (it["why"] or "") or it["ended"])
        assert waiting["why"] == "waits for sim:0, which is lost, to come back" and losses(daemon) == 1
        equal(daemon.finished(daemon.submit("gen", load(CASE), device="cpu")), single)
        for job in jobs:
            equal(daemon.finished(job), single)
        assert daemon.end() == DONE
    assert served.call("simulate", "--replay", log).json["violations"] == []
