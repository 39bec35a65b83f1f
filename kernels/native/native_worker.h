#pragma once
/* A worker process that runs the functions of one native library, as its parent sees it. Native
 * code is trusted by the operator of a node, but its mistakes must not end the daemon: in a process
 * of its own it can be killed while it runs, and its crash is an error of one call.
 *
 * Called by native_library.c. Threads: one at a time. */
#include "kernels/native/native_value.h"

typedef struct NativeWorker NativeWorker;

/* The bytes of a shared library and the libraries that it needs. Borrowed. */
typedef struct NativeImage {
    const void *bytes;
    uint64_t size;
    const char *name;    /* for messages */
    const char *preload; /* paths of libraries to load before, separated by ':'; "" for none */
} NativeImage;

/* Starts a worker that has loaded the library. Errors: UNSUPPORTED no worker can be started, or the
 * library cannot be loaded (says why); FAILED the worker ended; IO; OUT_OF_MEMORY. */
MUST_CHECK Error *native_worker_start(const NativeImage *image, NativeWorker **out);
/* The arguments of a call. */
typedef struct NativeArgumentList {
    NativeValue *values;  /* the arguments, each followed by the fields of its tuples */
    uint32_t value_count; /* up to NATIVE_VALUES_MAX */
    uint32_t count;       /* arguments, up to NATIVE_ARGUMENTS_MAX */
} NativeArgumentList;

/* Takes the result of a call. */
typedef struct NativeReceiver {
    /* Called after the function has returned and before its effects reach the caller's tensors.
     * result: followed by the fields of its tuples. Its strings and tensors are valid until this
     * returns. After an error, and when `again`
     * was set, the effects are dropped: the call can be made again. */
    Error *(*receive)(struct NativeReceiver *self, const NativeValue *result);
    bool again;
} NativeReceiver;

/* Calls a function and waits for its end. Writes each tensor's `place`. Bytes of writable tensors
 * are copied back after a call that succeeded.
 * Errors: FAILED the function returned an error, wrote outside its tensors, or its worker ended
 * (the message says how); NOT_FOUND the library has no such function; ABANDONED the execution is
 * thrown away: the worker was killed; EXHAUSTED too many bytes; the receiver's. */
MUST_CHECK Error *native_worker_call(NativeWorker *worker, const char *function,
    const NativeArgumentList *arguments, NativeReceiver *receiver);
/* False: the worker has ended or was killed; only native_worker_end remains to be called. */
bool native_worker_is_alive(const NativeWorker *worker);
void native_worker_end(NativeWorker *worker);
DEFINE_OWN(NativeWorker, native_worker_end);
