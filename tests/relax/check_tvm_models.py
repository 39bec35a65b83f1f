#!/usr/bin/env python3
"""Models that apache-tvm builds and exports, as bytecode and compiled whole, run here: the same bits, stopped at every
instruction, moved between nodes.

Needs a Python with apache-tvm (0.27) and numpy, which the suite does not install:

    python3 -m venv /tmp/tvm && /tmp/tvm/bin/pip install apache-tvm==0.27.0.post1 numpy pytest onnx
    /tmp/tvm/bin/python tests/relax/check_tvm_models.py

Prints a line a model; exits 1 if one differs."""
import os
import sys
import tempfile

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))

from daemon import Daemon  # noqa: E402
from harness import SUSPENDED, Home, load  # noqa: E402

RUNTIME = os.path.join(os.path.dirname(tvm.__file__), "lib")
LIBRARIES = (os.path.join(os.path.dirname(tvm_ffi.__file__), "lib", "libtvm_ffi.so"),
             os.path.join(RUNTIME, "libtvm_runtime.so"), os.path.join(RUNTIME, "libtvm_runtime_extra.so"))
PRELOAD = tuple(word for library in LIBRARIES for word in ("--native-preload", library))
NATIVE = ("--native", *PRELOAD)
random = np.random.default_rng(0)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def constant(*shape):
    return relax.const(floats(*shape))


def build(shape, body, dtype="float32"):
    """A module whose main computes body of one input; -1 in shape: a dimension that only a run knows."""
    builder = relax.BlockBuilder()
    dims = [tvm.tirx.Var("n", "int64") if dim < 0 else dim for dim in shape]
    x = relax.Var("x", relax.TensorType(dims, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(body(builder, x))
        builder.emit_func_output(y)
    return builder.get()


def perceptron(builder, x):
    hidden = builder.emit(relax.op.nn.relu(builder.emit(relax.op.matmul(x, constant(16, 32)))))
    return relax.op.nn.softmax(builder.emit(relax.op.matmul(hidden, constant(32, 8))), axis=-1)


def network(builder, x):
    y = builder.emit(relax.op.nn.conv2d(x, constant(8, 3, 3, 3), padding=(1, 1)))
    y = builder.emit(relax.op.nn.relu(builder.emit(relax.op.add(y, constant(1, 8, 1, 1)))))
    y = builder.emit(relax.op.nn.max_pool2d(y, (2, 2), strides=(2, 2)))
    y = builder.emit(relax.op.reshape(y, (1, 8 * 16)))
    return relax.op.matmul(y, constant(8 * 16, 10))


def attention(builder, x):
    scores = builder.emit(relax.op.matmul(x, builder.emit(relax.op.permute_dims(x, [0, 2, 1]))))
    weights = builder.emit(relax.op.nn.softmax(scores, axis=-1))
    return relax.op.nn.gelu(builder.emit(relax.op.matmul(weights, x)))


def several(builder, x):
    ordered = builder.emit(relax.op.sort(x, axis=-1))
    return relax.Tuple([ordered, builder.emit(relax.op.sum(ordered, axis=[1])),
                        builder.emit(relax.op.greater(x, relax.const(0.0, "float32")))])


def integers(builder, x):
    return relax.op.multiply(builder.emit(relax.op.cumsum(x, axis=0)), relax.const(3, "int32"))


@I.ir_module
class Branches:
    """A loop as recursion, branches, calls between functions, nested tuples, a shape and a string as results."""

    @R.function(private=True)
    def power(x: R.Tensor((4,), "float32"), n: R.Tensor((), "int64")) -> R.Tensor((4,), "float32"):
        more = R.greater(n, R.const(0, "int64"))
        if more:
            rest = R.subtract(n, R.const(1, "int64"))
            cls = Branches
            before: R.Tensor((4,), "float32") = cls.power(x, rest)
            y: R.Tensor((4,), "float32") = R.multiply(before, x)
        else:
            y: R.Tensor((4,), "float32") = R.ones((4,), "float32")
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Branches
        fifth: R.Tensor((4,), "float32") = cls.power(x, R.const(5, "int64"))
        large = R.greater(R.sum(fifth), R.const(0.0, "float32"))
        if large:
            z: R.Tensor((4,), "float32") = R.negative(fifth)
        else:
            z: R.Tensor((4,), "float32") = fifth
        return (z, (x, fifth))


@I.ir_module
class Cached:
    """Reads what TVM keeps for the whole process."""

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Any:
        y = R.call_packed("vm.builtin.tensor_cache.get", R.str("x"), ty_args=R.Any)
        return y


def flat(result):
    return [result.numpy()] if hasattr(result, "numpy") else [item for field in result for item in flat(field)]


MODELS = {
    "perceptron": (build((-1, 16), perceptron), floats(5, 16)),
    "network": (build((1, 3, 8, 8), network), floats(1, 3, 8, 8)),
    "attention": (build((2, -1, 16), attention), floats(2, 7, 16)),
    "several": (build((4, 9), several), floats(4, 9)),
    "integers": (build((-1,), integers, "int32"), random.integers(-9, 9, 11).astype(np.int32)),
    "branches": (Branches, floats(4)),
}


def reference(executable, x):
    return flat(relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(x)))


def check(wanted, path, where):
    found = list(load(path).values()) if isinstance(path, str) else list(path.values())
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


def check_moves(folder, name, wanted, x, after):
    """A job that is suspended on one node, moved and finished on another."""
    homes = [Home(f"{folder}/{name}-{side}") for side in ("a", "b")]
    options = ("--native-tenant", "default", *PRELOAD)
    homes[0].call("register", name, f"{folder}/{name}.so")
    with Daemon(homes[0], *options) as here, Daemon(homes[1], *options) as there:
        job = here.submit(name, {"x": x}, suspend_after=after)
        here.wait(job, lambda it: it["state"] == "suspended")
        homes[0].call("checkpoint", job, "-o", f"{folder}/job.lvc", "--with-model")
        moved = homes[1].call("restore", f"{folder}/job.lvc").json["job"]
        check(wanted, there.finished(moved), f"{name}, moved")


def check_model(home, folder, name, executable, x, move_after):
    executable.export_library(f"{folder}/{name}.so")
    np.savez(f"{folder}/{name}.npz", x=x)
    wanted = reference(executable, x)
    home.call("register", name, f"{folder}/{name}.so")
    home.call("run", name, "--input", f"{folder}/{name}.npz", "--output", f"{folder}/y.npz", *NATIVE)
    check(wanted, f"{folder}/y.npz", name)
    stops = check_stops(home, name, wanted, folder)
    check_moves(folder, name, wanted, x, min(move_after, stops))
    print(f"{name}: TVM's bits; stopped at {stops} instructions and once moved: equal")


def check_refusals(home, folder):
    """Functions that were compiled whole and cannot run here say so, and how they can."""
    module = build((4,), lambda builder, x: relax.op.add(x, x))
    relax.build(module, target="llvm", exec_mode="compiled").export_library(f"{folder}/alone.so")
    home.call("register", "alone", f"{folder}/alone.so")
    np.savez(f"{folder}/alone.npz", x=floats(4))
    options = ("--native", *PRELOAD[:2])
    home.refuses("run", "alone", "--input", f"{folder}/alone.npz", "--output", f"{folder}/y.npz", *options,
                 words=("libtvm_runtime.so", "exec_mode"))
    relax.build(Cached, target="llvm", exec_mode="compiled").export_library(f"{folder}/cached.so")
    home.call("register", "cached", f"{folder}/cached.so")
    home.refuses("run", "cached", "--input", f"{folder}/alone.npz", "--output", f"{folder}/y.npz", *NATIVE,
                 words=("main", "vm.builtin.tensor_cache.get", "exec_mode"))
    print("refusals: as they should be")


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Home(f"{folder}/home")
        for mode, suffix, move_after in (("bytecode", "", 4), ("compiled", "-compiled", 1)):
            for name, (module, x) in MODELS.items():
                executable = relax.build(module, target="llvm", exec_mode=mode)
                try:
                    check_model(home, folder, name + suffix, executable, x, move_after)
                except AssertionError as error:
                    failures += 1
                    print(f"{name + suffix}: {error}")
        check_refusals(home, folder)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
