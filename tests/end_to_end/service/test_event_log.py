"""A daemon's event log: its decisions, taken again by the simulator, are the same."""
import os

import numpy as np
import pytest
from daemon import Daemon, Refused
from harness import DONE, FORBIDDEN, REFUSED, USAGE
from processes import until

IMAGES = np.random.default_rng(3).standard_normal((12, 784), dtype=np.float32)
PROMPT = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(120, dtype=np.int64)}
DEVICES = ("--device", "cpu", "--device", "sim:0,memory=64MiB")


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return home


def change_unless_ended(daemon, job, verb, **options):
    try:
        daemon.change(job, verb, **options)
    except Refused as refused:
        assert refused.status == 409 and daemon.job(job)["ended"], refused


def give_work(daemon):
    """Two tenants; jobs that end, lay over, move to another device, are cancelled or refused."""
    daemon.json("POST", "/v1/tenants", {"tenant": "acme", "weight": 3, "quotas": {"queued_jobs": 0}})
    jobs = [daemon.submit("mlp", {"x": IMAGES}, items=True, batch=5, priority="high"),
            daemon.submit("gen", PROMPT, checkpoint_every=0.02), daemon.submit("gen", PROMPT, weight=5),
            daemon.submit("gen", PROMPT, priority="low")]
    daemon.wait(jobs[1], lambda it: it["device_seconds"] > 0 or it["ended"])
    for job, verb, options in ((jobs[1], "suspend", {}), (jobs[2], "suspend", {}),
                               (jobs[1], "resume", {"device": "sim:0"}), (jobs[2], "resume", {})):
        change_unless_ended(daemon, job, verb, **options)
    change_unless_ended(daemon, jobs[3], "cancel")
    for job in jobs[:3]:
        daemon.finished(job)
    return jobs


def replay(home, log):
    return home.call("simulate", "--replay", log).json


def test_a_daemons_decisions_are_taken_again(served, models, tmp_path):
    log = tmp_path / "events"
    with Daemon(served, *DEVICES, "--event-log", log) as daemon:
        give_work(daemon)
        served.call("register", "mlp", f"{models}/mlp.onnx", "--tenant", "acme")
        served.call("submit", "mlp", "--input", write(tmp_path), "--tenant", "acme", expect=FORBIDDEN)
        assert daemon.end() == DONE
    found = replay(served, log)
    assert found["complete"] and found["torn_bytes"] == 0 and found["violations"] == []
    assert found["jobs_done"] + found["jobs_cancelled"] == 4 and found["jobs_refused"] == 1
    assert found["events"] > 20 and found["actions"] > 20
    shown = served.call("simulate", "--replay", log, as_json=False).out
    assert "the same decisions as in the log\n" in shown


def write(folder):
    np.savez(folder / "x.npz", x=IMAGES)
    return folder / "x.npz"


def test_the_log_of_a_killed_daemon_ends_with_its_last_whole_record(served, tmp_path):
    log = tmp_path / "events"
    daemon = Daemon(served, *DEVICES, "--event-log", log)
    daemon.start()
    give_work(daemon)
    until(lambda: os.path.getsize(log) >= 1000, 60)  # the log is written once a second
    daemon.kill()
    found = replay(served, log)
    assert not found["complete"] and found["events"] > 20
    data = log.read_bytes()
    log.write_bytes(data[:-3])
    torn = replay(served, log)
    assert torn["torn_bytes"] > 0 and torn["events"] < found["events"] + 1
    with Daemon(served, *DEVICES, "--event-log", log) as daemon:  # jobs that are taken up again are logged, too
        assert daemon.end() in (DONE, 85)
    assert replay(served, log)["complete"]
    assert replay(served, tmp_path / "events.1")["events"] == torn["events"]


def test_another_decision_or_a_changed_byte_is_noticed(served, tmp_path):
    log = tmp_path / "events"
    with Daemon(served, "--event-log", log) as daemon:
        daemon.finished(daemon.submit("mlp", {"x": IMAGES}))
        assert daemon.end() == DONE
    data = bytearray(log.read_bytes())
    for at in (20, len(data) // 2, len(data) - 30):
        changed = bytearray(data)
        changed[at] ^= 1
        log.write_bytes(changed)
        served.refuses("simulate", "--replay", log, words=["event log", "record"])


def test_wrong_names_and_limits_are_refused(served, tmp_path):
    (tmp_path / "file").write_text("somebody else's")
    served.refuses("serve", "--event-log", tmp_path / "file", code=FORBIDDEN, words=["no event log"])
    served.refuses("serve", "--event-log", tmp_path / "no" / "file", code=REFUSED, words=["no/file"])
    served.refuses("serve", "--event-log-max", 100000, code=USAGE, words=["--event-log"])
    served.refuses("serve", "--event-log", tmp_path / "x", "--event-log-max", 5, code=USAGE, words=["16384"])


def test_a_log_that_is_full_harms_no_job(served, tmp_path):
    log = tmp_path / "events"
    with Daemon(served, "--event-log", log, "--event-log-max", 16384) as daemon:
        for _ in range(300):
            daemon.finished(daemon.submit("mlp", {"x": IMAGES[:1]}))
            if int(next(line.split()[1] for line in daemon.request("GET", "/metrics").decode().splitlines()
                        if line.startswith("layover_event_log_lost_total "))):
                break
        daemon.finished(daemon.submit("mlp", {"x": IMAGES}))
        daemon.process.terminate()
        _, err = daemon.process.communicate()
    assert err.count("event log") == 1 and "limit" in err, err
    assert os.path.getsize(log) <= 16384
    assert replay(served, log)["complete"]
