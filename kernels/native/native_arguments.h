#pragma once
/* The arguments of one native call, in the worker: values that the parent sent, as TVM's code takes
 * them. Called by native_server.c, on the worker's only thread. */
#include "kernels/native/native_abi.h"
#include "kernels/native/native_value.h"

typedef struct NativeHolder NativeHolder;

typedef struct NativeArguments {
    AbiAny *items; /* `count` */
    uint32_t count;
    NativeHolder *holders; /* what the items refer to: one for each value, fields included */
    uint32_t holder_count;
    bool objects; /* tensors are objects, not views */
} NativeArguments;

/* The data that both processes share. */
typedef struct NativeShared {
    uint8_t *data;
} NativeShared;

/* Reads the arguments of a call (NATIVE_COMMAND_CALL behind the name) to the end. Strings stay in
 * the reader's memory.
 *
 * objects: the code may hold its tensors while it runs, so they are counted objects; without it
 *   only the fields of tuples are.
 * Errors: CORRUPT; UNSUPPORTED an argument needs TVM's runtime, which is not loaded. */
MUST_CHECK Error *native_arguments_read(
    ByteReader *in, const NativeShared *shared, bool objects, NativeArguments *out);
/* Releases the arguments. Call it after the result was released. *out_kept: something holds an
 * argument still, so the process must not serve another call; the memory stays. */
void native_arguments_deinit(NativeArguments *arguments, bool *out_kept);
