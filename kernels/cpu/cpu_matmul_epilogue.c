#include "kernels/cpu/cpu_matmul_epilogue.h"

#include <assert.h>

#include "kernels/cpu/cpu_vector.h"

static void activate(
    const CpuEpilogue *epilogue, void *row, int64_t count, const void *low, const void *high) {
    const CpuOperand operands[CPU_LOOP_OPERANDS_MAX] = {{row, 1}, {low, 0}, {high, 0}};
    epilogue->loop(row, operands, count, &epilogue->parameters);
}

CPU_INLINE void epilogue_row_body(const CpuEpilogue *epilogue, const float *sums, int64_t count,
    const float *bias, int64_t bias_step, const float *residual, float *to) {
    const float alpha = (float)epilogue->alpha, scale = (float)epilogue->bias_scale;
    const CpuF32x16 zero = {0};
    const bool relu = epilogue->activation == ACTIVATION_RELU;
    for (int64_t i = 0; i < count; i += CPU_VECTOR_LANES) {
        const int64_t left = count - i;
        CpuF32x16 x = cpu_f32x16_load_part(sums + i, left, 0) * alpha;
        if (bias && bias_step)
            x += cpu_f32x16_load_part(bias + i, left, 0) * scale;
        else if (bias)
            x += *bias * scale;
        if (residual) x += cpu_f32x16_load_part(residual + i, left, 0);
        if (relu) x = cpu_f32x16_select(x < zero, zero, x);
        cpu_f32x16_store_part(to + i, left, x);
    }
    if (epilogue->loop) activate(epilogue, to, count, epilogue->limits, epilogue->limits + 1);
}
CPU_VARIANTS(epilogue_row,
    (const CpuEpilogue *epilogue, const float *sums, int64_t count, const float *bias,
        int64_t bias_step, const float *residual, float *to),
    (epilogue, sums, count, bias, bias_step, residual, to));

CPU_INLINE void epilogue_row_f64_body(const CpuEpilogue *epilogue, const double *sums,
    int64_t count, const double *bias, int64_t bias_step, const double *residual, double *to) {
    for (int64_t i = 0; i < count; i++) {
        double x = sums[i] * epilogue->alpha;
        if (bias) x += bias[i * bias_step] * epilogue->bias_scale;
        if (residual) x += residual[i];
        to[i] = epilogue->activation == ACTIVATION_RELU && x < 0 ? 0 : x;
    }
    if (epilogue->loop)
        activate(epilogue, to, count, epilogue->limits_f64, epilogue->limits_f64 + 1);
}
CPU_VARIANTS(epilogue_row_f64,
    (const CpuEpilogue *epilogue, const double *sums, int64_t count, const double *bias,
        int64_t bias_step, const double *residual, double *to),
    (epilogue, sums, count, bias, bias_step, residual, to));

static CpuLoopId loop_of(Activation activation) {
    switch (activation) {
    case ACTIVATION_LEAKY_RELU:
        return CPU_LOOP_LEAKY_RELU;
    case ACTIVATION_CLIP:
        return CPU_LOOP_CLIP;
    case ACTIVATION_TANH:
        return CPU_LOOP_TANH;
    case ACTIVATION_SIGMOID:
        return CPU_LOOP_SIGMOID;
    case ACTIVATION_HARD_SWISH:
        return CPU_LOOP_HARD_SWISH;
    case ACTIVATION_GELU_ERF:
        return CPU_LOOP_GELU_ERF;
    case ACTIVATION_GELU_TANH:
        return CPU_LOOP_GELU_TANH;
    case ACTIVATION_NONE:
    case ACTIVATION_RELU:
    case ACTIVATION_COUNT:
        break;
    }
    return CPU_LOOP_COUNT;
}

Error *cpu_epilogue_of(const PlanRequest *request, CpuLevel level, DType dtype, CpuEpilogue *out) {
    const OperatorId id = request->operator_info->id;
    const Attributes *attributes = request->attributes;
    CpuEpilogue epilogue = {.alpha = 1, .bias_scale = 1};
    if (id == OPERATOR_GEMM || id == OPERATOR_FUSED_MATMUL)
        epilogue.alpha = attributes_float(attributes, "alpha");
    if (id == OPERATOR_GEMM) epilogue.bias_scale = attributes_float(attributes, "beta");
    if (id == OPERATOR_FUSED_CONV || id == OPERATOR_FUSED_MATMUL) {
        TRY(activation_of(attributes, &epilogue.activation));
        epilogue.parameters.alpha = attributes_float(attributes, "activation_alpha");
        epilogue.parameters.beta = attributes_float(attributes, "activation_beta");
        epilogue.limits[0] = (float)(epilogue.limits_f64[0] = epilogue.parameters.alpha);
        epilogue.limits[1] = (float)(epilogue.limits_f64[1] = epilogue.parameters.beta);
        const CpuLoopId loop = loop_of(epilogue.activation);
        if (loop != CPU_LOOP_COUNT) epilogue.loop = cpu_loop_find(level, loop, dtype);
        assert(loop == CPU_LOOP_COUNT || epilogue.loop);
    }
    *out = epilogue;
    return NULL;
}

bool cpu_epilogue_is_plain(const CpuEpilogue *epilogue) {
    return epilogue->alpha == 1 && epilogue->activation == ACTIVATION_NONE;
}

CpuEpilogueRow *cpu_epilogue_row_for(CpuLevel level) { return epilogue_row_for(level); }
CpuEpilogueRowF64 *cpu_epilogue_row_f64_for(CpuLevel level) { return epilogue_row_f64_for(level); }
