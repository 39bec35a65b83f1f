/* FusedMatMulBFloat16 and FusedMatMulInt8. Rows of A are rounded or made bytes once, into the
 * workspace; then tiles of rows × four panels of weights are computed block by block of the depth.
 * Weights that are not packed are packed by every launch. */
#include <stdatomic.h>

#include "base/checked.h"
#include "kernels/cpu/cpu_lower_product.h"
#include "kernels/cpu/cpu_lower_rows.h"
#include "kernels/cpu/cpu_matmul_epilogue.h"
#include "kernels/cpu/cpu_pack.h"

typedef struct State {
    CpuLowerForm form;
    bool packed;
    int64_t rows, depth, columns;
    uint32_t bias, residual; /* inputs */
    bool has_bias, has_residual;
    uint64_t steps_offset, zeros_offset, panels_offset; /* in the workspace, behind the rows */
    CpuLowerProduct *product;
    CpuLowerRows row;
    CpuEpilogue epilogue;
    CpuEpilogueRow *epilogue_row;
} State;

typedef struct Run {
    const State *state;
    const float *a, *scales, *bias, *residual;
    char *rows; /* A as it is multiplied */
    float *steps;
    int32_t *zeros;
    const char *weights;
    char *panels;
    float *c;
    int64_t chunks;
    const atomic_bool *abandon;
    atomic_bool abandoned;
} Run;

static bool is_int8(const State *state) { return cpu_lower_forms[state->form].is_int8; }

static int64_t row_bytes(const State *state) {
    return cpu_lower_row_bytes(state->form, state->depth);
}

static Error *prepare_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    for (uint64_t i = begin; i < end; i++) {
        const float *from = run->a + i * (uint64_t)state->depth;
        void *to = run->rows + i * (uint64_t)row_bytes(state);
        if (!is_int8(state)) {
            state->row.round(from, state->depth, to);
            continue;
        }
        CpuLowerRange range = CPU_LOWER_NOTHING;
        state->row.measure(from, state->depth, &range);
        const CpuLowerScale scale = cpu_lower_scale_of(&range);
        state->row.quantize(from, state->depth, &scale, to);
        run->steps[i] = scale.step;
        run->zeros[i] = cpu_lower_zero(state->form, &scale);
    }
    return NULL;
}

static Error *pack_panels(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const State *state = run->state;
    cpu_lower_pack(state->form, run->weights, state->depth, state->columns, (int64_t)begin,
        (int64_t)end, run->panels);
    return NULL;
}

typedef struct Place {
    int64_t row, rows, column, columns;
} Place;

static void finish_tile(const Run *run, const Place *place, const void *sums) {
    const State *state = run->state;
    float scaled[CPU_LOWER_COLUMNS];
    for (int64_t i = 0; i < place->rows; i++) {
        const int64_t at = (place->row + i) * state->columns + place->column;
        const float *row = (const float *)sums + i * CPU_LOWER_COLUMNS;
        if (is_int8(state)) {
            state->row.scale((const int32_t *)sums + i * CPU_LOWER_COLUMNS,
                run->steps[place->row + i], run->scales + place->column, place->columns, scaled);
            row = scaled;
        }
        state->epilogue_row(&state->epilogue, row, place->columns,
            run->bias ? run->bias + place->column : NULL, 1,
            run->residual ? run->residual + at : NULL, run->c + at);
    }
}

static void run_tile(const Run *run, const Place *place) {
    const State *state = run->state;
    const CpuLowerFormInfo *info = &cpu_lower_forms[state->form];
    const int64_t row = row_bytes(state), panel = cpu_lower_panel_bytes(state->form, state->depth);
    const int64_t groups = cpu_lower_groups(state->form, state->depth);
    const int64_t group = cpu_lower_group_bytes(state->form), block = CPU_LOWER_BLOCK / group;
    const char *a = run->rows + place->row * row;
    const char *b = run->panels + place->column / CPU_LOWER_PANEL * panel;
    union {
        float real[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
        int32_t whole[CPU_LOWER_ROWS * CPU_LOWER_COLUMNS];
    } sums;
    CpuLowerTile tile = {
        .rows = place->rows,
        .panels = cpu_lower_panels(place->columns),
        .a_row = row,
        .b_panel = panel,
        .out = &sums,
        .zeros = run->zeros + place->row,
        .heads = b,
    };
    int64_t at = 0;
    do { /* once for depth 0: writes zeros */
        tile.groups = groups - at < block ? groups - at : block;
        tile.a = a + at * info->group * info->row_size;
        tile.b = b + info->head + at * group;
        tile.accumulate = at > 0;
        state->product(&tile);
        at += block;
    } while (at < groups);
    finish_tile(run, place, &sums);
}

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const State *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        if (run->abandon && atomic_load_explicit(run->abandon, memory_order_relaxed)) {
            atomic_store_explicit(&run->abandoned, true, memory_order_relaxed);
            return NULL;
        }
        Place place = {
            .row = i % run->chunks * CPU_LOWER_ROWS, .column = i / run->chunks * CPU_LOWER_COLUMNS};
        const int64_t rows = state->rows - place.row, columns = state->columns - place.column;
        place.rows = rows < CPU_LOWER_ROWS ? rows : CPU_LOWER_ROWS;
        place.columns = columns < CPU_LOWER_COLUMNS ? columns : CPU_LOWER_COLUMNS;
        run_tile(run, &place);
    }
    return NULL;
}

/* About 20 µs of work: 2 million multiply-adds, or weights read once. */
static uint64_t units_per_part(int64_t rows, int64_t depth) {
    const int64_t cost = (rows + 32) * CPU_LOWER_COLUMNS * (depth + 1);
    return (uint64_t)(2000000 / cost) + 1;
}

static Error *launch_matmul(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const State *state = plan_state(plan);
    CpuDevice *device = cpu_device(plan->device);
    char *workspace = cpu_workspace(launch);
    (void)output_shapes;
    Run run = {
        .state = state,
        .a = cpu_input(launch, 0),
        .scales = is_int8(state) ? cpu_input(launch, 2) : NULL,
        .bias = state->has_bias ? cpu_input(launch, state->bias) : NULL,
        .residual = state->has_residual ? cpu_input(launch, state->residual) : NULL,
        .rows = workspace,
        .steps = (float *)(void *)(workspace + state->steps_offset),
        .zeros = (int32_t *)(void *)(workspace + state->zeros_offset),
        .weights = cpu_input(launch, 1),
        .panels = workspace + state->panels_offset,
        .c = cpu_output(launch, 0),
        .chunks = (state->rows + CPU_LOWER_ROWS - 1) / CPU_LOWER_ROWS,
        .abandon = launch->abandon,
    };
    const int64_t groups = (state->columns + CPU_LOWER_COLUMNS - 1) / CPU_LOWER_COLUMNS;
    static const float nothing = 0; /* stands for rows of depth 0, which have no address */
    if (state->rows == 0 || groups == 0) return NULL;
    if (state->depth == 0) run.a = &nothing;
    atomic_init(&run.abandoned, false);
    if (state->packed)
        run.panels = (char *)(uintptr_t)launch->inputs[1];
    else
        TRY(cpu_for_each(device, launch->threads, (uint64_t)cpu_lower_panels(state->columns),
            units_per_part(0, state->depth), pack_panels, &run));
    TRY(cpu_for_each(device, launch->threads, (uint64_t)state->rows,
        (uint64_t)(65536 / (state->depth + 1)) + 1, prepare_rows, &run));
    const int64_t rows = state->rows < CPU_LOWER_ROWS ? state->rows : CPU_LOWER_ROWS;
    TRY(cpu_for_each(device, launch->threads, (uint64_t)(groups * run.chunks),
        units_per_part(rows, state->depth), run_tiles, &run));
    if (atomic_load_explicit(&run.abandoned, memory_order_relaxed)) *out_abandoned = true;
    return NULL;
}

static Error *add(uint64_t count, uint64_t size, uint64_t *inout_total) {
    uint64_t bytes;
    if (!checked_mul_u64(count, size, &bytes) ||
        !checked_align_u64(bytes, DEVICE_ALIGNMENT, &bytes) ||
        !checked_add_u64(*inout_total, bytes, inout_total))
        FAIL(INVALID, "the operands are too large");
    return NULL;
}

static Error *place_workspace(Plan *plan, State *state) {
    uint64_t total = 0;
    TRY(add((uint64_t)state->rows, (uint64_t)row_bytes(state), &total));
    state->steps_offset = total;
    if (is_int8(state)) TRY(add((uint64_t)state->rows, sizeof(float), &total));
    state->zeros_offset = total;
    if (is_int8(state)) TRY(add((uint64_t)state->rows, sizeof(int32_t), &total));
    state->panels_offset = total;
    if (!state->packed) {
        uint64_t bytes;
        TRY(cpu_lower_packed_bytes(state->form, state->depth, state->columns, &bytes));
        TRY(add(bytes, 1, &total));
    }
    plan->workspace_bytes = total > 0 ? total : DEVICE_ALIGNMENT; /* has an address */
    return NULL;
}

static Error *plan_at(
    Device *device, CpuLevel level, const char *name, const PlanRequest *request, Plan **out) {
    const Shape *a = &request->inputs[0].shape, *b = &request->inputs[1].shape;
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, name, sizeof(State), &plan));
    State *state = plan_state(plan);
    const bool int8 = request->operator_info->id == OPERATOR_FUSED_MATMUL_INT8;
    state->form = cpu_lower_form(cpu_device(device), int8);
    state->packed = request->inputs[1].layout != CPU_LAYOUT_PLAIN;
    state->rows = shape_product(a, 0, a->rank - 1);
    state->depth = b->dims[0];
    state->columns = b->dims[1];
    state->bias = int8 ? 3 : 2;
    state->residual = state->bias + 1;
    state->has_bias = plan_request_has(request, state->bias);
    state->has_residual = plan_request_has(request, state->residual);
    state->product = cpu_lower_product_for(level, state->form);
    state->row = cpu_lower_rows_for(level, state->form);
    state->epilogue_row = cpu_epilogue_row_for(level);
    TRY(cpu_epilogue_of(request, level, DTYPE_FLOAT32, &state->epilogue));
    TRY(place_workspace(plan, state));
    plan->launch = launch_matmul;
    *out = TAKE(plan);
    return NULL;
}

static Error *plan_bfloat16(Device *device, const PlanRequest *request, Plan **out) {
    const CpuLevel level = cpu_device(device)->level;
    if (level == CPU_LEVEL_PORTABLE) return cpu_decline(out);
    return plan_at(device, level, "cpu.matmul_bfloat16", request, out);
}

static Error *plan_bfloat16_portable(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, CPU_LEVEL_PORTABLE, "cpu.matmul_bfloat16_portable", request, out);
}

static Error *plan_int8(Device *device, const PlanRequest *request, Plan **out) {
    return plan_at(device, cpu_device(device)->level, "cpu.matmul_int8", request, out);
}

const Kernel cpu_lower_matmul[] = {
    {OPERATOR_FUSED_MATMUL_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_bfloat16, "cpu.matmul_bfloat16",
        0},
    {OPERATOR_FUSED_MATMUL_BFLOAT16, DTYPE_BIT(DTYPE_FLOAT32), plan_bfloat16_portable,
        "cpu.matmul_bfloat16_portable", KERNEL_PORTABLE},
    {OPERATOR_FUSED_MATMUL_INT8, DTYPE_BIT(DTYPE_FLOAT32), plan_int8, "cpu.matmul_int8",
        KERNEL_PORTABLE},
    KERNELS_END,
};
