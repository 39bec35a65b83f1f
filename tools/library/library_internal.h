#pragma once
/* What the files of the C library share: the handles of layover.h, and values on their way across
 * the border. Callers: the other files of this folder. Threads: as layover.h says. */
#include "include/layover.h"
#include "serialize/container/container.h"
#include "vm/execution/execution.h"

enum {
    LIBRARY_DEPTH_MAX = 64,       /* of nested tuples */
    LIBRARY_VALUES_MAX = 1 << 20, /* in the tuples of one value */
};

struct LayoverModel {
    Refcount refcount;
    uint32_t process;      /* library_process_number when the model was opened */
    Device *host, *device; /* the same device for cpu */
    WorkerPool *pool;
    Residency *residency;
    PackedRegistry *packed;
    MemoryPool *reserves[SLOT_COUNT]; /* for the pools of the model's executions */
    uint32_t threads;
    bool naive_memory[SLOT_COUNT];
    bool native_allowed;
    char *native_preload; /* NULL: none */
};

struct LayoverExecution {
    LayoverModel *model; /* retained */
    Execution *execution;
    LayoverInstrument *instrument; /* NULL: none */
    void *instrument_context;
    struct LibraryProfile *profile; /* NULL: none is recorded */
};

/* A host function, or a function, closure or packed function of a model. */
struct LayoverFunction {
    Refcount refcount;
    LayoverPackedFunction *host; /* NULL: of a model */
    void *context;
    void (*release)(void *context);
    int32_t arity;
    LayoverModel *model; /* retained; NULL for host functions */
    Value value;         /* a closure or packed function of the model */
    char name[];
};

struct LayoverObject {
    LayoverModel *model; /* retained */
    Value value;
};

/* ---- library.c ---- */

DEFINE_OWN(LayoverModel, layover_model_close);
DEFINE_OWN(LayoverExecution, layover_execution_free);
/* The public error is an internal error under another type. */
static inline LayoverError *library_error(Error *owned_error) {
    return (LayoverError *)owned_error;
}
/* home: NULL: name is a file or a reference to the default home; else a reference to that home. */
MUST_CHECK Error *library_open_model(
    const LayoverHome *home, const char *name, const char *device, LayoverModel **out);
ExecutionOptions library_options(const LayoverModel *model);
/* Makes a handle without an execution. */
MUST_CHECK Error *library_make_execution(LayoverModel *model, LayoverExecution **out);
/* Runs to the end, or to a suspension. Errors: CONFLICT a host function runs on this thread. */
MUST_CHECK Error *library_run(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
/* Continues from an open checkpoint. what: names it in errors. */
MUST_CHECK Error *library_resume(LayoverModel *model, const Container *container, const char *what,
    LayoverExecution **out_execution);

/* ---- library_models.c ---- */

/* Reads a model: a file of any format, compiled where that is needed, or a reference to the default
 * home, or, with a home, a reference to that one. */
MUST_CHECK Error *library_read_model(
    const LayoverHome *home, const char *name, WorkerPool *pool, Executable **out);

/* ---- library_home.c ---- */

DEFINE_OWN(LayoverHome, layover_home_close);
MUST_CHECK Error *library_home_open(const char *path, const char *tenant, LayoverHome **out);
/* Reads a stored model of a home that is there. */
MUST_CHECK Error *library_home_read(
    const LayoverHome *home, const char *reference, WorkerPool *pool, Executable **out);

/* ---- library_answer.c ---- */

struct json_object;
/* Prints an answer as the text of a value. */
MUST_CHECK Error *library_answer(struct json_object *owned_answer, LayoverValue *out);

/* ---- library_process.c ---- */

/* A number that is another one in a forked process. */
uint32_t library_process_number(void);
/* Errors: CONFLICT the model was opened before this process was forked: its threads are not here.
 */
MUST_CHECK Error *library_process_check(const LayoverModel *model);
/* Held while this process has a home open: a home has one owner. */
void library_process_lock_homes(void);
void library_process_unlock_homes(void);
/* Held while the list of a client's idle connections is read or changed. */
void library_process_lock_clients(void);
void library_process_unlock_clients(void);

/* ---- library_value.c ---- */

/* How tensors are given. */
typedef enum LibraryGiving {
    LIBRARY_SHARE,          /* the bytes of the value's, where these are in host memory */
    LIBRARY_SHARE_WRITABLE, /* the same, but constants are copied: for host functions */
    LIBRARY_COPY,
} LibraryGiving;
/* Gives a value to the host. */
MUST_CHECK Error *library_value_give(
    LayoverModel *model, const Value *value, LibraryGiving giving, LayoverValue *out);
/* packed_bridge_settle for all tensors of a value that was given as LIBRARY_SHARE_WRITABLE. */
MUST_CHECK Error *library_value_settle(
    const Value *value, const LayoverValue *given, uint32_t index);
/* Takes a value from the host for a model's execution: its tensors are consumed, also on failure.
 * meter: charged for what is made; NULL: none. */
MUST_CHECK Error *library_value_take(
    LayoverModel *model, struct ObjectMeter *meter, const LayoverValue *value, Value *out);
/* Takes several. On success the caller frees *out_values with library_values_free. */
MUST_CHECK Error *library_values_take(
    LayoverModel *model, const LayoverValue *values, uint32_t count, Value **out_values);
void library_values_free(Value *values, uint32_t count);
/* Copies a value of one host function for another; tensors are moved, and consumed on failure. */
MUST_CHECK Error *library_value_adopt(const LayoverValue *value, LayoverValue *out);
/* Calls the deleters of the tensors in a value. */
void library_value_drop(const LayoverValue *value);
/* Makes a tuple of strings. */
MUST_CHECK Error *library_value_names(const char *const *names, uint32_t count, LayoverValue *out);

/* ---- library_state.c ---- */

/* Makes lists of the tuples that are given for parameters that are lists. */
MUST_CHECK Error *library_values_fit(const Function *function, Value *values, uint32_t count);

/* ---- library_texts.c ---- */

/* Takes a tensor of texts by copying them. Errors: INVALID the shape, a text that is not UTF-8. */
MUST_CHECK Error *library_texts_take(const LayoverTexts *texts, Value *out);
MUST_CHECK Error *library_texts_give(const Tensor *tensor, LayoverValue *out);
MUST_CHECK Error *library_texts_adopt(const LayoverTexts *texts, LayoverValue *out);

/* ---- library_function.c ---- */

/* Makes a host function. Errors: INVALID; the context is the caller's then. */
MUST_CHECK Error *library_function_create(const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context),
    LayoverFunction **out);
/* Makes a handle of a model's closure or packed function. */
MUST_CHECK Error *library_function_of_value(
    LayoverModel *model, const char *name, const Value *value, LayoverFunction **out);
LayoverFunction *library_function_retain(LayoverFunction *function);
DEFINE_OWN(LayoverFunction, layover_function_release);
/* Lets the model's bytecode call a host function. registry: the model's. */
MUST_CHECK Error *library_function_link(
    PackedRegistry *registry, LayoverModel *model, LayoverFunction *function);
/* The host function that a registry has under a name; NULL if that is none of this library. */
LayoverFunction *library_function_linked(const PackedRegistry *registry, const char *name);
/* Errors: CONFLICT a host function runs on this thread. */
MUST_CHECK Error *library_check_outside_host(void);
/* Called around each call of a host function. */
void library_enter_host(void);
void library_leave_host(void);

/* ---- library_profile.c ---- */

void library_profile_free(struct LibraryProfile *profile);

/* ---- library_globals.c ---- */

/* Guards the registered functions and the modules' tables. */
void library_lock(void);
void library_unlock(void);
/* Finds a registered function; NULL: none. Borrowed while the lock is held. */
LayoverFunction *library_globals_find(const char *name);
/* Lets the model's bytecode call every registered function whose name is free. Under the lock. */
MUST_CHECK Error *library_globals_link(PackedRegistry *registry, LayoverModel *model);
