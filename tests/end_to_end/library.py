"""The C library from Python: tensors cross as DLPack, handles are pointers."""
import ctypes
import os

import harness
import numpy as np

LIBRARY = os.path.join(os.path.dirname(harness.binary()), "liblayover.so")
FINISHED = 0

_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NAME, _USED = b"dltensor", b"used_dltensor"  # capsules keep the pointers


class _Capsuled:
    """What numpy.from_dlpack takes; the array calls the tensor's deleter."""

    def __init__(self, pointer):
        self.capsule = _python.PyCapsule_New(pointer, _NAME, None)

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def _give(array):
    """A managed tensor of an array, owned by whoever gets it."""
    capsule = np.array(array, order="C").__dlpack__()
    pointer = _python.PyCapsule_GetPointer(capsule, _NAME)
    _python.PyCapsule_SetName(capsule, _USED)
    return pointer


class Library:
    def __init__(self):
        self.handle = ctypes.CDLL(LIBRARY)
        self.handle.layover_error_message.restype = ctypes.c_char_p
        self.handle.layover_model_input_name.restype = ctypes.c_char_p
        self.handle.layover_model_output_name.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        function = getattr(self.handle, name)
        function.restype = ctypes.c_void_p
        error = function(*arguments)
        assert not error, self.handle.layover_error_message(ctypes.c_void_p(error)).decode()

    def make(self, name, *arguments):
        made = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(made))
        return made


class Model:
    def __init__(self, library, path, device):
        self.library = library
        self.handle = library.make("layover_model_open", str(path).encode(), device.encode())

    def close(self):
        self.library.handle.layover_model_close(self.handle)

    def _names(self, which, count):
        get = getattr(self.library.handle, f"layover_model_{which}_name")
        return [get(self.handle, b"main", i).decode() for i in range(count)]

    def ports(self):
        """Names of main's inputs, names of its outputs."""
        inputs, outputs = ctypes.c_uint32(), ctypes.c_uint32()
        self.library.call("layover_model_function", self.handle, b"main", ctypes.byref(inputs), ctypes.byref(outputs))
        return self._names("input", inputs.value), self._names("output", outputs.value)

    def start(self, arrays):
        names, _ = self.ports()
        inputs = (ctypes.c_void_p * len(names))(*[_give(arrays[name]) for name in names])
        return Execution(self, self.library.make("layover_execution_start", self.handle, b"main", inputs, len(names)))

    def resume(self, path):
        return Execution(self, self.library.make("layover_execution_resume", self.handle, str(path).encode()))


class Execution:
    def __init__(self, model, handle):
        self.model, self.library, self.handle = model, model.library, handle

    def run(self, instructions=0):
        """True when it is finished."""
        state = ctypes.c_int()
        self.library.call("layover_execution_run", self.handle, ctypes.c_uint64(instructions), ctypes.byref(state))
        return state.value == FINISHED

    def checkpoint(self, path):
        self.library.call("layover_execution_checkpoint", self.handle, str(path).encode())

    def outputs(self):
        _, names = self.model.ports()
        return {name: np.from_dlpack(_Capsuled(self.library.make("layover_execution_output", self.handle, i).value))
                for i, name in enumerate(names)}

    def free(self):
        self.library.handle.layover_execution_free(self.handle)
