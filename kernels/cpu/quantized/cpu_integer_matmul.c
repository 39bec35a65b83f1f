/* MatMulInteger and FusedMatMulInteger, QLinearMatMul and FusedQLinearMatMul of bytes. Rows of A
 * are multiplied where they lie if the machine's form allows it, else they are copied into the
 * workspace. B is packed when it is a constant, else by every launch. */
#include <string.h>

#include "kernels/cpu/quantized/cpu_integer_columns.h"
#include "kernels/cpu/quantized/cpu_lower_bytes.h"
#include "kernels/cpu/quantized/cpu_lower_operands.h"

/* The inputs of an operator; 0: it has none of the kind. */
typedef struct Inputs {
    uint32_t b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
    uint32_t sum_bias, bias, residual; /* sum_bias: of the sums */
} Inputs;

static Inputs inputs_of(OperatorId id) {
    const Inputs sums = {.b = 1, .a_zero = 2, .b_zero = 3};
    const Inputs floats = {
        .b = 1, .a_scale = 2, .b_scale = 3, .a_zero = 4, .b_zero = 5, .bias = 6, .residual = 7};
    const Inputs bytes = {.a_scale = 1,
        .a_zero = 2,
        .b = 3,
        .b_scale = 4,
        .b_zero = 5,
        .y_scale = 6,
        .y_zero = 7,
        .sum_bias = 8};
    if (id == OPERATOR_MATMUL_INTEGER) return sums;
    return id == OPERATOR_FUSED_MATMUL_INTEGER ? floats : bytes;
}

typedef struct State {
    Inputs inputs;
    CpuIntegerOperand a;
    CpuIntegerColumns columns; /* B */
    Shape batch;               /* of the result */
    int64_t matrices, rows;    /* rows of each; all rows of A if there is one B */
    int64_t a_matrix[SHAPE_RANK_MAX], b_matrix[SHAPE_RANK_MAX]; /* along the batch dimensions */
    int64_t row_tiles, column_tiles;
    CpuLowerForm form;
    CpuLowerProduct *product;
    CpuLowerBytes bytes;
    bool in_place;  /* rows of A are multiplied where they lie */
    CpuWiden widen; /* of all scales */
    /* in the workspace */
    uint64_t sums_offset, zeros_offset, steps_offset, columns_offset;
    bool quantizes, to_signed; /* the result is bytes */
    CpuLowerRows row;
    CpuEpilogue epilogue;
    CpuEpilogueRow *epilogue_row;
} State;

typedef struct Run {
    const State *state;
    const Launch *launch;
    const char *a;      /* rows as they are multiplied */
    char *copied;       /* NULL: in place */
    uint32_t *row_sums; /* of elements less their zero points */
    int32_t *zeros;     /* of A's rows */
    float *steps;       /* scales of A's rows */
    CpuIntegerColumnsRun b;
    const int32_t *sum_bias; /* NULL: none */
    const float *bias, *residual;
    float y_scale;
    CpuRequantizeTo to;
    char *out;
} Run;

static int64_t matrix_of(const Shape *batch, const int64_t *strides, int64_t index) {
    int64_t matrix = 0;
    for (uint32_t i = batch->rank; i-- > 0; index /= batch->dims[i])
        matrix += index % batch->dims[i] * strides[i];
    return matrix;
}

/* Reads one row of A: its zero point, its scale, its sum and, unless in place, its elements. */
static void prepare_row(const Run *run, int64_t unit) {
    const State *state = run->state;
    const CpuIntegerOperand *a = &state->a;
    const int64_t matrix = unit / a->lines, line = unit % a->lines;
    const uint8_t *from = cpu_integer_bytes(run->launch, 0) + unit * a->depth;
    int32_t zero = 0;
    if (a->zero_points.count > 0)
        zero = cpu_integer_load(a->is_signed, cpu_input(run->launch, state->inputs.a_zero),
            cpu_lines_first(&a->zero_points, &a->batch, matrix) + line * a->zero_points.line);
    zero = cpu_lower_row_zero(a->is_signed, zero);
    run->zeros[unit] = zero;
    if (run->steps)
        run->steps[unit] =
            cpu_widen_one(&state->widen, cpu_input(run->launch, state->inputs.a_scale),
                (uint64_t)(cpu_lines_first(&a->scales, &a->batch, matrix) + line * a->scales.line));
    char *to = run->copied;
    if (to) to += unit * cpu_lower_row_bytes(state->form, a->depth);
    if (to || run->b.corrects)
        state->bytes.row(from, a->is_signed ? CPU_LOWER_FLIP : 0, zero, a->depth, to,
            run->b.corrects ? &run->row_sums[unit] : NULL);
}

static Error *prepare_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) prepare_row(context, unit);
    return NULL;
}

typedef struct Place {
    int64_t matrix, a, b; /* a: the first row of its matrix among all of A's */
    int64_t row, column, rows, columns;
} Place;

static void finish_bytes(const Run *run, const Place *place, const int32_t *sums) {
    const State *state = run->state;
    const float *b = run->b.scales + place->b * state->columns.b.lines + place->column;
    const float *a = run->steps + place->a + place->row;
    const int64_t width = state->columns.b.lines;
    uint8_t *out =
        (uint8_t *)run->out + (place->matrix * state->rows + place->row) * width + place->column;
    float factors[CPU_LOWER_COLUMNS];
    for (int64_t r = 0; r < place->rows; r++) {
        for (int64_t c = 0; (r == 0 || a[r] != a[r - 1]) && c < place->columns; c++)
            factors[c] = a[r] * b[c] / run->y_scale;
        state->bytes.requantize(
            &run->to, sums + r * CPU_LOWER_COLUMNS, factors, place->columns, out + r * width);
    }
}

static void finish_floats(const Run *run, const Place *place, const int32_t *sums) {
    const State *state = run->state;
    const float *b = run->b.scales + place->b * state->columns.b.lines + place->column;
    const float *a = run->steps + place->a + place->row;
    const float *bias = run->bias ? run->bias + place->column : NULL;
    float scaled[CPU_LOWER_COLUMNS];
    for (int64_t r = 0; r < place->rows; r++) {
        const int64_t at =
            (place->matrix * state->rows + place->row + r) * state->columns.b.lines + place->column;
        state->row.scale(sums + r * CPU_LOWER_COLUMNS, a[r], b, place->columns, scaled);
        state->epilogue_row(&state->epilogue, scaled, place->columns, bias, 1,
            run->residual ? run->residual + at : NULL, (float *)(void *)run->out + at);
    }
}

static void finish_sums(const Run *run, const Place *place, const int32_t *sums) {
    const int64_t width = run->state->columns.b.lines;
    int32_t *out = (int32_t *)(void *)run->out +
                   (place->matrix * run->state->rows + place->row) * width + place->column;
    for (int64_t r = 0; r < place->rows; r++)
        memcpy(out + r * width, sums + r * CPU_LOWER_COLUMNS, (size_t)place->columns * sizeof *out);
}

static void finish_tile(const Run *run, const Place *place, int32_t *sums) {
    const State *state = run->state;
    const int32_t *bias = run->sum_bias ? run->sum_bias + place->column : NULL;
    const int32_t *zeros =
        run->b.corrects ? run->b.zeros + place->b * state->columns.b.lines + place->column : NULL;
    for (int64_t r = 0; (bias || zeros) && r < place->rows; r++)
        state->bytes.adjust(sums + r * CPU_LOWER_COLUMNS, bias, zeros,
            zeros ? run->row_sums[place->a + place->row + r] : 0, place->columns);
    if (state->quantizes)
        finish_bytes(run, place, sums);
    else if (run->steps)
        finish_floats(run, place, sums);
    else
        finish_sums(run, place, sums);
}

static Error *run_tile(const Run *run, const Place *place) {
    const State *state = run->state;
    const CpuLowerFormInfo *info = &cpu_lower_forms[state->form];
    const int64_t depth = state->a.depth, groups = cpu_lower_groups(state->form, depth);
    const int64_t row = cpu_lower_row_bytes(state->form, depth);
    const int64_t panel = cpu_lower_panel_bytes(state->form, depth);
    const int64_t group = cpu_lower_group_bytes(state->form), block = CPU_LOWER_BLOCK / group;
    const int64_t b_panel =
        place->b * cpu_lower_panels(state->columns.b.lines) + place->column / CPU_LOWER_PANEL;
    const char *a = run->a + (place->a + place->row) * row, *b = run->b.panels + b_panel * panel;
    int32_t sums[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
    CpuLowerTile tile = {
        .rows = place->rows,
        .panels = cpu_lower_panels(place->columns),
        .a_row = row,
        .b_panel = panel,
        .out = sums,
        .zeros = run->zeros + place->a + place->row,
        .heads = b,
    };
    const bool goes_on = place->row + place->rows == state->rows &&
                         place->column + CPU_LOWER_COLUMNS < state->columns.b.lines;
    const char *next = goes_on ? b + tile.panels * panel + info->head : NULL;
    int64_t at = 0;
    do { /* once for depth 0: writes zeros */
        TRY(kernel_stop_check());
        tile.groups = groups - at < block ? groups - at : block;
        tile.a = a + at * info->group * info->row_size;
        tile.b = b + info->head + at * group;
        tile.b_next = at + block < groups ? (const char *)tile.b + block * group : next;
        tile.accumulate = at > 0;
        state->product(&tile);
        at += block;
    } while (at < groups);
    finish_tile(run, place, sums);
    return NULL;
}

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const State *state = run->state;
    (void)part;
    for (int64_t unit = (int64_t)begin; unit < (int64_t)end; unit++) {
        const int64_t tiles = state->row_tiles * state->column_tiles, matrix = unit / tiles;
        Place place = {.matrix = matrix,
            .a = matrix_of(&state->batch, state->a_matrix, matrix) * state->rows,
            .b = matrix_of(&state->batch, state->b_matrix, matrix),
            .row = unit % tiles % state->row_tiles * CPU_LOWER_ROWS,
            .column = unit % tiles / state->row_tiles * CPU_LOWER_COLUMNS};
        const int64_t rows = state->rows - place.row,
                      columns = state->columns.b.lines - place.column;
        place.rows = rows < CPU_LOWER_ROWS ? rows : CPU_LOWER_ROWS;
        place.columns = columns < CPU_LOWER_COLUMNS ? columns : CPU_LOWER_COLUMNS;
        TRY(run_tile(run, &place));
    }
    return NULL;
}

static void *at_offset(const Launch *launch, uint64_t offset) {
    return (char *)cpu_workspace(launch) + offset;
}

static Run run_of(const State *state, const Launch *launch) {
    const Inputs *inputs = &state->inputs;
    Run run = {
        .state = state,
        .launch = launch,
        .row_sums = at_offset(launch, state->sums_offset),
        .zeros = at_offset(launch, state->zeros_offset),
        .out = cpu_output(launch, 0),
    };
    if (!state->in_place) run.copied = cpu_workspace(launch);
    run.a = run.copied ? run.copied : (const void *)cpu_integer_bytes(launch, 0);
    if (inputs->a_scale > 0) run.steps = at_offset(launch, state->steps_offset);
    if (inputs->sum_bias > 0) run.sum_bias = cpu_input(launch, inputs->sum_bias);
    if (inputs->bias > 0) run.bias = cpu_input(launch, inputs->bias);
    if (inputs->residual > 0) run.residual = cpu_input(launch, inputs->residual);
    if (!state->quantizes) return run;
    run.y_scale = cpu_widen_one(&state->widen, cpu_input(launch, inputs->y_scale), 0);
    run.to.is_signed = state->to_signed;
    run.to.zero_point = cpu_integer_load(state->to_signed, cpu_input(launch, inputs->y_zero), 0);
    return run;
}

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    const uint64_t units = (uint64_t)(state->matrices * state->row_tiles * state->column_tiles);
    (void)output_shapes;
    if (units == 0) return NULL;
    Run run = run_of(state, launch);
    TRY(cpu_integer_columns_read(&state->columns, device, launch, &state->widen,
        at_offset(launch, state->columns_offset), &run.b));
    TRY(cpu_for_each(device, launch->threads, (uint64_t)(state->a.matrices * state->a.lines),
        cpu_lower_units_of_elements(state->a.depth), prepare_rows, &run));
    const int64_t rows = state->rows < CPU_LOWER_ROWS ? state->rows : CPU_LOWER_ROWS;
    const int64_t cost = (rows + 32) * CPU_LOWER_COLUMNS * (state->a.depth + 16);
    return cpu_for_each(
        device, launch->threads, units, (uint64_t)(4000000 / cost) + 1, run_tiles, &run);
}

static Error *place_workspace(Plan *plan, State *state) {
    const int64_t counts[2] = {state->a.matrices, state->a.lines};
    uint64_t total = 0, bytes;
    if (!state->in_place)
        TRY(cpu_lower_reserve(
            (uint64_t)cpu_lower_row_bytes(state->form, state->a.depth), 2, counts, &total));
    state->sums_offset = total;
    TRY(cpu_lower_reserve(sizeof(uint32_t), 2, counts, &total));
    state->zeros_offset = total;
    TRY(cpu_lower_reserve(sizeof(int32_t), 2, counts, &total));
    state->steps_offset = total;
    if (state->inputs.a_scale > 0) TRY(cpu_lower_reserve(sizeof(float), 2, counts, &total));
    state->columns_offset = total;
    TRY(cpu_integer_columns_bytes(&state->columns, &bytes));
    TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT; /* has an address */
    return NULL;
}

static Error *place_batch(const PlanRequest *request, State *state) {
    const Shape *a = &state->a.batch, *b = &state->columns.b.batch;
    TRY(shape_broadcast(a, b, &state->batch));
    shape_broadcast_strides(a, &state->batch, state->a_matrix);
    shape_broadcast_strides(b, &state->batch, state->b_matrix);
    const bool empty = shape_count_unchecked(&request->outputs[0].shape) == 0;
    state->matrices = empty ? 0 : shape_count_unchecked(&state->batch);
    state->rows = state->a.lines;
    if (state->columns.b.matrices == 1 && !empty) { /* one matrix of all rows */
        state->rows *= state->matrices;
        state->matrices = 1;
        state->batch = (Shape){0};
    }
    state->row_tiles = (state->rows + CPU_LOWER_ROWS - 1) / CPU_LOWER_ROWS;
    state->column_tiles = (state->columns.b.lines + CPU_LOWER_COLUMNS - 1) / CPU_LOWER_COLUMNS;
    return NULL;
}

/* The inputs that this call has. */
static Inputs given_inputs(const PlanRequest *request) {
    Inputs inputs = inputs_of(request->operator_info->id);
    if (!plan_request_has(request, inputs.sum_bias)) inputs.sum_bias = 0;
    if (!plan_request_has(request, inputs.bias)) inputs.bias = 0;
    if (!plan_request_has(request, inputs.residual)) inputs.residual = 0;
    return inputs;
}

static Error *plan_state_of(Device *device, const PlanRequest *request, State *state) {
    const CpuLevel level = cpu_device(device)->level;
    const Inputs inputs = given_inputs(request);
    state->inputs = inputs;
    state->quantizes = inputs.y_scale > 0;
    state->to_signed = request->outputs[0].dtype == DTYPE_INT8;
    state->form = cpu_lower_form(cpu_device(device), true);
    state->product = cpu_lower_product_for(level, state->form);
    state->bytes = cpu_lower_bytes_for(level, state->form);
    state->row = cpu_lower_rows_for(level, state->form);
    state->epilogue_row = cpu_epilogue_row_for(level);
    if (inputs.a_scale > 0) cpu_widen_init(request->inputs[inputs.a_scale].dtype, &state->widen);
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT32, &state->epilogue));
    TRY(cpu_integer_operand_of(request, 0, inputs.a_zero, inputs.a_scale, true, &state->a));
    TRY(cpu_integer_columns_of(
        request, state->form, inputs.b, inputs.b_zero, inputs.b_scale, &state->columns));
    const CpuIntegerOperand *a = &state->a;
    state->in_place = state->form == CPU_LOWER_INT8_DOT && !a->is_signed && a->depth > 0 &&
                      a->depth % cpu_lower_forms[state->form].group == 0;
    return place_batch(request, state);
}

static Error *plan_matmul(Device *device, const PlanRequest *request, Plan **out) {
    const OperatorId id = request->operator_info->id;
    const bool quantizes = inputs_of(id).y_scale > 0;
    const DType to = request->outputs[0].dtype;
    OWN(Plan, plan) = NULL;
    if (quantizes && to != DTYPE_INT8 && to != DTYPE_UINT8) return cpu_decline(out);
    TRY(plan_create(device, request, quantizes ? "cpu.qlinear_matmul" : "cpu.matmul_integer",
        sizeof(State), &plan));
    State *state = plan_state(plan);
    TRY(plan_state_of(device, request, state));
    TRY(place_workspace(plan, state));
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

const Kernel cpu_integer_matmul[] = {
    {OPERATOR_MATMUL_INTEGER, BYTES, plan_matmul, "cpu.matmul_integer", KERNEL_PORTABLE},
    {OPERATOR_FUSED_MATMUL_INTEGER, BYTES, plan_matmul, "cpu.matmul_integer", KERNEL_PORTABLE},
    {OPERATOR_QLINEAR_MATMUL, BYTES, plan_matmul, "cpu.qlinear_matmul", KERNEL_PORTABLE},
    {OPERATOR_FUSED_QLINEAR_MATMUL, BYTES, plan_matmul, "cpu.qlinear_matmul", KERNEL_PORTABLE},
    KERNELS_END,
};
