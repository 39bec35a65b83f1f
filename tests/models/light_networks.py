"""Convolutional networks of 2012 to 2017 from the graphs in the onnx package, with random weights.

Those graphs fill every weight with one constant, so each output has a single value whatever the executor does.
Here each filler becomes a seeded random initialiser of a scale that keeps activations sane, and the input of a
closing Softmax is an output too, because the softmax alone hardly moves with the input.
"""
import os
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper


def _draw(random, shape, kind, position, damped):
    def uniform(low, high):
        return random.uniform(low, high, shape).astype(np.float32)

    if kind == "BatchNormalization":
        drawn = uniform(0.8, 1.2) if position in (1, 4) else uniform(-0.1, 0.1)
    elif kind == "Mul":
        drawn = uniform(0.8, 1.2)
    elif kind in ("Conv", "Gemm") and position == 1:
        fan_in = np.prod(shape[1:])
        drawn = random.standard_normal(shape, dtype=np.float32) * np.float32((1.6 / fan_in) ** 0.5)
    else:
        drawn = uniform(-0.1, 0.1)
    # residual branches are damped, or fifty layers of additions would blow up
    return (drawn * np.float32(0.25)).astype(np.float32) if damped else drawn


def _randomise(graph, seed):
    random = np.random.default_rng(seed)
    initial = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    fillers = {node.output[0]: [int(size) for size in initial[node.input[0]]]
               for node in graph.node if node.op_type == "ConstantOfShape"}
    shape_names = {node.input[0] for node in graph.node if node.op_type == "ConstantOfShape"}
    summed = {name for node in graph.node if node.op_type == "Sum" for name in node.input}
    damped = {node.input[1] for node in graph.node
              if node.op_type == "BatchNormalization" and node.output[0] in summed}
    # DenseNet's scales reach their Mul and Add through an Unsqueeze
    behind = {node.output[0]: node.input[0] for node in graph.node
              if node.op_type == "Unsqueeze" and node.input[0] in fillers}
    role = {}
    for node in graph.node:
        for position, name in enumerate(node.input):
            name = behind.get(name, name)
            if name in fillers and node.op_type != "Unsqueeze":
                role.setdefault(name, (node.op_type, position))
    weights = [numpy_helper.from_array(_draw(random, shape, *role[name], name in damped), name)
               for name, shape in fillers.items()]
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    used = {name for node in kept for name in node.input}
    constants = [tensor for tensor in graph.initializer if tensor.name in used]
    inputs = [entry for entry in graph.input if entry.name in used]
    # IR version 3 wants every initialiser among the inputs
    inputs += [helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
               for tensor in weights]
    for field, content in ((graph.node, kept), (graph.initializer, constants + weights), (graph.input, inputs)):
        del field[:]
        field.extend(content)


def load(name):
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    model = onnx.load(os.path.join(folder, f"light_{name}.onnx"))
    _randomise(model.graph, zlib.crc32(name.encode()))
    softmax = model.graph.node[-1]
    if softmax.op_type != "Softmax":
        return model
    shape = [entry.dim_value for entry in model.graph.output[0].type.tensor_type.shape.dim]
    model.graph.output.append(helper.make_tensor_value_info(softmax.input[0], onnx.TensorProto.FLOAT, shape))
    return model
