"""Case number N of a seed: a model, its inputs, and what the reference evaluator makes of them."""
from onnx import TensorProto, helper
from onnx.defs import onnx_opset_version

from random_graph import BF16, BOOL, DOMAIN, F4, I8, U1, STRING, RandomGraph, Reject, to_proto, type_proto
from recipes_control import CONTROL, LISTS, TEXT
from recipes_network import CONVOLUTIONAL, DENSE, QUANTIZED
from recipes_plain import ELEMENTWISE, MOVING, REDUCING

OPSETS = tuple(range(13, onnx_opset_version() + 1))  # onnxruntime 1.31 refuses 27 and 28: the reference is alone there
COMMON = ELEMENTWISE + MOVING + REDUCING
# What a graph is about, and how often.
FAMILIES = {
    "chain": (4, ELEMENTWISE * 4 + REDUCING),
    "movement": (3, MOVING * 3 + ELEMENTWISE),
    "convolution": (3, CONVOLUTIONAL * 3 + ELEMENTWISE),
    "dense": (3, DENSE * 3 + ELEMENTWISE + MOVING),
    "control": (3, CONTROL * 5 + COMMON),
    "quantized": (2, QUANTIZED * 5 + ELEMENTWISE),
    "strings": (2, TEXT * 5 + MOVING),
    "sequences": (2, LISTS * 5 + COMMON),
    "mixed": (4, COMMON + CONVOLUTIONAL + DENSE * 2 + QUANTIZED + CONTROL * 2 + TEXT + LISTS * 2),
}


COARSE = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def all_nodes(model):
    """Nodes of the graph, of the graphs in it, and of functions."""
    left = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while left:
        node = left.pop()
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                left += attribute.g.node


class Case:
    """inputs: {name: array}; values: {name: Value} of all that the graph names at its top; outputs: names."""

    def __init__(self, number, family, model, inputs, values, outputs):
        self.number, self.family, self.model, self.inputs = number, family, model, inputs
        self.values, self.outputs = values, outputs
        self.data = model.SerializeToString()
        self.operators = {node.op_type for node in all_nodes(model)}
        self.is_coarse = "Cast" in self.operators and any(
            attribute.i in COARSE for node in all_nodes(model) if node.op_type == "Cast" for attribute in node.attribute)

    @property
    def opset(self):
        return self.model.opset_import[0].version


def _outputs(g):
    read = {name for node in g.nodes for name in node.input}
    made = {name for node in g.nodes for name in node.output}
    values = [v for v in g.pool if v.name in made and (not v.is_tensor or v.dtype != BF16)
              and not (isinstance(v.data, list) and not v.data)]
    ends = [v for v in values if v.name not in read]
    others = [v for v in values if v.name in read and g.chance(0.15)]
    kept = ends + others
    return g.random.sample(kept, min(len(kept), 12))


def _shuffle(g, nodes):
    """Another order in which no node comes before what it reads."""
    if not g.chance(0.2):
        return nodes
    order, left = [], list(nodes)
    made = {name for node in nodes for name in node.output if name}
    done = set()

    def reads(node):
        found = set(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                for inner in attribute.g.node:
                    found |= reads(inner)
                found |= {output.name for output in attribute.g.output}
        return found & made
    while left:
        ready = [node for node in left if reads(node) <= done]
        node = g.random.choice(ready)
        left.remove(node)
        order.append(node)
        done |= set(node.output)
    return order


def _input_info(g, value):
    """Some dimensions have names: equal sizes may share one."""
    shape = list(value.shape)
    for i, size in enumerate(shape):
        if g.chance(0.4):
            shape[i] = f"n{size}" if g.chance(0.6) else f"{value.name}_{i}"
    return helper.make_value_info(value.name, type_proto(value, shape))


def _output_info(g, value):
    shape = None if g.chance(0.4) else ([None] * value.rank if value.is_tensor and g.chance(0.5) else ...)
    if shape is None or not value.is_tensor or shape is not ...:
        return helper.make_value_info(value.name, type_proto(value, shape))
    return helper.make_value_info(value.name, type_proto(value, None))


def make_model(g, outputs):
    graph = helper.make_graph(_shuffle(g, g.nodes), "random", [_input_info(g, v) for v in g.inputs],
                              [_output_info(g, v) for v in outputs],
                              [to_proto(v.data, v.name) for v in g.initializers])
    imports = [helper.make_opsetid("", g.opset)] + ([helper.make_opsetid(DOMAIN, 1)] if g.functions else [])
    version = max(8, helper.find_min_ir_version_for(imports, ignore_unknown=True))
    return helper.make_model(graph, opset_imports=imports, ir_version=version, functions=g.functions)


def make_case(seed, number):
    g = RandomGraph(f"{seed}/{number}", 0)
    g.opset = g.choice(OPSETS)
    names = list(FAMILIES)
    family = g.random.choices(names, [FAMILIES[name][0] for name in names])[0]
    for _ in range(g.integer(1, 3)):
        g.add_input(g.array(g.shape(1 if g.chance(0.8) else 0), g.choice([F4, F4, F4, I8, BOOL, U1, STRING if family == "strings" else F4])))
    g.wild = family in ("chain", "movement") and g.chance(0.08)
    steps, done = g.choice([1, 2, 3, 4, 5, 6, 8, 10, 14]), 0
    for _ in range(4 * steps):
        done += g.attempt(g.random.choice(FAMILIES[family][1]))
        if done >= steps:
            break
    outputs = _outputs(g)
    if not outputs:
        raise Reject
    model = make_model(g, outputs)
    return Case(number, family, model, {v.name: v.data for v in g.inputs}, {v.name: v for v in g.pool},
                [v.name for v in outputs])
