"""One kernel that takes minutes: other jobs go on, who suspends, cancels or wants a checkpoint is answered within a second, and
the daemon ends when it is told to."""
import signal
import time

import numpy as np
import pytest
from daemon import Daemon, Refused
from graph_builder import FLOAT, INT64, GraphBuilder, value
from harness import DONE, SUSPENDED, finish, load, write_model
from onnx import numpy_helper

HUGE = {"image": np.array([1, 1, 4096, 4096]), "window": np.array([1, 1, 2048, 2048])}
LONG = {"image": np.array([1, 1, 2048, 2048]), "window": np.array([1, 1, 1024, 1024])}  # with less to store
SMALL = {"image": np.array([1, 1, 64, 64]), "window": np.array([1, 1, 3, 3])}
SLOW = {"image": np.array([1, 1, 512, 512]), "window": np.array([1, 1, 3, 3])}  # ten seconds a kernel on DEAF
DEVICES = ["cpu", "sim:0", "sim:0,worker=process"]
DEAF = "sim:0,speed=0.00001"  # its kernels look at no stop, as those of a GPU
ANSWER_S = 1  # whatever runs


@pytest.fixture
def served(home, tmp_path):
    """conv makes its operands, so that nothing large is uploaded."""
    g = GraphBuilder("conv")
    x = g.op("ConstantOfShape", "image", value=numpy_helper.from_array(np.array([0.5], "f4")))
    w = g.op("ConstantOfShape", "window", value=numpy_helper.from_array(np.array([0.25], "f4")))
    g.op("ReduceSum", g.op("Conv", x, w), keepdims=0, name="y")
    model = g.model([value("image", INT64, [4]), value("window", INT64, [4])], [value("y", FLOAT, [])])
    home.conv = write_model(tmp_path / "conv.onnx", model)
    home.call("register", "conv", home.conv)
    return home


def soon(call):
    start = time.monotonic()
    try:
        return call()
    finally:
        assert time.monotonic() - start < ANSWER_S


def in_its_kernel(daemon, job=None):
    job = job or daemon.submit("conv", LONG)
    daemon.wait(job, lambda it: it["state"] == "running")
    time.sleep(0.3)  # it is most likely in the convolution; if not, less is tested
    return job


def neighbour(daemon, model, path):
    """Another tenant with the same model."""
    daemon.json("POST", "/v1/tenants", {"tenant": "neighbour"})
    token = daemon.json("POST", "/v1/tokens", {"tenant": "neighbour", "role": "user"})["token"]
    theirs = {"Authorization": f"Bearer {token}"}
    with open(path, "rb") as file:
        daemon.request("POST", f"/v1/models/{model}", file.read(), "application/octet-stream", theirs)
    return theirs


def succeeds(daemon, headers=None):
    job = daemon.submit("conv", SMALL, headers)
    end = time.monotonic() + 60
    while (found := daemon.job(job, headers))["state"] != "succeeded":
        assert time.monotonic() < end and not found["ended"], found
        time.sleep(0.02)
    return float(daemon.outputs(job, headers=headers)["y"])


@pytest.mark.parametrize("device", DEVICES)
def test_nobody_waits_for_it(served, device):
    with Daemon(served, "--device", device, "--grace", "2") as daemon:
        theirs = neighbour(daemon, "conv", served.conv)
        job = in_its_kernel(daemon)
        assert succeeds(daemon, theirs) == succeeds(daemon) == 62 * 62 * 9 / 8
        with pytest.raises(Refused) as refused:
            soon(lambda: daemon.request("GET", f"/v1/jobs/{job}/checkpoint"))
        assert refused.value.status == 429 and "kernel Conv has computed for" in str(refused.value)
        assert soon(lambda: daemon.change(job, "suspend"))["state"] == "suspended"
        assert len(soon(lambda: daemon.request("GET", f"/v1/jobs/{job}/checkpoint"))) > 0
        daemon.change(job, "resume")
        in_its_kernel(daemon, job)
        assert soon(lambda: daemon.change(job, "cancel"))["state"] == "cancelled"
        job = in_its_kernel(daemon)
        start = time.monotonic()
        assert daemon.end() == SUSPENDED and time.monotonic() - start < 5
    with Daemon(served, "--device", device) as daemon:
        daemon.wait(job, lambda it: it["state"] == "running")
        daemon.change(job, "cancel")
        assert daemon.end() == DONE


def test_one_that_nothing_stops_does_not_keep_the_daemon(served):
    with Daemon(served, "--device", DEAF, "--grace", "1") as daemon:
        goes, is_cancelled = daemon.submit("conv", SLOW), daemon.submit("conv", SLOW)
        for job in (goes, is_cancelled):
            in_its_kernel(daemon, job)
        with pytest.raises(Refused) as refused:
            soon(lambda: daemon.change(goes, "suspend"))
        assert refused.value.status == 429 and "suspended when it ends" in str(refused.value)
        assert soon(lambda: daemon.change(is_cancelled, "cancel"))["state"] == "cancelled"
        start = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        ended = finish(daemon.process)
        assert ended.code == SUSPENDED and time.monotonic() - start < 6
        assert f"job {goes} has not stopped on sim:0; the next start goes on from its inputs" in ended.err
        assert f"job {is_cancelled} has not stopped on sim:0; it is cancelled" in ended.err
        assert ended.err.splitlines()[-1].endswith("ended by force; what is stored is whole")
    served.is_clean()
    with Daemon(served) as daemon:
        daemon.finished(goes)
        assert daemon.job(is_cancelled)["state"] == "cancelled"
        assert daemon.end() == DONE


@pytest.mark.parametrize("device", [DEAF, "sim:0,worker=process"])
def test_a_cancel_outlives_the_daemon(served, device):
    with Daemon(served, "--device", device) as daemon:
        job = in_its_kernel(daemon, daemon.submit("conv", SLOW if device == DEAF else HUGE))
        soon(lambda: daemon.change(job, "cancel"))
        daemon.kill()
    with Daemon(served) as daemon:
        assert daemon.job(job)["state"] == "cancelled"
        succeeds(daemon)
        assert daemon.job(job)["device_seconds"] < 1 and daemon.job(job)["outputs"] == 0
        assert daemon.end() == DONE


def waits(daemon, submit, headers=None):
    """The reason of a job that has not run yet when it is asked for: it does when its class's floor is due."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = daemon.job(submit(), headers)
        if found["state"] == "queued" and "class high" in (found["why"] or ""):
            return found["why"]
        daemon.json("POST", f"/v1/jobs/{found['job']}/cancel", {}, headers)
    raise AssertionError(found)


def test_what_a_queued_job_waits_for(endless, tmp_path):
    """Tenant by tenant: its own jobs are named, another's are not."""
    home = endless
    with Daemon(home) as daemon:
        theirs = neighbour(daemon, "endless", tmp_path / "endless.onnx")
        high = daemon.submit("endless", load(home.input), priority="high")
        daemon.wait(high, lambda it: it["state"] == "running")
        own = waits(daemon, lambda: daemon.submit("endless", load(home.input), priority="low"))
        assert own.startswith(f"waits for cpu, which runs job {high} of class high since 20"), own
        assert "which goes first" in own
        other = waits(daemon, lambda: daemon.submit("endless", load(home.input), theirs, priority="low"), theirs)
        assert other.startswith("waits for cpu, which runs another tenant's job of class high since 20"), other
        assert high not in other and "default" not in other
        for job in daemon.lines("/v1/jobs"):
            daemon.change(job["job"], "cancel")
