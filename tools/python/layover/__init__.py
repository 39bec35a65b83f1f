"""Layover: loads models, runs them, stops them between any two instructions, and continues them later or elsewhere.

    import layover
    model = layover.load("resnet.onnx")
    scores = model(image)                    # numpy arrays, or anything with DLPack
    run = model.start(image)                 # the same, step by step
    run.advance(instructions=10)
    run.checkpoint("half.lvc")
    scores = layover.resume("half.lvc", model).result()
"""
import importlib

from layover._errors import (CancelledError, ConflictError, CorruptError, Error, ExhaustedError, FileError, InvalidError,
                             NotFoundError, RefusedError, Suspended, UnreachableError, UnsupportedError)
from layover._layover import Object, Run, Tensor, version as __version__
from layover._model import Model, load, resume
from layover._values import Frame, Outputs, Port, Register

__all__ = ["CancelledError", "Client", "ConflictError", "CorruptError", "Error", "ExhaustedError", "FileError",
           "Frame", "Home", "InvalidError", "Job", "Model", "NotFoundError", "Object", "Outputs", "Port",
           "RefusedError", "Register", "Run", "Suspended", "Tensor", "UnreachableError", "UnsupportedError",
           "VMInstrumentReturnKind", "VirtualMachine", "from_torch", "load", "resume", "__version__"]


def __getattr__(name):
    """Modules are loaded when they are first used: most programs run models alone."""
    module = {"Client": "client", "Job": "client", "Home": "home", "VirtualMachine": "machine",
              "VMInstrumentReturnKind": "machine",
              "from_torch": "_torch"}.get(name)
    if name in ("aio", "onnx_backend"):
        return importlib.import_module("layover." + name)
    if module:
        return getattr(importlib.import_module("layover." + module), name)
    raise AttributeError(f"module 'layover' has no attribute {name!r}")
