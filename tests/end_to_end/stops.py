"""Runs of a model in this process, by the Python package: as they are, and cut into pieces. A piece is a fresh execution of the
bytes of the checkpoint before."""
import io
import os
import sys

from harness import binary

sys.path.append(os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402


def stored(home, path, count=1, device="cpu"):
    """The model of a file, registered as m in a home and opened from there so many times."""
    of_package = layover.Home(home.path)
    of_package.register("m", path)
    return [of_package.load("m", device) for _ in range(count)]


def opened(home, name, device="cpu"):
    """A registered model."""
    return layover.Home(home.path).load(name, device)


def forget_models(home):
    """A model that is registered once more, when others came in between, is no newest version: the next test would run another."""
    of_package = layover.Home(home.path)
    for name in {row["model"] for row in of_package.models()}:
        of_package.rm(name)


def _outputs(model, run):
    """The results of a run by name. Texts have the type that they have in a file."""
    names, made = [port.name for port in model.outputs], run.result()
    arrays = [made] if len(names) == 1 else made
    return {name: array.astype(str) if array.dtype == object else array for name, array in zip(names, arrays)}


def _start(model, given):
    """A run of main, or of its form that takes a caller's values for initializers."""
    named = {port.name for port in model.inputs}
    return model.function("main" if named >= set(given) else "main_given").start(**given)


def run(model, given):
    """(outputs by name, instructions) of an undisturbed run."""
    straight = _start(model, given)
    straight.advance()
    return _outputs(model, straight), straight.instructions


def _go_on(piece, model):
    """A fresh execution of another opened model, from the bytes of a checkpoint."""
    checkpoint = io.BytesIO()
    piece.checkpoint(checkpoint)
    checkpoint.seek(0)
    return layover.resume(checkpoint, model)


def run_cut(models, given, step=1):
    """(outputs by name, number of stops) of a run that stops after so many instructions each time, and goes on in the next model."""
    piece, count = _start(models[0], given), 0
    while not piece.advance(step):
        count += 1
        piece = _go_on(piece, models[count % len(models)])
    return _outputs(models[0], piece), count


def run_pieces(models, given, points):
    """Outputs by name of a run that stops at each count of instructions, and goes on in the next model."""
    piece = _start(models[0], given)
    for i, point in enumerate(points):
        assert not piece.advance(point - piece.instructions) and piece.instructions == point
        piece = _go_on(piece, models[(i + 1) % len(models)])
    return _outputs(models[0], piece)


def assert_same(outputs, wanted):
    """The same names, types, shapes and bits."""
    assert sorted(outputs) == sorted(wanted)
    for name, array in wanted.items():
        found = outputs[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape), name
        assert found.tobytes() == array.tobytes(), f"{name} differs"
