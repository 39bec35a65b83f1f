"""Recipes: convolutions, poolings, normalizations, products, attention, recurrent networks, and quantized ones."""
import numpy as np

from random_graph import F4, I1, I4, I8, U1, Reject
from recipes_plain import is_float4, need_distinct, need_margin


def images(g, least=3):
    """[batch, channels, height, width], sometimes of one or three axes of space."""
    def fits(value):
        return is_float4(value) and value.rank in (3, 4) and min(value.shape[2:]) >= least and value.shape[0] > 0
    def make():
        space = g.choice([1, 2, 2, 2])
        return g.tensor((g.integer(1, 2), g.integer(1, 6), *(g.integer(least, 8) for _ in range(space))))
    return g.pick(fits, make)


def window(g, value):
    space = value.rank - 2
    kernel = [g.integer(1, min(3, size)) for size in value.shape[2:]]
    attributes = {"kernel_shape": kernel, "strides": [g.integer(1, 2) for _ in range(space)]}
    if g.chance(0.3):
        attributes["auto_pad"] = g.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.chance(0.6):
        attributes["pads"] = [g.integer(0, size - 1) for size in kernel] * 2
    return attributes


def conv(g):
    value = images(g)
    attributes, channels = window(g, value), value.shape[1]
    group = g.choice([d for d in range(1, channels + 1) if channels % d == 0])
    out = group * g.integer(1, 3)
    if "auto_pad" not in attributes and g.chance(0.3):
        attributes["dilations"] = [g.integer(1, 2) for _ in attributes["kernel_shape"]]
    weight = g.tensor((out, channels // group, *attributes["kernel_shape"]))
    made = g.emit("Conv", value, weight, g.tensor((out,)) if g.chance(0.5) else None, group=group, **attributes)
    if g.chance(0.3):
        batch_norm(g, made)


def batch_norm(g, value=None):
    value = value or images(g, 1)
    channels = value.shape[1]
    variance = g.fixed(np.abs(g.array((channels,))) + np.float32(0.5))
    made = g.emit("BatchNormalization", value, g.tensor((channels,)), g.tensor((channels,)), g.tensor((channels,)), variance,
                  exact=False)
    if g.chance(0.5):
        g.emit("Relu", made)


def conv_transpose(g):
    value = images(g, 2)
    channels, out = value.shape[1], g.integer(1, 3)
    kernel = [g.integer(1, 3) for _ in value.shape[2:]]
    attributes = {"kernel_shape": kernel, "strides": [g.integer(1, 2) for _ in kernel]}
    if g.chance(0.3):
        attributes["pads"] = [min(1, size - 1) for size in kernel] * 2
    if g.chance(0.3):
        attributes["output_padding"] = [stride - 1 for stride in attributes["strides"]]
    g.emit("ConvTranspose", value, g.tensor((channels, out, *kernel)), g.tensor((out,)) if g.chance(0.5) else None, **attributes)


def pool(g):
    value, kind = images(g), g.choice(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool2"])
    if kind.startswith("Global"):
        g.emit(kind, value, exact=False)
        return
    attributes = window(g, value)
    if kind != "LpPool" and "auto_pad" not in attributes and g.chance(0.3):
        attributes["ceil_mode"] = 1
    if kind == "AveragePool":
        attributes["count_include_pad"] = g.integer(0, 1)
    if kind == "MaxPool2":
        attributes.pop("auto_pad", None)
        need_distinct(value.data.reshape(-1), 0)
        g.emit("MaxPool", value, outputs=2, **attributes)
    elif kind == "LpPool":
        g.emit(kind, value, exact=False, p=2, **attributes)
    else:
        g.emit(kind, value, exact=value.exact and kind == "MaxPool", **attributes)


def unpool(g):
    value = g.pick(lambda v: is_float4(v) and v.rank == 4 and min(v.shape[2:]) >= 2,
                   lambda: g.tensor((1, 2, g.integer(2, 6), g.integer(2, 6))))
    need_distinct(value.data.reshape(-1), 0)
    made, indices = g.emit("MaxPool", value, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    g.emit("MaxUnpool", made, indices, kernel_shape=[2, 2], strides=[2, 2])


def resize(g):
    value = images(g, 2)
    mode = g.choice(["nearest", "linear", "cubic"])
    attributes = {"mode": mode, "coordinate_transformation_mode": g.choice(
        ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])}
    if mode == "nearest":
        attributes["nearest_mode"] = g.choice(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"])
    scales = [1, 1, *(g.choice([0.5, 2, 1, 3, 1.5]) for _ in value.shape[2:])]
    if g.chance(0.4):
        sizes = [*value.shape[:2], *(g.integer(1, 9) for _ in value.shape[2:])]
        g.emit("Resize", value, None, None, g.constant(sizes, I8), exact=False, **attributes)
    else:
        g.emit("Resize", value, None, g.constant(scales, F4), exact=False, **attributes)


def space_depth(g):
    value = g.pick(lambda v: is_float4(v) and v.rank == 4, lambda: g.tensor((1, 4, 4, 2)))
    if value.shape[1] % 4 == 0 and g.chance(0.5):
        g.emit("DepthToSpace", value, blocksize=2, mode=g.choice(["DCR", "CRD"]))
    elif value.shape[2] % 2 == 0 and value.shape[3] % 2 == 0:
        g.emit("SpaceToDepth", value, blocksize=2)


def grid_sample(g):
    if g.opset < 16:
        raise Reject
    value = g.pick(lambda v: is_float4(v) and v.rank == 4 and min(v.shape) > 0, lambda: g.tensor((1, 2, 4, 5)))
    grid = g.constant((g.root.numpy.integers(-9, 10, (value.shape[0], 2, 3, 2)) / 8.03).astype("f4"))
    mode = g.choice(["linear", "nearest"]) if g.opset >= 20 else g.choice(["bilinear", "nearest"])
    g.emit("GridSample", value, grid, mode=mode, padding_mode=g.choice(["zeros", "border", "reflection"]),
           align_corners=g.integer(0, 1), exact=False)


def normalize(g):
    value = g.pick(lambda v: is_float4(v) and v.rank in (2, 3, 4) and min(v.shape) > 0,
                   lambda: g.tensor((2, g.choice([2, 4, 6]), g.integer(1, 8))))
    kind = g.choice(["LayerNormalization"] * 3 + ["InstanceNormalization", "GroupNormalization", "LRN", "LpNormalization",
                                                   "MeanVarianceNormalization", "RMSNormalization"])
    channels = value.shape[1]
    if kind == "LayerNormalization" and g.opset >= 17:
        axis = g.integer(1, value.rank - 1)
        shape = value.shape[axis:]
        wanted = g.choice([[True], [True, True, True], [True, True], [True, False, True]])
        axis -= value.rank if g.chance(0.4) else 0
        g.emit(kind, value, g.tensor(shape), g.tensor(shape) if g.chance(0.6) else None, outputs=wanted, axis=axis, exact=False)
    elif kind == "RMSNormalization" and g.opset >= 23:
        g.emit(kind, value, g.tensor(value.shape[-1:]), axis=-1, exact=False)
    elif kind == "InstanceNormalization" and value.rank > 2:
        g.emit(kind, value, g.tensor((channels,)), g.tensor((channels,)), exact=False)
    elif kind == "GroupNormalization" and g.opset >= 21 and value.rank > 2:
        g.emit(kind, value, g.tensor((channels,)), g.tensor((channels,)), exact=False,
               num_groups=g.choice([d for d in range(1, channels + 1) if channels % d == 0]))
    elif kind == "LRN" and value.rank == 4:
        g.emit(kind, value, size=g.choice([1, 3]), exact=False)
    elif kind == "LpNormalization":
        if (np.abs(value.data).sum(-1) < 0.5).any():
            raise Reject
        g.emit(kind, value, axis=-1, p=g.integer(1, 2), exact=False)
    elif kind == "MeanVarianceNormalization" and value.rank == 4:
        g.emit(kind, value, exact=False)
    else:
        raise Reject


def product(g):
    value = g.pick(lambda v: is_float4(v) and v.rank in (1, 2, 3, 4) and v.shape[-1] > 0, lambda: g.tensor(g.shape(1, 3, most=9)))
    width = g.integer(1, 9)
    def fits(v):
        return is_float4(v) and v.rank == 2 and v.shape[0] == value.shape[-1]
    g.emit("MatMul", value, g.pick(fits, lambda: g.tensor((value.shape[-1], width))))


def gemm(g):
    value = g.pick(lambda v: is_float4(v) and v.rank == 2, lambda: g.tensor(g.shape(2, 2, most=9)))
    turned, right = g.integer(0, 1), g.integer(0, 1)
    rows, depth = value.shape if not turned else value.shape[::-1]
    width = g.integer(1, 7)
    bias = g.tensor(g.choice([(width,), (rows, 1), (1, width), (), (rows, width)])) if g.chance(0.7) else None
    g.emit("Gemm", value, g.tensor((width, depth) if right else (depth, width)), bias, transA=turned, transB=right,
           alpha=g.choice([1.0, 0.5]), beta=g.choice([1.0, 2.0]))


def attention(g):
    """As exporters write it: projections, heads, scores, a mask, Softmax."""
    batch, time, heads, size = g.integer(1, 2), g.integer(1, 6), g.choice([1, 2, 4]), g.choice([2, 4])
    width = heads * size
    value = g.pick(lambda v: is_float4(v) and v.rank == 3 and v.shape[2] == width and v.shape[1] > 0,
                   lambda: g.add_input(g.array((batch, time, width))))
    shape = g.fixed([0, 0, heads, size], I8)
    parts = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        weight = g.constant(g.real_array((width, width), 0.4))
        parts.append(g.emit("Transpose", g.emit("Reshape", g.emit("MatMul", value, weight, exact=False), shape), perm=perm))
    scores = g.emit("MatMul", parts[0], parts[1])
    scores = g.emit(g.choice(["Div", "Mul"]), scores, g.fixed(np.float32(size ** 0.5 if g.chance(0.9) else 1)))
    time = scores.shape[-1]
    if g.chance(0.4):
        mask = np.triu(np.full((time, time), -1e3, "f4"), 1)
        scores = g.emit("Add", scores, g.constant(mask))
    made = g.emit("MatMul", g.emit("Softmax", scores, axis=-1), parts[2])
    joined = g.emit("Reshape", g.emit("Transpose", made, perm=[0, 2, 1, 3]), g.fixed([0, 0, width], I8))
    if g.chance(0.5):
        g.emit("Add", joined, value)


def attention_operator(g):
    if g.opset < 23:
        raise Reject
    batch, heads, groups, size = g.integer(1, 2), g.choice([1, 2]), g.choice([1, 2]), g.choice([2, 4])
    query, key = g.integer(1, 4), g.integer(1, 5)
    make = lambda *shape: g.constant(g.real_array(shape))
    past = [make(batch, heads, 2, size), make(batch, heads, 2, size)] if g.chance(0.3) else []
    total = key + (2 if past else 0)
    mask = g.constant(g.real_array((query, total))) if g.chance(0.4) else None
    causal = {"is_causal": 1} if query == key and not past and g.chance(0.4) else {}
    g.emit("Attention", make(batch, heads * groups, query, size), make(batch, heads, key, size), make(batch, heads, key, size),
           mask, *past, outputs=3 if past else 1, exact=False, **causal)


def recurrent(g):
    kind = g.choice(["LSTM", "GRU", "RNN"])
    time, batch, width, hidden = g.integer(1, 4), g.integer(1, 2), g.integer(1, 5), g.integer(1, 4)
    value = g.pick(lambda v: is_float4(v) and v.rank == 3 and min(v.shape) > 0,
                   lambda: g.add_input(g.array((time, batch, width))))
    time, batch, width = value.shape
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    directions = g.choice([1, 1, 2])
    way = "bidirectional" if directions == 2 else g.choice(["forward", "forward", "reverse"])
    weight = lambda *shape: g.constant(g.real_array((directions, *shape), 0.3))
    bias = weight(2 * gates * hidden) if g.chance(0.6) else None
    lengths = g.constant(g.root.numpy.integers(1, time + 1, batch), I4) if g.chance(0.15) else None
    states = [weight(batch, hidden) if g.chance(0.4) else None]
    if kind == "LSTM":
        states.append(weight(batch, hidden) if states[0] else None)
    wanted = g.choice([[True, True], [True], [False, True]] + ([[True, True, True], [True, False, True]] if kind == "LSTM" else []))
    extra = {"linear_before_reset": g.integer(0, 1)} if kind == "GRU" else {}
    g.emit(kind, value, weight(gates * hidden, width), weight(gates * hidden, hidden), bias, lengths, *states, outputs=wanted,
           exact=False, hidden_size=hidden, direction=way, **extra)


# ---- quantized ----
def scale_of(g, shape=()):
    return g.fixed(np.full(shape, 2.0 ** -g.integer(2, 5), "f4"))


def zero_of(g, dtype, shape=()):
    return g.fixed(np.full(shape, g.integer(100, 140) if dtype == U1 else g.choice([0, 0, -3]), dtype))


def quantize(g, value, dtype=None):
    dtype = dtype or g.choice([U1, I1])
    scale = scale_of(g)
    need_margin(value.data / scale.data, value.exact)
    return g.emit("QuantizeLinear", value, scale, zero_of(g, dtype), exact=True)


def quantize_and_back(g):
    value = g.pick(is_float4, lambda: g.tensor(g.shape()))
    made = quantize(g, value)
    g.emit("DequantizeLinear", made, scale_of(g), zero_of(g, made.dtype))


def quantize_axis(g):
    value = g.pick(lambda v: is_float4(v) and v.rank >= 2 and v.exact, lambda: g.tensor(g.shape(2)))
    axis = g.integer(0, value.rank - 1)
    count, dtype = value.shape[axis], g.choice([U1, I1])
    scales = g.fixed((2.0 ** -g.root.numpy.integers(1, 5, count)).astype("f4"))
    zeros = zero_of(g, dtype, (count,))
    made = g.emit("QuantizeLinear", value, scales, zeros, axis=axis)
    g.emit("DequantizeLinear", made, scales, zeros, axis=axis)


def dynamic_quantize(g):
    value = g.pick(lambda v: is_float4(v) and v.data.size, lambda: g.tensor(g.shape()))
    low, high = min(0, value.data.min()), max(0, value.data.max())
    if high == low:
        raise Reject
    scale = (high - low) / 255
    need_margin(value.data / scale, False)
    need_margin(np.array(low / scale), False)
    g.emit("DynamicQuantizeLinear", value, outputs=3, exact=True)


def quantized_product(g):
    value = g.pick(lambda v: v.dtype in (U1, I1) and v.rank == 2, lambda: g.tensor(g.shape(2, 2, most=9), U1))
    kind, dtype = g.choice(["QLinearMatMul", "MatMulInteger"]), g.choice([U1, I1])
    other = g.tensor((value.shape[1], g.integer(1, 6)), dtype)
    if kind == "MatMulInteger":
        g.emit(kind, value, other, zero_of(g, value.dtype), zero_of(g, dtype))
        return
    out = g.choice([U1, I1])
    g.emit(kind, value, scale_of(g), zero_of(g, value.dtype), other, scale_of(g), zero_of(g, dtype), scale_of(g), zero_of(g, out))


def quantized_conv(g):
    channels, out, size = g.integer(1, 4), g.integer(1, 4), g.integer(1, 3)
    value = g.pick(lambda v: v.dtype in (U1, I1) and v.rank == 4 and min(v.shape[2:]) >= 3,
                   lambda: g.tensor((1, channels, g.integer(3, 7), g.integer(3, 7)), U1))
    weight = g.tensor((out, value.shape[1], size, size), g.choice([U1, I1]))
    pads = {"pads": [1] * 4} if g.chance(0.5) else {}
    if g.chance(0.3):
        g.emit("ConvInteger", value, weight, zero_of(g, value.dtype), zero_of(g, weight.dtype), **pads)
    else:
        g.emit("QLinearConv", value, scale_of(g), zero_of(g, value.dtype), weight, scale_of(g), zero_of(g, weight.dtype), scale_of(g),
               zero_of(g, value.dtype), **pads)


def quantized_layer(g):
    """Quantize, dequantize, multiply: as a tool for quantized training writes it."""
    value = g.pick(lambda v: is_float4(v) and v.rank == 2, lambda: g.tensor(g.shape(2, 2, most=8)))
    made = quantize(g, value)
    left = g.emit("DequantizeLinear", made, scale_of(g), zero_of(g, made.dtype))
    weight = g.emit("DequantizeLinear", g.fixed(g.array((value.shape[1], g.integer(1, 6)), I1)), scale_of(g), zero_of(g, I1))
    quantize(g, g.emit("MatMul", left, weight))


CONVOLUTIONAL = [conv] * 4 + [batch_norm, conv_transpose, pool, pool, pool, unpool, resize, space_depth, grid_sample, normalize]
DENSE = [product] * 3 + [gemm, gemm, attention, attention, attention_operator, recurrent, recurrent, normalize, normalize]
QUANTIZED = [quantize_and_back, quantize_and_back, quantize_axis, dynamic_quantize, quantized_product, quantized_conv,
             quantized_layer]
