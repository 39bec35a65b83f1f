"""kill -9 at random moments leaves the old state or the new one, and a clean store.

LAYOVER_KILLS=200 pytest tests/end_to_end/commands/test_kill.py does all of them; the default is a sample.
"""
import os
import random
import shutil
import time

import pytest

from harness import SMALL_MODELS, SUSPENDED, Home, finish, same_bits

KILLS = max(int(os.environ.get("LAYOVER_KILLS", "32")) // 4, 1)


def kill_during(home, seconds, seed, *arguments):
    """Starts a call and kills it at a random moment of the time it takes; says whether it had ended before."""
    process = home.start(*arguments)
    time.sleep(random.Random(seed).uniform(0, seconds * 1.1))
    process.kill()
    result = finish(process)
    assert result.code in (0, -9, SUSPENDED), str(result)
    return result.code != -9


def measure(home, *arguments, expect=0):
    start = time.monotonic()
    home.call(*arguments, expect=expect)
    return time.monotonic() - start


@pytest.fixture
def prepared(home, models, tmp_path):
    """A home with two models, kept aside so that each kill starts from the same state."""
    home.call("register", "small", f"{SMALL_MODELS}/nested_loop.onnx")
    home.call("register", "mlp", f"{models}/mlp.onnx")
    home.call("export", "mlp", tmp_path / "mlp.lvx")
    shutil.copytree(home.path, tmp_path / "kept")

    def fresh(number):
        copy = Home(tmp_path / f"copy{number}")
        shutil.rmtree(copy.path, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", copy.path)
        return copy

    return fresh


def check_old_or_new(home, old, new):
    home.is_clean()
    found = home.models()
    assert found in (old, new), f"{found}\nis neither {old}\nnor {new}"
    return found == new


def kill_and_check(prepared, *arguments, before=()):
    """The states before and after a call, then kills on the way from one to the other."""
    reference = prepared("reference")
    for step in before:
        reference.call(*step)
    old = reference.models()
    seconds = measure(reference, *arguments)
    new = reference.models()
    for i in range(KILLS):
        home = prepared(i)
        for step in before:
            home.call(*step)
        ended = kill_during(home, seconds, i, *arguments)
        is_new = check_old_or_new(home, old, new)
        assert is_new or not ended, "the call reported success, but its effect is gone"
        # whatever was left behind does not keep the call from working now
        home.call(*arguments)
        assert check_old_or_new(home, new, new)
        home.call("gc")
        home.is_clean()
        shutil.rmtree(home.path)


def test_register(prepared, models):
    kill_and_check(prepared, "register", "new", f"{models}/bert_small.onnx")


def test_import(prepared, models, tmp_path):
    maker = Home(tmp_path / "maker")
    maker.call("register", "m", f"{models}/vad.onnx")
    maker.call("export", "m", tmp_path / "vad.lvx")
    kill_and_check(prepared, "import", "new", tmp_path / "vad.lvx")


def test_gc(prepared, models, tmp_path):
    kill_and_check(prepared, "gc", before=[["rm", "mlp"]])
    home = prepared("last")
    home.call("rm", "mlp")
    kill_during(home, 0.01, 1, "gc")
    home.call("run", "small", "--input", f"{SMALL_MODELS}/nested_loop.early.npz", "--output", tmp_path / "o.npz")


def test_checkpoint(prepared, models, tmp_path):
    home = prepared("checkpoint")
    home.call("register", "scan", f"{models}/scan_lm.onnx")
    source, output, target = f"{models}/scan_lm.long.npz", tmp_path / "o.npz", tmp_path / "c.lvc"
    home.call("run", "scan", "--input", source, "--output", tmp_path / "straight.npz")

    def suspend(after):
        return ["run", "scan", "--input", source, "--output", output, "--suspend-after", after, "--checkpoint", target]

    seconds = measure(home, *suspend(3000), expect=SUSPENDED)
    new = target.read_bytes()
    home.call(*suspend(1000), expect=SUSPENDED)
    old = target.read_bytes()
    for i in range(KILLS):
        target.write_bytes(old)
        ended = kill_during(home, seconds, i, *suspend(3000))
        found = target.read_bytes()
        assert found == new or (found == old and not ended), "neither the old checkpoint nor the new one"
        home.is_clean()
    home.call("resume", target, "--output", output)
    same_bits(output, tmp_path / "straight.npz")
