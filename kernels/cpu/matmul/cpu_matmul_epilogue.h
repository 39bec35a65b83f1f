#pragma once
/* The end of fused operators, applied to a row of finished sums: scale, bias, residual, activation.
 * Activations are the loops of the plain operators, so they give the same bits. Called by the
 * kernels of products and convolutions, on the threads of a launch. Pure: no state. */
#include "kernels/cpu/core/cpu_level.h"
#include "kernels/cpu/loops/cpu_loops.h"
#include "kernels/operator/activation.h"
#include "kernels/operator/plan.h"

typedef struct CpuEpilogue {
    double alpha;      /* times the sum */
    double bias_scale; /* times bias */
    Activation activation;
    CpuLoop *loop; /* of the activation; NULL for none and for relu, which the row function
                    * computes itself */
    CpuParameters parameters;
    float limits[2]; /* for clip, in the element type */
    double limits_f64[2];
} CpuEpilogue;

/* to[i] = activation(alpha * sums[i] + bias_scale * bias[i * bias_step] + residual[i]); bias and
 * residual may be NULL, bias_step is 0 or 1; to may be residual or sums. */
typedef void CpuEpilogueRow(const CpuEpilogue *epilogue, const float *sums, int64_t count,
    const float *bias, int64_t bias_step, const float *residual, float *to);
CpuEpilogueRow *cpu_epilogue_row_for(CpuLevel level);

/* Rows with the same bias, as many as there are, so that checks are made once. Steps in floats. */
typedef struct CpuEpilogueRows {
    int64_t rows, count;
    const float *sums;
    int64_t sums_step;
    const float *bias;     /* NULL, or count of them */
    const float *residual; /* NULL, or with the layout of `to` */
    float *to;
    int64_t to_step;
} CpuEpilogueRows;
typedef void CpuEpilogueRowsRun(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows);
CpuEpilogueRowsRun *cpu_epilogue_rows_for(CpuLevel level);

typedef void CpuEpilogueRowF64(const CpuEpilogue *epilogue, const double *sums, int64_t count,
    const double *bias, int64_t bias_step, const double *residual, double *to);
CpuEpilogueRowF64 *cpu_epilogue_row_f64_for(CpuLevel level);

/* Reads a checked request: alpha, beta and activation if the operator has them. dtype: float32 or
 * float64, the type of the computation. Errors: INVALID unknown activation. */
MUST_CHECK Error *cpu_epilogue_of(
    const PlanRequest *request, CpuLevel level, DType dtype, CpuEpilogue *out);
/* Whether the sums are the result, apart from bias and residual. */
bool cpu_epilogue_is_plain(const CpuEpilogue *epilogue);
/* Whether there is only bias, residual and relu, without factors. */
bool cpu_epilogue_is_linear(const CpuEpilogue *epilogue);
