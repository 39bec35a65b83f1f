/* The base of layover.Model: an open model, whose function main is called by calling the model. */
#include <string.h>

#include "tools/python/extension/python_extension.h"

typedef struct ModelObject {
    PyObject_HEAD LayoverModel *model;
    PyObject *main; /* NULL until the model is first called */
} ModelObject;

LayoverModel *model_get(PyObject *object) { return SELF(ModelObject, object)->model; }

static void dealloc(PyObject *object) {
    ModelObject *self = SELF(ModelObject, object);
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    Py_XDECREF(self->main);
    layover_model_close(self->model);
    release(object);
    Py_DECREF(type);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"name", "device", "threads", "home", NULL};
    PyObject *path, *home = NULL;
    const char *device = "cpu";
    unsigned int threads = 1;
    LayoverModel *model;
    LayoverError *error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|sIO!:Model", (char **)(uintptr_t)names,
            PyUnicode_FSConverter, &path, &device, &threads, extension.home, &home))
        return NULL;
    const char *text = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    error = home ? layover_home_open_model(home_get(home), text, device, &model)
                 : layover_model_open(text, device, &model);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (error) return raise_error(error);
    layover_model_set_threads(model, threads);
    allocfunc make_object = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = make_object(type, 0);
    if (object)
        SELF(ModelObject, object)->model = model;
    else
        layover_model_close(model);
    return object;
}

/* Borrowed. */
static PyObject *get_main(ModelObject *self) {
    if (!self->main) self->main = function_create(self->model, "main");
    return self->main;
}

static PyObject *call(PyObject *object, PyObject *args, PyObject *kwargs) {
    PyObject *function = get_main(SELF(ModelObject, object));
    return function ? PyObject_Call(function, args, kwargs) : NULL;
}

static PyObject *find_function(PyObject *object, PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s:function", &name)) return NULL;
    ModelObject *self = SELF(ModelObject, object);
    if (strcmp(name, "main") != 0) return function_create(self->model, name);
    PyObject *function = get_main(self);
    Py_XINCREF(function);
    return function;
}

static LayoverError *resume_path(
    LayoverModel *model, const char *path, LayoverExecution **out_execution) {
    LayoverError *error;
    Py_BEGIN_ALLOW_THREADS;
    error = layover_execution_resume(model, path, out_execution);
    Py_END_ALLOW_THREADS;
    return error;
}

static LayoverError *resume_bytes(
    LayoverModel *model, PyObject *bytes, LayoverExecution **out_execution) {
    LayoverError *error;
    const char *data = PyBytes_AsString(bytes);
    const size_t size = (size_t)PyBytes_Size(bytes);
    Py_BEGIN_ALLOW_THREADS;
    error = layover_execution_resume_bytes(model, data, size, "the checkpoint", out_execution);
    Py_END_ALLOW_THREADS;
    return error;
}

/* source: a path, or an open file. False: an exception is set. */
static bool read_checkpoint(
    LayoverModel *model, PyObject *source, LayoverExecution **out_execution) {
    const bool is_file = PyObject_HasAttrString(source, "read");
    PyObject *owned = NULL;
    if (is_file)
        owned = PyObject_CallMethod(source, "read", NULL);
    else if (!PyUnicode_FSConverter(source, &owned))
        owned = NULL;
    if (owned && !PyBytes_Check(owned)) {
        PyErr_SetString(PyExc_TypeError, "the file is no binary one");
        Py_CLEAR(owned);
    }
    if (!owned) return false;
    LayoverError *error = is_file ? resume_bytes(model, owned, out_execution)
                                  : resume_path(model, PyBytes_AsString(owned), out_execution);
    Py_DECREF(owned);
    if (error) (void)raise_error(error);
    return !error;
}

static PyObject *resume(PyObject *object, PyObject *source) {
    LayoverExecution *execution;
    ModelObject *self = SELF(ModelObject, object);
    if (!read_checkpoint(self->model, source, &execution)) return NULL;
    PyObject *function = function_create(self->model, layover_execution_function(execution));
    PyObject *run = function ? run_wrap(SELF(FunctionObject, function), execution) : NULL;
    if (!function) layover_execution_free(execution);
    Py_XDECREF(function);
    return run;
}

static PyObject *allow_native(PyObject *object, PyObject *args) {
    const char *preload = NULL;
    if (!PyArg_ParseTuple(args, "|z:allow_native", &preload)) return NULL;
    LayoverError *error = layover_model_allow_native(SELF(ModelObject, object)->model, preload);
    if (error) return raise_error(error);
    Py_RETURN_NONE;
}

static PyObject *set_allocators(PyObject *object, PyObject *args) {
    int host, device;
    if (!PyArg_ParseTuple(args, "pp:set_allocators", &host, &device)) return NULL;
    layover_model_set_allocators(SELF(ModelObject, object)->model,
        host ? LAYOVER_NAIVE : LAYOVER_POOLED, device ? LAYOVER_NAIVE : LAYOVER_POOLED);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_set_allocators", set_allocators, METH_VARARGS, NULL},
    {"allow_native", allow_native, METH_VARARGS,
        "allow_native(preload=None)\n--\n\nAllows compiled functions of the model's library, which "
        "are trusted code, in runs that start later."},
    {"function", find_function, METH_VARARGS,
        "function(name)\n--\n\nA function of the model by its name."},
    {"resume", resume, METH_O,
        "resume(source)\n--\n\nA Run that continues from a checkpoint, the path of a file or an "
        "open binary "
        "file, on this model's device."},
    {NULL, NULL, 0, NULL},
};

static char documentation[] = "An open model.";

static PyType_Slot slots[] = {
    {Py_tp_doc, documentation},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_call, call},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec model_type_spec = {
    .name = "layover._layover.Model",
    .basicsize = sizeof(ModelObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
