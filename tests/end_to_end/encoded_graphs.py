"""Small encoders and decoders in the form that a search of com.microsoft expects, of texts (T5) and of sounds (Whisper)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TOKENS, HEADS, SIZE, FEATURES = 11, 3, 2, 4
WIDTH = HEADS * SIZE
REAL, WHOLE = TensorProto.FLOAT, TensorProto.INT32
node, value = helper.make_node, helper.make_tensor_value_info


def constants(seed, end):
    """What both graphs know; `end`: how likely token 1 is."""
    random = np.random.default_rng(seed)

    def weights(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)

    def numbers(name, *values):
        return numpy_helper.from_array(np.array(values, np.int64), name)

    made = [weights("words", TOKENS, WIDTH), weights("out", WIDTH, TOKENS)]
    likely = random.standard_normal(TOKENS).astype(np.float32)
    likely[1] += end
    return made + [numpy_helper.from_array(likely, "likely"), weights("features", FEATURES, WIDTH), numbers("heads", 0, 0, HEADS, SIZE),
                   numbers("flat", 0, 0, -1), numbers("mask_axes", 1, 3), numbers("two", 2),
                   numpy_helper.from_array(np.float32(0.5), "half")]


def layer(number, x, past, cross, mask):
    """The nodes of a layer and its output: what came before and what was encoded are added up. past, cross: keys and values."""
    key, values, name = f"present_key_self_{number}", f"present_value_self_{number}", f"{x}{number}"
    nodes = [node("Reshape", [x, "heads"], [name + "split"]), node("Transpose", [name + "split"], [name + "k"], perm=[0, 2, 1, 3]),
             node("Mul", [name + "k", "half"], [name + "v"]), node("Concat", [*past[:1], name + "k"], [key], axis=2),
             node("Concat", [*past[1:], name + "v"], [values], axis=2), node("Mul", [key, values], [name + "own"]),
             node("ReduceMean", [name + "own", "two"], [name + "mean"]), node("Mul", [cross[0], mask], [name + "seen"]),
             node("Mul", [name + "seen", cross[1]], [name + "crossed"]), node("ReduceSum", [name + "crossed", "two"], [name + "sum"]),
             node("Add", [name + "mean", name + "sum"], [name + "both"]),
             node("Transpose", [name + "both"], [name + "back"], perm=[0, 2, 1, 3]), node("Reshape", [name + "back", "flat"], [name + "f"]),
             node("Add", [x, name + "f"], [name + "a"]), node("Tanh", [name + "a"], [name + "x"])]
    return nodes, name + "x"


def caches(kind, which, count, places):
    return [value(f"{kind}_{part}_{which}_{i}", REAL, ["b", HEADS, places, SIZE]) for i in range(count) for part in ("key", "value")]


def decode(ids, mask, pasts, crosses):
    """The nodes from ids to logits."""
    nodes, x = [node("Gather", ["words", ids], ["x"])], "x"
    for i, (past, cross) in enumerate(zip(pasts, crosses)):
        more, x = layer(i, x, past, cross, mask)
        nodes += more
    return nodes + [node("MatMul", [x, "out"], ["product"]), node("Add", ["product", "likely"], ["logits"])]


def pairs(values):
    names = [v.name for v in values]
    return list(zip(names[::2], names[1::2]))


MASK = [node("Cast", ["encoder_attention_mask"], ["real_mask"], to=REAL), node("Unsqueeze", ["real_mask", "mask_axes"], ["seen"])]


def make_encoder(seed, end, layers, sounds, cross_only):
    cross = caches("present", "cross", layers, "s")
    if sounds:
        nodes = [node("Transpose", ["encoder_input_ids"], ["turned"], perm=[0, 2, 1]), node("MatMul", ["turned", "features"], ["h"])]
        inputs = [value("encoder_input_ids", REAL, ["b", FEATURES, "s"])]
    else:
        nodes = [node("Gather", ["words", "encoder_input_ids"], ["h"]), *MASK]
        inputs = [value("encoder_input_ids", WHOLE, ["b", "s"]), value("encoder_attention_mask", WHOLE, ["b", "s"])]
    for i, (key, values) in enumerate(pairs(cross)):
        nodes += [node("Reshape", ["h", "heads"], [f"h{i}"]), node("Transpose", [f"h{i}"], [key], perm=[0, 2, 1, 3]),
                  node("Tanh", [key], [values])]
    if cross_only:
        return helper.make_graph(nodes, "encoder", inputs, cross, constants(seed, end))
    nodes += decode("decoder_input_ids", "half" if sounds else "seen", [()] * layers, pairs(cross))
    nodes += [node("Identity", ["h"], ["encoder_hidden_states"])]
    outputs = [value("logits", REAL, ["b", "n", TOKENS]), value("encoder_hidden_states", REAL, ["b", "s", WIDTH]),
               *caches("present", "self", layers, "n"), *cross]
    return helper.make_graph(nodes, "encoder", [*inputs, value("decoder_input_ids", WHOLE, ["b", "n"])], outputs, constants(seed, end))


def make_decoder(seed, end, layers, sounds, hidden):
    """hidden: takes the encoder's states, of which onnxruntime gives the shape alone."""
    past, cross = caches("past", "self", layers, "p"), caches("past", "cross", layers, "s")
    inputs = [value("input_ids", WHOLE, ["b", 1])]
    nodes = [] if sounds else list(MASK)
    mask = "half" if sounds else "seen"
    if not sounds:
        inputs.append(value("encoder_attention_mask", WHOLE, ["b", "s"]))
    if hidden:
        inputs.append(value("encoder_hidden_states", REAL, ["b", "s", WIDTH]))
        nodes += [node("Shape", ["encoder_hidden_states"], ["places"], start=1, end=2), node("Cast", ["places"], ["factor"], to=REAL),
                  node("Mul", [mask, "factor"], ["scaled"])]
        mask = "scaled"
    nodes += decode("input_ids", mask, pairs(past), pairs(cross))
    outputs = [value("logits", REAL, ["b", 1, TOKENS]), *caches("present", "self", layers, "q")]
    return helper.make_graph(nodes, "decoder", [*inputs, *past, *cross], outputs, constants(seed, end))


def make_graphs(seed, end=0.0, layers=1, sounds=False, hidden=False, cross_only=False):
    """The attributes `encoder` and `decoder`."""
    return {"encoder": make_encoder(seed, end, layers, sounds, cross_only), "decoder": make_decoder(seed, end, layers, sounds, hidden)}
