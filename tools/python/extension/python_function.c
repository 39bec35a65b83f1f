/* layover.Function: a function of a model, which is called with arrays. */
#include <string.h>

#include "tools/python/extension/python_extension.h"

static void dealloc(PyObject *object) {
    FunctionObject *self = SELF(FunctionObject, object);
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->input_names);
    Py_XDECREF(self->output_names);
    PyMem_Free(self->inputs);
    PyMem_Free(self->outputs);
    PyMem_Free(self->name);
    layover_model_close(self->model);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* ---- making ---- */

typedef LayoverError *GetPort(
    const LayoverModel *model, const char *function, uint32_t index, LayoverPort *out_port);

static bool read_ports(FunctionObject *self, GetPort *get, uint32_t count, LayoverPort **out_ports,
    PyObject **out_names) {
    *out_ports = PyMem_Malloc((count ? count : 1) * sizeof **out_ports);
    *out_names = PyTuple_New(count);
    if (!*out_ports) (void)PyErr_NoMemory();
    if (!*out_ports || !*out_names) return false;
    for (uint32_t i = 0; i < count; i++) {
        LayoverError *error = get(self->model, self->name, i, &(*out_ports)[i]);
        if (error) {
            (void)raise_error(error);
            return false;
        }
        PyObject *name = PyUnicode_InternFromString((*out_ports)[i].name);
        if (!name || PyTuple_SetItem(*out_names, i, name) < 0) return false;
    }
    return true;
}

static bool read_function(FunctionObject *self) {
    LayoverError *error =
        layover_model_function(self->model, self->name, &self->input_count, &self->output_count);
    if (error) {
        (void)raise_error(error);
        return false;
    }
    return read_ports(
               self, layover_model_input, self->input_count, &self->inputs, &self->input_names) &&
           read_ports(
               self, layover_model_output, self->output_count, &self->outputs, &self->output_names);
}

PyObject *function_create(LayoverModel *model, const char *name) {
    const size_t size = strlen(name) + 1;
    FunctionObject *self = PyObject_New(FunctionObject, extension.function);
    if (!self) return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    self->name = PyMem_Malloc(size);
    if (!self->name)
        (void)PyErr_NoMemory();
    else {
        memcpy(self->name, name, size);
        self->model = layover_model_retain(model);
        if (read_function(self)) return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

/* ---- calling ---- */

/* The place of an input by its name; -1: there is none. */
static Py_ssize_t find_input(const FunctionObject *self, PyObject *name) {
    for (uint32_t i = 0; i < self->input_count; i++)
        if (PyTuple_GetItem(self->input_names, i) == name) return i; /* names are interned */
    for (uint32_t i = 0; i < self->input_count; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(self->input_names, i), name) == 0) return i;
    return -1;
}

static bool sort_arguments(
    const FunctionObject *self, PyObject *args, PyObject *kwargs, PyObject **sorted) {
    const Py_ssize_t count = PyTuple_Size(args);
    if (count > (Py_ssize_t)self->input_count) {
        PyErr_Format(PyExc_TypeError, "%s takes %u inputs %R, not %zd", self->name,
            self->input_count, self->input_names, count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) sorted[i] = PyTuple_GetItem(args, i);
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (kwargs && PyDict_Next(kwargs, &position, &name, &value)) {
        const Py_ssize_t at = find_input(self, name);
        if (at < 0 || sorted[at]) {
            PyErr_Format(PyExc_TypeError,
                at < 0 ? "%s has no input %R; its inputs are %R"
                       : "%s is given %R twice; its inputs "
                         "are %R",
                self->name, name, self->input_names);
            return false;
        }
        sorted[at] = value;
    }
    return true;
}

/* Puts the name of the input before the text of the exception that is set. */
static void name_input(const FunctionObject *self, uint32_t index) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyErr_Format(type, "input %S: %S", PyTuple_GetItem(self->input_names, index), value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
}

static bool take_inputs(const FunctionObject *self, PyObject *const *sorted, LayoverValue *values) {
    for (uint32_t i = 0; i < self->input_count; i++) {
        const bool missing = !sorted[i] && !self->inputs[i].is_optional;
        if (missing)
            PyErr_Format(PyExc_TypeError, "%s: input %R is missing; its inputs are %R", self->name,
                PyTuple_GetItem(self->input_names, i), self->input_names);
        if (!missing && input_take(sorted[i] ? sorted[i] : Py_None, &self->inputs[i], &values[i]))
            continue;
        if (!missing) name_input(self, i);
        input_free(values, i, false);
        return false;
    }
    return true;
}

static LayoverExecution *start(const FunctionObject *self, LayoverValue *values) {
    LayoverExecution *execution = NULL;
    LayoverError *error = layover_execution_start_values(
        self->model, self->name, values, self->input_count, &execution);
    input_free(values, self->input_count, true);
    if (error) (void)raise_error(error);
    return execution;
}

LayoverExecution *function_start(const FunctionObject *self, PyObject *args, PyObject *kwargs) {
    LayoverExecution *execution = NULL;
    const size_t count = self->input_count ? self->input_count : 1;
    PyObject **sorted = PyMem_Calloc(count, sizeof *sorted);
    LayoverValue *values = PyMem_Malloc(count * sizeof *values);
    if (!sorted || !values)
        (void)PyErr_NoMemory();
    else if (sort_arguments(self, args, kwargs, sorted) && take_inputs(self, sorted, values))
        execution = start(self, values);
    PyMem_Free(sorted);
    PyMem_Free(values);
    return execution;
}

static PyObject *result(LayoverExecution *execution, const uint32_t *path, uint32_t depth) {
    LayoverValue value;
    LayoverError *error = layover_execution_get_output(execution, path, depth, &value);
    return error ? raise_error(error) : output_give(&value);
}

PyObject *function_results(const FunctionObject *self, LayoverExecution *execution) {
    if (self->output_count < 2) return result(execution, NULL, 0); /* 0: the results are unknown */
    PyObject *fields = PyTuple_New(self->output_count);
    for (uint32_t i = 0; fields && i < self->output_count; i++) {
        PyObject *field = result(execution, &i, 1);
        if (!field || PyTuple_SetItem(fields, i, field) < 0) Py_CLEAR(fields);
    }
    if (!fields) return NULL;
    PyObject *outputs =
        PyObject_CallFunctionObjArgs(extension.outputs, self->output_names, fields, NULL);
    Py_DECREF(fields);
    return outputs;
}

static PyObject *call(PyObject *object, PyObject *args, PyObject *kwargs) {
    const FunctionObject *self = SELF(FunctionObject, object);
    PyObject *results = NULL;
    LayoverState state;
    LayoverExecution *execution = function_start(self, args, kwargs);
    if (!execution) return NULL;
    if (run_to_end(execution, &state)) results = function_results(self, execution);
    layover_execution_free(execution);
    return results;
}

static PyObject *begin(PyObject *object, PyObject *args, PyObject *kwargs) {
    FunctionObject *self = SELF(FunctionObject, object);
    LayoverExecution *execution = function_start(self, args, kwargs);
    return execution ? run_wrap(self, execution) : NULL;
}

/* ---- what it is ---- */

static PyObject *describe_dims(const LayoverPort *port) {
    if (port->rank < 0) Py_RETURN_NONE;
    PyObject *dims = PyTuple_New(port->rank);
    for (int32_t i = 0; dims && i < port->rank; i++) {
        PyObject *dim;
        if (port->dims[i] >= 0)
            dim = PyLong_FromLongLong(port->dims[i]);
        else if (port->symbols[i])
            dim = PyUnicode_FromString(port->symbols[i]);
        else
            Py_INCREF(dim = Py_None);
        if (!dim || PyTuple_SetItem(dims, i, dim) < 0) Py_CLEAR(dims);
    }
    return dims;
}

static PyObject *describe(const LayoverPort *ports, uint32_t count) {
    PyObject *list = PyTuple_New(count);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *dims = describe_dims(&ports[i]);
        PyObject *port =
            dims ? Py_BuildValue("(ssNNN)", ports[i].name, ports[i].dtype, dims,
                       PyBool_FromLong(ports[i].is_list), PyBool_FromLong(ports[i].is_optional))
                 : NULL;
        if (!port || PyTuple_SetItem(list, i, port) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_inputs(PyObject *object, void *closure) {
    (void)closure;
    const FunctionObject *self = SELF(FunctionObject, object);
    return describe(self->inputs, self->input_count);
}

static PyObject *get_outputs(PyObject *object, void *closure) {
    (void)closure;
    const FunctionObject *self = SELF(FunctionObject, object);
    return describe(self->outputs, self->output_count);
}

static PyObject *get_name(PyObject *object, void *closure) {
    (void)closure;
    return PyUnicode_FromString(SELF(FunctionObject, object)->name);
}

static PyObject *repr(PyObject *object) {
    const FunctionObject *self = SELF(FunctionObject, object);
    return PyUnicode_FromFormat(
        "layover.Function(%s: %S -> %S)", self->name, self->input_names, self->output_names);
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void *)begin, METH_VARARGS | METH_KEYWORDS,
        "start(*inputs, **named)\n--\n\nMakes a Run of the function, which has not run yet."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"name", get_name, NULL, "The function's name.", NULL},
    {"_inputs", get_inputs, NULL, NULL, NULL},
    {"_outputs", get_outputs, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char documentation[] = "A function of a model. Calling it runs it to its end.";

static PyType_Slot slots[] = {
    {Py_tp_doc, documentation},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_call, call},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

PyType_Spec function_type_spec = {
    .name = "layover._layover.Function",
    .basicsize = sizeof(FunctionObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
