"""Every row of the table of metrics, after a short life of a daemon, says what happened in it."""
import os
import re

import numpy as np
import prometheus
import pytest
from daemon import Daemon, Refused
from harness import DONE, ROOT, load

IMAGES = np.random.default_rng(3).standard_normal((12, 784), dtype=np.float32)
PROMPT = {"input_ids": np.array([[5, 3, 9]], dtype=np.int64), "max_new_tokens": np.array(250, dtype=np.int64)}
STATES = {"running", "queued", "suspended", "succeeded", "failed", "cancelled", "moved", "released", "held", "in_doubt"}


@pytest.fixture
def served(endless, models):
    endless.call("register", "mlp", f"{models}/mlp.onnx")
    endless.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return endless


def read(daemon):
    return prometheus.parse(daemon.request("GET", "/metrics").decode())


def declared():
    with open(os.path.join(ROOT, "scheduler", "node", "metrics.def"), encoding="ascii") as file:
        return re.findall(r'^METRIC\(\w+, "(\w+)", (\w+), "([^"]*)"', file.read(), re.MULTILINE)


def value(families, name, ending="", **labels):
    return families[name].samples[name + ending, tuple(sorted(labels.items()))]


def live(daemon, endless, models):
    """Two tenants, jobs that succeed, fail, lay over and are cancelled, a model that is compiled."""
    daemon.json("POST", "/v1/tenants", {"tenant": "acme", "weight": 2})
    with open(f"{models}/mlp.onnx", "rb") as file:
        daemon.request("POST", "/v1/models/again", file.read(), "application/octet-stream")
    jobs = {"batch": daemon.submit("mlp", {"x": IMAGES}, items=True, batch=4)}
    jobs["moves"] = daemon.submit("endless", endless, checkpoint_every=0.01)
    jobs["other"] = daemon.submit("endless", endless)
    daemon.wait(jobs["moves"], lambda it: it["device_seconds"] > 0)
    for _ in range(2):
        daemon.suspend(jobs["moves"])
        daemon.change(jobs["moves"], "resume")
        daemon.wait(jobs["moves"], lambda it: it["state"] == "running")
    daemon.change(jobs["moves"], "cancel")
    daemon.suspend(jobs["other"])
    jobs["gone"] = daemon.submit("endless", endless)
    daemon.change(jobs["gone"], "cancel")
    for name in ("one", "two"):  # of one device, in turns
        jobs[name] = daemon.submit("gen", PROMPT, device="cpu")
    for name in ("batch", "one", "two"):
        daemon.finished(jobs[name])
    return jobs


def test_every_metric_of_the_table_is_true(served, models):
    with Daemon(served, "--device", "cpu", "--device", "sim:0") as daemon:
        before = read(daemon)
        jobs = live(daemon, load(served.input), models)
        found = read(daemon)
        rows = declared()
        assert [name for name, _, _ in rows] == list(found) == list(before)
        for name, kind, labels in rows:
            family = found[name]
            assert family.kind == {"COUNTER": "counter", "SAMPLED_COUNTER": "counter", "SECONDS": "histogram"}.get(
                kind, "gauge"), name
            assert family.samples or name.startswith("layover_inference_"), f"{name} has no value"
            assert all({label for label, _ in key} - {"le"} == set(labels.split()) for _, key in family.samples), name
        states = {dict(labels)["state"]: count for (_, labels), count in found["layover_jobs"].samples.items()}
        assert set(states) == STATES
        listed = [daemon.job(job)["state"] for job in jobs.values()]
        assert {state: count for state, count in states.items() if count} == {
            state: listed.count(state) for state in listed}
        assert value(found, "layover_jobs_submitted_total") == len(jobs)
        ended = found["layover_jobs_ended_total"].samples
        assert sum(ended.values()) == 5 and value(found, "layover_jobs_ended_total", state="cancelled") == 2
        assert value(found, "layover_suspend_seconds", "_count") == 3
        assert 1 <= value(found, "layover_resume_seconds", "_count") <= 3
        started = sum(1 for job in jobs.values() if daemon.job(job)["started"])
        assert value(found, "layover_job_start_seconds", "_count") == started
        assert value(found, "layover_compile_seconds", "_count") == 1
        assert value(found, "layover_checkpoint_seconds", "_count") >= 2
        assert value(found, "layover_checkpoint_bytes_total") > 0
        slices = found["layover_slice_seconds"].samples
        assert sum(count for (name, _), count in slices.items() if name.endswith("_count")) >= value(found, "layover_slices_total")
        assert value(found, "layover_slices_total") > value(found, "layover_switch_seconds", "_count") > 0
        used = sum(daemon.job(job)["device_seconds"] for job in jobs.values())
        assert value(found, "layover_device_seconds_total", tenant="default") == pytest.approx(used)
        assert value(found, "layover_device_seconds_total", tenant="acme") == 0
        busy = found["layover_device_busy_seconds_total"].samples
        assert sum(busy.values()) == pytest.approx(used) and len(busy) == 2
        assert value(found, "layover_queue_depth", tenant="default") == 0
        tenants = {line["tenant"]: line for line in served.call("tenant", "list").lines}
        for name in ("default", "acme"):
            assert value(found, "layover_store_bytes", tenant=name) == tenants[name]["used"]["store_bytes"]
        for file in ("catalog.db", "chunks.db"):
            assert value(found, "layover_store_file_bytes", file=file) == os.path.getsize(f"{served.path}/{file}")
        assert value(found, "layover_http_requests_total", route="POST /v1/jobs", status="2xx") == len(jobs)
        assert value(found, "layover_http_connections") >= 1 and value(found, "layover_http_streams") == 0
        daemon.change(jobs["other"], "cancel")
        data = {"name": "x", "shape": [1, 784], "datatype": "FP32", "data": IMAGES[0].tolist()}
        daemon.json("POST", "/v2/models/mlp/infer", {"inputs": [data]})
        found = read(daemon)
        for part in ("request", "queue", "compute"):
            assert value(found, f"layover_inference_{part}_seconds", "_count", model="mlp") == 1
        assert daemon.end() == DONE


def test_metrics_are_the_administrators(served):
    with Daemon(served) as daemon:
        token = daemon.json("POST", "/v1/tokens", {"role": "user"})["token"]
        with pytest.raises(Refused) as refused:
            daemon.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        assert refused.value.status == 403
