#pragma once
/* Arguments and results of native functions, and their bytes between a process and its native
 * worker. Called by vm/native/ and this folder. Pure: no state.
 *
 * Values stand in arrays. The fields of a tuple follow it, each with its own fields behind it, so
 * (a, (b, c)) is [tuple of 2] [a] [tuple of 2] [b] [c]. */
#include <stdbool.h>

#include "base/bytes.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/shape.h"

typedef enum NativeKind { /* sent */
    NATIVE_NIL = 0,
    NATIVE_INT = 1,
    NATIVE_BOOL = 2,
    NATIVE_FLOAT = 3,
    NATIVE_DTYPE = 4,
    NATIVE_STRING = 5,
    NATIVE_SHAPE = 6,
    NATIVE_TENSOR = 7,
    NATIVE_TUPLE = 8,
    NATIVE_KIND_COUNT
} NativeKind;

typedef struct NativeTensor {
    DType dtype; /* of whole bytes */
    Shape shape;
    void *data;     /* bytes of this process; the worker's own on its side */
    uint64_t place; /* where the bytes are in the shared data */
    bool writable;  /* the function may write the bytes */
    uint64_t key;   /* not 0: a name of bytes that never change, which the worker keeps */
} NativeTensor;

typedef struct NativeValue {
    NativeKind kind;
    union {
        int64_t integer; /* also 0 or 1 of a bool */
        double real;
        DType dtype;
        struct {
            const char *data; /* followed by a zero byte */
            size_t size;
        } string;
        struct {
            const void *dims; /* int64, any numbers, perhaps not aligned */
            uint32_t count;   /* at most NATIVE_SHAPE_MAX */
        } shape;
        NativeTensor tensor;
        uint32_t field_count; /* of a tuple: values that follow, without their own fields */
    };
} NativeValue;

/* Bytes of a tensor of whole-byte elements; the shape is checked. */
uint64_t native_tensor_bytes(const NativeTensor *tensor);

/* The address of a tensor is not sent, only its place. */
void native_value_write(ByteWriter *writer, const NativeValue *value);
/* A string and a shape stay in the reader's memory. Errors: CORRUPT. */
MUST_CHECK Error *native_value_read(ByteReader *reader, NativeValue *out);
/* Most values of one call or one result, fields included, and most tuples inside each other. */
enum { NATIVE_VALUES_MAX = 4096, NATIVE_DEPTH_MAX = 32 };
/* Most numbers of a shape that is a value, as in Relax; a tensor has at most SHAPE_RANK_MAX. */
enum { NATIVE_SHAPE_MAX = 255 };

/* Checks that `count` values are `top` values with the fields of their tuples. Errors: CORRUPT. */
MUST_CHECK Error *native_values_check(const NativeValue *values, uint32_t count, uint32_t top);
/* "int", "tensor", ... */
const char *native_kind_name(NativeKind kind);
