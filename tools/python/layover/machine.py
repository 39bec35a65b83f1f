"""Models as users of TVM's Relax know them."""
import typing

import layover._layover as _c
from layover._errors import NotFoundError
from layover._model import Model, Path


class VirtualMachine:
    """Calls functions of an executable, as tvm.relax.VirtualMachine does.

        vm = layover.VirtualMachine("llm.so", device="cpu")
        logits = vm["prefill"](tokens, cache)
        vm.set_input("main", x, weight=w)
        vm.invoke_stateful("main")
        y = vm.get_outputs("main")

    executable: a Model, or what layover.load takes: Relax executables in .so and .bin files among them.
    Values that stay in the model, such as a cache, are layover.Object; other functions take them. One thread at a time
    uses the stateful methods; any thread may call vm[name].
    """

    def __init__(self, executable: typing.Union[Model, Path], device: str = "cpu", threads: int = 1) -> None:
        self.model = executable if isinstance(executable, Model) else Model(executable, device, threads)
        self._machine = _c.Machine(self.model)
        self._saved: typing.Set[str] = set()
        self._invoked: typing.Optional[str] = None

    def __repr__(self) -> str:
        return f"layover.VirtualMachine({self.model!r})"

    def __getitem__(self, name: str) -> typing.Callable[..., typing.Any]:
        """A function by its name, or a call that save_function keeps, which takes no arguments."""
        if name not in self._saved:
            return self.model.function(name)

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
