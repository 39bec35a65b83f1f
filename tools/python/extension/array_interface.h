#pragma once
/* numpy's array interface for C: what the attribute __array_struct__ holds
 * (https://numpy.org/doc/stable/reference/arrays.interface.html). It needs none of numpy's
 * headers. Callers: tensor.c gives one, input.c takes them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct ArrayInterface {
    int two; /* 2: the version */
    int nd;
    char typekind; /* 'b', 'i', 'u', 'f', 'c', 'V', 'S', 'U', 'O' */
    int itemsize;  /* bytes */
    int flags;
    Py_ssize_t *shape;
    Py_ssize_t *strides; /* in bytes */
    void *data;
    PyObject *descr;
} ArrayInterface;

enum {
    ARRAY_C_CONTIGUOUS = 0x1,
    ARRAY_ALIGNED = 0x100,
    ARRAY_NATIVE_ORDER = 0x200,
    ARRAY_WRITEABLE = 0x400,
};

/* DLPack's code for bool, which headers before version 0.8 lack. */
enum { DLPACK_BOOL = 6 };
