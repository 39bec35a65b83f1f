"""Products of bytes in their spellings: as onnxruntime computes them, as one operator each, stopped at every instruction."""
import collections
import re

import numpy as np
import pytest
from one_node import byte_weights, check, expected
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

RANDOM = np.random.default_rng(13)
ROWS, DEPTH, COLUMNS = 5, 38, 70


def floats(*shape, low=-1, high=1):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def weights(dtype):
    return byte_weights(RANDOM, DEPTH, COLUMNS) if dtype == np.int8 else RANDOM.integers(0, 256, (DEPTH, COLUMNS)).astype(dtype)


def zeros(dtype, *shape):
    return RANDOM.integers(*((-9, 9) if dtype == np.int8 else (120, 140)), shape).astype(dtype)


def graph_of(nodes, given, constants, results):
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in given.items()]
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in results.items()]
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, tensors), opset_imports=imports, ir_version=9)


def quantizer_wrote(dtype, per_column):
    """What onnxruntime's dynamic quantizer makes of three products of one activation, two with a bias, one with Relu."""
    shape = (COLUMNS,) if per_column else ()
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])]
    constants = {}
    for i in range(3):
        constants.update({f"w{i}": weights(dtype), f"ws{i}": floats(*shape, low=0.01), f"wz{i}": zeros(dtype, *shape)})
        nodes += [helper.make_node("MatMulInteger", ["q", f"w{i}", "z", f"wz{i}"], [f"i{i}"]),
                  helper.make_node("Cast", [f"i{i}"], [f"f{i}"], to=TensorProto.FLOAT),
                  helper.make_node("Mul", ["s", f"ws{i}"], [f"t{i}"]), helper.make_node("Mul", [f"f{i}", f"t{i}"], [f"p{i}"])]
    constants["b"] = floats(COLUMNS)
    nodes += [helper.make_node("Add", ["p0", "b"], ["y0"]), helper.make_node("Add", ["b", "p1"], ["a1"]),
              helper.make_node("Relu", ["a1"], ["y1"]), helper.make_node("Identity", ["p2"], ["y2"])]
    given = {"x": floats(2, ROWS, DEPTH, low=-2)}
    results = {f"y{i}": TensorProto.FLOAT for i in range(3)}
    return graph_of(nodes, given, constants, results), given, {"FusedMatMulInteger": 3, "DynamicQuantizeLinear": 1}


def one(operator, given, constants, names, result, made, **attributes):
    node = helper.make_node(operator, names, ["y"], domain="com.microsoft", **attributes)
    return graph_of([node], given, constants, {"y": result}), given, made


def dynamic(dtype):
    constants = {"w": weights(dtype), "s": floats(COLUMNS, low=0.01), "z": zeros(dtype, COLUMNS), "b": floats(COLUMNS)}
    return one("DynamicQuantizeMatMul", {"x": floats(ROWS, DEPTH)}, constants, ["x", "w", "s", "z", "b"], TensorProto.FLOAT,
               {"FusedMatMulInteger": 1, "DynamicQuantizeLinear": 1})


def to_float(a, dtype):
    given = {"x": RANDOM.integers(np.iinfo(a).min, np.iinfo(a).max + 1, (ROWS, DEPTH)).astype(a)}
    constants = {"w": weights(dtype), "as": np.float32(0.1), "ws": np.float32(0.02), "az": zeros(a), "wz": zeros(dtype)}
    return one("MatMulIntegerToFloat", given, constants, ["x", "w", "as", "ws", "az", "wz"], TensorProto.FLOAT,
               {"FusedMatMulInteger": 1})


def gemm(dtype, transposed):
    w = np.ascontiguousarray(weights(dtype).T) if transposed else weights(dtype)
    constants = {"w": w, "as": np.float32(0.1), "ws": np.float32(0.02), "az": zeros(np.uint8), "wz": zeros(dtype),
                 "c": RANDOM.integers(-900, 900, COLUMNS).astype(np.int32), "ys": np.float32(1.5), "yz": np.uint8(128)}
    given = {"x": RANDOM.integers(0, 256, (ROWS, DEPTH)).astype(np.uint8)}
    names = ["x", "as", "az", "w", "ws", "wz", "c", "ys", "yz"]
    return one("QGemm", given, constants, names, TensorProto.UINT8, {"FusedQLinearMatMul": 1}, transB=int(transposed))


CASES = {
    "dynamic quantizer, int8": quantizer_wrote(np.int8, False),
    "dynamic quantizer, uint8 by column": quantizer_wrote(np.uint8, True),
    "DynamicQuantizeMatMul, int8": dynamic(np.int8),
    "DynamicQuantizeMatMul, uint8": dynamic(np.uint8),
    "MatMulIntegerToFloat, uint8 and int8": to_float(np.uint8, np.int8),
    "MatMulIntegerToFloat, uint8 and uint8": to_float(np.uint8, np.uint8),
    "MatMulIntegerToFloat, int8 and int8": to_float(np.int8, np.int8),
    "QGemm, int8": gemm(np.int8, True),
    "QGemm, uint8": gemm(np.uint8, False),
}


@pytest.mark.parametrize("case", CASES)
def test_products_of_bytes_are_one_operator(home, tmp_path, case):
    model, given, made = CASES[case]
    check(home, tmp_path, model, given, expected(model, given))
    text = home.call("disasm", "m", as_json=False).out
    names = dict(re.findall(r"primitive (%\d+) = (\w+)", text))
    called = collections.Counter(names[primitive] for primitive in re.findall(r"InvokePacked(?:\.\w+)? (%\d+)", text))
    assert called == made
