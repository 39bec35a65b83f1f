#pragma once
/* TVM's own virtual machine inside a native worker, for functions that TVM compiled whole
 * (relax.build with exec_mode="compiled"). Such a function is exported as __vmtir__NAME; it works
 * on registers, constants and functions of a machine, which libtvm_runtime.so makes from the Relax
 * executable that the library holds. A call runs the whole function.
 *
 * Called by native_server.c. Threads: the worker's only one. */
#include "kernels/native/native_loader.h"

typedef struct NativeMachine NativeMachine;

#define NATIVE_MACHINE_PREFIX "__vmtir__"

/* Makes a machine for the library's executable, on the host, without a pool of memory.
 * Errors: UNSUPPORTED no loaded library has TVM's runtime, or the library holds no executable;
 * FAILED TVM's reason. */
MUST_CHECK Error *native_machine_create(NativeLoaded *loaded, NativeMachine **out);
void native_machine_release(NativeMachine *machine);
DEFINE_OWN(NativeMachine, native_machine_release);
/* Finds the function NAME of the name __vmtir__NAME. Errors: NOT_FOUND. Ownership: the machine's.
 */
MUST_CHECK Error *native_machine_find(
    NativeMachine *machine, const char *name, AbiObject **out_function);
