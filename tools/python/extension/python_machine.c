/* The base of layover.VirtualMachine: an execution whose inputs are set one by one, and what a
 * model holds for a program, such as a cache. */
#include "tools/python/extension/python_extension.h"

/* ---- layover.Object ---- */

typedef struct ObjectObject {
    PyObject_HEAD LayoverValue value; /* a function or an object of a model */
} ObjectObject;

PyObject *object_wrap(LayoverValue *value) {
    ObjectObject *self = PyObject_New(ObjectObject, extension.object);
    if (!self) return NULL;
    self->value = *value;
    *value = (LayoverValue){LAYOVER_NIL, {0}};
    return (PyObject *)self;
}

bool object_take(PyObject *object, LayoverValue *out) {
    if (Py_TYPE(object) != extension.object) return false;
    *out = SELF(ObjectObject, object)->value;
    return true;
}

static void object_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    layover_value_release(&SELF(ObjectObject, object)->value);
    PyObject_Free(object);
    Py_DECREF(type);
}

static char object_documentation[] =
    "A value that stays in the model, such as a cache: other functions of the model take it.";

static PyType_Slot object_slots[] = {
    {Py_tp_doc, object_documentation},
    {Py_tp_dealloc, object_dealloc},
    {0, NULL},
};

PyType_Spec object_type_spec = {
    .name = "layover.Object",
    .basicsize = sizeof(ObjectObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = object_slots,
};

/* ---- the machine ---- */

typedef struct MachineObject {
    PyObject_HEAD LayoverExecution *execution;
    Watcher watcher;
    bool busy;
} MachineObject;

static void dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    layover_execution_free(SELF(MachineObject, object)->execution);
    watcher_clear(&SELF(MachineObject, object)->watcher);
    release(object);
    Py_DECREF(type);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    PyObject *model;
    LayoverExecution *execution;
    if (!PyArg_ParseTuple(args, "O!:Machine", extension.model, &model)) return NULL;
    LayoverError *error = layover_execution_create(model_get(model), &execution);
    if (error) return raise_error(error);
    allocfunc make_object = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = make_object(type, 0);
    if (object)
        SELF(MachineObject, object)->execution = execution;
    else
        layover_execution_free(execution);
    return object;
}

static bool enter(MachineObject *self) {
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses this machine");
        return false;
    }
    return self->busy = true;
}

static PyObject *leave(MachineObject *self, LayoverError *error) {
    self->busy = false;
    if (error) return raise_error(error);
    Py_RETURN_NONE;
}

static PyObject *set_input(PyObject *object, PyObject *args) {
    MachineObject *self = SELF(MachineObject, object);
    PyObject *function, *given;
    unsigned int index;
    LayoverValue value;
    if (!PyArg_ParseTuple(args, "O!IO:set_input", extension.function, &function, &index, &given))
        return NULL;
    const FunctionObject *of = SELF(FunctionObject, function);
    if (!input_take(given, index < of->input_count ? &of->inputs[index] : NULL, &value))
        return NULL;
    if (!enter(self)) {
        input_free(&value, 1, false);
        return NULL;
    }
    LayoverError *error = layover_execution_set_input(self->execution, of->name, index, &value);
    input_free(&value, 1, true);
    return leave(self, error);
}

static bool take_all(const FunctionObject *of, PyObject *tuple, LayoverValue *values) {
    const uint32_t count = (uint32_t)PyTuple_Size(tuple);
    for (uint32_t i = 0; i < count; i++) {
        if (input_take(
                PyTuple_GetItem(tuple, i), i < of->input_count ? &of->inputs[i] : NULL, &values[i]))
            continue;
        input_free(values, i, false);
        return false;
    }
    return true;
}

static PyObject *save(PyObject *object, PyObject *args) {
    MachineObject *self = SELF(MachineObject, object);
    PyObject *function, *given;
    const char *name;
    LayoverError *error = NULL;
    if (!PyArg_ParseTuple(
            args, "sO!O!:save", &name, extension.function, &function, &PyTuple_Type, &given))
        return NULL;
    const FunctionObject *of = SELF(FunctionObject, function);
    const uint32_t count = (uint32_t)PyTuple_Size(given);
    LayoverValue *values = PyMem_Malloc(((size_t)count + 1) * sizeof *values);
    if (!values) return PyErr_NoMemory();
    const bool taken = take_all(of, given, values);
    if (!taken || !enter(self)) {
        if (taken) input_free(values, count, false);
        PyMem_Free(values);
        return NULL;
    }
    error = layover_execution_save_function(self->execution, name, of->name, values, count);
    input_free(values, count, true);
    PyMem_Free(values);
    return leave(self, error);
}

typedef LayoverError *Begin(LayoverExecution *execution, const char *name);

static PyObject *run_call(PyObject *object, PyObject *args, Begin *begin) {
    MachineObject *self = SELF(MachineObject, object);
    LayoverState state;
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name) || !enter(self)) return NULL;
    LayoverError *error = begin(self->execution, name);
    bool done = !error && run_to_end(self->execution, &state);
    self->busy = false;
    if (error) return raise_error(error);
    if (!done && watcher_raise(&self->watcher)) return NULL;
    if (done && state != LAYOVER_FINISHED)
        done = raise_named("SUSPENDED", "the call was suspended") != NULL;
    if (!done) return NULL;
    Py_RETURN_NONE;
}

static PyObject *invoke(PyObject *object, PyObject *args) {
    return run_call(object, args, layover_execution_invoke_stateful);
}

static PyObject *invoke_saved(PyObject *object, PyObject *args) {
    return run_call(object, args, layover_execution_invoke_saved);
}

static PyObject *output(PyObject *object, PyObject *none) {
    (void)none;
    MachineObject *self = SELF(MachineObject, object);
    LayoverValue value;
    if (!enter(self)) return NULL;
    LayoverError *error = layover_execution_get_output(self->execution, NULL, 0, &value);
    self->busy = false;
    return error ? raise_error(error) : output_give(&value);
}

static PyObject *set_instrument(PyObject *object, PyObject *function) {
    MachineObject *self = SELF(MachineObject, object);
    if (function != Py_None && !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "an instrument is a function, or None");
        return NULL;
    }
    if (!enter(self)) return NULL;
    return leave(self, watcher_set(&self->watcher, self->execution, function));
}

static PyObject *start_profile(PyObject *object, PyObject *none) {
    (void)none;
    MachineObject *self = SELF(MachineObject, object);
    return enter(self) ? leave(self, layover_execution_start_profile(self->execution)) : NULL;
}

static PyObject *take_profile(PyObject *object, PyObject *none) {
    (void)none;
    MachineObject *self = SELF(MachineObject, object);
    LayoverProfile *profile;
    if (!enter(self)) return NULL;
    LayoverError *error = layover_execution_take_profile(self->execution, &profile);
    self->busy = false;
    return error ? raise_error(error) : profile_give(profile);
}

static PyMethodDef methods[] = {
    {"set_input", set_input, METH_VARARGS, NULL},
    {"save", save, METH_VARARGS, NULL},
    {"invoke", invoke, METH_VARARGS, NULL},
    {"invoke_saved", invoke_saved, METH_VARARGS, NULL},
    {"output", output, METH_NOARGS, NULL},
    {"set_instrument", set_instrument, METH_O, NULL},
    {"start_profile", start_profile, METH_NOARGS, NULL},
    {"take_profile", take_profile, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec machine_type_spec = {
    .name = "layover._layover.Machine",
    .basicsize = sizeof(MachineObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
