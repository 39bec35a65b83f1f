#pragma once
/* The common part of products and convolutions at lower precision: the weights as a matrix [depth,
 * columns] and the code for their form, the operands after them, and the end of a row of sums.
 * Called by cpu_lower_conv.c and cpu_lower_matmul.c. Pure: no state. */
#include "kernels/cpu/quantized/cpu_lower_rows.h"
#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"

/* Part of a plan's state. */
typedef struct CpuLowerOperands {
    CpuLowerForm form;
    bool is_int8, is_packed;
    int64_t depth, columns;
    uint32_t bias, residual; /* inputs */
    bool has_bias, has_residual;
    CpuLowerProduct *product;
    CpuLowerRows row;
    CpuEpilogue epilogue;
    CpuEpilogueRow *epilogue_row;
} CpuLowerOperands;

/* Reads a checked request. Errors: INVALID unknown activation. */
MUST_CHECK Error *cpu_lower_operands_of(Device *device, CpuLevel level, const PlanRequest *request,
    int64_t depth, int64_t columns, CpuLowerOperands *out);
/* Reserves room in a workspace for size bytes times each of counts: inout_total grows to the next
 * multiple of DEVICE_ALIGNMENT. Errors: INVALID too large. */
MUST_CHECK Error *cpu_lower_reserve(
    uint64_t size, uint32_t count, const int64_t *counts, uint64_t *inout_total);
/* How many units of so many elements are worth a thread: about 20 µs of reading and writing
 * memory. */
uint64_t cpu_lower_units_of_elements(int64_t elements);
/* Packs plain weights, [depth, columns], for one launch. */
MUST_CHECK Error *cpu_lower_pack_plain(CpuDevice *device, uint32_t threads,
    const CpuLowerOperands *operands, const void *plain, void *to);

/* The results of a launch, float32 [rows, columns], and the operands that are added to them. */
typedef struct CpuLowerResults {
    const float *scales, *bias; /* [columns]; NULL without */
    const float *residual;      /* as `to`; NULL: none */
    float *to;
} CpuLowerResults;

CpuLowerResults cpu_lower_results(const CpuLowerOperands *operands, const Launch *launch);
/* int8: adds to count sums from column on the contribution of elements [0, depth) that are not
 * finite, times weights [first, first + depth) of the packed panels. */
void cpu_lower_add_infinite(const CpuLowerOperands *operands, const char *panels, const float *from,
    int64_t depth, int64_t first, int64_t column, int64_t count, float *inout_sums);
/* The place of one row of sums: count results of a row from column on. */
typedef struct CpuLowerSpan {
    int64_t row, column, count;
} CpuLowerSpan;
/* sums: for int8 int32, else float32; step: of the row that the sums come from; infinite: for int8
 * the numbers to add to the sums as float32, or NULL. */
void cpu_lower_finish_row(const CpuLowerOperands *operands, const CpuLowerResults *results,
    const void *sums, float step, const float *infinite, const CpuLowerSpan *span);
