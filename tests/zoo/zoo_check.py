"""The graphs of the zoo with their weights and inputs, and whether answers are those that were kept."""
import functools
import json
import os
import sys

import hollow
import numpy as np
import onnx

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(FOLDER), "end_to_end"))

from harness import load  # noqa: E402

GRAPHS = os.path.join(FOLDER, "graphs")
TABLE = os.path.join(FOLDER, "zoo.json")
GRAPH_BYTES = 30 << 10  # of a graph's file, at most
REFUSED = os.path.join(FOLDER, "refused.txt")
# How far an element may be off: of its own value, and of the output's largest one. Integer kernels may round to the
# neighbouring step, and some outputs have about thirty steps.
TOLERANCES = {"plain": (1e-3, 1e-4), "half": (1e-2, 0.005), "quantised": (2e-2, 0.05)}


@functools.lru_cache(maxsize=None)
def read_table():
    with open(TABLE, encoding="utf-8") as file:
        return json.load(file)


def read_refused():
    """{name: what is wrong with it today}"""
    with open(REFUSED, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(": ", 1) for line in file if line.strip())


def fill(name, folder):
    """Writes the graph with its weights, and its inputs; the two paths."""
    model = onnx.load(os.path.join(GRAPHS, f"{name}.onnx"), load_external_data=False)
    hollow.fill(model, name)
    target, inputs = os.path.join(folder, f"{name}.onnx"), os.path.join(folder, f"{name}.case.npz")
    with open(target, "wb") as file:
        file.write(model.SerializeToString())
    np.savez(inputs, **hollow.make_inputs(name, read_table()[name]["inputs"]))
    return target, inputs


def sample(array, count):
    """So many elements, evenly spread: those that are kept of an answer, and those of an output that are compared with it."""
    flat = array.reshape(-1)
    return flat if flat.size == count else flat[np.linspace(0, flat.size - 1, count).astype(np.int64)]


def compare_output(name, made, wanted, tolerance):
    relative, of_largest = TOLERANCES[tolerance]
    if made.dtype.kind != wanted.dtype.kind:
        return f"output {name} is of type {made.dtype}, not {wanted.dtype}"
    if wanted.dtype.kind != "f" and (tolerance == "plain" or wanted.dtype.kind in "UOb"):
        other = int((made != wanted).sum())
        return f"output {name}: {other} of {wanted.size} elements are others" if other else None
    made, wanted = made.astype("f8"), wanted.astype("f8")
    allowed = relative * np.abs(wanted) + of_largest * np.abs(wanted).max(initial=0)
    off = ~(np.abs(made - wanted) <= allowed)
    if not off.any():
        return None
    worst = int(np.argmax(np.where(off, np.nan_to_num(np.abs(made - wanted), nan=np.inf), -1)))
    return f"output {name}: {int(off.sum())} of {wanted.size} elements are off, the worst {made[worst]:.6g}, not {wanted[worst]:.6g}"


def compare(name, made, tolerance):
    """What is wrong with outputs; None: nothing."""
    answers = load(os.path.join(GRAPHS, f"{name}.npz"))
    shapes = {key.removeprefix("shape:"): tuple(value) for key, value in answers.items() if key.startswith("shape:")}
    if sorted(made) != sorted(shapes):
        return f"the outputs are {', '.join(sorted(made))}, not {', '.join(sorted(shapes))}"
    for key, shape in shapes.items():
        if made[key].shape != shape:
            return f"output {key} has shape {made[key].shape}, not {shape}"
        wrong = compare_output(key, sample(made[key], answers[key].size), answers[key], tolerance)
        if wrong:
            return wrong
    return None
