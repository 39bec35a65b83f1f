#include "kernels/planning/host_fallback.h"

#include <string.h>

#include "base/checked.h"

typedef struct FallbackState {
    Device *host;
    Plan *inner;
    uint64_t input_bytes[]; /* input_count */
} FallbackState;

/* The host memory of one launch: a single block for all operands. */
typedef struct Block {
    Device *host;
    uint64_t address;
    uint64_t size;
    uint64_t used;
    uint64_t inputs[PLAN_INPUTS_MAX];
    uint64_t outputs[PLAN_OUTPUTS_MAX];
    uint64_t workspace;
} Block;

static void destroy(Plan *plan) {
    FallbackState *state = plan_state(plan);
    plan_release(state->inner);
    plan_free(plan);
}

static Error *add(uint64_t *inout_total, uint64_t bytes) {
    uint64_t aligned;
    if (!checked_align_u64(bytes, DEVICE_ALIGNMENT, &aligned) ||
        !checked_add_u64(*inout_total, aligned, inout_total))
        FAIL(INVALID, "the operands are too large");
    return NULL;
}

/* The next piece of the block; 0 for no bytes. */
static uint64_t take(Block *block, uint64_t bytes) {
    if (bytes == 0) return 0;
    uint64_t address = block->address + block->used;
    block->used += (bytes + DEVICE_ALIGNMENT - 1) & ~(uint64_t)(DEVICE_ALIGNMENT - 1);
    return address;
}

static Error *output_bytes(
    const Plan *plan, const Shape *output_shapes, uint32_t index, uint64_t *out) {
    *out = 0;
    if (!output_shapes) return NULL;
    return shape_bytes(&output_shapes[index], plan->outputs[index].dtype, out);
}

static Error *block_init(const Plan *plan, const Shape *output_shapes, Block *block) {
    const FallbackState *state = plan_state(plan);
    uint64_t total = 0, bytes;
    TRY(add(&total, state->inner->workspace_bytes));
    for (uint32_t i = 0; i < plan->input_count; i++) TRY(add(&total, state->input_bytes[i]));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        TRY(output_bytes(plan, output_shapes, i, &bytes));
        TRY(add(&total, bytes));
    }
    memset(block, 0, sizeof *block);
    block->host = state->host;
    block->size = total;
    if (total == 0) return NULL;
    return error_recode(
        state->host->class_->alloc(state->host, NULL, total, &block->address), ERROR_OUT_OF_MEMORY);
}

static void block_deinit(Block *block) {
    if (block->address) block->host->class_->free(block->host, NULL, block->address, block->size);
}

static Error *copy_inputs(const Plan *plan, const Launch *launch, Block *block) {
    const FallbackState *state = plan_state(plan);
    block->workspace = take(block, state->inner->workspace_bytes);
    for (uint32_t i = 0; i < plan->input_count; i++) {
        block->inputs[i] = take(block, state->input_bytes[i]);
        if (state->input_bytes[i])
            TRY(device_transfer((DevicePlace){state->host, NULL, block->inputs[i]},
                (DevicePlace){plan->device, launch->stream, launch->inputs[i]},
                state->input_bytes[i]));
    }
    return NULL;
}

static Launch on_host(const Launch *launch, const Block *block) {
    Launch host = *launch;
    host.stream = NULL;
    host.inputs = block->inputs;
    host.outputs = block->outputs;
    host.workspace = block->workspace;
    return host;
}

static Error *run(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, Block *block) {
    const FallbackState *state = plan_state(plan);
    uint64_t bytes;
    TRY(copy_inputs(plan, launch, block));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        TRY(output_bytes(plan, output_shapes, i, &bytes));
        block->outputs[i] = take(block, bytes);
    }
    Launch host = on_host(launch, block);
    TRY(state->inner->launch(state->inner, &host, output_shapes));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        TRY(output_bytes(plan, output_shapes, i, &bytes));
        TRY(device_transfer((DevicePlace){plan->device, launch->stream, launch->outputs[i]},
            (DevicePlace){state->host, NULL, block->outputs[i]}, bytes));
    }
    return NULL;
}

static Error *launch_plan(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    Block block;
    TRY(block_init(plan, output_shapes, &block));
    Error *error = run(plan, launch, output_shapes, &block);
    block_deinit(&block);
    return error;
}

static Error *measure_plan(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    const FallbackState *state = plan_state(plan);
    Block block;
    TRY(block_init(plan, NULL, &block));
    Error *error = copy_inputs(plan, launch, &block);
    Launch host = on_host(launch, &block);
    if (!error) error = state->inner->measure(state->inner, &host, out_shapes);
    block_deinit(&block);
    return error;
}

Error *host_fallback_plan(Device *device, Device *host, const PlanRequest *request, Plan **out) {
    OWN(Plan, inner) = NULL;
    OWN(Plan, plan) = NULL;
    TRY(host->class_->plan(host, request, &inner));
    size_t size = sizeof(FallbackState) + request->input_count * sizeof(uint64_t);
    TRY(plan_create(device, request, inner->kernel_name, size, &plan));
    FallbackState *state = plan_state(plan);
    for (uint32_t i = 0; i < request->input_count; i++) {
        if (request->inputs[i].layout != 0)
            FAIL(UNSUPPORTED, "%s: input %u is packed", request->operator_info->name, i);
        TRY(plan_request_input_bytes(request, i, &state->input_bytes[i]));
    }
    plan->origin = PLAN_OF_HOST;
    plan->philox_draws = inner->philox_draws;
    plan->view = inner->view;
    plan->launch = inner->launch ? launch_plan : NULL;
    plan->measure = inner->measure ? measure_plan : NULL;
    plan->destroy = destroy;
    state->host = host;
    state->inner = TAKE(inner);
    *out = TAKE(plan);
    return NULL;
}
