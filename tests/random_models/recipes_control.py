"""Recipes: branches, loops, scans, functions; strings, sequences, optionals."""
import numpy as np
from onnx import TensorProto, helper

from random_graph import BOOL, DOMAIN, F4, I8, STRING, Reject, Value, evaluate, onnx_type
from recipes_plain import ELEMENTWISE, MOVING, REDUCING, is_float4
from recipes_network import DENSE

DEPTH_MAX = 2


def fill(child, steps):
    """Some nodes of a body."""
    recipes = ELEMENTWISE * 2 + MOVING + REDUCING + DENSE[:5]
    if child.depth < DEPTH_MAX and not child.is_function:
        recipes = recipes + [branch, loop, scan]
    done = 0
    for _ in range(3 * steps):
        done += child.attempt(child.random.choice(recipes))
        if done >= steps:
            break


def condition(g):
    """A scalar that depends on what there is."""
    value = g.pick(lambda v: is_float4(v) and v.data.size and v.exact and v.rank > 0, lambda: g.tensor(g.shape(1)))
    if g.opset >= 18:
        top = g.emit("ReduceMax", value, keepdims=0, exact=True)
    else:
        top = g.emit("ReduceMax", value, keepdims=0, exact=True)
    return g.emit("Greater", top, g.fixed(np.float32(g.choice([-1, 0, 1, 2]))), exact=True)


def same_type(g, value):
    found = [v for v in g.pool if v.is_tensor and v.dtype == value.dtype and v.rank == value.rank]
    return found[g.integer(0, len(found) - 1)] if found else g.emit("Identity", g.tensor(value.shape, value.dtype))


def branch(g):
    if g.is_function:
        raise Reject
    test = condition(g)
    one, other = g.child(), g.child()
    fill(one, g.integer(1, 4))
    fill(other, g.integer(0, 3))
    firsts = [v for v in one.pool if v.is_tensor and v.dtype.name != "bfloat16"]
    if not firsts:
        raise Reject
    firsts = g.random.sample(firsts, min(len(firsts), g.integer(1, 3)))
    firsts = [one.emit("Identity", v) if v.name in {i.name for i in one.initializers} else v for v in firsts]
    others = [same_type(other, value) for value in firsts]
    exact = all(v.exact for v in firsts + others)
    sides = [one.body("then", [], firsts, declared=False), other.body("otherwise", [], others, declared=False)]
    if g.chance(0.5):
        sides.reverse()
    g.emit("If", test, outputs=len(firsts), exact=exact, then_branch=sides[0], else_branch=sides[1])


def next_state(body, state):
    """What the next round carries: of the same type and shape."""
    found = [v for v in body.pool if v.is_tensor and v.dtype == state.dtype and v.shape == state.shape and v is not state]
    if found and body.chance(0.7):
        made = found[-1]
        if state.dtype == F4:
            made = body.emit("Tanh", made, exact=False) if body.chance(0.7) else body.emit("Mul", made, body.fixed(np.float32(0.25)))
        return made
    if state.dtype in (F4, I8):
        return body.emit("Add", body.emit("Identity", state) if body.chance(0.2) else state, body.fixed(np.array(1, state.dtype)))
    return body.emit("Identity", state)


def loop(g):
    if g.is_function:
        raise Reject
    states = [g.pick(lambda v: v.dtype in (F4, I8, BOOL) and v.rank < 4, lambda: g.tensor(g.shape(0, 2))) for _ in range(g.integer(1, 2))]
    trips = g.choice([0, 1, 2, 3, 3, 4])
    body = g.child()
    count = Value(g.fresh_name("round"), np.array(0, I8))
    going = Value(g.fresh_name("going"), np.array(True))
    carried = [Value(g.fresh_name("state"), v.data, None) for v in states]
    body.pool += [count, *carried]
    fill(body, g.integer(1, 4))
    states_out = [next_state(body, state) for state in carried]
    stop = body.emit("Less", count, body.fixed(np.array(g.integer(0, 4), I8)), exact=True) if g.chance(0.4) else body.emit("Identity", going, keep=False)
    scanned = [v for v in body.pool if v.is_tensor and v.name != count.name and v.rank < 4 and v.dtype in (F4, I8, BOOL)
               and v not in carried]
    scanned = g.random.sample(scanned, min(len(scanned), g.integer(0, 2)))
    scanned = [body.emit("Identity", v, keep=False) for v in scanned]
    outs = [body.emit("Identity", v, keep=False) for v in states_out]
    grow(g, body, states, carried, outs)
    graph = body.body("round", [count, going, *carried], [stop, *outs, *scanned], declared=False)
    begin = g.chance(0.9)
    if trips == 0 or not begin:
        for info, value in zip(graph.output[1 + len(outs):], scanned):
            info.type.CopyFrom(helper.make_tensor_type_proto(onnx_type(value.dtype), value.shape))
    start = g.constant(np.array(begin), BOOL) if not begin or g.chance(0.4) else None
    for info, value in zip(graph.input, [count, going]):
        info.type.CopyFrom(helper.make_tensor_type_proto(onnx_type(value.dtype), []))
    limit = g.constant(np.array(trips, I8)) if g.chance(0.9) else g.constant(np.array([trips], I8))
    g.emit("Loop", limit, start, *states, outputs=len(outs) + len(scanned), exact=False, body=graph)


def grow(g, body, states, carried, outs):
    """Sometimes a state that becomes longer each round."""
    if not g.chance(0.25):
        return
    start = g.tensor((g.integer(0, 2), 3))
    state = Value(g.fresh_name("grown"), start.data)
    outs.append(body.emit("Concat", state, body.fixed(body.array((1, 3))), axis=0, keep=False))
    states.append(start)
    carried.append(state)


def scan(g):
    if g.is_function:
        raise Reject
    source = g.pick(lambda v: v.dtype in (F4, I8) and 0 < v.rank < 4 and v.shape[0] > 0, lambda: g.tensor(g.shape(1)))
    state = g.tensor(g.shape(0, 2))
    body = g.child()
    carried = Value(g.fresh_name("state"), state.data, None)
    row = Value(g.fresh_name("row"), source.data[0] if source.rank > 1 else np.array(source.data[0]), None)
    body.pool += [carried, row]
    fill(body, g.integer(1, 4))
    out = body.emit("Identity", next_state(body, carried), keep=False)
    scanned = [v for v in body.pool if v.is_tensor and v.rank < 4 and v.dtype in (F4, I8, BOOL) and v not in (carried, row)]
    if not scanned:
        raise Reject
    scanned = [body.emit("Identity", v, keep=False) for v in g.random.sample(scanned, min(len(scanned), g.integer(1, 2)))]
    graph = body.body("step", [carried, row], [out, *scanned], declared=g.chance(0.5))
    if g.chance(0.5):
        for info in graph.output:
            info.type.tensor_type.ClearField("shape")
    attributes = {"scan_input_directions": [1]} if g.chance(0.3) else {}
    if g.chance(0.3):
        attributes["scan_output_directions"] = [g.integer(0, 1) for _ in scanned]
    results = _scan_backwards(g, graph, state, source, attributes) if attributes else None
    g.emit("Scan", state, source, outputs=1 + len(scanned), exact=False, results=results, body=graph, num_scan_inputs=1, **attributes)


def _scan_backwards(g, graph, state, source, attributes):
    """The reference evaluator only scans forward: it gets its rows the other way round, and so do its results."""
    flip = "scan_input_directions" in attributes
    names = [f"out_{i}" for i in range(len(graph.output))]
    node = helper.make_node("Scan", ["state", "source"], names, body=graph, num_scan_inputs=1)
    feeds = {**g.known(None), "state": state.data, "source": source.data[::-1] if flip else source.data}
    try:
        results = list(evaluate(node, g.opset, feeds, g.root.functions).values())
    except Exception as error:  # pylint: disable=broad-except
        raise Reject from error
    for i, backwards in enumerate(attributes.get("scan_output_directions", [])):
        if backwards:
            results[1 + i] = results[1 + i][::-1].copy()
    return results


def function(g):
    """A function of the model, called once or twice."""
    if g.is_function or g.depth > 0:
        raise Reject
    arguments = [g.pick(lambda v: v.dtype in (F4, I8), lambda: g.tensor(g.shape())) for _ in range(g.integer(1, 2))]
    body = g.child(is_function=True)
    parameters = [Value(g.fresh_name("parameter"), v.data, v.exact) for v in arguments]
    body.pool += parameters
    fill(body, g.integer(2, 4))
    results = [v for v in body.pool if v.is_tensor and v not in parameters]
    if not results or body.initializers:
        raise Reject
    results = g.random.sample(results, min(len(results), g.integer(1, 2)))
    name = g.fresh_name("Function")
    g.root.functions.append(helper.make_function(
        DOMAIN, name, [v.name for v in parameters], [v.name for v in results], body.nodes,
        [helper.make_opsetid("", g.opset), helper.make_opsetid(DOMAIN, 1)]))
    exact = all(v.exact for v in results)
    made = g.emit(name, *arguments, outputs=len(results), exact=exact, domain=DOMAIN)
    first = made[0] if isinstance(made, list) else made
    if g.chance(0.3) and first.dtype == arguments[0].dtype and first.shape == arguments[0].shape:
        g.emit(name, first, *arguments[1:], outputs=len(results), exact=False, domain=DOMAIN)


CONTROL = [branch] * 3 + [loop] * 3 + [scan] * 2 + [function] * 2


# ---- strings ----
def words(g):
    return g.pick(lambda v: v.dtype == STRING, lambda: g.add_input(g.array(g.shape(), STRING)))


def string_equal(g):
    if g.opset < 19:
        raise Reject
    value = words(g)
    g.emit("Equal", value, g.tensor(value.shape if g.chance(0.5) else (), STRING))


def string_concat(g):
    if g.opset < 20:
        raise Reject
    value = words(g)
    g.emit("StringConcat", value, g.tensor(value.shape if g.chance(0.5) else (), STRING))


def string_normalize(g):
    value = g.pick(lambda v: v.dtype == STRING and v.rank == 1 and v.data.size, lambda: g.tensor((g.integer(1, 5),), STRING))
    stop = {"stopwords": ["a", "the end"]} if g.chance(0.4) else {}
    g.emit("StringNormalizer", value, case_change_action=g.choice(["LOWER", "UPPER", "NONE"]), is_case_sensitive=1, locale="C", **stop)


def string_split(g):
    if g.opset < 20:
        raise Reject
    g.emit("StringSplit", words(g), outputs=2, **({"delimiter": " "} if g.chance(0.5) else {}))


def string_cast(g):
    if g.chance(0.5):
        numbers = np.array([["1", "-2", "30"], ["4", "0", "7"]], STRING)[:, :g.integer(1, 3)]
        g.emit("Cast", g.add_input(numbers), to=g.choice([TensorProto.FLOAT, TensorProto.INT64]))
    else:
        g.emit("Cast", g.pick(lambda v: v.dtype == I8, lambda: g.tensor(g.shape(), I8)), to=TensorProto.STRING)


def tf_idf(g):
    value = g.constant(g.array((g.integer(3, 8),), STRING))
    g.emit("TfIdfVectorizer", value, exact=True, mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
           ngram_counts=[0], ngram_indexes=[0, 1, 2], pool_strings=["a", "b", "ab"])


# ---- sequences and optionals ----
def sequence(g):
    found = [v for v in g.visible() if isinstance(v.data, list)]
    if found and g.chance(0.7):
        return g.choice(found)
    first = g.pick(lambda v: v.dtype in (F4, I8, STRING), lambda: g.tensor(g.shape(1)))
    rest = [g.tensor(first.shape, first.dtype) for _ in range(g.integer(0, 2))]
    return g.emit("SequenceConstruct", first, *rest)


def sequence_split(g):
    value = g.pick(lambda v: v.rank > 0 and v.dtype in (F4, I8) and v.shape[0] > 0, lambda: g.tensor(g.shape(1)))
    g.emit("SplitToSequence", value, g.constant(np.array(g.integer(1, value.shape[0])), I8) if g.chance(0.5) else None,
           axis=0, keepdims=1)


def sequence_use(g):
    value, kind = sequence(g), g.choice(["SequenceAt", "SequenceLength", "SequenceErase", "SequenceInsert", "ConcatFromSequence"])
    count = len(value.data)
    if kind == "SequenceLength":
        g.emit(kind, value, exact=True)
    elif kind == "SequenceInsert":
        item = g.tensor(value.data[0].shape, value.data[0].dtype)
        g.emit(kind, value, item, g.constant(np.array(g.integer(-count, count)), I8) if g.chance(0.6) else None)
    elif kind == "ConcatFromSequence":
        g.emit(kind, value, axis=0, new_axis=g.integer(0, 1))
    elif kind == "SequenceAt" or count > 1:
        g.emit(kind, value, g.constant(np.array(g.integer(-count, count - 1)), g.choice([I8, np.int32])))


def optional(g):
    if g.opset < 18:
        raise Reject
    value = g.pick(lambda v: v.dtype == F4)
    made = g.emit("Optional", value, keep=False)
    g.emit("OptionalHasElement", made, exact=True) if g.chance(0.5) else g.emit("OptionalGetElement", made)


TEXT = [string_equal, string_concat, string_normalize, string_split, string_cast, string_cast, tf_idf]
LISTS = [sequence_split] + [sequence_use] * 4 + [optional]
