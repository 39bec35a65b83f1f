"""The cuda plugin, as the program finds it: over a driver without a GPU, and where there is none."""
import contextlib
import glob
import json
import os
import re
import signal

import numpy
import pytest

from daemon import Daemon, equal
from harness import REFUSED, SMALL_MODELS, binary, finish, load, same_bits
from processes import children, until
from test_suspend import first_case, run_in_pieces, spread

FAKE = os.path.join(os.path.dirname(binary()), "..", "tests", "support", "fake_cuda")
MODELS = ("gpt2_gen_tiny", "counted_loop", "loop_if_scan", "empty_tensors")


@pytest.fixture
def fake_gpu(monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", FAKE)
    monkeypatch.setenv("LAYOVER_PLUGINS", FAKE)
    return monkeypatch


def close(first, second):
    one, other = load(first), load(second)
    assert sorted(one) == sorted(other)
    for name, array in one.items():
        assert array.dtype == other[name].dtype and array.shape == other[name].shape
        numpy.testing.assert_allclose(array, other[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_goes_from_cpu_to_cuda_and_back(straight, fake_gpu, tmp_path, name):
    home, source, output, instructions = straight(name, first_case(name))
    whole = tmp_path / "whole.npz"
    result = home.call("run", name, "--input", source, "--output", whole, "--device", "cuda:0").json
    assert result["instructions"] == instructions
    close(output, whole)
    stops = spread(instructions, 5)
    pieces = run_in_pieces(home, name, source, instructions, stops, tmp_path, ("cuda:0", "cuda:1"))
    same_bits(whole, pieces)
    os.remove(pieces)
    close(output, run_in_pieces(home, name, source, instructions, stops, tmp_path, ("cpu", "cuda:0")))


def test_late_work_and_little_memory_change_no_bit(straight, fake_gpu, tmp_path):
    home, source, _, _ = straight("gpt2_gen_tiny", first_case("gpt2_gen_tiny"))
    call = ("run", "gpt2_gen_tiny", "--input", source, "--output")
    home.call(*call, tmp_path / "prompt.npz", "--device", "cuda:0")
    fake_gpu.setenv("FAKE_CUDA_LAG_US", "50")
    home.call(*call, tmp_path / "late.npz", "--device", "cuda:0,memory=16MiB")
    same_bits(tmp_path / "prompt.npz", tmp_path / "late.npz")


@pytest.mark.parametrize("lag_us", ["0", "30"])
def test_graphs_change_no_bit(straight, fake_gpu, tmp_path, lag_us):
    """Twenty turns of a decode loop: of the launches that come back few are left, and each has its effect once."""
    home, source, _, _ = straight("gpt2_gen_tiny", first_case("gpt2_gen_tiny"))
    feeds, counts = dict(numpy.load(source)), {}
    feeds["max_new_tokens"] = numpy.int64(20)
    numpy.savez(tmp_path / "feeds.npz", **feeds)
    fake_gpu.setenv("FAKE_CUDA_LAG_US", lag_us)
    for graphs in ("off", "on"):
        fake_gpu.setenv("FAKE_CUDA_COUNTS", str(tmp_path / "counts.json"))
        home.call("run", "gpt2_gen_tiny", "--input", tmp_path / "feeds.npz", "--output", tmp_path / f"{graphs}.npz",
                  "--device", f"cuda:0,graphs={graphs}")
        with open(tmp_path / "counts.json", encoding="utf-8") as file:
            counts[graphs] = json.load(file)
    same_bits(tmp_path / "off.npz", tmp_path / "on.npz")
    assert counts["off"]["graph_launches"] == 0
    assert counts["on"]["kernels"] == counts["off"]["kernels"]
    assert counts["on"]["updates"] > 10 * counts["on"]["instantiations"] / 2 > 0
    assert counts["on"]["graph_launches"] < counts["on"]["kernels"] / 10
    assert counts["on"]["mistakes"] == counts["on"]["graphs"] == 0


@pytest.mark.parametrize("device", ["cuda:0,graphs=on", "cuda:0,graphs=on,worker=process"])
def test_a_run_with_graphs_goes_on_anywhere(straight, fake_gpu, tmp_path, device):
    home, source, output, instructions = straight("gpt2_gen_tiny", first_case("gpt2_gen_tiny"))
    home.call("run", "gpt2_gen_tiny", "--input", source, "--output", tmp_path / "plain.npz", "--device", "cuda:0")
    stops = spread(instructions, 8)
    same_bits(tmp_path / "plain.npz",
              run_in_pieces(home, "gpt2_gen_tiny", source, instructions, stops, tmp_path, (device, "cuda:1")))
    close(output, run_in_pieces(home, "gpt2_gen_tiny", source, instructions, stops, tmp_path, (device, "cpu")))


def test_a_lost_gpu_is_said_to_be_lost(straight, fake_gpu, tmp_path):
    home, source, _, _ = straight("gpt2_gen_tiny", first_case("gpt2_gen_tiny"))
    fake_gpu.setenv("FAKE_CUDA_LOSE_AFTER", "20")
    home.refuses("run", "gpt2_gen_tiny", "--input", source, "--output", tmp_path / "o.npz", "--device", "cuda:0",
                 code=REFUSED, words=["cuda:0 is lost"])
    assert not (tmp_path / "o.npz").exists()


def test_a_worker_process_computes_the_same_bits(straight, fake_gpu, tmp_path):
    home, source, _, instructions = straight("gpt2_gen_tiny", first_case("gpt2_gen_tiny"))
    for worker in ("none", "process"):
        done = home.call("run", "gpt2_gen_tiny", "--input", source, "--output", tmp_path / f"{worker}.npz",
                         "--device", f"cuda:0,worker={worker}").json
        assert done["instructions"] == instructions
    same_bits(tmp_path / "none.npz", tmp_path / "process.npz")


def threads(pid):
    names = []
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            names.append(file.read().strip())
    return names


def test_a_killed_worker_is_a_lost_gpu(home, fake_gpu, tmp_path):
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    fake_gpu.setenv("FAKE_CUDA_LAG_US", "50000")  # it will not be done before it is killed
    process = home.start("run", "gen", "--input", f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz", "--output",
                         tmp_path / "o.npz", "--device", "cuda:0,worker=process")
    [worker] = until(lambda: children(process.pid))
    until(lambda: threads(worker).count("channel") > 1)  # the device is open, and there is a stream on it
    os.kill(worker, signal.SIGKILL)
    done = finish(process)
    assert done.code == REFUSED, str(done)
    error = json.loads(done.err)["error"]
    assert error["code"] == "DEVICE_LOST"
    assert "cuda:0 is lost: its worker process was ended by signal 9" in error["message"]
    assert not (tmp_path / "o.npz").exists()


@pytest.mark.parametrize("graphs", ["off", "on"])
def test_a_daemon_opens_a_lost_gpu_anew(home, fake_gpu, tmp_path, graphs):
    source = f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz"
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    home.call("run", "gen", "--input", source, "--output", tmp_path / "o.npz", "--device", "cuda:0")
    fake_gpu.setenv("FAKE_CUDA_LOSE_AFTER", "500")
    with Daemon(home, "--device", f"cuda:0,graphs={graphs}") as daemon:
        jobs = [daemon.finished(daemon.submit("gen", load(source))) for _ in range(4)]
        for outputs in jobs:
            equal(outputs, load(tmp_path / "o.npz"))
        assert [device["device"] for device in daemon.lines("/v1/devices")] == ["cuda:0"]
        losses = re.search(rb"^layover_device_losses_total (\d+)$", daemon.request("GET", "/metrics"), re.M)
        assert int(losses[1]) >= 1


def test_devices_are_listed_where_they_are(home, fake_gpu):
    assert [line["device"] for line in home.call("devices").lines] == ["cpu", "sim:0", "cuda:0", "cuda:1"]
    kernels = home.call("devices", "--kernels").lines
    assert any(line["device"] == "cuda:0" and line["kernel"].startswith("cuda.") for line in kernels)
    fake_gpu.setenv("FAKE_CUDA_DEVICES", "0")
    assert [line["device"] for line in home.call("devices").lines] == ["cpu", "sim:0"]


@pytest.mark.parametrize("settings, words", [
    ({"LAYOVER_PLUGINS": "", "LD_LIBRARY_PATH": ""}, ["no NVIDIA driver on this machine: libcuda.so.1"]),
    ({"FAKE_CUDA_VERSION": "11040"}, ["the NVIDIA driver is for CUDA 11.4, this needs one for CUDA 12.0"]),
    ({"FAKE_CUDA_DEVICES": "0"}, ["no NVIDIA GPU on this machine"]),
    ({"FAKE_CUDA_DEVICES": "1"}, ["this machine has 1 NVIDIA GPU, of which the last is cuda:0"]),
])
def test_a_device_that_is_not_here_is_refused_in_one_sentence(home, fake_gpu, tmp_path, settings, words):
    home.call("register", "gen", f"{SMALL_MODELS}/gpt2_gen_tiny.onnx")
    for name, value in settings.items():
        fake_gpu.setenv(name, value)
    home.refuses("run", "gen", "--input", f"{SMALL_MODELS}/gpt2_gen_tiny.short.npz", "--output", tmp_path / "o.npz",
                 "--device", "cuda:1", code=REFUSED, words=words)
