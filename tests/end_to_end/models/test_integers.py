"""Graphs of dequantizations and quantizations: the operators between them compute with bytes, as onnxruntime computes them without
its optimizations, to one step."""
import numpy as np
import onnxruntime
import pytest
from harness import write_unchecked
from one_node import expected, run_with_stops
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

RANDOM = np.random.default_rng(5)


class Graph:
    """Nodes and constants of a model with the input x."""

    def __init__(self, x, dtype=np.uint8, scale=0.02, zero=117):
        self.given = {"x": x}
        self.nodes, self.constants, self.outputs = [], [], []
        self.dtype, self.scale, self.zero = dtype, scale, zero

    def constant(self, array, name=None):
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator, inputs, outputs=1, **attributes):
        names = [f"{operator}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def quantize(self, value, scale=None, zero=None, dtype=None):
        """The quantized value."""
        dtype = dtype or self.dtype
        zero = self.zero if zero is None else zero
        return self.node("QuantizeLinear",
                         [value, self.constant(np.float32(scale or self.scale)), self.constant(dtype(zero))])

    def dequantize(self, value, scale=None, zero=None, dtype=None, **attributes):
        scale = np.float32(self.scale) if scale is None else np.asarray(scale, np.float32)
        zero = self.zero if zero is None else zero
        zero = (dtype or self.dtype)(zero) if np.ndim(zero) == 0 else zero
        return self.node("DequantizeLinear", [value, self.constant(scale), self.constant(zero)], **attributes)

    def pair(self, value, *args):
        return self.dequantize(self.quantize(value, *args), *args)

    def weights(self, shape, axis=None, dtype=np.int8):
        """Dequantized weights, with a scale for each entry of the axis."""
        low, high = (-127, 128) if dtype == np.int8 else (0, 256)
        codes = self.constant(RANDOM.integers(low, high, shape).astype(dtype))
        if axis is None:
            return self.dequantize(codes, 0.01, 0 if dtype == np.int8 else 128, dtype)
        scales = RANDOM.uniform(0.004, 0.02, shape[axis]).astype(np.float32)
        return self.dequantize(codes, scales, np.zeros(shape[axis], dtype), dtype, axis=axis)

    def model(self, *outputs):
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                  for name, array in self.given.items()]
        graph = helper.make_graph(self.nodes, "g", inputs, [helper.make_empty_tensor_value_info(name) for name in outputs],
                                  self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def plain_options():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def f(*shape):
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def check(home, folder, graph, *outputs, step=None, code=()):
    """Compares with onnxruntime, to `step` (of the outputs' scales); `code`: operators of the executable."""
    model = graph.model(*outputs)
    wanted = expected(model, graph.given, plain_options())
    made = run_with_stops(home, folder, model, graph.given)
    text = home.call("disasm", "m", as_json=False).out
    for operator in code:
        assert operator in text, text
    for name, array in wanted.items():
        assert (made[name].shape, made[name].dtype) == (array.shape, array.dtype)
        step = step or (graph.scale if array.dtype.kind == "f" else 1)
        assert np.abs(made[name].astype(float) - array.astype(float)).max(initial=0) <= 1.01 * step, name
    return text


CONVOLUTIONS = [
    dict(shape=(8, 3, 3, 3)), dict(shape=(8, 3, 3, 3), bias=False, strides=[2, 2], pads=[1, 1, 1, 1]),
    dict(shape=(6, 1, 3, 3), channels=6, group=6, pads=[1, 1, 1, 1]), dict(shape=(8, 3, 1, 1), axis=None),
    dict(shape=(8, 3, 3, 3), wide=np.uint8, axis=None), dict(shape=(8, 3, 3, 3), dtype=np.int8, zero=-5, dilations=[2, 2]),
    dict(shape=(8, 3, 5), auto_pad="SAME_UPPER"), dict(shape=(8, 3, 3, 3), floats=True),
    dict(shape=(8, 3, 3, 3), limits="Relu"), dict(shape=(8, 3, 3, 3), limits="Clip"),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_a_convolution_of_bytes(home, tmp_path, case):
    case = {"dtype": np.uint8, "zero": 117, "channels": 3, "axis": 0, "wide": np.int8, "bias": True, "floats": False,
            "limits": None, **case}
    attributes = {name: case[name] for name in ("strides", "pads", "group", "dilations", "auto_pad") if name in case}
    shape = case["shape"]
    graph = Graph(f(2, case["channels"], *[9] * (len(shape) - 2)), case["dtype"], zero=case["zero"])
    weights = graph.weights(shape, case["axis"], case["wide"])
    scale = numpy_helper.to_array(graph.constants[-2])
    inputs = [graph.pair("x"), weights]
    if case["floats"]:
        inputs.append(graph.constant(f(shape[0])))
    elif case["bias"]:
        codes = graph.constant(RANDOM.integers(-9000, 9000, shape[0]).astype(np.int32))
        inputs.append(graph.node("DequantizeLinear", [codes, graph.constant(np.float32(graph.scale) * scale)],
                                 **({"axis": 0} if scale.ndim else {})))
    y = graph.node("Conv", inputs, **attributes)
    if case["limits"] == "Relu":
        y = graph.node("Relu", [y])
    if case["limits"] == "Clip":
        y = graph.node("Clip", [y, graph.constant(np.float32(-0.7)), graph.constant(np.float32(1.3))])
    check(home, tmp_path, graph, graph.quantize(y, 0.05, 10 if case["limits"] else None), code=["QLinearConv"])


def test_a_convolution_whose_result_stays_float(home, tmp_path):
    graph = Graph(f(1, 3, 8, 8))
    y = graph.node("Conv", [graph.pair("x"), graph.weights((8, 3, 3, 3), 0), graph.constant(f(8))])
    check(home, tmp_path, graph, y, graph.node("Sigmoid", [y]), code=["ConvInteger"], step=1e-4)


PRODUCTS = [dict(), dict(bias=True), dict(bias=True, floats=True), dict(transposed=True), dict(transposed=True, bias=True),
            dict(alpha=0.5), dict(matmul=True), dict(matmul=True, bias=True), dict(both=True), dict(left_float=True)]


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_a_product_of_bytes(home, tmp_path, case):
    graph = Graph(f(5, 16))
    left = graph.pair("x")
    turned = case.get("transposed", False)
    if case.get("both"):
        graph.given["z"] = f(16, 8)
        right = graph.pair("z", 0.02, 120)
    else:
        right = graph.weights((8, 16) if turned else (16, 8), 0 if turned else 1)
    bias = [graph.constant(f(8))] if case.get("bias") else []
    if case.get("matmul") or case.get("both"):
        y = graph.node("MatMul", [left, right])
        y = graph.node("Add", [bias[0], y]) if bias else y
    else:
        y = graph.node("Gemm", [left, right, *bias], transB=int(turned), alpha=case.get("alpha", 1.0))
    if case.get("left_float"):
        check(home, tmp_path, graph, y, code=["MatMulInteger"], step=1e-4)
    else:
        check(home, tmp_path, graph, graph.quantize(y, 0.05), code=["MatMul"])


def test_movement_moves_bytes(home, tmp_path):
    graph = Graph(f(1, 4, 6, 6))
    y = graph.pair(graph.node("Transpose", [graph.pair("x")], perm=[0, 2, 3, 1]))
    y = graph.pair(graph.node("Reshape", [y, graph.constant(np.array([6, 24]))]))
    a, b = graph.node("Split", [y], 2, axis=1, num_outputs=2)
    y = graph.pair(graph.node("Concat", [graph.pair(a), graph.pair(b)], axis=0))
    y = graph.pair(graph.node("Pad", [y, graph.constant(np.array([1, 0, 0, 2]))]))
    y = graph.quantize(graph.node("Gather", [y, graph.constant(np.array([3, 1, 0]))], axis=0))
    text = check(home, tmp_path, graph, y)
    assert "DequantizeLinear" not in text


def test_images_are_pooled_and_resized_in_bytes(home, tmp_path):
    graph = Graph(f(1, 4, 8, 8), np.int8, zero=3)
    y = graph.pair(graph.node("MaxPool", [graph.pair("x")], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]))
    scales = graph.constant(np.array([1, 1, 2, 2], np.float32))
    y = graph.quantize(graph.node("Resize", [y, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric",
                                  nearest_mode="floor"))
    text = check(home, tmp_path, graph, y)
    assert "DequantizeLinear" not in text


LEFT = ["scales of inputs", "another axis", "two readers", "int16", "four bits"]


@pytest.mark.parametrize("case", LEFT)
def test_what_is_of_another_form_computes_as_before(home, tmp_path, case):
    graph = Graph(f(1, 3, 6, 6))
    weights = graph.weights((8, 3, 3, 3), 1 if case == "another axis" else 0)
    if case == "four bits":
        codes = helper.make_tensor("w4", TensorProto.INT4, (8, 3, 3, 3), RANDOM.integers(0, 256, 108).astype(np.uint8).tobytes(),
                                   raw=True)
        graph.constants.append(codes)
        weights = graph.node("DequantizeLinear", ["w4", graph.constant(np.float32(0.1))])
    if case == "int16":
        graph.dtype, graph.zero, graph.scale = np.int16, 0, 0.001
    left = graph.pair("x")
    if case == "scales of inputs":
        graph.given["s"] = np.array(0.02, np.float32)
        zero = graph.constant(np.uint8(117))
        left = graph.node("DequantizeLinear", [graph.node("QuantizeLinear", ["x", "s", zero]), "s", zero])
    y = graph.node("Conv", [left, weights])
    outputs = [graph.quantize(y, 0.05)]
    if case == "two readers":
        outputs.append(y)
    text = check(home, tmp_path, graph, *outputs)
    assert "QLinearConv" not in text


def test_nothing_between(home, tmp_path):
    graph = Graph(np.zeros((0, 3, 6, 6), np.float32))
    y = graph.node("Conv", [graph.pair("x"), graph.weights((8, 3, 3, 3), 0)])
    check(home, tmp_path, graph, graph.quantize(graph.node("MaxPool", [graph.pair(y)], kernel_shape=[2, 2])))


def test_weights_stay_bytes(home, tmp_path):
    graph = Graph(f(2, 512))
    y = graph.node("Gemm", [graph.pair("x"), graph.weights((512, 512), 0), graph.constant(f(512))], transB=1)
    path = write_unchecked(tmp_path / "m.onnx", graph.model(graph.quantize(y)))
    made = home.call("register", "m", path).json
    assert made["bytes_raw"] < 300_000


FUNCTIONS = [("Relu", {}), ("LeakyRelu", {"alpha": 0.1}), ("Sigmoid", {}), ("HardSigmoid", {}), ("HardSwish", {}), ("Tanh", {}),
             ("Gelu", {}), ("Elu", {}), ("Sqrt", {}), ("Softmax", {"axis": 1}), ("GlobalAveragePool", {}),
             ("AveragePool", {"kernel_shape": [2, 2]}), ("ReduceMean", {}), ("LpNormalization", {})]


@pytest.mark.parametrize("dtype,zero", [(np.uint8, 117), (np.int8, -3)])
@pytest.mark.parametrize("operator,attributes", FUNCTIONS, ids=str)
def test_a_function_of_one_tensor_of_bytes(home, tmp_path, operator, attributes, dtype, zero):
    x = np.abs(f(1, 6, 7, 5)) if operator == "Sqrt" else f(1, 6, 7, 5)
    graph = Graph(x, dtype, zero=zero)
    check(home, tmp_path, graph, graph.quantize(graph.node(operator, [graph.pair("x")], **attributes), 0.01))


@pytest.mark.parametrize("shape", [(1, 6, 7, 5), (6, 1, 1), (1,)], ids=str)
@pytest.mark.parametrize("operator", ["Add", "Mul", "Sub", "Div", "Max", "Where"])
def test_a_function_of_two_tensors_of_bytes(home, tmp_path, operator, shape):
    graph = Graph(f(1, 6, 7, 5))
    graph.given["z"] = f(*shape) + np.float32(3)
    pairs = [graph.pair("x"), graph.pair("z", 0.03, 4)]
    if operator == "Where":
        pairs.insert(0, graph.constant(RANDOM.integers(0, 2, (7, 5)).astype(bool)))
    y = graph.node("Relu", [graph.node(operator, pairs)])
    check(home, tmp_path, graph, graph.quantize(y, 0.03, 20))


def test_a_function_in_several_pairs(home, tmp_path):
    """x * sigmoid(x), with each result quantized."""
    graph = Graph(f(1, 6, 7, 5))
    x = graph.pair("x")
    y = graph.node("Mul", [x, graph.pair(graph.node("Sigmoid", [x]), 1 / 256, 0)])
    check(home, tmp_path, graph, graph.quantize(y, 0.02, 15))


def test_other_scales_between_tensors(home, tmp_path):
    graph = Graph(f(1, 4, 6, 6))
    graph.given["z"] = f(1, 4, 6, 6)
    y = graph.node("Concat", [graph.pair("x"), graph.pair("z", 0.01, 99)], axis=1)
    y = graph.node("Transpose", [graph.pair(y, 0.05, 3)], perm=[0, 2, 3, 1])
    check(home, tmp_path, graph, graph.quantize(y, 0.03, 100))
