"""Graphs written by hand: functions of onnxscript, and what model builders write with the operators of com.microsoft."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnxscript import FLOAT, INT64, opset21 as op, script
from onnxscript.values import Opset
from recipe import Recipe, given, reals, whole

own = Opset("zoo.own", 1)
RANDOM = np.random.RandomState(5)
MICROSOFT = "com.microsoft"


@script(own, default_opset=op)
def RootNorm(x, scale):
    square = op.ReduceMean(x * x, [-1], keepdims=1)
    return x / op.Sqrt(square + 1e-6) * scale


@script(own, default_opset=op)
def Attend(q, k, v):
    score = op.Softmax(op.MatMul(q, op.Transpose(k, perm=[0, 2, 1])) * 0.25, axis=-1)
    return op.MatMul(score, v)


@script()
def attention_block(x: FLOAT["n", 5, 16], w: FLOAT[16, 48], scale: FLOAT[16]) -> FLOAT["n", 5, 16]:
    q, k, v = op.Split(op.MatMul(RootNorm(x, scale), w), num_outputs=3, axis=-1)
    return x + Attend(q, k, v)


@script()
def power_method(a: FLOAT[8, 8], turns: INT64) -> FLOAT[8]:
    x = op.ConstantOfShape(op.Constant(value_ints=[8]), value=helper.make_tensor("one", 1, [1], [1.0]))
    for _ in range(turns):
        y = op.MatMul(a, x)
        x = y / op.ReduceMax(op.Abs(y), keepdims=1)
    return x


@script()
def halve_until(x: FLOAT["n"], limit: FLOAT) -> FLOAT["n"]:
    size = op.ReduceSum(op.Abs(x), keepdims=0)
    going = size > limit
    while going:
        x = x * 0.5
        size = op.ReduceSum(op.Abs(x), keepdims=0)
        going = size > limit
    return x


@script()
def choose_branch(x: FLOAT[4, 4]) -> FLOAT:
    total = op.ReduceSum(x, keepdims=0)
    if total > 0.0:
        y = op.Det(x)
    else:
        y = op.ReduceMean(op.MatMul(x, x), keepdims=0)
    return op.Identity(y)


@script()
def sequences(x: FLOAT[9, 4]) -> FLOAT["n", 4]:
    parts = op.SplitToSequence(x, op.Constant(value_ints=[2, 3, 4]), axis=0)
    first, last = op.SequenceAt(parts, 0), op.SequenceAt(parts, -1)
    parts = op.SequenceInsert(op.SequenceErase(parts, 1), op.CumSum(first, 0))
    return op.Concat(op.ConcatFromSequence(parts, axis=0), last, axis=0)


@script()
def signals(x: FLOAT[1, 64, 1]) -> FLOAT["a", "b", "c", 2]:
    window = op.HannWindow(op.Constant(value_int=16))
    return op.STFT(x, op.Constant(value_int=8), window, op.Constant(value_int=16), onesided=1)


@script()
def words(x: FLOAT["n"], index: INT64["n", 1]) -> FLOAT["n", "m"]:
    values, _, inverse, counts = op.Unique(x, sorted=1)
    spread = op.ScatterND(op.Neg(x), index, op.Gather(op.Cast(counts, to=1), inverse))
    return op.Unsqueeze(spread, [1]) * op.Trilu(op.Unsqueeze(values, [0]), upper=0)


@script()
def combined(x: FLOAT[2, 3, 4], y: FLOAT[4, 3]) -> FLOAT[2, 4, 4]:
    made = op.Einsum(x, y, equation="bij,ki->bjk")
    return op.Where(op.IsNaN(made), op.Mod(made, made, fmod=1), op.Clip(op.Mish(made), -1.0, 2.0))


def scripted(function, specs, kind="control flow"):
    def make():
        model = function.to_model_proto()
        return model, specs

    return Recipe(f"script_{function.name}", "onnxscript", kind, make)


def _weights(**arrays):
    return [numpy_helper.from_array(array, name) for name, array in arrays.items()]


def _normal(*shape):
    return (RANDOM.standard_normal(shape) * 0.3).astype(np.float32)


def _value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def built(name, nodes, inputs, outputs, weights, specs, kind="optimised", tolerance="plain"):
    def make():
        graph = helper.make_graph(nodes, name, inputs, outputs, weights)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10), specs

    return Recipe(name, "onnx helper, com.microsoft", kind, make, tolerance)


def _node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, domain=MICROSOFT, **attributes)


def _grouped_attention(rotary):
    """Two heads of queries that share one head of keys and values, a cache, the lengths of the texts."""
    angles = np.outer(np.arange(16), 1 / 100 ** (np.arange(8) / 8)).astype(np.float32)
    inputs = ["q", "k", "v", "past_k", "past_v", "behind", "total", *(["cos", "sin"] if rotary else [])]
    nodes = [helper.make_node("MatMul", ["x", "wq"], ["q"]), helper.make_node("MatMul", ["x", "wk"], ["k"]),
             helper.make_node("MatMul", ["x", "wv"], ["v"]),
             _node("GroupQueryAttention", inputs, ["y", "next_k", "next_v"], num_heads=2, kv_num_heads=1, do_rotary=int(rotary)),
             helper.make_node("MatMul", ["y", "wo"], ["out"])]
    weights = _weights(wq=_normal(32, 32), wk=_normal(32, 16), wv=_normal(32, 16), wo=_normal(32, 32),
                       behind=np.array([5], np.int32), total=np.array(6, np.int32), cos=np.cos(angles), sin=np.sin(angles))
    return built(f"grouped_attention{'_rotary' if rotary else ''}", nodes,
                 [_value("x", [1, 1, 32]), _value("past_k", [1, 1, 5, 16]), _value("past_v", [1, 1, 5, 16])],
                 [_value("out", [1, 1, 32]), _value("next_k", [1, 1, 6, 16]), _value("next_v", [1, 1, 6, 16])],
                 weights if rotary else weights[:-2],
                 {"x": reals(1, 1, 32), "past_k": reals(1, 1, 5, 16), "past_v": reals(1, 1, 5, 16)}, "decoder with cache")


def _rotary():
    angles = np.outer(np.arange(16), 1 / 100 ** (np.arange(4) / 4)).astype(np.float32)
    nodes = [_node("RotaryEmbedding", ["x", "place", "cos", "sin"], ["y"], num_heads=4),
             _node("QuickGelu", ["y"], ["z"], alpha=1.702),
             _node("SkipSimplifiedLayerNormalization", ["x", "z", "scale"], ["out"], epsilon=1e-6)]
    return built("rotary_embedding", nodes, [_value("x", [2, 3, 32]), _value("place", [2, 3], TensorProto.INT64)],
                 [_value("out", [2, 3, 32])], _weights(cos=np.cos(angles), sin=np.sin(angles), scale=_normal(32)),
                 {"x": reals(2, 3, 32), "place": given([[0, 1, 2], [4, 5, 6]], "int64")})


def _cached_heads():
    nodes = [_node("MultiHeadAttention", ["q", "k", "v", "bias", "", "", "past_k", "past_v"], ["y", "next_k", "next_v"],
                   num_heads=4)]
    cache = {"past_k": reals(1, 4, 3, 8), "past_v": reals(1, 4, 3, 8)}
    specs = {name: reals(1, 2, 32) for name in "qkv"} | cache
    return built("cached_heads", nodes, [_value(name, spec["shape"]) for name, spec in specs.items()],
                 [_value("y", [1, 2, 32]), _value("next_k", [1, 4, 5, 8]), _value("next_v", [1, 4, 5, 8])],
                 _weights(bias=_normal(96)), specs, "decoder with cache")


def _experts():
    nodes = [helper.make_node("MatMul", ["x", "gate"], ["score"]),
             _node("MoE", ["x", "score", "up", "", "down"], ["y"], k=2, activation_type="silu", normalize_routing_weights=1)]
    return built("experts", nodes, [_value("x", [5, 16])], [_value("y", [5, 16])],
                 _weights(gate=_normal(16, 4), up=_normal(4, 24, 16), down=_normal(4, 16, 24)), {"x": reals(5, 16)})


def _fused_small():
    """The small fused operators, one behind the other."""
    nodes = [_node("FusedMatMul", ["x", "w"], ["a"], transB=1, alpha=0.5), _node("BiasGelu", ["a", "b"], ["c"]),
             _node("FastGelu", ["c", "b"], ["d"]), _node("Gelu", ["d"], ["e"]),
             _node("FusedGemm", ["e", "w", "b"], ["f"], activation="LeakyRelu", activation_alpha=0.1, transB=1),
             _node("TransposeMatMul", ["f", "x"], ["g"], transA=1), helper.make_node("Softmax", ["g"], ["out"])]
    return built("fused_small", nodes, [_value("x", [6, 16])], [_value("out", [16, 16])],
                 _weights(w=_normal(16, 16), b=_normal(16)), {"x": reals(6, 16)})


def _pictures_own():
    nodes = [_node("CropAndResize", ["x", "boxes", "of", "size"], ["a"], mode="bilinear"),
             _node("ExpandDims", ["a", "axis"], ["b"]), helper.make_node("Squeeze", ["b", "axes"], ["c"]),
             helper.make_node("Conv", ["c", "w"], ["d"]), helper.make_node("Flatten", ["d"], ["e"]),
             _node("CDist", ["e", "centers"], ["out"], metric="sqeuclidean")]
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.8, 0.9]], np.float32)
    return built("crops_and_distances", nodes, [_value("x", [1, 3, 12, 12])], [_value("out", [2, 5])],
                 _weights(boxes=boxes, of=np.zeros(2, np.int32), size=np.array([6, 6], np.int32), axis=np.array(1, np.int32),
                          axes=np.array([1], np.int64), w=_normal(4, 3, 3, 3), centers=_normal(5, 64)),
                 {"x": reals(1, 3, 12, 12)})


def _blocks(bits):
    count, size = 64 // 16, 16 * bits // 8
    packed = RANDOM.randint(0, 256, (24, count, size)).astype(np.uint8)
    zeros = RANDOM.randint(0, 256, (24, -(-count * bits // 8))).astype(np.uint8)
    nodes = [_node("MatMulNBits", ["x", "w", "scale", "zero", "", "bias"], ["y"], K=64, N=24, bits=bits, block_size=16)]
    return built(f"blocks_of_{bits}_bits", nodes, [_value("x", [3, 64])], [_value("y", [3, 24])],
                 _weights(w=packed, scale=np.abs(_normal(24, count)) * 0.1, zero=zeros, bias=_normal(24)), {"x": reals(3, 64)},
                 "quantised", "quantised")


def _default_inputs():
    """Weights that are inputs, too: files from before version 4 of the format."""
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["c"]),
             helper.make_node("GlobalAveragePool", ["c"], ["y"])]
    weights = _weights(w=_normal(8, 3, 3, 3), b=_normal(8))

    def make():
        graph = helper.make_graph(nodes, "old", [_value("x", [1, 3, 9, 9]), _value("w", [8, 3, 3, 3]), _value("b", [8])],
                                  [_value("y", [1, 8, 1, 1])], weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3), {"x": reals(1, 3, 9, 9)}

    return Recipe("weights_as_inputs", "onnx helper", "classification", make)


RECIPES = [
    scripted(attention_block, {"x": reals(2, 5, 16), "w": reals(16, 48, scale=0.2), "scale": reals(16)}, "encoder"),
    scripted(power_method, {"a": reals(8, 8), "turns": given(7, "int64")}),
    scripted(halve_until, {"x": reals(6), "limit": given(0.01, "float32")}),
    scripted(choose_branch, {"x": reals(4, 4)}),
    scripted(sequences, {"x": reals(9, 4)}),
    scripted(signals, {"x": reals(1, 64, 1)}, "speech"),
    scripted(words, {"x": given([2, 1, 2, 5, 1], "float32"), "index": given([[1], [3], [0], [2], [4]], "int64")}),
    scripted(combined, {"x": reals(2, 3, 4), "y": reals(4, 3)}),
    _grouped_attention(False), _grouped_attention(True), _rotary(), _cached_heads(), _experts(), _fused_small(), _pictures_own(),
    *[_blocks(bits) for bits in (2, 4, 8)],
    _default_inputs(),
]
