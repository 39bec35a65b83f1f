#pragma once
/* What a native function gave, in the worker: as values for the parent. Called by native_server.c,
 * on the worker's only thread. */
#include "kernels/native/native_abi.h"
#include "kernels/native/native_value.h"

typedef struct NativeResults {
    uint32_t count;        /* values: the result and the fields of its tuples */
    uint64_t tensor_bytes; /* room for all tensors, each on a multiple of NATIVE_ALIGNMENT */
    bool has_tensors;
} NativeResults;

/* Measures a result. Errors: UNSUPPORTED a value that is not passed on. */
MUST_CHECK Error *native_results_measure(const AbiAny *result, NativeResults *out);
/* Writes a measured result as NATIVE_ANSWER_DONE has it, and its tensors' bytes to data + place. */
MUST_CHECK Error *native_results_write(const AbiAny *result, const NativeResults *measured,
    uint8_t *data, uint64_t place, ByteWriter *out);
