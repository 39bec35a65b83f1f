#pragma once
/* Adds packed functions of the public header (layover.h) to a registry of the VM. Callers:
 * library.c, run_machine.c. Threads: one at a time per registry. */
#include "include/layover.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/packed.h"

/* Give and take nil, bools, ints and floats, of which every value of the border has the same form.
 * False: the value is none of these; *out is unchanged. */
bool packed_bridge_give_scalar(const Value *value, LayoverValue *out);
bool packed_bridge_take_scalar(const LayoverValue *value, Value *out);

/* Gives a tensor for a host function: in place, but for a constant, which all executions share, and
 * for a tensor outside host memory, which are copied. */
MUST_CHECK Error *packed_bridge_export(Tensor *tensor, DLManagedTensor **out);
/* Called after the function, with what it was given: brings what it wrote to a tensor of a mutable
 * storage back to the tensor's device. index: the argument's. Errors: INVALID it has written to a
 * constant. */
MUST_CHECK Error *packed_bridge_settle(
    Tensor *tensor, const DLManagedTensor *given, uint32_t index);

/* Adds a function. release may be NULL; else it is called with the context when the registry is
 * released. Errors: CONFLICT, INVALID. */
MUST_CHECK Error *packed_bridge_add(PackedRegistry *registry, const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context));
/* Loads a trusted shared library, which registers its functions and stays loaded. Errors:
 * NOT_FOUND, INVALID. */
MUST_CHECK Error *packed_bridge_load(PackedRegistry *registry, const char *path);
