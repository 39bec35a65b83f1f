"""Models as users of TVM's Relax know them."""
import enum
import time
import typing

import layover._layover as _c
from layover._errors import NotFoundError
from layover._model import Model, Path
from layover._report import BenchmarkResult, Report


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument answers before a call."""
    NO_OP = 0
    SKIP_RUN = 1


class VirtualMachine:
    """Calls functions of an executable, as tvm.relax.VirtualMachine does.

        vm = layover.VirtualMachine("llm.so", device="cpu")
        logits = vm["prefill"](tokens, cache)
        vm.set_input("main", x, weight=w)
        vm.invoke_stateful("main")
        y = vm.get_outputs("main")

    executable:     a Model, or what layover.load takes: Relax executables in .so and .bin files among them.
    memory_cfg:     "pooled", "naive", or a dict of these by the devices' names, such as {"cpu": "naive"}: whether freed
                    memory is used again, or given back at once.
    native:         allows compiled functions of a library to run, which are trusted code.
    native_preload: libraries that they need, separated by ':', such as libtvm_ffi.so.
    Values that stay in the model, such as a cache, are layover.Object; other functions take them. One thread at a time
    uses the stateful methods; any thread may call vm[name].
    """

    def __init__(self, executable: typing.Union[Model, Path], device: str = "cpu", threads: int = 1,
                 memory_cfg: typing.Union[None, str, typing.Mapping[str, str]] = None, native: bool = False,
                 native_preload: typing.Optional[str] = None) -> None:
        self.model = executable if isinstance(executable, Model) else Model(executable, device, threads)
        if memory_cfg is not None:
            self._set_allocators(memory_cfg)
        if native:
            self.model.allow_native(native_preload)
        self._machine = _c.Machine(self.model)
        self._instrument: typing.Optional[typing.Callable[..., typing.Any]] = None
        self._saved: typing.Set[str] = set()
        self._invoked: typing.Optional[str] = None

    def _set_allocators(self, memory_cfg):
        host, device = "cpu", self.model.device.partition(",")[0]
        chosen = {host: memory_cfg, device: memory_cfg} if isinstance(memory_cfg, str) else dict(memory_cfg)
        wrong = [item for item in chosen.items() if item[0] not in (host, device) or item[1] not in ("naive", "pooled")]
        if wrong:
            raise ValueError(f"memory_cfg has {wrong[0]}; the devices are {host} and {device}, and the allocators naive and pooled")
        self.model._set_allocators(chosen.get(host) == "naive", chosen.get(device) == "naive")

    def __repr__(self) -> str:
        return f"layover.VirtualMachine({self.model!r})"

    def __getitem__(self, name: str) -> typing.Callable[..., typing.Any]:
        """A function by its name, or a call that save_function keeps, which takes no arguments."""
        if name not in self._saved:
            return self.model.function(name) if self._instrument is None else self._watched(name)

        def call() -> typing.Any:
            self._invoked = None
            self._machine.invoke_saved(name)
            return self._machine.output()
        return call

    def _arguments(self, function, given, named):
        """{index: value} of positional and named arguments."""
        names = [port[0] for port in function._inputs]
        if len(given) > len(names):
            raise TypeError(f"{function.name} takes {len(names)} inputs {tuple(names)}, not {len(given)}")
        found = dict(enumerate(given))
        for name, value in named.items():
            if name not in names or names.index(name) in found:
                raise TypeError(f"{function.name} has no input {name!r}, or is given it twice; its inputs are {tuple(names)}")
            found[names.index(name)] = value
        return found

    def _prepare(self, func_name, given, named):
        """A machine of its own whose inputs of a function are set."""
        function, machine = self.model.function(func_name), _c.Machine(self.model)
        for index, value in self._arguments(function, given, named).items():
            machine.set_input(function, index, value)
        return machine

    def _watched(self, name):
        def call(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
            machine = self._prepare(name, args, kwargs)
            machine.set_instrument(self._instrument)
            machine.invoke(name)
            return machine.output()
        return call

    def set_instrument(self, instrument: typing.Optional[typing.Callable[..., typing.Any]]) -> None:
        """Has a function called before and after each call of an operator, a packed function or a closure.

        instrument(func, func_symbol, before_run, ret_value, *args): func is None. Its arrays are read only and have the
        run's own bytes: copy what is kept. What is not written yet is None. Before a call it may answer
        VMInstrumentReturnKind.SKIP_RUN: the result is None then. Its exceptions end the run. None removes it.
        """
        self._machine.set_instrument(instrument)
        self._instrument = instrument

    def time_evaluator(self, func_name: str, dev: typing.Any = None, number: int = 10, repeat: int = 1, min_repeat_ms: int = 0,
                       cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1) -> typing.Callable[..., BenchmarkResult]:
        """A function that takes func_name's arguments and times it. One run that does not count comes first.

        func_name:     also a name of save_function, or "invoke_stateful", which takes the name of a function.
        dev:           TVM's, and has no effect.
        number:        runs of one repeat, of which the mean is taken; doubled until a repeat takes min_repeat_ms.
        cooldown_interval_ms: a pause after each repeats_to_cooldown repeats.
        """
        if number < 1 or repeat < 1 or repeats_to_cooldown < 1:
            raise ValueError("number, repeat and repeats_to_cooldown are above 0")

        def measure(call, count):
            start = time.perf_counter()
            for _ in range(count):
                call()
            return time.perf_counter() - start

        def evaluate(*args: typing.Any, **kwargs: typing.Any) -> BenchmarkResult:
            call, count, results = self._timed(func_name, args, kwargs), number, []
            call()
            while min_repeat_ms and measure(call, count) * 1000 < min_repeat_ms:
                count *= 2
            for i in range(repeat):
                results.append(measure(call, count) / count)
                if cooldown_interval_ms and (i + 1) % repeats_to_cooldown == 0:
                    time.sleep(cooldown_interval_ms / 1000)
            return BenchmarkResult(results, count)
        return evaluate

    def _timed(self, name, given, named):
        if name == "invoke_stateful":
            return lambda: self.invoke_stateful(*given, **named)
        if name in self._saved:
            return lambda: self[name](*given, **named)
        machine = self._prepare(name, given, named)
        return lambda: machine.invoke(name)

    def profile(self, func_name: str, *args: typing.Any, **kwargs: typing.Any) -> Report:
        """Runs a function once, and tells each call's time and the shapes of its arguments."""
        machine = self._prepare(func_name, args, kwargs)
        machine.start_profile()
        machine.invoke(func_name)
        return Report(*machine.take_profile())

    def set_input(self, func_name: str, *args: typing.Any, **kwargs: typing.Any) -> None:
        """Sets inputs of a function, by place or by name. They stay set."""
        function = self.model.function(func_name)
        for index, value in self._arguments(function, args, kwargs).items():
            self._machine.set_input(function, index, value)

    def invoke_stateful(self, func_name: str) -> None:
        """Calls a function with the inputs that are set."""
        self._invoked = None
        self._machine.invoke(func_name)
        self._invoked = func_name

    def get_outputs(self, func_name: str) -> typing.Any:
        """The result of the call of invoke_stateful."""
        if self._invoked != func_name:
            error = NotFoundError(f"no result of {func_name}: the last call of invoke_stateful was of {self._invoked}")
            error.code = "NOT_FOUND"
            raise error
        return self._machine.output()

    def save_function(self, func_name: str, saved_name: str, *args: typing.Any, include_return: bool = True,
                      **kwargs: typing.Any) -> None:
        """Keeps a call with all its arguments; vm[saved_name]() does it. include_return is TVM's, and has no effect."""
        function = self.model.function(func_name)
        found = self._arguments(function, args, kwargs)
        missing = [port[0] for index, port in enumerate(function._inputs) if index not in found]
        if missing:
            raise TypeError(f"{func_name}: inputs {missing} are missing")
        self._machine.save(saved_name, function, tuple(found[index] for index in range(len(found))))
        self._saved.add(saved_name)
