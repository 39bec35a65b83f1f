#pragma once
/* What the files of the Python extension share. The extension `layover._layover` is a thin layer
 * over include/layover.h, written against Python's stable ABI (3.9). Users see the classes of the
 * package `layover`, which derive from these types or use them.
 *
 * Threads: every function runs with the interpreter lock held, unless it says otherwise. The lock
 * is released while a model is opened, runs, is written or is read. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "include/layover.h"

/* One of this extension's objects, by the name of its struct. */
#define SELF(type, object) ((type *)(void *)(object))

/* ---- python_extension.c ---- */

/* The parts of the module that C code needs. Set once, when the module is made. */
typedef struct ExtensionTypes {
    PyObject *make_error; /* of layover/_errors.py: an exception of a code and a text */
    PyTypeObject *model, *function, *run, *tensor, *home, *machine, *object;
    /* Functions of layover/_arrays.py, NULL until they are first needed: importing numpy takes
     * longer than everything else. */
    PyObject *to_array, *to_numpy, *to_texts, *asarray;
    PyObject *outputs;           /* layover.Outputs, a tuple with names */
    PyObject *frame, *register_; /* layover.Frame, layover.Register */
} ExtensionTypes;
extern ExtensionTypes extension;

/* Raise layover.Error, or its subclass for the code; raise_error frees the error. Return NULL. */
PyObject *raise_named(const char *code, const char *message);
PyObject *raise_error(LayoverError *owned_error);
/* Memory that threads without the interpreter lock may free, with memory_free; cleared. NULL: an
 * exception is set. */
void *extension_alloc(size_t size);
/* Loads layover/_arrays.py. False: an exception is set. */
bool load_arrays(void);

/* ---- python_tensor.c ---- */

extern PyType_Spec tensor_type_spec;
/* numpy's letter of an element type; 0 if numpy has no such type. */
char numpy_kind(DLDataType dtype);
/* Takes the tensor. */
PyObject *tensor_wrap(DLManagedTensor *owned_tensor);

/* ---- python_input.c ---- */

/* Makes a value of a Python object for one port. Arrays are not copied: the value keeps them alive.
 *
 * port: NULL, or the port for whose element type numbers and lists become arrays.
 * False: an exception is set. */
bool input_take(PyObject *object, const LayoverPort *port, LayoverValue *out);
/* Frees what input_take made. taken: Layover has the tensors, as after each call that is given
 * values; else they are released, too. */
void input_free(LayoverValue *values, uint32_t count, bool taken);

/* ---- python_output.c ---- */

/* Makes a Python object of a value, and takes the value. Tensors become numpy arrays over the same
 * bytes where numpy has the element type. */
PyObject *output_give(LayoverValue *value);

/* ---- python_function.c ---- */

/* A function of a model, and its ports with the names as Python strings. */
typedef struct FunctionObject {
    PyObject_HEAD LayoverModel *model; /* a handle of its own */
    char *name;
    uint32_t input_count, output_count;
    LayoverPort *inputs, *outputs;
    PyObject *input_names, *output_names; /* tuples */
} FunctionObject;
extern PyType_Spec function_type_spec;
PyObject *function_create(LayoverModel *model, const char *name);
/* Makes an execution of the arguments of a Python call. NULL: an exception is set. */
LayoverExecution *function_start(const FunctionObject *function, PyObject *args, PyObject *kwargs);
/* The results of a finished execution: one object, or a layover.Outputs. */
PyObject *function_results(const FunctionObject *function, LayoverExecution *execution);

/* ---- python_inspect.c ---- */

/* The frames and the live registers of an execution, as tuples of layover.Frame and of
 * layover.Register. */
PyObject *inspect_frames(LayoverExecution *execution);
PyObject *inspect_registers(LayoverExecution *execution);
/* How many instructions the execution has run. */
PyObject *inspect_instructions(LayoverExecution *execution);

/* ---- python_run.c ---- */

extern PyType_Spec run_type_spec;
/* Takes the execution. */
PyObject *run_wrap(FunctionObject *function, LayoverExecution *owned_execution);
/* Runs an execution without the interpreter lock; Ctrl-C stops it. instructions 0: no limit.
 * False: an exception is set; the execution stands between two instructions. */
typedef LayoverError *Advance(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
bool run_advance(
    LayoverExecution *execution, Advance *advance, uint64_t instructions, LayoverState *out_state);
/* Runs an execution to its end, or to a suspension; drops what it yields. */
bool run_to_end(LayoverExecution *execution, LayoverState *out_state);

/* ---- python_home.c ---- */

extern PyType_Spec home_type_spec;
/* Borrowed. object: of the type Home. */
LayoverHome *home_get(PyObject *object);

/* ---- python_model.c ---- */

extern PyType_Spec model_type_spec;
/* Borrowed. object: of the type Model. */
LayoverModel *model_get(PyObject *object);

/* ---- python_watch.c ---- */

/* A Python function as the instrument of an execution, and the exception that it raised. */
typedef struct Watcher {
    PyObject *function; /* NULL: none */
    PyObject *type, *value, *trace;
} Watcher;
/* function: None removes the instrument. The watcher outlives the execution. */
LayoverError *watcher_set(Watcher *watcher, LayoverExecution *execution, PyObject *function);
/* Raises what the function raised. False: it raised nothing. */
bool watcher_raise(Watcher *watcher);
void watcher_clear(Watcher *watcher);
/* A profile as (device, ns, [(name, kernel, shapes, start in ns, ns), ...]), which takes it. */
PyObject *profile_give(LayoverProfile *owned_profile);

/* ---- python_machine.c ---- */

extern PyType_Spec machine_type_spec, object_type_spec;
/* Takes a function or an object of a model, and makes the value nil. */
PyObject *object_wrap(LayoverValue *value);
/* The value of a layover.Object, which keeps it. False: the object is none; no exception is set. */
bool object_take(PyObject *object, LayoverValue *out);
