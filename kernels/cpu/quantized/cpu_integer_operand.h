#pragma once
/* The operands of products of bytes: rows minus their zero points as 16-bit integers, scales as
 * float32. Called by the kernels of integer products when they plan
 * and launch. Pure: no state. */
#include "kernels/cpu/quantized/cpu_integer_product.h"
#include "kernels/cpu/elementwise/cpu_small.h"
#include "kernels/tensor/shape.h"

/* One number for every line of every matrix: zero points, scales. */
typedef struct CpuLines {
    uint64_t count;                /* of numbers; 0: absent */
    int64_t line;                  /* from one line's number to the next: 0 or 1 */
    int64_t batch[SHAPE_RANK_MAX]; /* along each batch dimension of the operand */
} CpuLines;

/* Lines are the rows of A, the columns of B. Strides in elements. */
typedef struct CpuIntegerOperand {
    bool is_signed;
    int64_t lines, depth;
    int64_t line_stride, depth_stride, matrix_stride;
    Shape batch;
    int64_t matrices; /* of the batch */
    CpuLines zero_points, scales;
} CpuIntegerOperand;

/* Reads matrix operand `matrix` (rank 1: one row or one column) with the inputs of those numbers as
 * its zero points and scales; scale 0: none. */
MUST_CHECK Error *cpu_integer_operand_of(const PlanRequest *request, uint32_t matrix,
    uint32_t zero_point, uint32_t scale, bool rows, CpuIntegerOperand *out);
/* The index of a matrix's first number. */
int64_t cpu_lines_first(const CpuLines *lines, const Shape *batch, int64_t matrix);

static inline int64_t cpu_integer_pairs(int64_t depth) { return depth / 2 + depth % 2; }
static inline int64_t cpu_integer_panels(int64_t columns) {
    return columns / CPU_INTEGER_PANEL + (columns % CPU_INTEGER_PANEL != 0);
}
/* Bytes of all the operand's matrices by rows. Errors: INVALID. */
MUST_CHECK Error *cpu_integer_row_bytes(const CpuIntegerOperand *operand, uint64_t *out);
/* Fill rows of all matrices. zero_points: NULL: none. */
MUST_CHECK Error *cpu_integer_pack_rows(CpuDevice *device, uint32_t threads,
    const CpuIntegerOperand *operand, const void *data, const void *zero_points, int16_t *out);

/* The bytes of an input; of one without elements, which has no address, a byte that is not read. */
static inline const uint8_t *cpu_integer_bytes(const Launch *launch, uint32_t index) {
    static const uint8_t nothing = 0;
    const uint8_t *bytes = cpu_input(launch, index);
    return bytes ? bytes : &nothing;
}

/* Loads one number of a byte type. */
static inline int32_t cpu_integer_load(bool is_signed, const void *data, int64_t index) {
    const uint8_t byte = ((const uint8_t *)data)[index];
    return is_signed ? (int8_t)byte : byte;
}

/* Widens scales to float32. */
void cpu_integer_widen_scales(const CpuWiden *widen, const void *data, uint64_t count, float *out);
