#pragma once
/* Copies a row segment of an image's channels into the columns of a matrix block, with zeros
 * outside the image. Called by cpu_conv_kernel's loops on the threads of a launch. Pure: no
 * state. */
#include "kernels/cpu/core/cpu_internal.h"

typedef struct CpuGather {
    const float *from; /* row of the first channel; NULL: all zeros */
    int64_t start;     /* element of the row for column 0; may be < 0 */
    int64_t stride;    /* elements a column */
    int64_t size;      /* of the row */
    int64_t count;     /* columns, 1 … 64 */
    int64_t channels, channel_step;
    float *to;
    int64_t to_step; /* between channels */
} CpuGather;

typedef void CpuGatherRows(const CpuGather *gather);
void cpu_conv_gather_portable(const CpuGather *gather);
void cpu_conv_gather_avx512(const CpuGather *gather);
CpuGatherRows *cpu_conv_gather_for(CpuLevel level);
