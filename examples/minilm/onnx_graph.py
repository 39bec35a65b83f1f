"""Writes all-MiniLM-L6-v2 as one ONNX graph: token ids and mask in, unit-length sentence embeddings out."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from weights import EPSILON, HEADS, LAYERS, WIDTH

OPSET = 17
IR_VERSION = 8


class _Graph:
    def __init__(self, weights):
        self.weights = weights
        self.nodes = []
        self.initializers = {}

    def op(self, kind, *inputs, name=None, **attributes):
        output = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=f"{output}_node", **attributes))
        return output

    def constant(self, array, name):
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def number(self, content, name):
        return self.constant(np.array(content, np.float32), name)

    def axes(self, *content):
        return self.constant(np.array(content, np.int64), "axes_" + "_".join(map(str, content)).replace("-", "m"))

    def trained(self, name):
        return self.constant(self.weights[name], name)

    def linear(self, tensor, name):
        # PyTorch keeps [out, in]; MatMul wants [in, out]
        weight = self.constant(self.weights[f"{name}.weight"].T, f"{name}.weight.T")
        return self.op("Add", self.op("MatMul", tensor, weight), self.trained(f"{name}.bias"))

    def layer_norm(self, tensor, name):
        return self.op("LayerNormalization", tensor, self.trained(f"{name}.weight"), self.trained(f"{name}.bias"),
                       axis=-1, epsilon=EPSILON)


def _embeddings(g):
    length = g.op("Slice", g.op("Shape", "input_ids"), g.axes(1), g.axes(2))
    places = g.op("Slice", g.trained("embeddings.position_embeddings.weight"), g.axes(0), length, g.axes(0))
    tokens = g.op("Gather", g.trained("embeddings.word_embeddings.weight"), "input_ids", axis=0)
    # one sentence per row: the token type is always 0
    types = g.constant(g.weights["embeddings.token_type_embeddings.weight"][0], "token_type_0")
    return g.layer_norm(g.op("Add", g.op("Add", tokens, types), places), "embeddings.LayerNorm")


def _attention(g, x, penalty, prefix):
    def split_heads(name, order):
        split = g.constant(np.array([0, 0, HEADS, WIDTH // HEADS], np.int64), "split_heads")
        return g.op("Transpose", g.op("Reshape", g.linear(x, f"{prefix}.self.{name}"), split), perm=order)

    scores = g.op("MatMul", split_heads("query", [0, 2, 1, 3]), split_heads("key", [0, 2, 3, 1]))
    scores = g.op("Div", scores, g.number(np.sqrt(WIDTH // HEADS), "score_scale"))
    shares = g.op("Softmax", g.op("Add", scores, penalty), axis=-1)
    context = g.op("Transpose", g.op("MatMul", shares, split_heads("value", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    context = g.op("Reshape", context, g.constant(np.array([0, 0, WIDTH], np.int64), "join_heads"))
    return g.layer_norm(g.op("Add", g.linear(context, f"{prefix}.output.dense"), x), f"{prefix}.output.LayerNorm")


def _gelu(g, x):
    error = g.op("Erf", g.op("Div", x, g.number(np.sqrt(2), "sqrt_2")))
    return g.op("Mul", g.op("Mul", x, g.op("Add", error, g.number(1, "one"))), g.number(0.5, "half"))


def _encoder_layer(g, x, penalty, prefix):
    x = _attention(g, x, penalty, f"{prefix}.attention")
    wide = _gelu(g, g.linear(x, f"{prefix}.intermediate.dense"))
    return g.layer_norm(g.op("Add", g.linear(wide, f"{prefix}.output.dense"), x), f"{prefix}.output.LayerNorm")


def _pool(g, x, mask):
    """The mean over real tokens, scaled to length one."""
    weights = g.op("Unsqueeze", mask, g.axes(-1))
    total = g.op("ReduceSum", g.op("Mul", x, weights), g.axes(1), keepdims=0)
    count = g.op("Max", g.op("ReduceSum", weights, g.axes(1), keepdims=0), g.number(1e-9, "least_count"))
    mean = g.op("Div", total, count)
    norm = g.op("Sqrt", g.op("ReduceSum", g.op("Mul", mean, mean), g.axes(-1), keepdims=1))
    g.op("Div", mean, g.op("Max", norm, g.number(1e-12, "least_norm")), name="embedding")


def build_model(weights):
    g = _Graph(weights)
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    inverted = g.op("Sub", g.number(1, "one"), g.op("Unsqueeze", mask, g.axes(1, 2)))
    penalty = g.op("Mul", inverted, g.number(-10000.0, "hidden_score"))
    x = _embeddings(g)
    for layer in range(LAYERS):
        x = _encoder_layer(g, x, penalty, f"encoder.layer.{layer}")
    _pool(g, x, mask)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
              for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(g.nodes, "all-MiniLM-L6-v2", inputs, [output], list(g.initializers.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                              producer_name="layover-minilm")
    checker.check_model(model)
    return model
