"""Which node of a model makes the difference, and the smallest model around it that still does."""
import onnx
from onnx import helper

from random_graph import Value, type_proto
from witnesses import Crash, Refusal, same

SPANS = (0, 1, 2, 3, 5, 8, 13, 21, 34, 55)


def differs(model, inputs, values, witness, coarse=False):
    """Names of outputs that are not as the values say; ["refused"], ["crash"]."""
    try:
        results = witness.run(model, inputs)
    except Refusal:
        return ["refused"]
    except Crash:
        return ["crash"]
    return [name for name, result in results.items() if not same(result, values[name].data, values[name].exact, coarse)]


class Ours:
    def __init__(self, layover):
        self.layover = layover

    def run(self, model, inputs):
        return self.layover.run(model, inputs)

    def differs(self, model, inputs, values, coarse):
        return differs(model, inputs, values, self, coarse)


class Theirs:
    def __init__(self, runtime, layover):
        self.runtime, self.ours = runtime, Ours(layover)

    def run(self, model, inputs):
        return self.runtime.run(model.SerializeToString(), inputs)

    def differs(self, model, inputs, values, coarse):
        """Where ours is as the reference."""
        theirs = differs(model, inputs, values, self, coarse)
        if not theirs:
            return theirs
        ours = differs(model, inputs, values, self.ours, coarse)
        return [name for name in theirs if name not in ours]


def _sorted_nodes(graph):
    made, left, order = set(), list(graph.node), []
    outputs = {name for node in left for name in node.output if name}
    while left:
        rest = []
        for node in left:
            if (_reads(node) & outputs) <= made:
                order.append(node)
                made |= set(node.output)
            else:
                rest.append(node)
        if len(rest) == len(left):
            return list(graph.node)
        left = rest
    return order


def _reads(node):
    found = set(filter(None, node.input))
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                found |= _reads(inner)
            found |= {port.name for port in attribute.g.output}
    return found


def _with_makers(case, nodes):
    """Nodes whose results are nobody's input: constants, optionals."""
    makers = {name: node for node in case.model.graph.node for name in node.output if name}
    order = list(nodes)
    made = {name for node in order for name in node.output}
    left = [name for node in nodes for name in _reads(node)]
    while left:
        name = left.pop()
        if name in makers and name not in made and (name not in case.values or case.values[name].data is None):
            order.insert(0, makers[name])
            made |= set(makers[name].output)
            left += _reads(makers[name])
    return order


def _window(case, nodes, outputs):
    """A model of these nodes, with the constants that they read; what other nodes made comes as an input."""
    nodes = _with_makers(case, nodes)
    made = {name for node in nodes for name in node.output if name}
    read = set().union(*(_reads(node) for node in nodes)) - made
    initializers = [item for item in case.model.graph.initializer if item.name in read]
    given = {item.name for item in initializers}
    inputs = {name: case.inputs[name] if name in case.inputs else case.values[name].data for name in sorted(read - given)
              if name in case.inputs or name in case.values}
    graph = helper.make_graph(
        nodes, "part", [helper.make_value_info(name, type_proto(Value(name, data))) for name, data in inputs.items()],
        [helper.make_value_info(name, type_proto(case.values[name], None)) for name in outputs], initializers)
    model = helper.make_model(graph, opset_imports=case.model.opset_import, ir_version=case.model.ir_version,
                              functions=case.model.functions)
    return model, inputs


def _comparable(case, node):
    return [name for name in node.output if name in case.values and case.values[name].data is not None
            and not (isinstance(case.values[name].data, list) and not case.values[name].data)
            and (not case.values[name].is_tensor or case.values[name].dtype.name != "bfloat16")]


class _NoRefusals:
    """Of a witness that takes the whole model: that it refuses a part says nothing."""

    def __init__(self, witness):
        self.witness = witness

    def differs(self, *part):
        found = self.witness.differs(*part)
        return [] if found == ["refused"] else found


def find(case, witness):
    """(node, model, inputs): the smallest part of the case in which this witness is not as the reference."""
    if witness.differs(case.model, case.inputs, case.values, case.is_coarse) != ["refused"]:
        witness = _NoRefusals(witness)
    nodes = _sorted_nodes(case.model.graph)
    for i, node in enumerate(nodes):
        outputs = _comparable(case, node)
        if outputs and node.op_type != "Constant":
            for span in (0, 1, 2):
                found = _try(case, nodes[max(0, i - span):i + 1], outputs, witness)
                if found:
                    return (node, *found)
    for i, node in enumerate(nodes):
        outputs = _comparable(case, node)
        for span in SPANS[3:] if outputs else ():
            found = _try(case, nodes[max(0, i - span):i + 1], outputs, witness)
            if found:
                return (node, *found)
            if span >= i:
                break
    return None, case.model, case.inputs


def _try(case, nodes, outputs, witness):
    try:
        model, inputs = _window(case, nodes, outputs)
    except (AttributeError, KeyError, IndexError):
        return None
    return (model, inputs) if witness.differs(model, inputs, case.values, case.is_coarse) else None


def name_of(node):
    """The operator; with what is in it, for those with graphs."""
    if node is None:
        return "the whole graph"
    inner = sorted({child.op_type for attribute in node.attribute if attribute.HasField("g") for child in attribute.g.node})
    return f"{node.op_type}({', '.join(inner)})" if inner else ("Function" if node.domain else node.op_type)


def save(path, model, inputs, values):
    import numpy as np  # pylint: disable=import-outside-toplevel
    onnx.save(model, f"{path}.onnx")

    def plain(data):
        return data.astype(str) if data.dtype == object else data.astype("f4") if data.dtype.name == "bfloat16" else data
    tensors = {name: plain(data) for name, data in inputs.items() if not isinstance(data, list) and data is not None}
    np.savez(f"{path}.in.npz", **tensors)
    np.savez(f"{path}.want.npz", **{port.name: plain(values[port.name].data) for port in model.graph.output
                                    if port.name in values and values[port.name].is_tensor})
