#!/usr/bin/env python3
"""Layover beside TVM's Relax VM: both run the same Relax executables, by turns, in one process.

Run with a Python that has apache-tvm and numpy: TVM builds the executables with its ExecBuilder, loads them and runs
them; liblayover.so, beside the program that LAYOVER_BIN names, loads the same files. Sections: instructions, loading,
threads. A figure is the least of all rounds; where a machine is loaded, only the ratio means something.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))
os.environ.setdefault("LAYOVER_BIN", os.path.join(ROOT, "build", "tools", "layover"))

COPIES, FANS = 64, (25, 25, 25)  # instructions of a leaf; calls of the functions above it
LEAVES = FANS[0] * FANS[1] * FANS[2]
TENSORS, TENSOR_FLOATS = 50, 500_000  # 100 MB of constants
THREADS, THREAD_CALLS = 4, 50


# ---- the executables; TVM's builder makes them ----

def add_tree(builder, name, emit, copies):
    """Function `name`(x, y): its leaf, which has as many copies of an instruction, is called 15,625 times."""
    with builder.function(f"{name}_leaf", num_inputs=2):
        for _ in range(copies):
            emit(builder)
        for _ in range(2):  # the last test may skip one
            builder.emit_ret(builder.r(0))
    callee = f"{name}_leaf"
    for level, fan in enumerate(FANS):
        caller = name if level == len(FANS) - 1 else f"{name}_{level}"
        with builder.function(caller, num_inputs=2):
            for _ in range(fan):
                builder.emit_call(callee, [builder.r(0), builder.r(1)], builder.r(2))
            builder.emit_ret(builder.r(2))
        callee = caller


def call_of(name, *arguments):
    return lambda builder: builder.emit_call(
        f"vm.builtin.{name}", [builder.r(i) if i >= 0 else builder.imm(-i - 1) for i in arguments], builder.r(3))


def jump(builder):
    builder.emit_goto(1)


def test(builder):
    builder.emit_if(builder.r(0), 2)


def test_and_skip(builder):
    """Skips the second of two tests where x is 0."""
    builder.emit_if(builder.r(0), 2)
    builder.emit_if(builder.r(0), 2)


# name: (what, what a leaf has 64 copies of, instructions that each copy runs, x, y, the aim for the ratio)
FIGURES = {
    "copy": ("Call of copy, an int", call_of("copy", 0), 1, 7, 0, 0.5),
    "null_value": ("Call of null_value", call_of("null_value"), 1, 7, 0, 0.5),
    "read_if_cond": ("Call of read_if_cond, an int", call_of("read_if_cond", 0), 1, 7, 0, 0.5),
    "tuple_getitem": ("Call of tuple_getitem", call_of("tuple_getitem", 1, -1), 1, 7, "tuple", 0.5),
    "copy_tensor": ("Call of copy, a tensor", call_of("copy", 1), 1, 7, "tensor", 0.5),
    "shape_of": ("Call of shape_of", call_of("shape_of", 1), 1, 7, "tensor", 0.5),
    "invoke": ("call of a VM function, and its ret",
               lambda builder: builder.emit_call("same", [builder.r(0)], builder.r(3)), 1, 7, 0, 0.5),
    "goto": ("goto", jump, 1, 7, 0, 1),
    "if": ("if, true", test, 1, 7, 0, 1),
    "if_false": ("if, false", test_and_skip, 1, 0, 0, 1),
}


def write_instructions(path):
    from tvm import relax

    builder = relax.ExecBuilder()
    with builder.function("same", num_inputs=1):
        builder.emit_ret(builder.r(0))
    add_tree(builder, "empty", None, 0)
    for name, (_, emit, _, _, _, _) in FIGURES.items():
        add_tree(builder, name, emit, COPIES)
    with builder.function("pair", num_inputs=1):
        builder.emit_call("vm.builtin.make_tuple", [builder.r(0), builder.r(0)], builder.r(1))
        builder.emit_ret(builder.r(1))
    builder.get().mod.write_to_file(path, "")


def random_arrays():
    import numpy as np

    random = np.random.default_rng(3)
    return [random.random(TENSOR_FLOATS, np.float32) for _ in range(TENSORS)]


def write_raw(path):
    """main() gives all constants."""
    import tvm
    from tvm import relax

    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=0):
        constants = [builder.convert_constant(tvm.runtime.tensor(array)) for array in random_arrays()]
        builder.emit_call("vm.builtin.make_tuple", constants, builder.r(0))
        builder.emit_ret(builder.r(0))
    builder.get().mod.write_to_file(path, "")


def write_library(path):
    """main(x) adds x to the first constant, in compiled code, and gives the others beside it."""
    from tvm import relax

    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((TENSOR_FLOATS,), "float32"))
    with builder.function("main", [x]):
        constants = [relax.const(array) for array in random_arrays()]
        with builder.dataflow():
            first = builder.emit(relax.op.add(x, constants[0]))
            result = builder.emit_output(relax.Tuple([first, *constants[1:]]))
        builder.emit_func_output(result)
    relax.build(builder.get(), "llvm").export_library(path)


# ---- two sides with one interface ----

class Tvm:
    def __init__(self, path):
        import tvm

        self.tvm = tvm
        if path.endswith(".so"):
            module = tvm.runtime.load_module(path)
        else:
            module = tvm.get_global_func("ffi.Module.load_from_file.relax.VMExecutable")(path)
        self.vm = tvm.relax.VirtualMachine(module, tvm.cpu())

    def function(self, name):
        return self.vm[name]

    def tensor(self, array):
        return self.tvm.runtime.tensor(array)

    @staticmethod
    def close():
        pass


class Layover:
    def __init__(self, path):
        import library_modules

        self.module = library_modules.Module(path)

    def function(self, name):
        return self.module[name]

    @staticmethod
    def tensor(array):
        return array

    def close(self):
        self.module.close()


SIDES = {"tvm": Tvm, "layover": Layover}


def seconds_of(function, *arguments):
    """Of this thread's processor time, which other processes hardly change."""
    start = time.thread_time()
    function(*arguments)
    return time.thread_time() - start


# ---- instructions ----

def argument(side, kind):
    import numpy as np

    if kind == "tensor":
        return side.tensor(np.ones((2, 3), np.float32))
    if kind == "tuple":
        return side.function("pair")(7)
    return kind


def measure_instructions(folder, rounds):
    path = os.path.join(folder, "instructions.bin")
    write_instructions(path)
    sides = {name: side(path) for name, side in SIDES.items()}
    calls = {}
    for name, side in sides.items():
        calls[name, "empty"] = side.function("empty"), 7, 0
        for figure, (_, _, _, x, y, _) in FIGURES.items():
            calls[name, figure] = side.function(figure), x, argument(side, y)
    best = dict.fromkeys(calls, 1e9)
    for _ in range(rounds):
        for figure in ("empty", *FIGURES):
            for name in SIDES:
                best[name, figure] = min(best[name, figure], seconds_of(*calls[name, figure]))
    rows = []
    for figure, (what, _, runs, _, _, aim) in FIGURES.items():
        ns = [(best[name, figure] - best[name, "empty"]) / (LEAVES * COPIES * runs) * 1e9 for name in SIDES]
        rows.append((f"{what}, ns", *ns, aim))
    return rows


# ---- loading ----

def forget_cached(path):
    """Takes the file out of the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def load(name, path):
    """(wall, processor) seconds until the module's function can be called."""
    start, start_cpu = time.perf_counter(), time.process_time()
    side = SIDES[name](path)
    function = side.function("main")
    seconds = time.perf_counter() - start, time.process_time() - start_cpu
    del function
    side.close()
    return seconds


def run_child(what, name, path):
    """The object that the child prints; None where it was ended by a signal."""
    command = [sys.executable, os.path.abspath(__file__), "--child", what, name, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return None
    if done.returncode > 0:
        sys.exit(f"beside_tvm: a child ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout)


def load_once(name, path):
    """A process's first load; what the process needs for any file is imported before."""
    __import__("tvm" if name == "tvm" else "library_modules")
    return load(name, path)


HOWS = ("in a process that has loaded it before", "a process's first", "a process's first, from disk")


def measure_loading(folder, rounds):
    paths = [os.path.join(folder, name) for name in ("constants.bin", "constants.so")]
    write_raw(paths[0])
    write_library(paths[1])
    best = {}
    for _ in range(rounds):
        for path in paths:
            for name in SIDES:
                found = [load(name, path), run_child("load", name, path)]
                forget_cached(path)
                found.append(run_child("load", name, path))
                for how, times in zip(HOWS, found):
                    for clock, seconds in zip(("wall", "processor"), times):
                        key = path, how, clock, name
                        best[key] = min(best.get(key, 1e9), seconds)
    rows = []
    for path, how, clock in dict.fromkeys(key[:3] for key in best):
        what = f"load of {os.path.getsize(path) / 1e6:.0f} MB, {path.split('.')[-1]}, {how}, {clock} ms"
        rows.append((what, *[best[path, how, clock, name] * 1e3 for name in SIDES], 0.5))
    return rows


# ---- threads ----

def count_answers(name, path):
    """Threads on one executable (TVM: on one VM): each calls a function that gives its argument."""
    side = SIDES[name](path)
    function, wrong, failed = side.function("copy"), [0] * THREADS, [0] * THREADS

    def serve(index):
        for _ in range(THREAD_CALLS):
            try:
                wrong[index] += function(index + 1, 0) != index + 1
            except Exception:  # of any kind: a call failed
                failed[index] += 1

    seconds = {}
    for count in (1, THREADS):
        threads = [threading.Thread(target=serve, args=(index,)) for index in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds[count] = time.perf_counter() - start
    return {"wrong": sum(wrong), "failed": sum(failed), "rate": THREADS * seconds[1] / seconds[THREADS]}


def measure_threads(folder):
    path = os.path.join(folder, "instructions.bin")
    write_instructions(path)
    for name in SIDES:
        found = run_child("threads", name, path)
        print(f"{name}: {THREADS * THREAD_CALLS} calls by {THREADS} threads: " + (
            f"{found['wrong']} wrong answers, {found['failed']} calls failed, {found['rate']:.2f} times one thread's rate"
            if found else "the process was ended by a signal"), flush=True)


def show(rows):
    print("| figure | TVM | Layover | ratio | aim |\n| --- | --- | --- | --- | --- |")
    for what, theirs, ours, aim in rows:
        print(f"| {what} | {theirs:.4g} | {ours:.4g} | {ours / theirs:.2f} | {aim or ''} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("instructions", "loading", "threads"))
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        what, name, path = options.child
        print(json.dumps({"load": load_once, "threads": count_answers}[what](name, path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "instructions"):
            show(measure_instructions(folder, options.rounds))
        if options.only in (None, "loading"):
            show(measure_loading(folder, max(options.rounds // 3, 1)))
        if options.only in (None, "threads"):
            measure_threads(folder)


if __name__ == "__main__":
    main()
