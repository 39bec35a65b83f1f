#pragma once
/* What fused operators do with a row of finished sums: scale, bias, residual, activation.
 * Activations are the loops that serve the plain operators, so they give the same bits. */
#include "kernels/operator/activation.h"
#include "kernels/cpu/loops/cpu_loops.h"

typedef struct CpuEpilogue {
    double alpha;      /* times the sum */
    double bias_scale; /* times bias */
    Activation activation;
    CpuLoop *loop; /* of the activation; NULL for none and for relu, which is done on the way */
    CpuParameters parameters;
    float limits[2]; /* clip's, in the element type */
    double limits_f64[2];
} CpuEpilogue;

/* to[i] = activation(alpha * sums[i] + bias_scale * bias[i * bias_step] + residual[i]); bias and
 * residual may be NULL, bias_step is 0 or 1; to may be residual or sums. */
typedef void CpuEpilogueRow(const CpuEpilogue *epilogue, const float *sums, int64_t count,
    const float *bias, int64_t bias_step, const float *residual, float *to);
CpuEpilogueRow *cpu_epilogue_row_for(CpuLevel level);

/* Rows that have the same bias, as many rows at a time as there are: what is the same is looked at
 * once. Steps in floats. */
typedef struct CpuEpilogueRows {
    int64_t rows, count;
    const float *sums;
    int64_t sums_step;
    const float *bias;     /* NULL, or count of them */
    const float *residual; /* NULL, or as `to` lies */
    float *to;
    int64_t to_step;
} CpuEpilogueRows;
typedef void CpuEpilogueRowsRun(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows);
CpuEpilogueRowsRun *cpu_epilogue_rows_for(CpuLevel level);

typedef void CpuEpilogueRowF64(const CpuEpilogue *epilogue, const double *sums, int64_t count,
    const double *bias, int64_t bias_step, const double *residual, double *to);
CpuEpilogueRowF64 *cpu_epilogue_row_f64_for(CpuLevel level);

/* Of a checked request: alpha, beta and activation where the operator has them. dtype: float32 or
 * float64, in which it is computed. Errors: INVALID unknown activation. */
MUST_CHECK Error *cpu_epilogue_of(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuEpilogue *out);
/* True when the sums are the result, but for bias and residual. */
bool cpu_epilogue_is_plain(const CpuEpilogue *epilogue);
/* True when bias, residual and relu are all there is, without factors. */
bool cpu_epilogue_is_linear(const CpuEpilogue *epilogue);
