"""Models with a native library: their code runs only where it is allowed, in a worker process that may fail alone."""
import os
import time

import harness
import library_modules
import numpy as np
import pytest
from daemon import Daemon
from harness import FORBIDDEN, SUSPENDED, Home, load

LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(harness.binary())), "tests", "kernels")
PRELOAD = ("--native-preload", os.path.join(LIBRARIES, "libnative-runtime.so"))
PROGRAM = """
packed add(3)
packed write_behind(1)
packed never_return(0)
function main(x: float32[3] slot 0) -> (y: float32[3] slot 0) exported {
    AllocStorage 64, 64, 0, float32 -> r1
    AllocTensor r1, 0, float32, 3 -> r2
    Call &add, r0, r0, r2
    AllocTensor r1, 16, float32, 3 -> r3
    Call &add, r2, r0, r3
    Ret r3
}
function wrong(x: float32[3] slot 0) -> (y: float32[3] slot 0) exported {
    AllocStorage 64, 64, 0, float32 -> r1
    AllocTensor r1, 0, float32, 3 -> r2
    Call &write_behind, r2
    Ret r2
}
function endless(x: float32[3] slot 0) -> (y: float32[3] slot 0) exported {
    Call &never_return
    Ret r0
}
"""
X = np.array([1, -2, 0.5], dtype=np.float32)


@pytest.fixture
def native_home(tmp_path):
    home = Home(tmp_path / "home")
    with open(os.path.join(LIBRARIES, "libnative-sample.so"), "rb") as file:
        library = file.read()
    text = f'constant @library slot 0 = uint8[{len(library)}] x"{library.hex()}"\nlibrary @library\n{PROGRAM}'
    (tmp_path / "m.lva").write_text(text)
    np.savez(tmp_path / "x.npz", x=X)
    home.call("register", "m", tmp_path / "m.lva", "--format", "lva")
    return home


def test_native_code_runs_here_only_when_it_is_allowed(native_home, tmp_path):
    inputs = ("--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz")
    native_home.refuses("run", "m", *inputs, code=FORBIDDEN, words=("add is native code",))
    native_home.call("run", "m", *inputs, "--native", *PRELOAD)
    assert load(tmp_path / "y.npz")["y"].tolist() == [3, -6, 1.5]
    native_home.refuses("run", "m", *inputs, "--native", words=("TVMFFIErrorSetRaisedFromCStr", "--native-preload"))
    native_home.refuses("run", "m", *inputs, "--native", *PRELOAD, "--function", "wrong",
                        words=("write_behind", "outside its tensor of 12 bytes"))


def test_a_run_stops_between_native_functions_and_goes_on(native_home, tmp_path):
    for after in range(1, 6):
        stopped = tmp_path / f"{after}.lvc"
        native_home.call("run", "m", "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz", "--native", *PRELOAD,
                         "--suspend-after", after, "--checkpoint", stopped, expect=SUSPENDED)
        native_home.call("resume", stopped, "--output", tmp_path / "z.npz", "--native", *PRELOAD)
        assert load(tmp_path / "z.npz")["y"].tolist() == [3, -6, 1.5]


def test_a_program_with_the_c_library_allows_native_code(native_home, tmp_path, monkeypatch):
    monkeypatch.setenv("LAYOVER_WORKER", harness.binary())
    native_home.call("export", "m", tmp_path / "m.lvx")
    for allowed in (False, True):
        module = library_modules.Module(tmp_path / "m.lvx")
        if allowed:
            module.allow_native(PRELOAD[1])
        main, wrong = module["main"], module["wrong"]
        if allowed:
            assert main(X).tolist() == [3, -6, 1.5]
            with pytest.raises(library_modules.LibraryError, match="FAILED.*write_behind.*outside its tensor of 12 bytes"):
                wrong(X)
        else:
            with pytest.raises(library_modules.LibraryError, match="REFUSED add is native code"):
                main(X)
        for handle in (main, wrong):
            handle.release()
        module.close()
    assert not library_modules.handed


def _workers():
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                if b"native-worker" in file.read():
                    found.append(int(process))
        except OSError:
            pass  # has ended
    return found


def test_a_daemon_runs_native_code_of_the_tenants_that_its_operator_names(native_home):
    with Daemon(native_home, *PRELOAD) as daemon:
        refused = daemon.wait(daemon.submit("m", {"x": X}), lambda it: it["ended"])
        assert refused["state"] == "failed" and "native code" in refused["why"], refused
    with Daemon(native_home, *PRELOAD, "--native-tenant", "default") as daemon:
        assert daemon.finished(daemon.submit("m", {"x": X}))["y"].tolist() == [3, -6, 1.5]
        wrong = daemon.wait(daemon.submit("m", {"x": X}, function="wrong"), lambda it: it["ended"])
        assert wrong["state"] == "failed" and "outside its tensor" in wrong["why"], wrong


def test_a_native_function_that_never_returns_is_cancelled_with_its_worker(native_home):
    before = set(_workers())
    with Daemon(native_home, *PRELOAD, "--native-tenant", "default") as daemon:
        job = daemon.submit("m", {"x": X}, function="endless")
        end = time.monotonic() + 60
        while not set(_workers()) - before:
            assert time.monotonic() < end, daemon.job(job)
            time.sleep(0.01)
        daemon.change(job, "cancel")
        assert daemon.wait(job, lambda it: it["ended"])["state"] == "cancelled"
        assert daemon.finished(daemon.submit("m", {"x": X}))["y"].tolist() == [3, -6, 1.5]
        assert daemon.end() == 0
    while set(_workers()) - before:
        assert time.monotonic() < end
        time.sleep(0.01)
