"""Runs in Python: where they stand, what they yield, checkpoints in files that are open."""
import asyncio
import io
import os
import sys
import threading

import numpy as np
import pytest
from harness import ROOT, binary

sys.path.insert(0, os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402
import layover.aio  # noqa: E402

X = np.arange(1, 4, dtype="f4")


@pytest.fixture(scope="module")
def model():
    """steps(x, count) yields 2 x, 3 x …; outer(x) calls it with 3."""
    return layover.load(os.path.join(ROOT, "tests", "tools", "library_model.lva"))


def test_a_run_says_where_it_stands_and_what_is_alive(model):
    run, deep = model.function("outer").start(X), 0
    assert run.frames[0].function == "outer" and run.instructions == 0
    assert run.registers == (layover.Register(0, 0, "tensor", "float32", (3,), 12),)
    while not run.advance(1):
        frames = run.frames
        deep = max(deep, len(frames))
        assert all(live.frame < len(frames) and live.bytes in (0, 12) for live in run.registers)
        assert frames[-1].instruction and frames[-1].pc >= 0
    assert deep == 2 and run.frames == () and run.registers == () and run.instructions > 10
    np.testing.assert_array_equal(run.result(), 6 * X)


def test_iteration_gives_each_value_when_it_is_yielded(model):
    run = model.function("steps").start(X, 3)
    for number, value in enumerate(run):
        np.testing.assert_array_equal(value, (number + 2) * X)
        assert not run.finished
    assert number == 2 and run.finished and list(run) == []
    np.testing.assert_array_equal(run.result(), 5 * X)


def test_calls_and_results_drop_what_is_yielded(model):
    np.testing.assert_array_equal(model.function("steps")(X, 2000), 2002 * X)
    run = model.function("steps").start(X, 2000)
    with pytest.raises(layover.ExhaustedError, match="were not taken"):
        run.advance()
    np.testing.assert_array_equal(next(run), 2 * X)
    np.testing.assert_array_equal(run.result(), 2002 * X)


def test_checkpoints_in_open_files_keep_what_was_yielded(model, tmp_path):
    run = model.function("steps").start(X, 4)
    next(run)
    assert not run.advance(10)
    file = io.BytesIO()
    run.checkpoint(file)
    run.checkpoint(tmp_path / "half.lvc")
    with open(tmp_path / "half.lvc", "rb") as stored:
        for source in (io.BytesIO(file.getvalue()), stored, tmp_path / "half.lvc"):
            np.testing.assert_array_equal(list(layover.resume(source, model, device="sim:0")), [3 * X, 4 * X, 5 * X])


class Broken:
    def write(self, data):
        raise OSError("no room")


def test_wrong_files_and_runs_in_use(model):
    run = model.function("steps").start(X, 10 ** 9)
    with pytest.raises(OSError, match="no room"):
        run.checkpoint(Broken())
    with pytest.raises(TypeError):
        run.checkpoint(5)
    with pytest.raises(TypeError, match="no binary"):
        layover.resume(io.StringIO("text"), model)
    with pytest.raises(layover.CorruptError, match="the checkpoint"):
        layover.resume(io.BytesIO(b"LVC" * 100), model)
    stopper = threading.Timer(0.05, run.suspend)
    stopper.start()
    with pytest.raises(layover.Suspended):
        for _ in run:
            pass
    stopper.join()
    assert not run.advance(1)


def test_a_run_that_another_thread_uses_tells_nothing(model):
    run = model.function("steps").start(X, 10 ** 9)

    def work():
        while True:
            try:
                run.result()
            except RuntimeError:  # the other thread was first
                continue
            except layover.Suspended:
                return
    thread = threading.Thread(target=work)
    thread.start()
    while True:  # until the thread is in result()
        try:
            run.frames
        except RuntimeError as error:
            assert "another thread uses this run" in str(error)
            break
    for use in (lambda: run.registers, lambda: next(run), lambda: run.checkpoint(io.BytesIO())):
        with pytest.raises(RuntimeError, match="another thread uses this run"):
            use()
    run.suspend()
    thread.join()
    assert run.frames


def test_async_forms(model):
    async def work():
        steps = model.function("steps")
        both = await asyncio.gather(layover.aio.call(model, X), layover.aio.result(steps.start(X, 3)))
        seen = [value async for value in layover.aio.values(steps.start(X, 3))]
        run = steps.start(X, 3)
        return both, seen, [await layover.aio.advance(run, 3), await layover.aio.advance(run, seconds=60)]
    (main, steps), seen, ends = asyncio.run(work())
    np.testing.assert_array_equal(main, 101 * X)
    np.testing.assert_array_equal(steps, 5 * X)
    np.testing.assert_array_equal(seen, [2 * X, 3 * X, 4 * X])
    assert ends == [False, True]


def test_a_cancelled_task_leaves_its_run_suspended(model, tmp_path):
    async def work():
        run = model.function("steps").start(X, 10 ** 9)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(layover.aio.result(run), 0.05)
        run.checkpoint(tmp_path / "half.lvc")
        return run
    run = asyncio.run(work())
    assert not run.finished and run.frames[0].function == "steps"
    assert len(list(zip(range(3), layover.resume(tmp_path / "half.lvc", model)))) == 3
