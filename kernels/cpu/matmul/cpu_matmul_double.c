/* MatMul, Gemm and FusedMatMul of float64 with fused multiply-adds, from the level AVX2 on. Units
 * are some rows of a panel of columns. A unit copies its part of B in pieces of the depth, unless
 * the columns are adjacent and the rows few. */
#include "kernels/cpu/matmul/cpu_matmul_double.h"

#include <string.h>

#include "kernels/cpu/loops/cpu_float_plan.h"
#include "kernels/cpu/matmul/cpu_matmul.h"

enum { PANEL = CPU_DOUBLE_PANEL, ROWS = CPU_DOUBLE_ROWS, DEPTH = CPU_DOUBLE_DEPTH };
/* For fewer rows, reading B in place is faster than copying it first. A copy of rows that follow on
 * each other would be equal. */
enum { COPY_ROWS_MIN = 8 };

typedef struct State {
    CpuMatmul matmul;
    bool is_linear; /* of the epilogue: bias and relu only, and the same bias in all rows */
    CpuEpilogueRowF64 *epilogue_row;
} State;

typedef struct Run {
    const State *state;
    const double *a, *b, *bias, *residual;
    double *c;
    int64_t panels, chunks; /* a unit is a chunk of rows in a panel */
} Run;

/* Where a unit begins in each operand, and its size. */
typedef struct Unit {
    const double *a, *b, *bias, *residual;
    double *c;
    int64_t rows, columns;
} Unit;

static Unit unit_of(const Run *run, int64_t index) {
    const CpuMatmul *matmul = &run->state->matmul;
    const int64_t column = index % run->panels * PANEL;
    const int64_t row = index / run->panels % run->chunks * ROWS;
    const int64_t batch = index / run->panels / run->chunks;
    const int64_t below = matmul->rows - row, beside = matmul->columns - column;
    const int64_t to = (batch * matmul->rows + row) * matmul->columns + column;
    Unit unit = {
        .a = run->a + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->a_batch) +
             row * matmul->a_row,
        .b = run->b + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->b_batch) +
             column * matmul->b_column,
        .c = run->c + to,
        .rows = below < ROWS ? below : ROWS,
        .columns = beside < PANEL ? beside : PANEL,
    };
    if (run->bias)
        unit.bias = run->bias + cpu_matmul_batch_offset(&matmul->batch, batch, matmul->bias_batch) +
                    row * matmul->bias_row + column * matmul->bias_column;
    if (run->residual) unit.residual = run->residual + to;
    return unit;
}

/* Finishes sums[rows][step]. Rows of one column that are beside each other are finished as one. */
static void finish(const Run *run, const Unit *unit, const double *sums, int64_t step) {
    const State *state = run->state;
    const CpuMatmul *matmul = &state->matmul;
    if (step == 1) {
        state->epilogue_row(&matmul->epilogue, sums, unit->rows, unit->bias, matmul->bias_row,
            unit->residual, unit->c);
        return;
    }
    for (int64_t i = 0; i < unit->rows; i++)
        state->epilogue_row(&matmul->epilogue, sums + i * step, unit->columns,
            unit->bias ? unit->bias + i * matmul->bias_row : NULL, matmul->bias_column,
            unit->residual ? unit->residual + i * matmul->columns : NULL,
            unit->c + i * matmul->columns);
}

/* A product of one column needs no copy of B. */
static void run_column(const Run *run, const Unit *unit) {
    const CpuMatmul *matmul = &run->state->matmul;
    double sums[ROWS];
    int64_t done = 0;
    do {
        const int64_t left = matmul->depth - done;
        const int64_t depth = left < DEPTH ? left : DEPTH;
        for (int64_t row = 0; row < unit->rows; row += CPU_DOUBLE_COLUMN_ROWS) {
            const int64_t below = unit->rows - row;
            const CpuDoubleColumn column = {
                .rows = below < CPU_DOUBLE_COLUMN_ROWS ? below : CPU_DOUBLE_COLUMN_ROWS,
                .depth = depth,
                .a = unit->a + row * matmul->a_row + done * matmul->a_column,
                .a_row = matmul->a_row,
                .a_column = matmul->a_column,
                .b = unit->b + done * matmul->b_row,
                .b_row = matmul->b_row,
                .accumulate = done > 0,
            };
            cpu_matmul_double_column(&column, sums + row);
        }
        done += DEPTH;
    } while (done < matmul->depth && !kernel_stop_ends());
    finish(run, unit, sums, 1);
}

/* Copies a part of B; the columns up to the next whole vector are zeros. */
static void copy_part(const CpuMatmul *matmul, const double *b, int64_t columns, int64_t width,
    int64_t depth, double *to) {
    for (int64_t k = 0; k < depth; k++)
        for (int64_t j = columns; j < width; j++) to[k * width + j] = 0;
    if (matmul->b_column == 1)
        for (int64_t k = 0; k < depth; k++)
            for (int64_t j = 0; j < columns; j++) to[k * width + j] = b[k * matmul->b_row + j];
    else
        for (int64_t j = 0; j < columns; j++)
            for (int64_t k = 0; k < depth; k++)
                to[k * width + j] = b[k * matmul->b_row + j * matmul->b_column];
}

static void run_tile(const Run *run, const Unit *unit) {
    const State *state = run->state;
    const CpuMatmul *matmul = &state->matmul;
    const int64_t width = (unit->columns + CPU_DOUBLE_VECTOR - 1) & -CPU_DOUBLE_VECTOR;
    const bool in_place = matmul->b_column == 1 && width == unit->columns &&
                          (unit->rows < COPY_ROWS_MIN || matmul->b_row == width);
    double sums[ROWS * PANEL], part[DEPTH * PANEL], bias[PANEL] = {0};
    if (state->is_linear && unit->bias)
        for (int64_t j = 0; j < unit->columns; j++) bias[j] = unit->bias[j * matmul->bias_column];
    int64_t done = 0;
    do {
        const int64_t left = matmul->depth - done;
        CpuDoubleTile tile = {
            .rows = unit->rows,
            .columns = unit->columns,
            .depth = left < DEPTH ? left : DEPTH,
            .a = unit->a + done * matmul->a_column,
            .a_row = matmul->a_row,
            .a_column = matmul->a_column,
            .b = in_place ? unit->b + done * matmul->b_row : part,
            .b_row = in_place ? matmul->b_row : width,
            .sums = sums,
            .accumulate = done > 0,
            .to = left <= DEPTH && state->is_linear ? unit->c : NULL,
            .to_row = matmul->columns,
            .bias = bias,
            .relu = matmul->epilogue.activation == ACTIVATION_RELU,
        };
        if (!in_place)
            copy_part(
                matmul, unit->b + done * matmul->b_row, unit->columns, width, tile.depth, part);
        cpu_matmul_double_tile(&tile);
        done += DEPTH;
    } while (done < matmul->depth && !kernel_stop_ends());
    if (!state->is_linear) finish(run, unit, sums, PANEL);
}

static Error *run_units(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    (void)part;
    for (uint64_t i = begin; i < end; i++) {
        const Unit unit = unit_of(run, (int64_t)i);
        TRY(kernel_stop_check());
        (run->state->matmul.columns == 1 ? run_column : run_tile)(run, &unit);
    }
    return NULL;
}

static Error *run(const void *opaque, const CpuFloatCall *call) {
    static const double nothing = 0; /* stands for matrices of depth 0, which have no address */
    const State *state = opaque;
    const CpuMatmul *matmul = &state->matmul;
    const int64_t rows = matmul->rows < ROWS ? matmul->rows : ROWS;
    Run run = {
        .state = state,
        .a = matmul->depth ? (const double *)(const void *)call->inputs[0] : &nothing,
        .b = matmul->depth ? (const double *)(const void *)call->inputs[1] : &nothing,
        .bias = matmul->has_bias ? (const double *)(const void *)call->inputs[2] : NULL,
        .residual = matmul->has_residual ? (const double *)(const void *)call->inputs[3] : NULL,
        .c = (double *)(void *)call->outputs[0],
        .panels = (matmul->columns + PANEL - 1) / PANEL,
        .chunks = (matmul->rows + ROWS - 1) / ROWS,
    };
    return cpu_for_each(call->device, call->launch->threads,
        (uint64_t)(matmul->batch_count * run.chunks * run.panels),
        (uint64_t)(65536 / (matmul->depth * rows + 1)) + 1, run_units, &run);
}

static Error *plan(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    State made = {.epilogue_row = cpu_epilogue_row_f64_for(level)};
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    TRY(cpu_matmul_operands(request, level, DTYPE_FLOAT64, &made.matmul));
    made.is_linear = cpu_epilogue_is_linear(&made.matmul.epilogue) && !made.matmul.has_residual &&
                     made.matmul.bias_row == 0;
    void *state;
    TRY(cpu_float_plan_create(
        device, request, "cpu.matmul_double", sizeof(State), run, out, &state));
    *(State *)state = made;
    return NULL;
}

const Kernel cpu_matmul_double[] = {
    {OPERATOR_MATMUL, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.matmul_double", 0},
    {OPERATOR_GEMM, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.matmul_double", 0},
    {OPERATOR_FUSED_MATMUL, DTYPE_BIT(DTYPE_FLOAT64), plan, "cpu.matmul_double", 0},
    KERNELS_END,
};
