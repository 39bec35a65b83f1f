/* Operators that move elements by rules known at plan time: Transpose, Expand, Tile, Slice,
 * DepthToSpace, SpaceToDepth, Concat, Split, Trilu, Dropout. */
#include <string.h>

#include "kernels/cpu/movement/cpu_copy.h"
#include "kernels/arguments/arguments.h"
#include "kernels/planning/copy_plan.h"

static uint32_t element_size(const PlanRequest *request) {
    return dtype_bits(request->outputs[0].dtype) / 8;
}

static void prepare_copy(const StridedCopy *copy, uint32_t element_bytes, void *out_prepared) {
    cpu_copy_make(copy->rank, copy->dims, copy->from_strides, copy->from_offset, copy->to_strides,
        copy->to_offset, element_bytes, out_prepared);
}

static Error *run_copy(
    const Plan *plan, const Launch *launch, const void *prepared, uint64_t to, uint64_t from) {
    return cpu_copy_run(cpu_device(plan->device), launch->threads, prepared, (void *)(uintptr_t)to,
        (const void *)(uintptr_t)from);
}

static Error *plan_copies(Device *device, const PlanRequest *request, Plan **out) {
    static const CopyPlanDevice copies = {sizeof(CpuCopy), prepare_copy, run_copy};
    const char *name = kernel_row_name(cpu_movement, request->operator_info->id);
    return copy_plan_create(device, request, name, &copies, out);
}

/* Trilu keeps in row r the columns from r + k on (upper) or up to r + k. */
enum { CLEARED_BYTES = 4 << 20 };

typedef struct TriluState {
    TriluArguments trilu;
    uint32_t size;
} TriluState;

typedef struct TriluRun {
    const TriluState *state;
    char *to;
    const char *from;
} TriluRun;

static Error *run_trilu(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const TriluRun *run = context;
    const TriluArguments *trilu = &run->state->trilu;
    const uint32_t size = run->state->size;
    (void)part;
    size_t row_bytes = (size_t)trilu->width * size;
    for (uint64_t row = begin; row < end; row++) {
        int64_t r = (int64_t)(row % (uint64_t)trilu->height), split;
        /* the first column of the upper part, within 0 … width */
        if (__builtin_add_overflow(r, trilu->k, &split)) split = INT64_MAX;
        if (!trilu->upper && split < INT64_MAX) split++;
        split = split < 0 ? 0 : split > trilu->width ? trilu->width : split;
        size_t left = (size_t)split * size, right = row_bytes - left;
        char *to = run->to + row * row_bytes;
        const char *from = run->from + row * row_bytes;
        char *cleared = trilu->upper ? to : to + left;
        const size_t gone = trilu->upper ? left : right;
        for (size_t done = 0; done < gone; done += CLEARED_BYTES) {
            if (done > 0) TRY(kernel_stop_check());
            memset(cleared + done, 0, gone - done < CLEARED_BYTES ? gone - done : CLEARED_BYTES);
        }
        if (to == from) continue;
        const size_t kept = trilu->upper ? left : 0;
        TRY(kernel_stop_copy(to + kept, from + kept, trilu->upper ? right : left));
    }
    return NULL;
}

static Error *launch_trilu(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const TriluState *state = plan_state(plan);
    TriluRun run = {state, cpu_output(launch, 0), cpu_input(launch, 0)};
    (void)output_shapes;
    uint64_t row_bytes = (uint64_t)state->trilu.width * state->size;
    if (state->trilu.rows == 0 || row_bytes == 0) return NULL;
    return cpu_for_each(cpu_device(plan->device), launch->threads, state->trilu.rows,
        131072 / row_bytes + 1, run_trilu, &run);
}

static Error *plan_trilu(Device *device, const PlanRequest *request, Plan **out) {
    TriluState state = {.size = element_size(request)};
    TRY(arguments_trilu(request, &state.trilu));
    TRY(plan_create(device, request, "cpu.trilu", sizeof state, out));
    *(TriluState *)plan_state(*out) = state;
    (*out)->launch = launch_trilu;
    return NULL;
}

/* Dropout at inference with its mask: a copy, and a mask that is all true. Without the mask the
 * operator is a view. */
static Error *launch_dropout(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const uint64_t *count = plan_state(plan);
    (void)output_shapes;
    if (*count == 0) return NULL;
    memset(cpu_output(launch, 1), 1, (size_t)*count);
    uint64_t bytes = *count * (dtype_bits(plan->outputs[0].dtype) / 8);
    return cpu_copy_bytes(cpu_device(plan->device), launch->threads, cpu_output(launch, 0),
        cpu_input(launch, 0), bytes);
}

static Error *plan_dropout(Device *device, const PlanRequest *request, Plan **out) {
    if (request->output_count < 2) return cpu_decline(out);
    TRY(plan_create(device, request, "cpu.dropout", sizeof(uint64_t), out));
    *(uint64_t *)plan_state(*out) = (uint64_t)shape_count_unchecked(&request->inputs[0].shape);
    (*out)->launch = launch_dropout;
    return NULL;
}

const Kernel cpu_movement[] = {
    {OPERATOR_TRANSPOSE, DTYPES_ANY, plan_copies, "cpu.transpose", KERNEL_PORTABLE},
    {OPERATOR_EXPAND, DTYPES_ANY, plan_copies, "cpu.expand", KERNEL_PORTABLE},
    {OPERATOR_TILE, DTYPES_ANY, plan_copies, "cpu.tile", KERNEL_PORTABLE},
    {OPERATOR_SLICE, DTYPES_ANY, plan_copies, "cpu.slice", KERNEL_PORTABLE},
    {OPERATOR_DEPTH_TO_SPACE, DTYPES_ANY, plan_copies, "cpu.depth_to_space", KERNEL_PORTABLE},
    {OPERATOR_SPACE_TO_DEPTH, DTYPES_ANY, plan_copies, "cpu.space_to_depth", KERNEL_PORTABLE},
    {OPERATOR_CONCAT, DTYPES_ANY, plan_copies, "cpu.concat", KERNEL_PORTABLE},
    {OPERATOR_SPLIT, DTYPES_ANY, plan_copies, "cpu.split", KERNEL_PORTABLE},
    {OPERATOR_TRILU, DTYPES_ANY, plan_trilu, "cpu.trilu", KERNEL_PORTABLE},
    {OPERATOR_DROPOUT, DTYPES_ANY, plan_dropout, "cpu.dropout", KERNEL_PORTABLE},
    KERNELS_END,
};
