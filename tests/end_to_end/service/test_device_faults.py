"""A device whose calls fail, one after the other: each time the job is right or says why not, and the next one is right."""
import pytest
from daemon import Daemon, equal
from harness import DONE, FORBIDDEN, REFUSED, SMALL_MODELS, load

MODEL, CASE = "gpt2_gen_tiny", "short"
CALLS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 14, 20, 40, 90)


@pytest.fixture
def served(home):
    home.call("register", "gen", f"{SMALL_MODELS}/{MODEL}.onnx")
    return home


@pytest.fixture
def arrays():
    return load(f"{SMALL_MODELS}/{MODEL}.{CASE}.npz")


def undisturbed(home, folder):
    home.call("run", "gen", "--input", f"{SMALL_MODELS}/{MODEL}.{CASE}.npz", "--output", folder / "out.npz")
    return load(folder / "out.npz")


@pytest.mark.parametrize("fault, words", [("fail-alloc", "sim:0"), ("fail-copy", "as fail-copy asks"),
                                          ("fail-launch", "as fail-launch asks")])
def test_a_call_that_fails_is_that_jobs_alone(served, arrays, tmp_path, fault, words):
    expected = undisturbed(served, tmp_path)
    failed = 0
    for number in CALLS:
        with Daemon(served, "--device", f"sim:0,{fault}={number}") as daemon:
            jobs = [daemon.wait(daemon.submit("gen", arrays), lambda it: it["ended"]) for _ in range(2)]
            lost = [job for job in jobs if job["state"] != "succeeded"]
            for job in jobs:
                if job not in lost:
                    equal(daemon.outputs(job["job"]), expected)
            for job in lost:
                why = [event["why"] for event in job["events"] if event.get("state") == "failed"]
                assert job["state"] == "failed" and len(why) == 1 and words in why[0], (number, job)
            assert len(lost) <= 1, (number, jobs)
            failed += len(lost)
            equal(daemon.finished(daemon.submit("gen", arrays)), expected)
            assert b"layover_device_bytes" in daemon.request("GET", "/metrics")
            assert [device["device"] for device in daemon.lines("/v1/devices")] == ["sim:0"], number
            assert daemon.end() == DONE
    # a launch has nobody who tries it again; an allocation waits for memory, which is there
    assert {"fail-alloc": failed == 0, "fail-copy": failed < len(CALLS), "fail-launch": failed == len(CALLS)}[fault]


def test_an_embedded_run_names_the_fault(served, tmp_path):
    source = f"{SMALL_MODELS}/{MODEL}.{CASE}.npz"
    for options, code, words in (("fail-launch=3", REFUSED, "sim:0: launch 3"), ("fail-copy=1", REFUSED, "sim:0: copy 1"),
                                 ("fail-alloc=1", FORBIDDEN, "sim:0 has no room"),
                                 ("lose-after=5", REFUSED, "sim:0 is lost")):
        served.refuses("run", "gen", "--input", source, "--output", tmp_path / "f.npz", "--device", f"sim:0,{options}",
                       code=code, words=(words,))
    assert not (tmp_path / "f.npz").exists()


def test_link_and_kernels_of_some_rate_change_no_bit(served, tmp_path):
    expected = undisturbed(served, tmp_path)
    served.call("run", "gen", "--input", f"{SMALL_MODELS}/{MODEL}.{CASE}.npz", "--output", tmp_path / "slow.npz", "--device",
                "sim:0,memory=1GiB,speed=0.05,bandwidth=256MiB")
    equal(load(tmp_path / "slow.npz"), expected)
