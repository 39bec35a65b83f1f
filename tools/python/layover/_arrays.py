"""Arrays of numpy on their way to the C part and back. The C part imports this when the first array crosses."""
import numpy as np

asarray = np.asarray  # of the C part

TEXT_KINDS = "USOT"  # numpy's kinds of arrays that can hold texts: fixed width, bytes, objects, and its StringDType
# Types that numpy itself lacks, by Layover's names, in the package ml_dtypes.
ML_DTYPES = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
             "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu"}

# Types of less than a byte, too: numpy has an element in a byte, Layover packs them.
SUB_BYTE = {"int4": ("int4", 4), "uint4": ("uint4", 4), "int2": ("int2", 2), "uint2": ("uint2", 2),
            "float4e2m1": ("float4_e2m1fn", 4)}
SUB_BYTE_NAMES = {numpy_name: (name, bits) for name, (numpy_name, bits) in SUB_BYTE.items()}

NAMES = {numpy_name: name for name, numpy_name in ML_DTYPES.items()}


def to_array(value, dtype):
    """A compact array for a place of that dtype ("": any).

    A pair (shape, list) where it holds texts; a pair (unsigned integers, dtype) for the types that numpy lacks. Numbers and
    lists take the place's type; arrays keep theirs, so that a wrong one is an error and not a rounding.
    """
    plain = isinstance(value, (bool, int, float, complex, list, tuple))
    if plain and (dtype in ML_DTYPES or dtype in SUB_BYTE):
        value = np.asarray(value, dtype=_ml_dtype(dtype))
    array = np.asarray(value, dtype=np.dtype(dtype) if plain and dtype not in ("", "string", *ML_DTYPES, *SUB_BYTE) else None)
    if array.dtype.kind in TEXT_KINDS:
        return array.shape, array.ravel().tolist()
    array = np.require(array, array.dtype.newbyteorder("="), ("C_CONTIGUOUS", "ALIGNED"))
    if array.dtype.name in SUB_BYTE_NAMES:
        name, bits = SUB_BYTE_NAMES[array.dtype.name]
        return _pack(array, bits), name
    name = NAMES.get(array.dtype.name)
    return array if name is None else (array.view(f"u{array.dtype.itemsize}"), name)


def _ml_dtype(name):
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"numpy has no {name}: install the package ml_dtypes, or give a tensor through DLPack") from None
    return getattr(ml_dtypes, ML_DTYPES[name] if name in ML_DTYPES else SUB_BYTE[name][0])


def _pack(array, bits):
    """Packed elements, the first in the lowest bits, as a view that has the elements' shape and no step."""
    each = 8 // bits
    raw = np.zeros(-(-array.size // each) * each, "u1")
    raw[:array.size] = array.view("u1").ravel() & (1 << bits) - 1
    packed = np.bitwise_or.reduce(raw.reshape(-1, each) << np.arange(0, 8, bits, dtype="u1"), axis=1, dtype="u1")
    packed = packed if packed.size else np.zeros(1, "u1")
    return np.lib.stride_tricks.as_strided(packed, array.shape, (0,) * array.ndim)


def _unpack(tensor, dtype, bits):
    packed = np.frombuffer(tensor._packed(), "u1")
    raw = packed[:, None] >> np.arange(0, 8, bits, dtype="u1") & (1 << bits) - 1
    return raw.ravel()[:int(np.prod(tensor.shape, dtype=int))].reshape(tensor.shape).view(dtype)


def to_texts(texts, shape):
    """An array of str objects."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def to_numpy(tensor):
    """An array over a Tensor's bytes. The Tensor itself, where numpy has no such type and ml_dtypes is not there."""
    name = tensor.dtype
    if name in SUB_BYTE:
        try:
            return _unpack(tensor, _ml_dtype(name), SUB_BYTE[name][1])
        except TypeError:
            return tensor
    if name not in ML_DTYPES:
        try:
            return np.asarray(tensor)
        except TypeError:
            return tensor
    return with_type(tensor, name)


def with_type(raw, name):
    """Unsigned integers, or a Tensor, as an array of a type of ml_dtypes; unchanged where that package is not there."""
    try:
        return np.asarray(raw).view(_ml_dtype(name))
    except TypeError:
        return raw
