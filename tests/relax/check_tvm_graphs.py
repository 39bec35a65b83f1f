#!/usr/bin/env python3
"""Graphs as TVM's graph executor reads them, over libraries that apache-tvm compiles: TVM's bits, stopped at every instruction, moved between nodes.

apache-tvm has no graph executor since 0.20, so the graphs are written here, and a few lines run their nodes in order, with
TVM's functions and with each result in the storage of the plan: what the graph executor did. Needs what check_tvm_models.py
needs:

    /tmp/tvm/bin/python tests/relax/check_tvm_graphs.py

Prints a line a graph; exits 1 if one differs."""
import os
import sys
import tempfile

import numpy as np
import tvm
import tvm_ffi
from tvm import te, topi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

from daemon import Daemon  # noqa: E402
from graph_executor import Graph, write_params  # noqa: E402
from harness import SUSPENDED, Home, load  # noqa: E402

PRELOAD = ("--native-preload", os.path.join(os.path.dirname(tvm_ffi.__file__), "lib", "libtvm_ffi.so"))
NATIVE = ("--native", *PRELOAD)
random = np.random.default_rng(0)


class Model:
    """A graph that grows together with the functions of its library. A storage is used again once nobody reads it."""

    def __init__(self):
        self.graph, self.functions, self.params, self.types, self.free = Graph(), {}, {}, {}, []

    def input(self, name, shape, dtype="float32"):
        one = self.graph.variable(name, shape, dtype)
        self.types[one] = (tuple(shape), dtype)
        return one

    def param(self, name, array):
        self.params[name] = array
        return self.input(name, array.shape, str(array.dtype))

    def call(self, name, body, *inputs, over=None):
        """A node that computes body of placeholders; over: the result whose storage it writes."""
        places = [te.placeholder(*self.types[one][:1], name=f"p{i}", dtype=self.types[one][1]) for i, one in enumerate(inputs)]
        made = body(*places)
        made = [made] if hasattr(made, "shape") else list(made)
        key = f"tvmgen_default_fused_{name}"
        self.functions[key] = te.create_prim_func([*places, *made]).with_attr("global_symbol", key)
        types = [(tuple(int(dim) for dim in item.shape), str(item.dtype)) for item in made]
        storage = self.graph.storages[self.graph.rows[over[0]] + over[1]] if over else None
        results = self.graph.call(key, inputs, [(*kind, storage) for kind in types])
        for one, kind in zip(results if isinstance(results, list) else [results], types):
            self.types[one] = kind
        return results

    def reshape(self, one, shape):
        storage = self.graph.storages[self.graph.rows[one[0]] + one[1]]
        made = self.graph.call("__nop", [one], [(shape, self.types[one][1], storage)])
        self.types[made] = (tuple(shape), self.types[one][1])
        return made


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def perceptron():
    model = Model()
    x = model.input("x", (4, 16))
    hidden = model.call("dense_add_relu", lambda a, w, b: topi.nn.relu(topi.add(topi.matmul(a, w), b)), x,
                        model.param("p0", floats(16, 32)), model.param("p1", floats(32)))
    logits = model.call("dense", topi.matmul, hidden, model.param("p2", floats(32, 8)))
    return model, [model.call("softmax", topi.nn.softmax, logits)], {"x": floats(4, 16)}


def network():
    model = Model()
    x = model.input("x", (1, 3, 12, 12))
    first = model.call("conv2d_add_relu", lambda a, w, b: topi.nn.relu(topi.add(topi.nn.conv2d(a, w, 1, 1, 1, "NCHW"), b)), x,
                       model.param("p0", floats(8, 3, 3, 3)), model.param("p1", floats(1, 8, 1, 1)))
    second = model.call("conv2d", lambda a, w: topi.nn.conv2d(a, w, 1, 1, 1, "NCHW"), first, model.param("p2", floats(8, 8, 3, 3)))
    total = model.call("add_relu", lambda a, b: topi.nn.relu(topi.add(a, b)), second, first, over=second)  # in place
    pooled = model.call("max_pool2d", lambda a: topi.nn.pool2d(a, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), total, over=first)
    flat = model.reshape(pooled, (1, 288))
    logits = model.call("dense", topi.matmul, flat, model.param("p3", floats(288, 10)))
    return model, [logits, pooled], {"x": floats(1, 3, 12, 12)}


def attention():
    model = Model()
    x = model.input("x", (2, 7, 16))
    scores = model.call("batch_matmul", lambda a: topi.nn.batch_matmul(a, a), x)
    weights = model.call("softmax", topi.nn.softmax, scores)
    mixed = model.call("batch_matmul_1", lambda w, a: topi.nn.batch_matmul(w, a, transpose_b=False), weights, x)
    merged = model.reshape(mixed, (14, 16))
    return model, [model.call("dense_tanh", lambda a, w: topi.tanh(topi.matmul(a, w)), merged,
                              model.param("p0", floats(16, 16)), over=scores)], {"x": floats(2, 7, 16)}


def several():
    model = Model()
    x, y = model.input("x", (5, 6)), model.input("y", (6,), "int32")
    parts = model.call("split", lambda a: topi.split(a, 3, axis=1), x)
    mask = model.call("greater", lambda a, b: topi.greater(a, b), parts[0], parts[2])
    chosen = model.call("where", topi.where, mask, parts[1], parts[0], over=parts[2])
    sums = model.call("cast_sum", lambda a: topi.sum(topi.multiply(a, te.const(3, "int32"))), y)
    return model, [chosen, mask, sums], {"x": floats(5, 6), "y": random.integers(-9, 9, 6).astype(np.int32)}


GRAPHS = {"perceptron": perceptron, "network": network, "attention": attention, "several": several}


def reference(graph, library, values):
    """The heads' values: nodes in order, each result in its storage."""
    attributes = graph["attrs"]
    storages, dtypes, shapes = (attributes[name][1] for name in ("storage_id", "dltype", "shape"))
    memory, views = {}, {}
    for entry, storage in enumerate(storages):
        size = int(np.prod(shapes[entry], dtype=np.int64)) * np.dtype(dtypes[entry]).itemsize
        memory[storage] = max(memory.get(storage, 0), size)
    memory = {storage: np.zeros(size, np.uint8) for storage, size in memory.items()}
    for entry, storage in enumerate(storages):
        size = int(np.prod(shapes[entry], dtype=np.int64)) * np.dtype(dtypes[entry]).itemsize
        views[entry] = memory[storage][:size].view(dtypes[entry]).reshape(shapes[entry])
    rows = graph["node_row_ptr"]
    for number, node in enumerate(graph["nodes"]):
        if node["op"] == "null":
            views[rows[number]][...] = values[node["name"]]
        elif node["attrs"]["func_name"] != "__nop":
            entries = [rows[one] + index for one, index, _ in node["inputs"]] + list(range(rows[number], rows[number + 1]))
            tensors = {entry: tvm.runtime.tensor(views[entry]) for entry in entries}
            library[node["attrs"]["func_name"]](*[tensors[entry] for entry in entries])
            for entry in range(rows[number], rows[number + 1]):
                views[entry][...] = tensors[entry].numpy()
    return [views[rows[one] + index].copy() for one, index, _ in graph["heads"]]


def check(wanted, found, where):
    found = list((load(found) if isinstance(found, str) else found).values())
    assert len(found) == len(wanted), f"{where}: {len(found)} outputs instead of {len(wanted)}"
    for one, two in zip(found, wanted):
        assert (one.dtype, one.shape) == (two.dtype, two.shape), f"{where}: {one.dtype}{one.shape}"
        assert one.tobytes() == two.tobytes(), f"{where}: other bits"


def check_stops(home, name, wanted, folder):
    """A checkpoint after every instruction, and the rest from it."""
    after, x, y = 1, f"{folder}/{name}.npz", f"{folder}/y.npz"
    while True:
        done = home.try_call("run", name, "--input", x, "--output", y, *NATIVE, "--suspend-after", after, "--checkpoint",
                             f"{folder}/c.lvc")
        if done.code != SUSPENDED:
            assert done.code == 0, done
            return after - 1
        home.call("resume", f"{folder}/c.lvc", "--output", y, *NATIVE)
        check(wanted, y, f"{name}, stopped after {after}")
        after += 1


def files_of(folder, name):
    return (f"{folder}/{name}.json", "--params", f"{folder}/{name}.params", "--library", f"{folder}/{name}.so")


def check_moves(folder, name, wanted, values):
    """A job that is suspended on one node, moved and finished on another."""
    homes = [Home(f"{folder}/{name}-{side}") for side in ("a", "b")]
    options = ("--native-tenant", "default", *PRELOAD)
    homes[0].call("register", name, *files_of(folder, name))
    with Daemon(homes[0], *options) as here, Daemon(homes[1], *options) as there:
        job = here.submit(name, values, suspend_after=4)
        here.wait(job, lambda it: it["state"] == "suspended")
        homes[0].call("checkpoint", job, "-o", f"{folder}/job.lvc", "--with-model")
        moved = homes[1].call("restore", f"{folder}/job.lvc").json["job"]
        check(wanted, there.finished(moved), f"{name}, moved")


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Home(f"{folder}/home")
        for name, make in GRAPHS.items():
            model, heads, values = make()
            tvm.compile(tvm.IRModule(model.functions), target="llvm").export_library(f"{folder}/{name}.so")
            model.graph.write(f"{folder}/{name}.json", *heads)
            write_params(f"{folder}/{name}.params", model.params)
            np.savez(f"{folder}/{name}.npz", **values)
            wanted = reference(model.graph.json(*heads), tvm.runtime.load_module(f"{folder}/{name}.so"), {**model.params, **values})
            try:
                home.call("register", name, *files_of(folder, name))
                home.call("run", name, "--input", f"{folder}/{name}.npz", "--output", f"{folder}/y.npz", *NATIVE)
                check(wanted, f"{folder}/y.npz", name)
                stops = check_stops(home, name, wanted, folder)
                check_moves(folder, name, wanted, values)
                print(f"{name}: TVM's bits; stopped at {stops} instructions and once moved: equal")
            except AssertionError as error:
                failures += 1
                print(f"{name}: {error}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
