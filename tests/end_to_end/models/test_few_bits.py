"""Weights in blocks of few bits: as onnxruntime computes them, stopped at every instruction, small in the executable."""
import numpy as np
import onnx
import onnxruntime
import pytest
from harness import REFUSED, write_unchecked
from one_node import check, expected
from onnx import TensorProto, helper, numpy_helper

pytestmark = pytest.mark.one_home

RANDOM = np.random.default_rng(11)
TYPES = {"uint4": TensorProto.UINT4, "int4": TensorProto.INT4}


def f(*shape, dtype=np.float32):
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


def positive(*shape, dtype=np.float32):
    return RANDOM.uniform(0.01, 0.1, shape).astype(dtype)


def u8(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def few(name, *shape):
    """A tensor of four bits."""
    count = int(np.prod(shape))
    return helper.make_tensor("", TYPES[name], shape, u8((count + 1) // 2).tobytes(), raw=True)


def model_of(operator, given, constants, attributes, domain="com.microsoft"):
    """given: (name, array) of the inputs; constants: in the order of the operator's inputs, None for absent ones."""
    names = [name for name, _ in given]
    tensors = []
    for i, constant in enumerate(constants):
        if isinstance(constant, str):
            names.append(constant)
            continue
        names.append(f"c{i}" if constant is not None else "")
        if constant is None:
            continue
        tensor = constant if isinstance(constant, TensorProto) else numpy_helper.from_array(constant)
        tensor.name = names[-1]
        tensors.append(tensor)
    if operator == "GatherBlockQuantized":  # the data stand before the indices
        names[0], names[1] = names[1], names[0]
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in given]
    node = helper.make_node(operator, names, ["y"], domain=domain, name="the_product", **attributes)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], tensors)
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def nbits(rows, depth, bits=4, block=16, a=None, zeros=None, groups=None, bias=False, dtype=np.float32, **attributes):
    a = f(3, depth, dtype=dtype) if a is None else a
    blocks = -(-depth // block)
    packed = {"packed": lambda: u8(rows, -(-blocks * bits // 8)),
              "float": lambda: RANDOM.uniform(0, 2 ** bits, (rows, blocks)).astype(dtype), None: lambda: None}[zeros]()
    constants = [u8(rows, blocks, block * bits // 8), positive(rows, blocks, dtype=dtype), packed, groups,
                 f(rows, dtype=dtype) if bias else None]
    while constants[-1] is None:
        constants.pop()
    return model_of("MatMulNBits", [("a", a)], constants,
                    {"N": rows, "K": depth, "bits": bits, "block_size": block, **attributes}), {"a": a}


def bnb4(rows, depth, block, table, a=None, **attributes):
    a = f(3, depth) if a is None else a
    constants = [u8((rows * depth + 1) // 2), positive(-(-rows * depth // block))]
    return model_of("MatMulBnb4", [("a", a)], constants,
                    {"N": rows, "K": depth, "block_size": block, "quant_type": table, **attributes}), {"a": a}


def gather(data, scales, indices, zeros=None, **attributes):
    constants = [data, scales] + ([zeros] if zeros is not None else [])
    return model_of("GatherBlockQuantized", [("i", indices)], constants, {"block_size": 16, **attributes}), {"i": indices}


def dequantized(dtype, depth, columns, zeros):
    """The same product in the operators of ai.onnx, with blocks along the depth."""
    constants = {"b": few(dtype, depth, columns), "s": numpy_helper.from_array(positive(depth // 32, columns))}
    if zeros:
        constants["z"] = few(dtype, depth // 32, columns)
    for name, tensor in constants.items():
        tensor.name = name
    a = f(3, depth)
    nodes = [helper.make_node("DequantizeLinear", list(constants), ["w"], axis=0, block_size=32),
             helper.make_node("MatMul", ["a", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("a", TensorProto.FLOAT, a.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, columns])], list(constants.values()))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), {"a": a}


IDS = np.array([[3, 0, 5], [-1, 2, 2]], np.int64)
GROUPS = RANDOM.integers(0, 3, 40).astype(np.int32)
CASES = {
    "4 bits": nbits(7, 32),
    "4 bits, a tail": nbits(5, 40, block=32),
    "4 bits, an odd depth": nbits(5, 37),
    "4 bits, zero points": nbits(6, 48, zeros="packed"),
    "4 bits, zero points and a tail": nbits(6, 50, block=32, zeros="packed"),
    "4 bits, zero points that are floats": nbits(6, 48, zeros="float"),
    "4 bits, bias": nbits(6, 48, bias=True, zeros="packed"),
    "4 bits, a batch": nbits(6, 48, a=f(2, 3, 48)),
    "4 bits, one row": nbits(6, 512, block=256, a=f(1, 512)),
    "4 bits, lower accuracy allowed": nbits(6, 64, block=32, accuracy_level=1),
    "4 bits, float16": nbits(6, 48, dtype=np.float16),
    "2 bits": nbits(7, 32, bits=2),
    "2 bits, zero points": nbits(7, 96, bits=2, block=32, zeros="packed"),
    "8 bits": nbits(7, 32, bits=8),
    "8 bits, zero points and a tail": nbits(7, 50, bits=8, block=32, zeros="packed", bias=True),
    # more than a small constant: the weights stay codes to the end
    "4 bits, large": nbits(40, 96, block=32, a=f(35, 96)),
    "4 bits, large, zero points and a tail": nbits(40, 602, block=32, zeros="packed", bias=True),
    "4 bits, large, an odd depth": nbits(40, 97, zeros="packed"),
    "4 bits, large, float16": nbits(40, 96, block=32, zeros="packed", dtype=np.float16),
    "4 bits, large, float16 and bytes of activations": nbits(40, 96, block=32, dtype=np.float16, accuracy_level=4),
    "2 bits, large": nbits(40, 96, bits=2, zeros="packed"),
    "8 bits, large": nbits(40, 96, bits=8, block=64),
    # activations as bytes, as onnxruntime rounds them; both sum in float32
    "4 bits, bytes of activations": nbits(40, 288, block=32, a=f(5, 288), accuracy_level=4),
    "4 bits, bytes of activations, zero points and a bias": nbits(
        41, 344, block=128, zeros="packed", bias=True, accuracy_level=4),
    "4 bits, groups where bytes are allowed": nbits(40, 40, groups=GROUPS, accuracy_level=4),
    "8 bits, bytes of activations": nbits(40, 96, bits=8, block=32, accuracy_level=4),
    "NF4, large": bnb4(40, 192, 64, 1),
    "FP4, large, many rows": bnb4(33, 128, 32, 0, a=f(40, 128)),
    "DequantizeLinear before MatMul": dequantized("int4", 64, 40, zeros=False),
    "DequantizeLinear with zero points before MatMul": dequantized("uint4", 64, 42, zeros=True),
    "FP4": bnb4(6, 32, 16, 0),
    "NF4": bnb4(6, 32, 64, 1),
    "NF4, a tail": bnb4(5, 21, 16, 1),
    "rows of uint4": gather(few("uint4", 6, 32), positive(6, 2), IDS, few("uint4", 6, 2)),
    "rows of int4": gather(few("int4", 6, 40), positive(6, 3), IDS),
    "rows of int4, one index": gather(few("int4", 6, 40), positive(6, 3), np.array(4, np.int32)),
    "columns of int4": gather(few("int4", 32, 6), positive(2, 6), IDS, quantize_axis=0, gather_axis=1),
    "rows of bytes": gather(u8(6, 16), positive(6, 2), IDS),
    "rows of bytes, zero points": gather(u8(6, 24), positive(6, 3), IDS, u8(6, 2)),
    "rows of bytes of 8 bits": gather(u8(6, 16), positive(6, 1), IDS, bits=8),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_are_what_onnxruntime_computes(home, tmp_path, case):
    model, given = CASES[case]
    options = onnxruntime.SessionOptions()
    # optimised, it rounds the activations of DequantizeLinear before MatMul to eight bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = expected(model, given, options)
    # both compute halves as floats, and round the result once or twice
    check(home, tmp_path, model, given, wanted, *((2e-3, 1e-3) if wanted["y"].dtype == np.float16 else ()))


def codes_of(packed, bits, count):
    """The first `count` codes of each row, the first in the lowest bits."""
    flat = np.unpackbits(packed.reshape(packed.shape[0], -1), axis=1, bitorder="little")
    flat = flat[:, :flat.shape[1] // bits * bits].reshape(packed.shape[0], -1, bits)
    return (flat * (1 << np.arange(bits))).sum(2)[:, :count]


# (rows, depth, bits, what is different): onnxruntime has no kernel for these on a CPU
BY_HAND = [(5, 40, 3, {}), (5, 48, 3, {"zeros": "packed"}), (5, 40, 5, {"zeros": "packed"}), (4, 40, 4, {"groups": GROUPS}),
           (4, 40, 4, {"groups": GROUPS, "zeros": "packed"}), (4, 40, 2, {"groups": GROUPS, "zeros": "float"}),
           (4, 40, 2, {"zeros": "float"})]


@pytest.mark.parametrize("rows,depth,bits,options", BY_HAND)
def test_blocks_are_what_they_mean(home, tmp_path, rows, depth, bits, options):
    model, given = nbits(rows, depth, bits=bits, **options)
    made = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    groups = made.get("c3", np.arange(depth) // 16)
    zeros = made.get("c2", np.full((rows, 3), 1 << (bits - 1)))
    zeros = codes_of(zeros, bits, 3) if zeros.dtype == np.uint8 else zeros
    weights = (codes_of(made["c0"], bits, depth) - zeros[:, groups]) * made["c1"][:, groups]
    check(home, tmp_path, model, given, {"y": (given["a"] @ weights.T).astype(np.float32)})


def test_a_row_that_is_not_there_is_zero(home, tmp_path):
    data, scales = u8(4, 16), positive(4, 2)
    model, given = gather(data, scales, np.array([1, 4, -4, -5, 99], np.int64))
    rows = (codes_of(data, 4, 32) - 8) * scales.repeat(16, 1)
    wanted = np.stack([rows[1], rows[0] * 0, rows[0], rows[0] * 0, rows[0] * 0]).astype(np.float32)
    check(home, tmp_path, model, given, {"y": wanted})


def altered(case, **attributes):
    """The model with other attributes; None takes one away."""
    model = onnx.ModelProto.FromString(CASES[case][0].SerializeToString())
    node = model.graph.node[0]
    kept = [a for a in node.attribute if a.name not in attributes]
    made = [helper.make_attribute(name, value) for name, value in attributes.items() if value is not None]
    del node.attribute[:]
    node.attribute.extend(kept + made)
    return model


def resized(case, name, array):
    """The model with another constant."""
    model = onnx.ModelProto.FromString(CASES[case][0].SerializeToString())
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    return model


REFUSALS = {
    "a block of 24": (altered("4 bits", block_size=24), "block_size 24 is no power of two from 16 on"),
    "a block of 8": (altered("4 bits", block_size=8), "block_size 8"),
    "no K": (altered("4 bits", K=None), "attribute K is 0"),
    "a negative N": (altered("4 bits", N=-7), "attribute N is -7"),
    "a huge K": (altered("4 bits", K=2 ** 62), "weights of 7 by 4611686018427387904"),
    "9 bits": (altered("4 bits", bits=9), "bits is 9, not 2 to 8"),
    "another attribute": (altered("4 bits", own=1), "attribute own"),
    "packed for a device": (altered("4 bits", weight_prepacked=1), "weight_prepacked 0"),
    "K that A does not have": (altered("4 bits", K=31), "32 columns times 31 rows"),
    "more rows than B": (altered("4 bits", N=8), "scales has 14 elements, not 8 rows of 2"),
    "a short B": (resized("4 bits", "c0", u8(7, 1, 8)), "B has 56 bytes, not 7 rows of 16"),
    "B of int8": (resized("4 bits", "c0", np.zeros((7, 2, 8), np.int8)), "B of int8, not uint8"),
    "scales for other blocks": (resized("4 bits", "c1", positive(7, 3)), "scales has 21 elements, not 7 rows of 2"),
    "scales that are whole": (resized("4 bits", "c1", np.ones((7, 2), np.int32)), "int32"),
    "short zero points": (resized("4 bits, zero points", "c2", u8(6, 1)), "zero_points has 6 bytes, not 6 rows of 2"),
    "short absmax": (resized("FP4", "c1", positive(3)), "absmax has 3 elements"),
    "a long B": (resized("NF4", "c0", u8(1000)), "B has 1000 bytes"),
    "a third table": (altered("NF4", quant_type=2), "quant_type is 2, not 0 (FP4) or 1 (NF4)"),
    "no table": (altered("NF4", quant_type=None), "quant_type is -1"),
    "rows of 3 bits": (altered("rows of bytes", bits=3), "bits is 3, not 2, 4 or 8"),
    "an axis that is not there": (altered("rows of int4", quantize_axis=2), "quantize_axis"),
    "columns of bytes": (altered("rows of bytes", gather_axis=1), "gather_axis 1 of data of uint8"),
    "scales of other rows": (resized("rows of int4", "c1", positive(5, 3)), "scales of [5, 3], not [6, 3]"),
    "a block of 0 for int4": (altered("rows of int4", block_size=0), "block_size 0"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_blocks_that_do_not_fit_are_refused(home, tmp_path, case):
    model, words = REFUSALS[case]
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED,
                 words=(words, "the_product"))


@pytest.mark.parametrize("name", ["B", "data"])
def test_blocks_that_are_computed_are_refused(home, tmp_path, name):
    model, _ = CASES["4 bits" if name == "B" else "rows of int4"]
    model = onnx.ModelProto.FromString(model.SerializeToString())
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "c0")
    model.graph.input.append(helper.make_tensor_value_info("c0", tensor.data_type, tensor.dims))
    model.graph.initializer.remove(tensor)
    home.refuses("register", "m", write_unchecked(tmp_path / "m.onnx", model), code=REFUSED,
                 words=(f"input {name} is computed", "as an initializer"))


def sizes(home, folder, name, model):
    home.call("compile", write_unchecked(folder / f"{name}.onnx", model), "-o", folder / f"{name}.lvx")
    return (folder / f"{name}.lvx").stat().st_size


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_weights_stay_in_their_bits(home, tmp_path, bits):
    rows, depth = 512, 1024
    plain = model_of("MatMul", [("a", f(1, depth))], [f(depth, rows)], {}, domain="")
    whole = sizes(home, tmp_path, "plain", plain)
    small = sizes(home, tmp_path, "small", nbits(rows, depth, bits=bits, block=64, a=f(1, depth), zeros="packed")[0])
    held = {3: 4}.get(bits, bits)  # elements have 2, 4 or 8 bits
    print(f"{bits} bits: {small} bytes, float32 {whole}")
    assert small < rows * depth * held // 8 + 3 * rows * depth // 64 * 4 + 16384 < whole


@pytest.mark.parametrize("case", ["4 bits, large", "DequantizeLinear before MatMul"])
def test_both_spellings_become_one_operator(home, tmp_path, case):
    model, _ = CASES[case]
    home.call("compile", write_unchecked(tmp_path / "m.onnx", model), "-o", tmp_path / "m.lvx")
    code = home.call("disasm", tmp_path / "m.lvx", as_json=False)
    assert "FusedMatMulBlocks" in code.out and "DequantizeLinear" not in code.out
