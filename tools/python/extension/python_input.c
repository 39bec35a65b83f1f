/* Python objects as values of layover.h. */
#include <stdint.h>
#include <string.h>

#include "base/allocator.h"
#include "tools/python/extension/array_interface.h"
#include "tools/python/extension/python_extension.h"

enum { DEPTH_MAX = 64 }; /* of nested tuples, as in layover.h */

void input_free(LayoverValue *values, uint32_t count, bool taken) {
    for (uint32_t i = 0; i < count; i++) {
        LayoverValue *value = &values[i];
        if (value->kind == LAYOVER_TENSOR && !taken && value->tensor->deleter)
            value->tensor->deleter(value->tensor);
        if (value->kind == LAYOVER_TUPLE) {
            input_free(value->tuple->fields, value->tuple->count, taken);
            PyMem_Free((void *)(uintptr_t)value->tuple);
        }
        if (value->kind == LAYOVER_TEXTS) PyMem_Free((void *)(uintptr_t)value->texts);
        if (value->kind == LAYOVER_STRING) PyMem_Free((void *)(uintptr_t)value->text);
    }
}

/* ---- arrays of numpy and of others with its interface ---- */

/* Keeps the capsule, which keeps the array. */
typedef struct ArrayInput {
    DLManagedTensor managed;
    PyObject *capsule;
    int64_t dims[];
} ArrayInput;

/* Layover releases inputs on any thread, also after the interpreter ended. */
static void release_array(DLManagedTensor *managed) {
    ArrayInput *input = managed->manager_ctx;
    if (Py_IsInitialized()) {
        const PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(input->capsule);
        PyGILState_Release(gil);
    }
    memory_free(input);
}

/* False: no element type of Layover's, or bytes in another order. */
static bool find_type(const ArrayInterface *array, DLDataType *out) {
    static const struct {
        char kind;
        uint8_t code;
    } codes[] = {
        {'f', kDLFloat}, {'i', kDLInt}, {'u', kDLUInt}, {'b', DLPACK_BOOL}, {'c', kDLComplex}};
    if (!(array->flags & ARRAY_NATIVE_ORDER) || !(array->flags & ARRAY_ALIGNED)) return false;
    if (array->itemsize < 1 || array->itemsize > 16) return false;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].kind == array->typekind) {
            *out = (DLDataType){codes[i].code, (uint8_t)(array->itemsize * 8), 1};
            return *layover_dtype_name(*out) != 0;
        }
    return false;
}

/* Strides that are whole elements. */
static bool copy_dims(const ArrayInterface *array, int64_t *dims) {
    for (int i = 0; i < array->nd; i++) {
        dims[i] = array->shape[i];
        if (array->strides[i] % array->itemsize != 0) return false;
        dims[array->nd + i] = array->strides[i] / array->itemsize;
    }
    return true;
}

/* Takes the capsule. *out_fits false: a copy by numpy is needed. */
static bool take_interface(PyObject *owned_capsule, bool *out_fits, LayoverValue *out) {
    DLDataType type;
    const ArrayInterface *array = PyCapsule_GetPointer(owned_capsule, NULL);
    *out_fits = array && array->two == 2 && array->nd >= 0 && find_type(array, &type);
    ArrayInput *input = NULL;
    if (*out_fits) {
        input = extension_alloc(sizeof *input + 2 * (size_t)array->nd * sizeof(int64_t));
    }
    if (input) *out_fits = copy_dims(array, input->dims);
    if (!input || !*out_fits) {
        memory_free(input);
        Py_DECREF(owned_capsule);
        return !PyErr_Occurred();
    }
    input->capsule = owned_capsule;
    input->managed = (DLManagedTensor){
        .dl_tensor = {.data = array->data,
            .device = {kDLCPU, 0},
            .ndim = array->nd,
            .dtype = type,
            .shape = input->dims,
            .strides = array->flags & ARRAY_C_CONTIGUOUS ? NULL : input->dims + array->nd},
        .manager_ctx = input,
        .deleter = release_array,
    };
    *out = (LayoverValue){LAYOVER_TENSOR, {.tensor = &input->managed}};
    return true;
}

/* ---- DLPack ---- */

/* The producer is asked for its device first: asked for its tensor, it may copy or wait. */
static bool check_device(PyObject *object) {
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    PyObject *type = device ? PySequence_GetItem(device, 0) : NULL;
    const long number = type ? PyLong_AsLong(type) : -1;
    Py_XDECREF(type);
    Py_XDECREF(device);
    if (PyErr_Occurred()) return false;
    if (number == kDLCPU || number == kDLCUDAHost) return true;
    PyErr_Format(PyExc_ValueError,
        "the tensor is on a device of DLPack's type %ld: Layover takes tensors in host memory; "
        "move it there first, for example with .cpu()",
        number);
    return false;
}

static bool take_dlpack(PyObject *object, LayoverValue *out) {
    if (!check_device(object)) return false;
    PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
    if (!capsule) return false;
    DLManagedTensor *tensor = PyCapsule_GetPointer(capsule, "dltensor");
    const bool taken = tensor && PyCapsule_SetName(capsule, "used_dltensor") == 0;
    Py_DECREF(capsule);
    if (taken) *out = (LayoverValue){LAYOVER_TENSOR, {.tensor = tensor}};
    return taken;
}

/* ---- texts ---- */

/* Texts are copied into one block: the struct, the items, the dimensions, the bytes. */
static LayoverTexts *make_texts(size_t rank, size_t count, size_t bytes) {
    const size_t size = sizeof(LayoverTexts) + count * sizeof(LayoverText) + rank * sizeof(int64_t);
    LayoverTexts *texts = PyMem_Malloc(size + bytes);
    if (!texts) (void)PyErr_NoMemory();
    return texts;
}

static bool encode(PyObject *texts, Py_ssize_t count, PyObject **out_encoded, size_t *out_bytes) {
    PyObject *encoded = PyList_New(count);
    *out_bytes = 0;
    for (Py_ssize_t i = 0; encoded && i < count; i++) {
        PyObject *text = PyList_GetItem(texts, i);
        PyObject *bytes = NULL;
        if (text && PyUnicode_Check(text))
            bytes = PyUnicode_AsUTF8String(text);
        else if (text && PyBytes_Check(text))
            Py_INCREF(bytes = text);
        else if (text)
            PyErr_Format(PyExc_TypeError, "element %zd is no text: %R", i, text);
        if (bytes) *out_bytes += (size_t)PyBytes_Size(bytes);
        if (!bytes || PyList_SetItem(encoded, i, bytes) < 0) Py_CLEAR(encoded);
    }
    *out_encoded = encoded;
    return encoded != NULL;
}

/* Fills a block of texts; dims: a tuple. */
static bool fill_texts(PyObject *dims, PyObject *encoded, Py_ssize_t count, LayoverTexts *texts) {
    const Py_ssize_t rank = PyTuple_Size(dims);
    LayoverText *items = (LayoverText *)(texts + 1);
    int64_t *shape = (int64_t *)(items + count);
    char *to = (char *)(shape + rank);
    for (Py_ssize_t i = 0; i < rank; i++) {
        shape[i] = PyLong_AsLongLong(PyTuple_GetItem(dims, i));
        if (shape[i] < 0) return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = PyList_GetItem(encoded, i);
        const size_t size = (size_t)PyBytes_Size(bytes);
        memcpy(to, PyBytes_AsString(bytes), size);
        items[i] = (LayoverText){to, size};
        to += size;
    }
    *texts = (LayoverTexts){{(uint32_t)rank, shape}, items};
    return true;
}

/* pair: (the dimensions, the elements as a list), as to_array gives texts. */
static bool take_texts(PyObject *pair, LayoverValue *out) {
    PyObject *dims = PyTuple_GetItem(pair, 0), *list = PyTuple_GetItem(pair, 1), *encoded = NULL;
    const Py_ssize_t count = PyList_Size(list);
    size_t bytes;
    if (!encode(list, count, &encoded, &bytes)) return false;
    LayoverTexts *texts = make_texts((size_t)PyTuple_Size(dims), (size_t)count, bytes);
    const bool filled = texts && fill_texts(dims, encoded, count, texts);
    Py_DECREF(encoded);
    if (filled)
        *out = (LayoverValue){LAYOVER_TEXTS, {.texts = texts}};
    else
        PyMem_Free(texts);
    return filled;
}

static bool take_string(PyObject *object, LayoverValue *out) {
    PyObject *bytes = PyUnicode_AsUTF8String(object);
    if (!bytes) return false;
    const size_t size = (size_t)PyBytes_Size(bytes);
    char *copy = PyMem_Malloc(size + 1);
    if (copy) {
        memcpy(copy, PyBytes_AsString(bytes), size + 1);
        *out = (LayoverValue){LAYOVER_STRING, {.text = copy}};
    } else
        (void)PyErr_NoMemory();
    Py_DECREF(bytes);
    return copy != NULL;
}

/* ---- everything else ---- */

/* array: an object with numpy's interface. dtype: NULL, or the name of its element type where
 * numpy has none. */
static bool take_made(PyObject *array, PyObject *dtype, LayoverValue *out) {
    bool fits;
    PyObject *capsule = PyObject_GetAttrString(array, "__array_struct__");
    if (!capsule || !take_interface(capsule, &fits, out)) return false;
    if (!fits) {
        PyErr_Format(PyExc_TypeError, "an array of this element type cannot be given: %R", array);
        return false;
    }
    if (!dtype) return true;
    PyObject *name = PyUnicode_AsUTF8String(dtype);
    DLTensor *tensor = &out->tensor->dl_tensor;
    LayoverError *error = name ? layover_dtype_find(PyBytes_AsString(name), &tensor->dtype) : NULL;
    if (!error && tensor->dtype.bits < 8) tensor->strides = NULL; /* the elements are packed */
    if (error) (void)raise_error(error);
    const bool found = name && !error;
    Py_XDECREF(name);
    if (!found) input_free(out, 1, false);
    return found;
}

/* Lists, numbers, texts and arrays that need a copy: layover/_arrays.py makes an array. */
static bool take_converted(PyObject *object, const char *dtype, LayoverValue *out) {
    if (!load_arrays()) return false;
    PyObject *made = PyObject_CallFunction(extension.to_array, "Os", object, dtype);
    if (!made) return false;
    bool taken;
    if (!PyTuple_Check(made))
        taken = take_made(made, NULL, out);
    else if (PyUnicode_Check(PyTuple_GetItem(made, 1)))
        taken = take_made(PyTuple_GetItem(made, 0), PyTuple_GetItem(made, 1), out);
    else
        taken = take_texts(made, out);
    Py_DECREF(made);
    return taken;
}

static bool take(PyObject *object, const LayoverPort *port, uint32_t depth, LayoverValue *out);

static bool take_fields(
    PyObject *sequence, const LayoverPort *port, uint32_t depth, LayoverValue *out) {
    const Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0) return false;
    if (depth >= DEPTH_MAX || count > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "tuples are at most %d deep", DEPTH_MAX);
        return false;
    }
    LayoverTuple *tuple = PyMem_Malloc(sizeof *tuple + (size_t)count * sizeof(LayoverValue));
    if (!tuple) {
        (void)PyErr_NoMemory();
        return false;
    }
    *tuple = (LayoverTuple){0, (LayoverValue *)(tuple + 1)};
    *out = (LayoverValue){LAYOVER_TUPLE, {.tuple = tuple}};
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool taken = item && take(item, port, depth + 1, &tuple->fields[i]);
        Py_XDECREF(item);
        if (!taken) {
            input_free(out, 1, false);
            return false;
        }
        tuple->count++;
    }
    return true;
}

static bool take_number(PyObject *object, LayoverValue *out) {
    if (PyBool_Check(object))
        *out = (LayoverValue){LAYOVER_BOOL, {.integer = object == Py_True}};
    else if (PyLong_Check(object))
        *out = (LayoverValue){LAYOVER_INT, {.integer = PyLong_AsLongLong(object)}};
    else
        *out = (LayoverValue){LAYOVER_FLOAT, {.real = PyFloat_AsDouble(object)}};
    return !PyErr_Occurred();
}

static bool has_type(const LayoverPort *port) { return port && *port->dtype; }

/* For a place that takes any value: Python's own types stay what they are. */
static bool take_plain(PyObject *object, uint32_t depth, bool *out_plain, LayoverValue *out) {
    *out_plain = true;
    if (PyBool_Check(object) || PyLong_Check(object) || PyFloat_Check(object))
        return take_number(object, out);
    if (PyUnicode_Check(object)) return take_string(object, out);
    if (PyTuple_Check(object) || PyList_Check(object)) return take_fields(object, NULL, depth, out);
    *out_plain = false;
    return true;
}

static bool take_array(PyObject *object, const LayoverPort *port, LayoverValue *out) {
    bool fits = false;
    PyObject *capsule = PyObject_GetAttrString(object, "__array_struct__");
    if (capsule) {
        if (!take_interface(capsule, &fits, out)) return false;
        if (fits) return true;
    } else {
        PyErr_Clear();
        if (PyObject_HasAttrString(object, "__dlpack__")) return take_dlpack(object, out);
    }
    return take_converted(object, port ? port->dtype : "", out);
}

static bool take(PyObject *object, const LayoverPort *port, uint32_t depth, LayoverValue *out) {
    bool plain = false;
    *out = (LayoverValue){LAYOVER_NIL, {0}};
    if (object == Py_None || object_take(object, out)) return true;
    if (port && port->is_list && depth == 0 && (PyList_Check(object) || PyTuple_Check(object)))
        return take_fields(object, port, depth, out);
    if (!has_type(port)) {
        if (!take_plain(object, depth, &plain, out)) return false;
        if (plain) return true;
    }
    return take_array(object, port, out);
}

bool input_take(PyObject *object, const LayoverPort *port, LayoverValue *out) {
    return take(object, port, 0, out);
}
