"""What calls give, and what describes models."""
import typing


class Outputs(tuple):
    """The outputs of a function that has several: a tuple whose items can be had by their names, too.

    names: the outputs' names, in the same order.
    """

    names: typing.Tuple[str, ...]

    def __new__(cls, names, items):
        outputs = super().__new__(cls, items)
        outputs.names = names
        return outputs

    def __getitem__(self, key):
        if isinstance(key, str):
            try:
                key = self.names.index(key)
            except ValueError:
                raise KeyError(f"no output {key!r}; there are {', '.join(self.names)}") from None
        return super().__getitem__(key)

    def items(self):
        """(name, value) of each output."""
        return zip(self.names, self)

    def __repr__(self):
        return "Outputs(" + ", ".join(f"{name}={value!r}" for name, value in self.items()) + ")"


class Frame(typing.NamedTuple):
    """A function that was called and has not returned.

    pc:          the instruction that runs next, or the call that waits.
    instruction: it as text; "" but for the innermost 256 frames.
    """

    function: str
    pc: int
    instruction: str


class Register(typing.NamedTuple):
    """A register whose value is still needed.

    frame: 0 is the oldest.
    kind:  "tensor", "int", "list" ...
    dtype: of a tensor, else "".
    shape: of a tensor or a shape, else None.
    bytes: of a tensor or a storage; of a tuple or a list those of the tensors in it.
    """

    frame: int
    index: int
    kind: str
    dtype: str
    shape: typing.Optional[typing.Tuple[int, ...]]
    bytes: int


class Port(typing.NamedTuple):
    """One input or output of a function.

    name:     "" if it has none.
    dtype:    such as "float32" or "string"; "" for any.
    shape:    a number, a name or None (unknown) for each dimension; None for any shape.
    list:     True: a list of arrays of that type.
    optional: True: None may be given.
    """

    name: str
    dtype: str
    shape: typing.Optional[typing.Tuple[typing.Union[int, str, None], ...]]
    list: bool = False
    optional: bool = False
