"""Where a witness is known not to do what ONNX says, or ONNX says nothing: each with the reason. What stands here is counted
and told, but it is no difference.

A row: who is apart (onnx: the reference evaluator of onnx 1.23; onnxruntime: 1.31; one witness: the reference evaluator, where
onnxruntime has no kernel), operators, a condition on the node or None, the reason."""
import numpy as np
from onnx import numpy_helper

from random_graph import INTEGERS, WORDS


def attribute(node, name, default=None):
    for item in node.attribute:
        if item.name == name:
            return {1: item.f, 2: item.i, 3: item.s, 6: list(item.floats), 7: list(item.ints)}.get(item.type, default)
    return default


def has_sequence_lengths(node, _model, _inputs, _case):
    return len(node.input) > 4 and node.input[4] != ""


def pads_by_itself(node, _model, _inputs, _case):
    return attribute(node, "auto_pad", b"NOTSET") != b"NOTSET"


def is_dense_p1(node, _model, _inputs, _case):
    return attribute(node, "p", 2) == 1


def goes_on_by_itself(node, model, _inputs, _case):
    """Without a condition to start with, whose body computes one."""
    body = next(item.g for item in node.attribute if item.name == "body")
    makers = {name: inner.op_type for inner in body.node for name in inner.output}
    return (len(node.input) < 2 or not node.input[1]) and makers.get(body.output[0].name) != "Identity"


def gives_one_value_twice(node, _model, _inputs, _case):
    return any(len({port.name for port in item.g.output}) < len(item.g.output) for item in node.attribute if item.HasField("g"))


def pads_otherwise(node, _model, _inputs, _case):
    return len(set(attribute(node, "pads") or [0])) > 1


def is_pytorch_half_pixel(node, _model, _inputs, _case):
    return attribute(node, "coordinate_transformation_mode") == b"pytorch_half_pixel"


def _arrays(model, inputs, case):
    """What the part reads and what the case names, its constants too."""
    protos = [*model.graph.initializer, *(item.t for node in model.graph.node if node.op_type == "Constant" for item in node.attribute)]
    return [*(value.data for value in case.values.values() if value.is_tensor), *inputs.values(), *map(numpy_helper.to_array, protos)]


def of_no_elements(_node, model, inputs, case):
    arrays = _arrays(model, inputs, case)
    return any(not isinstance(array, list) and array.size == 0 for array in arrays)


def overflows(node, _model, _inputs, case):
    arrays = [case.values[name].data for name in node.output if name in case.values]
    if node.op_type == "ReduceProd":
        return any(array.dtype in INTEGERS for array in arrays)
    return any(not isinstance(array, list) and array.dtype == np.int64 and np.abs(array.astype(np.float64)).max(initial=0) > 2 ** 40
               for array in arrays)


def has_ceil_mode(node, _model, _inputs, _case):
    return attribute(node, "ceil_mode", 0) == 1


def of_scalars(_node, model, inputs, case):
    arrays = _arrays(model, inputs, case)
    return any(not isinstance(array, list) and array.ndim == 0 for array in arrays)


def is_align_corners(node, _model, _inputs, _case):
    return attribute(node, "coordinate_transformation_mode") == b"align_corners"


def has_coordinate_on_a_step(node, model, inputs, case):
    """The lengths are given, and for one of them a scale of float32 leads to another element than the quotient itself."""
    sizes = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    sizes.update(inputs)
    data = inputs.get(node.input[0])
    place = {b"half_pixel": 0.5, b"asymmetric": 0}.get(attribute(node, "coordinate_transformation_mode", b"half_pixel"))
    if (attribute(node, "mode", b"nearest") != b"nearest" or len(node.input) < 4 or node.input[3] not in sizes or data is None
            or place is None):
        return False
    mode = attribute(node, "nearest_mode", b"round_prefer_floor")
    near = {b"floor": np.floor, b"ceil": np.ceil, b"round_prefer_floor": lambda x: np.ceil(x - 0.5),
            b"round_prefer_ceil": lambda x: np.floor(x + 0.5)}[mode]
    axes = attribute(node, "axes") or range(data.ndim)
    for axis, size in zip(axes, sizes[node.input[3]]):
        made, length = np.arange(size), data.shape[axis]
        right = near((made + place) * length / size - place)
        if not np.array_equal(right, near(((made + place) / np.float32(size / length)).astype(np.float32) - np.float32(place))):
            return True
    return False


def has_indices(node, _model, _inputs, _case):
    return len(node.output) > 1 and node.output[1] != ""


def has_position(node, _model, _inputs, _case):
    return len(node.input) > 2


def of_strings(_node, _model, _inputs, case):
    return any(value.is_tensor and value.dtype == object for value in case.values.values()) or any(
        item.dtype == object for item in case.inputs.values())


def of_nearly_equal(node, _model, inputs, case):
    """A deviation that is lost beside the mean: the error of the mean, of half a unit in the last place, is 1e-4 of it, or the error
    of the mean's square is."""
    name = node.input[0]
    data = inputs.get(name, case.values[name].data if name in case.values else None)
    if data is None:
        return False
    groups = {"LayerNormalization": lambda x: x.reshape(*x.shape[:attribute(node, "axis", -1) % x.ndim], -1),
              "GroupNormalization": lambda x: x.reshape(x.shape[0], attribute(node, "num_groups"), -1),
              "InstanceNormalization": lambda x: x.reshape(*x.shape[:2], -1),
              "MeanVarianceNormalization": lambda x: np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)}
    wide = groups[node.op_type](np.asarray(data, np.float64))
    return bool((np.abs(wide.mean(-1)) > 10 * wide.std(-1)).any())


def has_no_room_for_its_window(node, _model, inputs, case):
    """The output has no elements, though the input has."""
    def size_of(name):
        value = inputs.get(name, case.values[name].data if name in case.values else None)
        return -1 if value is None else np.size(value)
    return size_of(node.input[0]) != 0 and size_of(node.output[0]) == 0


def of_an_infinite_half(node, _model, _inputs, case):
    data = case.values[node.output[0]].data if node.output[0] in case.values else None
    return case.is_coarse and data is not None and bool(np.isinf(data.astype(np.float64)).any())


def has_delimiter(node, _model, _inputs, _case):
    return attribute(node, "delimiter") is not None


def has_letters_with_marks(_node, model, inputs, _case):
    texts = [text for array in inputs.values() if not isinstance(array, list) for text in np.ravel(array) if isinstance(text, str)]
    return not model.SerializeToString().isascii() and any(mark in model.SerializeToString() for mark in MARKS) or any(
        not text.isascii() for text in texts)


MARKS = tuple(text.encode() for text in WORDS if not text.isascii())
ROWS = [
    (("onnx", "one witness"), ["OptionalGetElement"], None,
     "the reference evaluator gives a list of one tensor where the optional holds a tensor"),
    (("onnxruntime",), ["OptionalGetElement"], None,
     "the reference evaluator's list of one tensor is what the case declares, so onnxruntime refuses its type"),
    (("onnx", "one witness"), ["GlobalMaxPool"], None,
     "the reference evaluator takes the maximum over channels, too, where there is one axis of space"),
    (("onnx", "one witness"), ["LpNormalization"], is_dense_p1,
     "the reference evaluator sums the elements for p = 1; the 1-norm sums their magnitudes"),
    (("onnx", "one witness"), ["GRU", "LSTM", "RNN"], has_sequence_lengths,
     "the reference evaluator does not look at sequence_lens"),
    (("onnx", "one witness"), ["QLinearMatMul", "QLinearConv"], None,
     "the reference evaluator adds the zero point before it rounds; QuantizeLinear rounds x / scale to even, then adds it"),
    (("onnx", "one witness"), ["MaxPool", "AveragePool", "LpPool"], pads_by_itself,
     "the reference evaluator pads by a negative number where a stride is larger than the window; the specification has no "
     "such padding, and onnxruntime refuses"),
    (("onnx", "one witness"), ["StringNormalizer"], None,
     "the reference evaluator drops empty strings, and those that are only marks"),
    (("onnx", "one witness"), ["MaxPool"], has_indices,
     "the reference evaluator counts the indices in each channel, not in the whole tensor"),
    (("onnx", "one witness"), ["MaxPool"], pads_otherwise,
     "the reference evaluator mixes up the axes of paddings that are not all the same"),
    (("onnx", "one witness"), ["SequenceInsert"], has_position,
     "the reference evaluator inserts one place too early, or from the end, for some positions"),
    (("onnxruntime",), ["Loop"], goes_on_by_itself,
     "the specification of Loop: (trip_count, \"\") is a for loop whose condition is ignored; onnxruntime stops by it"),
    (("onnx", "one witness"), ["Resize"], is_pytorch_half_pixel,
     "pytorch_half_pixel takes the coordinate 0 where the output's length is 1; the reference evaluator looks at the product of "
     "length and scale"),
    (("onnxruntime",), ["If", "Loop", "Scan"], gives_one_value_twice,
     "a graph that gives one value as two outputs: onnxruntime writes one of them only, and leaves what was in memory in the other"),
    (("onnxruntime",), ["ArgMax", "ArgMin", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceMean", "ReduceL1",
                       "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"], of_no_elements,
     "of no elements: the axes of a reduction go as ever; onnxruntime leaves the shape as it is"),
    (("onnxruntime",), ["ReduceProd", "Pow", "Mul"], overflows,
     "a product beyond the integers of its type wraps around; onnxruntime goes through a floating-point number and saturates"),
    (("onnxruntime",), ["Gemm"], of_no_elements,
     "a Gemm over no elements is beta * C; onnxruntime leaves beta out"),
    (("onnx", "one witness"), ["MaxPool", "AveragePool", "LpPool"], has_ceil_mode,
     "the reference evaluator does not pad where ceil_mode is set and there is one axis of space, or counts a window that begins in "
     "the padding"),
    (("onnxruntime",), ["NonZero"], of_scalars,
     "the specification of NonZero: a scalar gives (0, N); onnxruntime gives (1, N)"),
    (("onnxruntime",), ["Gather"], of_strings,
     "onnxruntime copies the first string of each block only, and leaves the others empty"),
    (("onnxruntime",), ["StringSplit"], has_delimiter,
     "onnxruntime finds no part in an empty string; the specification splits as Python does, which finds one"),
    (("onnxruntime",), ["MeanVarianceNormalization"], None,
     "onnxruntime has no epsilon and divides 0 by 0 where all elements are the same"),
    (("onnxruntime",), ["LayerNormalization", "InstanceNormalization", "GroupNormalization"], of_nearly_equal,
     "of nearly equal elements: onnxruntime rounds the mean to float32, or (GroupNormalization, by the function of the specification) "
     "takes the square of the mean from the mean of the squares"),
    (("layover",), ["Conv"], has_no_room_for_its_window,
     "a window larger than the padded image: Layover refuses, as onnxruntime does of every opset that it takes; the reference "
     "evaluator gives an image without rows"),
    (("onnxruntime",), ["Cast"], of_an_infinite_half,
     "onnxruntime computes a float16 Mul in float32 and drops the Casts between: what a float16 cannot hold goes on as it is"),
    (("onnxruntime",), ["Resize"], has_coordinate_on_a_step,
     "nearest: onnxruntime rounds the scale, of two lengths, to float32, and a coordinate that is a whole number (or a half) falls "
     "beside it"),
    (("onnxruntime",), ["Resize"], is_align_corners,
     "length_resized of align_corners: onnxruntime takes the product of length and scale, the others the output's length"),
    (("onnx", "onnxruntime", "one witness", "layover"), ["StringNormalizer"], has_letters_with_marks,
     "letters beyond ASCII: the reference evaluator strips their marks, and onnxruntime leaves to the locale which have another "
     "case; Layover has Unicode's cases, whatever the locale"),
]


def _nodes_of(node):
    """A node and those in its graphs."""
    yield node
    for item in node.attribute:
        if item.HasField("g"):
            for inner in item.g.node:
                yield from _nodes_of(inner)


def _calls(node, model):
    bodies = {function.name: function.node for function in model.functions}
    for inner in _nodes_of(node):
        yield inner
        for called in bodies.get(inner.op_type, ()) if inner.domain else ():
            yield from _calls(called, model)


def _suspects(node, model):
    """The node and those of the part that it reads from: it alone, with their results given, makes no difference."""
    if node is None:
        return list(model.graph.node)
    makers = {name: other for other in model.graph.node for name in other.output if name}
    found, left = [], [node]
    while left:
        suspect = left.pop(0)
        if suspect not in found:
            found.append(suspect)
            left += [makers[name] for inner in _nodes_of(suspect) for name in inner.input if name in makers]
    return found


def explain(who, node, model, inputs, case):
    """The reason, or None."""
    for found in _suspects(node, model):
        for inner in _calls(found, model):
            for apart, names, condition, reason in ROWS:
                if who in apart and inner.op_type in names and (condition is None or condition(inner, model, inputs, case)):
                    return reason
    return None
