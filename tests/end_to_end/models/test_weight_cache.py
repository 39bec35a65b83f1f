"""Prepared weights are kept in the home: found again, never believed blindly, gone with their model."""
import os
import resource
import signal
import stat

import numpy as np
import onnx
import prometheus
import pytest
from daemon import Daemon
from harness import DONE, USAGE, same_bits
from processes import until

ROWS, COLUMNS = 512, 512
X = np.random.default_rng(7).standard_normal((3, ROWS), dtype=np.float32)


@pytest.fixture
def stocked(home, tmp_path):
    """A home with one model of a mebibyte, and what it answers."""
    weights = np.random.default_rng(5).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [value("x", onnx.TensorProto.FLOAT, ["n", ROWS])], [value("y", onnx.TensorProto.FLOAT, ["n", COLUMNS])],
        [onnx.numpy_helper.from_array(weights, "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "m.onnx")
    home.call("register", "m", tmp_path / "m.onnx", "--no-prepare")
    return home


def files(home):
    folder = os.path.join(home.path, "cache", "weights")
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)) if os.path.isdir(folder) else []


def written(home):
    """Without those that are being written, which have another name."""
    return [name for name in files(home) if name.endswith(".lvw")]


def ask(daemon):
    return daemon.finished(daemon.submit("m", {"x": X}))["y"]


def counts(daemon):
    families = prometheus.parse(daemon.request("GET", "/metrics").decode())
    return {name: families[f"layover_weight_cache_{name}_total"].samples[f"layover_weight_cache_{name}_total", ()]
            for name in ("hits", "misses", "evictions", "damaged")}


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_a_second_start_finds_them(stocked, device):
    with Daemon(stocked, "--device", device) as daemon:
        first = ask(daemon)
        assert counts(daemon) == {"hits": 0, "misses": 1, "evictions": 0, "damaged": 0}
        [path] = files(stocked)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert daemon.end() == DONE
    with Daemon(stocked, "--device", device) as daemon:
        np.testing.assert_array_equal(ask(daemon), first)
        assert counts(daemon) == {"hits": 1, "misses": 0, "evictions": 0, "damaged": 0}
    assert files(stocked) == [path]
    stocked.is_clean()


def test_a_registered_model_is_prepared(stocked, tmp_path):
    """Its first run finds its weights packed, who ever registered it; --no-prepare leaves that to the run."""
    assert files(stocked) == []
    with Daemon(stocked, "--device", "cpu") as daemon:
        stocked.call("register", "n", tmp_path / "m.onnx", "--no-prepare")
        stocked.call("export", "m", tmp_path / "m.lvx")
        assert files(stocked) == []
        stocked.call("register", "m", tmp_path / "m.onnx")
        until(lambda: written(stocked), 60)
        ask(daemon)
        found = counts(daemon)
        assert (found["hits"], found["damaged"]) == (1, 0)
    [path] = files(stocked)
    os.unlink(path)
    stocked.call("register", "m", tmp_path / "m.onnx")
    assert files(stocked) == [path]
    os.unlink(path)
    stocked.call("import", "imported", tmp_path / "m.lvx")
    assert files(stocked) == [path]


def flip(path):
    with open(path, "r+b") as file:
        file.seek(-1000, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1000, os.SEEK_END)
        file.write(bytes([byte ^ 1]))


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


def replace(path):
    with open(path, "wb") as file:
        file.write(b"something else" * 100_000)


@pytest.mark.parametrize("damage", [flip, cut, replace])
@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_damage_is_noticed(stocked, device, damage):
    with Daemon(stocked, "--device", device) as daemon:
        first = ask(daemon)
    [path] = files(stocked)
    damage(path)
    with Daemon(stocked, "--device", device) as daemon:
        np.testing.assert_array_equal(ask(daemon), first)
        assert counts(daemon)["damaged"] == 1
    with Daemon(stocked, "--device", device) as daemon:  # and it was made anew
        np.testing.assert_array_equal(ask(daemon), first)
        assert counts(daemon) == {"hits": 1, "misses": 0, "evictions": 0, "damaged": 0}


def test_fsck_looks_at_them(stocked):
    looked_at = {"weight_files": 0, "weight_files_removed": 0}
    assert stocked.call("fsck").json.items() >= looked_at.items()
    with Daemon(stocked) as daemon:
        ask(daemon)
        found = stocked.call("fsck").json
        assert (found["weight_files"], found["weight_files_removed"]) == (1, 0)
    [path] = files(stocked)
    flip(path)
    found = stocked.call("fsck", as_json=False).out  # no error: they are made anew
    assert "1 files of prepared weights checked, 1 of them damaged and removed" in found
    assert files(stocked) == []


def test_a_file_that_shrinks_under_a_running_model(stocked):
    """The mapped weights of cpu are gone: no answer is made of them, and the job runs again with right ones."""
    with Daemon(stocked, "--device", "cpu") as daemon:
        first = ask(daemon)
    with Daemon(stocked, "--device", "cpu") as daemon:
        np.testing.assert_array_equal(ask(daemon), first)
        [path] = files(stocked)
        os.truncate(path, 0)
        np.testing.assert_array_equal(ask(daemon), first)
        assert counts(daemon)["damaged"] == 1
        assert daemon.end() == DONE
    stocked.is_clean()


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_a_run_without_a_daemon_finds_and_keeps_them(stocked, tmp_path, device):
    source = tmp_path / "x.npz"
    np.savez(source, x=X)

    def run(name):
        stocked.call("run", "m", "--input", source, "--output", tmp_path / name, "--device", device)
        [path] = files(stocked)
        return path, os.stat(path)

    path, made = run("first.npz")
    long_ago = made.st_atime_ns - 3600 * 10**9
    os.utime(path, ns=(long_ago, made.st_mtime_ns))
    same_path, found = run("second.npz")
    assert (path, made.st_ino, made.st_mtime_ns) == (same_path, found.st_ino, found.st_mtime_ns)
    assert found.st_atime_ns >= made.st_atime_ns  # that is how the cache marks what was used
    same_bits(tmp_path / "first.npz", tmp_path / "second.npz")
    flip(path)
    _, anew = run("third.npz")
    assert anew.st_mtime_ns > made.st_mtime_ns
    same_bits(tmp_path / "first.npz", tmp_path / "third.npz")
    with Daemon(stocked, "--device", device) as daemon:
        np.testing.assert_array_equal(ask(daemon), np.load(tmp_path / "first.npz")["y"])
        assert counts(daemon) == {"hits": 1, "misses": 0, "evictions": 0, "damaged": 0}


def test_a_full_disk_is_said_once(stocked, tmp_path):
    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    np.savez(tmp_path / "x.npz", x=X)
    call = ("run", "m", "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz")
    [line] = stocked.call(*call, as_json=False, before=small_files).err.splitlines()
    assert line.startswith("layover: prepared weights cannot be kept in ")
    assert line.endswith(".lvw: write: File too large")
    assert files(stocked) == []
    assert stocked.call("--quiet", *call, as_json=False, before=small_files).err == ""


def test_they_are_kept_only_where_there_is_room(stocked):
    with Daemon(stocked, "--weight-cache-max", "0") as daemon:
        first = ask(daemon)
        assert b"\nlayover_weight_cache_bytes " not in daemon.request("GET", "/metrics")
    assert files(stocked) == []
    with Daemon(stocked, "--weight-cache-max", "1000") as daemon:  # too small for it
        np.testing.assert_array_equal(ask(daemon), first)
        assert counts(daemon)["misses"] == 1
    assert files(stocked) == []
    stocked.refuses("serve", "--weight-cache-max", "-1", code=USAGE, words=["weight-cache-max"])


@pytest.mark.parametrize("flags, decoded", [((), 1), (("--isolate",), 2)], ids=["shared", "isolated"])
@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_a_tenant_finds_anothers_unless_they_are_isolated(stocked, device, flags, decoded):
    """Of a model that both have: each decodes and packs its weights once, or only the first one does."""
    with Daemon(stocked, "--device", device, *flags) as daemon:
        daemon.json("POST", "/v1/tenants", {"tenant": "b"})
        stocked.call("export", "m", f"{stocked.path}.lvx")
        stocked.call("import", "m", f"{stocked.path}.lvx", "--tenant", "b", "--no-prepare")  # that would look for them, too
        b = {"Authorization": f"Bearer {daemon.json('POST', '/v1/tokens', {'tenant': 'b'})['token']}"}
        first = ask(daemon)
        until(lambda: written(stocked))  # a run need not wait for it
        for headers in (b, None, b):
            np.testing.assert_array_equal(daemon.finished(daemon.submit("m", {"x": X}, headers=headers))["y"], first)
        assert counts(daemon)["misses"] == decoded
        assert len(files(stocked)) == decoded


def test_they_go_with_their_model(stocked):
    with Daemon(stocked) as daemon:
        job = daemon.submit("m", {"x": X})
        daemon.finished(job)
        assert len(files(stocked)) == 1
        daemon.request("DELETE", f"/v1/jobs/{job}")
    stocked.call("gc")
    assert len(files(stocked)) == 1
    stocked.call("rm", "m")
    stocked.call("gc")
    assert files(stocked) == []
