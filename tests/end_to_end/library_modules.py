"""Functions and modules of the C library from Python, with numpy only."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy as np

from library import LIBRARY

NIL, BOOL, INT, FLOAT, TENSOR, STRING, SHAPE, DTYPE, TUPLE, FUNCTION, OBJECT = range(11)
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # of DLPack, by numpy's kind


class Shape(tuple):
    """A shape, where a tuple would be a tuple of values."""


class LibraryError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code} {message}")
        self.code = code


class DType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("dtype", DType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Managed(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", DELETER)]


class ShapeStruct(ctypes.Structure):
    _fields_ = [("rank", c_uint32), ("dims", POINTER(c_int64))]


class TupleStruct(ctypes.Structure):
    pass


class _Content(ctypes.Union):
    _fields_ = [("integer", c_int64), ("real", c_double), ("tensor", POINTER(Managed)), ("text", c_char_p),
                ("shape", POINTER(ShapeStruct)), ("dtype", DType), ("tuple", POINTER(TupleStruct)), ("handle", c_void_p)]


class Value(ctypes.Structure):
    _anonymous_ = ("content",)
    _fields_ = [("kind", c_int), ("content", _Content)]


TupleStruct._fields_ = [("count", c_uint32), ("fields", POINTER(Value))]
PACKED = ctypes.CFUNCTYPE(c_void_p, c_void_p, POINTER(Value), c_uint32, POINTER(Value))
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)

handed = {}  # tensors that the library has, by address


@DELETER
def _delete(managed):
    del handed[ctypes.addressof(managed.contents)]


def _dtype(dtype):
    return DType(_CODES[dtype.kind], dtype.itemsize * 8, 1)


def _managed(array):
    array = np.array(array, order="C")
    dims = (c_int64 * max(array.ndim, 1))(*array.shape)
    managed = Managed(DLTensor(array.ctypes.data, 1, 0, array.ndim, _dtype(array.dtype), dims, None, 0), None, _delete)
    handed[ctypes.addressof(managed)] = managed, array, dims
    return ctypes.pointer(managed)


def to_value(thing, keep):
    """keep: gets what must live as long as the value."""
    if thing is None:
        return Value(NIL)
    if isinstance(thing, (bool, np.bool_)):
        return Value(BOOL, _Content(integer=int(thing)))
    if isinstance(thing, int):
        return Value(INT, _Content(integer=thing))
    if isinstance(thing, float):
        return Value(FLOAT, _Content(real=thing))
    if isinstance(thing, np.ndarray):
        return Value(TENSOR, _Content(tensor=_managed(thing)))
    if isinstance(thing, str):
        keep.append(thing.encode())
        return Value(STRING, _Content(text=keep[-1]))
    if isinstance(thing, np.dtype):
        return Value(DTYPE, _Content(dtype=_dtype(thing)))
    if isinstance(thing, Shape):
        shape = ShapeStruct(len(thing), (c_int64 * max(len(thing), 1))(*thing))
        keep.append(shape)
        return Value(SHAPE, _Content(shape=ctypes.pointer(shape)))
    if isinstance(thing, (tuple, list)):
        made = TupleStruct(len(thing), (Value * max(len(thing), 1))(*[to_value(field, keep) for field in thing]))
        keep.append(made)
        return Value(TUPLE, _Content(tuple=ctypes.pointer(made)))
    keep.append(thing)
    return Value(FUNCTION if isinstance(thing, Function) else OBJECT, _Content(handle=thing.handle))


def _numpy_dtype(dtype):
    kind = {code: kind for kind, code in _CODES.items()}[dtype.code]
    return np.dtype(bool if kind == "b" else f"{kind}{dtype.bits // 8}")


def view(managed):
    """An array over the tensor's bytes."""
    tensor = managed.contents.tensor
    shape, dtype = tuple(tensor.shape[:tensor.ndim]), _numpy_dtype(tensor.dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(tensor.data + tensor.byte_offset), dtype).reshape(shape)


def from_value(value, owned=True):
    """owned: the value was given away: tensors are copied, handles are kept, and the caller releases nothing else."""
    if value.kind == NIL:
        return None
    if value.kind in (BOOL, INT):
        return bool(value.integer) if value.kind == BOOL else value.integer
    if value.kind == FLOAT:
        return value.real
    if value.kind == TENSOR:
        return view(value.tensor).copy() if owned else view(value.tensor)
    if value.kind == STRING:
        return value.text.decode()
    if value.kind == SHAPE:
        return Shape(value.shape.contents.dims[:value.shape.contents.rank])
    if value.kind == DTYPE:
        return _numpy_dtype(value.dtype)
    if value.kind == TUPLE:
        return tuple(from_value(value.tuple.contents.fields[i], owned) for i in range(value.tuple.contents.count))
    made = (Function if value.kind == FUNCTION else Object)(value.handle)
    if owned:
        value.kind = NIL  # the handle is the caller's
    return made


_library = ctypes.CDLL(LIBRARY)
_library.layover_error_message.restype = c_char_p
_library.layover_error_code.restype = c_char_p
_library.layover_function_name.restype = c_char_p


def call(name, *arguments):
    function = getattr(_library, name)
    function.restype = c_void_p
    error = function(*arguments)
    if error:
        handle = c_void_p(error)
        failure = LibraryError(_library.layover_error_code(handle).decode(), _library.layover_error_message(handle).decode())
        _library.layover_error_free(handle)
        raise failure


def _take(value):
    made = from_value(value)
    _library.layover_value_release(byref(value))
    return made


def _arguments(things, keep):
    return (Value * max(len(things), 1))(*[to_value(thing, keep) for thing in things])


def value_of(name, *arguments):
    """The value that a function of the library gives."""
    value = Value()
    call(name, *arguments, byref(value))
    return _take(value)


def handle_of(name, *arguments):
    made = c_void_p()
    call(name, *arguments, byref(made))
    return made


_hosts = []  # the library has pointers into them


class Host:
    """A Python function as a host function; released counts the calls of its release."""

    def __init__(self, function):
        self.function, self.released, self.kept, self.error = function, 0, None, None
        self.pointer, self.release = PACKED(self._call), RELEASE(self._release)
        _hosts.append(self)

    def _call(self, _context, arguments, count, result):
        try:
            answer = self.function(*[from_value(arguments[i], owned=False) for i in range(count)])
        except Exception as error:  # the text goes to the caller
            self.error = ctypes.create_string_buffer(f"{type(error).__name__}: {error}".encode())
            return ctypes.addressof(self.error)
        self.kept = []
        result[0] = to_value(answer, self.kept)
        return None

    def _release(self, _context):
        self.released += 1


class Object:
    def __init__(self, handle):
        self.handle = handle

    def release(self):
        value = Value(OBJECT, _Content(handle=self.handle))
        _library.layover_value_release(byref(value))


class Function:
    def __init__(self, handle):
        self.handle = handle if isinstance(handle, int) else handle.value

    def name(self):
        return _library.layover_function_name(c_void_p(self.handle)).decode()

    def __call__(self, *things):
        keep = []
        return value_of("layover_function_call", c_void_p(self.handle), _arguments(things, keep), c_uint32(len(things)))

    def release(self):
        _library.layover_function_release(c_void_p(self.handle))


def register(name, function, arity=-1, replace=False):
    host = Host(function)
    call("layover_function_register", name.encode(), c_int32(arity), host.pointer, None, host.release, int(replace))
    return host


def unregister(name):
    call("layover_function_unregister", name.encode())


def find(name):
    return Function(handle_of("layover_function_find", name.encode()))


def names():
    return value_of("layover_function_list")


class Module:
    def __init__(self, path=None, device="cpu"):
        if path:
            self.handle = handle_of("layover_module_load", str(path).encode(), device.encode())
        else:
            self.handle = handle_of("layover_module_create")

    def close(self):
        _library.layover_module_release(self.handle)

    def add(self, name, function, arity=-1):
        host = Host(function)
        call("layover_module_add_function", self.handle, name.encode(), c_int32(arity), host.pointer, None, host.release)
        return host

    def imports(self, other):
        call("layover_module_import", self.handle, other.handle)

    def allow_native(self, preload):
        call("layover_module_allow_native", self.handle, preload and preload.encode())

    def __getitem__(self, name):
        return Function(handle_of("layover_module_get_function", self.handle, name.encode()))

    def names(self):
        return value_of("layover_module_list_functions", self.handle)

    def arity(self, function):
        arity = c_int32()
        call("layover_module_get_function_arity", self.handle, function.encode(), byref(arity))
        return arity.value

    def parameter(self, function, index):
        name = c_char_p()
        call("layover_module_get_function_param_name", self.handle, function.encode(), c_uint32(index), byref(name))
        return name.value.decode()

    def text(self, which):
        return value_of(f"layover_module_{which}", self.handle)

    def model(self):
        return handle_of("layover_module_get_model", self.handle)


class Port(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_char_p), ("rank", c_int32), ("dims", POINTER(c_int64)),
                ("symbols", POINTER(c_char_p)), ("is_list", c_int), ("is_optional", c_int)]

    def read(self):
        """(name of the element type, shape or None)"""
        return self.dtype.decode(), None if self.rank < 0 else tuple(self.dims[:self.rank])


class Ports:
    """What a model says of a function's inputs and outputs."""

    def __init__(self, model, function="main"):
        self.model, self.function = model, function.encode()
        counts = c_uint32(), c_uint32()
        call("layover_model_function", model, self.function, byref(counts[0]), byref(counts[1]))
        self.input_count, self.output_count = (count.value for count in counts)

    def type(self, which, index):
        """which: input or output."""
        found = Port()
        call(f"layover_model_{which}", self.model, self.function, c_uint32(index), byref(found))
        return found.read()

    def find_output(self, name):
        found = c_uint32()
        call("layover_model_find_output", self.model, self.function, name.encode(), byref(found))
        return found.value


class Execution:
    """One with values of any kind; function None: the stateful interface."""

    def __init__(self, model, function=None, things=()):
        keep, self.model = [], model
        if function:
            self.handle = handle_of("layover_execution_start_values", model, function.encode(), _arguments(things, keep),
                                    c_uint32(len(things)))
        else:
            self.handle = handle_of("layover_execution_create", model)

    def run(self, instructions=0):
        """True when it is finished."""
        state = c_int()
        call("layover_execution_run", self.handle, c_uint64(instructions), byref(state))
        return state.value == 0

    def through(self, path):
        """Goes on from a checkpoint of itself."""
        call("layover_execution_checkpoint", self.handle, str(path).encode())
        self.free()
        self.handle = handle_of("layover_execution_resume", self.model, str(path).encode())

    def set_input(self, function, parameter, thing):
        keep = []
        call("layover_execution_set_input", self.handle, function.encode(), c_uint32(parameter), _arguments([thing], keep))

    def find_input(self, function, name):
        found = c_uint32()
        call("layover_execution_find_input", self.handle, function.encode(), name.encode(), byref(found))
        return found.value

    def load_params(self, function, data):
        """How many inputs were set."""
        count = c_uint32()
        call("layover_execution_load_params", self.handle, function.encode(), data, ctypes.c_size_t(len(data)), byref(count))
        return count.value

    def invoke(self, function):
        call("layover_execution_invoke_stateful", self.handle, function.encode())

    def save(self, name, function, *things):
        keep = []
        call("layover_execution_save_function", self.handle, name.encode(), function.encode(), _arguments(things, keep),
             c_uint32(len(things)))

    def invoke_saved(self, name):
        call("layover_execution_invoke_saved", self.handle, name.encode())

    def output(self, *path):
        return value_of("layover_execution_get_output", self.handle, (c_uint32 * max(len(path), 1))(*path), c_uint32(len(path)))

    def output_tensor(self, index):
        managed = POINTER(Managed)()
        call("layover_execution_output", self.handle, c_uint32(index), byref(managed))
        array = view(managed).copy()
        managed.contents.deleter(managed)
        return array

    def free(self):
        _library.layover_execution_free(self.handle)
