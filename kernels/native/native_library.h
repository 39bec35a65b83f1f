#pragma once
/* A library of native functions and the worker processes that run them. A call borrows an idle
 * worker or starts one, so calls of several executions run side by side, and a worker that is
 * killed with its execution takes nobody else's call with it. Called by vm/native/.
 *
 * Threads: any. */
#include "kernels/native/native_worker.h"

typedef struct NativeLibrary NativeLibrary;

/* The workers that are kept while nobody calls. */
enum { NATIVE_IDLE_MAX = 4 };

/* image: the bytes must outlive the library; the texts are copied. No worker is started yet. */
MUST_CHECK Error *native_library_create(const NativeImage *image, NativeLibrary **out);
NativeLibrary *native_library_retain(NativeLibrary *library);
void native_library_release(NativeLibrary *library);
DEFINE_OWN(NativeLibrary, native_library_release);

/* As native_worker_call. Errors: also those of native_worker_start. */
MUST_CHECK Error *native_library_call(NativeLibrary *library, const char *function,
    const NativeArgumentList *arguments, NativeReceiver *receiver);
