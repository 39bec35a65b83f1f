"""Modules of PyTorch as models, through torch.onnx.export. torch is imported here alone."""
import os
import tempfile
import typing

from layover._model import Model, load


def from_torch(module: typing.Any, args: typing.Tuple[typing.Any, ...], device: str = "cpu", threads: int = 1,
               **options: typing.Any) -> Model:
    """Opens a torch.nn.Module.

        model = layover.from_torch(net, (torch.zeros(1, 3, 224, 224),), dynamic_shapes=({0: "batch"},))
        scores = model(images)               # tensors of torch cross without a copy

    args:    example inputs, as the module is called: a tuple, or one tensor.
    options: those of torch.onnx.export, such as input_names, dynamic_shapes, dynamo, opset_version.
    Call module.eval() before. Needs the package torch and what its exporter needs.
    """
    import torch
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"a torch.nn.Module is wanted, not a {type(module).__name__}")
    args = args if isinstance(args, tuple) else (args,)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = os.path.join(folder, "module.onnx")
        torch.onnx.export(module, args, path, **{"verbose": False, **options})
        model = load(path, device, threads)
    model.path = type(module).__name__
    return model
