"""make_numpy_files.py FOLDER: what numpy itself makes of every kind of array that we read. The files are committed;
this says how they came about (numpy 2.4)."""
import os
import sys

import numpy as np

KINDS = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def main(folder):
    random = np.random.default_rng(1)
    arrays = {}
    for kind in KINDS:
        values = random.integers(0, 200, (2, 3, 4)) if kind[0] == "u" else random.standard_normal((2, 3, 4)) * 50
        plain = values.astype(kind)
        swapped = plain.astype(">" + kind)
        arrays |= {kind: plain, "big_" + kind: swapped, "fortran_" + kind: np.asfortranarray(plain),
                   "big_fortran_" + kind: np.asfortranarray(swapped)}
    text = np.array([["a", "üñ€😀", ""], ["xyz", "ß", "q"]])
    arrays |= {
        "bool": random.integers(0, 2, (5,)).astype(bool),
        "scalar": np.array(3.5, "f4"),
        "zero": np.zeros((3, 0, 2), "i8"),
        "text": text,
        "big_text": text.astype(">" + text.dtype.str[1:]),
        "fortran_text": np.asfortranarray(text),
        "bytes": np.array([b"ab", "cé".encode()]),
        "näme/with slash": np.arange(3),
        "bf": np.array([0x3F80, 0x4000], "u2"), "bf.dtype": np.array("bfloat16"),
        "n4": np.arange(5, dtype="u1"), "n4.dtype": np.array(["uint4"]),
    }
    np.savez(os.path.join(folder, "numpy_stored.npz"), **arrays)
    np.savez_compressed(os.path.join(folder, "numpy_deflated.npz"), **arrays)


main(sys.argv[1])
