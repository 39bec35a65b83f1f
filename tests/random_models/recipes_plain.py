"""Recipes: elementwise operators, comparisons, casts, reductions, and what moves elements around."""
import numpy as np

from random_graph import BF16, BOOL, F2, F4, F8, FLOATS, I1, I4, I8, INTEGERS, STRING, U1, Reject, float_elements

NUMBERS = FLOATS + INTEGERS
MARGIN = 1e-2


def is_float(value):
    return value.dtype in (F4, F8)


def is_float4(value):
    return value.dtype == F4


def is_number(value):
    return value.dtype in NUMBERS and value.dtype != BF16


def some_float(g):
    return g.pick(is_float4, lambda: g.tensor(g.shape()))


def need_margin(array, exact, edges=0.5):
    """Rounding: inexact elements stay away from where the result jumps."""
    if not exact and array.size and np.abs((array / edges) - np.round(array / edges)).min() < MARGIN:
        raise Reject


def need_sign(value):
    """The same of a step at 0."""
    if not value.exact and value.data.size and np.abs(value.data).min() < MARGIN:
        raise Reject


def need_gaps(value, other):
    if not (value.exact and other.exact):
        gap = np.abs(np.subtract(float_elements(value.data), float_elements(other.data), dtype=np.float64))
        if gap.size and gap.min() < MARGIN:
            raise Reject


def need_distinct(array, axis):
    """No two equal or close elements along an axis: which one comes first is then no matter of rounding."""
    ordered = np.sort(float_elements(array).astype(np.float64), axis=axis)
    gaps = np.diff(ordered, axis=axis)
    if gaps.size and gaps.min() < MARGIN:
        raise Reject


def broadcastable(g, shape):
    cut = list(shape[g.integer(0, len(shape)):]) if g.chance(0.4) else list(shape)
    return tuple(1 if g.chance(0.25) else size for size in cut)


def partner(g, value):
    """Something that broadcasts with value."""
    def fits(other):
        if other.dtype != value.dtype:
            return False
        try:
            np.broadcast_shapes(other.shape, value.shape)
        except ValueError:
            return False
        return True
    if g.chance(0.5):
        return g.pick(fits)
    return g.tensor(broadcastable(g, value.shape), value.dtype)


def arithmetic(g):
    value = g.pick(lambda v: v.dtype in (F4, F4, F8, I4, I8, F2), lambda: g.tensor(g.shape(), g.choice([F4, F4, I8, I4, F8])))
    kind = g.choice(["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean"])
    if kind in ("Mean", "Sum") and not is_float(value):
        raise Reject
    pair = [value, partner(g, value)]
    if g.chance(0.5):
        pair.reverse()
    g.emit(kind, *pair, exact=all(v.exact for v in pair) and kind != "Mean")


def division(g):
    value = g.pick(is_float, lambda: g.tensor(g.shape()))
    divisor = partner(g, value)
    if divisor.data.size and np.abs(divisor.data).min() < 0.1:
        divisor = g.emit("Add", g.emit("Abs", divisor), g.constant(np.array(0.5, value.dtype)))
    g.emit("Div", value, divisor, exact=False)


def integer_division(g):
    value = g.pick(lambda v: v.dtype in (I4, I8))
    divisor = g.constant(np.array(g.choice([2, 3, 5, 7]), value.dtype), may_be_input=False)
    if (value.data < 0).any():
        value = g.emit("Abs", value)
    g.emit(g.choice(["Div", "Mod"]), value, divisor)


SAME = ["Neg", "Abs", "Relu", "Identity", "Sign"]
SMOOTH = ["Sigmoid", "Tanh", "Erf", "Softsign", "Softplus", "Elu", "Selu", "Sin", "Cos", "Atan", "HardSigmoid", "Exp",
          "LeakyRelu", "ThresholdedRelu", "HardSwish", "Mish", "Gelu", "Celu", "Sqrt", "Log", "Reciprocal", "Asinh", "Swish"]
SINCE = {"HardSwish": 14, "Mish": 18, "Gelu": 20, "Swish": 24}


def exact_unary(g):
    value = g.pick(lambda v: v.dtype in (F4, F8, I4, I8), lambda: g.tensor(g.shape()))
    kind = g.choice(SAME)
    if value.dtype in (I4, I8) and kind == "Relu" and g.opset < 14:
        raise Reject
    if kind == "Sign":
        need_sign(value)
    g.emit(kind, value)


def smooth_unary(g):
    value, kind = some_float(g), g.choice(SMOOTH)
    if g.opset < SINCE.get(kind, 0):
        raise Reject
    if kind == "Exp" and value.data.size and value.data.max() > 6:
        value = g.emit("Tanh", value, exact=False)
    if kind in ("Sqrt", "Log", "Reciprocal"):
        value = g.emit("Add", g.emit("Abs", value), g.constant(np.float32(0.25)))
    if kind == "ThresholdedRelu":
        need_margin(value.data, value.exact, 1.0)
    attributes = {"alpha": 0.25} if kind in ("Elu", "LeakyRelu", "Celu") and g.chance(0.5) else {}
    if kind == "Gelu" and g.chance(0.5):
        attributes = {"approximate": "tanh"}
    g.emit(kind, value, exact=False, **attributes)


def rounding(g):
    value, kind = some_float(g), g.choice(["Floor", "Ceil", "Round"])
    need_margin(value.data, value.exact)
    g.emit(kind, value, exact=True)


def clip(g):
    value = g.pick(lambda v: v.dtype in (F4, F8, I4, I8), lambda: g.tensor(g.shape()))
    low = g.constant(np.array(-1, value.dtype)) if g.chance(0.7) else None
    high = g.constant(np.array(2, value.dtype)) if g.chance(0.7) or not low else None
    g.emit("Clip", value, low, high)


def compare(g):
    value = g.pick(lambda v: v.dtype in (F4, I4, I8), lambda: g.tensor(g.shape()))
    other = partner(g, value)
    need_gaps(value, other)
    kinds = ["Greater", "Less", "Equal"] + (["GreaterOrEqual", "LessOrEqual"] if g.opset >= 16 else [])
    g.emit(g.choice(kinds), value, other, exact=True)


def logic(g):
    value = g.pick(lambda v: v.dtype == BOOL, lambda: g.tensor(g.shape(), BOOL))
    kind = g.choice(["And", "Or", "Xor", "Not"])
    g.emit(kind, *([value] if kind == "Not" else [value, partner(g, value)]))


def where(g):
    value = g.pick(lambda v: v.dtype in (F4, I8, F8, STRING), lambda: g.tensor(g.shape()))
    other = partner(g, value)
    shape = broadcastable(g, np.broadcast_shapes(value.shape, other.shape))
    g.emit("Where", g.tensor(shape, BOOL), value, other)


def cast(g):
    value = g.pick(lambda v: v.dtype != STRING and v.dtype != BF16, lambda: g.tensor(g.shape()))
    to = g.choice([F4, F8, I4, I8, BOOL, U1, I1, F2, BF16])
    if value.dtype in FLOATS and to not in FLOATS:
        need_margin(float_elements(value.data), value.exact, 1.0)
        if value.data.size and (np.abs(value.data).max() > 100 or (to.kind == "u" and value.data.min() < 0)):
            raise Reject
    if value.dtype in INTEGERS and to.kind in "ui" and value.data.size:
        if value.data.min() < np.iinfo(to).min or value.data.max() > np.iinfo(to).max:
            raise Reject
    from random_graph import onnx_type
    exact = value.exact and to in (F4, F8, *INTEGERS, BOOL)
    made = g.emit("Cast", value, to=onnx_type(to), exact=exact or to not in FLOATS, keep=to not in (BF16, F2))
    if to in (BF16, F2):
        for _ in range(g.integer(0, 2)):
            kind = g.choice(["Relu", "Add", "Mul", "Abs", "Neg"])
            made = g.emit(kind, made, *([made] if kind in ("Add", "Mul") else []), exact=False, keep=False)
        g.emit("Cast", made, to=onnx_type(F4), exact=False)


def power(g):
    g.emit("Pow", some_float(g), g.fixed(np.array(g.choice([2, 3]), g.choice([F4, I8, I4]))), exact=False)


def bits(g):
    if g.opset < 18:
        raise Reject
    value = g.pick(lambda v: v.dtype in (I4, I8, U1), lambda: g.tensor(g.shape(), I4))
    kind = g.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    g.emit(kind, *([value] if kind == "BitwiseNot" else [value, partner(g, value)]))


REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
              "ReduceLogSumExp"]


def reduce(g):
    kind = g.choice(REDUCTIONS)
    value = g.pick(lambda v: v.dtype in (F4, I4, I8) and v.rank > 0, lambda: g.tensor(g.shape(1)))
    if value.dtype != F4 and kind in ("ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceL1"):
        raise Reject
    axes = sorted(g.random.sample(range(value.rank), g.integer(1, value.rank)))
    if g.chance(0.4):
        axes = [axis - value.rank for axis in axes]
    if g.opset >= 18 or kind == "ReduceSum":
        given = None if g.chance(0.15) else (g.fixed(axes, I8) if g.chance(0.8) else g.constant(axes, I8))
        extra = {"noop_with_empty_axes": 1} if g.chance(0.1) else {}
        if not given and extra:
            extra = {}
        g.emit(kind, value, given, keepdims=g.integer(0, 1), exact=value.exact and kind in ("ReduceMax", "ReduceMin"), **extra)
    else:
        g.emit(kind, value, axes=axes, keepdims=g.integer(0, 1), exact=value.exact and kind in ("ReduceMax", "ReduceMin"))


def arg(g):
    value = g.pick(lambda v: v.dtype in (F4, I4, I8) and v.rank > 0 and v.data.size, lambda: g.tensor(g.shape(1)))
    axis = g.integer(-value.rank, value.rank - 1)
    if not value.exact:
        need_distinct(value.data, axis)
    g.emit(g.choice(["ArgMax", "ArgMin"]), value, axis=axis, keepdims=g.integer(0, 1), exact=True,
           select_last_index=g.integer(0, 1))


def top_k(g):
    value = g.pick(lambda v: v.dtype in (F4, I8) and v.rank > 0 and v.data.size, lambda: g.tensor(g.shape(1, most=12)))
    axis = g.integer(-value.rank, value.rank - 1)
    if value.dtype == F4:
        need_distinct(value.data, axis)
    count = g.integer(1, value.shape[axis])
    g.emit("TopK", value, g.constant([count], I8), outputs=2, axis=axis, largest=g.integer(0, 1), exact=value.exact)


def cumulate(g):
    value = g.pick(lambda v: v.dtype in (F4, I8, I4) and v.rank > 0, lambda: g.tensor(g.shape(1)))
    axis = g.constant(np.array(g.integer(-value.rank, value.rank - 1), g.choice([I4, I8])))
    g.emit("CumSum", value, axis, exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


def softmax(g):
    value = g.pick(lambda v: is_float4(v) and v.rank > 0, lambda: g.tensor(g.shape(1)))
    g.emit(g.choice(["Softmax", "LogSoftmax", "Hardmax"][:2]), value, axis=g.integer(-value.rank, value.rank - 1), exact=False)


# ---- movement ----
def mover(g, least_rank=0):
    return g.pick(lambda v: v.rank >= least_rank and v.dtype != BF16,
                  lambda: g.tensor(g.shape(least_rank), g.choice([F4, F4, I8, BOOL, STRING, U1])))


def reshape(g):
    value = mover(g)
    left, sizes = int(np.prod(value.shape)), []
    if left == 0:
        raise Reject
    for _ in range(g.integer(0, 3)):
        size = g.choice([d for d in range(1, left + 1) if left % d == 0][:8])
        sizes.append(size)
        left //= size
    sizes.append(left)
    if g.chance(0.4):
        sizes[g.integer(0, len(sizes) - 1)] = -1
    g.emit("Reshape", value, g.constant(sizes, I8))


def dynamic_reshape(g):
    """The target is computed from shapes, as exporters write it."""
    value = mover(g, 2)
    shape = g.emit("Shape", value)
    part = g.emit("Gather", shape, g.fixed(np.array([g.integer(0, value.rank - 1)])), axis=0)
    target = g.emit("Concat", part, g.fixed([-1], I8), axis=0)
    g.emit("Reshape", value, target)


def shape_of(g):
    value = mover(g)
    attributes = {"start": g.integer(-2, 1), "end": g.integer(0, 3)} if g.opset >= 15 and g.chance(0.4) else {}
    g.emit(g.choice(["Shape", "Size"]) if not attributes else "Shape", value, exact=True, **attributes)


def transpose(g):
    value = mover(g)
    perm = list(range(value.rank))
    g.random.shuffle(perm)
    g.emit("Transpose", value, **({} if g.chance(0.2) or not perm else {"perm": perm}))


def concat(g):
    value = mover(g, 1)
    axis = g.integer(0, value.rank - 1)
    def fits(v):
        return (v.dtype == value.dtype and v.rank == value.rank
                and all(a == b for i, (a, b) in enumerate(zip(v.shape, value.shape)) if i != axis))
    parts = [g.pick(fits) for _ in range(g.integer(1, 2))] + [value]
    if g.chance(0.5):
        shape = list(value.shape)
        shape[axis] = g.integer(1, 3)
        parts.append(g.tensor(shape, value.dtype))
    g.random.shuffle(parts)
    g.emit("Concat", *parts, axis=axis - (value.rank if g.chance(0.3) else 0))


def split(g):
    value = mover(g, 1)
    axis = g.integer(0, value.rank - 1)
    size, count = value.shape[axis], g.integer(2, 3)
    if size < count:
        raise Reject
    cuts = sorted(g.random.sample(range(1, size), count - 1)) if size > 1 else []
    sizes = np.diff([0, *cuts, size])
    wanted = [g.chance(0.85) for _ in range(count)]
    if not any(wanted):
        raise Reject
    if size % count == 0 and g.chance(0.4):
        g.emit("Split", value, outputs=count, axis=axis, **({"num_outputs": count} if g.opset >= 18 else {}))
    else:
        g.emit("Split", value, g.constant(sizes, I8), outputs=[True] * count, axis=axis)


def slice_(g):
    value = mover(g, 1)
    axes = sorted(g.random.sample(range(value.rank), g.integer(1, value.rank)))
    starts, ends, steps = [], [], []
    for axis in axes:
        size, step = value.shape[axis], g.choice([1, 1, 1, 2, -1])
        start = g.integer(-size, size)
        end = g.choice([g.integer(-size, size), 2 ** 31 - 1]) if step > 0 else g.choice([g.integer(-size, size), -2 ** 31])
        starts.append(start), ends.append(end), steps.append(step)
    g.emit("Slice", value, g.constant(starts, I8), g.constant(ends, I8), g.constant(axes, I8), g.constant(steps, I8))


def gather(g):
    value = mover(g, 1)
    axis = g.integer(0, value.rank - 1)
    size = value.shape[axis]
    if size == 0:
        raise Reject
    indices = g.root.numpy.integers(-size, size, g.shape(0, 2, most=4)).astype(g.choice([I8, I4]))
    g.emit("Gather", value, g.constant(indices), axis=axis - (value.rank if g.chance(0.3) else 0))


def gather_elements(g):
    value = mover(g, 1)
    axis = g.integer(0, value.rank - 1)
    shape = [g.integer(1, size) if size else 0 for size in value.shape]
    shape[axis] = g.integer(1, 4)
    if 0 in value.shape:
        raise Reject
    g.emit("GatherElements", value, g.constant(g.root.numpy.integers(0, value.shape[axis], shape), I8), axis=axis)


def gather_nd(g):
    value = mover(g, 1)
    depth = g.integer(1, value.rank)
    if 0 in value.shape:
        raise Reject
    count = g.shape(1, 2, most=3)
    indices = np.stack([g.root.numpy.integers(0, value.shape[i], count) for i in range(depth)], -1)
    g.emit("GatherND", value, g.constant(indices, I8))


def scatter(g):
    value = g.pick(lambda v: v.rank > 0 and v.data.size and v.dtype in (F4, I8), lambda: g.tensor(g.shape(1)))
    axis = g.integer(0, value.rank - 1)
    shape = [1] * value.rank
    shape[axis] = g.integer(1, value.shape[axis])
    order = g.root.numpy.permutation(value.shape[axis])[:shape[axis]].reshape(shape)
    extra = {"reduction": g.choice(["add", "mul"])} if g.opset >= 16 and g.chance(0.4) else {}
    g.emit("ScatterElements", value, g.constant(order, I8), g.tensor(shape, value.dtype), axis=axis, **extra)


def scatter_nd(g):
    value = g.pick(lambda v: v.rank > 0 and v.data.size and v.dtype in (F4, I8), lambda: g.tensor(g.shape(1)))
    rows = g.root.numpy.permutation(value.shape[0])[:g.integer(1, value.shape[0])]
    updates = g.tensor((len(rows), *value.shape[1:]), value.dtype)
    extra = {"reduction": g.choice(["add", "mul"])} if g.opset >= 16 and g.chance(0.4) else {}
    g.emit("ScatterND", value, g.constant(rows.reshape(-1, 1), I8), updates, **extra)


def pad(g):
    value = g.pick(lambda v: v.rank > 0 and v.dtype in (F4, I8), lambda: g.tensor(g.shape(1)))
    mode = g.choice(["constant", "constant", "reflect", "edge"])
    least = min(value.shape)
    if mode != "constant" and least < 3:
        raise Reject
    pads = [g.integer(0, 2) for _ in range(2 * value.rank)]
    fill = g.constant(np.array(g.integer(-2, 2), value.dtype)) if mode == "constant" and g.chance(0.6) else None
    g.emit("Pad", value, g.constant(pads, I8), fill, mode=mode)


def tile(g):
    value = mover(g, 1)
    g.emit("Tile", value, g.constant([g.integer(1, 3) for _ in value.shape], I8))


def expand(g):
    value = mover(g)
    shape = [*([g.integer(1, 3)] if g.chance(0.5) else []), *(g.integer(1, 4) if size == 1 else size for size in value.shape)]
    g.emit("Expand", value, g.constant(shape, I8))


def squeeze(g):
    value = mover(g)
    ones = [i for i, size in enumerate(value.shape) if size == 1]
    if ones and g.chance(0.5):
        g.emit("Squeeze", value, None if g.chance(0.3) else g.fixed([g.choice(ones)], I8))
    elif g.chance(0.7):
        g.emit("Unsqueeze", value, g.fixed([g.integer(-value.rank - 1, value.rank)], I8))
    else:
        g.emit("Flatten", value, axis=g.integer(0, value.rank))


def one_hot(g):
    value = g.pick(lambda v: v.dtype == I8 and 0 < v.rank < 3, lambda: g.tensor(g.shape(1, 2), I8))
    g.emit("OneHot", value, g.constant(np.array(g.integer(1, 5)), I8), g.tensor((2,), g.choice([F4, I8])),
           axis=g.choice([-1, 0]))


def triangle(g):
    if g.opset < 14:
        raise Reject
    value = g.pick(lambda v: v.rank > 1 and v.dtype in (F4, I8), lambda: g.tensor(g.shape(2)))
    g.emit("Trilu", value, g.constant(np.array(g.integer(-2, 2)), I8) if g.chance(0.6) else None, upper=g.integer(0, 1))


def range_(g):
    start, step = g.integer(-3, 3), g.choice([1, 2, -1])
    g.emit("Range", *(g.constant(np.array(number), I8) for number in (start, start + step * g.integer(0, 5), step)))


def constant_of_shape(g):
    value = mover(g)
    from random_graph import to_proto
    g.emit("ConstantOfShape", g.emit("Shape", value), value=to_proto(np.array([g.integer(-1, 3)], g.choice([F4, I8])), "fill"))


def unique(g):
    value = g.pick(lambda v: v.dtype in (I8, F4) and v.exact and v.data.size, lambda: g.tensor(g.shape(1), I8))
    axis = {"axis": g.integer(0, value.rank - 1)} if value.rank and g.chance(0.4) else {}
    g.emit("Unique", value, outputs=4, sorted=1, **axis)


def non_zero(g):
    g.emit("NonZero", g.pick(lambda v: v.exact and v.dtype in (F4, I8, BOOL), lambda: g.tensor(g.shape(1), BOOL)))


def compress(g):
    value = mover(g, 1)
    axis = g.integer(0, value.rank - 1)
    g.emit("Compress", value, g.tensor((value.shape[axis],), BOOL), axis=axis)


def einsum(g):
    one = g.pick(lambda v: is_float4(v) and v.rank == 2, lambda: g.tensor(g.shape(2, 2)))
    other = g.tensor((one.shape[1], g.integer(1, 4)))
    g.emit("Einsum", one, other, equation=g.choice(["ij,jk->ik", "ij,jk->ki", "ij,jk->j", "ij,jk"]), exact=False)


def reverse_sequence(g):
    value = g.pick(lambda v: v.rank > 1 and v.dtype in (F4, I8) and v.data.size, lambda: g.tensor(g.shape(2)))
    lengths = g.root.numpy.integers(1, value.shape[0] + 1, value.shape[1])
    g.emit("ReverseSequence", value, g.constant(lengths, I8), time_axis=0, batch_axis=1)


ELEMENTWISE = [arithmetic] * 5 + [division, integer_division, exact_unary] + [smooth_unary] * 4 + [
    rounding, clip, compare, logic, where, cast, cast, power, bits]
REDUCING = [reduce] * 3 + [arg, top_k, top_k, cumulate, softmax, unique, non_zero]
MOVING = [reshape, reshape, dynamic_reshape, shape_of, transpose, transpose, concat, concat, split, split, slice_, slice_, gather, gather,
          gather_elements, gather_nd, scatter, scatter_nd, pad, pad, tile, expand, squeeze, squeeze, one_hot, triangle, range_,
          constant_of_shape, compress, einsum, reverse_sequence]
