#!/usr/bin/env python3
"""Writes tests/relax/builtins/*.json: calls of Relax's builtin functions and TVM's answers.

Run with a Python that has apache-tvm 0.27 (pip install apache-tvm==0.27.0.post1):
    python tests/relax/make_builtin_cases.py [NAME ...]
tests/vm/relax/relax_case_runner.c runs the cases. Values: int, bool, string and null are JSON's; {"f": x}, {"shape": []},
{"dtype": t}, {"tensor": [dtype, shape, elements]}, {"buffer": the same, in a mutable storage}, {"tuple": []},
{"register": r}, {"function": name}, {"pack": n} (a function of bytecode that gives a tuple of its n arguments),
{"machine": true}.
"""
import json
import os
import sys

import numpy as np
import tvm
from tvm import relax

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = {"machine": True}
CASES = {}


def tensor(array, dtype=None):
    array = np.asarray(array, dtype)
    flat = array.reshape(-1).tolist()
    if array.dtype.kind == "f":
        flat = [int(x) if x == int(x) else float(f"{x:.8g}") for x in flat] if np.isfinite(array).all() else flat
    return {"tensor": [str(array.dtype), list(array.shape), flat]}


def buffer(array, dtype=None):
    return {"buffer": tensor(array, dtype)["tensor"]}


def shape(*dims):
    return {"shape": list(dims)}


def ints(*values):
    """A sequence of ints that may be negative or many: a shape for TVM, a tuple here."""
    return {"ints": list(values)}


def dtype(name):
    return {"dtype": name}


def f(x):
    return {"f": x}


def tup(*fields):
    return {"tuple": list(fields)}


def pack(n):
    return {"pack": n}


def function(name):
    return {"function": name}


class Case:
    def __init__(self, name, tolerance=0.0):
        self.name, self.tolerance, self.steps, self.gives = name, tolerance, [], []

    def call(self, builtin, *args):
        register = f"r{len(self.steps)}"
        name = builtin if "." in builtin and not builtin.startswith(("tensor_cache", "memory")) else "vm.builtin." + builtin
        self.steps.append([register, name, list(args)])
        return {"register": register}

    def give(self, *registers):
        self.gives += [r["register"] for r in registers]
        return self

    # --- TVM's answer
    def _operand(self, ib, spec):
        if spec is None:
            return ib.void_arg()
        if isinstance(spec, bool):
            register = self.next
            self.next += 1
            ib.emit_call("test.bool", args=[ib.imm(int(spec))], dst=ib.r(register))
            return ib.r(register)
        if isinstance(spec, int):
            return ib.imm(spec)
        if isinstance(spec, str):
            return ib.convert_constant(spec)
        (kind, value), = spec.items()
        if kind == "f":
            return ib.convert_constant(float(value))
        if kind in ("shape", "ints"):
            return ib.convert_constant(tvm.runtime.ShapeTuple(value))
        if kind == "dtype":
            return ib.convert_constant(tvm.DataType(value))
        if kind in ("tensor", "buffer"):
            data = np.array(value[2], dtype=value[0] if value[0] != "bfloat16" else "float32").reshape(value[1])
            constant = ib.convert_constant(tvm.runtime.tensor(data))
            if kind == "tensor":
                return constant
            register = self.next
            self.next += 1
            # a copy: equal constants are one tensor there
            ib.emit_call("vm.builtin.to_device", args=[constant, ib.imm(1), ib.imm(0)], dst=ib.r(register))
            return ib.r(register)
        if kind == "tuple":
            operands = [self._operand(ib, x) for x in value]
            register = self.next
            self.next += 1
            ib.emit_call("vm.builtin.make_tuple", args=operands, dst=ib.r(register))
            return ib.r(register)
        if kind == "register":
            return ib.r(self.registers[value])
        if kind == "pack":
            return ib.f(f"pack{value}")
        if kind == "function":
            ib.declare_function(value)
            return ib.f(value)
        assert kind == "machine"
        return ib.vm_state()

    def build(self):
        ib = relax.ExecBuilder()
        self.next, self.registers = 0, {}
        for n in range(6):
            with ib.function(f"pack{n}", num_inputs=n):
                ib.emit_call("vm.builtin.make_tuple", args=[ib.r(i) for i in range(n)], dst=ib.r(n))
                ib.emit_ret(ib.r(n))
        with ib.function("main", num_inputs=0):
            for register, name, args in self.steps:
                operands = [self._operand(ib, x) for x in args]
                self.registers[register] = self.next
                ib.emit_call(name, args=operands, dst=ib.r(self.next))
                self.next += 1
            ib.emit_call("vm.builtin.make_tuple", args=[ib.r(self.registers[r]) for r in self.gives], dst=ib.r(self.next))
            ib.emit_ret(ib.r(self.next))
        return relax.VirtualMachine(ib.get(), tvm.cpu())

    def run(self):
        out = {"name": self.name, "steps": self.steps, "give": self.gives}
        if self.tolerance:
            out["tolerance"] = self.tolerance
        machine = self.build()
        try:
            result = machine["main"]()
        except Exception as error:  # the kinds differ; the message is only for people
            lines = [line for line in str(error).splitlines() if line.strip()]
            out["fails"] = (lines[-1] if lines else type(error).__name__).strip()[:200]
            out["steps"] = self.steps
            return out
        out["expect"] = [value_of(x) for x in result]
        return out


def value_of(x):
    if x is None or isinstance(x, (bool, int)):
        return x
    if isinstance(x, float):
        return f(x)
    if isinstance(x, str):
        return str(x)
    if isinstance(x, tvm.runtime.ShapeTuple):
        return shape(*[int(d) for d in x])
    if isinstance(x, tvm.runtime.Tensor):
        return tensor(x.numpy())
    if isinstance(x, tvm.DataType):
        return dtype(str(x))
    return tup(*[value_of(y) for y in x])


@tvm.register_global_func("test.bool")
def _bool(x):
    return bool(x)


def cases_of(name):
    def register(function_of_cases):
        CASES[name] = function_of_cases
        return function_of_cases
    return register


# --------------------------------------------------------------------------------------------------------------------------
@cases_of("shapes")
def shapes():
    c = Case("match stores the dimensions, make loads them")
    h = c.call("alloc_shape_heap", MACHINE, 4)
    m = c.call("match_shape", tensor(np.zeros((3, 5)), "float32"), h, 2, 1, 0, 1, 3, "x")
    c.give(m, c.call("make_shape", h, 4, 1, 3, 0, 7, 1, 0, 1, 1), c.call("make_prim_value", h, 1, 3), h)
    yield c
    c = Case("match compares with immediates and cells")
    h = c.call("alloc_shape_heap", MACHINE, 1)
    c.call("match_prim_value", 6, h, 1, 0, "y")
    c.give(c.call("match_shape", shape(6, 2, 9), h, 3, 3, 0, 0, 2, 2, 0, "x"), c.call("match_prim_value", 6, h, 3, 0, "y"))
    yield c
    for name, args in {
        "the rank differs": [shape(1, 2), None, 3, 2, 0, 2, 0, 2, 0, "x"],
        "a dimension is not the immediate": [shape(1, 2), None, 2, 0, 1, 0, 3, "x"],
        "no context": [shape(1), None, 1, 2, 0],
        "more pairs than arguments": [shape(1), None, 2, 2, 0, "x"],
        "an int is no shape": [4, None, 1, 2, 0, "x"],
        "a string as code": [shape(1), None, 1, "a", 0, "x"],
        "code 9": [shape(1), None, 1, 9, 0, "x"],
    }.items():
        c = Case("match_shape: " + name)
        c.call("match_shape", *args)
        yield c
    c = Case("match_shape: a dimension is not what the cell has")
    h = c.call("alloc_shape_heap", MACHINE, 1)
    c.call("match_shape", shape(4), h, 1, 1, 0, "x")
    c.call("match_shape", shape(5), h, 1, 3, 0, "x")
    yield c
    heap = {"register": "r0"}  # the first call makes it
    for name, builtin, args in [
        ("match_prim_value: another value", "match_prim_value", [3, heap, 0, 4, "x"]),
        ("match_prim_value: code 5", "match_prim_value", [3, heap, 5, 4, "x"]),
        ("match_prim_value: a float", "match_prim_value", [f(1.5), heap, 2, 0, "x"]),
        ("make_prim_value: code 2", "make_prim_value", [heap, 2, 0]),
        ("make_shape: a string as a code", "make_shape", [None, 1, "a", 0]),
        ("shape_of: an int", "shape_of", [3]),
        ("tensor_to_shape: two dimensions", "tensor_to_shape", [tensor([[1]], "int64")]),
        ("tensor_to_shape: floats", "tensor_to_shape", [tensor([1], "float32")]),
        ("tensor_to_shape: uint32", "tensor_to_shape", [tensor([1], "uint32")]),
        ("tensor_to_shape: int8", "tensor_to_shape", [tensor([1], "int8")]),
    ]:
        c = Case(name)
        c.call("alloc_shape_heap", MACHINE, 2)
        c.call(builtin, *args)
        yield c
    c = Case("match_prim_value takes bools, make_shape without a heap, shapes of tensors")
    c.call("alloc_shape_heap", MACHINE, 2)
    c.give(c.call("match_prim_value", True, heap, 0, 1, "x"), c.call("make_shape", None, 2, 0, 3, 0, 0),
           c.call("make_shape", None, 0), c.call("make_prim_value", heap, 0, -5),
           c.call("shape_of", tensor(np.zeros((2, 0, 3)), "int8")), c.call("shape_of", tensor(1.0, "float64")),
           c.call("tensor_to_shape", tensor([3, 1], "int64")), c.call("tensor_to_shape", tensor([3, 300], "int16")),
           c.call("tensor_to_shape", tensor([], "int32")))
    yield c


@cases_of("checks")
def checks():
    x = tensor([[1, 2]], "float32")
    good = [
        ("check_tensor_info", [x, 2, dtype("float32"), "c"]), ("check_tensor_info", [x, -1, dtype("float32"), "c"]),
        ("check_tensor_info", [x, 2, "c"]), ("check_tensor_info", [x, -1, "c"]), ("check_tensor_info", [x, 2, None, "c"]),
        ("check_tensor_info", [tensor(True), 0, dtype("bool"), "c"]),
        ("check_shape_info", [shape(1, 2), 2, "c"]), ("check_shape_info", [shape(), -1, "c"]),
        ("check_tuple_info", [tup(1, x), 2, "c"]), ("check_tuple_info", [tup(), 0, "c"]),
        ("check_prim_value_info", [3, dtype("int64"), "c"]), ("check_prim_value_info", [True, dtype("int32"), "c"]),
        ("check_prim_value_info", [3, dtype("bool"), "c"]), ("check_prim_value_info", [f(1.5), dtype("float32"), "c"]),
        ("check_prim_value_info", [3, dtype("float64"), "c"]), ("check_prim_value_info", [True, dtype("float16"), "c"]),
        ("check_prim_value_info", [-3, dtype("uint8"), "c"]),
        ("check_func_info", [pack(2), "c"]), ("check_func_info", [function("vm.builtin.copy"), "c"]),
        ("check_string_info", ["text", "c"]), ("check_string_info", ["", "c"]),
    ]
    c = Case("checks that hold")
    c.give(*[c.call(name, *args) for name, args in good])
    yield c
    bad = [
        ("check_tensor_info", [x, 1, dtype("float32"), "c"]), ("check_tensor_info", [x, 2, dtype("int32"), "c"]),
        ("check_tensor_info", [3, 2, "c"]), ("check_tensor_info", [None, 2, "c"]), ("check_tensor_info", [tup(x), -1, "c"]),
        ("check_tensor_info", [shape(1), 1, "c"]), ("check_tensor_info", [x, 3, "c"]), ("check_tensor_info", [x, -2, "c"]),
        ("check_shape_info", [x, 2, "c"]), ("check_shape_info", [shape(1), 2, "c"]), ("check_shape_info", [3, -1, "c"]),
        ("check_tuple_info", [tup(1), 2, "c"]), ("check_tuple_info", [shape(1), 1, "c"]), ("check_tuple_info", [tup(1), -1, "c"]),
        ("check_prim_value_info", [x, dtype("int64"), "c"]), ("check_prim_value_info", [f(1.5), dtype("int64"), "c"]),
        ("check_prim_value_info", ["a", dtype("int64"), "c"]), ("check_prim_value_info", [f(0.5), dtype("bool"), "c"]),
        ("check_prim_value_info", [f(0.5), dtype("uint8"), "c"]),
        ("check_prim_value_info", ["a", dtype("float32"), "c"]),
        ("check_func_info", [x, "c"]), ("check_func_info", ["a", "c"]), ("check_func_info", [tup(), "c"]),
        ("check_string_info", [3, "c"]), ("check_string_info", [None, "c"]), ("check_string_info", [x, "c"]),
    ]
    for i, (name, args) in enumerate(bad):
        c = Case(f"check that fails {i}: {name}")
        c.call(name, *args)
        yield c


@cases_of("storage")
def storage():
    c = Case("two tensors overlap in one storage")
    s = c.call("alloc_storage", MACHINE, shape(64), 0, dtype("uint8"), "global")
    a = c.call("alloc_tensor", s, 0, shape(2, 4), dtype("float32"))
    b = c.call("alloc_tensor", s, 16, shape(4), dtype("int32"), "global")
    c.call("test.fill", a, tensor(np.arange(8).reshape(2, 4), "float32"))
    c.call("test.fill", b, tensor([7, 8, 9, 10], "int32"))
    c.give(b, c.call("alloc_tensor", s, 16, shape(0), dtype("float32")))
    yield c
    c = Case("a storage of the host and elements of two bytes")
    s = c.call("alloc_storage", MACHINE, shape(2, 3), 0, dtype("int16"), "global")
    a = c.call("alloc_tensor", s, 0, shape(6), dtype("int16"))
    c.call("test.fill", a, tensor([1, -2, 3, -4, 5, -6], "int16"))
    c.give(a, c.call("memory_manager.clear"), c.call("ensure_zero_offset", a))
    yield c
    for name, args in {
        "a tensor beyond the end": [4096, shape(1), dtype("float32")],
        "far too large": [0, shape(1 << 40), dtype("float32")],
        "a string for the shape": [0, "a", dtype("float32")],
    }.items():
        c = Case("alloc_tensor: " + name)
        s = c.call("alloc_storage", MACHINE, shape(64), 0, dtype("uint8"), "global")
        c.call("alloc_tensor", s, *args)
        yield c
    for name, args in {
        "device 7": [shape(64), 7, dtype("uint8"), "global"],
        "no shape": [64, 0, dtype("uint8"), "global"],
        "no type": [shape(64), 0, 1, "global"],
    }.items():
        c = Case("alloc_storage: " + name)
        c.call("alloc_storage", MACHINE, *args)
        yield c


@cases_of("tuples")
def tuples():
    c = Case("tuples nest and are read")
    t = c.call("make_tuple", 1, f(2.5), "s", tup(shape(2), True, None), tensor([1], "int8"))
    c.give(t, c.call("make_tuple"), c.call("tuple_getitem", t, 3), c.call("tuple_getitem", t, 0))
    yield c
    for name, args in {"behind the end": [tup(1, 2), 2], "negative": [tup(1), -1], "of an int": [3, 0], "no index": [tup(1)],
                       "a float index": [tup(1), f(0.0)]}.items():
        c = Case("tuple_getitem " + name)
        c.call("tuple_getitem", *args)
        yield c
        c = Case("tuple_reset_item " + name)
        c.call("tuple_reset_item", *args)
        yield c


@cases_of("closures")
def closures():
    c = Case("closures bind their last arguments")
    k = c.call("make_closure", pack(4), "c", "d")
    k2 = c.call("make_closure", k, "b")
    full = c.call("make_closure", k2, "a")
    c.give(c.call("invoke_closure", MACHINE, k, 1, 2), c.call("invoke_closure", MACHINE, k2, 1),
           c.call("invoke_closure", MACHINE, full), c.call("invoke_closure", MACHINE, pack(2), 8, 9),
           c.call("invoke_closure", MACHINE, pack(0)),
           c.call("invoke_closure", MACHINE, function("vm.builtin.make_tuple"), 5, f(0.5)),
           c.call("call_tir_dyn", function("vm.builtin.make_tuple"), 1, tensor([2], "int32"), shape(3, 4)),
           c.call("call_tir_dyn", function("vm.builtin.make_tuple"), shape()))
    yield c
    for name, builtin, args in [
        ("one argument too few", "invoke_closure", [MACHINE, pack(2), 1]),
        ("one too many", "invoke_closure", [MACHINE, pack(2), 1, 2, 3]),
        ("a tuple is no closure", "invoke_closure", [MACHINE, tup(1), 1]),
        ("nil is no closure", "invoke_closure", [MACHINE, None]),
        ("a closure of an int", "make_closure", [3, 1]),
        ("call_tir_dyn without a shape", "call_tir_dyn", [function("vm.builtin.make_tuple"), 1]),
        ("call_tir_dyn of an int", "call_tir_dyn", [1, shape(1)]),
        ("a name that is not registered", "call_py_func", [tup("test.absent", tup())]),
        ("call_py_func of a string", "call_py_func", ["a"]),
        ("call_py_func of one field", "call_py_func", [tup("a")]),
        ("call_py_func without a name", "call_py_func", [tup(1, tup())]),
        ("call_py_func without arguments", "call_py_func", [tup("a", 1)]),
        ("get_py_func of an absent name", "get_py_func", ["test.absent"]),
    ]:
        c = Case("closures: " + name)
        c.call(builtin, *args)
        yield c
    c = Case("a bound argument too many")
    k = c.call("make_closure", pack(1), 1, 2)
    c.call("invoke_closure", MACHINE, k)
    yield c
    c = Case("functions by name")
    c.call("register_py_func", "mine", function("vm.builtin.make_tuple"))
    c.give(c.call("call_py_func", tup("mine", tup(1, "x"))), c.call("call_py_func", tup("mine", tup())))
    yield c
    c = Case("names that were forgotten")
    c.call("register_py_func", "mine", function("vm.builtin.make_tuple"))
    c.call("clear_py_func_registry")
    c.call("call_py_func", tup("mine", tup()))
    yield c
    c = Case("a debug function")
    c.give(c.call("invoke_debug_func", None, "vm.builtin.make_tuple", "line 3", 1, 2))
    yield c
    c = Case("a debug function that does not exist")
    c.call("invoke_debug_func", None, "test.absent", "line 3")
    yield c


@cases_of("tensors")
def tensors():
    x = tensor(np.arange(6).reshape(2, 3), "float32")
    c = Case("copies, views, nil")
    c.give(c.call("copy", x), c.call("copy", 3), c.call("copy", None), c.call("null_value"),
           c.call("reshape", x, shape(3, 2)), c.call("reshape", x, shape(6)), c.call("reshape", x, shape(1, 6, 1)),
           c.call("ensure_zero_offset", x), c.call("to_device", x, 1, 0), c.call("to_device", x, 1, 0, "global"),
           c.call("reshape", tensor(np.zeros((0, 2)), "int8"), shape(4, 0)))
    yield c
    c = Case("conditions")
    c.give(*[c.call("read_if_cond", v) for v in (True, False, 3, 0, tensor(True), tensor(False), tensor(-1, "int8"),
                                                 tensor(0, "int16"), tensor(256, "int32"), tensor(1 << 40, "int64"),
                                                 tensor(0, "uint64"), tensor([0, 1], "int32"), tensor(255, "uint8"))])
    yield c
    for name, builtin, args in [
        ("a float condition", "read_if_cond", [f(1.0)]), ("a float tensor", "read_if_cond", [tensor(1.0, "float32")]),
        ("a string as a condition", "read_if_cond", ["a"]),  # nil kills TVM's process
        ("a view of more elements", "reshape", [x, shape(7)]),
        ("a view of a shape", "reshape", [shape(1), shape(1)]), ("a view without a shape", "reshape", [x, 6]),
        ("a copy of an int", "to_device", [1, 1, 0]), ("a copy without a device", "to_device", [x, 1]),
        ("ensure_zero_offset of an int", "ensure_zero_offset", [1]),  # nil kills TVM's process
    ]:
        c = Case("tensors: " + name)
        c.call(builtin, *args)
        yield c


@cases_of("sampling")
def sampling():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, (1, 1, 40)).astype("float32")
    c = Case("samples of logits")
    x = tensor(logits)
    c.give(*[c.call("sample_top_p_from_logits", x, t, p, f(u)) for t, p, u in [
        (f(1.0), f(0.9), 0.1), (f(1.0), f(0.9), 0.5), (f(1.0), f(0.9), 0.999), (f(0.0), f(0.9), 0.5), (f(2.5), f(0.3), 0.7),
        (f(0.7), 1, 0.95), (1, f(0.05), 0.99)]],
           c.call("sample_top_p_from_logits", tensor([3.0], "float32"), f(1.0), f(1.0), f(0.5)))
    yield c
    probabilities = np.exp(logits) / np.exp(logits).sum()
    c = Case("samples of probabilities")
    x = tensor(probabilities)
    flat = tensor(np.full((1, 3000), 1 / 3000, "float32"))
    c.give(*[c.call("sample_top_p_from_prob", x, p, f(u)) for p, u in [
        (f(0.9), 0.1), (f(0.9), 0.6), (f(0.9), 0.99), (f(0.2), 0.9), (1, 0.5), (1, 0.9999), (f(0.999), 0.9999)]],
           c.call("sample_top_p_from_prob", tensor([0.1, 0.6, 0.3], "float32"), f(0.5), f(0.9)))
    yield c
    c = Case("multinomial rows")
    rows = rng.random((3, 7)).astype("float32")
    rows /= rows.sum(1, keepdims=True)
    c.give(c.call("multinomial_from_uniform", tensor(rows), tensor([0.05, 0.5, 0.99], "float32")),
           c.call("multinomial_from_uniform", tensor(rows), tensor([[0.0], [1.5], [0.3]], "float32")),
           c.call("multinomial_from_uniform", tensor(rows.reshape(3, 1, 7)), tensor([0.2, 0.7, 0.1], "float32")))
    yield c
    c = Case("penalties in place", tolerance=1e-6)
    b = c.call("copy", buffer(logits.reshape(1, 40)))
    ids = tensor([3, 7, 3, 39], "int32")
    c.call("apply_repetition_penalty", b, ids, f(1.3))
    c.call("apply_presence_and_frequency_penalty", b, tensor([0, 1, 2], "int32"), tensor([1, 4, 2], "int32"), f(0.5), f(0.25))
    first = c.call("reshape", b, shape(40))
    c.call("apply_softmax_with_temperature", b, f(0.8))
    c.give(b, first)
    yield c
    c = Case("softmax of one row of two", tolerance=1e-6)
    b = c.call("copy", buffer([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))
    c.call("apply_softmax_with_temperature", b, 2)
    c.give(b)
    yield c
    x = tensor(logits)
    for name, builtin, args in [
        ("two rows of logits", "sample_top_p_from_logits", [tensor(np.zeros((2, 3)), "float32"), f(1.0), f(1.0), f(0.5)]),
        ("float64 logits", "sample_top_p_from_logits", [tensor([1.0], "float64"), f(1.0), f(1.0), f(0.5)]),
        ("too few arguments", "sample_top_p_from_logits", [x, f(1.0), f(1.0)]),
        ("a string as the temperature", "sample_top_p_from_logits", [x, "a", f(1.0), f(0.5)]),
        ("two rows of probabilities", "sample_top_p_from_prob", [tensor(np.zeros((2, 3)), "float32"), f(1.0), f(0.5)]),
        ("int probabilities", "sample_top_p_from_prob", [tensor([1], "int32"), f(1.0), f(0.5)]),
        ("NaN probabilities", "sample_top_p_from_prob", [tensor([float("nan")] * 3, "float32"), f(1.0), f(0.5)]),
        ("int64 tokens", "apply_repetition_penalty", [buffer([1.0], "float32"), tensor([0], "int64"), f(1.0)]),
        ("float64 logits for a penalty", "apply_repetition_penalty", [buffer([1.0], "float64"), tensor([0], "int32"), f(1.0)]),
        ("float counts", "apply_presence_and_frequency_penalty",
         [buffer([1.0], "float32"), tensor([0], "int32"), tensor([0.0], "float32"), f(1.0), f(1.0)]),
        ("softmax of ints", "apply_softmax_with_temperature", [buffer([1], "int32"), f(1.0)]),
    ]:
        c = Case("sampling: " + name)
        c.call(builtin, *args)
        yield c


@cases_of("tensor_cache")
def tensor_cache():
    x, y = tensor([1, 2], "int32"), tensor([[0.5]], "float32")
    c = Case("a cache of tensors")
    c.call("tensor_cache.clear")
    nothing = c.call("tensor_cache.get", "w_0")
    c.give(nothing, c.call("tensor_cache.update", "w_0", x), c.call("tensor_cache.update", "w_1", y, False),
           c.call("param_array_from_cache", "w", -1), c.call("param_array_from_cache", "w", 1),
           c.call("param_array_from_cache", "v", -1), c.call("param_array_from_cache", "w", 0),
           c.call("param_array_from_cache_by_name", tup("w_1", "w_0")), c.call("param_array_from_cache_by_name", tup()),
           c.call("param_array_from_cache_by_name_unpacked", "w_0", "w_1", "w_0"),
           c.call("tensor_cache.update", "w_0", y, True), c.call("tensor_cache.get", "w_0"),
           c.call("tensor_cache.update", "w_0", x, 1), c.call("tensor_cache.get", "w_0"),
           c.call("tensor_cache.remove", "w_0"), c.call("tensor_cache.get", "w_0"), c.call("tensor_cache.remove", "absent"),
           c.call("tensor_cache.clear"), c.call("tensor_cache.get", "w_1"))
    yield c
    for name, calls in {
        "a name that exists": [("tensor_cache.update", "a", x), ("tensor_cache.update", "a", x)],
        "a parameter that is missing": [("tensor_cache.update", "a_0", x), ("param_array_from_cache", "a", 2)],
        "a name that is missing": [("param_array_from_cache_by_name", tup("a"))],
        "an int as a name": [("param_array_from_cache_by_name", tup(1))],
        "an int among the names": [("param_array_from_cache_by_name_unpacked", 3)],
        "an int as a tensor": [("tensor_cache.update", "a", 3)],
        "a module of a name that is missing": [("param_module_from_cache_by_name", tup("a"))],
        "a module of a parameter that is missing": [("param_module_from_cache", "a", 1)],
        "a folder that does not exist": [("tensor_cache.load", "/nonexistent/folder", 1, 0)],
    }.items():
        c = Case("tensor cache: " + name)
        c.call("tensor_cache.clear")
        for step in calls:
            c.call(*step)
        yield c


@cases_of("kv_array")
def kv_array():
    rows = np.arange(60, dtype="float32").reshape(20, 3)

    def part(first, count):
        return tensor(rows[first:first + count])

    c = Case("append grows, popn, clear, update")
    k = c.call("attention_kv_cache_create", part(0, 2), shape(2, 3), -1)
    a = c.call("attention_kv_cache_append", k, part(2, 3))
    one = c.call("attention_kv_cache_view", a)
    c.call("attention_kv_cache_append", k, part(5, 9))
    two = c.call("attention_kv_cache_view", k, shape(14, 3))
    c.call("attention_kv_cache_array_popn", tup(k, k), 2)
    three = c.call("to_device", c.call("attention_kv_cache_view", k), 1, 0)
    c.call("attention_kv_cache_update", k, part(10, 10))
    four = c.call("to_device", c.call("attention_kv_cache_view", k), 1, 0)
    c.call("attention_kv_cache_array_clear", tup(k))
    c.give(three, four, c.call("attention_kv_cache_view", k), c.call("shape_of", one), c.call("shape_of", two))
    yield c
    c = Case("a filled count of its own, int8 rows of two dimensions")
    cube = np.arange(24, dtype="int8").reshape(4, 2, 3)
    k = c.call("attention_kv_cache_create", tensor(cube), shape(8, 2, 3), 2)
    c.call("attention_kv_cache_append", k, tensor(cube[:1]))
    c.give(c.call("attention_kv_cache_view", k))
    yield c
    for sinks in (0, 2):
        c = Case(f"a ring with {sinks} sinks")
        k = c.call("attention_kv_cache_create", part(0, 1), shape(8, 3), 0)
        first, views = 0, []
        for count in (3, 2, 4, 1, 5, 6):
            name = "attention_kv_cache_window_override" + ("_with_sinks" if sinks else "")
            c.call(name, k, part(first, count), 8, *([sinks] if sinks else []))
            first = (first + count) % 12
            views.append(c.call("to_device", c.call("attention_kv_cache_view", k), 1, 0))
        c.give(*views)
        yield c
    good = [part(0, 2), shape(4, 3), -1]
    for name, step in {
        "another element type": ("attention_kv_cache_append", tensor([[1, 2, 3]], "int32")),
        "other rows": ("attention_kv_cache_append", tensor(np.zeros((1, 4)), "float32")),
        "an update of another count": ("attention_kv_cache_update", part(0, 3)),
        "a view of another count": ("attention_kv_cache_view", shape(3, 3)),
        "a view of other rows": ("attention_kv_cache_view", shape(2, 4)),
        "more rows than the ring": ("attention_kv_cache_window_override", part(0, 5), 4),
        "more rows than the ring has beside its sinks": ("attention_kv_cache_window_override_with_sinks", part(0, 3), 4, 2),
        "an int": ("attention_kv_cache_append", 3),
    }.items():
        c = Case("kv array: " + name)
        k = c.call("attention_kv_cache_create", *good)
        c.call(step[0], k, *step[1:])
        yield c
    c = Case("kv array: more rows dropped than there are")
    k = c.call("attention_kv_cache_create", *good)
    c.call("attention_kv_cache_array_popn", tup(k), 3)
    yield c
    c = Case("kv array: a negative count dropped")
    k = c.call("attention_kv_cache_create", *good)
    c.call("attention_kv_cache_array_popn", tup(k), -1)
    yield c
    c = Case("kv array: a tuple of ints")
    c.call("attention_kv_cache_array_clear", tup(1))
    yield c


@tvm.register_global_func("test.rnn_get")
def _rnn_get(state, seqs, histories, out):
    data = state.numpy()
    out.copyfrom(np.stack([data[s, h] for s, h in zip(seqs.numpy(), histories.numpy())]))


@tvm.register_global_func("test.rnn_set")
def _rnn_set(state, seqs, histories, data):
    all_data, new = state.numpy(), data.numpy()
    for i, (s, h) in enumerate(zip(seqs.numpy(), histories.numpy())):
        all_data[s, (h + 1) % all_data.shape[1]] = new[i]
    state.copyfrom(all_data)


@cases_of("rnn_state")
def rnn_state():
    get, put = function("test.rnn_get"), function("test.rnn_set")
    initial = tup(tensor(np.full((2, 2), 0.5), "float32"), tensor([7, 8, 9], "int32"))

    def create(case, layers=2, seqs=3, history=3, values=initial, count=2):
        return case.call("rnn_state_create", layers, seqs, history, tup(*[get] * count), tup(*[put] * count), values)

    def read(case, state, layer, value, n):
        out = case.call("copy", buffer(np.zeros((n, 2, 2) if value == 0 else (n, 3)), "float32" if value == 0 else "int32"))
        case.call("rnn_state_get", state, layer, value, out)
        return out

    def value(seed, n):
        return tensor(np.random.default_rng(seed).integers(0, 9, (n, 2, 2)), "float32")

    c = Case("rounds of two sequences, fork, popn")
    s = create(c)
    c.call("kv_state_add_sequence", s, 10)
    c.call("kv_state_add_sequence", s, -4)
    c.call("kv_state_begin_forward", s, shape(10), shape(1))
    a = read(c, s, 0, 0, 1)
    c.call("rnn_state_set", s, 1, 0, value(1, 1))
    c.call("rnn_state_set", s, 0, 1, tensor([[1, 2, 3]], "int32"))
    same = read(c, s, 1, 0, 1)
    c.call("kv_state_end_forward", s)
    b = c.call("rnn_state_debug_get", s, 1, 0, 10)
    i = c.call("rnn_state_debug_get", s, 0, 1, 10)  # TVM does not clear what no round has set
    c.call("kv_state_fork_sequence", s, 10, 11, -1)
    c.call("kv_state_begin_forward", s, shape(10, 11), shape(1, 1))
    d = read(c, s, 1, 0, 2)
    for layer in (0, 1):
        c.call("rnn_state_set", s, layer, 0, value(2 + layer, 2))
    c.call("kv_state_end_forward", s)
    e = c.call("rnn_state_debug_get", s, 1, 0, 11)
    c.call("kv_state_popn", s, 11, 1)
    g = c.call("rnn_state_debug_get", s, 1, 0, 11)
    h = c.call("rnn_state_debug_get", s, 1, 0, 10)
    c.call("kv_state_remove_sequence", s, 10)
    c.call("kv_state_add_sequence", s, 12)
    c.give(a, same, b, d, e, g, h, i, c.call("rnn_state_debug_get", s, 1, 0, 12), c.call("rnn_state_debug_get", s, 0, 1, -4))
    yield c
    c = Case("a prefill cannot be taken back, chains as trees")
    s = create(c, 1, 2, 4)
    c.call("kv_state_add_sequence", s, 0)
    c.call("kv_state_begin_forward", s, shape(0), shape(1))
    c.call("rnn_state_set", s, 0, 0, value(5, 1))
    c.call("kv_state_end_forward", s)
    c.call("kv_state_popn", s, 0, 1)
    back = c.call("rnn_state_debug_get", s, 0, 0, 0)
    c.call("kv_state_clear", s)
    c.call("kv_state_add_sequence", s, 5)
    c.call("kv_state_begin_forward", s, shape(5), shape(5))
    c.call("rnn_state_set", s, 0, 0, value(6, 1))
    c.call("kv_state_end_forward", s)
    c.give(back, c.call("rnn_state_debug_get", s, 0, 0, 5))
    yield c
    for name, steps in {
        "a sequence twice": [("kv_state_add_sequence", 1), ("kv_state_add_sequence", 1)],
        "a fourth sequence": [("kv_state_add_sequence", i) for i in range(4)],
        "removing an absent one": [("kv_state_remove_sequence", 1)],
        "forking an absent one": [("kv_state_fork_sequence", 1, 2, -1)],
        "forking into one that exists": [("kv_state_add_sequence", 1), ("kv_state_fork_sequence", 1, 1, -1)],
        "popping an absent one": [("kv_state_popn", 1, 0)],
        "popping more than the history": [("kv_state_add_sequence", 1), ("kv_state_popn", 1, 1)],
        "popping a negative count": [("kv_state_add_sequence", 1), ("kv_state_popn", 1, -1)],
        "beginning with an absent one": [("kv_state_add_sequence", 1), ("kv_state_begin_forward", shape(2), shape(1))],
        "two sequences and one length": [("kv_state_add_sequence", 1), ("kv_state_begin_forward", shape(1, 1), shape(1))],
        "debug_get of an absent one": [("rnn_state_debug_get", 0, 0, 1)],
        "a pop of a prefill": [("kv_state_add_sequence", 1), ("kv_state_begin_forward", shape(1), shape(3)),
                               ("kv_state_end_forward",), ("kv_state_popn", 1, 1)],
        "setting before the round": [("kv_state_add_sequence", 1), ("rnn_state_set", 0, 0, value(1, 1))],
    }.items():
        c = Case("rnn state: " + name)
        s = create(c)
        for step in steps:
            c.call(step[0], s, *step[1:])
        yield c
    for name, args in {
        "no layers": dict(layers=0), "no sequences": dict(seqs=0), "no history": dict(history=0), "no values": dict(values=tup()),
        "one getter for two values": dict(count=1), "ints as values": dict(values=tup(1, 2)),
    }.items():
        c = Case("rnn state: " + name)
        create(c, **args)
        yield c


KV_ROLES = ("append append_mla ragged prefill decode prefill_sliding decode_sliding tree_paged tree mla merge rotary copy debug "
            "compact").split()


def kv_functions(heads, kv_heads, size, layers, page_size, theta, scale, kv_dtype, window=1024):
    """TVM's own kernels, which the cache calls there."""
    from tvm.relax.frontend.nn.llm import kv_cache as k
    scaling = {}
    found = {
        "append": k._kv_cache_transpose_append(kv_heads, size, kv_dtype, page_size),
        "append_mla": k._kv_cache_transpose_append_mla(size, kv_dtype, page_size),
        "ragged": k._attention_prefill_ragged_cpu(kv_heads, heads, size, size, kv_dtype, scaling),
        "prefill": k._attention_prefill_cpu(kv_heads, heads, size, kv_dtype, False, scaling, page_size),
        "decode": k._attention_decode_cpu(kv_heads, heads, size, kv_dtype, False, scaling, page_size),
        "prefill_sliding": k._attention_prefill_cpu(kv_heads, heads, size, kv_dtype, True, scaling, page_size, window),
        "decode_sliding": k._attention_decode_cpu(kv_heads, heads, size, kv_dtype, True, scaling, page_size),
        "tree": k.tree_attn_cpu(kv_heads, heads, size, kv_dtype, scaling),
        "tree_paged": k.tree_attn_with_paged_kv_cache_cpu(kv_heads, heads, size, kv_dtype, scaling),
        "merge": k._merge_state_inplace_cpu(kv_dtype),
        "rotary": k.llama_rope_with_position_map(theta, scale, size, heads, kv_heads, kv_dtype, scaling, size),
        "copy": k._copy_single_page_cpu(kv_heads, page_size, size, kv_dtype),
        "compact": k._compact_kv_copy_cpu(kv_heads, size, kv_dtype, page_size),
    }
    built = {"debug": kv_debug}
    for role, primitive in found.items():
        module = tvm.IRModule({"main": primitive.with_attr("global_symbol", "main")})
        with tvm.target.Target("llvm"):
            built[role] = tvm.compile(module, target="llvm")["main"]
    return built


def kv_debug(pages, positions, keys, values, layer):
    """TVM's own function has a fixed page size."""
    data, at = pages.numpy(), positions.numpy()
    for which, out in enumerate((keys, values)):
        full = out.numpy()
        full[int(layer)] = np.stack([data[p // data.shape[3], which, :, p % data.shape[3]] for p in at])
        out.copyfrom(full)


class KvCase(Case):
    """A case with a paged cache; TVM gets its own compiled kernels."""
    cache_of_functions = {}

    def __init__(self, name, heads=4, kv_heads=2, size=8, layers=1, page_size=4, reserved=4, capacity=64, chunk=32, windows=0,
                 rope=0, theta=10000.0, scale=1.0, kinds=None, window=None, kv_dtype="float32", tolerance=2e-5, first_layer=0):
        super().__init__(name, tolerance)
        self.sizes = (heads, kv_heads, size, layers, page_size, theta, scale, kv_dtype)
        self.heads, self.kv_heads, self.size, self.layers, self.kv_dtype = heads, kv_heads, size, layers, kv_dtype
        self.first_layer, self.rng = first_layer, np.random.default_rng(len(name))
        config = [reserved, capacity, chunk, page_size, windows] + ([window] if window else [])
        functions = {role: tup("tirx", function("test.kv_" + role)) for role in KV_ROLES}
        self.cache = self.call(
            "paged_attention_kv_cache_create", ints(*config), ints(first_layer, first_layer + layers), heads, kv_heads, size, size,
            ints(*(kinds or [0] * (first_layer + layers))), False, rope, f(scale), f(theta), None, tensor(0.0, kv_dtype),
            function("test.kv_append"), function("test.kv_append_mla"), functions["ragged"], functions["prefill"],
            functions["decode"], functions["prefill_sliding"], functions["decode_sliding"], functions["tree_paged"],
            functions["tree"], tup(), tup(function("test.kv_merge"), function("test.kv_merge")), function("test.kv_rotary"),
            function("test.kv_copy"), function("test.kv_debug"), function("test.kv_compact"))

    def state(self, builtin, *args):
        return self.call(builtin, self.cache, *args)

    def add(self, *seqs):
        for seq in seqs:
            self.state("kv_state_add_sequence", seq)

    def begin(self, seqs, lengths, parents=None):
        self.state("kv_state_begin_forward", ints(*seqs), ints(*lengths), *([ints(*parents)] if parents is not None else []))
        self.total = sum(lengths)

    def random(self, *dims):
        return tensor((self.rng.integers(-24, 25, dims) / 8).astype(self.kv_dtype))

    def zeros(self, *dims, kind=None):
        return self.call("copy", buffer(np.zeros(dims, kind or self.kv_dtype)))

    def forward(self, seqs, lengths, parents=None, give=True):
        self.begin(seqs, lengths, parents)
        for layer in range(self.first_layer, self.first_layer + self.layers):
            out = self.zeros(self.total, self.heads, self.size)
            self.state("attention_kv_cache_attention_with_fused_qkv", layer, f(0.3),
                       self.random(self.total, self.heads + 2 * self.kv_heads, self.size), out)
            if give:
                self.give(out)
        # TVM gives a view that the next round writes
        self.give(self.call("to_device", self.state("attention_kv_cache_get_query_positions"), 1, 0))
        self.state("kv_state_end_forward")
        self.counts(seqs)

    def counts(self, seqs):
        self.give(self.state("attention_kv_cache_get_num_available_pages"),
                  self.state("attention_kv_cache_get_total_sequence_length"),
                  *[self.state("attention_kv_cache_get_sequence_length", seq) for seq in seqs])

    def content(self, seq, begin, end):
        keys, values = (self.zeros(self.layers, end - begin, self.kv_heads, self.size) for _ in range(2))
        self.state("attention_kv_cache_debug_get_kv", seq, begin, end, keys, values)
        self.give(keys, values)

    def build(self):
        if self.sizes not in self.cache_of_functions:
            self.cache_of_functions[self.sizes] = kv_functions(*self.sizes)
        for role, compiled in self.cache_of_functions[self.sizes].items():
            tvm.register_global_func("test.kv_" + role, compiled, override=True)
        return super().build()


@cases_of("paged")
def paged():
    for rope in (0, 1, 2):
        c = KvCase(f"prefill and decode of two sequences, rope mode {rope}", rope=rope)
        c.give(c.state("attention_kv_cache_empty"))
        c.add(0, 7)
        c.forward([0, 7], [5, 3])
        c.forward([7, 0], [1, 1])
        c.forward([0], [6])
        c.forward([0, 7], [1, 1])
        c.content(0, 0, 13)
        c.content(7, 2, 5)
        c.give(c.state("attention_kv_cache_empty"))
        yield c
    c = KvCase("forks, popn and removal", rope=1, capacity=96)
    c.add(1)
    c.forward([1], [10])
    c.state("kv_state_fork_sequence", 1, 2, -1)
    c.counts([1, 2])
    c.forward([1, 2], [1, 2])
    c.state("kv_state_fork_sequence", 1, 3, 8)
    c.counts([1, 2, 3])
    c.forward([3, 1, 2], [2, 1, 1])
    c.state("kv_state_fork_sequence", 2, 4, 3)
    c.counts([4])
    c.forward([4, 3], [1, 5])
    c.state("kv_state_popn", 3, 4)
    c.counts([3])
    c.state("kv_state_popn", 3, 5)
    c.counts([1, 2, 3, 4])
    c.state("kv_state_popn", 2, 0)
    c.forward([3, 2], [3, 1])
    c.state("kv_state_remove_sequence", 1)
    c.counts([2, 3, 4])
    c.content(3, 0, 7)
    c.content(2, 0, 14)
    c.state("kv_state_remove_sequence", 2)
    c.state("kv_state_remove_sequence", 4)
    c.counts([3])
    c.state("kv_state_remove_sequence", 3)
    c.give(c.state("attention_kv_cache_empty"), c.state("attention_kv_cache_get_num_available_pages"))
    yield c
    c = KvCase("a fork at the end of a page and a chain of forks", capacity=96, reserved=5)
    c.add(0)
    c.forward([0], [8])
    c.state("kv_state_fork_sequence", 0, 1, -1)
    c.counts([0, 1])
    c.forward([0, 1], [4, 4])
    c.state("kv_state_fork_sequence", 1, 2, -1)
    c.forward([1, 2], [5, 1])
    c.state("kv_state_fork_sequence", 1, 3, 12)
    c.forward([0, 1, 2, 3], [1, 1, 1, 1])
    c.state("kv_state_clear")
    c.give(c.state("attention_kv_cache_get_num_available_pages"))
    c.add(0)
    c.forward([0], [2])
    yield c
    for sink in (0, 3):
        c = KvCase(f"a window with {sink} sinks", windows=1, rope=1, capacity=64)
        c.add(0, 1)
        c.state("attention_kv_cache_enable_sliding_window_for_seq", 0, 9, sink)
        for lengths in ([4, 3], [4, 3], [1, 1], [5, 1], [1, 1], [1, 1], [7, 2], [1, 1], [1, 1]):
            c.forward([0, 1], lengths)
        c.content(0, 0, 9)
        yield c
    c = KvCase("a token tree of two sequences and its leaves", rope=1)
    c.add(0, 1)
    c.forward([0, 1], [6, 3])
    c.forward([0, 1], [5, 4], [-1, 0, 0, 1, 1, -1, 0, 1, 0])
    c.state("attention_kv_cache_commit_accepted_token_tree_nodes", ints(0, 1), ints(4, 3))
    c.counts([0, 1])
    c.content(0, 0, 9)
    c.content(1, 0, 5)
    c.forward([0, 1], [1, 1])
    c.forward([0, 1], [3, 1], [-1, -1, 0, -1])
    c.state("attention_kv_cache_commit_accepted_token_tree_nodes", ints(0, 1), ints(-1, 0))
    c.counts([0, 1])
    c.forward([1], [2])
    yield c
    c = KvCase("a chain as a tree", rope=1)
    c.add(3)
    c.forward([3], [4])
    c.forward([3], [3], [-1, 0, 1])
    c.state("attention_kv_cache_commit_accepted_token_tree_nodes", ints(3), ints(1))
    c.counts([3])
    c.forward([3], [1])
    yield c
    c = KvCase("layers from 2 on", kinds=[0] * 4, first_layer=2)
    c.add(0)
    c.forward([0], [3])
    yield c
    c = KvCase("parts of attention and their merge", rope=0, layers=2)
    c.add(0, 1)
    c.forward([0, 1], [6, 2])
    c.begin([0, 1], [3, 2])
    queries, keys, values = c.random(5, 4, 8), c.random(5, 2, 8), c.random(5, 2, 8)
    one, two, lse_one, lse_two = c.zeros(5, 4, 8), c.zeros(5, 4, 8), c.zeros(5, 4, kind="float32"), c.zeros(5, 4, kind="float32")
    c.state("attention_kv_cache_self_attention", 0, f(0.25), queries, keys, values, one, lse_one)
    c.state("attention_kv_cache_cross_attention", 0, f(0.25), queries, two, lse_two)
    kept = [c.call("to_device", x, 1, 0) for x in (one, lse_one)]
    pair = c.state("attention_kv_cache_merge_attn_output_inplace", one, lse_one, two, lse_two)
    shared = c.zeros(5, 4, 8)
    c.state("attention_kv_cache_attention_with_shared_kv", 1, f(0.25), queries, keys, values, shared)
    c.give(*kept, two, lse_two, pair, shared)
    yield c
    for rope, scale, theta, kv_dtype in ((0, 1.0, 10000.0, "float32"), (1, 0.1, 500000.5, "float16"), (2, 1.0, 1e20, "float32")):
        c = KvCase(f"export and import of pages, rope mode {rope}", layers=2, rope=rope, scale=scale, theta=theta, kv_dtype=kv_dtype,
                   tolerance=2e-5 if kv_dtype == "float32" else 4e-3)
        c.add(0)
        c.forward([0], [6])
        text = c.state("attention_kv_cache_get_checkpoint_metadata", 0)
        c.give(text, c.state("attention_kv_cache_get_layout_hash"))
        groups = []
        for layer in range(2):
            groups.append(c.zeros(1, 2, 2, 2, 4, 8))
            c.state("attention_kv_cache_export_page_group", 0, layer, groups[-1])
        c.give(*groups)
        c.forward([0], [9])
        c.state("attention_kv_cache_prepare_import", 0, text)
        c.give(c.state("attention_kv_cache_get_num_available_pages"))
        for layer in (1, 0):
            c.state("attention_kv_cache_import_page_group", 0, layer, groups[layer])
        c.state("attention_kv_cache_finish_import", 0)
        c.counts([0])
        c.content(0, 0, 6)
        c.forward([0], [1])
        yield c
    c = KvCase("pages run out")
    c.add(0)
    c.forward([0], [32])
    c.forward([0], [32])
    c.forward([0], [5])
    yield c
    rules = {
        "a sequence twice": [("kv_state_add_sequence", 0)],
        "removing an absent one": [("kv_state_remove_sequence", 1)],
        "forking an absent one": [("kv_state_fork_sequence", 5, 6, -1)],
        "forking into one that exists": [("kv_state_fork_sequence", 0, 0, -1)],
        "forking behind the end": [("kv_state_fork_sequence", 0, 1, 4)],
        "forking at -2": [("kv_state_fork_sequence", 0, 1, -2)],
        "popping more than there are": [("kv_state_popn", 0, 4)],
        "popping a negative count": [("kv_state_popn", 0, -1)],
        "popping an absent one": [("kv_state_popn", 1, 0)],
        "beginning with an absent one": [("kv_state_begin_forward", ints(1), ints(1))],
        "two sequences and one length": [("kv_state_begin_forward", ints(0, 0), ints(1))],
        "no position": [("kv_state_begin_forward", ints(0), ints(0))],
        "a tree of too few parents": [("kv_state_begin_forward", ints(0), ints(3), ints(-1, 0))],
        "a parent behind its child": [("kv_state_begin_forward", ints(0), ints(2), ints(1, 0))],
        "a parent below -1": [("kv_state_begin_forward", ints(0), ints(2), ints(-2, 0))],
        "a round after a tree that is not committed": [
            ("kv_state_begin_forward", ints(0), ints(2), ints(-1, 0)), ("kv_state_begin_forward", ints(0), ints(1))],
        "a fork of a tree that is not committed": [
            ("kv_state_begin_forward", ints(0), ints(2), ints(-1, 0)), ("kv_state_fork_sequence", 0, 1, -1)],
        "a leaf outside the tree": [
            ("kv_state_begin_forward", ints(0), ints(2), ints(-1, 0)),
            ("attention_kv_cache_commit_accepted_token_tree_nodes", ints(0), ints(2))],
        "a leaf without a tree": [("attention_kv_cache_commit_accepted_token_tree_nodes", ints(0), ints(0))],
        "an import without preparation": [("attention_kv_cache_finish_import", 0)],
        "an export of another sequence": [("attention_kv_cache_get_checkpoint_metadata", 1)],
        "an export of a group that is not there": [
            ("attention_kv_cache_export_page_group", 0, 1, buffer(np.zeros((1, 1, 2, 2, 4, 8)), "float32"))],
        "an export into other pages": [
            ("attention_kv_cache_export_page_group", 0, 0, buffer(np.zeros((1, 2, 2, 2, 4, 8)), "float32"))],
        "an import of no JSON": [("attention_kv_cache_prepare_import", 0, "{")],
        "an import of an empty object": [("attention_kv_cache_prepare_import", 0, "{}")],
        "a window without support": [("attention_kv_cache_enable_sliding_window_for_seq", 0, 4, 0)],
        "the length of an absent one": [("attention_kv_cache_get_sequence_length", 1)],
        "content behind the end": [("attention_kv_cache_debug_get_kv", 0, 0, 4, buffer(np.zeros((1, 4, 2, 8)), "float32"),
                                    buffer(np.zeros((1, 4, 2, 8)), "float32"))],
        "content of other heads": [("attention_kv_cache_debug_get_kv", 0, 0, 2, buffer(np.zeros((1, 2, 3, 8)), "float32"),
                                    buffer(np.zeros((1, 2, 3, 8)), "float32"))],
        "a layer that is not there": [
            ("kv_state_begin_forward", ints(0), ints(1)),
            ("attention_kv_cache_attention_with_fused_qkv", 1, f(1.0), tensor(np.zeros((1, 8, 8)), "float32"),
             buffer(np.zeros((1, 4, 8)), "float32"))],
        "a negative layer": [
            ("kv_state_begin_forward", ints(0), ints(1)),
            ("attention_kv_cache_attention_with_fused_qkv", -1, f(1.0), tensor(np.zeros((1, 8, 8)), "float32"),
             buffer(np.zeros((1, 4, 8)), "float32"))],
        "fewer rows than the round": [
            ("kv_state_begin_forward", ints(0), ints(3)),
            ("attention_kv_cache_attention_with_fused_qkv", 0, f(1.0), tensor(np.zeros((2, 8, 8)), "float32"),
             buffer(np.zeros((2, 4, 8)), "float32"))],
        "rows of another type": [
            ("kv_state_begin_forward", ints(0), ints(1)),
            ("attention_kv_cache_attention_with_fused_qkv", 0, f(1.0), tensor(np.zeros((1, 8, 8)), "float16"),
             buffer(np.zeros((1, 4, 8)), "float16"))],
        "rows of other heads": [
            ("kv_state_begin_forward", ints(0), ints(1)),
            ("attention_kv_cache_attention_with_fused_qkv", 0, f(1.0), tensor(np.zeros((1, 7, 8)), "float32"),
             buffer(np.zeros((1, 4, 8)), "float32"))],
    }
    for name, steps in rules.items():
        c = KvCase("paged: " + name)
        c.add(0)
        c.forward([0], [3], give=False)
        for step in steps:
            c.state(*step)
        c.gives = []
        yield c


@tvm.register_global_func("test.fill")
def _fill(to, source):
    to.copyfrom(source)


def main(names):
    for name in names or CASES:
        cases = [case.run() for case in CASES[name]()]
        path = os.path.join(HERE, "builtins", name + ".json")
        with open(path, "w", encoding="utf-8") as out:
            out.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
        failing = sum("fails" in case for case in cases)
        print(f"{name}: {len(cases)} cases, {failing} that must fail")


if __name__ == "__main__":
    main(sys.argv[1:])
