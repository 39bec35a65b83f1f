#pragma once
/* The right operand of products of bytes: panels of columns with their zero points and scales.
 * Called by the kernels of integer products when they plan and launch. Pure: no state. */
#include "kernels/cpu/quantized/cpu_integer_operand.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"

typedef struct CpuIntegerColumns {
    CpuIntegerOperand b;
    CpuLowerForm form;
    uint32_t matrix, zero_point, scale; /* inputs */
    bool is_packed;                     /* a constant in panels */
    /* in this operand's part of the workspace */
    uint64_t zeros_offset, scales_offset, panels_offset;
} CpuIntegerColumns;

/* scale: 0: none. */
MUST_CHECK Error *cpu_integer_columns_of(const PlanRequest *request, CpuLowerForm form,
    uint32_t matrix, uint32_t zero_point, uint32_t scale, CpuIntegerColumns *out);
/* Finds the operand's places in its part of the workspace, of *out bytes. Errors: INVALID. */
MUST_CHECK Error *cpu_integer_columns_bytes(CpuIntegerColumns *columns, uint64_t *out);

typedef struct CpuIntegerColumnsRun {
    const char *panels;
    /* [matrix][column] */
    int32_t *zeros; /* of the weights as they are packed: cpu_lower_weight_zero */
    float *scales;  /* NULL: none */
    bool corrects;  /* some zero is not 0 */
} CpuIntegerColumnsRun;

/* Packs what is not packed. */
MUST_CHECK Error *cpu_integer_columns_read(const CpuIntegerColumns *columns, CpuDevice *device,
    const Launch *launch, const CpuWiden *widen, void *workspace, CpuIntegerColumnsRun *out);
