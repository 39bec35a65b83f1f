#!/usr/bin/env python3
"""How the time of a compilation grows with the model: for each kind of structure, models of n, 2n, 4n ... parts.

    .venv/bin/python bench/compile_growth.py [--build BUILD] [--only KIND ...] [--seconds 4] [--doublings 3]

A kind's n is doubled until a compilation takes the given seconds of processor time (or the kind's limit is met). The exponent is
the slope of log(time) over log(n) through the last doublings, less what the smallest model takes: 1 is linear. It is a little more
where a module outgrows the caches on the way, so only kinds well above the others are worth a profile. --count N compiles
each kind at that n only."""
import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile

from onnx import ModelProto, TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
F4, I8, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSET = 20


class Graph:
    """A graph that is written without checks: helper.make_graph copies everything."""

    def __init__(self, proto, name):
        self.proto = proto
        proto.name = name

    def node(self, kind, inputs, outputs, domain="", **attributes):
        node = self.proto.node.add()
        node.op_type = kind
        node.domain = domain
        node.input.extend(inputs)
        node.output.extend(outputs)
        for key, value in attributes.items():
            node.attribute.append(helper.make_attribute(key, value))
        return node

    def port(self, ports, name, dtype=F4, shape=(2,)):
        ports.append(helper.make_tensor_value_info(name, dtype, shape))

    def given(self, name="x", dtype=F4, shape=(2,)):
        self.port(self.proto.input, name, dtype, shape)

    def result(self, name, dtype=F4, shape=None):
        self.port(self.proto.output, name, dtype, shape)

    def number(self, name, value, dtype=F4):
        self.proto.initializer.append(helper.make_tensor(name, dtype, [], [value]))

    def body(self, node, name):
        attribute = node.attribute.add()
        attribute.name, attribute.type = name, 5
        return Graph(attribute.g, name)


def new_model():
    model = ModelProto()
    model.ir_version = 10
    model.opset_import.add().version = OPSET
    local = model.opset_import.add()
    local.domain, local.version = "local", 1
    graph = Graph(model.graph, "growth")
    graph.given()
    return model, graph


def chain(n, step, first="x"):
    """n steps, each from the last one's name."""
    model, graph = new_model()
    last = first
    for i in range(n):
        last = step(graph, i, last)
    graph.result(last)
    return model


def plain(n):
    kinds = ("Sin", "Neg", "Cos", "Tanh")

    def step(graph, i, last):
        graph.node(kinds[i % 4], [last], [f"y{i}"])
        return f"y{i}"
    return chain(n, step)


def folded(n):
    """A chain of constants that compilation computes."""
    model, graph = new_model()
    graph.number("c", 0.5)
    last = "c"
    for i in range(n):
        graph.node("Cos", [last], [f"y{i}"])
        last = f"y{i}"
    graph.node("Add", ["x", last], ["y"])
    graph.result("y")
    return model


def shapes(n):
    """Arithmetic of symbolic shapes between Reshapes."""
    model, graph = new_model()
    del graph.proto.input[:]
    graph.given("x", F4, ("rows", "columns"))
    graph.proto.initializer.append(helper.make_tensor("first", I8, [1], [0]))
    graph.proto.initializer.append(helper.make_tensor("rest", I8, [1], [-1]))
    last = "x"
    for i in range(n // 4):
        graph.node("Shape", [last], [f"s{i}"])
        graph.node("Gather", [f"s{i}", "first"], [f"g{i}"], axis=0)
        graph.node("Concat", [f"g{i}", "rest"], [f"c{i}"], axis=0)
        graph.node("Reshape", [last, f"c{i}"], [f"y{i}"])
        last = f"y{i}"
    graph.result(last)
    return model


def initializers(n):
    def step(graph, i, last):
        graph.number(f"w{i}", float(i))
        graph.node("Add", [last, f"w{i}"], [f"y{i}"])
        return f"y{i}"
    return chain(n, step)


def unused_initializers(n):
    model, graph = new_model()
    for i in range(n):
        graph.number(f"w{i}", float(i))
    graph.node("Neg", ["x"], ["y"])
    graph.result("y")
    return model


def outputs(n):
    model, graph = new_model()
    last = "x"
    for i in range(n):
        graph.node("Cos", [last], [f"y{i}"])
        last = f"y{i}"
        graph.result(last)
    return model


def inputs(n):
    model, graph = new_model()
    last = "x"
    for i in range(n):
        graph.given(f"x{i}")
        graph.node("Sub", [last, f"x{i}"], [f"y{i}"])
        last = f"y{i}"
    graph.result(last)
    return model


def symbols(n):
    """Inputs whose dimensions all have names of their own."""
    model, graph = new_model()
    for i in range(n):
        graph.given(f"x{i}", F4, (f"a{i}", f"b{i}"))
        graph.node("Sin", [f"x{i}"], [f"z{i}"])
        graph.node("ReduceSum", [f"z{i}"], [f"s{i}"], keepdims=0)
        graph.node("Add", [f"y{i - 1}" if i else "x", f"s{i}"], [f"y{i}"])
    graph.result(f"y{n - 1}")
    return model


def used_often(n):
    """One value that n nodes read; their results are added one by one."""
    model, graph = new_model()
    graph.node("Sin", ["x"], ["h"])
    for i in range(n // 2):
        graph.number(f"w{i}", float(i))
        graph.node("Mul", ["h", f"w{i}"], [f"m{i}"])
        graph.node("Add", [f"y{i - 1}" if i else "x", f"m{i}"], [f"y{i}"])
    graph.result(f"y{n // 2 - 1}")
    return model


def all_alive(n):
    """n values that all live until the chain that reads them, the last one first."""
    model, graph = new_model()
    last = "x"
    for i in range(n // 2):
        graph.node("Sin" if i % 2 else "Cos", [last], [f"h{i}"])
        last = f"h{i}"
    for i in reversed(range(n // 2)):
        graph.node("MatMul", [last, f"h{i}"], [f"y{i}"])
        graph.node("Add", [f"y{i}", "x"], [f"z{i}"])
        last = f"z{i}"
    graph.result(last)
    return model


def equal_parts(n):
    """Expressions that are all the same and become one."""
    model, graph = new_model()
    for i in range(n // 2):
        graph.node("Sin", ["x"], [f"h{i}"])
        graph.node("Add", [f"y{i - 1}" if i else "x", f"h{i}"], [f"y{i}"])
    graph.result(f"y{n // 2 - 1}")
    return model


def wide(kind, **attributes):
    """One node of n inputs."""
    def make(n):
        model, graph = new_model()
        for i in range(n):
            graph.number(f"w{i}", float(i))
            graph.node("Add", ["x", f"w{i}"], [f"h{i}"])
        graph.node(kind, [f"h{i}" for i in range(n)], ["y"], **attributes)
        graph.result("y")
        return model
    return make


WIDTH = 64  # outputs that a kernel has at most


def wide_split(n):
    """Nodes of 64 outputs."""
    model, graph = new_model()
    width = min(n, WIDTH)
    del graph.proto.input[:]
    graph.given("x", F4, (width,))
    last = "x"
    for k in range(max(1, n // WIDTH)):
        graph.node("Split", [last], [f"h{k}_{i}" for i in range(width)], axis=0, num_outputs=width)
        for i in range(1, width):
            graph.node("Add", [f"y{k}_{i - 1}" if i > 1 else f"h{k}_0", f"h{k}_{i}"], [f"y{k}_{i}"])
        graph.node("Sub", [last, f"y{k}_{width - 1}"], [f"z{k}"])
        last = f"z{k}"
    graph.result(last)
    return model


def sequence(n):
    """A list that grows by one element at a time."""
    model, graph = new_model()
    graph.node("SequenceEmpty", [], ["q"])
    last = "q"
    for i in range(n):
        graph.node("SequenceInsert", [last, "x"], [f"q{i}"])
        last = f"q{i}"
    graph.node("ConcatFromSequence", [last], ["y"], axis=0)
    graph.result("y")
    return model


def add_branch(graph, name, read, kind, made):
    body = graph.body(graph.proto.node[-1], name)
    body.node(kind, [read], [made])
    body.result(made)


def ifs(n):
    def step(graph, i, last):
        graph.node("ReduceMax", [last], [f"m{i}"], keepdims=0)
        graph.node("Greater", [f"m{i}", "zero"], [f"b{i}"])
        graph.node("If", [f"b{i}"], [f"y{i}"])
        add_branch(graph, "then_branch", last, "Sin", f"t{i}")
        add_branch(graph, "else_branch", last, "Cos", f"e{i}")
        return f"y{i}"
    model = chain(n // 5, step)
    Graph(model.graph, "growth").number("zero", 0.0)
    return model


def loop(graph, i, last, trips="trips", scan=False):
    node = graph.node("Loop", [trips, "", last], [f"y{i}"] + ([f"scan{i}"] if scan else []))
    body = graph.body(node, "body")
    body.port(body.proto.input, f"i{i}", I8, ())
    body.port(body.proto.input, f"c{i}", BOOL, ())
    body.port(body.proto.input, f"s{i}", F4, None)
    body.node("Identity", [f"c{i}"], [f"d{i}"])
    body.node("Sin", [f"s{i}"], [f"r{i}"])
    body.node("Add", [f"r{i}", "x"], [f"u{i}"])
    body.result(f"d{i}", BOOL, ())
    body.result(f"u{i}")
    if scan:
        body.node("Identity", [f"r{i}"], [f"v{i}"])
        body.result(f"v{i}")
    return f"y{i}"


def with_trips(model, count=2):
    Graph(model.graph, "growth").number("trips", count, I8)
    return model


def loops(n):
    return with_trips(chain(n // 4, loop))


def loops_of_input(n):
    """Trip counts that come from outside: nothing is known of how often they turn."""
    model = chain(n // 4, loop)
    Graph(model.graph, "growth").given("trips", I8, ())
    return model


def loops_with_scans(n):
    return with_trips(chain(n // 5, lambda graph, i, last: loop(graph, i, last, scan=True)))


def loops_apart(n):
    """Loops that do not read each other."""
    model, graph = new_model()
    for i in range(n // 5):
        loop(graph, i, "x")
        graph.node("Add", [f"z{i - 1}" if i else "x", f"y{i}"], [f"z{i}"])
    graph.result(f"z{n // 5 - 1}")
    return with_trips(model)


def loops_in_ifs(n):
    def step(graph, i, last):
        graph.node("ReduceMax", [last], [f"m{i}"], keepdims=0)
        graph.node("Greater", [f"m{i}", "zero"], [f"b{i}"])
        node = graph.node("If", [f"b{i}"], [f"o{i}"])
        add_branch(graph, "else_branch", last, "Cos", f"e{i}")
        then = graph.body(node, "then_branch")
        then.result(loop(then, i, last))
        return f"o{i}"
    model = chain(n // 8, step)
    Graph(model.graph, "growth").number("zero", 0.0)
    return with_trips(model)


def scans(n):
    def step(graph, i, last):
        node = graph.node("Scan", [last, last], [f"f{i}", f"y{i}"], num_scan_inputs=1)
        body = graph.body(node, "body")
        body.port(body.proto.input, f"s{i}", F4, None)
        body.port(body.proto.input, f"e{i}", F4, None)
        body.node("Add", [f"s{i}", f"e{i}"], [f"a{i}"])
        body.node("Cos", [f"e{i}"], [f"b{i}"])
        body.result(f"a{i}")
        body.result(f"b{i}")
        return f"y{i}"
    return chain(n // 3, step)


def long_body(n):
    """One loop whose body is long."""
    model, graph = new_model()
    node = graph.node("Loop", ["trips", "", "x"], ["y"])
    body = graph.body(node, "body")
    body.port(body.proto.input, "i", I8, ())
    body.port(body.proto.input, "c", BOOL, ())
    body.port(body.proto.input, "s", F4, None)
    body.node("Identity", ["c"], ["d"])
    last = "s"
    for i in range(n):
        body.node("Sin" if i % 2 else "Cos", [last], [f"r{i}"])
        last = f"r{i}"
    body.result("d", BOOL, ())
    body.result(last)
    graph.result("y")
    return with_trips(model)


def carried(n):
    """One loop that carries n values."""
    model, graph = new_model()
    node = graph.node("Loop", ["trips", ""] + ["x"] * n, [f"y{i}" for i in range(n)])
    body = graph.body(node, "body")
    body.port(body.proto.input, "i", I8, ())
    body.port(body.proto.input, "c", BOOL, ())
    body.node("Identity", ["c"], ["d"])
    body.result("d", BOOL, ())
    for i in range(n):
        body.port(body.proto.input, f"s{i}", F4, None)
        body.node("Sin", [f"s{(i + 1) % n}"], [f"u{i}"])
        body.result(f"u{i}")
    graph.result("y0")
    return with_trips(model)


def nested_ifs(n):
    """Ifs in Ifs, to the depth that is taken, again and again."""
    depth = 16
    model, graph = new_model()
    graph.given("b", BOOL, ())
    last, count = "x", 0
    for i in range(n // (3 * depth)):
        inner, outer = graph, []
        for k in range(depth):
            name = f"n{i}_{k}"
            node = inner.node("If", ["b"], [name])
            other = inner.body(node, "else_branch")
            other.node("Cos", [last], [f"{name}e"])
            other.result(f"{name}e")
            outer.append((inner, name))
            inner = inner.body(node, "then_branch")
        inner.node("Sin", [last], [f"n{i}t"])
        inner.result(f"n{i}t")
        for graph_of, name in outer[1:]:
            graph_of.result(name)
        last, count = f"n{i}_0", count + 1
    graph.result(last)
    return model


def functions(n, nested):
    """n local functions that the graph calls in turn. nested: only every sixtieth; that one calls the next one, and so on."""
    model, graph = new_model()
    depth, last = 60 if nested else 1, "x"
    for i in range(n):
        function = model.functions.add()
        function.domain, function.name = "local", f"f{i}"
        function.input.append("a")
        function.output.append("b")
        function.opset_import.add().version = OPSET
        local = function.opset_import.add()
        local.domain, local.version = "local", 1
        body = Graph(function, f"f{i}")
        body.node("Sin", ["a"], ["h"])
        if i % depth < depth - 1 and i + 1 < n:
            body.node(f"f{i + 1}", ["h"], ["b"], domain="local")
        else:
            body.node("Cos", ["h"], ["b"])
        if i % depth == 0:
            graph.node(f"f{i}", [last], [f"y{i}"], domain="local")
            last = f"y{i}"
    graph.result(last)
    return model


def calls(n):
    """One local function that is called n times."""
    model, graph = new_model()
    function = model.functions.add()
    function.domain, function.name = "local", "f"
    function.input.append("a")
    function.output.append("b")
    function.opset_import.add().version = OPSET
    body = Graph(function, "f")
    body.node("Sin", ["a"], ["h"])
    body.node("Cos", ["h"], ["b"])
    for i in range(n // 2):
        graph.node("f", [f"y{i - 1}" if i else "x"], [f"y{i}"], domain="local")
    graph.result(f"y{n // 2 - 1}")
    return model


def convolutions(n):
    def step(graph, i, last):
        graph.proto.initializer.append(helper.make_tensor(f"w{i}", F4, [2, 2, 1, 1], [0.5, 1.0, 0.25, float(i % 7)]))
        graph.node("Conv", [last, f"w{i}"], [f"h{i}"])
        graph.node("Relu", [f"h{i}"], [f"r{i}"])
        graph.node("Add", [f"r{i}", last], [f"y{i}"])
        return f"y{i}"
    model = chain(n // 3, step)
    del model.graph.input[:]
    Graph(model.graph, "growth").given("x", F4, (1, 2, 3, 3))
    return model


def norms(n):
    """Written-out layer normalizations and products."""
    def step(graph, i, last):
        graph.node("ReduceMean", [last, "axes"], [f"a{i}"])
        graph.node("Sub", [last, f"a{i}"], [f"b{i}"])
        graph.node("Pow", [f"b{i}", "two"], [f"c{i}"])
        graph.node("ReduceMean", [f"c{i}", "axes"], [f"d{i}"])
        graph.node("Add", [f"d{i}", "tiny"], [f"e{i}"])
        graph.node("Sqrt", [f"e{i}"], [f"f{i}"])
        graph.node("Div", [f"b{i}", f"f{i}"], [f"g{i}"])
        graph.node("MatMul", [f"g{i}", "weight"], [f"y{i}"])
        return f"y{i}"
    model = chain(n // 8, step)
    graph = Graph(model.graph, "growth")
    graph.number("two", 2.0)
    graph.number("tiny", 1e-5)
    graph.proto.initializer.append(helper.make_tensor("axes", I8, [1], [-1]))
    graph.proto.initializer.append(helper.make_tensor("weight", F4, [2, 2], [0.5, 1.0, 0.25, 0.75]))
    return model


def reversed_order(n):
    """A chain whose nodes are written last first."""
    model = plain(n)
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def repeated(n, *nodes, ports=(("x", F4, (2,)),), made=F4, **initializers):
    """A chain of the same few nodes: (kind, inputs, attributes); "<" is what the node before made, "<<" what the group before did."""
    model, graph = new_model()
    del graph.proto.input[:]
    for port in ports:
        graph.given(*port)
    last, group = ports[0][0], ports[0][0]
    for i in range(n // len(nodes)):
        for k, (kind, inputs, attributes) in enumerate(nodes):
            names = [{"<": last, "<<": group}.get(name, name) for name in inputs]
            last = f"y{i}_{k}"
            graph.node(kind, names, [last], **attributes)
        group = last
    graph.result(last, made)
    for name, (dtype, shape, values) in initializers.items():
        graph.proto.initializer.append(helper.make_tensor(name, dtype, shape, values))
    return model


def gelus(n):
    return repeated(n, ("Div", ("<<", "root"), {}), ("Erf", ("<",), {}), ("Add", ("<", "one"), {}), ("Mul", ("<", "<<"), {}),
                    ("Mul", ("<", "half"), {}), ("MatMul", ("<", "weight"), {}),
                    root=(F4, [], [1.4142135]), one=(F4, [], [1.0]), half=(F4, [], [0.5]), weight=(F4, [2, 2], [0.5, 1.0, 0.25, 0.75]))


def quantized(n):
    return repeated(n, ("QuantizeLinear", ("<", "scale", "zero"), {}), ("DequantizeLinear", ("<", "scale", "zero"), {}),
                    ("MatMul", ("<", "weight"), {}),
                    scale=(F4, [], [0.1]), zero=(TensorProto.UINT8, [], [3]), weight=(F4, [2, 2], [0.5, 1.0, 0.25, 0.75]))


def strings(n):
    return repeated(n, ("StringConcat", ("<", "<<"), {}), ("StringNormalizer", ("<",), {"case_change_action": "LOWER"}),
                    ports=(("x", TensorProto.STRING, (2,)),), made=TensorProto.STRING)


def small_constants(n):
    """Values of at most 64 elements that shape inference follows."""
    return repeated(n, ("Add", ("<", "few"), {}), ("Mul", ("<", "few"), {}), ("Concat", ("<", "few"), {"axis": 0}),
                    ("Slice", ("<", "zero", "two"), {}), ports=(("x", I8, (2,)),), made=I8,
                    few=(I8, [2], [1, 2]), zero=(I8, [1], [0]), two=(I8, [1], [2]))


def reads_of_values(n):
    """Each node's shape is what the last one computed: tensors that go to the host and back."""
    return repeated(n, ("ReduceSum", ("<<",), {"keepdims": 0}), ("Cast", ("<",), {"to": I8}), ("Reshape", ("<", "minus"), {}),
                    ("ConstantOfShape", ("<",), {}), minus=(I8, [1], [-1]))


def without_effect(n):
    return repeated(n, ("Identity", ("<",), {}), ("Transpose", ("<",), {"perm": [0, 1]}), ("Cast", ("<",), {"to": F4}),
                    ("Sin", ("<",), {}), ports=(("x", F4, (2, 3)),))


def transposed(n):
    return repeated(n, ("Transpose", ("<",), {"perm": [1, 0]}), ("Relu", ("<",), {}), ("Transpose", ("<",), {"perm": [1, 0]}),
                    ("MatMul", ("<", "weight"), {}), ports=(("x", F4, (3, 2)),), weight=(F4, [2, 2], [0.5, 1.0, 0.25, 0.75]))


def attentions(n):
    return repeated(n, ("Transpose", ("<<",), {"perm": [0, 1, 3, 2]}), ("MatMul", ("<<", "<"), {}), ("Mul", ("<", "scale"), {}),
                    ("Softmax", ("<",), {"axis": -1}), ("MatMul", ("<", "<<"), {}), ports=(("x", F4, (1, 2, 3, 4)),),
                    scale=(F4, [], [0.5]))


def pooled(n):
    return repeated(n, ("Conv", ("<", "w"), {"pads": [1, 1, 1, 1]}), ("BatchNormalization", ("<", "v", "v", "v", "v"), {}),
                    ("Relu", ("<",), {}), ("MaxPool", ("<",), {"kernel_shape": [1, 1]}), ports=(("x", F4, (1, 1, 3, 3)),),
                    w=(F4, [1, 1, 3, 3], [0.1] * 9), v=(F4, [1], [0.5]))


def dead(n):
    """A long chain that nobody reads."""
    model = plain(n)
    del model.graph.output[:]
    graph = Graph(model.graph, "growth")
    graph.node("Neg", ["x"], ["y"])
    graph.result("y")
    return model


def constant_nodes(n):
    model, graph = new_model()
    last = "x"
    for i in range(n // 2):
        graph.node("Constant", [], [f"c{i}"], value=helper.make_tensor("", F4, [], [float(i)]))
        graph.node("Add", [last, f"c{i}"], [f"y{i}"])
        last = f"y{i}"
    graph.result(last)
    return model


def known_ifs(n):
    """Conditions that are known only when the Ifs before are resolved."""
    model, graph = new_model()
    graph.number("b", 1, BOOL)
    last, condition = "x", "b"
    for i in range(n // 4):
        node = graph.node("If", [condition], [f"y{i}", f"b{i}"])
        for name, kind in (("then_branch", "Sin"), ("else_branch", "Cos")):
            body = graph.body(node, name)
            body.node(kind, [last], [f"{kind}{i}"])
            body.node("Not", [condition], [f"{kind}n{i}"])
            body.result(f"{kind}{i}")
            body.result(f"{kind}n{i}", BOOL)
        last, condition = f"y{i}", f"b{i}"
    graph.result(last)
    return model


def loops_with_unread(n):
    """Each loop carries a value that in the end nobody reads."""
    model, graph = new_model()
    last, other = "x", "x"
    for i in range(n // 5):
        node = graph.node("Loop", ["trips", "", last, other], [f"y{i}", f"o{i}"])
        body = graph.body(node, "body")
        body.port(body.proto.input, f"i{i}", I8, ())
        body.port(body.proto.input, f"c{i}", BOOL, ())
        body.port(body.proto.input, f"s{i}", F4, None)
        body.port(body.proto.input, f"t{i}", F4, None)
        body.node("Identity", [f"c{i}"], [f"d{i}"])
        body.node("Sin", [f"s{i}"], [f"r{i}"])
        body.node("Cos", [f"t{i}"], [f"u{i}"])
        body.result(f"d{i}", BOOL, ())
        body.result(f"r{i}")
        body.result(f"u{i}")
        last, other = f"y{i}", f"o{i}"
    graph.result(last)
    return with_trips(model)


def ifs_with_unread(n):
    model, graph = new_model()
    graph.given("b", BOOL, ())
    last, other = "x", "x"
    for i in range(n // 5):
        node = graph.node("If", ["b"], [f"y{i}", f"o{i}"])
        for name, kinds in (("then_branch", ("Sin", "Tan")), ("else_branch", ("Cos", "Tanh"))):
            body = graph.body(node, name)
            for kind, read in zip(kinds, (last, other)):
                body.node(kind, [read], [f"{kind}{i}"])
                body.result(f"{kind}{i}")
        last, other = f"y{i}", f"o{i}"
    graph.result(last)
    return model


def growing_loops(n):
    """Loops whose state grows along its second axis."""
    model, graph = new_model()
    del graph.proto.input[:]
    graph.given("x", F4, (2, 1))
    last = "x"
    for i in range(n // 5):
        node = graph.node("Loop", ["trips", "", "x"], [f"y{i}"])
        body = graph.body(node, "body")
        body.port(body.proto.input, f"i{i}", I8, ())
        body.port(body.proto.input, f"c{i}", BOOL, ())
        body.port(body.proto.input, f"s{i}", F4, None)
        body.node("Identity", [f"c{i}"], [f"d{i}"])
        body.node("Concat", [f"s{i}", "x"], [f"r{i}"], axis=1)
        body.result(f"d{i}", BOOL, ())
        body.result(f"r{i}")
        graph.node("ReduceSum", [f"y{i}"], [f"e{i}"], keepdims=0)
        graph.node("Add", [last, f"e{i}"], [f"z{i}"])
        last = f"z{i}"
    graph.result(last)
    return with_trips(model)


def names_in_ifs(n):
    """Ifs whose outputs have dimensions with names of their own."""
    def step(graph, i, last):
        node = graph.node("If", ["b"], [f"y{i}"])
        for name, kind in (("then_branch", "Sin"), ("else_branch", "Cos")):
            body = graph.body(node, name)
            body.node(kind, [last], [f"{kind}{i}"])
            body.result(f"{kind}{i}", F4, (f"{kind}n{i}",))
        return f"y{i}"
    model = chain(n // 3, step)
    del model.graph.input[:]
    graph = Graph(model.graph, "growth")
    graph.given("x", F4, (None,))
    graph.given("b", BOOL, ())
    return model


def ranges(n):
    """Ranges as long as something that is not known, and one more."""
    return repeated(n, ("NonZero", ("<<",), {}), ("Shape", ("<",), {"start": 1}), ("Add", ("<", "one"), {}), ("Squeeze", ("<",), {}),
                    ("Range", ("zero", "<", "step"), {}), ports=(("x", I8, (2,)),), made=I8,
                    one=(I8, [], [1]), zero=(I8, [], [0]), step=(I8, [], [1]))


def ifs_of_lists(n):
    def step(graph, i, last):
        graph.node("If", ["b"], [f"q{i}"])
        for name, kind in (("then_branch", "t"), ("else_branch", "e")):
            body = graph.body(graph.proto.node[-1], name)
            body.node("SequenceConstruct", [last, "x"], [f"{kind}{i}"])
            body.proto.output.append(helper.make_tensor_sequence_value_info(f"{kind}{i}", F4, None))
        graph.node("SequenceAt", [f"q{i}", "at"], [f"a{i}"])
        graph.node("Sin", [f"a{i}"], [f"y{i}"])
        return f"y{i}"
    model = chain(n // 5, step)
    graph = Graph(model.graph, "growth")
    graph.given("b", BOOL, ())
    graph.number("at", 0, I8)
    return model


# kind: (model of n, the first n, the largest n or None)
KINDS = {
    "plain": (plain, 25000, None),
    "reversed": (reversed_order, 25000, None),
    "folded": (folded, 12500, None),
    "shapes": (shapes, 12500, None),
    "convolutions": (convolutions, 12500, None),
    "normalizations": (norms, 12500, None),
    "initializers": (initializers, 12500, None),
    "unused initializers": (unused_initializers, 12500, None),
    "inputs": (inputs, 500, 4000),
    "outputs": (outputs, 500, 4000),
    "symbols": (symbols, 500, 2000),
    "used often": (used_often, 12500, None),
    "all alive": (all_alive, 6250, None),
    "equal parts": (equal_parts, 12500, None),
    "wide Concat": (wide("Concat", axis=0), 5000, None),
    "wide Sum": (wide("Sum"), 5000, None),
    "wide Max": (wide("Max"), 5000, None),
    "wide Split": (wide_split, 5000, None),
    "sequence": (sequence, 5000, None),
    "Ifs": (ifs, 10000, None),
    "Ifs nested": (nested_ifs, 9600, None),
    "Loops": (loops, 2500, None),
    "Loops of input": (loops_of_input, 2500, None),
    "Loops with scans": (loops_with_scans, 2500, None),
    "Loops apart": (loops_apart, 2500, None),
    "Loops in Ifs": (loops_in_ifs, 2500, None),
    "Scans": (scans, 2500, None),
    "long body": (long_body, 10000, None),
    "carried": (carried, 500, 2000),
    "functions": (lambda n: functions(n, False), 2500, None),
    "functions nested": (lambda n: functions(n, True), 2500, None),
    "calls": (calls, 5000, None),
    "Gelus": (gelus, 12500, None),
    "quantized": (quantized, 12500, None),
    "strings": (strings, 12500, None),
    "small values": (small_constants, 12500, None),
    "values as shapes": (reads_of_values, 12500, None),
    "without effect": (without_effect, 12500, None),
    "transposed": (transposed, 12500, None),
    "attentions": (attentions, 12500, None),
    "convolutions, pools": (pooled, 12500, None),
    "dead": (dead, 25000, None),
    "Constants": (constant_nodes, 12500, None),
    "Ifs of known conditions": (known_ifs, 2500, None),
    "Loops with unread states": (loops_with_unread, 2500, None),
    "Ifs with unread results": (ifs_with_unread, 2500, None),
    "Loops that grow": (growing_loops, 2500, None),
    "Ifs of lists": (ifs_of_lists, 2500, None),
    "names in Ifs": (names_in_ifs, 2500, None),
    "Ranges": (ranges, 2500, None),
}


def compile_seconds(options, folder, model):
    """Processor time, and what was said where it was refused."""
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([os.path.join(options.build, "tools", "layover"), "compile", path, "-o", os.path.join(folder, "m.lvx")],
                          capture_output=True, text=True, timeout=600, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stderr.strip()[-200:] if done.returncode else None


def measure(options, folder, kind):
    make, n, most = KINDS[kind]
    rest, _ = compile_seconds(options, folder, make(256))
    points, refusal = [], None
    while most is None or n <= most:
        seconds, refusal = compile_seconds(options, folder, make(n))
        if refusal:
            break
        points.append((n, seconds))
        if seconds > options.seconds:
            break
        n *= 2
    last = points[-1 - options.doublings:]
    exponent = math.nan
    if len(last) > 1 and last[0][1] > rest:
        exponent = math.log((last[-1][1] - rest) / (last[0][1] - rest)) / math.log(last[-1][0] / last[0][0])
    return points, exponent, refusal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    print("| kind | n | seconds | exponent |\n| --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.only or KINDS:
            if options.count:
                seconds, refusal = compile_seconds(options, folder, KINDS[kind][0](options.count))
                print(f"| {kind} | {options.count} | {refusal or f'{seconds:.2f}'} | |", flush=True)
                continue
            points, exponent, refusal = measure(options, folder, kind)
            counts = ", ".join(f"{n:,}" for n, _ in points)
            times = ", ".join(f"{seconds:.2f}" for _, seconds in points)
            print(f"| {kind} | {counts} | {times} | {exponent:.2f} |{f' refused: {refusal}' if refusal else ''}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
