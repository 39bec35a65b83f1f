#pragma once
/* Native functions as packed functions: bytecode calls them by name, and a worker process runs
 * them. Called by whoever makes the registry of an execution, where the node's operator allows
 * native code. Threads: as packed.h. */
#include "kernels/native/native_library.h"
#include "vm/code/executable.h"
#include "vm/objects/packed.h"

/* Adds every packed function that the executable names and the registry lacks; the library must
 * have a function of that name when it is called. Retains the library.
 *
 * A function may write the bytes of tensors that it gets if these are in a storage of AllocStorage,
 * or if nobody else holds them; it is given copies of all others. Tensors must be in host memory.
 */
MUST_CHECK Error *native_functions_add(
    PackedRegistry *registry, const Executable *executable, NativeLibrary *library);
