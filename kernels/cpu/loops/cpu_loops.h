#pragma once
/* Loops over contiguous elements, compiled once for each instruction set level from the same
 * source; their bits do not depend on the level. Here are the types of a loop, its operands and its
 * parameters; cpu_loop_find.h finds the loops. Pure: no state.
 *
 * The loops are in cpu_loops_<family>.c: each file is compiled three times with CPU_LOOPS_LEVEL 0,
 * 1, 2, and all its functions are static but the finder, whose name has the level. */
#include <stdint.h>

typedef enum CpuLoopId {
#define CPU_LOOP(name, operands) CPU_LOOP_##name,
#include "kernels/cpu/loops/cpu_loops.def"
#undef CPU_LOOP
    CPU_LOOP_COUNT
} CpuLoopId;

enum { CPU_LOOP_OPERANDS_MAX = 3 };

/* step: 1 for consecutive elements, 0 for one element repeated. */
typedef struct CpuOperand {
    const void *data;
    int64_t step;
} CpuOperand;

/* Attributes, for the loops that have some. */
typedef struct CpuParameters {
    double alpha, beta;
} CpuParameters;

/* count >= 1; unless count is 1 some operand has step 1. out may be the address of an operand of
 * step 1 and of the same element size; no other overlap. */
typedef void CpuLoop(
    void *out, const CpuOperand *operands, int64_t count, const CpuParameters *parameters);

/* Between bytes and float32: parameters are the scale (alpha) and the zero point (beta). Quantizing
 * divides by the scale, or multiplies by the alpha given; it rounds to even and saturates, and NaN
 * becomes the zero point. */
typedef enum CpuByteLoop {
    CPU_BYTES_DEQUANTIZE,
    CPU_BYTES_QUANTIZE,
    CPU_BYTES_QUANTIZE_BY,
    CPU_BYTE_LOOP_COUNT
} CpuByteLoop;

/* Units of an LSTM whose gates use sigmoid and tanh and no other function. */
typedef struct CpuLstmRow {
    const float *gates, *products; /* input, output, forget, cell: these two are added first */
    int64_t gate_step;             /* from one gate to the next, in elements */
    int64_t count;                 /* units */
    float *c, *h;                  /* [count] each: c is updated in place, h is written */
} CpuLstmRow;

/* Bits as those of CPU_LOOP_ADD, _SIGMOID, _TANH and _MUL in turn; a NaN in c becomes the canonical
 * one. */
typedef void CpuLstmLoop(const CpuLstmRow *row);

typedef enum CpuReduction {
    CPU_REDUCE_SUM,
    CPU_REDUCE_SUM_SQUARE,
    CPU_REDUCE_PROD,
    CPU_REDUCE_MAX,
    CPU_REDUCE_MIN,
    CPU_REDUCE_SUM_ABS,
    CPU_REDUCTION_COUNT
} CpuReduction;

/* The running result of a reduction: float64 for floats, 64 bits of the same signedness for
 * integers. */
typedef union CpuTotal {
    double f64;
    int64_t i64;
    uint64_t u64;
} CpuTotal;

/* totals[i] = totals[i] combined with the reduction of `length` elements at x + i * row_stride (in
 * elements), i < count. The order of combining depends on length alone. */
typedef void CpuReduceRows(
    CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride);
/* totals[i] = totals[i] combined with x[j * row_stride + i] for j < length in that order. */
typedef void CpuReduceColumns(
    CpuTotal *totals, const void *x, int64_t count, int64_t length, int64_t row_stride);

typedef struct CpuReducer {
    CpuReduceRows *rows;
    CpuReduceColumns *columns;
    CpuTotal identity;
} CpuReducer;
