"""The C library's functions and modules, driven through ctypes with numpy: TVM's fixtures with Python callbacks."""
import glob
import json
import os
import threading

import numpy as np
import pytest

import library_modules as lib
from harness import ROOT

FIXTURES = os.path.join(ROOT, "tests", "relax", "fixtures")
# relax_fixtures runs the others, whose functions of the host are written in C.
FILES = sorted(path for kind in ("built", "compiled") for path in glob.glob(os.path.join(FIXTURES, kind, "*.bin")))


def write(to, value):
    to[...] = value


CALLBACKS = {
    "test.vm.add": lambda a, b: a + b,
    "test.vm.mul": lambda a, b: a * b,
    "test.vm.equal_zero": lambda a: np.array(a.reshape(-1)[0] == 0),
    "test.vm.subtract_one": lambda a: a - a.dtype.type(1),
    "test.vm.identity": lambda a, out: write(out, a.reshape(out.shape)),
    "test.vm.tile": lambda a, out: write(out, np.tile(a, (1, 2)).reshape(out.shape)),
    "fx.add_i64": lambda a, b: a + b,
    "fx.sub_i64": lambda a, b: a - b,
    "fx.mul_i64": lambda a, b: a * b,
    "fx.le_i64": lambda a, b: a <= b,
    "fx.fill_iota": lambda out: write(out, np.arange(out.size).reshape(out.shape)),
    "fx.add_into": lambda a, b, out: write(out, a + b),
    "fx.scale_f64": lambda a, scale: a * a.dtype.type(scale),
}


@pytest.fixture
def registered():
    hosts = [lib.register(name, function) for name, function in CALLBACKS.items()]
    yield
    for name in CALLBACKS:
        lib.unregister(name)
    assert [host.released for host in hosts] == [1] * len(hosts)
    assert not lib.handed, "a tensor whose deleter was not called"


@pytest.fixture
def open_module():
    opened = []

    def make(name=None, **options):
        opened.append(lib.Module(name and os.path.join(FIXTURES, "built", name + ".bin"), **options))
        return opened[-1]
    yield make
    for module in opened:
        module.close()


def read(object_):
    kind = object_["kind"]
    if kind == "tensor":
        return np.array(object_["data"], object_["dtype"]).reshape(object_["shape"])
    if kind == "tuple":
        return tuple(map(read, object_["fields"]))
    if kind == "shape":
        return lib.Shape(object_["value"])
    if kind == "dtype":
        return np.dtype(object_["value"])
    return object_.get("value")


def same(got, wanted):
    assert type(got) is type(wanted), (got, wanted)
    if isinstance(wanted, np.ndarray):
        assert (got.dtype, got.shape, got.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())
    elif isinstance(wanted, tuple) and not isinstance(wanted, lib.Shape):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted):
            same(one, other)
    else:
        assert got == wanted


def step_through(module, one, path):
    """One instruction, a checkpoint, a fresh execution, up to 40 times; then to the end."""
    execution = lib.Execution(module.model(), one["function"], list(map(read, one["inputs"])))
    try:
        for _ in range(40):
            if execution.run(1):
                break
            execution.through(path)
        execution.run()
        return execution.output()
    finally:
        execution.free()


@pytest.mark.parametrize("file", FILES, ids=lambda file: os.path.basename(file)[:-4])
def test_fixtures_give_tvm_s_results_with_python_callbacks(registered, memory_path, file):
    with open(file[:-4] + ".json", encoding="utf-8") as stream:
        calls = json.load(stream)["calls"]
    module = lib.Module(file)
    for one in calls:
        function = module[one["function"]]
        assert module.arity(one["function"]) == len(one["inputs"])
        runs = [lambda: function(*map(read, one["inputs"])), lambda: step_through(module, one, memory_path)]
        for run in runs:
            if one["expected"]["kind"] != "error":
                same(run(), read(one["expected"]))
                continue
            with pytest.raises(lib.LibraryError) as failure:
                run()
            assert failure.value.code in ("INVALID", "FAILED"), failure.value
            assert one["function"] in str(failure.value)
        function.release()
    module.close()


@pytest.fixture
def memory_path(tmp_path):
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    path = os.path.join(folder, f"layover-{os.getpid()}.lvc")
    yield path
    if os.path.exists(path):
        os.remove(path)


def test_a_module_tells_its_functions_parameters_and_texts(open_module):
    module = open_module("tuple")
    assert set(module.names()) == {"main", "empty", "oob"}
    assert [module.arity(name) for name in ("main", "empty", "oob")] == [2, 0, 1]
    compiled = lib.Module(os.path.join(FIXTURES, "compiled", "c_symbolic_packed.bin"))
    assert [compiled.parameter("main", i) for i in range(2)] == ["x", "w"]
    with pytest.raises(lib.LibraryError, match="INVALID parameter 2 of main, which has 2"):
        compiled.parameter("main", 2)
    compiled.close()
    with open(os.path.join(FIXTURES, "built", "tuple.txt"), encoding="utf-8") as stream:
        text, rest = stream.read().split("\n# as_python\n")
    python, stats = rest.split("\n# stats\n")
    assert module.text("as_text") == text
    assert module.text("as_python").strip() == python.strip()
    assert module.text("stats").strip() == stats.strip()


def test_registered_functions_are_listed_found_called_replaced_and_removed():
    first = lib.register("test.first", lambda *things: things[::-1], arity=2)
    lib.register("test.alpha", lambda: lib.Shape((2, 3)))
    assert lib.names() == ("test.alpha", "test.first")
    function = lib.find("test.first")
    assert function.name() == "test.first"
    things = ("text é", (1, (2.5, None, True)), np.arange(6, dtype="f4").reshape(2, 3), lib.Shape(()), np.dtype("int8"))
    same(function(things, lib.Shape((4, 5))), (lib.Shape((4, 5)), things))
    with pytest.raises(lib.LibraryError, match="INVALID test.first takes 2 arguments, not 1"):
        function(np.zeros(3))
    with pytest.raises(lib.LibraryError, match="CONFLICT there is a registered function test.first already"):
        lib.register("test.first", print)
    with pytest.raises(lib.LibraryError, match="CONFLICT vm.builtin.make_tuple is a builtin"):
        lib.register("vm.builtin.make_tuple", print)
    second = lib.register("test.first", lambda *things: len(things), replace=True)
    assert (first.released, len(function(1, 2))) == (0, 2)  # the handle keeps the first
    function.release()
    assert first.released == 1
    again = lib.find("test.first")
    assert again(1, 2, 3) == 3
    again.release()
    lib.unregister("test.first")
    lib.unregister("test.alpha")
    assert (second.released, lib.names(), lib.handed) == (1, (), {})
    with pytest.raises(lib.LibraryError, match="NOT_FOUND there is no registered function test.first"):
        lib.find("test.first")


def test_own_functions_then_imports_then_registered_ones_are_called(open_module):
    x = np.ones(3, "f4")

    def result(own, imported, registered):
        module, outer, inner = open_module("add"), open_module(), open_module()
        outer.imports(inner)
        module.imports(outer)
        if own:
            module.add("test.vm.add", lambda a, b: "own")
        if imported:
            inner.add("test.vm.add", lambda a, b: "imported")
        if registered:
            lib.register("test.vm.add", lambda a, b: "registered")
        try:
            main = module["main"]
            answer = main(x, x)
            main.release()
            return answer
        finally:
            if registered:
                lib.unregister("test.vm.add")
    assert result(True, True, True) == "own"
    assert result(False, True, True) == "imported"
    assert result(False, False, True) == "registered"
    with pytest.raises(lib.LibraryError, match="NOT_FOUND there is no packed function test.vm.add in the module"):
        result(False, False, False)


def test_modules_refuse_cycles_late_changes_and_calls_of_other_bytecode(open_module):
    module, other = open_module("funcref"), open_module()
    module.imports(other)
    with pytest.raises(lib.LibraryError, match="CONFLICT the imported module imports this one"):
        other.imports(module)
    with pytest.raises(lib.LibraryError, match="CONFLICT the module has a function main already"):
        module.add("main", print)
    other.add("test.host", lambda: 7)
    host, main = module["test.host"], module["main"]
    assert host() == 7
    with pytest.raises(lib.LibraryError, match="CONFLICT the module is in use"):
        module.imports(open_module())
    with pytest.raises(lib.LibraryError, match="CONFLICT the module is in use"):
        module.allow_native(None)
    with pytest.raises(lib.LibraryError, match="NOT_FOUND there is no function gone"):
        module["gone"]
    borrower = open_module()
    borrower.imports(module)
    borrowed = borrower["main"]
    same(borrowed(np.ones(3, "f4")), np.ones(3, "f4"))  # the host may call it
    for function in (host, main, borrowed):
        function.release()


def test_host_functions_cannot_run_models_and_their_errors_arrive(open_module):
    inner = open_module("funcref")["main"]

    def nested(a, b):
        return inner(a.copy())
    module = open_module("add")
    module.add("test.vm.add", nested)
    main = module["main"]
    with pytest.raises(lib.LibraryError, match="FAILED function main.*test.vm.add.*CONFLICT a host function must not run a model"):
        main(np.ones(3, "f4"), np.ones(3, "f4"))
    main.release()
    inner.release()
    with pytest.raises(lib.LibraryError, match="CORRUPT|UNSUPPORTED"):
        lib.Module("/proc/self/exe")
    with pytest.raises(lib.LibraryError, match="NOT_FOUND.*gone.bin"):
        lib.Module("/tmp/gone.bin")


def test_functions_and_closures_are_values(open_module):
    module = open_module("funcref")
    ident = module["ident"]
    call_by_ref = module["call_by_ref"]
    x = np.arange(3, dtype="f4")
    same(call_by_ref(ident, x), x)
    same(ident((ident, 1))[1], 1)
    host = lib.register("test.twice", lambda a: a + a)
    late = lib.find("test.twice")
    with pytest.raises(lib.LibraryError, match="UNSUPPORTED argument 0: function test.twice was not there"):
        call_by_ref(late, x)
    other = open_module("funcref")
    same(other["call_by_ref"](late, x), x + x)
    with pytest.raises(lib.LibraryError, match="UNSUPPORTED argument 0: function ident is of another model"):
        other["call_by_ref"](ident, x)
    late.release()
    lib.unregister("test.twice")
    assert host.released == 0  # a module uses it


def test_values_that_are_too_deep_or_no_values_are_refused(open_module):
    ident = open_module("funcref")["ident"]
    deep = np.ones(2)
    for _ in range(60):
        deep = (deep,)
    assert isinstance(ident(deep), tuple)
    for _ in range(10):
        deep = (deep,)
    with pytest.raises(lib.LibraryError, match="UNSUPPORTED argument 0: a tuple in 64 tuples"):
        ident(deep[0][0][0][0][0])
    lib.handed.clear()  # tensors below that depth stay the caller's
    with pytest.raises(lib.LibraryError, match="INVALID argument 0: .*UTF-8"):
        lib.value_of("layover_function_call", lib.c_void_p(ident.handle),
                     (lib.Value * 1)(lib.Value(lib.STRING, lib._Content(text=b"\xff"))), lib.c_uint32(1))
    with pytest.raises(lib.LibraryError, match="INVALID argument 0: a value of kind 99"):
        lib.value_of("layover_function_call", lib.c_void_p(ident.handle), (lib.Value * 1)(lib.Value(99)), lib.c_uint32(1))
    assert ident(lib.Shape((-1, *range(20)))) == lib.Shape((-1, *range(20)))
    with pytest.raises(lib.LibraryError, match="INVALID argument 0: a shape of 256 dimensions"):
        ident(lib.Shape(range(256)))
    ident.release()


def test_the_stateful_interface_keeps_inputs_through_a_checkpoint(registered, memory_path):
    module = lib.Module(os.path.join(FIXTURES, "built", "add.bin"))
    execution = lib.Execution(module.model())
    one, two = np.ones(3, "f4"), np.full(3, 2, "f4")
    with pytest.raises(lib.LibraryError, match="CONFLICT no call has finished"):
        execution.output()
    execution.set_input("main", 0, one)
    with pytest.raises(lib.LibraryError, match="INVALID input 1 of function main is not set"):
        execution.invoke("main")
    execution.set_input("main", 1, two)
    execution.save("sum", "main", two, two)
    execution.through(memory_path)
    execution.invoke("main")
    with pytest.raises(lib.LibraryError, match="CONFLICT a call is under way"):
        execution.invoke("main")
    assert execution.run()
    same(execution.output(), one + two)
    execution.set_input("main", 0, two)
    execution.invoke("main")
    assert execution.run()
    same(execution.output(), two + two)
    execution.invoke_saved("sum")
    assert execution.run()
    same(execution.output(), two + two)
    with pytest.raises(lib.LibraryError, match="INVALID output 0 is inside a tensor"):
        execution.output(0)
    with pytest.raises(lib.LibraryError, match="NOT_FOUND no function was saved as gone"):
        execution.invoke_saved("gone")
    execution.free()
    module.close()


def test_four_threads_call_one_function(registered):
    module = lib.Module(os.path.join(FIXTURES, "built", "fib_recursive.bin"))
    with open(os.path.join(FIXTURES, "built", "fib_recursive.json"), encoding="utf-8") as stream:
        one = json.load(stream)["calls"][0]
    function, results = module[one["function"]], []

    def work():
        for _ in range(3):
            results.append(function(*map(read, one["inputs"])))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    function.release()
    module.close()
    assert len(results) == 12
    for result in results:
        same(result, read(one["expected"]))


def test_bytecode_of_an_imported_module_is_not_called_by_bytecode(open_module, home, tmp_path):
    (tmp_path / "lender.lva").write_text("function test.vm.add(2) exported {\n Ret r0\n}\n")
    home.call("compile", tmp_path / "lender.lva", "-o", tmp_path / "lender.lvx")
    module, lender = open_module("add"), lib.Module(tmp_path / "lender.lvx")
    module.imports(lender)
    with pytest.raises(lib.LibraryError, match="UNSUPPORTED test.vm.add is bytecode of an imported module"):
        module["main"]
    assert lender.text("as_text").startswith("function test.vm.add(2) exported")
    with pytest.raises(lib.LibraryError, match="CONFLICT"):
        lender.text("stats")
    lender.close()
