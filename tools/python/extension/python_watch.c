/* Instruments and profiles of executions, for layover.VirtualMachine. */
#include <string.h>

#include "tools/python/extension/python_extension.h"

/* ---- instruments ---- */

void watcher_clear(Watcher *watcher) {
    Py_CLEAR(watcher->function);
    Py_CLEAR(watcher->type);
    Py_CLEAR(watcher->value);
    Py_CLEAR(watcher->trace);
}

bool watcher_raise(Watcher *watcher) {
    if (!watcher->type) return false;
    PyErr_Restore(watcher->type, watcher->value, watcher->trace);
    watcher->type = watcher->value = watcher->trace = NULL;
    return true;
}

/* Arrays over the bytes of a run, or of the model's constants, are read only. */
static bool protect(PyObject *object) {
    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++)
            if (!protect(PyTuple_GetItem(object, i))) return false;
        return true;
    }
    if (!PyObject_HasAttrString(object, "setflags")) return true;
    PyObject *none = PyObject_CallMethod(object, "setflags", "i", 0);
    Py_XDECREF(none);
    return none != NULL;
}

static PyObject *give(LayoverValue *value) {
    PyObject *object = output_give(value);
    if (object && !protect(object)) Py_CLEAR(object);
    return object;
}

/* None before a call, else its result or the tuple of its results. */
static PyObject *give_results(LayoverCall *call) {
    if (call->result_count == 0) Py_RETURN_NONE;
    if (call->result_count == 1) return give(&call->results[0]);
    PyObject *results = PyTuple_New(call->result_count);
    for (uint32_t i = 0; results && i < call->result_count; i++) {
        PyObject *result = give(&call->results[i]);
        if (!result || PyTuple_SetItem(results, i, result) < 0) Py_CLEAR(results);
    }
    return results;
}

/* The arguments of TVM's instruments: function, name, before, result, and those of the call. */
static PyObject *make_arguments(LayoverCall *call) {
    enum { FIRST = 4 };
    PyObject *arguments = PyTuple_New((Py_ssize_t)call->argument_count + FIRST);
    PyObject *first[FIRST] = {Py_None, NULL, NULL, NULL};
    if (!arguments) return NULL;
    Py_INCREF(Py_None);
    first[1] = PyUnicode_FromString(call->name);
    first[2] = PyBool_FromLong(call->is_before);
    first[3] = give_results(call);
    for (Py_ssize_t i = 0; i < FIRST; i++) /* takes each, also after an error */
        if (!first[i] || !arguments || PyTuple_SetItem(arguments, i, first[i]) < 0)
            Py_CLEAR(arguments);
    for (uint32_t i = 0; arguments && i < call->argument_count; i++) {
        PyObject *argument = give(&call->arguments[i]);
        if (!argument || PyTuple_SetItem(arguments, (Py_ssize_t)i + FIRST, argument) < 0)
            Py_CLEAR(arguments);
    }
    return arguments;
}

/* The answer is TVM's VMInstrumentReturnKind: nothing or 0, or 1 to leave the call out. */
static bool read_answer(PyObject *answer, int *out_skip) {
    if (answer == Py_None) return true;
    const long number = PyLong_AsLong(answer);
    if (PyErr_Occurred()) return false;
    if (number != 0 && number != 1)
        PyErr_Format(PyExc_ValueError, "an instrument answers None, 0 or 1, not %ld", number);
    *out_skip = number == 1;
    return number == 0 || number == 1;
}

static const char *on_call(void *context, LayoverCall *call, int *inout_skip) {
    Watcher *watcher = context;
    const PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *arguments = make_arguments(call);
    PyObject *answer = arguments ? PyObject_CallObject(watcher->function, arguments) : NULL;
    const bool done = answer && read_answer(answer, inout_skip);
    if (!done) PyErr_Fetch(&watcher->type, &watcher->value, &watcher->trace);
    Py_XDECREF(arguments);
    Py_XDECREF(answer);
    PyGILState_Release(lock);
    return done ? NULL : "the instrument has raised an exception";
}

LayoverError *watcher_set(Watcher *watcher, LayoverExecution *execution, PyObject *function) {
    const bool none = function == Py_None;
    LayoverError *error =
        layover_execution_set_instrument(execution, none ? NULL : on_call, watcher);
    if (error) return error;
    watcher_clear(watcher);
    if (none) return NULL;
    Py_INCREF(function);
    watcher->function = function;
    return NULL;
}

/* ---- profiles ---- */

static PyObject *give_rows(const LayoverProfile *profile) {
    PyObject *rows = PyList_New(profile->row_count);
    for (uint32_t i = 0; rows && i < profile->row_count; i++) {
        const LayoverProfileRow *row = &profile->rows[i];
        PyObject *made = Py_BuildValue("(sssKK)", row->name, row->kernel, row->shapes,
            (unsigned long long)row->start_ns, (unsigned long long)row->ns);
        if (!made || PyList_SetItem(rows, i, made) < 0) Py_CLEAR(rows);
    }
    return rows;
}

PyObject *profile_give(LayoverProfile *owned_profile) {
    PyObject *rows = give_rows(owned_profile), *answer = NULL;
    if (rows)
        answer = Py_BuildValue(
            "(sKN)", owned_profile->device, (unsigned long long)owned_profile->ns, rows);
    layover_profile_free(owned_profile);
    return answer;
}
