"""What a recipe is, and how PyTorch's two exporters are called."""
import os
import tempfile
import zlib
from dataclasses import dataclass
from typing import Callable

import hollow

OPSET = 20


@dataclass
class Recipe:
    """make() gives a model and what its inputs are."""
    name: str
    tool: str
    kind: str
    make: Callable
    tolerance: str = "plain"


def reals(*shape, scale=1.0, mean=0.0, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "scale": scale, "mean": mean}


def whole(*shape, low=0, high=2, dtype="int64"):
    return {"shape": list(shape), "dtype": dtype, "low": low, "high": high}


def given(values, dtype):
    return {"values": values, "dtype": dtype}


def seed(name):
    """Every random number of a recipe comes from its name."""
    import random

    import numpy as np
    import torch

    value = zlib.crc32(name.encode())
    random.seed(value)
    np.random.seed(value)
    torch.manual_seed(value)
    torch.backends.mha.set_fastpath_enabled(False)  # one fused operator that has no export


def export(build, specs, outputs, dynamo, free, opset):
    """build() gives a module; specs are its inputs in order; free: {input: {axis: name}}."""
    import onnx
    import torch

    module = build().eval()
    arguments = tuple(torch.from_numpy(array) for array in hollow.make_inputs("example", specs).values())
    options = {"input_names": list(specs), "output_names": outputs, "opset_version": opset, "dynamo": dynamo}
    if free and dynamo:
        options["dynamic_shapes"] = tuple(
            {axis: torch.export.Dim.AUTO for axis in free[name]} if name in free else None for name in specs)
    elif free:
        options["dynamic_axes"] = free
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(module, arguments, path, verbose=False, **options)
        return onnx.load(path)


def torch_recipe(name, kind, build, specs, outputs=None, dynamo=True, free=None, opset=OPSET, tolerance="plain"):
    """The recipe of a module that one of PyTorch's exporters writes."""
    def make():
        seed(name)
        return export(build, specs, outputs, dynamo, free, opset), specs

    return Recipe(name, "torch dynamo" if dynamo else "torch script", kind, make, tolerance)
