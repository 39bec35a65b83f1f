"""Arrays as .npz files: element types that npy lacks are raw unsigned integers with an array NAME.dtype beside them."""
import io
import zipfile

import numpy as np

from layover._arrays import ML_DTYPES, NAMES, with_type


def write(arrays) -> bytes:
    """arrays: {name: array, or anything that numpy makes one of}."""
    file = io.BytesIO()
    ready = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        stored = NAMES.get(array.dtype.name)
        if stored is not None:
            ready[name], ready[name + ".dtype"] = array.view(f"u{array.dtype.itemsize}"), np.array(stored)
        else:
            ready[name] = array.astype(str) if array.dtype.kind == "O" else array
    with zipfile.ZipFile(file, "w") as members:  # as numpy.savez, whose names must not be its own arguments
        for name, array in ready.items():
            with members.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return file.getvalue()


def read(data: bytes):
    """{name: array}"""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name in [name for name in arrays if name + ".dtype" in arrays]:
        stored = str(arrays.pop(name + ".dtype"))
        if stored in ML_DTYPES:
            arrays[name] = with_type(arrays[name], stored)
    return arrays
