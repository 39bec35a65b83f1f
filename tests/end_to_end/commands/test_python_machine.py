"""layover.VirtualMachine: functions, values that stay in the model, the stateful interface."""
import json
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


def test_an_instrument_sees_calls_and_leaves_them_out(vm):
    seen = []

    def watch(func, func_symbol, before_run, ret_value, *args):
        assert func is None
        seen.append((func_symbol, before_run, ret_value is None, [array.tolist() for array in args]))
        with pytest.raises(ValueError, match="read-only"):
            args[0][0] = 7
        return layover.VMInstrumentReturnKind.NO_OP

    vm.set_instrument(watch)
    np.testing.assert_array_equal(vm["pair"](X, b=2 * X)[0], 3 * X)
    wanted = [("Add", True, True, [[1, 2, 3], [2, 4, 6]]), ("Add", False, False, [[1, 2, 3], [2, 4, 6]])]
    assert seen == wanted
    vm.set_input("pair", X, 2 * X)
    vm.invoke_stateful("pair")
    assert seen == wanted * 2
    vm.set_instrument(lambda *call: layover.VMInstrumentReturnKind.SKIP_RUN)
    total, first = vm["pair"](X, X)
    assert total is None
    np.testing.assert_array_equal(first, X)
    vm.set_instrument(None)
    np.testing.assert_array_equal(vm["pair"](X, X)[0], 2 * X)
    assert seen == wanted * 2


@pytest.mark.parametrize("instrument, error, text", [
    (lambda *call: 1 / 0, ZeroDivisionError, "division"),
    (lambda *call: 2, ValueError, "None, 0 or 1, not 2"),
    (lambda *call: "no", TypeError, "int"),
    (lambda: None, TypeError, "positional"),
])
def test_what_an_instrument_raises_ends_the_run(vm, instrument, error, text):
    vm.set_instrument(instrument)
    with pytest.raises(error, match=text):
        vm["pair"](X, X)
    vm.set_input("pair", X, X)
    with pytest.raises(error, match=text):
        vm.invoke_stateful("pair")
    with pytest.raises(TypeError, match="a function, or None"):
        vm.set_instrument(3)


def test_a_profile_has_each_call(vm):
    report = vm.profile("main", X)
    assert len(report.calls) == 100 and report.device == "cpu" and report.seconds > 0
    assert {(call["Name"], call["Argument Shapes"]) for call in report.calls} == {("Add", "float32[3], float32[3]")}
    assert abs(sum(call["Percent"] for call in report.calls) - 100) < 1e-6
    lines = report.table().split("\n")
    assert len(lines) == 3 and "100" in lines[1] and lines[2].startswith("Sum") and str(report) == report.table()
    assert len(report.table(aggregate=False, sort=False, col_sums=False).split("\n")) == 101
    assert report.csv().count("\n") == 101 and len(json.loads(report.json())["calls"]) == 100


def test_functions_and_saved_calls_are_timed(vm):
    result = vm.time_evaluator("main", None, number=2, repeat=3)(X)
    assert len(result.results) == 3 and result.number == 2
    assert 0 < result.min <= result.median <= result.max and result.min <= result.mean <= result.max and result.std >= 0
    assert vm.time_evaluator("pair", number=1, min_repeat_ms=1)(X, b=X).number > 1
    vm.set_input("pair", X, X)
    vm.save_function("pair", "saved", X, X)
    for name, arguments in (("invoke_stateful", ("pair",)), ("saved", ())):
        assert vm.time_evaluator(name, number=1, repeat=2, cooldown_interval_ms=1)(*arguments).min > 0
    with pytest.raises(ValueError, match="above 0"):
        vm.time_evaluator("main", number=0)


def test_native_code_runs_where_it_is_allowed(monkeypatch):
    library = os.path.join(os.path.dirname(os.path.dirname(binary())), "tests", "kernels", "libnative-graph.so")
    monkeypatch.setenv("LAYOVER_WORKER", binary())
    with pytest.raises(layover.RefusedError, match="native code"):
        layover.VirtualMachine(library)["main"]()
    vm = layover.VirtualMachine(library, native=True)
    assert vm["main"]().tolist() == [5, -22]
    assert [call["Name"] for call in vm.profile("main").calls if call["Name"] != "Identity"]
    vm.model.allow_native()
    with pytest.raises(layover.ConflictError, match="other.so|with the libraries ''"):
        vm.model.allow_native("other.so")


@pytest.mark.parametrize("memory_cfg", ["naive", "pooled", {"cpu": "naive"}, {"sim:0": "naive"}])
def test_memory_is_used_again_or_given_back(memory_cfg):
    path = os.path.join(ROOT, "tests", "tools", "library_model.lva")
    vm = layover.VirtualMachine(path, device="sim:0", memory_cfg=memory_cfg)
    np.testing.assert_array_equal(vm["main"](X), 101 * X)
    for wrong in ("none", {"cuda:0": "naive"}, {"cpu": "none"}):
        with pytest.raises(ValueError, match="devices are cpu and sim:0"):
            layover.VirtualMachine(vm.model, memory_cfg=wrong)
