#pragma once
/* Runs cases of tests/relax/builtins/NAME.json: each is a sequence of calls of Relax's functions
 * with the answers that TVM gave (tests/relax/make_builtin_cases.py). A case becomes a function of
 * bytecode, which runs straight and suspended at every instruction through the bytes of a
 * checkpoint, on cpu and on a device with memory of its own. */
#include "tests/support/test_support.h"
#include "vm/execution/execution.h"

void relax_cases_run(const char *name);

/* Calls a function directly, with pools of the host and no execution. The arguments are released.
 * Fails the test unless it gives a value. */
Value relax_call(const char *name, Value *owned_arguments, uint32_t count);
/* The same for a call that must fail with this text in its message. */
void relax_refuses(const char *text, const char *name, Value *owned_arguments, uint32_t count);
#define RELAX_ARGUMENTS(...)                                                                       \
    (Value[]){__VA_ARGS__}, (uint32_t)(sizeof((Value[]){__VA_ARGS__}) / sizeof(Value))
Value relax_string(const char *text);
Value relax_shape(uint32_t rank, const int64_t *dims);
Value relax_floats(uint32_t rank, const int64_t *dims, const float *values);
Value relax_int32s(uint32_t count, const int32_t *values);
/* The same for a call of which nothing is known. */
void relax_try(const char *name, Value *owned_arguments, uint32_t count);
/* Saves a state, loads it, and compares the bytes of both; loads no truncation of them. Bytes with
 * one bit changed are loaded or refused. */
void relax_check_saving(const struct OpaqueKind *kind, const struct Opaque *opaque);
