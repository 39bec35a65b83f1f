/* Movement of packed elements: unpacks each element to a byte, moves the bytes by their kernel, and
 * packs the result. Gather moves whole rows of packed bytes where a row has whole bytes. */
#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/cpu/elementwise/cpu_small.h"
#include "kernels/arguments/arguments.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/tensor/dtype_bits.h"

enum { RUNS_PER_PART = 32 };

typedef struct Operand {
    uint32_t bits; /* 0: the operand is not packed and is passed on unchanged */
    uint64_t count;
    uint64_t offset; /* of its bytes in the workspace */
} Operand;

typedef struct State {
    Plan *inner;
    uint64_t inner_workspace;
    uint32_t input_count;
    Operand operands[]; /* the inputs, then the outputs */
} State;

typedef struct Run {
    const Operand *operand;
    uint8_t *packed;
    uint8_t *bytes;
} Run;

static void destroy(Plan *plan) {
    State *state = plan_state(plan);
    plan_release(state->inner);
    plan_free(plan);
}

static Error *unpack_runs(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const uint64_t first = begin * CPU_SMALL_RUN, all = run->operand->count;
    const uint64_t behind = end * CPU_SMALL_RUN < all ? end * CPU_SMALL_RUN : all;
    (void)part;
    dtype_bits_unpack(run->operand->bits, run->packed, first, behind - first, run->bytes + first);
    return NULL;
}

static Error *pack_runs(void *context, uint64_t begin, uint64_t end, uint32_t part) {
    const Run *run = context;
    const uint64_t first = begin * CPU_SMALL_RUN, all = run->operand->count;
    const uint64_t behind = end * CPU_SMALL_RUN < all ? end * CPU_SMALL_RUN : all;
    (void)part;
    dtype_bits_pack(run->operand->bits, run->bytes + first, first, behind - first, run->packed);
    return NULL;
}

static Error *each_run(const Plan *plan, const Launch *launch, const Operand *operand,
    uint64_t address, CpuTask *task) {
    Run run = {
        operand, (uint8_t *)(uintptr_t)address, (uint8_t *)cpu_workspace(launch) + operand->offset};
    return cpu_for_each(cpu_device(plan->device), launch->threads,
        (operand->count + CPU_SMALL_RUN - 1) / CPU_SMALL_RUN, RUNS_PER_PART, task, &run);
}

/* The address of an operand for the inner kernel. */
static uint64_t inner_address(const Launch *launch, const Operand *operand, uint64_t address) {
    return operand->bits == 0 || address == 0 ? address : launch->workspace + operand->offset;
}

static Error *launch_packed(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const State *state = plan_state(plan);
    const Operand *ins = state->operands, *outs = ins + state->input_count;
    uint64_t inputs[PLAN_INPUTS_MAX], outputs[PLAN_OUTPUTS_MAX];
    for (uint32_t i = 0; i < plan->input_count; i++) {
        inputs[i] = inner_address(launch, &ins[i], launch->inputs[i]);
        if (inputs[i] != launch->inputs[i])
            TRY(each_run(plan, launch, &ins[i], launch->inputs[i], unpack_runs));
    }
    for (uint32_t i = 0; i < plan->output_count; i++)
        outputs[i] = inner_address(launch, &outs[i], launch->outputs[i]);
    Launch inner = *launch;
    inner.inputs = inputs;
    inner.outputs = outputs;
    inner.workspace = launch->workspace + state->inner_workspace;
    TRY(state->inner->launch(state->inner, &inner, output_shapes));
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (outputs[i] != launch->outputs[i])
            TRY(each_run(plan, launch, &outs[i], launch->outputs[i], pack_runs));
    return NULL;
}

static Error *place(const TensorSpec *spec, uint64_t *inout_total, Operand *out) {
    if (!spec->present || !dtype_in(DTYPES_PACKED, spec->dtype)) return NULL;
    out->bits = dtype_bits(spec->dtype);
    out->count = (uint64_t)shape_count_unchecked(&spec->shape);
    out->offset = *inout_total;
    uint64_t aligned;
    if (!checked_align_u64(out->count, DEVICE_ALIGNMENT, &aligned) ||
        !checked_add_u64(*inout_total, aligned, inout_total))
        FAIL(INVALID, "%llu elements are too many", (unsigned long long)out->count);
    return NULL;
}

/* The tables with the kernels for bytes of the same operators. */
static const Kernel *const byte_tables[] = {cpu_movement, cpu_gather, cpu_pad, cpu_generate, NULL};

/* Whether the request is a Gather whose last dimension stays together and has whole bytes. */
static Error *moves_rows(const PlanRequest *request, bool *out) {
    const TensorSpec *data = &request->inputs[0];
    uint32_t axis, rank = data->shape.rank;
    *out = false;
    if (request->operator_info->id != OPERATOR_GATHER) return NULL;
    TRY(arguments_axis(request, &axis));
    *out = axis + 1 < rank && data->shape.dims[rank - 1] * dtype_bits(data->dtype) % 8 == 0;
    return NULL;
}

/* Bytes in the place of packed elements: one for each element, or one for all in it. */
static void spell_bytes(TensorSpec *spec, bool rows) {
    if (!dtype_in(DTYPES_PACKED, spec->dtype)) return;
    if (rows) {
        int64_t *last = &spec->shape.dims[spec->shape.rank - 1];
        *last = *last * dtype_bits(spec->dtype) / 8;
    }
    spec->dtype = DTYPE_UINT8;
}

static Error *plan_inner(Device *device, const PlanRequest *request, bool rows, Plan **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(PlanRequest) + PLAN_INPUTS_MAX * sizeof(TensorSpec), &block));
    PlanRequest *bytes = block;
    TensorSpec *inputs = (TensorSpec *)(bytes + 1);
    *bytes = *request;
    bytes->inputs = inputs;
    for (uint32_t i = 0; i < request->input_count; i++) {
        inputs[i] = request->inputs[i];
        spell_bytes(&inputs[i], rows);
    }
    for (uint32_t i = 0; i < request->output_count; i++) spell_bytes(&bytes->outputs[i], rows);
    const Kernel *row = kernel_rows_find(byte_tables, request->operator_info->id);
    Error *error = row->plan(device, bytes, out);
    memory_free(block);
    return error;
}

static Error *plan_packed(Device *device, const PlanRequest *request, Plan **out) {
    const uint32_t in = request->input_count, all = in + request->output_count;
    OWN(Plan, plan) = NULL;
    uint64_t total = 0;
    bool rows;
    if (!dtype_in(DTYPES_PACKED, request->outputs[0].dtype)) return cpu_decline(out);
    TRY(moves_rows(request, &rows));
    TRY(plan_create(
        device, request, "cpu.packed_movement", sizeof(State) + all * sizeof(Operand), &plan));
    State *state = plan_state(plan);
    plan->destroy = destroy;
    plan->launch = launch_packed;
    plan->in_place = 0;
    state->input_count = in;
    TRY(plan_inner(device, request, rows, &state->inner));
    if (!state->inner) return cpu_decline(out);
    for (uint32_t i = 0; i < all && !rows; i++)
        TRY(place(
            i < in ? &request->inputs[i] : &request->outputs[i - in], &total, &state->operands[i]));
    state->inner_workspace = total;
    if (!checked_add_u64(total, state->inner->workspace_bytes, &plan->workspace_bytes))
        FAIL(INVALID, "the operands are too large");
    *out = TAKE(plan);
    return NULL;
}

#define PACKED_ROW(id)                                                                             \
    { OPERATOR_##id, DTYPES_PACKED, plan_packed, "cpu.packed_movement", KERNEL_PORTABLE }

/* Operators that ONNX defines for packed elements, and those by which Loop and Scan cut and join
 * tensors. */
const Kernel cpu_packed[] = {
    PACKED_ROW(TRANSPOSE),
    PACKED_ROW(PAD),
    PACKED_ROW(EXPAND),
    PACKED_ROW(TILE),
    PACKED_ROW(SLICE),
    PACKED_ROW(CONCAT),
    PACKED_ROW(SPLIT),
    PACKED_ROW(GATHER),
    /* its row is chosen by the shape's type, the first input's */
    {OPERATOR_CONSTANT_OF_SHAPE, DTYPES_ANY, plan_packed, "cpu.packed_movement", KERNEL_PORTABLE},
    KERNELS_END,
};
