#pragma once
/* The functions of an executable's native library as packed functions: bytecode calls them by name,
 * and a worker process runs them. Kept with a residency, used by its executions where the node's
 * operator allows native code. Threads: any. */
#include "kernels/native/native_library.h"
#include "vm/code/executable.h"
#include "vm/objects/packed.h"

typedef struct NativeFunctions NativeFunctions;

/* Whether and how an execution may run native code. */
typedef struct NativeRules {
    bool allowed;        /* false: an execution that needs a native function does not start */
    const char *preload; /* libraries that a worker loads before, separated by ':'; NULL: none */
} NativeRules;

/* library: the tensor of the executable's native library, in host memory; outlives the functions.
 * No worker is started yet. Errors: CORRUPT the bytes have another SHA-256 than the executable
 * says.
 */
MUST_CHECK Error *native_functions_create(const Executable *executable,
    const struct Tensor *library, const char *preload, NativeFunctions **out);
void native_functions_release(NativeFunctions *functions);
DEFINE_OWN(NativeFunctions, native_functions_release);
/* Gives the packed function that calls the executable's function of that index, with its context,
 * which lives as long as the functions. The library must have a function of that name when it is
 * called.
 *
 * A native function may write the bytes of tensors that it gets if these are in a storage of
 * AllocStorage, or if nobody else holds them; it is given copies of all others. Tensors must be in
 * host memory. */
void native_functions_get(
    NativeFunctions *functions, uint32_t index, PackedFunction **out_function, void **out_context);
