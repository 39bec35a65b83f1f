#pragma once
/* The functions of libtvm_ffi.so that a native worker calls itself: they are found in the libraries
 * that were loaded before the model's. Called by this folder's files of the worker process, on the
 * worker's only thread. */
#include "base/text.h"
#include "kernels/native/native_abi.h"

typedef void NativeAnyFunction(void);

/* Finds a function of a library; handle NULL: of all that were loaded before. NULL: none. The
 * caller casts to the function's type. */
NativeAnyFunction *native_runtime_symbol(void *handle, const char *symbol);
/* Finds a global function, by the name that a library has registered it under. Errors: UNSUPPORTED
 * there is none, or no runtime. Ownership: one reference. */
MUST_CHECK Error *native_runtime_find(const char *name, AbiObject **out_function);
/* Calls a function object. Errors: FAILED, with what was raised. Ownership: *out_result is the
 * caller's. */
MUST_CHECK Error *native_runtime_call(
    AbiObject *function, const AbiAny *arguments, uint32_t count, AbiAny *out_result);
/* Calls the global function of that name once. */
MUST_CHECK Error *native_runtime_call_global(
    const char *name, const AbiAny *arguments, uint32_t count, AbiAny *out_result);
/* Makes a tensor object. tensor->deleter is called when nothing holds the object any more. */
MUST_CHECK Error *native_runtime_make_tensor(DLManagedTensor *tensor, AbiObject **out);
/* Makes an error of what was raised before a function returned the number `code`. */
MUST_CHECK Error *native_runtime_raised(int code);
/* Sets what compiled code raises; returns the number that it returns then. */
int native_runtime_raise(const char *message);
/* Releases an object or, if the value is one, a value's object. NULL: nothing. */
void native_runtime_release(AbiObject *object);
void native_runtime_release_any(AbiAny *any);
/* The name that the runtime has for a type, or its number. */
void native_runtime_append_type(int32_t type, TextBuilder *text);
