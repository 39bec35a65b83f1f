#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"

#include <assert.h>

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/operator/operator_lower.h"

enum { GROUP_MAX = 1024 }; /* floats: rows that an activation takes at once */

static void activate(
    const CpuEpilogue *epilogue, void *row, int64_t count, const void *low, const void *high) {
    const CpuOperand operands[CPU_LOOP_OPERANDS_MAX] = {{row, 1}, {low, 0}, {high, 0}};
    epilogue->loop(row, operands, count, &epilogue->parameters);
}

/* The parameters that all elements of a row share. */
typedef struct Row {
    float alpha, scale;
    const float *biases; /* NULL: `bias` for all elements, if has_bias */
    float bias;          /* scaled */
    bool has_bias, relu;
} Row;

CPU_INLINE Row row_of(const CpuEpilogue *epilogue, const float *bias, int64_t bias_step) {
    Row row = {
        .alpha = (float)epilogue->alpha,
        .scale = (float)epilogue->bias_scale,
        .biases = bias_step ? bias : NULL,
        .has_bias = bias != NULL,
        .relu = epilogue->activation == ACTIVATION_RELU,
    };
    if (bias && !bias_step) row.bias = *bias * row.scale;
    return row;
}

typedef void Linear(
    const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, float *to, int64_t to_step);

/* Runs groups of rows, with enough elements for a call of the activation's loop. Rows that follow
 * each other are a group where they lie. */
static void run_groups(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, Linear *linear) {
    float group[GROUP_MAX];
    const int64_t fitting = GROUP_MAX / rows->count, most = fitting > 1 ? fitting : 1;
    CpuEpilogueRows part = *rows;
    for (int64_t left = rows->rows; left > 0; left -= part.rows) {
        part.rows = left < most ? left : most;
        float *to = part.rows > 1 && part.to_step != part.count ? group : part.to;
        linear(epilogue, &part, to, part.count);
        activate(epilogue, to, part.rows * part.count, epilogue->limits, epilogue->limits + 1);
        for (int64_t i = 0; i < part.rows && to == group; i++)
            memcpy(part.to + i * part.to_step, group + i * part.count,
                (size_t)part.count * sizeof(float));
        part.sums += part.rows * part.sums_step;
        part.to += part.rows * part.to_step;
        if (part.residual) part.residual += part.rows * part.to_step;
    }
}

/* Processes rows by vectors of the level, since gcc moves wider ones through memory. A row's last
 * vector ends with the row and is computed first, since `to` may be the source. Rows shorter than a
 * vector go to the next narrower one. */
#define DEFINE_EPILOGUE(name, TARGET, LANES, narrower)                                             \
    typedef float name##Vector __attribute__((vector_size(4 * (LANES))));                          \
    typedef int32_t name##Mask __attribute__((vector_size(4 * (LANES))));                          \
    typedef float name##Unaligned                                                                  \
        __attribute__((vector_size(4 * (LANES)), aligned(4), may_alias));                          \
    TARGET CPU_INLINE name##Vector name##_at(                                                      \
        const Row *row, bool relu, const float *sums, const float *residual, int64_t i) {          \
        const name##Vector zero = {0};                                                             \
        name##Vector x = *(const name##Unaligned *)(sums + i) * row->alpha;                        \
        if (row->biases)                                                                           \
            x += *(const name##Unaligned *)(row->biases + i) * row->scale;                         \
        else if (row->has_bias)                                                                    \
            x += row->bias;                                                                        \
        if (residual) x += *(const name##Unaligned *)(residual + i);                               \
        if (!relu) return x;                                                                       \
        return (name##Vector)(~(name##Mask)(x < zero) & (name##Mask)x);                            \
    }                                                                                              \
    TARGET CPU_INLINE void name##_row(const Row *row, bool relu, const float *sums, int64_t count, \
        const float *residual, float *to) {                                                        \
        const name##Vector last = name##_at(row, relu, sums, residual, count - (LANES));           \
        for (int64_t i = 0; i + (LANES) < count; i += (LANES))                                     \
            *(name##Unaligned *)(to + i) = name##_at(row, relu, sums, residual, i);                \
        *(name##Unaligned *)(to + count - (LANES)) = last;                                         \
    }                                                                                              \
    TARGET static void name(const CpuEpilogue *epilogue, const float *sums, int64_t count,         \
        const float *bias, int64_t bias_step, const float *residual, float *to) {                  \
        if (count < (LANES)) {                                                                     \
            narrower(epilogue, sums, count, bias, bias_step, residual, to);                        \
            return;                                                                                \
        }                                                                                          \
        const Row row = row_of(epilogue, bias, bias_step);                                         \
        name##_row(&row, row.relu, sums, count, residual, to);                                     \
        if (epilogue->loop) activate(epilogue, to, count, epilogue->limits, epilogue->limits + 1); \
    }                                                                                              \
    /* inlined for each combination of residual and relu */                                        \
    TARGET CPU_INLINE void name##_each(const Row *row, bool relu, const CpuEpilogueRows *rows,     \
        const float *residual, float *to, int64_t to_step) {                                       \
        const float *sums = rows->sums;                                                            \
        const int64_t count = rows->count, sums_step = rows->sums_step, step = rows->to_step;      \
        for (int64_t i = rows->rows; i > 0; i--) {                                                 \
            name##_row(row, relu, sums, count, residual, to);                                      \
            sums += sums_step;                                                                     \
            to += to_step;                                                                         \
            if (residual) residual += step;                                                        \
        }                                                                                          \
    }                                                                                              \
    /* without the activation, unless it is relu */                                                \
    TARGET static void name##_linear(                                                              \
        const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, float *to, int64_t to_step) {    \
        const Row row = row_of(epilogue, rows->bias, 1);                                           \
        if (row.relu && rows->residual)                                                            \
            name##_each(&row, true, rows, rows->residual, to, to_step);                            \
        else if (row.relu)                                                                         \
            name##_each(&row, true, rows, NULL, to, to_step);                                      \
        else if (rows->residual)                                                                   \
            name##_each(&row, false, rows, rows->residual, to, to_step);                           \
        else                                                                                       \
            name##_each(&row, false, rows, NULL, to, to_step);                                     \
    }                                                                                              \
    TARGET static void name##_rows(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows) {     \
        if (rows->count < (LANES))                                                                 \
            narrower##_rows(epilogue, rows);                                                       \
        else if (epilogue->loop)                                                                   \
            run_groups(epilogue, rows, name##_linear);                                             \
        else                                                                                       \
            name##_linear(epilogue, rows, rows->to, rows->to_step);                                \
    }                                                                                              \
    struct epilogue_needs_semicolon

static void epilogue_1(const CpuEpilogue *epilogue, const float *sums, int64_t count,
    const float *bias, int64_t bias_step, const float *residual, float *to) {
    for (int64_t i = 0; i < count; i++) {
        float x = sums[i] * (float)epilogue->alpha;
        if (bias) x += bias[i * bias_step] * (float)epilogue->bias_scale;
        if (residual) x += residual[i];
        to[i] = epilogue->activation == ACTIVATION_RELU && x < 0 ? 0 : x;
    }
    if (epilogue->loop) activate(epilogue, to, count, epilogue->limits, epilogue->limits + 1);
}

static void epilogue_1_rows(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows) {
    for (int64_t i = 0; i < rows->rows; i++)
        epilogue_1(epilogue, rows->sums + i * rows->sums_step, rows->count, rows->bias, 1,
            rows->residual ? rows->residual + i * rows->to_step : NULL,
            rows->to + i * rows->to_step);
}

DEFINE_EPILOGUE(epilogue_4, , 4, epilogue_1);
#if defined(__x86_64__)
DEFINE_EPILOGUE(epilogue_8, CPU_TARGET_AVX2, 8, epilogue_4);
DEFINE_EPILOGUE(epilogue_16, CPU_TARGET_AVX512, 16, epilogue_8);
#endif

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
    case ACTIVATION_SWISH:
        return CPU_LOOP_SWISH;
    case ACTIVATION_MISH:
        return CPU_LOOP_MISH;
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
    const OperatorId plain = operator_lower_of(id);
    if (plain == OPERATOR_FUSED_CONV || plain == OPERATOR_FUSED_MATMUL ||
        plain == OPERATOR_FUSED_MATMUL_INTEGER) {
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

bool cpu_epilogue_is_linear(const CpuEpilogue *epilogue) {
    return epilogue->alpha == 1 && epilogue->bias_scale == 1 && !epilogue->loop;
}

CpuEpilogueRow *cpu_epilogue_row_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return epilogue_16;
    if (level == CPU_LEVEL_AVX2) return epilogue_8;
#endif
    (void)level;
    return epilogue_4;
}
CpuEpilogueRowsRun *cpu_epilogue_rows_for(CpuLevel level) {
#if defined(__x86_64__)
    if (level == CPU_LEVEL_AVX512) return epilogue_16_rows;
    if (level == CPU_LEVEL_AVX2) return epilogue_8_rows;
#endif
    (void)level;
    return epilogue_4_rows;
}
CpuEpilogueRowF64 *cpu_epilogue_row_f64_for(CpuLevel level) { return epilogue_row_f64_for(level); }
