"""Deadlines: what is promised at submission, what is missed, and where both are told."""
import time


import numpy as np

from daemon import Daemon
from graph_builder import FLOAT, INT64, GraphBuilder, value
from harness import REFUSED, load, write_model, write_npz


def kinds(daemon, job):
    return [event["kind"] for event in daemon.job(job)["events"]]


def test_a_deadline_is_promised_then_missed_and_told(endless, models):
    home = endless
    home.call("register", "mlp", f"{models}/mlp.onnx")
    rows = np.zeros((64, 784), dtype=np.float32)
    with Daemon(home) as daemon:
        in_time = daemon.submitted("mlp", {"x": rows}, items=True, deadline=600)
        assert in_time["deadline"] > time.time() and in_time["missed"] is False
        assert in_time["feasible"] is None and in_time["earliest_end"] is None  # none was seen to end
        daemon.finished(in_time["job"])
        shown = daemon.job(in_time["job"])
        assert shown["missed"] is False and "running" in kinds(daemon, shown["job"])
        promised = daemon.submitted("mlp", {"x": rows}, items=True, deadline=600)
        assert promised["feasible"] is True and promised["earliest_end"] < promised["deadline"]
        never = daemon.submitted("mlp", {"x": rows}, items=True, deadline=1e-6)
        assert never["feasible"] is False and never["earliest_end"] > never["deadline"]
        late = daemon.submitted("endless", load(home.input), deadline=0.2)
        until = time.time() + 60
        while "deadline" not in kinds(daemon, late["job"]) and time.time() < until:
            time.sleep(0.05)
        shown = daemon.job(late["job"])
        assert shown["missed"] is True and shown["state"] == "running"
        assert kinds(daemon, late["job"]).count("deadline") == 1
        listed = {job["job"]: job for job in daemon.lines("/v1/jobs")}
        assert listed[late["job"]]["missed"] is True and listed[in_time["job"]]["missed"] is False
        plain = daemon.submitted("mlp", {"x": rows}, items=True)
        assert daemon.job(plain["job"])["deadline"] is None and daemon.job(plain["job"])["missed"] is None
        assert "layover_deadlines_missed_total 2" in daemon.request("GET", "/metrics").decode()
        assert ", missed" in home.call("job", late["job"], as_json=False).out
        daemon.change(late["job"], "cancel")


def test_outputs_are_counted_in_the_events(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    with Daemon(home) as daemon:
        job = daemon.submit("mlp", {"x": np.zeros((3000, 784), dtype=np.float32)}, items=True)
        daemon.finished(job)
        told = [event for event in daemon.job(job)["events"] if event["kind"] == "output"]
        assert daemon.job(job)["outputs"] == 3000
        assert len(told) <= 3 and told[-1]["why"] == "3000 so far"


def test_waiting_for_a_job_that_fails_tells_why(home, tmp_path):
    g = GraphBuilder("fails")
    g.op("Gather", "x", "at", name=["y"])
    model = g.model([value("x", FLOAT, [4]), value("at", INT64, [])], [value("y", FLOAT, [])])
    home.call("register", "fails", write_model(tmp_path / "fails.onnx", model))
    inputs = write_npz(tmp_path / "in.npz", x=np.zeros(4, dtype="f4"), at=np.array(9))
    with Daemon(home):
        for as_json in (False, True):
            told = home.call("submit", "fails", "--input", inputs, "--wait", as_json=as_json, expect=REFUSED)
            assert "9" in (told.json["why"] if as_json else told.out.split(" failed: ", 1)[1])
