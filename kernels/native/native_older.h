#pragma once
/* Functions of libraries that TVM up to 0.20 compiled, which take their arguments in another way
 * than those of native_abi.h: values, numbers of their types, and where to put the result. Called
 * by native_loader.c, in the worker process only. The text of the last error is the process's.
 *
 * Source: tvm/runtime/c_runtime_api.h and c_backend_api.h of TVM 0.6 to 0.19 (TVMValue,
 * TVMArgTypeCode, TVMBackendPackedCFunc). */
#include "base/error.h"
#include "kernels/native/native_abi.h"

typedef enum OlderType { /* numbers of the interface */
    OLDER_INT = 0,
    OLDER_FLOAT = 2,
    OLDER_NULL = 4,
    OLDER_DTYPE = 5,
    OLDER_TENSOR = 7, /* a DLTensor that the caller keeps */
    OLDER_TEXT = 11,
} OlderType;

enum { DLPACK_BOOL = 6 }; /* the code of a bool, which dlpack.h has from 0.8 on */

typedef union OlderValue {
    int64_t integer;
    double real;
    void *pointer;
    const char *text;
    DLDataType dtype;
} OlderValue;

/* The type of every exported function. Returns 0, or another number after it has set the text of
 * an error. */
typedef int OlderFunction(OlderValue *values, int *types, int count, OlderValue *out_result,
    int *out_type, void *resource);

/* Calls a function with arguments as native_abi.h has them. A bool is there an unsigned integer of
 * one bit.
 *
 * Errors: FAILED the function's; UNSUPPORTED an argument or a result that it has no number for. */
MUST_CHECK Error *native_older_call(
    OlderFunction *function, const AbiAny *arguments, uint32_t count, AbiAny *out_result);

/* What the pointers of such a library point to. */
void native_older_set_error(const char *text);
int native_older_call_found(void *function, OlderValue *values, int *types, int count,
    OlderValue *out_result, int *out_type);
