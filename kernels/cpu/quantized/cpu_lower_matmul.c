/* FusedMatMulBFloat16 and FusedMatMulInt8. Rows of A are rounded or quantized to bytes once, into
 * the workspace; then tiles of rows × four panels of weights are computed block by block of the
 * depth. Weights that are not packed are packed by every launch. */
#include <stdatomic.h>

#include "kernels/cpu/quantized/cpu_lower_operands.h"
#include "kernels/cpu/quantized/cpu_lower_pack.h"
#include "kernels/cpu/core/cpu_internal.h"

typedef struct State {
    CpuLowerOperands operands;
    int64_t rows;
    uint64_t scales_offset, zeros_offset, panels_offset; /* in the workspace, behind the rows */
} State;

typedef struct Run {
    const State *state;
    const float *a;
    char *rows;            /* A, converted for the product */
    CpuLowerScale *scales; /* int8: a scale for each row */
    int32_t *zeros;
    char *panels;
    CpuLowerResults c;
    int64_t chunks;
} Run;

static int64_t row_bytes(const CpuLowerOperands *operands) {
    return cpu_lower_row_bytes(operands->form, operands->depth);
}

static Error *prepare_rows(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    const Run *run = context;
    const CpuLowerOperands *operands = &run->state->operands;
    for (uint64_t i = begin; i < end; i++) {
        const float *from = run->a + i * (uint64_t)operands->depth;
        void *to = run->rows + i * (uint64_t)row_bytes(operands);
        if (!operands->is_int8) {
            for (int64_t k = 0, next; k < operands->depth; k = next) {
                if (k > 0) TRY(kernel_stop_check());
                next = kernel_stop_piece(k, operands->depth);
                operands->row.round(
                    from + k, next - k, (char *)to + k * cpu_lower_forms[operands->form].row_size);
            }
            continue;
        }
        CpuLowerRange range = CPU_LOWER_NOTHING;
        for (int64_t k = 0, next; k < operands->depth; k = next) {
            if (k > 0) TRY(kernel_stop_check());
            next = kernel_stop_piece(k, operands->depth);
            operands->row.measure(from + k, next - k, &range);
        }
        const CpuLowerScale scale = cpu_lower_scale_of(&range);
        operands->row.quantize(from, operands->depth, &scale, to);
        run->scales[i] = scale;
        run->zeros[i] = cpu_lower_zero(operands->form, &scale);
    }
    return NULL;
}

typedef struct Place {
    int64_t row, rows, column, columns;
} Place;

static void finish_tile(const Run *run, const Place *place, const float *sums) {
    const CpuLowerOperands *operands = &run->state->operands;
    static const CpuLowerScale none = {.finite = true}; /* bfloat16 has none */
    for (int64_t i = 0; i < place->rows; i++) {
        const CpuLowerSpan span = {place->row + i, place->column, place->columns};
        const CpuLowerScale *scale = operands->is_int8 ? &run->scales[span.row] : &none;
        float infinite[CPU_LOWER_COLUMNS] = {0};
        if (!scale->finite)
            cpu_lower_add_infinite(operands, run->panels, run->a + span.row * operands->depth,
                operands->depth, 0, span.column, span.count, infinite);
        cpu_lower_finish_row(operands, &run->c, sums + i * CPU_LOWER_COLUMNS, scale->step,
            scale->finite ? NULL : infinite, &span);
    }
}

static void run_tile(const Run *run, const Place *place) {
    const CpuLowerOperands *operands = &run->state->operands;
    const CpuLowerForm form = operands->form;
    const CpuLowerFormInfo *info = &cpu_lower_forms[form];
    const int64_t row = row_bytes(operands), panel = cpu_lower_panel_bytes(form, operands->depth);
    const int64_t groups = cpu_lower_groups(form, operands->depth);
    const int64_t group = cpu_lower_group_bytes(form), block = CPU_LOWER_BLOCK / group;
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
        operands->product(&tile);
        at += block;
    } while (at < groups);
    finish_tile(run, place, sums.real);
}

static Error *run_tiles(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    (void)part;
    Run *run = context;
    const State *state = run->state;
    for (int64_t i = (int64_t)begin; i < (int64_t)end; i++) {
        TRY(kernel_stop_check());
        Place place = {
            .row = i % run->chunks * CPU_LOWER_ROWS, .column = i / run->chunks * CPU_LOWER_COLUMNS};
        const int64_t rows = state->rows - place.row,
                      columns = state->operands.columns - place.column;
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

static Error *launch_matmul(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const CpuLowerOperands *operands = &state->operands;
    CpuDevice *device = cpu_device(plan->device);
    char *workspace = cpu_workspace(launch);
    (void)output_shapes;
    Run run = {
        .state = state,
        .a = cpu_input(launch, 0),
        .rows = workspace,
        .scales = (CpuLowerScale *)(void *)(workspace + state->scales_offset),
        .zeros = (int32_t *)(void *)(workspace + state->zeros_offset),
        .panels = workspace + state->panels_offset,
        .c = cpu_lower_results(operands, launch),
        .chunks = (state->rows + CPU_LOWER_ROWS - 1) / CPU_LOWER_ROWS,
    };
    const int64_t groups = (operands->columns + CPU_LOWER_COLUMNS - 1) / CPU_LOWER_COLUMNS;
    static const float nothing = 0; /* stands for rows of depth 0, which have no address */
    if (state->rows == 0 || groups == 0) return NULL;
    if (operands->depth == 0) run.a = &nothing;
    if (operands->is_packed)
        run.panels = (char *)(uintptr_t)launch->inputs[1];
    else
        TRY(cpu_lower_pack_plain(
            device, launch->threads, operands, cpu_input(launch, 1), run.panels));
    TRY(cpu_for_each(device, launch->threads, (uint64_t)state->rows,
        cpu_lower_units_of_elements(operands->depth), prepare_rows, &run));
    const int64_t rows = state->rows < CPU_LOWER_ROWS ? state->rows : CPU_LOWER_ROWS;
    return cpu_for_each(device, launch->threads, (uint64_t)(groups * run.chunks),
        units_per_part(rows, operands->depth), run_tiles, &run);
}

static Error *place_workspace(Plan *plan, State *state) {
    const CpuLowerOperands *operands = &state->operands;
    const int64_t rows = state->rows;
    uint64_t total = 0, bytes;
    TRY(cpu_lower_reserve((uint64_t)row_bytes(operands), 1, &rows, &total));
    state->scales_offset = total;
    if (operands->is_int8) TRY(cpu_lower_reserve(sizeof(CpuLowerScale), 1, &rows, &total));
    state->zeros_offset = total;
    if (operands->is_int8) TRY(cpu_lower_reserve(sizeof(int32_t), 1, &rows, &total));
    state->panels_offset = total;
    if (!operands->is_packed) {
        TRY(cpu_lower_packed_bytes(operands->form, operands->depth, operands->columns, &bytes));
        TRY(cpu_lower_reserve(bytes, 0, NULL, &total));
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
    state->rows = shape_product(a, 0, a->rank - 1);
    TRY(cpu_lower_operands_of(device, level, request, b->dims[0], b->dims[1], &state->operands));
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
