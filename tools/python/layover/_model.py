"""Models, and how they are opened and resumed."""
import os
import typing

import layover._layover as _c
from layover._values import Port

if typing.TYPE_CHECKING:
    from layover.home import Home

Path = typing.Union[str, "os.PathLike[str]"]


class Model(_c.Model):
    """An open model. Calling it calls its function main.

    Inputs stand in the function's order or have their names; a numpy array, or anything with DLPack or numpy's array
    interface, is read in place. Numbers and lists become arrays of the input's type. One output is given as an array,
    several as Outputs. Several threads may call one model at a time.
    """

    __slots__ = ("path", "device", "home")

    def __new__(cls, path: Path, device: str = "cpu", threads: int = 1, home: "typing.Optional[Home]" = None):
        model = super().__new__(cls, path, device, threads, **({"home": home._c} if home is not None else {}))
        model.path, model.device, model.home = path, device, home
        return model

    @property
    def inputs(self) -> typing.Tuple[Port, ...]:
        """The inputs of main: a Port for each."""
        return _ports(self.function("main")._inputs)

    @property
    def outputs(self) -> typing.Tuple[Port, ...]:
        """The outputs of main: a Port for each."""
        return _ports(self.function("main")._outputs)

    def start(self, *inputs: typing.Any, **named: typing.Any) -> _c.Run:
        """A Run of main, which has not run yet."""
        return self.function("main").start(*inputs, **named)

    def __repr__(self):
        return f"layover.Model({str(self.path)!r}, device={self.device!r})"


def _ports(rows):
    return tuple(Port(*row) for row in rows)


def load(path: Path, device: str = "cpu", threads: int = 1) -> Model:
    """Opens a model.

    path:    a file (.onnx, .lvx, .lva, .relay, a Relax executable), or a model of the home: "resnet", "resnet@3".
    device:  "cpu", "sim:0", "sim:0,memory=64MiB", "cuda:0".
    threads: how many threads a kernel may use. The number never changes the bits.
    """
    return Model(path, device, threads)


def resume(path: typing.Union[Path, typing.BinaryIO], model: typing.Union[Model, Path], device: typing.Optional[str] = None) -> _c.Run:
    """A Run that continues from a checkpoint.

    path:   of the file, or a binary file that is open.
    model:  the open model that the file's run was of, or what load() takes.
    device: where it continues; None: the model's device.
    """
    if not isinstance(model, Model):
        model = load(model, device or "cpu")
    elif device is not None and device != model.device:
        model = Model(model.path, device, home=model.home)
    return model.resume(path)
