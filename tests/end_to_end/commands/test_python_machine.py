"""layover.VirtualMachine: functions, values that stay in the model, the stateful interface."""
import os
import sys
import threading

import numpy as np
import pytest
from harness import ROOT, binary

sys.path.insert(0, os.path.join(os.path.dirname(binary()), "python"))

import layover  # noqa: E402

X = np.arange(1, 4, dtype="f4")
CACHE = """
packed vm.builtin.attention_kv_cache_create(3)
packed vm.builtin.attention_kv_cache_append(2)
packed vm.builtin.attention_kv_cache_view(1)
constant @reserved = shape [8, 2]
function make(1) exported {
    Call &vm.builtin.attention_kv_cache_create, r0, @reserved, -1 -> r1
    Ret r1
}
function append(2) exported {
    Call &vm.builtin.attention_kv_cache_append, r0, r1 -> r2
    Ret r2
}
function view(1) exported {
    Call &vm.builtin.attention_kv_cache_view, r0 -> r1
    Ret r1
}
"""


@pytest.fixture
def vm():
    return layover.VirtualMachine(os.path.join(ROOT, "tests", "tools", "library_model.lva"))


@pytest.mark.parametrize("device", ["cpu", "sim:0"])
def test_values_that_stay_in_the_model(tmp_path, device):
    (tmp_path / "cache.lva").write_text(CACHE)
    vm = layover.VirtualMachine(tmp_path / "cache.lva", device=device)
    rows = np.arange(4, dtype="f4").reshape(2, 2)
    cache = vm["make"](rows)
    assert type(cache) is layover.Object
    for _ in range(3):
        cache = vm["append"](cache, rows)
    np.testing.assert_array_equal(vm["view"](cache), np.tile(rows, (4, 1)))
    with pytest.raises(layover.UnsupportedError, match="of another model"):
        layover.VirtualMachine(tmp_path / "cache.lva")["view"](cache)


def test_stateful_calls(vm):
    vm.set_input("pair", X, b=2 * X)
    vm.invoke_stateful("pair")
    total, first = vm.get_outputs("pair")
    np.testing.assert_array_equal(total, 3 * X)
    np.testing.assert_array_equal(first, X)
    vm.set_input("pair", a=X + 1)
    vm.invoke_stateful("pair")
    np.testing.assert_array_equal(vm.get_outputs("pair")[0], 3 * X + 1)


def test_saved_calls_take_no_arguments(vm):
    vm.save_function("pair", "twice", X, b=X, include_return=False)
    for _ in range(2):
        np.testing.assert_array_equal(vm["twice"]()[0], 2 * X)
    np.testing.assert_array_equal(vm["main"](X), 101 * X)
    with pytest.raises(layover.NotFoundError, match="no result of main"):
        vm.get_outputs("main")


def test_yields_are_dropped(vm):
    vm.set_input("steps", X, 2000)
    vm.invoke_stateful("steps")
    np.testing.assert_array_equal(vm.get_outputs("steps"), 2002 * X)


@pytest.mark.parametrize("wrong, error, text", [
    (lambda vm: vm["nothing"], layover.NotFoundError, "nothing"),
    (lambda vm: vm.set_input("nothing", X), layover.NotFoundError, "nothing"),
    (lambda vm: vm.set_input("pair", X, X, X), TypeError, "takes 2 inputs"),
    (lambda vm: vm.set_input("pair", c=X), TypeError, "no input 'c'"),
    (lambda vm: vm.set_input("pair", X, a=X), TypeError, "given it twice"),
    (lambda vm: vm.set_input("pair", X.astype("f8")), layover.InvalidError, "float64"),
    (lambda vm: vm.set_input("pair", object()), TypeError, "no text"),
    (lambda vm: vm.invoke_stateful("main"), layover.InvalidError, "input"),
    (lambda vm: vm.get_outputs("main"), layover.NotFoundError, "no result of main"),
    (lambda vm: vm.save_function("pair", "s", X), TypeError, r"inputs \['b'\] are missing"),
    (lambda vm: vm.save_function("pair", "s", X, object()), TypeError, "no text"),
    (lambda vm: layover.VirtualMachine(vm.model, device="cpu")["other"], layover.NotFoundError, "other"),
])
def test_wrong_uses_are_named(vm, wrong, error, text):
    with pytest.raises(error, match=text):
        wrong(vm)
    np.testing.assert_array_equal(vm["main"](X), 101 * X)
    vm.set_input("main", X)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main"), 101 * X)


def test_one_thread_at_a_time_is_in_a_stateful_call(vm):
    vm.set_input("steps", X, 30000)
    thread = threading.Thread(target=vm.invoke_stateful, args=("steps",))
    thread.start()
    seen = 0
    while thread.is_alive():
        try:
            vm.set_input("main", X)
        except RuntimeError as error:
            assert "another thread uses this machine" in str(error)
            seen += 1
    thread.join()
    assert seen
    np.testing.assert_array_equal(vm.get_outputs("steps"), 30002 * X)
