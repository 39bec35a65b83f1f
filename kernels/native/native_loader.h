#pragma once
/* A library of compiled functions, loaded into this process: only a native worker does that. Called
 * by native_server.c and native_machine.c, on the worker's only thread. */
#include "base/error.h"
#include "kernels/native/native_older.h"

typedef struct NativeLoaded NativeLoaded;

/* Loads the libraries of `preload` (paths separated by ':', "" for none) so that all see their
 * symbols, then the library, and fills the pointers to the runtime's functions that TVM puts into
 * every library that it makes. Functions that nothing else brings are this module's: memory for
 * intermediate results, and parallel loops that run as one task, so that the bits never depend on a
 * number of threads.
 * Errors: UNSUPPORTED, with the system's reason. */
MUST_CHECK Error *native_loader_open(
    const void *bytes, uint64_t size, const char *preload, NativeLoaded **out);
/* Unloads the library; functions of it must not be used any more. */
void native_loader_close(NativeLoaded *loaded);
DEFINE_OWN(NativeLoaded, native_loader_close);
/* A function that was found; one of the two. */
typedef struct NativeCallee {
    AbiFunction *function;
    OlderFunction *older;
} NativeCallee;

/* Finds the function that TVM exports as __tvm_ffi_NAME, or as NAME in a library of TVM up to 0.20,
 * which is known by its symbol __tvm_module_ctx. Errors: NOT_FOUND. */
MUST_CHECK Error *native_loader_find(NativeLoaded *loaded, const char *name, NativeCallee *out);
/* Calls a function. *out_result is ABI_NONE before; an object in it is released with
 * native_runtime_release_any. Errors: FAILED what the function raised; UNSUPPORTED. */
MUST_CHECK Error *native_loader_call(
    const NativeCallee *callee, const AbiAny *arguments, uint32_t count, AbiAny *out_result);
/* Fills the pointers to the runtime's functions again, after TVM's runtime has set them. Errors:
 * UNSUPPORTED. */
MUST_CHECK Error *native_loader_fill(NativeLoaded *loaded);
/* A path under which this process can open the library, as long as it is loaded. */
const char *native_loader_path(const NativeLoaded *loaded);
