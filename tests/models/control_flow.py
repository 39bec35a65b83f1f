"""Small models that are nothing but control flow: small enough to stop at each of their instructions."""
import numpy as np
from onnx import helper

from graph_builder import BOOL, FLOAT, INT64, OPSET, GraphBuilder, value


def nested_if():
    """If inside If; the branches capture outer values and give different shapes."""
    g = GraphBuilder("nested_if")
    total = g.op("ReduceSum", "x", keepdims=0)

    def leaf(name, kind, second, **attributes):
        b = g.child(name)
        b.op(kind, "x", second, name=f"{name}_out", **attributes)
        return b.subgraph([], [value(f"{name}_out", FLOAT, [None])])

    inner = g.child("positive")
    inner.op("If", inner.op("Greater", total, inner.float_constant(10)), name="positive_out",
             then_branch=leaf("large", "Mul", "x"), else_branch=leaf("middling", "Sub", total))
    g.op("If", g.op("Greater", total, g.float_constant(0)), name="y",
         then_branch=inner.subgraph([], [value("positive_out", FLOAT, [None])]),
         else_branch=leaf("negative", "Concat", g.weight("pair", np.array([1.0, 2.0], np.float32)), axis=0))
    return g.model([value("x", FLOAT, ["N"])], [value("y", FLOAT, ["M"])])


def counted_loop():
    """A Loop without a condition: a running sum, and a scan output per round; zero rounds are allowed."""
    g = GraphBuilder("counted_loop")
    b = g.child("round")
    b.op("Identity", "going", name="going_out")
    step = b.op("Mul", "x", b.op("Cast", "round", to=FLOAT))
    b.op("Add", "sum", step, name="sum_out")
    b.op("ReduceMax", "sum_out", axes=[0], keepdims=0, name="peak")
    body = b.subgraph([value("round", INT64, []), value("going", BOOL, []), value("sum", FLOAT, [None])],
                      [value("going_out", BOOL, []), value("sum_out", FLOAT, [None]), value("peak", FLOAT, [])])
    g.op("Loop", "rounds", "", "x", name=["total", "peaks"], body=body)
    return g.model([value("x", FLOAT, ["N"]), value("rounds", INT64, [])],
                   [value("total", FLOAT, ["N"]), value("peaks", FLOAT, ["R"])])


def while_loop():
    """A Loop without a trip count: the Collatz sequence of the input, its length known only at the end."""
    g = GraphBuilder("while_loop")
    b = g.child("step")
    even = b.op("Equal", b.op("Mod", "n", b.constant(2)), b.constant(0))
    half, odd = b.child("half"), b.child("odd")
    half.op("Div", "n", half.constant(2), name="half_out")
    odd.op("Add", odd.op("Mul", "n", odd.constant(3)), odd.constant(1), name="odd_out")
    b.op("If", even, name="n_out", then_branch=half.subgraph([], [value("half_out", INT64, [])]),
         else_branch=odd.subgraph([], [value("odd_out", INT64, [])]))
    b.op("Greater", "n_out", b.constant(1), name="go_on")
    b.op("Identity", "n", name="seen")
    body = b.subgraph([value("step", INT64, []), value("going", BOOL, []), value("n", INT64, [])],
                      [value("go_on", BOOL, []), value("n_out", INT64, []), value("seen", INT64, [])])
    g.op("Loop", "", g.op("Greater", "start", g.constant(1)), "start", name=["last", "sequence"], body=body)
    return g.model([value("start", INT64, [])],
                   [value("last", INT64, []), value("sequence", INT64, ["L"])])


def nested_loop():
    """A Loop in a Loop: the inner one captures the outer round and the outer carried value."""
    g = GraphBuilder("nested_loop")
    outer = g.child("outer")
    inner = outer.child("inner")
    weight = inner.op("Cast", inner.op("Add", inner.op("Mul", "i", inner.constant(10)), "j"), to=FLOAT)
    inner.op("Add", inner.op("Mul", "inner_sum", inner.float_constant(0.5)),
             inner.op("Add", "carried", weight), name="inner_sum_out")
    inner.op("Identity", "inner_going", name="inner_going_out")
    inner.op("Identity", weight, name="weights")
    inner_body = inner.subgraph(
        [value("j", INT64, []), value("inner_going", BOOL, []), value("inner_sum", FLOAT, [None])],
        [value("inner_going_out", BOOL, []), value("inner_sum_out", FLOAT, [None]), value("weights", FLOAT, [])])
    start = outer.op("Mul", "carried", outer.float_constant(0))
    sums, _ = outer.op("Loop", outer.op("Add", "i", outer.constant(1)), "", start, outputs=2, body=inner_body)
    outer.op("Add", "carried", sums, name="carried_out")
    outer.op("Less", outer.op("ReduceMax", "carried_out", keepdims=0), outer.float_constant(500), name="go_on")
    outer.op("Identity", sums, name="rows")
    body = outer.subgraph([value("i", INT64, []), value("going", BOOL, []), value("carried", FLOAT, [None])],
                          [value("go_on", BOOL, []), value("carried_out", FLOAT, [None]),
                           value("rows", FLOAT, [None])])
    g.op("Loop", "rounds", g.weight("start_condition", np.array(True)), "x", name=["y", "rows_all"], body=body)
    return g.model([value("x", FLOAT, ["N"]), value("rounds", INT64, [])],
                   [value("y", FLOAT, ["N"]), value("rows_all", FLOAT, ["R", "N"])])


def two_way_scan():
    """Scan over two inputs, one backwards and along axis 1, with two states and outputs in both directions."""
    g = GraphBuilder("two_way_scan")
    b = g.child("step")
    b.op("Add", "sum", b.op("Mul", "a", "b"), name="sum_out")
    b.op("Max", "peak", "a", name="peak_out")
    b.op("Sub", "a", "b", name="difference")
    b.op("Identity", "sum_out", name="partial")
    body = b.subgraph([value(name, FLOAT, [3]) for name in ("sum", "peak", "a", "b")],
                      [value(name, FLOAT, [3]) for name in ("sum_out", "peak_out", "difference", "partial")])
    zero = g.weight("zero", np.zeros(3, np.float32))
    low = g.weight("low", np.full(3, -9.0, np.float32))
    g.op("Scan", zero, low, "left", "right", name=["sum_all", "peak_all", "differences", "partials"], body=body,
         num_scan_inputs=2, scan_input_directions=[0, 1], scan_input_axes=[0, 1],
         scan_output_directions=[1, 0], scan_output_axes=[0, 1])
    return g.model([value("left", FLOAT, ["T", 3]), value("right", FLOAT, [3, "T"])],
                   [value("sum_all", FLOAT, [3]), value("peak_all", FLOAT, [3]),
                    value("differences", FLOAT, ["T", 3]), value("partials", FLOAT, [3, "T"])])


def loop_if_scan():
    """All three kinds inside each other, with a list that grows from nothing."""
    g = GraphBuilder("loop_if_scan")
    outer = g.child("outer")
    even = outer.op("Equal", outer.op("Mod", "i", outer.constant(2)), outer.constant(0))
    branch = outer.child("even")
    cell = branch.child("cell")
    cell.op("Add", "running", "row", name="running_out")
    cell.op("Tanh", "running_out", name="squashed")
    cell_body = cell.subgraph([value("running", FLOAT, [4]), value("row", FLOAT, [4])],
                              [value("running_out", FLOAT, [4]), value("squashed", FLOAT, [4])])
    last, _ = branch.op("Scan", "state", "x", outputs=2, num_scan_inputs=1, body=cell_body)
    branch.op("Unsqueeze", last, branch.constant([0]), name="even_out")
    other = outer.child("odd")
    other.op("ReduceMean", "x", axes=[0], keepdims=1, name="odd_out")
    row = outer.op("If", even, then_branch=branch.subgraph([], [value("even_out", FLOAT, [1, 4])]),
                   else_branch=other.subgraph([], [value("odd_out", FLOAT, [1, 4])]))
    outer.op("Concat", "grown", row, axis=0, name="grown_out")
    outer.op("Squeeze", row, outer.constant([0]), name="state_out")
    outer.op("Identity", "going", name="going_out")
    body = outer.subgraph(
        [value("i", INT64, []), value("going", BOOL, []), value("state", FLOAT, [4]),
         value("grown", FLOAT, [None, 4])],
        [value("going_out", BOOL, []), value("state_out", FLOAT, [4]), value("grown_out", FLOAT, [None, 4])])
    g.op("Loop", "rounds", g.weight("start_condition", np.array(True)), g.weight("start", np.zeros(4, np.float32)),
         g.weight("nothing", np.zeros((0, 4), np.float32)), name=["state_last", "y"], body=body)
    return g.model([value("x", FLOAT, ["T", 4]), value("rounds", INT64, [])],
                   [value("state_last", FLOAT, [4]), value("y", FLOAT, ["R", 4])])


def local_functions():
    """Functions of the model itself, one calling the other, with an attribute handed down."""
    domain = "layover.test"
    g = GraphBuilder("local_functions")
    leaky = helper.make_function(
        domain, "ScaledLeaky", ["v"], ["w"],
        [helper.make_node("LeakyRelu", ["v"], ["leaked"], name="leak"),
         helper.make_node("Constant", [], ["alpha"], name="alpha_node"),
         helper.make_node("Mul", ["leaked", "alpha"], ["w"], name="scale")],
        [helper.make_opsetid("", OPSET)], attributes=["factor"])
    reference = leaky.node[1].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "factor", 1
    twice = helper.make_function(
        domain, "Twice", ["v"], ["w"],
        [helper.make_node("ScaledLeaky", ["v"], ["once"], name="first", domain=domain, factor=3.0),
         helper.make_node("ScaledLeaky", ["once"], ["w"], name="second", domain=domain, factor=0.5)],
        [helper.make_opsetid("", OPSET), helper.make_opsetid(domain, 1)])
    g.op("Add", g.op("Twice", "x", domain=domain), g.op("Twice", g.op("Neg", "x"), domain=domain), name="y")
    return g.model([value("x", FLOAT, ["N"])], [value("y", FLOAT, ["N"])], functions=[leaky, twice],
                   extra_domains=[domain])


def empty_tensors():
    """Axes of size zero through pointwise, matmul, reduction and concatenation."""
    g = GraphBuilder("empty_tensors")
    g.op("Concat", "x", g.weight("row", np.ones((1, 3), np.float32)), axis=0, name="joined")
    g.op("ReduceSum", "x", g.constant([0]), keepdims=0, name="sum")
    g.op("MatMul", g.op("Transpose", "x", perm=[1, 0]), "x", name="gram")
    g.op("Relu", "x", name="same")
    return g.model([value("x", FLOAT, ["N", 3])],
                   [value("joined", FLOAT, ["M", 3]), value("sum", FLOAT, [3]), value("gram", FLOAT, [3, 3]),
                    value("same", FLOAT, ["N", 3])])


MODELS = {function.__name__: function for function in (
    nested_if, counted_loop, while_loop, nested_loop, two_way_scan, loop_if_scan, local_functions, empty_tensors)}
