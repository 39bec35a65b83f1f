#!/usr/bin/env python3
"""Writes the folders tests/relax/fixtures/own_*: Relax executables that TVM builds, its text of them, calls and its answers.

Run with a Python that has apache-tvm 0.27 (pip install apache-tvm==0.27.0.post1):
    python tests/relax/make_fixtures.py [NAME ...]
relax_fixtures.c judges the folder. Values in the .json files are those of the other folders: {kind, value | dtype, shape,
data | fields}; an error is {kind: error}."""
import json
import os
import signal
import struct
import sys

import ml_dtypes
import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

HERE = os.path.dirname(os.path.abspath(__file__))
VALUES = ("alias", "constants_all", "dtypes", "kv_array", "memory_scope", "parameters", "sampling", "storages", "symbolic_shape")
FIXTURES = {}
USED = set()


# ---- host functions, those of fixture_functions.c


def host(name):
    def register(function):
        def noted(*arguments):
            USED.add(name)
            return function(*arguments)

        tvm_ffi.register_global_func(name, noted, override=True)
        return function

    return register


def _wide(array):
    return array.astype(np.float64) if array.dtype.kind not in "iu" else array


def _made(array, dtype):
    return tvm.runtime.tensor(np.array(array, dtype, order="C"))


host("test.vm.add")(lambda a, b: _made(_wide(a.numpy()) + _wide(b.numpy()), a.numpy().dtype))
host("test.vm.mul")(lambda a, b: _made(_wide(a.numpy()) * _wide(b.numpy()), a.numpy().dtype))
host("test.vm.equal_zero")(lambda a: _made(np.array(a.numpy().reshape(-1)[0] == 0), "bool"))
host("test.vm.subtract_one")(lambda a: _made(_wide(a.numpy()) - 1, a.numpy().dtype))
host("test.vm.identity")(lambda a, out: _put(out, a.numpy()))
host("test.vm.tile")(lambda a, out: _put(out, np.tile(a.numpy(), (1, 2))))
host("fx.add_i64")(lambda a, b: a + b)
host("fx.sub_i64")(lambda a, b: a - b)
host("fx.mul_i64")(lambda a, b: a * b)
host("fx.le_i64")(lambda a, b: a <= b)
host("fx.fill_iota")(lambda out: _put(out, np.arange(int(np.prod(out.shape))).reshape(out.shape)))
host("fx.add_into")(lambda a, b, out: _put(out, _wide(a.numpy()) + _wide(b.numpy())))
host("fx.scale_f64")(lambda a, x: _made(_wide(a.numpy()) * x, a.numpy().dtype))


def _put(out, array):
    out.copyfrom(np.array(array, out.numpy().dtype, order="C"))


# ---- values as JSON


def tensor(array):
    array = np.asarray(array)
    flat = array.reshape(-1)
    data = flat.tolist() if array.dtype.kind in "iub" else [float(x) for x in flat.astype(np.float64)]
    return {"kind": "tensor", "dtype": str(array.dtype).replace("_", ""), "shape": list(array.shape), "data": data}


def described(value):
    if value is None:
        return {"kind": "null"}
    if isinstance(value, (bool, np.bool_)):
        return {"kind": "bool", "value": bool(value)}
    if isinstance(value, int):
        return {"kind": "int", "value": value}
    if isinstance(value, float):
        return {"kind": "float", "value": value}
    if isinstance(value, tvm.DataType) or type(value).__name__ == "dtype":
        return {"kind": "dtype", "value": str(value).replace("_", "").replace("e2m1fn", "e2m1")}
    if isinstance(value, str):
        return {"kind": "str", "value": str(value)}
    if isinstance(value, tvm_ffi.Shape):
        return {"kind": "shape", "value": [int(x) for x in value]}
    if isinstance(value, tvm_ffi.Array):
        return {"kind": "tuple", "fields": [described(field) for field in value]}
    if isinstance(value, (tuple, list)):
        return {"kind": "tuple", "fields": [described(field) for field in value]}
    return tensor(value if isinstance(value, np.ndarray) else value.numpy())


def given(value):
    """An input as TVM takes it."""
    if isinstance(value, np.ndarray):
        return tvm.runtime.tensor(value)
    if isinstance(value, tuple) and not isinstance(value, tvm_ffi.Shape):
        return tvm_ffi.Array([given(field) for field in value])
    return value


def answer(executable, function, inputs):
    try:
        machine = relax.VirtualMachine(executable, tvm.cpu())
        return described(machine[function](*[given(value) for value in inputs]))
    except Exception as error:  # noqa: BLE001: whatever TVM raises is its answer
        if "WHY" in os.environ:
            print(function, str(error).strip().splitlines()[-1][:200])
        return {"kind": "error"}


def answer_apart(executable, function, inputs):
    """The answer, or None where TVM crashes or never ends; and the host functions that were used."""
    sys.stdout.flush()
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        given_answer = answer(executable, function, inputs)
        os.write(there, json.dumps([given_answer, sorted(USED)]).encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        print(f"{function}: TVM crashes")
        return None
    result, used = json.loads(text)
    USED.update(used)
    return result


def stats_of(module):
    try:
        return module.stats()
    except Exception as error:  # noqa: BLE001
        return f"stats() raised: {str(error).splitlines()[0]}"


def fixture(note):
    """Registers a function that gives an executable and calls [function, input ...]."""
    def register(make):
        FIXTURES[make.__name__] = (note, make)
        return make

    return register


def load_bytes(data):
    return relax.VMExecutable(tvm_ffi.get_global_func("ffi.Module.load_from_bytes.relax.VMExecutable")(bytes(data)))


def place(name):
    """The path of a fixture without its ending: by hand about values or about code, or compiled."""
    folder = "own_compiled" if name.startswith("c_") else "own_values" if name in VALUES else "own_code"
    os.makedirs(os.path.join(HERE, "fixtures", folder), exist_ok=True)
    return os.path.join(HERE, "fixtures", folder, name)


def write(name):
    note, make = FIXTURES[name]
    USED.clear()
    executable, calls = make()
    path = place(name)
    executable.mod.write_to_file(path + ".bin", "")
    with open(path + ".bin", "rb") as file:
        loaded = load_bytes(file.read())
    with open(path + ".txt", "w") as file:
        file.write(f"{loaded.as_text()}\n# as_python\n{loaded.as_python()}\n# stats\n{stats_of(loaded)}")
    made = [{"function": call[0], "inputs": [described(value) for value in call[1:]],
             "expected": answer_apart(loaded, call[0], call[1:])} for call in calls]
    made = [call for call in made if call["expected"]]
    with open(path + ".json", "w") as file:
        json.dump({"fixture": name, "note": note, "packed_functions": sorted(USED), "tvm": tvm.__version__, "calls": made},
                  file, separators=(",", ":"))
        file.write("\n")
    print(f"{name}: {os.path.getsize(path + '.bin')} bytes; " +
          ", ".join(f"{call['function']} {call['expected']['kind']}" for call in made))


# ---- by hand


class Builder(relax.ExecBuilder):
    def call(self, name, *args, dst=None):
        name = name.replace(":", "vm.builtin.")
        self.emit_call(name, args=list(args), dst=None if dst is None else self.r(dst))

    def const(self, value):
        return self.convert_constant(value)


def floats(*dims):
    count = int(np.prod(dims))
    return (np.arange(count) / 4 - 1).astype(np.float32).reshape(dims)


@fixture("immediates with signs, the greatest ones, and ints that need constants")
def imm_signed():
    ib = Builder()
    with ib.function("sums", num_inputs=1):
        ib.call("fx.add_i64", ib.r(0), ib.imm(-7), dst=1)
        ib.call("fx.mul_i64", ib.r(1), ib.imm(-1), dst=1)
        ib.call("fx.sub_i64", ib.r(1), ib.imm(2**55 - 1), dst=1)
        ib.call("fx.add_i64", ib.r(1), ib.imm(-(2**55 - 1)), dst=2)
        ib.call(":make_tuple", ib.r(1), ib.r(2), ib.imm(0), ib.imm(-1), ib.imm(2**55 - 1), ib.imm(1 - 2**55), dst=3)
        ib.emit_ret(ib.r(3))
    with ib.function("wide", num_inputs=0):
        ib.call(":make_tuple", ib.const(2**63 - 1), ib.const(-2**63), ib.const(2**60), dst=0)
        ib.emit_ret(ib.r(0))
    return ib.get(), [["sums", 3], ["sums", -(2**40)], ["wide"]]


@fixture("recursion over tensors; depth in a register, the tensor rebuilt in each frame")
def recursion_tensor():
    ib = Builder()
    with ib.function("power", num_inputs=2):
        ib.call("test.vm.equal_zero", ib.r(1), dst=2)
        ib.call(":read_if_cond", ib.r(2), dst=3)
        ib.emit_if(ib.r(3), 2)
        ib.emit_ret(ib.r(0))
        ib.call("test.vm.subtract_one", ib.r(1), dst=4)
        ib.call("power", ib.r(0), ib.r(4), dst=5)
        ib.call("test.vm.add", ib.r(5), ib.r(0), dst=6)
        ib.emit_ret(ib.r(6))
    for name in ("even", "odd"):
        ib.declare_function(name, relax.exec_builder.VMFuncKind.VM_FUNC)
    with ib.function("both", num_inputs=2):
        ib.call("even", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("even", num_inputs=2):
        ib.emit_if(ib.r(0), 4)
        ib.call("fx.sub_i64", ib.r(0), ib.imm(1), dst=0)
        ib.call("odd", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
        ib.call(":make_tuple", ib.r(1), ib.imm(0), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("odd", num_inputs=2):
        ib.emit_if(ib.r(0), 4)
        ib.call("fx.sub_i64", ib.r(0), ib.imm(1), dst=0)
        ib.call("even", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
        ib.call(":make_tuple", ib.r(1), ib.imm(1), dst=2)
        ib.emit_ret(ib.r(2))
    return ib.get(), [["power", floats(2, 3), np.array(5, "int32")], ["power", floats(2), np.array(0, "int64")],
                      ["power", floats(0, 3), np.array(2, "int64")], ["both", 6, floats(2)], ["both", 7, floats(2)],
                      ["both", 0, floats(1)], ["power", floats(2)], ["power", 3, 4]]


@fixture("symbolic shapes: all codes of match_shape and make_shape, ints, shapes as inputs and results, mismatches")
def symbolic_shape():
    ib = Builder()
    context = ib.const("where it happens")
    with ib.function("main", num_inputs=2):
        ib.call(":alloc_shape_heap", ib.vm_state(), ib.imm(3), dst=2)
        ib.call(":check_tensor_info", ib.r(0), ib.imm(2), ib.const(tvm.DataType("float32")), context)
        ib.call(":match_shape", ib.r(0), ib.r(2), ib.imm(2), ib.imm(1), ib.imm(0), ib.imm(1), ib.imm(1), context)
        ib.call(":match_shape", ib.r(1), ib.r(2), ib.imm(3), ib.imm(3), ib.imm(1), ib.imm(0), ib.imm(4), ib.imm(1), ib.imm(2),
                context)
        ib.call(":make_shape", ib.r(2), ib.imm(4), ib.imm(1), ib.imm(2), ib.imm(0), ib.imm(6), ib.imm(1), ib.imm(0), ib.imm(0),
                ib.imm(9), dst=3)
        ib.call(":shape_of", ib.r(0), dst=4)
        ib.call(":make_prim_value", ib.r(2), ib.imm(1), ib.imm(1), dst=5)
        ib.call(":make_prim_value", ib.r(2), ib.imm(0), ib.imm(-8), dst=6)
        ib.call(":make_tuple", ib.r(3), ib.r(4), ib.r(5), ib.r(6), dst=7)
        ib.emit_ret(ib.r(7))
    with ib.function("prim", num_inputs=2):
        ib.call(":alloc_shape_heap", ib.vm_state(), ib.imm(1), dst=2)
        ib.call(":match_prim_value", ib.r(0), ib.r(2), ib.imm(1), ib.imm(0), context)
        ib.call(":match_prim_value", ib.r(1), ib.r(2), ib.imm(3), ib.imm(0), context)
        ib.call(":make_shape", ib.r(2), ib.imm(2), ib.imm(1), ib.imm(0), ib.imm(1), ib.imm(0), dst=3)
        ib.emit_ret(ib.r(3))
    with ib.function("static", num_inputs=1):
        ib.call(":match_shape", ib.r(0), ib.void_arg(), ib.imm(2), ib.imm(0), ib.imm(2), ib.imm(2), ib.imm(0), context)
        ib.call(":make_shape", ib.void_arg(), ib.imm(0), dst=1)
        ib.emit_ret(ib.r(1))
    with ib.function("reshaped", num_inputs=2):
        ib.call(":reshape", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("from_tensor", num_inputs=1):
        ib.call(":tensor_to_shape", ib.r(0), dst=1)
        ib.emit_ret(ib.r(1))
    shape = tvm_ffi.Shape
    return ib.get(), [
        ["main", floats(2, 5), shape([5, 4, 7])], ["main", floats(2, 5), shape([2, 4, 7])],
        ["main", floats(0, 5), shape([5, 4, 0])], ["main", floats(2, 5), floats(5, 4, 1)], ["main", floats(2, 5, 1), shape([5, 4, 7])],
        ["main", floats(2, 5).astype("float64"), shape([5, 4, 7])], ["main", 3, shape([5, 4, 7])],
        ["prim", 4, 4], ["prim", 4, 5], ["prim", floats(1), 5], ["static", floats(2, 9)], ["static", floats(3, 9)],
        ["static", shape([2, 0])], ["static", shape([2])], ["reshaped", floats(2, 3), shape([3, 2, 1])],
        ["reshaped", floats(2, 3), shape([7])], ["reshaped", floats(0, 3), shape([3, 0])], ["reshaped", floats(1), shape([])],
        ["from_tensor", np.array([3, 1], "int64")], ["from_tensor", np.array([3, 1], "int32")], ["from_tensor", np.array([], "int64")],
        ["from_tensor", np.array([3], "float32")], ["from_tensor", np.array([[3]], "int64")]]


@fixture("results that are the same tensor, views of one storage, or inputs")
def alias():
    ib = Builder()
    with ib.function("same", num_inputs=1):
        ib.call(":copy", ib.r(0), dst=1)
        ib.call("test.vm.add", ib.r(0), ib.r(1), dst=2)
        ib.call(":make_tuple", ib.r(2), ib.r(2), ib.r(0), ib.r(1), dst=3)
        ib.call(":make_tuple", ib.r(3), ib.r(3), ib.r(2), dst=4)
        ib.emit_ret(ib.r(4))
    with ib.function("views", num_inputs=0):
        storage, window = ib.const(tvm_ffi.Shape([64])), ib.const(tvm_ffi.Shape([4]))
        f32, u8 = ib.const(tvm.DataType("float32")), ib.const(tvm.DataType("uint8"))
        ib.call(":alloc_storage", ib.vm_state(), storage, ib.imm(0), u8, ib.const("global"), dst=0)
        ib.call(":alloc_tensor", ib.r(0), ib.imm(0), window, f32, dst=1)
        ib.call(":alloc_tensor", ib.r(0), ib.imm(0), ib.const(tvm_ffi.Shape([2, 2])), f32, dst=2)
        ib.call(":alloc_tensor", ib.r(0), ib.imm(8), window, f32, dst=3)
        ib.call("fx.fill_iota", ib.r(1))
        ib.call(":reshape", ib.r(1), ib.const(tvm_ffi.Shape([4, 1])), dst=4)
        ib.call("fx.add_into", ib.r(2), ib.r(2), ib.r(2))
        ib.call(":null_value", dst=0)
        ib.call("test.vm.identity", ib.r(1), ib.r(3))
        ib.call(":make_tuple", ib.r(1), ib.r(2), ib.r(3), ib.r(4), dst=5)
        ib.emit_ret(ib.r(5))
    with ib.function("offset", num_inputs=0):
        ib.call(":alloc_storage", ib.vm_state(), storage, ib.imm(0), u8, ib.const("global"), dst=0)
        ib.call(":alloc_tensor", ib.r(0), ib.imm(16), window, f32, dst=1)
        ib.call("fx.fill_iota", ib.r(1))
        ib.call(":ensure_zero_offset", ib.r(1), dst=2)
        ib.call("fx.add_into", ib.r(1), ib.r(1), ib.r(1))
        ib.call(":make_tuple", ib.r(1), ib.r(2), dst=3)
        ib.emit_ret(ib.r(3))
    with ib.function("given", num_inputs=2):
        ib.call(":make_tuple", ib.r(1), ib.r(0), ib.r(1), dst=0)
        ib.emit_ret(ib.r(0))
    return ib.get(), [["same", floats(3)], ["views"], ["offset"], ["given", floats(2), (floats(1), 3)], ["given", None, True]]


@fixture("constants with memory scopes")
def memory_scope():
    ib = Builder()
    a, b = ib.const(tvm.runtime.tensor(floats(2))), ib.const(tvm.runtime.tensor(floats(2, 2)))
    with ib.function("main", num_inputs=1):
        ib.call("test.vm.add", ib.r(0), a, dst=1)
        ib.call("test.vm.add", b, ib.r(1), dst=1)
        ib.emit_ret(ib.r(1))
    path = place("memory_scope") + ".tmp"
    ib.get().mod.write_to_file(path, "")
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    marker = struct.pack("<QQi", 0, 2, 70)  # no scopes, two constants, a tensor
    assert data.count(marker) == 1
    scope = struct.pack("<QqQ", 1, 1, 6) + b"global"
    return load_bytes(data.replace(marker, scope + struct.pack("<Qi", 2, 70))), [["main", floats(2)]]


@fixture("tuples in tuples, empty ones, of all kinds of values; reset fields")
def tuples_nested():
    ib = Builder()
    with ib.function("kinds", num_inputs=1):
        ib.call(":null_value", dst=1)
        ib.call(":make_tuple", dst=2)
        ib.call(":make_tuple", ib.r(0), ib.r(1), ib.r(2), ib.imm(-3), ib.const(2.5), ib.const("text"), ib.const(tvm_ffi.Shape([2, 0])),
                ib.const(tvm.DataType("int8")), ib.void_arg(), dst=3)
        ib.call(":make_tuple", ib.r(3), ib.r(2), ib.r(3), dst=4)
        ib.call(":make_tuple", ib.r(4), dst=4)
        ib.emit_ret(ib.r(4))
    with ib.function("field", num_inputs=2):
        ib.call(":tuple_getitem", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("inner", num_inputs=1):
        ib.call(":tuple_getitem", ib.r(0), ib.imm(1), dst=1)
        ib.call(":tuple_getitem", ib.r(1), ib.imm(0), dst=1)
        ib.emit_ret(ib.r(1))
    with ib.function("reset", num_inputs=2):
        ib.call(":make_tuple", ib.r(0), ib.r(1), ib.imm(5), dst=2)
        ib.call(":tuple_getitem", ib.r(2), ib.imm(0), dst=3)
        ib.call(":tuple_reset_item", ib.r(2), ib.imm(0), dst=4)
        ib.call(":make_tuple", ib.r(2), ib.r(3), ib.r(4), dst=5)
        ib.emit_ret(ib.r(5))
    return ib.get(), [["kinds", floats(2)], ["kinds", ()], ["field", (1, (2, floats(1))), 1], ["field", (1, 2), 2], ["field", (1, 2), -1],
                      ["field", (), 0], ["field", 4, 0], ["inner", (0, (floats(2), 1))], ["inner", ((1,), 0)],
                      ["reset", floats(2), "b"]]


@fixture("closures: captured tensors, handed to functions and back, of packed functions, bound twice, with wrong counts")
def closures():
    ib = Builder()
    for name in ("test.vm.subtract_one", "test.vm.add", "fx.add_i64"):
        ib.declare_function(name)
    with ib.function("three", num_inputs=3):
        ib.call("test.vm.mul", ib.r(0), ib.r(1), dst=3)
        ib.call("test.vm.add", ib.r(3), ib.r(2), dst=3)
        ib.emit_ret(ib.r(3))
    with ib.function("maker", num_inputs=2):
        ib.call(":make_closure", ib.f("three"), ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("twice", num_inputs=2):
        ib.call(":invoke_closure", ib.vm_state(), ib.r(0), ib.r(1), dst=1)
        ib.call(":invoke_closure", ib.vm_state(), ib.r(0), ib.r(1), dst=1)
        ib.emit_ret(ib.r(1))
    with ib.function("main", num_inputs=3):
        ib.call("maker", ib.r(1), ib.r(2), dst=3)
        ib.call("twice", ib.r(3), ib.r(0), dst=4)
        ib.emit_ret(ib.r(4))
    with ib.function("of_packed", num_inputs=2):
        ib.call("twice", ib.f("test.vm.subtract_one"), ib.r(0), dst=2)
        ib.call(":invoke_closure", ib.vm_state(), ib.f("test.vm.add"), ib.r(2), ib.r(1), dst=3)
        ib.call(":call_tir_dyn", ib.f("fx.add_i64"), ib.const(tvm_ffi.Shape([30, 12])), dst=4)
        ib.call(":make_tuple", ib.r(2), ib.r(3), ib.r(4), dst=5)
        ib.emit_ret(ib.r(5))
    with ib.function("again", num_inputs=3):
        ib.call(":make_closure", ib.f("three"), ib.r(2), dst=3)
        ib.call(":make_closure", ib.r(3), ib.r(1), dst=3)
        ib.call(":make_closure", ib.r(3), dst=3)
        ib.call(":invoke_closure", ib.vm_state(), ib.r(3), ib.r(0), dst=4)
        ib.emit_ret(ib.r(4))
    with ib.function("apply", num_inputs=2):
        ib.call(":make_closure", ib.f("twice"), dst=2)
        ib.call(":make_closure", ib.f("three"), ib.r(1), ib.r(1), dst=3)
        ib.call(":invoke_closure", ib.vm_state(), ib.r(2), ib.r(3), ib.r(0), dst=4)
        ib.emit_ret(ib.r(4))
    with ib.function("too_few", num_inputs=1):
        ib.call(":make_closure", ib.f("three"), ib.r(0), dst=1)
        ib.call(":invoke_closure", ib.vm_state(), ib.r(1), ib.r(0), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("too_many", num_inputs=1):
        ib.call(":make_closure", ib.f("three"), ib.r(0), ib.r(0), ib.r(0), ib.r(0), dst=1)
        ib.call(":invoke_closure", ib.vm_state(), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("none", num_inputs=1):
        ib.call(":invoke_closure", ib.vm_state(), ib.r(0), dst=2)
        ib.emit_ret(ib.r(2))
    x = floats(3)
    return ib.get(), [["main", x, x + 1, x - 2], ["of_packed", x, x], ["again", x, x + 1, x - 2], ["apply", x, x], ["too_few", x],
                      ["too_many", x], ["none", x], ["none", 3], ["none", None]]


@fixture("calls whose results are dropped, void arguments, the machine's register, empty functions")
def void_calls():
    ib = Builder()
    ib.declare_function("test.vm.add")
    with ib.function("nothing", num_inputs=0):
        ib.emit_ret(ib.void_arg())
    with ib.function("dropped", num_inputs=1):
        ib.call("test.vm.add", ib.r(0), ib.r(0))
        ib.call(":make_tuple", ib.void_arg(), ib.r(0), dst=1)
        ib.call("nothing", dst=2)
        ib.call(":make_tuple", ib.r(1), ib.r(2), dst=3)
        ib.emit_ret(ib.r(3))
    ib.declare_function("given", relax.exec_builder.VMFuncKind.VM_FUNC)
    with ib.function("takes_void", num_inputs=0):
        ib.call("given", ib.void_arg(), ib.imm(4), dst=0)
        ib.emit_ret(ib.r(0))
    with ib.function("given", num_inputs=2):
        ib.call(":make_tuple", ib.r(1), ib.r(0), dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("machine", num_inputs=1):
        ib.call("given", ib.vm_state(), ib.r(0), dst=1)
        ib.call(":tuple_getitem", ib.r(1), ib.imm(1), dst=2)
        ib.call(":invoke_closure", ib.r(2), ib.f("test.vm.add"), ib.r(0), ib.r(0), dst=3)
        ib.call(":alloc_shape_heap", ib.r(2), ib.imm(1), dst=4)
        ib.call(":match_shape", ib.r(0), ib.r(4), ib.imm(1), ib.imm(1), ib.imm(0), ib.void_arg())
        ib.call(":make_shape", ib.r(4), ib.imm(2), ib.imm(1), ib.imm(0), ib.imm(1), ib.imm(0), dst=5)
        ib.call(":make_tuple", ib.r(3), ib.r(5), dst=6)
        ib.emit_ret(ib.r(6))
    with ib.function("unused", num_inputs=3):
        ib.emit_ret(ib.r(1))
    return ib.get(), [["nothing"], ["dropped", floats(2)], ["takes_void"], ["machine", floats(2)], ["unused", 1, None, 3], ["unused", 1, 2],
                      ["nothing", 1]]


@fixture("constants of all element types, of no elements and no dimensions; strings, shapes, element types, odd floats")
def constants_all():
    ib = Builder()
    kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
    arrays = [np.array([[0, 1, 2], [3, 100, 1]]).astype(kind) for kind in kinds]
    arrays += [np.array([[0, 0.5], [-1.5, 3]]).astype(kind)
               for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz,
                            ml_dtypes.float8_e5m2fnuz)]
    arrays += [np.zeros((0,), "float32"), np.zeros((0, 3), "int8"), np.array(7, "int16"), np.array(True),
               np.zeros((1, 1, 1, 1, 1, 1, 1, 2), "uint8")]
    with ib.function("tensors", num_inputs=0):
        ib.call(":make_tuple", *[ib.const(tvm.runtime.tensor(array)) for array in arrays], dst=0)
        ib.emit_ret(ib.r(0))
    texts = ["", "a", "seven77", "eight888", "grüße \u4e16\u754c \U0001f600", "line\nand\ttab \"quoted\" \\", "x" * 300]
    with ib.function("strings", num_inputs=0):
        ib.call(":make_tuple", *[ib.const(text) for text in texts], dst=0)
        ib.emit_ret(ib.r(0))
    shapes = [[], [0], [1], [2, 0, 3], list(range(8)), [2**40, 5], list(range(-3, 97)), [-(2**63), 3], [2**62, 2**62]]
    with ib.function("shapes", num_inputs=0):
        ib.call(":make_tuple", *[ib.const(tvm_ffi.Shape(dims)) for dims in shapes], dst=0)
        ib.emit_ret(ib.r(0))
    dtypes = kinds + ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"]
    with ib.function("dtypes", num_inputs=0):
        ib.call(":make_tuple", *[ib.const(tvm.DataType(name)) for name in dtypes], dst=0)
        ib.emit_ret(ib.r(0))
    numbers = [0.0, -0.0, 1e-310, 1.7976931348623157e308, -2.5, 0.1, float(2**53)]
    with ib.function("numbers", num_inputs=0):
        ib.call(":make_tuple", *[ib.const(number) for number in numbers], ib.const(2**56), ib.const(-(2**56)), dst=0)
        ib.emit_ret(ib.r(0))
    return ib.get(), [["tensors"], ["strings"], ["shapes"], ["dtypes"], ["numbers"]]


@fixture("element types through storages, kernels and checks")
def dtypes():
    ib = Builder()
    names = ["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
    for name in names:
        dtype = ib.const(tvm.DataType(name))
        with ib.function("iota_" + name, num_inputs=1):
            ib.call(":check_tensor_info", ib.r(0), ib.imm(2), dtype, ib.const("x"))
            ib.call(":alloc_storage", ib.vm_state(), ib.const(tvm_ffi.Shape([96])), ib.imm(0), ib.const(tvm.DataType("uint8")),
                    ib.const("global"), dst=1)
            ib.call(":alloc_tensor", ib.r(1), ib.imm(0), ib.const(tvm_ffi.Shape([2, 3])), dtype, dst=2)
            ib.call("fx.fill_iota", ib.r(2))
            ib.call("test.vm.add", ib.r(2), ib.r(0), dst=3)
            ib.call("test.vm.mul", ib.r(3), ib.r(3), dst=3)
            ib.emit_ret(ib.r(3))
    calls = [["iota_" + name, (np.arange(6).reshape(2, 3) - (0 if name[0] == "u" else 2)).astype(
        ml_dtypes.bfloat16 if name == "bfloat16" else name)] for name in names]
    return ib.get(), calls + [["iota_int8", floats(2, 3)], ["iota_float16", floats(2, 3)], ["iota_int64", np.zeros((2, 3), "int32")]]


@fixture("conditions of all kinds, jumps forward and back, nested loops, several returns")
def jumps():
    ib = Builder()
    with ib.function("condition", num_inputs=1):
        ib.call(":read_if_cond", ib.r(0), dst=1)
        ib.emit_if(ib.r(1), 3)
        ib.call(":make_tuple", ib.imm(1), dst=2)
        ib.emit_goto(2)
        ib.call(":make_tuple", dst=2)
        ib.emit_ret(ib.r(2))
    with ib.function("plain", num_inputs=1):
        ib.emit_if(ib.r(0), 2)
        ib.emit_ret(ib.r(0))
        ib.call(":null_value", dst=0)
        ib.emit_ret(ib.r(0))
    with ib.function("table", num_inputs=2):
        ib.call("fx.add_i64", ib.imm(0), ib.imm(0), dst=2)   # 0
        ib.call("fx.add_i64", ib.imm(0), ib.imm(0), dst=3)   # 1: row
        ib.call("fx.le_i64", ib.r(0), ib.r(3), dst=4)        # 2
        ib.emit_if(ib.r(4), 2)                               # 3
        ib.emit_goto(9)                                      # 4 -> 13
        ib.call("fx.add_i64", ib.imm(0), ib.imm(0), dst=5)   # 5: column
        ib.call("fx.le_i64", ib.r(1), ib.r(5), dst=4)        # 6
        ib.emit_if(ib.r(4), 3)                               # 7 -> 10
        ib.call("fx.add_i64", ib.r(3), ib.imm(1), dst=3)     # 8
        ib.emit_goto(-7)                                     # 9 -> 2
        ib.call("fx.add_i64", ib.r(2), ib.r(3), dst=2)       # 10
        ib.call("fx.add_i64", ib.r(5), ib.imm(1), dst=5)     # 11
        ib.emit_goto(-6)                                     # 12 -> 6
        ib.emit_ret(ib.r(2))                                 # 13
    values = [np.array(v, k) for k in ("bool", "int8", "int32", "int64", "uint8", "uint32") for v in (0, 1)]
    return ib.get(), [["condition", v] for v in values + [True, False, 1, 0, np.array([1], "int32"), np.array(1.0, "float32")]] + [
        ["plain", 5], ["plain", 0], ["plain", -1], ["plain", True], ["plain", False], ["plain", 1.0], ["plain", None],
        ["plain", floats(1)], ["table", 3, 4], ["table", 0, 4], ["table", 2, 0]]


@fixture("checks of values that pass and fail")
def checks():
    ib = Builder()
    context = ib.const("ErrorContext(fn=main)")
    forms = {"tensor": (":check_tensor_info", ib.imm(2), ib.const(tvm.DataType("int32"))), "any_rank": (":check_tensor_info", ib.imm(-1)),
             "shape": (":check_shape_info", ib.imm(2)), "any_shape": (":check_shape_info", ib.imm(-1)), "tuple": (":check_tuple_info", ib.imm(2)),
             "prim": (":check_prim_value_info", ib.const(tvm.DataType("int64"))),
             "prim_float": (":check_prim_value_info", ib.const(tvm.DataType("float32"))),
             "prim_bool": (":check_prim_value_info", ib.const(tvm.DataType("bool"))), "func": (":check_func_info",),
             "string": (":check_string_info",)}
    for name, (builtin, *rest) in forms.items():
        with ib.function(name, num_inputs=1):
            ib.call(builtin, ib.r(0), *rest, context)
            ib.emit_ret(ib.r(0))
    ib.declare_function("test.vm.add")
    with ib.function("closure", num_inputs=0):
        ib.call(":check_func_info", ib.f("func"), context)
        ib.call(":check_func_info", ib.f("test.vm.add"), context)
        ib.emit_ret(ib.void_arg())
    values = [np.zeros((2, 1), "int32"), np.zeros((2,), "int32"), np.zeros((2, 1), "int64"), tvm_ffi.Shape([1, 2]), tvm_ffi.Shape([]), (1, 2), (),
              3, True, 2.5, "text", None]
    return ib.get(), [[name, value] for name in forms for value in values
                      if value is not None or name in ("tensor", "any_rank")] + [["closure"]]  # TVM crashes on null elsewhere


@fixture("storages: offsets, sizes of nothing, tensors that do not fit, both devices")
def storages():
    ib = Builder()
    f32, u8 = ib.const(tvm.DataType("float32")), ib.const(tvm.DataType("uint8"))
    with ib.function("two", num_inputs=2):
        ib.call(":alloc_storage", ib.vm_state(), ib.r(0), ib.imm(0), u8, ib.const("global"), dst=2)
        ib.call(":alloc_storage", ib.vm_state(), ib.r(0), ib.imm(0), u8, ib.const("global"), dst=3)
        ib.call(":alloc_tensor", ib.r(2), ib.imm(0), ib.r(1), f32, dst=4)
        ib.call(":alloc_tensor", ib.r(3), ib.imm(64), ib.r(1), f32, dst=5)
        ib.call("fx.fill_iota", ib.r(4))
        ib.call("fx.add_into", ib.r(4), ib.r(4), ib.r(5))
        ib.call(":make_tuple", ib.r(4), ib.r(5), dst=6)
        ib.emit_ret(ib.r(6))
    with ib.function("typed", num_inputs=1):
        ib.call(":alloc_storage", ib.vm_state(), ib.r(0), ib.imm(0), f32, ib.const("global"), dst=1)
        ib.call(":alloc_tensor", ib.r(1), ib.imm(0), ib.r(0), f32, dst=2)
        ib.call("fx.fill_iota", ib.r(2))
        ib.call(":memory_manager.clear")
        ib.emit_ret(ib.r(2))
    with ib.function("copied", num_inputs=1):
        ib.call(":to_device", ib.r(0), ib.imm(1), ib.imm(0), dst=1)
        ib.call("test.vm.add", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    shape = tvm_ffi.Shape
    return ib.get(), [["two", shape([256]), shape([4, 2])], ["two", shape([256]), shape([0])], ["two", shape([128]), shape([])],
                      ["typed", shape([3, 5])], ["typed", shape([])], ["copied", floats(2, 2)], ["two", shape([256]), shape([100000])]]


@fixture("rows of keys and values: the older cache")
def kv_array():
    ib = Builder()
    with ib.function("main", num_inputs=3):
        ib.call(":attention_kv_cache_create", ib.r(0), ib.const(tvm_ffi.Shape([16, 2])), ib.imm(0), dst=3)
        ib.call(":attention_kv_cache_append", ib.r(3), ib.r(1), dst=4)
        ib.call(":attention_kv_cache_append", ib.r(4), ib.r(2), dst=4)
        ib.call(":attention_kv_cache_view", ib.r(4), dst=5)
        ib.call(":make_tuple", ib.r(4), ib.r(3), dst=6)
        ib.call(":attention_kv_cache_array_popn", ib.r(6), ib.imm(1))
        ib.call(":attention_kv_cache_view", ib.r(3), dst=7)
        ib.call(":attention_kv_cache_window_override", ib.r(3), ib.r(1), ib.imm(4), dst=3)
        ib.call(":attention_kv_cache_view", ib.r(3), dst=8)
        ib.call(":make_tuple", ib.r(5), ib.r(7), ib.r(8), dst=9)
        ib.emit_ret(ib.r(9))
    with ib.function("filled", num_inputs=1):
        ib.call(":attention_kv_cache_create", ib.r(0), ib.const(tvm_ffi.Shape([16, 2])), ib.imm(-1), dst=1)
        ib.call(":attention_kv_cache_view", ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    return ib.get(), [["main", floats(3, 2), floats(2, 2), floats(1, 2) + 9], ["filled", floats(3, 2)],
                      ["main", floats(3, 2), floats(2, 3), floats(1, 2)]]


@fixture("sampling from logits and probabilities")
def sampling():
    ib = Builder()
    with ib.function("top_p", num_inputs=1):
        for at, (temperature, top_p, number) in enumerate([(0.0, 0.9, 0.5), (1.0, 0.9, 0.5), (0.7, 0.5, 0.99), (1.5, 1.0, 0.01)]):
            ib.call(":sample_top_p_from_logits", ib.r(0), ib.const(temperature), ib.const(top_p), ib.const(number), dst=1 + at)
        ib.call(":make_tuple", *[ib.r(1 + at) for at in range(4)], dst=8)
        ib.emit_ret(ib.r(8))
    with ib.function("multinomial", num_inputs=2):
        ib.call(":multinomial_from_uniform", ib.r(0), ib.r(1), dst=2)
        ib.emit_ret(ib.r(2))
    probabilities = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]], "float32")
    return ib.get(), [["top_p", np.array([[0.1, 2.5, -1, 1.5, 2.25]], "float32")], ["multinomial", probabilities, np.array([[0.25], [0.85]], "float32")],
                      ["multinomial", probabilities, np.array([[0.0], [0.999]], "float32")], ["top_p", floats(5)]]


@fixture("parameters in the cache of tensors")
def parameters():
    ib = Builder()
    with ib.function("main", num_inputs=2):
        ib.call(":tensor_cache.clear")
        ib.call(":tensor_cache.update", ib.const("p_0"), ib.r(0), ib.imm(0))
        ib.call(":tensor_cache.update", ib.const("p_1"), ib.r(1), ib.imm(0))
        ib.call(":param_array_from_cache", ib.const("p"), ib.imm(-1), dst=2)
        ib.call(":param_array_from_cache_by_name_unpacked", ib.const("p_1"), ib.const("p_0"), dst=3)
        ib.call(":tensor_cache.update", ib.const("p_1"), ib.r(0), ib.imm(1))
        ib.call(":tensor_cache.get", ib.const("p_1"), dst=4)
        ib.call(":tensor_cache.remove", ib.const("p_1"))
        ib.call(":tensor_cache.get", ib.const("p_1"), dst=5)
        ib.call(":make_tuple", ib.r(2), ib.r(3), ib.r(4), ib.r(5), dst=6)
        ib.emit_ret(ib.r(6))
    with ib.function("twice", num_inputs=1):
        ib.call(":tensor_cache.clear")
        ib.call(":tensor_cache.update", ib.const("p"), ib.r(0), ib.imm(0))
        ib.call(":tensor_cache.update", ib.const("p"), ib.r(0), ib.imm(0))
        ib.emit_ret(ib.r(0))
    with ib.function("missing", num_inputs=0):
        ib.call(":tensor_cache.clear")
        ib.call(":param_array_from_cache", ib.const("q"), ib.imm(2), dst=0)
        ib.emit_ret(ib.r(0))
    return ib.get(), [["main", floats(2), floats(3)], ["twice", floats(2)], ["missing"]]


@fixture("functions with names and names of parameters that are no identifiers; many registers; long lists of arguments")
def names():
    ib = Builder()
    with ib.function("a.b-c d", num_inputs=2, param_names=["in.put", "x y"]):
        ib.call("fx.add_i64", ib.r(0), ib.r(1), dst=700)
        ib.emit_ret(ib.r(700))
    with ib.function("ünïcode", num_inputs=1, param_names=["größe"]):
        ib.call("a.b-c d", ib.r(0), ib.imm(1), dst=1)
        ib.emit_ret(ib.r(1))
    with ib.function("same", num_inputs=2, param_names=["x", "x"]):
        ib.call(":make_tuple", *([ib.r(0), ib.r(1), ib.imm(3)] * 60), dst=2)
        ib.call(":tuple_getitem", ib.r(2), ib.imm(178), dst=3)
        ib.emit_ret(ib.r(3))
    return ib.get(), [["a.b-c d", 3, 4], ["ünïcode", 5], ["same", 1, 2]]


# ---- by TVM's compiler


def compiled(module, **options):
    return relax.build(module, target="llvm", exec_mode="bytecode", **options)


@fixture("compiled: recursion with branches")
def c_recursion():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(n: R.Tensor((), "int32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            cls = Module
            zero = R.call_packed("test.vm.equal_zero", n, ty_args=R.Tensor((), "bool"))
            if zero:
                y: R.Tensor((2,), "float32") = x
            else:
                less = R.call_packed("test.vm.subtract_one", n, ty_args=R.Tensor((), "int32"))
                before: R.Tensor((2,), "float32") = cls.main(less, x)
                y: R.Tensor((2,), "float32") = R.call_packed("test.vm.add", before, x, ty_args=R.Tensor((2,), "float32"))
            return y

    return compiled(Module), [["main", np.array(n, "int32"), floats(2)] for n in (0, 1, 6)] + [["main", np.array(1, "int64"), floats(2)]]


@fixture("compiled: a closure with captured values, lifted and invoked")
def c_closure():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            @R.function(pure=False)
            def inner(a: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
                b = R.call_packed("test.vm.mul", a, x, ty_args=R.Tensor((2, 3), "float32"))
                c = R.call_packed("test.vm.add", b, y, ty_args=R.Tensor((2, 3), "float32"))
                return c

            one = inner(x)
            two = inner(one)
            return two

    return compiled(relax.transform.LambdaLift()(Module)), [["main", floats(2, 3), floats(2, 3) + 1], ["main", floats(2, 3), floats(3, 2)]]


@fixture("compiled: match_cast of shapes and tensors")
def c_match_cast():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor, s: R.Shape(ndim=2)):
            n, m, k = T.int64(), T.int64(), T.int64()
            a = R.match_cast(x, R.Tensor((n, m), "float32"))
            t = R.match_cast(s, R.Shape([m, k]))
            y = R.call_packed("test.vm.add", a, a, ty_args=R.Tensor((n, m), "float32"))
            return (y, R.shape([k, n, 3]), t)

    shape = tvm_ffi.Shape
    return compiled(Module), [["main", floats(2, 3), shape([3, 7])], ["main", floats(2, 3), shape([2, 7])], ["main", floats(3), shape([3, 7])],
                              ["main", floats(2, 3).astype("float64"), shape([3, 7])], ["main", floats(0, 3), shape([3, 0])]]


@fixture("compiled: tuples as parameters and results, of shapes, ints and strings")
def c_values():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(p: R.Tuple(R.Tensor(("n",), "float32"), R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "int64")))):
            n = T.int64()
            a: R.Tensor((n,), "float32") = p[0]
            q = p[1]
            b = q[0]
            c = R.call_packed("test.vm.add", a, b, ty_args=R.Tensor((n,), "float32"))
            return (c, R.shape([n, 2]), (q[1], R.str("text"), R.prim_value(5)), p)

        @R.function
        def constants():
            return (R.const([1, 2, 3], "int8"), R.const(True), R.const([1.5], "float16"), R.dtype("bfloat16"), R.str(""))

    return compiled(Module), [["main", (floats(3), (floats(3), np.array(4, "int64")))], ["main", (floats(3), (floats(2), np.array(4, "int64")))],
                              ["main", (floats(3), floats(3))], ["main", 3], ["constants"]]


@fixture("compiled: destination passing, storage planned for several results")
def c_dps_planned():
    @I.ir_module
    class Module:
        @R.function
        def fixed(x: R.Tensor((2, 3), "float16")) -> R.Tensor((2, 6), "float16"):
            with R.dataflow():
                a = R.call_dps_packed("fx.add_into", (x, x), out_ty=R.Tensor((2, 3), "float16"))
                b = R.call_dps_packed("fx.add_into", (a, x), out_ty=R.Tensor((2, 3), "float16"))
                c = R.call_dps_packed("fx.add_into", (b, a), out_ty=R.Tensor((2, 3), "float16"))
                d = R.call_dps_packed("test.vm.tile", (c,), out_ty=R.Tensor((2, 6), "float16"))
                R.output(d)
            return d

    return compiled(Module), [["fixed", floats(2, 3).astype("float16")], ["fixed", floats(2, 3)]]


@fixture("compiled: branches in branches, functions that call each other, unused results")
def c_branches():
    @I.ir_module
    class Module:
        @R.function(private=True, pure=False)
        def pick(c: R.Tensor((), "bool"), a: R.Tensor((2,), "int32"), b: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
            if c:
                y: R.Tensor((2,), "int32") = a
            else:
                y: R.Tensor((2,), "int32") = b
            return y

        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: R.Tensor((2,), "int32")) -> R.Tensor((2,), "int32"):
            cls = Module
            t = R.call_packed("test.vm.add", x, x, ty_args=R.Tensor((2,), "int32"))
            if c:
                if d:
                    z: R.Tensor((2,), "int32") = cls.pick(c, t, x)
                else:
                    z: R.Tensor((2,), "int32") = R.call_packed("test.vm.mul", t, t, ty_args=R.Tensor((2,), "int32"))
                w: R.Tensor((2,), "int32") = R.call_packed("test.vm.add", z, t, ty_args=R.Tensor((2,), "int32"))
            else:
                unused = R.call_packed("test.vm.mul", t, x, ty_args=R.Tensor((2,), "int32"))
                w: R.Tensor((2,), "int32") = cls.pick(d, x, t)
            return w

    x = np.array([3, -4], "int32")
    return compiled(Module), [["main", np.array(c), np.array(d), x] for c in (True, False) for d in (True, False)] + [
        ["main", np.array(1, "int8"), np.array(True), x]]


def main():
    for name in sys.argv[1:] or FIXTURES:
        write(name)


if __name__ == "__main__":
    main()
