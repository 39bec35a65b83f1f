#pragma once
/* What the functions of relax_builtins.def share: reading arguments, making tensors, errors with
 * their context. On the thread of the execution that calls the function. */
#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/object.h"
#include "vm/objects/packed.h"

/* A function of relax_builtins.def: a PackedFunction whose arguments fit the signature, and whose
 * *out_result is nil on entry. */
#define RELAX(name)                                                                                \
    Error *relax_##name(PackedCall *call, const Value *arguments, uint32_t count, void *context,   \
        Value *out_result)
#define RELAX_UNUSED()                                                                             \
    (void)call;                                                                                    \
    (void)arguments;                                                                               \
    (void)count;                                                                                   \
    (void)context;                                                                                 \
    (void)out_result

/* A tuple is an ADT of tag 0; a list that came in as an argument is read like one. */
static inline bool relax_is_tuple(const Value *value) {
    return value_is(value, OBJECT_LIST) || (value_is(value, OBJECT_ADT) && value->adt->tag == 0);
}

/* The content of an argument with letter i or f. */
static inline int64_t relax_int(const Value *value) {
    return value->tag == VALUE_BOOL ? (int64_t)value->boolean : value->integer;
}
double relax_number(const Value *value);
/* Reads an int that must be in 0 .. limit - 1. what: for the message. */
MUST_CHECK Error *relax_index(const Value *value, const char *what, uint64_t limit, uint64_t *out);

/* Puts the context string of a check before the message. context: a string, or anything else for
 * none. Consumes the error. */
MUST_CHECK Error *relax_wrap(Error *owned_error, const Value *context);

/* Makes an unwritten tensor in the execution's memory. *out is NULL where memory is needed; the
 * call says so then, and the function returns. */
MUST_CHECK Error *relax_new_tensor(
    PackedCall *call, uint8_t slot, DType dtype, const Shape *shape, Tensor **out);
/* Fails unless the tensor is written and in this execution's memory. name: for messages. */
MUST_CHECK Error *relax_readable(const PackedCall *call, const char *name, const Tensor *tensor);
/* The bytes of a readable tensor in host memory: its own, or a copy in *out_owned, which the caller
 * frees with memory_free. */
MUST_CHECK Error *relax_host_bytes(const PackedCall *call, const char *name, const Tensor *tensor,
    const void **out_bytes, void **out_owned);
#define OWN_MEMORY(name) __attribute__((cleanup(relax_free_memory), unused)) void *name
void relax_free_memory(void **block);
/* A sequence of ints: a shape, a tuple of ints, or a tensor [n] of int32 or int64. The caller frees
 * *out_owned with memory_free. */
MUST_CHECK Error *relax_ints(const PackedCall *call, const char *name, const Value *value,
    int64_t **out_owned, uint32_t *out_count);
MUST_CHECK Error *relax_new_shape(const int64_t *dims, uint64_t rank, Value *out);
/* Ints as a value: a shape, or a tuple where there are too many for a shape. */
MUST_CHECK Error *relax_new_ints(
    const PackedCall *call, const int64_t *ints, uint64_t count, Value *out);

/* A tensor's bytes in host memory while a function works on them. */
typedef struct RelaxBytes {
    Tensor *tensor; /* borrowed */
    void *bytes;    /* of the tensor or of `owned` */
    void *owned;    /* a copy; NULL where the device's memory is host memory */
} RelaxBytes;
void relax_bytes_close(RelaxBytes *bytes);
#define OWN_TENSOR_BYTES(name) __attribute__((cleanup(relax_bytes_close))) RelaxBytes name
/* Fails unless the function may write the tensor. */
MUST_CHECK Error *relax_check_written(
    const PackedCall *call, const char *name, const Tensor *tensor);
/* Opens a tensor that the function will write: it is in a mutable storage, or the caller's register
 * is the only holder. read: its elements are also read. Errors: INVALID. */
MUST_CHECK Error *relax_open_written(
    const PackedCall *call, const char *name, Tensor *tensor, bool read, RelaxBytes *out);
/* Brings the bytes into the tensor. */
MUST_CHECK Error *relax_store(const PackedCall *call, const RelaxBytes *bytes);
MUST_CHECK Error *relax_expect_dtype(const char *name, const Tensor *tensor, DType dtype);
