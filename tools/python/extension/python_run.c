/* layover.Run: an execution of a function, which stops and continues between two instructions. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "tools/python/extension/python_extension.h"

typedef struct RunObject {
    PyObject_HEAD FunctionObject *function; /* strong */
    LayoverExecution *execution;
    bool finished;
    bool busy; /* a thread runs, writes or reads it */
} RunObject;

static void dealloc(PyObject *object) {
    RunObject *self = SELF(RunObject, object);
    PyTypeObject *type = Py_TYPE(object);
    layover_execution_free(self->execution);
    Py_DECREF(self->function);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyObject *run_wrap(FunctionObject *function, LayoverExecution *owned_execution) {
    RunObject *self = PyObject_New(RunObject, extension.run);
    if (!self) {
        layover_execution_free(owned_execution);
        return NULL;
    }
    Py_INCREF(function);
    self->function = function;
    self->execution = owned_execution;
    self->finished = self->busy = false;
    return (PyObject *)self;
}

/* ---- Ctrl-C ---- */

/* Python's own handler only notes the signal, which would be looked at after the run's end. This
 * handler stops the execution that the main thread runs, and then calls Python's. */
static struct {
    LayoverExecution *_Atomic execution; /* NULL: the main thread runs none */
    void (*_Atomic previous)(int signal);
} interrupt;

static void stop_at_signal(int signal) {
    LayoverExecution *execution = interrupt.execution;
    if (execution) layover_execution_request_suspend(execution);
    interrupt.previous(signal);
}

/* Python calls signal handlers on the main thread. */
static bool is_main_thread(void) {
    static __thread signed char known = -1;
    if (known < 0) known = gettid() == getpid();
    return known;
}

/* Puts the handler in front of Python's. A program that handles the signal in C keeps its own
 * handler, and so does one that ignores it. */
static void install_handler(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) != 0 || now.sa_handler == stop_at_signal ||
        now.sa_flags & SA_SIGINFO || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
        return;
    interrupt.previous = now.sa_handler;
    now.sa_handler = stop_at_signal;
    (void)sigaction(SIGINT, &now, NULL);
}

bool run_advance(
    LayoverExecution *execution, Advance *advance, uint64_t instructions, LayoverState *out_state) {
    LayoverError *error;
    const bool watched = is_main_thread();
    if (watched) {
        install_handler();
        interrupt.execution = execution;
        if (PyErr_CheckSignals() != 0) { /* one that came before was only noted */
            interrupt.execution = NULL;
            return false;
        }
    }
    Py_BEGIN_ALLOW_THREADS;
    error = advance(execution, instructions, out_state);
    Py_END_ALLOW_THREADS;
    if (watched) interrupt.execution = NULL;
    if (error) (void)raise_error(error);
    return !error && PyErr_CheckSignals() == 0;
}

/* ---- yielded values ---- */

/* The oldest yielded value; *out_found false: none waits. NULL: an exception, or none. */
static PyObject *take_yield(LayoverExecution *execution, bool *out_found) {
    LayoverValue value;
    int found;
    LayoverError *error = layover_execution_take_yield(execution, &value, &found);
    *out_found = !error && found;
    if (error) return raise_error(error);
    return found ? output_give(&value) : NULL;
}

bool run_to_end(LayoverExecution *execution, LayoverState *out_state) {
    for (;;) {
        LayoverValue dropped;
        int found = 1;
        if (!run_advance(execution, layover_execution_run_to_yield, 0, out_state)) return false;
        if (*out_state != LAYOVER_YIELDED) return true;
        LayoverError *error = layover_execution_take_yield(execution, &dropped, &found);
        if (error) return raise_error(error) != NULL;
        if (found) layover_value_release(&dropped);
    }
}

/* ---- a limit of time ---- */

/* A thread that stops an execution later, unless it is called off. */
typedef struct Timer {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct timespec end;
    bool called_off;
    LayoverExecution *execution;
} Timer;

static void *wait_for_end(void *argument) {
    Timer *timer = argument;
    int result = 0;
    (void)pthread_mutex_lock(&timer->lock);
    while (!timer->called_off && result != ETIMEDOUT)
        result =
            pthread_cond_clockwait(&timer->changed, &timer->lock, CLOCK_MONOTONIC, &timer->end);
    if (!timer->called_off) layover_execution_request_suspend(timer->execution);
    (void)pthread_mutex_unlock(&timer->lock);
    return NULL;
}

static bool timer_start(Timer *timer, double seconds) {
    (void)clock_gettime(CLOCK_MONOTONIC, &timer->end);
    const double nanoseconds =
        (seconds - (double)(time_t)seconds) * 1e9 + (double)timer->end.tv_nsec;
    timer->end.tv_sec += (time_t)seconds + (nanoseconds >= 1e9);
    timer->end.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    if (thread_start(&timer->thread, "layover-timer", wait_for_end, timer)) return true;
    PyErr_SetString(PyExc_RuntimeError, "the system gives no thread");
    return false;
}

static void timer_stop(Timer *timer) {
    (void)pthread_mutex_lock(&timer->lock);
    timer->called_off = true;
    (void)pthread_cond_signal(&timer->changed);
    (void)pthread_mutex_unlock(&timer->lock);
    (void)pthread_join(timer->thread, NULL);
}

static bool advance_for(
    LayoverExecution *execution, uint64_t instructions, double seconds, LayoverState *out_state) {
    Timer timer = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .execution = execution};
    if (!timer_start(&timer, seconds)) return false;
    const bool done = run_advance(execution, layover_execution_run, instructions, out_state);
    timer_stop(&timer);
    return done;
}

/* ---- methods ---- */

/* Two threads must not use one execution at a time. */
static bool enter(RunObject *self) {
    if (self->busy)
        PyErr_SetString(PyExc_RuntimeError, "another thread uses this run; only suspend() may be "
                                            "called meanwhile");
    else
        self->busy = true;
    return self->busy && !PyErr_Occurred();
}

static bool read_limits(
    PyObject *args, PyObject *kwargs, unsigned long long *out_instructions, double *out_seconds) {
    static const char *const names[] = {"instructions", "seconds", NULL};
    PyObject *instructions = Py_None, *seconds = Py_None;
    *out_instructions = 0;
    *out_seconds = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|O$O:advance", (char **)(uintptr_t)names, &instructions, &seconds))
        return false;
    if (instructions != Py_None) *out_instructions = PyLong_AsUnsignedLongLong(instructions);
    if (seconds != Py_None) *out_seconds = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred()) return false;
    const bool sensible = (instructions == Py_None || *out_instructions > 0) &&
                          (seconds == Py_None || (*out_seconds > 0 && *out_seconds < 1e9));
    if (!sensible) PyErr_SetString(PyExc_ValueError, "instructions and seconds are above 0");
    return sensible;
}

static PyObject *advance(PyObject *object, PyObject *args, PyObject *kwargs) {
    RunObject *self = SELF(RunObject, object);
    LayoverState state;
    unsigned long long instructions;
    double seconds;
    if (!read_limits(args, kwargs, &instructions, &seconds)) return NULL;
    if (self->finished) Py_RETURN_TRUE;
    if (!enter(self)) return NULL;
    const bool done =
        seconds > 0 ? advance_for(self->execution, instructions, seconds, &state)
                    : run_advance(self->execution, layover_execution_run, instructions, &state);
    self->busy = false;
    if (!done) return NULL;
    self->finished = state == LAYOVER_FINISHED;
    return PyBool_FromLong(self->finished);
}

static PyObject *suspend(PyObject *object, PyObject *none) {
    (void)none;
    layover_execution_request_suspend(SELF(RunObject, object)->execution);
    Py_RETURN_NONE;
}

static PyObject *write_path(RunObject *self, PyObject *path) {
    PyObject *owned;
    LayoverError *error;
    if (!PyUnicode_FSConverter(path, &owned)) return NULL;
    const char *text = PyBytes_AsString(owned);
    Py_BEGIN_ALLOW_THREADS;
    error = layover_execution_checkpoint(self->execution, text);
    Py_END_ALLOW_THREADS;
    Py_DECREF(owned);
    if (error) return raise_error(error);
    Py_RETURN_NONE;
}

static PyObject *write_file(RunObject *self, PyObject *file) {
    void *data;
    size_t size;
    LayoverError *error;
    Py_BEGIN_ALLOW_THREADS;
    error = layover_execution_checkpoint_bytes(self->execution, &data, &size);
    Py_END_ALLOW_THREADS;
    if (error) return raise_error(error);
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
    layover_bytes_free(data);
    PyObject *written = bytes ? PyObject_CallMethod(file, "write", "O", bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(written);
    if (!written) return NULL;
    Py_RETURN_NONE;
}

static PyObject *checkpoint(PyObject *object, PyObject *target) {
    RunObject *self = SELF(RunObject, object);
    if (!enter(self)) return NULL;
    PyObject *done = PyObject_HasAttrString(target, "write") ? write_file(self, target)
                                                             : write_path(self, target);
    self->busy = false;
    return done;
}

/* Iteration: the next yielded value. After the last one the iteration ends, and result() gives what
 * came out. */
static PyObject *next(PyObject *object) {
    RunObject *self = SELF(RunObject, object);
    LayoverState state = LAYOVER_FINISHED;
    bool found = false;
    if (!enter(self)) return NULL;
    bool done =
        self->finished || run_advance(self->execution, layover_execution_run_to_yield, 0, &state);
    PyObject *value = done ? take_yield(self->execution, &found) : NULL;
    if (done && !found && !PyErr_Occurred()) {
        self->finished = state == LAYOVER_FINISHED;
        if (!self->finished) (void)raise_named("SUSPENDED", "the run was suspended");
    }
    self->busy = false;
    return value;
}

static PyObject *result(PyObject *object, PyObject *none) {
    (void)none;
    RunObject *self = SELF(RunObject, object);
    LayoverState state;
    if (!enter(self)) return NULL;
    bool done = self->finished || run_to_end(self->execution, &state);
    if (done && !self->finished) self->finished = state == LAYOVER_FINISHED;
    if (done && !self->finished) done = raise_named("SUSPENDED", "the run was suspended") != NULL;
    PyObject *results = done ? function_results(self->function, self->execution) : NULL;
    self->busy = false;
    return results;
}

typedef PyObject *Inspect(LayoverExecution *execution);

static PyObject *inspect(PyObject *object, Inspect *describe) {
    RunObject *self = SELF(RunObject, object);
    if (!enter(self)) return NULL;
    PyObject *description = describe(self->execution);
    self->busy = false;
    return description;
}

static PyObject *get_frames(PyObject *object, void *closure) {
    (void)closure;
    return inspect(object, inspect_frames);
}

static PyObject *get_registers(PyObject *object, void *closure) {
    (void)closure;
    return inspect(object, inspect_registers);
}

static PyObject *get_instructions(PyObject *object, void *closure) {
    (void)closure;
    return inspect(object, inspect_instructions);
}

static PyObject *get_finished(PyObject *object, void *closure) {
    (void)closure;
    return PyBool_FromLong(SELF(RunObject, object)->finished);
}

static PyMethodDef methods[] = {
    {"advance", (PyCFunction)(void *)advance, METH_VARARGS | METH_KEYWORDS,
        "advance(instructions=None, *, seconds=None)\n--\n\n"
        "Runs until the function ends, a limit is reached or suspend() is called; True: it ended.\n"
        "\nCtrl-C raises KeyboardInterrupt; the run can go on, or be stored."},
    {"suspend", suspend, METH_NOARGS,
        "suspend()\n--\n\nStops the run before its next instruction. Any thread may call it."},
    {"checkpoint", checkpoint, METH_O,
        "checkpoint(target)\n--\n\nWrites the run as a checkpoint: to a path atomically and "
        "durably, "
        "or to a binary file that is open."},
    {"result", result, METH_NOARGS,
        "result()\n--\n\nRuns to the end if it has not ended, and gives what came out."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"finished", get_finished, NULL, "True: the function ended.", NULL},
    {"frames", get_frames, NULL,
        "The functions that were called and have not returned: a Frame for each, the oldest first.",
        NULL},
    {"registers", get_registers, NULL, "The values that are still needed: a Register for each.",
        NULL},
    {"instructions", get_instructions, NULL, "How many instructions have run, over all resumes.",
        NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static char documentation[] = "An execution of a function, which stops and continues between two "
                              "instructions. Iterating over it "
                              "runs it, and gives the values that the function yields.";

static PyType_Slot slots[] = {
    {Py_tp_doc, documentation},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, next},
    {0, NULL},
};

PyType_Spec run_type_spec = {
    .name = "layover.Run",
    .basicsize = sizeof(RunObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
