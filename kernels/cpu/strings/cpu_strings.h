#pragma once
/* Functions that the kernels of strings share. These kernels run on one thread, since texts have
 * any length. */
#include "base/checked.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/tensor/string_tensor.h"

#define DTYPES_STRING DTYPE_BIT(DTYPE_STRING)

/* The elements of two inputs, broadcast to a shape, one pair after the other. */
typedef struct CpuStringPairs {
    const void *data[2];
    int64_t counts[2]; /* elements of each input */
    Shape shape;
    int64_t strides[2][SHAPE_RANK_MAX];
    int64_t position[SHAPE_RANK_MAX], at[2];
} CpuStringPairs;

CpuStringPairs cpu_string_pairs_open(const Shape *shape, const Shape *a, const Shape *b);
/* Returns the present pair and moves to the next one. */
void cpu_string_pairs_next(CpuStringPairs *pairs, StringView *out_a, StringView *out_b);

/* As string_writer_add, but checks the stop between pieces of a text. */
enum { CPU_STRING_PIECE = 4 << 20 };
MUST_CHECK Error *cpu_string_write(StringWriter *writer, StringView text, KernelStopMeter *meter);
/* Errors: INVALID more than 2^64 bytes. */
MUST_CHECK Error *cpu_strings_add_size(uint64_t *inout_bytes, uint64_t size);
