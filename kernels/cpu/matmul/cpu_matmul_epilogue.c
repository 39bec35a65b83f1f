#include "kernels/cpu/matmul/cpu_matmul_epilogue.h"

#include <assert.h>

#include "kernels/cpu/loops/cpu_loop_find.h"
#include "kernels/cpu/matmul/cpu_matmul_activate.h"
#include "kernels/operator/operator_lower.h"

enum { GROUP_MAX = 1024 }; /* floats: rows that an activation takes at once */

static void activate(
    const CpuEpilogue *epilogue, void *row, int64_t count, const void *low, const void *high) {
    const CpuOperand operands[CPU_LOOP_OPERANDS_MAX] = {{row, 1}, {low, 0}, {high, 0}};
    epilogue->loop(row, operands, count, &epilogue->parameters);
}

/* How rows end: in registers, or by the activation's loop over finished rows. */
typedef enum End {
    END_PLAIN,
    END_RELU,
    END_CLIP,
    END_SWISH,
    END_HARD_SWISH,
    END_SCALED_HARD_SWISH,
    END_GELU_ERF,
    END_GELU_TANH,
    END_LOOP,
} End;

static End end_of(const CpuEpilogue *epilogue) {
    const Activation activation = epilogue->activation;
    if (activation == ACTIVATION_RELU) return END_RELU;
    if (activation == ACTIVATION_CLIP) return END_CLIP;
    if (activation == ACTIVATION_SWISH) return END_SWISH;
    if (activation == ACTIVATION_HARD_SWISH) return END_HARD_SWISH;
    if (activation == ACTIVATION_SCALED_HARD_SWISH) return END_SCALED_HARD_SWISH;
    if (activation == ACTIVATION_GELU_ERF) return END_GELU_ERF;
    if (activation == ACTIVATION_GELU_TANH) return END_GELU_TANH;
    return epilogue->loop ? END_LOOP : END_PLAIN;
}

/* The parameters that all elements of a row share. */
typedef struct Row {
    float alpha, scale;
    const float *biases; /* NULL: `bias` for all elements, if has_bias */
    float bias;          /* scaled */
    bool has_bias;
    float low, high; /* of the activation: its parameters */
} Row;

CPU_INLINE Row row_of(const CpuEpilogue *epilogue, const float *bias, int64_t bias_step) {
    Row row = {
        .alpha = (float)epilogue->alpha,
        .scale = (float)epilogue->bias_scale,
        .biases = bias_step ? bias : NULL,
        .has_bias = bias != NULL,
        .low = epilogue->limits[0],
        .high = epilogue->limits[1],
    };
    if (bias && !bias_step) row.bias = *bias * row.scale;
    return row;
}

/* Vectors of a row that are computed together. A row's last vector ends with the row, and may
 * share elements with the one before. */
enum { BLOCK = 4 };

/* The vectors of the block at the end of a row of so many vectors, which is computed first, since
 * `to` may be the source. The vector before the last, with which it may share elements, is one of
 * them. */
CPU_INLINE int64_t last_block(int64_t vectors, bool shares) {
    const int64_t last = (vectors - 1) % BLOCK + 1;
    return shares && last == 1 && vectors > 1 ? BLOCK + 1 : last;
}

typedef void Rows(
    const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, End end, float *to, int64_t to_step);

/* Runs groups of rows, with enough elements for a call of the activation's loop. Rows that follow
 * each other are a group where they lie. */
static void run_groups(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, Rows *run) {
    float group[GROUP_MAX];
    const int64_t fitting = GROUP_MAX / rows->count, most = fitting > 1 ? fitting : 1;
    CpuEpilogueRows part = *rows;
    for (int64_t left = rows->rows; left > 0; left -= part.rows) {
        part.rows = left < most ? left : most;
        float *to = part.rows > 1 && part.to_step != part.count ? group : part.to;
        run(epilogue, &part, END_PLAIN, to, part.count);
        activate(epilogue, to, part.rows * part.count, epilogue->limits, epilogue->limits + 1);
        for (int64_t i = 0; i < part.rows && to == group; i++)
            memcpy(part.to + i * part.to_step, group + i * part.count,
                (size_t)part.count * sizeof(float));
        part.sums += part.rows * part.sums_step;
        part.to += part.rows * part.to_step;
        if (part.residual) part.residual += part.rows * part.to_step;
    }
}

static void relu(float *row, int64_t count) {
    for (int64_t i = 0; i < count; i++) row[i] = row[i] < 0 ? 0 : row[i];
}

/* Processes rows by vectors of the level, since gcc moves wider ones through memory. Rows shorter
 * than a vector go to the next narrower one. `end` is a constant in all functions that are inlined;
 * F: the name of the vector's functions. */
#define DEFINE_EPILOGUE(name, TARGET, LANES, F, narrower)                                          \
    typedef float name##Vector __attribute__((vector_size(4 * (LANES))));                          \
    typedef int32_t name##Mask __attribute__((vector_size(4 * (LANES))));                          \
    typedef float name##Unaligned                                                                  \
        __attribute__((vector_size(4 * (LANES)), aligned(4), may_alias));                          \
    CPU_DEFINE_ACTIVATE(F, TARGET, name##Vector, name##Mask);                                      \
    TARGET CPU_INLINE name##Vector name##_at(                                                      \
        const Row *row, const float *sums, const float *residual, int64_t i) {                     \
        name##Vector x = *(const name##Unaligned *)(sums + i) * row->alpha;                        \
        if (row->biases)                                                                           \
            x += *(const name##Unaligned *)(row->biases + i) * row->scale;                         \
        else if (row->has_bias)                                                                    \
            x += row->bias;                                                                        \
        if (residual) x += *(const name##Unaligned *)(residual + i);                               \
        return x;                                                                                  \
    }                                                                                              \
    /* vectors from `first` on, the last one at `last` */                                          \
    TARGET CPU_SPECIALISED void name##_block(const Row *row, const End end, const int count,       \
        const float *sums, const float *residual, int64_t first, int64_t last, float *to) {        \
        name##Vector x[CPU_ACTIVATE_MOST];                                                         \
        CPU_EACH_VECTOR x[i] =                                                                     \
            name##_at(row, sums, residual, i < count - 1 ? first + i * (LANES) : last);            \
        if (end == END_RELU)                                                                       \
            CPU_EACH_VECTOR x[i] =                                                                 \
                (name##Vector)(~(name##Mask)(x[i] < (name##Vector){0}) & (name##Mask)x[i]);        \
        if (end == END_CLIP) F##_clip(x, count, row->low, row->high);                              \
        if (end == END_SWISH) F##_swish(x, count, row->low);                                       \
        if (end == END_HARD_SWISH) F##_hard_swish(x, count);                                       \
        if (end == END_SCALED_HARD_SWISH) F##_scaled_hard_swish(x, count, row->low, row->high);    \
        if (end == END_GELU_ERF) F##_gelu_erf(x, count);                                           \
        if (end == END_GELU_TANH) F##_gelu_tanh(x, count);                                         \
        CPU_EACH_VECTOR *(name##Unaligned *)(to + (i < count - 1 ? first + i * (LANES) : last)) =  \
            x[i];                                                                                  \
    }                                                                                              \
    TARGET CPU_SPECIALISED void name##_row(const Row *row, const End end, const float *sums,       \
        int64_t count, const float *residual, float *to) {                                         \
        const int64_t vectors = (count + (LANES)-1) / (LANES), last = count - (LANES);             \
        const int64_t final = last_block(vectors, count % (LANES) != 0);                           \
        const int64_t first = (vectors - final) * (LANES);                                         \
        if (final == 1)                                                                            \
            name##_block(row, end, 1, sums, residual, first, last, to);                            \
        else if (final == 2)                                                                       \
            name##_block(row, end, 2, sums, residual, first, last, to);                            \
        else if (final == 3)                                                                       \
            name##_block(row, end, 3, sums, residual, first, last, to);                            \
        else if (final == 4)                                                                       \
            name##_block(row, end, 4, sums, residual, first, last, to);                            \
        else                                                                                       \
            name##_block(row, end, 5, sums, residual, first, last, to);                            \
        for (int64_t i = 0; i < first; i += BLOCK * (LANES))                                       \
            name##_block(row, end, BLOCK, sums, residual, i, i + (BLOCK - 1) * (LANES), to);       \
    }                                                                                              \
    /* inlined for each end, and with and without a residual where that takes long */              \
    TARGET CPU_SPECIALISED void name##_each(const Row *row, const End end,                         \
        const CpuEpilogueRows *rows, const float *residual, float *to, int64_t to_step) {          \
        const float *sums = rows->sums;                                                            \
        const int64_t count = rows->count, sums_step = rows->sums_step, step = rows->to_step;      \
        for (int64_t i = rows->rows; i > 0; i--) {                                                 \
            name##_row(row, end, sums, count, residual, to);                                       \
            sums += sums_step;                                                                     \
            to += to_step;                                                                         \
            if (residual) residual += step;                                                        \
        }                                                                                          \
    }                                                                                              \
    TARGET static void name##_run(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows,        \
        End end, float *to, int64_t to_step) {                                                     \
        const Row row = row_of(epilogue, rows->bias, 1);                                           \
        if (end == END_RELU && rows->residual)                                                     \
            name##_each(&row, END_RELU, rows, rows->residual, to, to_step);                        \
        else if (end == END_RELU)                                                                  \
            name##_each(&row, END_RELU, rows, NULL, to, to_step);                                  \
        else if (end == END_CLIP)                                                                  \
            name##_each(&row, END_CLIP, rows, rows->residual, to, to_step);                        \
        else if (end == END_SWISH)                                                                 \
            name##_each(&row, END_SWISH, rows, rows->residual, to, to_step);                       \
        else if (end == END_HARD_SWISH)                                                            \
            name##_each(&row, END_HARD_SWISH, rows, rows->residual, to, to_step);                  \
        else if (end == END_SCALED_HARD_SWISH)                                                     \
            name##_each(&row, END_SCALED_HARD_SWISH, rows, rows->residual, to, to_step);           \
        else if (end == END_GELU_ERF)                                                              \
            name##_each(&row, END_GELU_ERF, rows, rows->residual, to, to_step);                    \
        else if (end == END_GELU_TANH)                                                             \
            name##_each(&row, END_GELU_TANH, rows, rows->residual, to, to_step);                   \
        else if (rows->residual)                                                                   \
            name##_each(&row, END_PLAIN, rows, rows->residual, to, to_step);                       \
        else                                                                                       \
            name##_each(&row, END_PLAIN, rows, NULL, to, to_step);                                 \
    }                                                                                              \
    TARGET static void name##_rows(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows) {     \
        const End end = end_of(epilogue);                                                          \
        if (rows->count < (LANES))                                                                 \
            narrower##_rows(epilogue, rows);                                                       \
        else if (end == END_LOOP)                                                                  \
            run_groups(epilogue, rows, name##_run);                                                \
        else                                                                                       \
            name##_run(epilogue, rows, end, rows->to, rows->to_step);                              \
    }                                                                                              \
    TARGET static void name(const CpuEpilogue *epilogue, const float *sums, int64_t count,         \
        const float *bias, int64_t bias_step, const float *residual, float *to) {                  \
        if (count < (LANES)) {                                                                     \
            narrower(epilogue, sums, count, bias, bias_step, residual, to);                        \
        } else if (!bias || bias_step) {                                                           \
            const CpuEpilogueRows rows = {1, count, sums, count, bias, residual, to, count};       \
            name##_rows(epilogue, &rows);                                                          \
        } else {                                                                                   \
            const Row row = row_of(epilogue, bias, 0);                                             \
            name##_row(&row, END_PLAIN, sums, count, residual, to);                                \
            if (epilogue->activation == ACTIVATION_RELU)                                           \
                relu(to, count);                                                                   \
            else if (epilogue->loop)                                                               \
                activate(epilogue, to, count, epilogue->limits, epilogue->limits + 1);             \
        }                                                                                          \
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

/* Without the activation, which takes the elements of many short rows at once. */
static void epilogue_1_run(
    const CpuEpilogue *epilogue, const CpuEpilogueRows *rows, End end, float *to, int64_t to_step) {
    const float alpha = (float)epilogue->alpha, scale = (float)epilogue->bias_scale;
    (void)end;
    for (int64_t i = 0; i < rows->rows; i++)
        for (int64_t j = 0; j < rows->count; j++) {
            float x = rows->sums[i * rows->sums_step + j] * alpha;
            if (rows->bias) x += rows->bias[j] * scale;
            if (rows->residual) x += rows->residual[i * rows->to_step + j];
            to[i * to_step + j] = x;
        }
}

static void epilogue_1_rows(const CpuEpilogue *epilogue, const CpuEpilogueRows *rows) {
    if (epilogue->loop && rows->rows > 1) {
        run_groups(epilogue, rows, epilogue_1_run);
        return;
    }
    for (int64_t i = 0; i < rows->rows; i++)
        epilogue_1(epilogue, rows->sums + i * rows->sums_step, rows->count, rows->bias, 1,
            rows->residual ? rows->residual + i * rows->to_step : NULL,
            rows->to + i * rows->to_step);
}

DEFINE_EPILOGUE(epilogue_4, , 4, cpu_f32x4, epilogue_1);
#if defined(__x86_64__)
DEFINE_EPILOGUE(epilogue_8, CPU_TARGET_AVX2, 8, cpu_f32x8, epilogue_4);
DEFINE_EPILOGUE(epilogue_16, CPU_TARGET_AVX512, 16, cpu_f32x16, epilogue_8);
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
    case ACTIVATION_SCALED_HARD_SWISH:
        return CPU_LOOP_SCALED_HARD_SWISH;
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
