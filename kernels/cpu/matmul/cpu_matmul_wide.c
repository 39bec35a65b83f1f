/* MatMul, Gemm and FusedMatMul of float64, and MatMul and Gemm of integers (which wrap). Each
 * element is a chain in the order of k without fused multiply-adds: the same bits everywhere. */
#include <math.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/matmul/cpu_matmul.h"
#include "kernels/cpu/core/cpu_vector.h"

enum { COLUMNS = 64, ROWS = 8 }; /* of a unit */

/* sums[j] = a[k] b[k][j] summed over k < depth, for j < columns */
typedef void WideRow(const void *a, int64_t a_column, const void *b, int64_t b_row,
    int64_t b_column, int64_t depth, int64_t columns, void *sums);

#define DEFINE_ROW(name, T, W)                                                                     \
    CPU_INLINE void name##_body(const void *a_, int64_t a_column, const void *b_, int64_t b_row,   \
        int64_t b_column, int64_t depth, int64_t columns, void *sums_) {                           \
        const T *a = a_, *b = b_;                                                                  \
        T *sums = sums_;                                                                           \
        for (int64_t j = 0; j < columns; j++) sums[j] = 0;                                         \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            if (kernel_stop_ends_after(&meter, 2 * (uint64_t)columns)) return;                     \
            const T factor = a[k * a_column];                                                      \
            const T *from = b + k * b_row;                                                         \
            if (b_column == 1)                                                                     \
                for (int64_t j = 0; j < columns; j++)                                              \
                    sums[j] = (T)((W)sums[j] + (W)factor * (W)from[j]);                            \
            else                                                                                   \
                for (int64_t j = 0; j < columns; j++)                                              \
                    sums[j] = (T)((W)sums[j] + (W)factor * (W)from[j * b_column]);                 \
        }                                                                                          \
    }                                                                                              \
    CPU_VARIANTS(name,                                                                             \
        (const void *a, int64_t a_column, const void *b, int64_t b_row, int64_t b_column,          \
            int64_t depth, int64_t columns, void *sums),                                           \
        (a, a_column, b, b_row, b_column, depth, columns, sums));                                  \
    struct row_needs_semicolon

DEFINE_ROW(row_8, uint8_t, uint32_t); /* signed integers wrap to the same bits */
DEFINE_ROW(row_16, uint16_t, uint32_t);
DEFINE_ROW(row_32, uint32_t, uint32_t);
DEFINE_ROW(row_64, uint64_t, uint64_t);

typedef double F64x4 __attribute__((vector_size(32)));
typedef double F64x2 __attribute__((vector_size(16)));
typedef double F64x4Unaligned __attribute__((vector_size(32), aligned(8), may_alias));
typedef double F64x2Unaligned __attribute__((vector_size(16), aligned(8), may_alias));

/* The chains of `rows` rows and of adjacent columns side by side, in the order of k: sums[i *
 * COLUMNS + j]. */
#define DEFINE_TILE(columns, Vector, Unaligned)                                                    \
    CPU_INLINE void tile_##columns##_body(const double *a, int64_t a_row, int64_t a_column,        \
        const double *b, int64_t b_row, int64_t depth, int64_t rows, double *sums) {               \
        Vector total[ROWS] = {0};                                                                  \
        const double *at[ROWS];                                                                    \
        KernelStopMeter meter = {0};                                                               \
        for (int64_t i = 0; i < ROWS; i++) at[i] = a + (i < rows ? i : 0) * a_row;                 \
        for (int64_t k = 0; k < depth; k++) {                                                      \
            if (kernel_stop_ends_after(&meter, ROWS * columns)) return;                            \
            const Vector from = *(const Unaligned *)(b + k * b_row);                               \
            CPU_UNROLL                                                                             \
            for (int64_t i = 0; i < ROWS; i++) total[i] += at[i][k * a_column] * from;             \
        }                                                                                          \
        for (int64_t i = 0; i < rows; i++) *(Unaligned *)(sums + i * COLUMNS) = total[i];          \
    }                                                                                              \
    CPU_VARIANTS(tile_##columns,                                                                   \
        (const double *a, int64_t a_row, int64_t a_column, const double *b, int64_t b_row,         \
            int64_t depth, int64_t rows, double *sums),                                            \
        (a, a_row, a_column, b, b_row, depth, rows, sums));                                        \
    struct tile_needs_semicolon
DEFINE_TILE(8, CpuF64x8, CpuF64x8Unaligned);
DEFINE_TILE(4, F64x4, F64x4Unaligned);
DEFINE_TILE(2, F64x2, F64x2Unaligned);

/* The same for one column. */
CPU_INLINE void column_f64_body(const double *a, int64_t a_row, int64_t a_column, const double *b,
    int64_t b_row, int64_t depth, int64_t rows, double *sums) {
    double total[ROWS] = {0};
    const double *at[ROWS];
    KernelStopMeter meter = {0};
    for (int64_t i = 0; i < ROWS; i++) at[i] = a + (i < rows ? i : 0) * a_row;
    for (int64_t k = 0; k < depth; k++) {
        if (kernel_stop_ends_after(&meter, 2 * ROWS)) return;
        CPU_UNROLL
        for (int64_t i = 0; i < ROWS; i++) total[i] += at[i][k * a_column] * b[k * b_row];
    }
    for (int64_t i = 0; i < rows; i++) sums[i * COLUMNS] = total[i];
}
CPU_VARIANTS(column_f64,
    (const double *a, int64_t a_row, int64_t a_column, const double *b, int64_t b_row,
        int64_t depth, int64_t rows, double *sums),
    (a, a_row, a_column, b, b_row, depth, rows, sums));

typedef void WideTile(const double *a, int64_t a_row, int64_t a_column, const double *b,
    int64_t b_row, int64_t depth, int64_t rows, double *sums);

typedef struct WideState {
    CpuMatmul matmul;
    uint64_t size; /* of an element */
    bool is_float;
    int64_t alpha, beta; /* of integers */
    WideRow *row;        /* of integers */
    WideTile *tile_8, *tile_4, *tile_2, *column;
    CpuEpilogueRowF64 *epilogue_row;
} WideState;

typedef struct Run {
    const WideState *state;
    const char *a, *b, *bias, *residual;
    char *c;
    int64_t blocks, groups, group_rows; /* a unit is a group of rows in a block of columns */
} Run;

static uint64_t integer_at(const void *data, uint64_t size, int64_t index) {
    switch (size) {
    case 1:
        return ((const uint8_t *)data)[index];
    case 2:
        return ((const uint16_t *)data)[index];
    case 4:
        return ((const uint32_t *)data)[index];
    default:
        return ((const uint64_t *)data)[index];
    }
}

static void finish_integers(const WideState *state, const void *sums, int64_t count,
    const char *bias, int64_t bias_step, char *to) {
    for (int64_t j = 0; j < count; j++) {
        uint64_t value = (uint64_t)state->alpha * integer_at(sums, state->size, j);
        if (bias) value += (uint64_t)state->beta * integer_at(bias, state->size, j * bias_step);
        switch (state->size) {
        case 1:
            ((uint8_t *)to)[j] = (uint8_t)value;
            break;
        case 2:
            ((uint16_t *)(void *)to)[j] = (uint16_t)value;
            break;
        case 4:
            ((uint32_t *)(void *)to)[j] = (uint32_t)value;
            break;
        default:
            ((uint64_t *)(void *)to)[j] = value;
        }
    }
}

/* Where a block of the result begins in each operand, in elements. */
typedef struct Place {
    int64_t a, b, c, bias;
} Place;

static Place place_of(const CpuMatmul *matmul, int64_t batch, int64_t row, int64_t column) {
    return (Place){
        cpu_matmul_batch_offset(&matmul->batch, batch, matmul->a_batch) + row * matmul->a_row,
        cpu_matmul_batch_offset(&matmul->batch, batch, matmul->b_batch) + column * matmul->b_column,
        (batch * matmul->rows + row) * matmul->columns + column,
        cpu_matmul_batch_offset(&matmul->batch, batch, matmul->bias_batch) +
            row * matmul->bias_row + column * matmul->bias_column};
}

static void run_integers(const Run *run, int64_t batch, int64_t row, int64_t column) {
    const WideState *state = run->state;
    const CpuMatmul *matmul = &state->matmul;
    const int64_t size = (int64_t)state->size, left = matmul->columns - column;
    const int64_t count = left < COLUMNS ? left : COLUMNS;
    const Place at = place_of(matmul, batch, row, column);
    uint64_t sums[COLUMNS]; /* room for any of the types */
    state->row(run->a + at.a * size, matmul->a_column, run->b + at.b * size, matmul->b_row,
        matmul->b_column, matmul->depth, count, sums);
    finish_integers(state, sums, count, run->bias ? run->bias + at.bias * size : NULL,
        matmul->bias_column, run->c + at.c * size);
}

static const double *doubles_at(const char *base, int64_t offset) {
    return base ? (const double *)(const void *)base + offset : NULL;
}

/* `rows` rows: those of a single column are beside each other. */
static void finish_floats(
    const Run *run, Place at, int64_t rows, int64_t count, const double *sums) {
    const WideState *state = run->state;
    const CpuMatmul *matmul = &state->matmul;
    double *c = (double *)(void *)run->c + at.c, single[ROWS];
    const double *bias = doubles_at(run->bias, at.bias);
    const double *residual = doubles_at(run->residual, at.c);
    for (int64_t i = 0; i < rows; i++) single[i] = sums[i * COLUMNS];
    if (matmul->columns == 1) {
        state->epilogue_row(&matmul->epilogue, single, rows, bias, matmul->bias_row, residual, c);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        state->epilogue_row(&matmul->epilogue, sums + i * COLUMNS, count,
            bias ? bias + i * matmul->bias_row : NULL, matmul->bias_column,
            residual ? residual + i * matmul->columns : NULL, c + i * matmul->columns);
}

static void run_floats(const Run *run, int64_t batch, int64_t row, int64_t column) {
    const WideState *state = run->state;
    const CpuMatmul *matmul = &state->matmul;
    const int64_t left = matmul->columns - column, below = matmul->rows - row;
    const int64_t count = left < COLUMNS ? left : COLUMNS, rows = below < ROWS ? below : ROWS;
    const Place at = place_of(matmul, batch, row, column);
    const double *a = doubles_at(run->a, at.a), *b = doubles_at(run->b, at.b);
    double sums[ROWS * COLUMNS];
    for (int64_t j = 0; j < count;) {
        const int64_t beside = matmul->b_column == 1 ? count - j : 1;
        WideTile *tile = beside >= 8   ? state->tile_8
                         : beside >= 4 ? state->tile_4
                         : beside >= 2 ? state->tile_2
                                       : state->column;
        tile(a, matmul->a_row, matmul->a_column, b + j * matmul->b_column, matmul->b_row,
            matmul->depth, rows, sums + j);
        j += beside >= 8 ? 8 : beside >= 4 ? 4 : beside >= 2 ? 2 : 1;
    }
    finish_floats(run, at, rows, count, sums);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++)
        (run->state->is_float ? run_floats : run_integers)(run, i / (run->blocks * run->groups),
            i / run->blocks % run->groups * run->group_rows, i % run->blocks * COLUMNS);
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    static const uint64_t nothing = 0; /* stands for matrices of depth 0, which have no address */
    const WideState *state = opaque;
    const CpuMatmul *matmul = &state->matmul;
    Run run = {
        .state = state,
        .a = matmul->depth ? (const char *)call->inputs[0] : (const char *)&nothing,
        .b = matmul->depth ? (const char *)call->inputs[1] : (const char *)&nothing,
        .bias = matmul->has_bias ? (const char *)call->inputs[2] : NULL,
        .residual = matmul->has_residual ? (const char *)call->inputs[3] : NULL,
        .c = (char *)call->outputs[0],
        .blocks = (matmul->columns + COLUMNS - 1) / COLUMNS,
        .group_rows = state->is_float ? ROWS : 1,
    };
    run.groups = (matmul->rows + run.group_rows - 1) / run.group_rows;
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(matmul->batch_count * run.groups * run.blocks),
        (uint64_t)(4096 / (matmul->depth * run.group_rows + 1)) + 1, run_units, &run);
}

/* Integers are scaled by integers only. */
static bool take_scales(const CpuEpilogue *epilogue, WideState *state) {
    if (fabs(epilogue->alpha) > 0x1p53 || fabs(epilogue->bias_scale) > 0x1p53) return false;
    state->alpha = (int64_t)epilogue->alpha;
    state->beta = (int64_t)epilogue->bias_scale;
    return (double)state->alpha == epilogue->alpha && (double)state->beta == epilogue->bias_scale;
}

static WideRow *row_for(CpuLevel level, uint64_t size) {
    if (size == 1) return row_8_for(level);
    if (size == 2) return row_16_for(level);
    return size == 4 ? row_32_for(level) : row_64_for(level);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    const DType dtype = request->inputs[0].dtype;
    WideState wide = {.size = dtype_bits(dtype) / 8, .is_float = dtype == DTYPE_FLOAT64};
    TRY(cpu_matmul_operands(request, level, DTYPE_FLOAT64, &wide.matmul));
    if (!wide.is_float && !take_scales(&wide.matmul.epilogue, &wide)) return cpu_decline(out);
    wide.row = row_for(level, wide.size);
    wide.tile_8 = tile_8_for(level);
    wide.tile_4 = tile_4_for(level);
    wide.tile_2 = tile_2_for(level);
    wide.column = column_f64_for(level);
    wide.epilogue_row = cpu_epilogue_row_f64_for(level);
    void *state;
    TRY(cpu_float_plan_create(
        device, request, "cpu.matmul_wide", sizeof(WideState), run, out, &state));
    *(WideState *)state = wide;
    return NULL;
}

#define DTYPES_WIDE (DTYPE_BIT(DTYPE_FLOAT64) | DTYPES_INTEGER)

const Kernel cpu_matmul_wide[] = {
    {OPERATOR_MATMUL, DTYPES_WIDE, plan, "cpu.matmul_wide", KERNEL_PORTABLE},
    {OPERATOR_GEMM, DTYPES_WIDE, plan, "cpu.matmul_wide", KERNEL_PORTABLE},
    {OPERATOR_FUSED_MATMUL, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.matmul_wide", KERNEL_PORTABLE},
    KERNELS_END,
};
