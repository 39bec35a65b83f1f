/* Values of layover.h as Python objects. */
#include "tools/python/extension/python_extension.h"

static PyObject *give_tensor(LayoverValue *value) {
    const bool is_plain = numpy_kind(value->tensor->dl_tensor.dtype) != 0;
    PyObject *tensor = tensor_wrap(value->tensor);
    value->kind = LAYOVER_NIL; /* the object has it */
    if (!tensor || !load_arrays()) {
        Py_XDECREF(tensor);
        return NULL;
    }
    PyObject *array = PyObject_CallFunctionObjArgs(
        is_plain ? extension.asarray : extension.to_numpy, tensor, NULL);
    Py_DECREF(tensor);
    return array;
}

static PyObject *give_shape(const LayoverShape *shape) {
    PyObject *dims = PyTuple_New(shape->rank);
    for (uint32_t i = 0; dims && i < shape->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(shape->dims[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) < 0) Py_CLEAR(dims);
    }
    return dims;
}

static int64_t count_items(const LayoverShape *shape) {
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) count *= shape->dims[i];
    return count;
}

static PyObject *give_texts(const LayoverTexts *texts) {
    const int64_t count = count_items(&texts->shape);
    PyObject *dims = give_shape(&texts->shape), *list = PyList_New((Py_ssize_t)count),
             *array = NULL;
    for (int64_t i = 0; list && i < count; i++) {
        const LayoverText *item = &texts->items[i];
        PyObject *text = PyUnicode_DecodeUTF8(item->text, (Py_ssize_t)item->size, "strict");
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0) Py_CLEAR(list);
    }
    if (dims && list && load_arrays())
        array = PyObject_CallFunctionObjArgs(extension.to_texts, list, dims, NULL);
    Py_XDECREF(dims);
    Py_XDECREF(list);
    return array;
}

static PyObject *give_tuple(const LayoverTuple *tuple) {
    PyObject *fields = PyTuple_New(tuple->count);
    for (uint32_t i = 0; fields && i < tuple->count; i++) {
        PyObject *field = output_give(&tuple->fields[i]);
        if (!field || PyTuple_SetItem(fields, i, field) < 0) Py_CLEAR(fields);
    }
    return fields;
}

static PyObject *give(LayoverValue *value) {
    switch (value->kind) {
    case LAYOVER_NIL:
        Py_RETURN_NONE;
    case LAYOVER_BOOL:
        return PyBool_FromLong((long)value->integer);
    case LAYOVER_INT:
        return PyLong_FromLongLong(value->integer);
    case LAYOVER_FLOAT:
        return PyFloat_FromDouble(value->real);
    case LAYOVER_TENSOR:
        return give_tensor(value);
    case LAYOVER_TEXTS:
        return give_texts(value->texts);
    case LAYOVER_STRING:
        return PyUnicode_FromString(value->text);
    case LAYOVER_SHAPE:
        return give_shape(value->shape);
    case LAYOVER_DTYPE:
        return PyUnicode_FromString(layover_dtype_name(value->dtype));
    case LAYOVER_TUPLE:
        return give_tuple(value->tuple);
    case LAYOVER_FUNCTION:
    case LAYOVER_OBJECT:
        return object_wrap(value);
    }
    PyErr_Format(PyExc_TypeError, "a value of kind %d", (int)value->kind);
    return NULL;
}

PyObject *output_give(LayoverValue *value) {
    PyObject *object = give(value);
    layover_value_release(value);
    return object;
}
