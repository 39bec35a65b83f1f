"""Graphs without their weights: what a weight looked like is kept, and made again from a seed.

A large tensor loses its data and gets a recipe in its doc_string, "seeded: KIND NUMBER...". Small tensors, tables of
indices, masks and texts are part of what a graph does and stay. RandomState is used because its streams never change.
"""
import zlib

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

LARGE = 64         # elements; a tensor with more of them loses its data
FEW_VALUES = 8     # a table with fewer distinct values is a mask
KEPT_MASK = 2048   # elements of a mask that stays
MARK = "seeded:"
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE}
BYTES = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16, TensorProto.INT32}
NIBBLES = {TensorProto.INT4, TensorProto.UINT4}
DATA_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data",
               "external_data", "data_location")


def tensors_of(graph):
    """(path, tensor) of a graph's or function's tensors, those of its branches and bodies too."""
    for tensor in getattr(graph, "initializer", ()):
        yield tensor.name, tensor
    for i, node in enumerate(graph.node):
        for attribute in node.attribute:
            where = f"{i}.{attribute.name}"
            if attribute.type == AttributeProto.TENSOR:
                yield where, attribute.t
            for inner in [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs:
                for path, tensor in tensors_of(inner):
                    yield f"{where}.{path}", tensor


def model_tensors(model):
    yield from tensors_of(model.graph)
    for function in model.functions:
        for path, tensor in tensors_of(function):
            yield f"{function.name}.{path}", tensor


def _count(tensor):
    return int(np.prod(tensor.dims, dtype=np.int64))


def _recipe(tensor):
    """What makes a tensor like this one; None: it stays."""
    if _count(tensor) <= LARGE or tensor.data_type not in FLOATS | BYTES | NIBBLES:
        return None
    if tensor.data_type in NIBBLES:
        return "nibbles"
    values = numpy_helper.to_array(tensor).astype(np.float64)
    low, high = values.min(), values.max()
    if low == high:
        return f"constant {low!r}".replace("np.float64(", "").replace(")", "")
    masked = values.size <= KEPT_MASK and np.unique(values).size <= FEW_VALUES
    if masked or not np.isfinite(values).all():
        return None
    return f"normal {values.mean():.6g} {values.std():.6g} {low:.6g} {high:.6g}"


def hollow(model):
    """Takes the data out of the large tensors; what tools say about how they made a graph goes, too."""
    for _, tensor in model_tensors(model):
        recipe = _recipe(tensor)
        tensor.ClearField("doc_string")
        if recipe:
            for field in DATA_FIELDS:
                tensor.ClearField(field)
            tensor.doc_string = f"{MARK} {recipe}"
    for graph in (model.graph, *model.functions):
        for inner in graphs_of(graph):
            _strip(inner)
    del model.metadata_props[:]


def _strip(graph):
    for name in ("doc_string", "metadata_props"):
        for part in (graph, *graph.value_info, *graph.node):
            part.ClearField(name)
        for part in (*getattr(graph, "initializer", ()), *graph.input, *graph.output):
            if not isinstance(part, str) and name == "metadata_props":
                part.ClearField(name)


def graphs_of(graph):
    """The graph, its branches and bodies."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.type == AttributeProto.GRAPH else attribute.graphs:
                yield from graphs_of(inner)


def shorten(model):
    """Short names inside the graph, for one whose names make most of its size. Inputs and outputs keep theirs."""
    kept = {value.name for graph in graphs_of(model.graph) for value in (*graph.input, *graph.output)}
    names = {}

    def short(name):
        return name if not name or name in kept else names.setdefault(name, f"v{len(names)}")

    for graph in graphs_of(model.graph):
        for value in (*graph.initializer, *graph.value_info):
            value.name = short(value.name)
        for node in graph.node:
            node.ClearField("name")
            node.input[:], node.output[:] = map(short, node.input), map(short, node.output)


def _bytes_of(tensor, recipe, random):
    kind, *numbers = recipe.split()
    count = _count(tensor)
    if kind == "nibbles":
        return random.randint(0, 256, (count + 1) // 2).astype(np.uint8).tobytes()
    numbers = [float(number) for number in numbers]
    if kind == "constant":
        values = np.full(count, numbers[0])
    else:
        mean, deviation, low, high = numbers
        values = np.clip(random.standard_normal(count) * deviation + mean, low, high)
    if tensor.data_type in BYTES:
        values = np.rint(values)
    return values.astype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).tobytes()


def fill(model, name):
    """Makes the data again that hollow() took out of the model of this name."""
    for path, tensor in model_tensors(model):
        if tensor.doc_string.startswith(MARK):
            random = np.random.RandomState(zlib.crc32(f"{name}/{path}".encode()))
            tensor.raw_data = _bytes_of(tensor, tensor.doc_string.removeprefix(MARK), random)
            tensor.ClearField("doc_string")


def make_array(spec, random):
    """An input: {"shape", "dtype", "low", "high"} (whole numbers), {"shape", "dtype", "scale"} or {"values", "dtype"}."""
    dtype = np.dtype(spec["dtype"])
    if "values" in spec:
        return np.array(spec["values"], dtype)
    if "low" in spec:
        return np.asarray(random.randint(spec["low"], spec["high"], spec["shape"])).astype(dtype)
    return np.asarray(random.standard_normal(spec["shape"]) * spec.get("scale", 1.0) + spec.get("mean", 0.0)).astype(dtype)


def make_inputs(name, specs):
    random = np.random.RandomState(zlib.crc32(name.encode()))
    return {key: make_array(spec, random) for key, spec in specs.items()}
