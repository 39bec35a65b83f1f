"""Graphs of TVM's graph executor with params and a library: right bits, stopped anywhere, moved, and refused in one sentence."""
import copy
import json
import os
from collections import defaultdict

import harness
import library_modules
import numpy as np
import pytest
from daemon import Daemon
from graph_executor import Graph, write_params
from harness import FORBIDDEN, NOT_FOUND, REFUSED, SUSPENDED, USAGE, Home, load
from migration import Node

LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(harness.binary())), "tests", "kernels")
LIBRARY = os.path.join(LIBRARIES, "libnative-sample.so")
RUNTIME = os.path.join(LIBRARIES, "libnative-runtime.so")
PRELOAD = ("--native-preload", RUNTIME)
ALLOWED = ("--native-tenant", "default", *PRELOAD)
X = np.array([[1, -2], [0.5, 4], [7, 0.25]], dtype=np.float32)
W = np.arange(6, dtype=np.float32)

# What the library's functions do: native_sample.c.
FUNCTIONS = {
    "add": lambda a, b: [a + b],
    "scale": lambda a: [3 * a - 1],
    "both": lambda a: [a / 2, a / 2 + np.float32(a.ndim)],
}


def make_graph():
    """All that a graph has: params, views, a function in place, flattened tensors, copies, several heads, one an input."""
    graph = Graph()
    x, w = graph.variable("x", [3, 2]), graph.variable("w", [6])
    first = graph.call("scale", [x], [([3, 2], "float32", 2)])
    view = graph.call("__nop", [first], [([6], "float32", 2)])
    total = graph.call("add", [view, w], [([6], "float32", 3)])
    half, more = graph.call("both", [total], [([6], "float32", 4), ([6], "float32", 2)])
    again = graph.call("scale", [half], [([6], "float32", 4)], control_deps=[2])
    moved = graph.call("__copy", [again], [([2, 3], "float32", 5)])
    _, last = graph.call("both", [moved], [([2, 3], "float32", 6), ([2, 3], "float32", 3)], flatten=True)
    return graph.json(last, more, x)


def expected(x):
    more = ((3 * x - 1).reshape(6) + W) / 2
    return {"both_8": ((3 * more - 1) / 2 + 1).reshape(2, 3), "both_5": more + 1, "x": x}


def same(found, wanted):
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name


@pytest.fixture
def files(tmp_path):
    (tmp_path / "g.json").write_text(json.dumps(make_graph()))
    write_params(tmp_path / "g.params", {"w": W})
    np.savez(tmp_path / "x.npz", x=X)
    return tmp_path


def register(home, files, name="m", graph="g.json", params="g.params", library=LIBRARY):
    home.call("register", name, files / graph, "--params", files / params, "--library", library)


def test_a_graph_runs_only_where_native_code_may(home, files):
    y, inputs = files / "y.npz", ("--input", files / "x.npz", "--output", files / "y.npz")
    register(home, files)
    home.refuses("run", "m", *inputs, code=FORBIDDEN, words=("scale is native code",))
    home.call("run", "m", *inputs, "--native", *PRELOAD)
    same(load(y), expected(X))
    home.call("run", "m", *inputs, "--native", *PRELOAD, "--device", "sim:0")
    same(load(y), expected(X))
    np.savez(files / "wrong.npz", x=X.T)
    home.refuses("run", "m", "--input", files / "wrong.npz", "--output", y, "--native", words=("x", "3", "2"))
    # without params, all variables are inputs
    home.call("register", "all", files / "g.json", "--library", LIBRARY)
    np.savez(files / "both.npz", x=X, w=W)
    home.call("run", "all", "--input", files / "both.npz", "--output", y, "--native", *PRELOAD)
    same(load(y), expected(X))


def test_a_graph_stops_anywhere_and_goes_on_in_another_home(home, files):
    register(home, files)
    home.call("export", "m", files / "m.lvx")
    other = Home(files / "other")
    other.call("import", "again", files / "m.lvx")
    for after in (3, 11, 18):
        home.call("run", "m", "--input", files / "x.npz", "--output", files / "y.npz", "--native", *PRELOAD, "--suspend-after",
                  after, "--checkpoint", files / "c.lvc", expect=SUSPENDED)
        other.refuses("resume", files / "c.lvc", "--output", files / "z.npz", code=FORBIDDEN, words=("native code",))
        other.call("resume", files / "c.lvc", "--output", files / "z.npz", "--native", *PRELOAD, "--device", "sim:0")
        same(load(files / "z.npz"), expected(X))


def test_a_graph_calls_functions_as_tvm_compiled_them_before(home, tmp_path):
    graph = Graph()
    mask = graph.variable("mask", [4], "uint1")
    turned = graph.call("invert", [mask], [([4], "uint1", None)])
    tripled = graph.call("scale_twice", [graph.variable("x", [2, 3])], [([2, 3], "float32", None)])
    graph.write(tmp_path / "g.json", tripled, turned)
    home.call("register", "m", tmp_path / "g.json", "--library", os.path.join(LIBRARIES, "libnative-older.so"))
    np.savez(tmp_path / "x.npz", x=X.T, mask=np.array([True, False, False, True]))
    home.call("run", "m", "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz", "--native")  # needs no library of TVM
    found = load(tmp_path / "y.npz")
    assert found["invert_1"].tolist() == [False, True, True, False]
    assert found["scale_twice_3"].tobytes() == (9 * X.T - 4).tobytes()


def test_a_library_with_its_graph_and_params_inside_needs_no_other_file(home, tmp_path):
    library = os.path.join(LIBRARIES, "libnative-graph.so")
    home.call("register", "m", library)
    np.savez(tmp_path / "none.npz")
    home.refuses("run", "m", "--input", tmp_path / "none.npz", "--output", tmp_path / "y.npz", code=FORBIDDEN, words=("native code",))
    home.call("run", "m", "--input", tmp_path / "none.npz", "--output", tmp_path / "y.npz", "--native")
    assert load(tmp_path / "y.npz")["y"].tolist() == [5, -22]
    with open(library, "rb") as file:
        whole = file.read()
    at = whole.index(b"list_shape")
    (tmp_path / "bad.so").write_bytes(whole[:at] + b"list_shapE" + whole[at + 10:])
    home.refuses("register", "m", tmp_path / "bad.so", words=("bad.so", "attrs, shape", "list_shapE"))
    with Daemon(home, "--native-tenant", "default") as daemon:
        home.call("register", "there", library)  # the file goes to the daemon
        assert daemon.finished(daemon.submit("there", {}))["y"].tolist() == [5, -22]


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.setenv("LAYOVER_WORKER", harness.binary())


def run_stepwise(path, arrays, checkpoint=None):
    """main's results, with a checkpoint after every instruction where there is a path for one."""
    module = library_modules.Module(path)
    module.allow_native(RUNTIME)
    execution = library_modules.Execution(module.model(), "main", arrays)
    steps = 0
    while not execution.run(1 if checkpoint else 0):
        execution.through(checkpoint)
        steps += 1
    result = execution.output()
    execution.free()
    module.close()
    return steps, result if isinstance(result, tuple) else (result,)


def test_a_graph_has_the_same_bits_stopped_after_every_instruction(home, files, worker):
    home.call("compile", files / "g.json", "--params", files / "g.params", "--library", LIBRARY, "-o", files / "m.lvx")
    steps, results = run_stepwise(files / "m.lvx", [X], files / "step.lvc")
    assert steps > 20
    same(dict(zip(expected(X), results)), expected(X))


def test_a_program_uses_any_executable_as_it_used_the_graph_executor(home, files, worker):
    home.call("compile", files / "g.json", "--library", LIBRARY, "-o", files / "m.lvx")
    module = library_modules.Module(files / "m.lvx")
    module.allow_native(RUNTIME)
    ports = library_modules.Ports(module.model())
    assert (ports.input_count, ports.output_count) == (2, 3)
    assert [ports.type("input", i) for i in range(2)] == [("float32", (3, 2)), ("float32", (6,))]
    assert ports.type("output", ports.find_output("both_8")) == ("float32", (2, 3))
    with pytest.raises(library_modules.LibraryError, match="NOT_FOUND function main has no output z; it has both_8, both_5, x"):
        ports.find_output("z")
    with pytest.raises(library_modules.LibraryError, match="INVALID function main: input 2 of 2"):
        ports.type("input", 2)
    execution = library_modules.Execution(module.model())
    with pytest.raises(library_modules.LibraryError, match="INVALID params: w: .*float64"):
        write_params(files / "wrong.params", {"w": W.astype(np.float64)})
        execution.load_params("main", (files / "wrong.params").read_bytes())
    with pytest.raises(library_modules.LibraryError, match="CORRUPT params"):
        execution.load_params("main", b"")
    write_params(files / "more.params", {"w": W, "unknown": W})
    assert execution.load_params("main", (files / "more.params").read_bytes()) == 1
    for x in (X, 2 * X):
        execution.set_input("main", execution.find_input("main", "x"), x)
        execution.invoke("main")
        assert not execution.run(7)
        execution.through(files / "c.lvc")  # also between two runs, the params stay
        assert execution.run()
        same({name: execution.output_tensor(ports.find_output(name)) for name in expected(x)}, expected(x))
    execution.free()
    module.close()


def test_a_program_loads_a_library_with_its_graph_inside(worker, tmp_path):
    module = library_modules.Module(os.path.join(LIBRARIES, "libnative-graph.so"))
    module.allow_native(None)
    assert module.names() == ("main",)
    ports = library_modules.Ports(module.model())
    assert (ports.input_count, ports.output_count) == (0, 1)
    execution = library_modules.Execution(module.model())
    for _ in range(2):
        execution.invoke("main")
        while not execution.run(1):
            execution.through(tmp_path / "c.lvc")
        assert execution.output_tensor(ports.find_output("y")).tolist() == [5, -22]
    execution.free()
    assert module["main"]().tolist() == [5, -22]
    module.close()


class NativeNode(Node):
    def command(self):
        return [*super().command(), *ALLOWED]


def test_a_job_of_a_graph_moves_to_another_node(files):
    with NativeNode(Home(files / "a"), "a", "cpu") as here, NativeNode(Home(files / "b"), "b", "sim:0") as there:
        here.trust(there)
        there.trust(here)
        register(here.home, files)  # through the daemon
        for after in (4, 12):
            job = here.submit("m", {"x": X}, suspend_after=after)
            here.wait(job, lambda it: it["state"] == "suspended")
            here.home.call("migrate", job, "--to", "b")
            there.home.call("resume", job)
            same(there.finished(job), expected(X))


def test_a_daemon_runs_graphs_of_the_tenants_that_its_operator_names(home, files):
    register(home, files)
    with Daemon(home) as daemon:
        refused = daemon.wait(daemon.submit("m", {"x": X}), lambda it: it["ended"])
        assert refused["state"] == "failed" and "native code" in refused["why"], refused


def change(graph, *path):
    """A copy in which the item at the path has another value, which is the path's last item."""
    made = copy.deepcopy(graph)
    at = made
    for step in path[:-2]:
        at = at[step]
    at[path[-2]] = path[-1]
    return made


BAD = {
    "cycle": (("nodes", 4, "inputs", [[3, 0, 0], [5, 0, 0]]), ("node 4: add_4", "node 5", "later")),
    "rows": (("node_row_ptr", 3, 2), ("node_row_ptr, item 3: 2", "3 results")),
    "alias": (("attrs", "storage_id", 1, 4, 0), ("node 4: add_4 (add): result 0", "storage 0", "node 0 (x)")),
    "overwritten": (("attrs", "storage_id", 1, 8, 2), ("head 1", "node 5 (both_5)", "storage 2", "node 7 (copy_7)")),
    "shape": (("attrs", "shape", 1, 1, [7]), ("node 1: w", "float32[6] in the params and float32[7] in the graph")),
    "dltype": (("attrs", "dltype", 1, 5, "float32x4"), ("node 5: both_5 (both)", "float32x4")),
    "huge": (("attrs", "shape", 1, 5, [2**60, 2**60]), ("node 5: both_5", str(2**60))),
    "device": (("attrs", "device_index", 1, 2, 2), ("node 2: scale_2", "device_index is 2")),
    "attribute": (("attrs", "unknown", ["list_str", []]), ("attrs, unknown",)),
    "key": (("nodes", 3, "unknown", 1), ("node 3: nop_3", "unknown")),
    "argument": (("arg_nodes", [0]), ("node 1: w", "arg_nodes")),
    "function": (("nodes", 2, "attrs", "func_name", "other"), ("no function other", "__tvm_ffi_other")),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_graphs_are_refused_in_one_sentence(home, files, name):
    path, words = BAD[name]
    (files / "bad.json").write_text(json.dumps(change(make_graph(), *path)))
    home.refuses("register", "m", files / "bad.json", "--params", files / "g.params", "--library", LIBRARY,
                 code=(REFUSED, NOT_FOUND), words=words)


def test_wrong_files_beside_a_graph_are_refused_in_one_sentence(home, files):
    graph, params, bad = files / "g.json", files / "g.params", files / "bad"
    home.refuses("register", "m", graph, "--params", params, words=("--library",))
    home.refuses("register", "m", graph, "--library", files / "gone.so", code=NOT_FOUND, words=("gone.so",))
    for content, words in ((b"", ("the library", "0 bytes")), (b"\x7fELF" + bytes(100), ("library",)), (b"text", ("ELF",))):
        bad.write_bytes(content)
        home.refuses("register", "m", graph, "--library", bad, words=words)
    write_params(bad, {"w": W, "v": W})
    home.refuses("register", "m", graph, "--params", bad, "--library", LIBRARY, words=("v", "no variable"))
    write_params(bad, {"w": W.astype(np.float64)})
    home.refuses("register", "m", graph, "--params", bad, "--library", LIBRARY, words=("node 1: w", "float64[6]"))
    bad.write_text('{"nodes": ' + "[" * 100_000)
    home.refuses("register", "m", bad, "--library", LIBRARY, words=("nesting",))
    home.refuses("register", "m", f"{harness.SMALL_MODELS}/nested_loop.onnx", "--library", LIBRARY, code=USAGE, words=("onnx",))
    home.refuses("register", "m", graph, "--params", params, "--library", LIBRARY, "--precision", "bf16", words=("compiled",))


# ---- random graphs, with random plans of their memory ----

SHAPES = ([12], [3, 4], [2, 2, 3])


def make_nodes(random):
    """(function, inputs, shapes of results, flatten) each; node 0 and 1 are variables."""
    nodes, results = [], [(0, 0, SHAPES[0]), (1, 0, SHAPES[1])]
    for number in range(2, 12):
        function = str(random.choice(["add", "scale", "both", "__nop", "__copy"]))
        pick = [results[i] for i in random.integers(len(results), size=2 if function == "add" else 1)]
        shape = SHAPES[random.integers(3)]
        count = 2 if function == "both" else 1
        nodes.append((function, [one[:2] for one in pick], [shape] * count, bool(random.integers(2))))
        results += [(number, i, shape) for i in range(count)]
    return nodes, [results[i][:2] for i in random.integers(len(results), size=3)]


def plan_storages(random, nodes, heads):
    """A storage for each result, as a planner could choose: one that nobody reads any more, also the node's own input."""
    content, last, made = {(0, 0): (0, 0), (1, 0): (1, 0)}, {}, {(0, 0): 0, (1, 0): 1}
    for number, (function, inputs, shapes, _) in enumerate(nodes, 2):
        for i in range(len(shapes)):
            content[number, i] = content[inputs[0]] if function == "__nop" else (number, i)
        for one in inputs:
            last[content[one]] = number
    last.update((content[head], len(nodes) + 2) for head in heads)
    holds = {}  # by storage: the content
    for number, (function, inputs, shapes, _) in enumerate(nodes, 2):
        taken = set()
        for i in range(len(shapes)):
            if function == "__nop":
                made[number, i] = made[inputs[0]]
                continue
            limit = number + (function in ("add", "scale", "both") and i == 0)  # in place where that is harmless
            free = [storage for storage, held in holds.items() if last.get(held, 0) < limit and storage not in taken]
            made[number, i] = int(random.choice(free)) if free and random.integers(4) else len(holds) + 2
            holds[made[number, i]] = (number, i)
            taken.add(made[number, i])
    return made


def compute(nodes, heads, storages, arrays):
    """The heads' values when results lie in these storages, as TVM runs a graph; storages None: each in its own."""
    memory, shapes = defaultdict(lambda: np.zeros(12, np.float32)), {}
    place = (lambda one: storages[one]) if storages else lambda one: one
    for number, array in enumerate(arrays):
        memory[place((number, 0))], shapes[number, 0] = array.reshape(-1).copy(), array.shape
    for number, (function, inputs, made, flatten) in enumerate(nodes, 2):
        values = [memory[place(one)].reshape(-1 if flatten else shapes[one]).copy() for one in inputs]
        for i, shape in enumerate(made):
            shapes[number, i] = tuple(shape)
        if function in FUNCTIONS:
            answers = FUNCTIONS[function](*([value.reshape(-1) for value in values] if function == "add" else values))
        else:
            answers = values
        for i, answer in enumerate(answers):
            if function != "__nop" or not storages:
                memory[place((number, i))] = answer.reshape(-1)
    return [memory[place(head)].reshape(shapes[head]) for head in heads]


def write_random(path, nodes, heads, storages):
    graph = Graph()
    for number, name in enumerate("ab"):
        graph.variable(name, SHAPES[number], storage=storages[number, 0])
    for number, (function, inputs, shapes, flatten) in enumerate(nodes, 2):
        graph.call(function, inputs, [(shape, "float32", storages[number, i]) for i, shape in enumerate(shapes)], flatten=flatten)
    graph.write(path, *heads)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_give_the_bits_of_their_plans_or_are_refused(home, tmp_path, worker, seed):
    random = np.random.default_rng(seed)
    nodes, heads = make_nodes(random)
    storages = plan_storages(random, nodes, heads)
    arrays = [random.integers(-9, 9, shape).astype(np.float32) for shape in SHAPES[:2]]
    wanted = compute(nodes, heads, None, arrays)
    for one, two in zip(wanted, compute(nodes, heads, storages, arrays)):
        assert one.tobytes() == two.tobytes()  # the plan is right
    write_random(tmp_path / "g.json", nodes, heads, storages)
    home.call("compile", tmp_path / "g.json", "--library", LIBRARY, "-o", tmp_path / "m.lvx")
    for checkpoint in (None, tmp_path / "step.lvc") if seed < 2 else (None,):
        for found, right in zip(run_stepwise(tmp_path / "m.lvx", arrays, checkpoint)[1], wanted):
            assert (found.shape, found.tobytes()) == (right.shape, right.tobytes())
    # a result somewhere else: as TVM would have it, or refused
    for _ in range(3):
        wrong = dict(storages)
        wrong[list(wrong)[random.integers(len(wrong))]] = int(random.integers(max(wrong.values()) + 1))
        write_random(tmp_path / "g.json", nodes, heads, wrong)
        done = home.try_call("compile", tmp_path / "g.json", "--library", LIBRARY, "-o", tmp_path / "m.lvx")
        differs = any(one.tobytes() != two.tobytes() for one, two in zip(wanted, compute(nodes, heads, wrong, arrays)))
        assert done.code == REFUSED or (done.code == 0 and not differs), (done, wrong)
