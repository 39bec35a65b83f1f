#pragma once
/* Values that an execution keeps by name: functions of register_py_func, tensors of tensor_cache.
 * They are kept like inputs (stateful.h), so snapshots and checkpoints hold them. In Relax these
 * names belong to the process; here each execution has its own. On the execution's thread. */
#include "vm/objects/packed.h"

/* Prefixes of the names under which the execution keeps the values: stored. */
#define RELAX_NAME_FUNCTION "&"
#define RELAX_NAME_TENSOR "@"

/* NULL: there is no such name. Borrowed until the next change. Errors: INVALID without an
 * execution. */
MUST_CHECK Error *relax_names_find(
    const PackedCall *call, const char *prefix, const char *name, const Value **out);
/* Sets or replaces; retains the value. Errors: EXHAUSTED. */
MUST_CHECK Error *relax_names_set(
    const PackedCall *call, const char *prefix, const char *name, const Value *value);
/* name NULL: all names with the prefix. */
MUST_CHECK Error *relax_names_remove(const PackedCall *call, const char *prefix, const char *name);
