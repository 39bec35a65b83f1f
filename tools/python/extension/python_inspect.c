/* Where an execution stands, as Python objects. */
#include "tools/python/extension/python_extension.h"

/* Calls the class with the arguments, and puts the object into the tuple. */
static bool put(PyObject *tuple, Py_ssize_t index, PyObject *class_, PyObject *owned_arguments) {
    PyObject *item = owned_arguments ? PyObject_CallObject(class_, owned_arguments) : NULL;
    Py_XDECREF(owned_arguments);
    return item && PyTuple_SetItem(tuple, index, item) == 0;
}

static PyObject *give_dims(const LayoverRegister *live) {
    if (live->rank < 0) Py_RETURN_NONE;
    PyObject *dims = PyTuple_New(live->rank);
    for (int32_t i = 0; dims && i < live->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(live->dims[i]);
        if (!dim || PyTuple_SetItem(dims, i, dim) < 0) Py_CLEAR(dims);
    }
    return dims;
}

static PyObject *give_frames(const LayoverInspection *inspection) {
    PyObject *frames = PyTuple_New(inspection->frame_count);
    for (uint32_t i = 0; frames && i < inspection->frame_count; i++) {
        const LayoverFrame *frame = &inspection->frames[i];
        if (!put(frames, i, extension.frame,
                Py_BuildValue("(sIs)", frame->function, frame->pc, frame->instruction)))
            Py_CLEAR(frames);
    }
    return frames;
}

static PyObject *give_registers(const LayoverInspection *inspection) {
    PyObject *registers = PyTuple_New(inspection->register_count);
    for (uint32_t i = 0; registers && i < inspection->register_count; i++) {
        const LayoverRegister *live = &inspection->registers[i];
        PyObject *dims = give_dims(live);
        if (!dims || !put(registers, i, extension.register_,
                         Py_BuildValue("(IIssNK)", live->frame, live->index, live->kind,
                             live->dtype, dims, (unsigned long long)live->bytes)))
            Py_CLEAR(registers);
    }
    return registers;
}

static PyObject *give_instructions(const LayoverInspection *inspection) {
    return PyLong_FromUnsignedLongLong(inspection->instructions);
}

static PyObject *inspect(
    LayoverExecution *execution, PyObject *(*give)(const LayoverInspection *inspection)) {
    LayoverInspection *inspection;
    LayoverError *error;
    Py_BEGIN_ALLOW_THREADS;
    error = layover_execution_inspect(execution, &inspection);
    Py_END_ALLOW_THREADS;
    if (error) return raise_error(error);
    PyObject *given = give(inspection);
    layover_inspection_free(inspection);
    return given;
}

PyObject *inspect_frames(LayoverExecution *execution) { return inspect(execution, give_frames); }

PyObject *inspect_registers(LayoverExecution *execution) {
    return inspect(execution, give_registers);
}

PyObject *inspect_instructions(LayoverExecution *execution) {
    return inspect(execution, give_instructions);
}
