"""Builds ONNX graphs: nodes in order, seeded weights, sub-graphs that see the names around them."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL

value = helper.make_tensor_value_info


class GraphBuilder:
    """One graph under construction. A child shares its root's weights, random stream and name counter."""

    def __init__(self, name, seed=0, parent=None):
        self.name = name
        self.root = parent.root if parent else self
        self.nodes = []
        if not parent:
            self.weights = []
            self.random = np.random.default_rng(seed)
            self.name_count = 0

    def child(self, name):
        return type(self)(name, parent=self)

    def fresh_name(self, stem):
        self.root.name_count += 1
        return f"{stem}_{self.root.name_count}"

    def op(self, kind, *inputs, outputs=1, name=None, domain=None, **attributes):
        """Appends a node; returns its output's name, or the list of names when it has several."""
        if isinstance(name, list):
            names = name
        elif name:
            names = [name]
        else:
            names = [self.fresh_name(kind) for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"{names[0]}_node", domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def constant(self, content, dtype=np.int64):
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(content, dtype)))

    def float_constant(self, content):
        return self.constant(content, np.float32)

    def weight(self, name, array):
        """An initialiser of the outermost graph."""
        self.root.weights.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def random_weight(self, name, shape, scale):
        drawn = self.root.random.standard_normal(shape, dtype=np.float32)
        return self.weight(name, drawn * np.float32(scale))

    def dimension(self, tensor, axis):
        """The size of one axis as a scalar, as the TorchScript exporter writes it."""
        return self.op("Gather", self.op("Shape", tensor), self.constant(axis), axis=0)

    def shape_vector(self, *parts):
        """A shape from numbers and names of scalars."""
        pieces = [self.constant([part]) if isinstance(part, int)
                  else self.op("Unsqueeze", part, self.constant([0])) for part in parts]
        return self.op("Concat", *pieces, axis=0)

    def linear(self, tensor, weight, bias):
        return self.op("Add", bias, self.op("MatMul", tensor, weight))

    def erf_gelu(self, tensor):
        error = self.op("Erf", self.op("Div", tensor, self.float_constant(np.sqrt(2))))
        return self.op("Mul", self.op("Mul", tensor, self.op("Add", error, self.float_constant(1))),
                       self.float_constant(0.5))

    def tanh_gelu(self, tensor):
        cube = self.op("Pow", tensor, self.float_constant(3))
        inner = self.op("Add", tensor, self.op("Mul", cube, self.float_constant(0.044715)))
        tanh = self.op("Tanh", self.op("Mul", inner, self.float_constant(np.sqrt(2 / np.pi))))
        return self.op("Mul", self.op("Mul", tensor, self.float_constant(0.5)),
                       self.op("Add", tanh, self.float_constant(1)))

    def layer_norm(self, tensor, name, width, epsilon):
        scale = self.weight(f"{name}.scale",
                            (1 + 0.02 * self.root.random.standard_normal(width)).astype(np.float32))
        bias = self.random_weight(f"{name}.bias", (width,), 0.02)
        return self.op("LayerNormalization", tensor, scale, bias, axis=-1, epsilon=epsilon)

    def subgraph(self, inputs, outputs):
        return helper.make_graph(self.nodes, self.name, inputs, outputs)

    def model(self, inputs, outputs, functions=(), opset=OPSET, extra_domains=()):
        graph = helper.make_graph(self.nodes, self.name, inputs, outputs, self.root.weights)
        opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in extra_domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION,
                                 producer_name="layover-models", functions=list(functions))


def model_bytes(model):
    """The same bytes for the same model, whatever the machine."""
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)
