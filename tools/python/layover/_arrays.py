"""Arrays of numpy on their way to the C part and back. The C part imports this when the first array crosses."""
import numpy as np

asarray = np.asarray  # of the C part

TEXT_KINDS = "USOT"  # numpy's kinds of arrays that can hold texts: fixed width, bytes, objects, and its StringDType
# Types that numpy itself lacks, by Layover's names, in the package ml_dtypes.
ML_DTYPES = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
             "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz", "float8e8m0": "float8_e8m0fnu"}


NAMES = {numpy_name: name for name, numpy_name in ML_DTYPES.items()}


def to_array(value, dtype):
    """A compact array for a place of that dtype ("": any).

    A pair (shape, list) where it holds texts; a pair (unsigned integers, dtype) for the types that numpy lacks. Numbers and
    lists take the place's type; arrays keep theirs, so that a wrong one is an error and not a rounding.
    """
    plain = isinstance(value, (bool, int, float, complex, list, tuple))
    if plain and dtype in ML_DTYPES:
        value = np.asarray(value, dtype=_ml_dtype(dtype))
    array = np.asarray(value, dtype=np.dtype(dtype) if plain and dtype not in ("", "string", *ML_DTYPES) else None)
    if array.dtype.kind in TEXT_KINDS:
        return array.shape, array.ravel().tolist()
    array = np.require(array, array.dtype.newbyteorder("="), ("C_CONTIGUOUS", "ALIGNED"))
    name = NAMES.get(array.dtype.name)
    return array if name is None else (array.view(f"u{array.dtype.itemsize}"), name)


def _ml_dtype(name):
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"numpy has no {name}: install the package ml_dtypes, or give a tensor through DLPack") from None
    return getattr(ml_dtypes, ML_DTYPES[name])


def to_texts(texts, shape):
    """An array of str objects."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def to_numpy(tensor):
    """An array over a Tensor's bytes. The Tensor itself, where numpy has no such type and ml_dtypes is not there."""
    name = tensor.dtype
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
