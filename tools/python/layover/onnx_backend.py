"""Layover as a backend of ONNX (onnx.backend.base), so that what is written for one runs with it.

    import layover.onnx_backend as backend
    outputs = backend.run_model(onnx.load("resnet50.onnx"), [image])
    prepared = backend.prepare("resnet50.onnx", device="CPU")
    outputs = prepared.run([image])

Devices have ONNX's names: "CPU", "CUDA:1"; "SIM:0" is a simulated one.
"""
import functools
import os
import tempfile
import typing

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

import layover

# A model without a node, which opens on every device.
EMPTY = "function main(x: float32[n]) -> (y: float32[n]) exported {\n    Ret r0\n}\n"


def _device(name: str) -> str:
    """Layover's name of a device of ONNX."""
    kind, _, index = str(name).partition(":")
    return "cpu" if kind.upper() == "CPU" else f"{kind.lower()}:{index or 0}"


@functools.lru_cache(maxsize=None)
def _opens(device):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "empty.lva")
        with open(path, "w", encoding="ascii") as file:
            file.write(EMPTY)
        try:
            layover.load(path, device)
        except layover.Error:
            return False
    return True


def load_model(model: typing.Any, device: str = "cpu", threads: int = 1) -> layover.Model:
    """Opens a ModelProto, its bytes, or a file. device: by Layover's name."""
    if isinstance(model, (str, os.PathLike)):
        return layover.load(model, device, threads)
    if isinstance(model, bytes):
        model = onnx.load_from_string(model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path, save_as_external_data=model.ByteSize() >= onnx.checker.MAXIMUM_PROTOBUF)
        return layover.load(path, device, threads)


class PreparedModel(BackendRep):
    """A model that is open on a device. model: the layover.Model."""

    def __init__(self, model: layover.Model) -> None:
        self.model = model
        self._outputs = tuple(port.name for port in model.outputs)

    def run(self, inputs: typing.Any, **kwargs: typing.Any) -> typing.Tuple[typing.Any, ...]:
        """The outputs in the graph's order, by their names, too.

        inputs: a list in the order of the graph's inputs, {name: array}, or the only input.
        """
        if isinstance(inputs, dict):
            results = self.model(**inputs)
        else:
            results = self.model(*(inputs if isinstance(inputs, (list, tuple)) else (inputs,)))
        values = tuple(results) if len(self._outputs) > 1 else (results,)
        return namedtupledict("Outputs", self._outputs)(*values)


class LayoverBackend(Backend):
    """onnx.backend.base.Backend over layover.load."""

    @classmethod
    def is_compatible(cls, model: typing.Any, device: str = "CPU", **kwargs: typing.Any) -> bool:
        """Whether the model can be prepared."""
        try:
            cls.prepare(model, device, **kwargs)
        except layover.Error:
            return False
        return True

    @classmethod
    def prepare(cls, model: typing.Any, device: str = "CPU", threads: int = 1, **kwargs: typing.Any) -> PreparedModel:
        """Opens a ModelProto, its bytes, or a file."""
        return PreparedModel(load_model(model, _device(device), threads))

    @classmethod
    def run_model(cls, model: typing.Any, inputs: typing.Any, device: str = "CPU", **kwargs: typing.Any):
        """Opens a model and runs it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: typing.Any, device: str = "CPU",
                 outputs_info: typing.Optional[typing.Sequence[typing.Tuple[np.dtype, typing.Tuple[int, ...]]]] = None,
                 **kwargs: typing.Any):
        """Runs one node.

        inputs: in the node's order, without those that it leaves out.
        opset_version: in kwargs: of the node's domain; default: the newest.
        """
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        inputs = list(inputs.values()) if isinstance(inputs, dict) else list(inputs)
        if len(inputs) != len(names):
            raise ValueError(f"{node.op_type} has {len(names)} inputs, not {len(inputs)}")
        arrays = [np.asarray(value) for value in inputs]
        graph = onnx.helper.make_graph(
            [node], "node", [_value_info(name, array) for name, array in zip(names, arrays)],
            [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is there."""
        return _opens(_device(device))


def _value_info(name, array):
    text = array.dtype.kind in "USO"
    kind = onnx.TensorProto.STRING if text else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_value_info(name, kind, array.shape)


is_compatible = LayoverBackend.is_compatible
prepare = LayoverBackend.prepare
run_model = LayoverBackend.run_model
run_node = LayoverBackend.run_node
supports_device = LayoverBackend.supports_device
