/* layover.Tensor: a tensor in host memory. Other packages read it without a copy, through DLPack or
 * numpy's array interface (https://numpy.org/doc/stable/reference/arrays.interface.html). */
#include "base/allocator.h"
#include "tools/python/extension/array_interface.h"
#include "tools/python/extension/python_extension.h"

typedef struct TensorObject {
    PyObject_HEAD DLManagedTensor *tensor;
} TensorObject;

static const DLTensor *of(PyObject *object) {
    return &SELF(TensorObject, object)->tensor->dl_tensor;
}

PyObject *tensor_wrap(DLManagedTensor *owned_tensor) {
    TensorObject *self = PyObject_New(TensorObject, extension.tensor);
    if (!self) {
        owned_tensor->deleter(owned_tensor);
        return NULL;
    }
    self->tensor = owned_tensor;
    return (PyObject *)self;
}

static void dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    DLManagedTensor *tensor = SELF(TensorObject, object)->tensor;
    tensor->deleter(tensor);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *get_dtype(PyObject *object, void *closure) {
    (void)closure;
    return PyUnicode_FromString(layover_dtype_name(of(object)->dtype));
}

static PyObject *get_shape(PyObject *object, void *closure) {
    (void)closure;
    const DLTensor *tensor = of(object);
    PyObject *shape = PyTuple_New(tensor->ndim);
    for (int i = 0; shape && i < tensor->ndim; i++) {
        PyObject *dim = PyLong_FromLongLong(tensor->shape[i]);
        if (!dim || PyTuple_SetItem(shape, i, dim) < 0) Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *repr(PyObject *object) {
    PyObject *shape = get_shape(object, NULL);
    if (!shape) return NULL;
    PyObject *text = PyUnicode_FromFormat(
        "layover.Tensor(%s, %S)", layover_dtype_name(of(object)->dtype), shape);
    Py_DECREF(shape);
    return text;
}

/* ---- numpy ---- */

/* A view keeps the object. */
typedef struct ArrayView {
    ArrayInterface array;
    PyObject *owner;
} ArrayView;

static void free_view(PyObject *capsule) {
    ArrayView *view = PyCapsule_GetPointer(capsule, NULL);
    Py_DECREF(view->owner);
    PyMem_Free(view);
}

char numpy_kind(DLDataType dtype) {
    if (dtype.lanes != 1 || dtype.bits < 8) return 0;
    switch (dtype.code) {
    case kDLInt:
        return 'i';
    case kDLUInt:
        return 'u';
    case kDLFloat:
        return 'f';
    case kDLComplex:
        return 'c';
    case DLPACK_BOOL:
        return 'b';
    default:
        return 0;
    }
}

/* Types that numpy lacks are given as unsigned integers; to_numpy gives them their names. */
static PyObject *get_array_struct(PyObject *object, void *closure) {
    (void)closure;
    const DLTensor *tensor = of(object);
    const char kind = numpy_kind(tensor->dtype);
    if (tensor->dtype.bits < 8) {
        PyErr_Format(
            PyExc_AttributeError, "numpy has no arrays of %s", layover_dtype_name(tensor->dtype));
        return NULL;
    }
    const size_t rank = (size_t)tensor->ndim;
    const int itemsize = tensor->dtype.bits / 8;
    ArrayView *view = PyMem_Malloc(sizeof *view + 2 * rank * sizeof(Py_ssize_t));
    if (!view) return PyErr_NoMemory();
    Py_ssize_t *dims = (Py_ssize_t *)(view + 1);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = (Py_ssize_t)tensor->shape[i];
        dims[rank + i] = (Py_ssize_t)tensor->strides[i] * itemsize;
    }
    *view = (ArrayView){
        .array = {.two = 2,
            .nd = tensor->ndim,
            .typekind = kind ? kind : 'u',
            .itemsize = itemsize,
            .flags = ARRAY_C_CONTIGUOUS | ARRAY_ALIGNED | ARRAY_NATIVE_ORDER | ARRAY_WRITEABLE,
            .shape = dims,
            .strides = dims + rank,
            .data = (char *)tensor->data + tensor->byte_offset},
        .owner = object,
    };
    PyObject *capsule = PyCapsule_New(view, NULL, free_view);
    if (!capsule) {
        PyMem_Free(view);
        return NULL;
    }
    Py_INCREF(object);
    return capsule;
}

/* ---- DLPack ---- */

static void release_shared(DLManagedTensor *shared) {
    const PyGILState_STATE gil = PyGILState_Ensure(); /* consumers release on any thread */
    Py_DECREF((PyObject *)shared->manager_ctx);
    PyGILState_Release(gil);
    memory_free(shared);
}

/* A consumer renames the capsule; until then the tensor is the capsule's. */
static void free_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    DLManagedTensor *shared = PyCapsule_GetPointer(capsule, "dltensor");
    shared->deleter(shared);
}

/* Keyword arguments of later versions of the protocol ask for what this tensor is anyway: a tensor
 * of the host, without a stream. A consumer that wants a copy makes it. */
static PyObject *dlpack(PyObject *object, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    DLManagedTensor *shared = extension_alloc(sizeof *shared);
    if (!shared) return NULL;
    *shared = (DLManagedTensor){*of(object), object, release_shared};
    PyObject *capsule = PyCapsule_New(shared, "dltensor", free_capsule);
    if (!capsule) {
        memory_free(shared);
        return NULL;
    }
    Py_INCREF(object);
    return capsule;
}

static PyObject *dlpack_device(PyObject *object, PyObject *none) {
    (void)object, (void)none;
    return Py_BuildValue("(ii)", (int)kDLCPU, 0);
}

/* The bytes of elements that are smaller than one, packed as DLPack packs them. */
static PyObject *packed(PyObject *object, PyObject *none) {
    (void)none;
    const DLTensor *tensor = of(object);
    size_t bits = (size_t)tensor->dtype.bits * tensor->dtype.lanes;
    for (int i = 0; i < tensor->ndim; i++) bits *= (size_t)tensor->shape[i];
    return PyBytes_FromStringAndSize(
        (const char *)tensor->data + tensor->byte_offset, (Py_ssize_t)((bits + 7) / 8));
}

static PyObject *numpy(PyObject *object, PyObject *none) {
    (void)none;
    if (!load_arrays()) return NULL;
    return PyObject_CallFunctionObjArgs(extension.to_numpy, object, NULL);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void *)dlpack, METH_VARARGS | METH_KEYWORDS,
        "__dlpack__(**options)\n--\n\nA DLPack capsule over the same bytes."},
    {"__dlpack_device__", dlpack_device, METH_NOARGS,
        "__dlpack_device__()\n--\n\nThe device: (1, 0), which is the host."},
    {"numpy", numpy, METH_NOARGS,
        "numpy()\n--\n\nA numpy array over the same bytes. bfloat16, the 8-bit floats, and types "
        "of less "
        "than a byte, which are copied, need the package ml_dtypes."},
    {"_packed", packed, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"dtype", get_dtype, NULL, "The name of the element type, such as 'float32'.", NULL},
    {"shape", get_shape, NULL, "The dimensions, a tuple.", NULL},
    {"__array_struct__", get_array_struct, NULL, "numpy's array interface.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char documentation[] =
    "A tensor in host memory, for types that numpy lacks. It has DLPack's methods.";

static PyType_Slot slots[] = {
    {Py_tp_doc, documentation},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

PyType_Spec tensor_type_spec = {
    .name = "layover.Tensor",
    .basicsize = sizeof(TensorObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
