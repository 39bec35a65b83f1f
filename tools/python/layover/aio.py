"""Runs and jobs for programs with asyncio: the work is in threads, and cancelling a task suspends its run.

    scores = await layover.aio.call(model, images)
    async for value in layover.aio.values(run):
        ...
    scores = await layover.aio.result(run)      # or of a job of a daemon
"""
import asyncio
import functools
import typing

from layover._layover import Run
from layover._model import Model

_END = object()


async def _in_thread(run, function, *args, **named):
    """A cancelled task leaves its run suspended and unused, so that it can go on or be stored."""
    work = asyncio.get_running_loop().run_in_executor(None, functools.partial(function, *args, **named))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():  # the thread may not have begun: each request stops what runs then
            run.suspend()
            await asyncio.wait([work], timeout=0.01)
        work.exception()  # told by nobody else
        raise


async def call(model: Model, *inputs: typing.Any, **named: typing.Any) -> typing.Any:
    """What the model gives."""
    return await result(model.start(*inputs, **named))


async def advance(run: Run, instructions: typing.Optional[int] = None, *,
                  seconds: typing.Optional[float] = None) -> bool:
    """As run.advance."""
    return await _in_thread(run, run.advance, instructions, seconds=seconds)


async def result(run: typing.Any) -> typing.Any:
    """As run.result, or as job.result of a job, which goes on when the task is cancelled."""
    if isinstance(run, Run):
        return await _in_thread(run, run.result)
    return await asyncio.get_running_loop().run_in_executor(None, run.result)


async def values(run: Run) -> typing.AsyncIterator[typing.Any]:
    """The values that the run yields, as they come."""
    while True:
        value = await _in_thread(run, next, run, _END)
        if value is _END:
            return
        yield value
