"""Jobs in checkpoint files: copies and owners, other homes, files that lie."""
import contextlib
import http.client
import json
import os
import random
import threading

import numpy as np
import pytest
from daemon import SLOWER, Daemon, Refused, equal
from harness import DONE, FORBIDDEN, NOT_FOUND, REFUSED, SUSPENDED, Home, load

PROMPT = np.array([[5, 3, 9]], dtype=np.int64)
TOKENS = 200
KILLS = int(os.environ.get("LAYOVER_DAEMON_KILLS", "12"))


@pytest.fixture
def served(home, models):
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("register", "gen", f"{models}/gpt2_gen_small.onnx")
    return home


@pytest.fixture
def elsewhere(tmp_path):
    other = Home(tmp_path / "elsewhere")
    other.call("models")
    return other


def images(count):
    return np.random.default_rng(11).standard_normal((count, 784), dtype=np.float32)


def generation(tokens=TOKENS):
    return {"input_ids": PROMPT, "max_new_tokens": np.array(tokens, dtype=np.int64)}


def undisturbed(home, model, folder, **arrays):
    np.savez(folder / "in.npz", **arrays)
    home.call("run", model, "--input", folder / "in.npz", "--output", folder / "out.npz")
    return load(folder / "out.npz")


def running(job):
    return job["state"] == "running" and job["device_seconds"] > 0.01


def test_a_copy_goes_on_in_another_home(served, elsewhere, tmp_path):
    arrays = generation()
    expected = undisturbed(served, "gen", tmp_path, **arrays)
    with Daemon(served, "--device", SLOWER) as daemon:
        job = daemon.submit("gen", arrays)
        daemon.wait(job, running)
        served.call("checkpoint", job, "-o", tmp_path / "job.lvc", "--with-model")
        equal(daemon.finished(job), expected)
    with Daemon(elsewhere) as daemon:
        made = elsewhere.call("restore", tmp_path / "job.lvc").json
        assert made["job"] != job and made["state"] in ("queued", "running")
        equal(daemon.finished(made["job"]), expected)
        assert daemon.job(made["job"])["model"] == "gen@1"
        assert job in daemon.job(made["job"])["events"][0]["why"]
    elsewhere.is_clean()


def test_a_file_with_its_model_brings_back_a_version_that_was_removed(served, tmp_path):
    """Also while a job still holds the executable: it is there, but has no name."""
    with Daemon(served) as daemon:
        job = suspended_batch(daemon)
        served.call("checkpoint", job, "-o", tmp_path / "job.lvc", "--with-model")
        served.call("rm", "mlp@1")
        assert not [row for row in served.models() if row[0] == "mlp"]
        made = served.call("restore", tmp_path / "job.lvc").json
        version, = [row[:2] for row in served.models() if row[0] == "mlp"]
        assert daemon.job(made["job"])["model"] == f"mlp@{version[1]}"
        daemon.change(job, "cancel")
        assert daemon.finished(made["job"])
    served.is_clean()


def submit_batch(daemon, count=400, **policy):
    return daemon.submit("mlp", {"x": images(count)}, items=True, batch=2, **policy)


BEGUN_ITEMS = 30  # of a job that stands in the middle


def half_done(job):
    assert job["state"] != "succeeded", "the job was too short for this test"
    return job["items_done"] >= BEGUN_ITEMS


def suspended_batch(daemon, least_done=0):
    """A batch job that was stopped with so many items done; one that ends sooner, where the disk holds the request up,
    gives way to another."""
    for _ in range(20):
        job = submit_batch(daemon, 4000)
        daemon.wait(job, lambda one: one["state"] == "succeeded" or one["items_done"] >= least_done)
        try:
            daemon.suspend(job)
        except Refused as refused:
            assert refused.status == 409 and daemon.job(job)["state"] == "succeeded"
        else:
            return job
    pytest.fail("no job could be stopped before its end")


def outputs_of(expected, begin):
    return {name: array[begin:] for name, array in expected.items()}


BATCH_DEVICE = "sim:0,speed=1"  # 4,000 items take two seconds there


@pytest.fixture
def batch_file(served, tmp_path):
    """A file of a batch job that stands in the middle, and all outputs of that job."""
    with Daemon(served, "--device", BATCH_DEVICE) as daemon:
        job = submit_batch(daemon, 4000)
        daemon.wait(job, half_done)
        (tmp_path / "batch.lvc").write_bytes(daemon.request("GET", f"/v1/jobs/{job}/checkpoint"))
        return tmp_path / "batch.lvc", job, daemon.finished(job)


@pytest.mark.parametrize("with_outputs", [False, True])
def test_a_batch_job_goes_on_with_its_next_item(served, elsewhere, batch_file, with_outputs):
    path, job, expected = batch_file
    inside = served.call("inspect", path).json["job"]
    done, total = inside["items_done"], inside["items_total"]
    assert inside["job"] == job and inside["owner"] == "copy" and 0 < done < total == 4000
    served.call("export", "mlp", path.parent / "mlp.lvx")
    with Daemon(elsewhere, "--device", BATCH_DEVICE) as daemon:
        elsewhere.refuses("restore", path, code=NOT_FOUND, words=["executable"])
        assert daemon.request("GET", "/v1/jobs").strip() == b""
        elsewhere.call("import", "other", path.parent / "mlp.lvx")
        flags = ["--with-outputs"] if with_outputs else []
        made = elsewhere.call("restore", path, *flags).json["job"]
        equal(daemon.finished(made), outputs_of(expected, 0 if with_outputs else done))
        shown = daemon.job(made)
        assert (shown["items_done"], shown["model"]) == (total if with_outputs else total - done, "other@1")
        # a file of the restored job is a file like another
        again = json.loads(daemon.request("POST", f"/v1/checkpoints?with_outputs={int(with_outputs)}",
                                          path.read_bytes(), "application/octet-stream"))["job"]
        daemon.suspend(again)
        elsewhere.call("checkpoint", again, "-o", path.parent / "again.lvc")
        third = elsewhere.call("restore", path.parent / "again.lvc", "--with-outputs").json["job"]
        equal(daemon.finished(third), outputs_of(expected, 0 if with_outputs else done))
    elsewhere.is_clean()


def test_what_has_not_begun_and_what_has_ended(served, tmp_path):
    with Daemon(served, "--device", SLOWER) as daemon:
        daemon.json("POST", "/v1/tenants/default", {"quotas": {"running_jobs": 1}})
        busy = [daemon.submit("gen", generation(500)) for _ in range(4)]
        queued = submit_batch(daemon, 4000)
        served.call("checkpoint", queued, "-o", tmp_path / "queued.lvc")
        assert served.call("inspect", tmp_path / "queued.lvc").json["job"]["items_done"] == 0
        daemon.suspend(queued)
        for job in busy:
            with contextlib.suppress(Refused):
                daemon.change(job, "cancel")
        made = served.call("restore", tmp_path / "queued.lvc").json["job"]
        first = submit_batch(daemon, 4000)
        expected = daemon.finished(first)
        equal(daemon.finished(made), expected)
        served.refuses("checkpoint", first, "-o", tmp_path / "no.lvc", code=FORBIDDEN, words=["succeeded"])
        served.refuses("checkpoint", first, "-o", tmp_path / "no.lvc", "--release", code=FORBIDDEN)
        served.refuses("checkpoint", queued, "-o", tmp_path / "no.lvc", "--from", "7", code=NOT_FOUND)
        daemon.change(queued, "cancel")


def test_a_file_owns_its_job_once(served, elsewhere, tmp_path):
    path, second = tmp_path / "own.lvc", tmp_path / "second.lvc"
    with Daemon(served) as daemon:
        whole = daemon.finished(submit_batch(daemon, 4000))
        job = suspended_batch(daemon, BEGUN_ITEMS)
        served.call("checkpoint", job, "-o", path, "--release", "--with-model")
        assert daemon.job(job)["state"] == "released"
        for verb in ("resume", "cancel", "suspend"):
            served.refuses(verb, job, code=FORBIDDEN, words=["released"])
        made = served.call("restore", path).json["job"]
        assert made == job
        served.refuses("restore", path, code=FORBIDDEN, words=[job])
        equal(daemon.finished(job), whole)
        events = [event["why"] or "" for event in daemon.job(job)["events"]]
        assert "submitted" in events[0] and any("taken over" in why for why in events)
        served.refuses("restore", path, code=FORBIDDEN)  # it has ended here
    served.is_clean()
    with Daemon(elsewhere) as daemon:  # another home cannot know; from here on it does
        taken = json.loads(daemon.request("POST", "/v1/checkpoints", path.read_bytes(), "application/octet-stream"))
        assert taken["job"] == job
        assert daemon.suspend(job)["state"] == "suspended"
        elsewhere.refuses("restore", path, code=FORBIDDEN)
        elsewhere.call("checkpoint", job, "-o", second, "--release")
        assert elsewhere.call("inspect", second).json["job"]["epoch"] == 1
        elsewhere.refuses("restore", path, code=FORBIDDEN, words=["newer"])
        assert elsewhere.call("restore", second).json["job"] == job
        equal(daemon.finished(job), whole)
    elsewhere.is_clean()


def test_a_lost_file_can_be_asked_for_again(served, tmp_path):
    with Daemon(served, "--device", BATCH_DEVICE) as daemon:
        job = submit_batch(daemon, 4000)
        daemon.wait(job, half_done)
        address, body = f"/v1/jobs/{job}/checkpoint", json.dumps({"release": True}).encode()
        files = [daemon.request("POST", address, body, "application/json") for _ in range(2)]
        assert files[0] == files[1] and daemon.job(job)["state"] == "released"
        served.call("rm-job", job)  # its data
        assert daemon.job(job)["state"] == "released"
        with pytest.raises(Refused) as refused:
            daemon.request("POST", address, body, "application/json")
        assert refused.value.status == 409
        with pytest.raises(Refused) as refused:
            daemon.request("POST", "/v1/checkpoints", b"#!/bin/sh", "application/octet-stream")
        assert "not a checkpoint" in str(refused.value) and str(served.path) not in str(refused.value)
        made = json.loads(daemon.request("POST", "/v1/checkpoints", files[0], "application/octet-stream"))
        assert made["job"] == job and all(
            len(array) == 4000 for array in daemon.finished(job).values())


def test_suspended_after_a_count_and_run_anywhere(served, elsewhere, tmp_path):
    expected = undisturbed(served, "gen", tmp_path, **generation())
    one, two, out = tmp_path / "one.lvc", tmp_path / "two.lvc", tmp_path / "out2.npz"
    run = ["--input", tmp_path / "in.npz", "--output", out]
    embedded = served.call("run", "gen", *run, "--suspend-after", "500", "--checkpoint", one, expect=SUSPENDED).json
    with Daemon(served) as daemon:
        made = served.call("run", "gen", *run, "--suspend-after", "500", "--checkpoint", one, expect=SUSPENDED).json
        assert made["state"] == "suspended" and made["instructions"] == 500 == embedded["instructions"]
        assert made["checkpoint_bytes"] == one.stat().st_size > 0 and not out.exists()
        assert sorted(made) == sorted(embedded)
        more = served.call("resume", one, "--output", out, "--suspend-after", "300", "--checkpoint", two,
                           expect=SUSPENDED).json
        assert more["instructions"] == 800
        assert served.call("resume", two, "--output", out).json["state"] == "succeeded"
        equal(load(out), expected)
        out.unlink()
        done = served.call("run", "gen", *run, "--suspend-after", "100000000", "--checkpoint", tmp_path / "no.lvc").json
        assert done["state"] == "succeeded" and not (tmp_path / "no.lvc").exists()
        assert done["instructions"] > 800 and done["kernel_calls"] > 0 and done["peak_bytes"] > 0
        served.call("run", "gen", *run, "--suspend-after-ms", "20", "--checkpoint", tmp_path / "ms.lvc",
                    expect=SUSPENDED)
        left = [json.loads(line)["state"] for line in daemon.request("GET", "/v1/jobs").splitlines() if line]
        assert set(left) <= {"released"}
    out.unlink()
    served.call("resume", two, "--output", out, "--suspend-after", "100", "--checkpoint", one, expect=SUSPENDED)
    assert served.call("inspect", one).json["instructions"] == 900
    served.call("resume", one, "--output", out)
    equal(load(out), expected)
    served.call("resume", tmp_path / "ms.lvc", "--output", out)
    equal(load(out), expected)


def test_a_plain_checkpoint_becomes_a_job(served, tmp_path):
    expected = undisturbed(served, "gen", tmp_path, **generation())
    path, out = tmp_path / "plain.lvc", tmp_path / "out2.npz"
    served.call("run", "gen", "--input", tmp_path / "in.npz", "--output", out, "--suspend-after", "700",
                "--checkpoint", path, expect=SUSPENDED)
    with Daemon(served) as daemon:
        served.call("resume", path, "--output", out)
        equal(load(out), expected)
        job = served.call("restore", path).json["job"]
        equal(daemon.finished(job), expected)


def test_a_suspension_after_a_count_survives_kill(served, tmp_path):
    with Daemon(served) as daemon:
        job = daemon.submit("gen", generation(), suspend_after=3000, checkpoint_every=0.005)
        daemon.wait(job, lambda it: it["checkpoint_age"] is not None)
        daemon.kill()
    with Daemon(served) as daemon:
        daemon.wait(job, lambda it: it["state"] == "suspended")
        served.call("checkpoint", job, "-o", tmp_path / "job.lvc")
        assert served.call("inspect", tmp_path / "job.lvc").json["instructions"] == 3000
        daemon.change(job, "resume")
        daemon.finished(job)


def checkpoints(daemon, job):
    return [json.loads(line) for line in daemon.request("GET", f"/v1/jobs/{job}/checkpoints").splitlines()]


def test_resume_from_an_older_checkpoint(served):
    with Daemon(served, "--device", "sim:0,speed=0.2") as daemon:  # a job that is there long enough for four checkpoints
        whole = daemon.finished(submit_batch(daemon, 800))
        for release in ("log", "checkpoint"):
            job = submit_batch(daemon, 800, checkpoint_every=0.001, checkpoint_keep=1000, release=release)
            while len(checkpoints(daemon, job)) < 4:
                assert half_done(daemon.job(job)) is not None
            daemon.suspend(job)
            listed = checkpoints(daemon, job)
            with pytest.raises(Refused) as refused:
                daemon.change(job, "resume", **{"from": listed[-1]["id"] + 1})
            assert refused.value.status == 404
            fork = daemon.change(job, "fork", **{"from": listed[1]["id"]})["job"]
            daemon.change(job, "resume", **{"from": listed[0]["id"]})
            with pytest.raises(Refused) as refused:
                daemon.change(job, "resume", **{"from": listed[0]["id"]})
            assert refused.value.status == 409
            equal(daemon.finished(job), whole)
            equal(daemon.finished(fork), whole)
            kinds = {event["kind"] for event in daemon.job(job)["events"]}
            assert "diverged" not in kinds and "note" in kinds


def test_other_tenants_and_quotas(served, tmp_path):
    with Daemon(served) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "acme"})
        token = daemon.json("POST", "/v1/tokens", {"tenant": "acme", "role": "user"})["token"]
        theirs = {"Authorization": f"Bearer {token}"}
        job = suspended_batch(daemon, BEGUN_ITEMS)
        for method, body in (("GET", None), ("POST", b'{"release":true}')):
            with pytest.raises(Refused) as refused:
                daemon.request(method, f"/v1/jobs/{job}/checkpoint", body, body and "application/json", headers=theirs)
            assert refused.value.status == 404
        plain = daemon.request("GET", f"/v1/jobs/{job}/checkpoint")
        whole = daemon.request("GET", f"/v1/jobs/{job}/checkpoint?with_model=1")

        def restore(data):
            return json.loads(daemon.request("POST", "/v1/checkpoints?with_outputs=1", data,
                                             "application/octet-stream", headers=theirs))["job"]
        with pytest.raises(Refused) as refused:
            restore(plain)  # theirs is not the model
        assert refused.value.status == 404
        daemon.json("POST", "/v1/tenants/acme", {"quotas": {"queued_jobs": 0}})
        with pytest.raises(Refused) as refused:
            restore(whole)
        assert refused.value.status == 429 and "queued_jobs" in str(refused.value)
        daemon.json("POST", "/v1/tenants/acme", {"quotas": {"queued_jobs": None, "store_bytes": 1000}})
        with pytest.raises((Refused, ConnectionError)):  # the answer comes while the body is being sent
            restore(whole)
        assert daemon.request("GET", "/v1/jobs", headers=theirs).strip() == b""
        daemon.json("POST", "/v1/tenants/acme", {"quotas": {"store_bytes": None}})
        made = restore(whole)
        daemon.change(job, "resume")
        daemon.finished(job)
        daemon.wait(made, lambda it: it["ended"])
        assert daemon.job(made)["tenant"] == "acme"
        equal(daemon.outputs(made), daemon.outputs(job))
    served.is_clean()


def test_damage_of_what_the_home_has_itself(served):
    with Daemon(served) as daemon:
        job = daemon.submit("gen", generation(), suspend_after=500)
        daemon.wait(job, lambda it: it["state"] == "suspended")
        whole = daemon.request("GET", f"/v1/jobs/{job}/checkpoint")
        damaged = bytearray(whole)
        damaged[100] ^= 1  # of the first chunk, behind the file's header
        with pytest.raises(Refused) as refused:
            daemon.request("POST", "/v1/checkpoints", damaged, "application/octet-stream")
        assert refused.value.status == 400 and "checksum" in str(refused.value)
        daemon.request("POST", "/v1/checkpoints", whole, "application/octet-stream")


def test_files_that_were_damaged(served, batch_file):
    path, job, expected = batch_file
    data, rng = path.read_bytes(), random.Random(7)
    damaged = [(f"cut to {size}", data[:size]) for size in (0, 1, 47, len(data) // 3, len(data) // 2, len(data) - 1)]
    for _ in range(150):
        one, at, bit = bytearray(data), rng.randrange(len(data)), rng.randrange(8)
        one[at] ^= 1 << bit
        damaged.append((f"bit {bit} of byte {at} of {len(data)}, amid {data[max(0, at - 32):at + 32].hex()}", bytes(one)))
    with Daemon(served) as daemon:
        before = len(daemon.request("GET", "/v1/jobs").splitlines())
        for what, one in damaged:
            try:
                taken = daemon.request("POST", "/v1/checkpoints?with_outputs=1", one, "application/octet-stream")
            except Refused as refused:
                assert refused.status == 400, (what, refused)
            else:
                pytest.fail(f"{what}: taken, {taken!r}")
        assert len(daemon.request("GET", "/v1/jobs").splitlines()) == before
        made = json.loads(daemon.request("POST", "/v1/checkpoints?with_outputs=1", data,
                                         "application/octet-stream"))["job"]
        equal(daemon.finished(made), expected)
        assert daemon.end() == DONE
    served.refuses("resume", path, "--output", path.parent / "x.npz", code=REFUSED, words=["batch"])
    served.is_clean()


YIELDS = """primitive %add = Add
function main(a: float32[n, 2]) -> (y: float32[n, 2]) exported {
    LoadConsti 0 -> r1
    Move r0 -> r2
head:
    IntOp add, r1, 1 -> r1
    InvokePacked %add r2, r0 -> r2
    Yield r2
    If r1, 50, done, head
done:
    Ret r2
}
"""


def test_values_that_a_run_gave_go_along(home, tmp_path):
    """Yields that were taken from a job are in its file, and in the outputs of whoever ends the run."""
    (tmp_path / "yields.lva").write_text(YIELDS)
    home.call("register", "yields", tmp_path / "yields.lva")
    expected = undisturbed(home, "yields", tmp_path, a=np.ones((3, 2), dtype=np.float32))
    assert len(expected) == 51
    one, two, out = tmp_path / "one.lvc", tmp_path / "two.lvc", tmp_path / "out2.npz"
    with Daemon(home):
        home.call("run", "yields", "--input", tmp_path / "in.npz", "--output", out, "--suspend-after", "80",
                  "--checkpoint", one, expect=SUSPENDED)
    assert home.call("inspect", one).json["job"]["outputs"] > 10
    home.call("resume", one, "--output", out, "--suspend-after", "40", "--checkpoint", two, expect=SUSPENDED)
    home.call("resume", two, "--output", out)
    equal(load(out), expected)
    out.unlink()
    with Daemon(home):
        home.call("resume", two, "--output", out)
    equal(load(out), expected)


def test_a_run_that_never_began_begins_anywhere(served, elsewhere, tmp_path):
    expected = undisturbed(served, "gen", tmp_path, **generation(20))
    path, out = tmp_path / "queued.lvc", tmp_path / "out2.npz"
    with Daemon(served, "--device", SLOWER) as daemon:
        daemon.json("POST", "/v1/tenants/default", {"quotas": {"running_jobs": 1}})
        busy, job = daemon.submit("gen", generation(500)), daemon.submit("gen", generation(20))
        daemon.suspend(job)
        served.call("checkpoint", job, "-o", path, "--with-model", "--release")
        daemon.change(busy, "cancel")
    elsewhere.call("resume", path, "--output", out)  # the model comes from the file
    equal(load(out), expected)
    out.unlink()
    with Daemon(elsewhere):
        elsewhere.call("resume", path, "--output", out)
    equal(load(out), expected)


def killed(daemon, seconds, call):
    """The call's answer, or None when the daemon was killed before it came."""
    timer = threading.Timer(seconds, daemon.process.kill)
    timer.start()
    try:
        return call()
    except (OSError, EOFError, http.client.HTTPException):
        return None
    finally:
        timer.join()
        daemon.process.communicate()


def test_killed_while_a_job_goes_into_a_file_or_comes_back(served):
    """The job is here, or in a file that can be had again; a restore made a whole job or none."""
    rng, body = random.Random(5), json.dumps({"release": True}).encode()
    daemon = Daemon(served)
    with daemon:
        expected = daemon.finished(submit_batch(daemon, 4000))
    seen = set()
    for _ in range(KILLS):
        daemon.start()
        job = suspended_batch(daemon)
        path = f"/v1/jobs/{job}/checkpoint"
        killed(daemon, rng.uniform(0, 0.03), lambda: daemon.request("POST", path, body, "application/json"))
        daemon.start()
        state = daemon.job(job)["state"]
        assert state in ("suspended", "released")
        file = daemon.request("POST", path, body, "application/json")
        killed(daemon, rng.uniform(0, 0.03),
               lambda: daemon.request("POST", "/v1/checkpoints", file, "application/octet-stream"))
        daemon.start()
        back = daemon.job(job)["state"]
        seen |= {state, back}
        if back == "released":
            daemon.request("POST", "/v1/checkpoints", file, "application/octet-stream")
        equal(daemon.finished(job), expected)
        with pytest.raises(Refused) as refused:
            daemon.request("POST", "/v1/checkpoints", file, "application/octet-stream")
        assert refused.value.status == 409
        daemon.end()
    assert len(seen) > 1, seen
    served.is_clean()
