/* MatMulInteger, and QLinearMatMul of bytes. */
#include <string.h>

#include "base/checked.h"
#include "kernels/cpu/quantized/cpu_integer_operand.h"

typedef struct State {
    CpuIntegerOperand a, b;
    Shape batch; /* of the result */
    int64_t matrices;
    int64_t a_matrix[SHAPE_RANK_MAX], b_matrix[SHAPE_RANK_MAX]; /* along the batch dimensions */
    int64_t row_tiles, column_tiles;
    CpuIntegerProduct *product;
    /* in the workspace */
    uint64_t b_offset, a_scales_offset, b_scales_offset;
    /* QLinearMatMul: the result is bytes */
    bool quantizes;
    uint32_t b_index; /* of the input */
    CpuWiden widen;   /* of all scales */
    bool to_signed;
} State;

typedef struct Run {
    const State *state;
    const int16_t *a, *b;
    const float *a_scales, *b_scales;
    float y_scale;
    CpuRequantize to;
    char *out;
} Run;

static int64_t matrix_of(const Shape *batch, const int64_t *strides, int64_t index) {
    int64_t matrix = 0;
    for (uint32_t i = batch->rank; i-- > 0; index /= batch->dims[i])
        matrix += index % batch->dims[i] * strides[i];
    return matrix;
}

typedef struct Place {
    int64_t a, b; /* matrices */
    int64_t row, column, rows, columns;
} Place;

static void requantize_tile(
    const Run *run, const Place *place, const int32_t *sums, uint8_t *out, int64_t out_row) {
    const State *state = run->state;
    const CpuLines *as = &state->a.scales, *bs = &state->b.scales;
    const float *a = run->a_scales + cpu_lines_first(as, &state->a.batch, place->a);
    const float *b = run->b_scales + cpu_lines_first(bs, &state->b.batch, place->b);
    float factors[CPU_INTEGER_COLUMNS];
    for (int64_t r = 0; r < place->rows; r++) {
        const float scale = a[(place->row + r) * as->line];
        for (int64_t c = 0; (r == 0 || as->line) && c < place->columns; c++)
            factors[c] = scale * b[(place->column + c) * bs->line] / run->y_scale;
        cpu_integer_requantize(&run->to, sums + r * CPU_INTEGER_COLUMNS, 0, factors, place->columns,
            out + r * out_row);
    }
}

static void run_tile(const Run *run, int64_t matrix, const Place *place) {
    const State *state = run->state;
    const int64_t pairs = cpu_integer_pairs(state->a.depth), width = state->b.lines;
    int32_t sums[CPU_INTEGER_ROWS * CPU_INTEGER_COLUMNS];
    const CpuIntegerTile tile = {
        .rows = place->rows,
        .pairs = pairs,
        .panels = cpu_integer_panels(place->columns),
        .a = run->a + (place->a * state->a.lines + place->row) * pairs * 2,
        .a_row = pairs * 2,
        .b = run->b + (place->b * cpu_integer_panels(width) + place->column / CPU_INTEGER_PANEL) *
                          pairs * 2 * CPU_INTEGER_PANEL,
        .b_panel = pairs * 2 * CPU_INTEGER_PANEL,
        .out = sums,
        .out_row = CPU_INTEGER_COLUMNS,
    };
    cpu_integer_sum(state->product, &tile);
    const int64_t first = (matrix * state->a.lines + place->row) * width + place->column;
    if (state->quantizes) {
        requantize_tile(run, place, sums, (uint8_t *)run->out + first, width);
        return;
    }
    int32_t *out = (int32_t *)(void *)run->out + first;
    for (int64_t r = 0; r < place->rows; r++)
        memcpy(
            out + r * width, sums + r * CPU_INTEGER_COLUMNS, (size_t)place->columns * sizeof *out);
}

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t tiles = state->row_tiles * state->column_tiles, matrix = unit / tiles;
        Place place = {.a = matrix_of(&state->batch, state->a_matrix, matrix),
            .b = matrix_of(&state->batch, state->b_matrix, matrix),
            .row = unit % tiles % state->row_tiles * CPU_INTEGER_ROWS,
            .column = unit % tiles / state->row_tiles * CPU_INTEGER_COLUMNS};
        place.rows = state->a.lines - place.row;
        if (place.rows > CPU_INTEGER_ROWS) place.rows = CPU_INTEGER_ROWS;
        place.columns = state->b.lines - place.column;
        if (place.columns > CPU_INTEGER_COLUMNS) place.columns = CPU_INTEGER_COLUMNS;
        run_tile(run, matrix, &place);
    }
    return NULL;
}

static void read_scales(const State *state, const Launch *launch, Run *run) {
    char *workspace = cpu_workspace(launch);
    float *a = (float *)(void *)(workspace + state->a_scales_offset);
    float *b = (float *)(void *)(workspace + state->b_scales_offset);
    cpu_integer_widen_scales(&state->widen, cpu_input(launch, 1), state->a.scales.count, a);
    cpu_integer_widen_scales(&state->widen, cpu_input(launch, 4), state->b.scales.count, b);
    run->a_scales = a;
    run->b_scales = b;
    run->y_scale = cpu_widen_one(&state->widen, cpu_input(launch, 6), 0);
    run->to.is_signed = state->to_signed;
    run->to.zero_point = cpu_integer_load(state->to_signed, cpu_input(launch, 7), 0);
}

static const void *zero_points(const Launch *launch, const CpuIntegerOperand *of, uint32_t index) {
    return of->zero_points.count > 0 ? cpu_input(launch, index) : NULL;
}

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    int16_t *a = cpu_workspace(launch);
    int16_t *b = (int16_t *)(void *)((char *)cpu_workspace(launch) + state->b_offset);
    Run run = {.state = state, .a = a, .b = b, .out = cpu_output(launch, 0)};
    const uint64_t units = (uint64_t)(state->matrices * state->row_tiles * state->column_tiles);
    (void)output_shapes;
    if (units == 0) return NULL;
    TRY(cpu_integer_pack_rows(device, launch->threads, &state->a, cpu_input(launch, 0),
        zero_points(launch, &state->a, 2), a));
    TRY(cpu_integer_pack_panels(device, launch->threads, &state->b,
        cpu_input(launch, state->b_index), zero_points(launch, &state->b, state->quantizes ? 5 : 3),
        b));
    if (state->quantizes) read_scales(state, launch, &run);
    const int64_t work =
        (state->a.depth + 1) * CPU_INTEGER_ROWS * CPU_INTEGER_COLUMNS; /* of a tile */
    return cpu_for_each(
        device, launch->threads, units, (uint64_t)((1 << 20) / work) + 1, run_tiles, &run);
}

static Error *add(uint64_t bytes, uint64_t *inout_total, uint64_t *out_offset) {
    uint64_t aligned;
    *out_offset = *inout_total;
    if (!checked_align_u64(bytes, DEVICE_ALIGNMENT, &aligned) ||
        !checked_add_u64(*inout_total, aligned, inout_total))
        FAIL(INVALID, "the operands are too large");
    return NULL;
}

static Error *place_workspace(Plan *plan, State *state) {
    uint64_t rows, panels, total = 0, a_offset;
    TRY(cpu_integer_row_bytes(&state->a, &rows));
    TRY(cpu_integer_panel_bytes(&state->b, &panels));
    TRY(add(rows, &total, &a_offset));
    TRY(add(panels, &total, &state->b_offset));
    TRY(add(state->a.scales.count * sizeof(float), &total, &state->a_scales_offset));
    TRY(add(state->b.scales.count * sizeof(float), &total, &state->b_scales_offset));
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT; /* has an address */
    return NULL;
}

static Error *place_batch(const PlanRequest *request, State *state) {
    int64_t strides[SHAPE_RANK_MAX];
    TRY(shape_broadcast(&state->a.batch, &state->b.batch, &state->batch));
    shape_broadcast_strides(&state->a.batch, &state->batch, strides);
    memcpy(state->a_matrix, strides, sizeof strides);
    shape_broadcast_strides(&state->b.batch, &state->batch, strides);
    memcpy(state->b_matrix, strides, sizeof strides);
    const bool empty = shape_count_unchecked(&request->outputs[0].shape) == 0;
    state->matrices = empty ? 0 : shape_count_unchecked(&state->batch);
    state->row_tiles = (state->a.lines + CPU_INTEGER_ROWS - 1) / CPU_INTEGER_ROWS;
    state->column_tiles = (state->b.lines + CPU_INTEGER_COLUMNS - 1) / CPU_INTEGER_COLUMNS;
    return NULL;
}

static Error *plan_matmul(Device *device, const PlanRequest *request, Plan **out) {
    const bool quantizes = request->operator_info->id == OPERATOR_QLINEAR_MATMUL;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, quantizes ? "cpu.qlinear_matmul" : "cpu.matmul_integer",
        sizeof(State), &plan));
    State *state = plan_state(plan);
    state->quantizes = quantizes;
    state->b_index = quantizes ? 3 : 1;
    state->product = cpu_integer_product_for(cpu_device(device)->level);
    if (quantizes) {
        state->to_signed = request->outputs[0].dtype == DTYPE_INT8;
        if (!state->to_signed && request->outputs[0].dtype != DTYPE_UINT8) return cpu_decline(out);
        cpu_widen_init(request->inputs[1].dtype, &state->widen);
    }
    TRY(cpu_integer_operand_of(request, 0, 2, quantizes ? 1 : 0, true, &state->a));
    TRY(cpu_integer_operand_of(
        request, state->b_index, quantizes ? 5 : 3, quantizes ? 4 : 0, false, &state->b));
    TRY(place_batch(request, state));
    TRY(place_workspace(plan, state));
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

const Kernel cpu_integer_matmul[] = {
    {OPERATOR_MATMUL_INTEGER, BYTES, plan_matmul, "cpu.matmul_integer", KERNEL_PORTABLE},
    {OPERATOR_QLINEAR_MATMUL, BYTES, plan_matmul, "cpu.qlinear_matmul", KERNEL_PORTABLE},
    KERNELS_END,
};
