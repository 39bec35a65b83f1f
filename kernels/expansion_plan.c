#include "kernels/expansion_plan.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/device.h"
#include "kernels/dtype_scalar.h"
#include "kernels/operator_expansion.h"

/* Where a value lies during a launch. */
typedef struct Place {
    uint64_t offset; /* in the workspace */
    uint64_t bytes;
    uint32_t free_after; /* node after which another value may lie here */
} Place;

typedef struct ExpansionState {
    Expansion *expansion;
    Plan *plans[EXPANSION_NODES_MAX];
    uint64_t offsets[EXPANSION_NODES_MAX]; /* of each node's output; the last has none */
    uint64_t constant_offset;              /* the constants, DEVICE_ALIGNMENT apart */
    uint64_t inner_offset;                 /* the plans' own workspace */
    uint8_t constants[EXPANSION_CONSTANTS_MAX][8];
} ExpansionState;

static void destroy(Plan *plan) {
    ExpansionState *state = plan_state(plan);
    for (uint32_t i = 0; i < EXPANSION_NODES_MAX; i++) plan_release(state->plans[i]);
    operator_expansion_release(state->expansion);
    plan_free(plan);
}

static Error *plan_node(
    struct Device *device, const PlanRequest *outer, ExpansionState *state, uint32_t index) {
    const Expansion *expansion = state->expansion;
    const ExpansionNode *node = &expansion->nodes[index];
    TensorSpec inputs[EXPANSION_NODE_INPUTS_MAX];
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = operator_expansion_spec(expansion, outer->inputs, node->inputs[i]);
    void *block;
    TRY(memory_alloc(1, sizeof(PlanRequest), &block));
    PlanRequest *request = block;
    request->operator_info = node->operator_info;
    request->attributes = node->attributes;
    request->input_count = node->input_count;
    request->output_count = 1;
    request->inputs = inputs;
    request->outputs[0] = node->output;
    Error *error = device->class_->plan(device, request, &state->plans[index]);
    memory_free(block);
    return error;
}

static uint32_t last_use(const Expansion *expansion, uint32_t node) {
    uint32_t value = expansion->input_count + expansion->constant_count + node, last = node;
    for (uint32_t i = node + 1; i < expansion->node_count; i++)
        for (uint32_t j = 0; j < expansion->nodes[i].input_count; j++)
            if (expansion->nodes[i].inputs[j] == value) last = i;
    return last;
}

/* Intermediate values of one size take turns in one place. */
static Error *lay_out(ExpansionState *state, uint64_t *out_bytes) {
    const Expansion *expansion = state->expansion;
    Place places[EXPANSION_NODES_MAX];
    uint32_t place_count = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i + 1 < expansion->node_count; i++) {
        uint64_t bytes;
        const TensorSpec *output = &expansion->nodes[i].output;
        TRY(shape_bytes(&output->shape, output->dtype, &bytes));
        if (!checked_align_u64(bytes, DEVICE_ALIGNMENT, &bytes))
            FAIL(INVALID, "an intermediate value is too large");
        uint32_t at = 0;
        while (at < place_count && (places[at].bytes != bytes || places[at].free_after >= i)) at++;
        if (at == place_count) {
            places[place_count++] = (Place){end, bytes, 0};
            if (!checked_add_u64(end, bytes, &end))
                FAIL(INVALID, "the intermediate values are too large");
        }
        places[at].free_after = last_use(expansion, i);
        state->offsets[i] = places[at].offset;
    }
    state->constant_offset = end;
    end += (uint64_t)expansion->constant_count * DEVICE_ALIGNMENT;
    uint64_t inner = 0;
    for (uint32_t i = 0; i < expansion->node_count; i++)
        if (state->plans[i]->workspace_bytes > inner) inner = state->plans[i]->workspace_bytes;
    state->inner_offset = end;
    if (!checked_add_u64(end, inner, out_bytes)) FAIL(INVALID, "the workspace is too large");
    return NULL;
}

static uint64_t value_address(
    const ExpansionState *state, const TensorSpec *spec, const Launch *launch, uint32_t value) {
    const Expansion *expansion = state->expansion;
    if (value < expansion->input_count) return launch->inputs[value];
    value -= expansion->input_count;
    if (value < expansion->constant_count)
        return launch->workspace + state->constant_offset + (uint64_t)value * DEVICE_ALIGNMENT;
    if (shape_count_unchecked(&spec->shape) == 0) return 0;
    return launch->workspace + state->offsets[value - expansion->constant_count];
}

static Error *launch_node(const Plan *plan, const Launch *launch, const Shape *output_shapes,
    uint32_t index, bool *out_abandoned) {
    const ExpansionState *state = plan_state(plan);
    const Expansion *expansion = state->expansion;
    const ExpansionNode *node = &expansion->nodes[index];
    const Plan *inner = state->plans[index];
    bool is_last = index + 1 == expansion->node_count;
    uint64_t inputs[EXPANSION_NODE_INPUTS_MAX], output;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t value = node->inputs[i], first = expansion->input_count;
        static const TensorSpec scalar = {.present = true};
        uint32_t nodes_from = first + expansion->constant_count;
        const TensorSpec *spec =
            value >= nodes_from ? &expansion->nodes[value - nodes_from].output : &scalar;
        inputs[i] = value_address(state, spec, launch, value);
    }
    if (is_last)
        output = launch->outputs[0];
    else
        output = shape_count_unchecked(&node->output.shape) == 0
                     ? 0
                     : launch->workspace + state->offsets[index];
    Launch part = *launch;
    part.inputs = inputs;
    part.outputs = &output;
    part.workspace = inner->workspace_bytes ? launch->workspace + state->inner_offset : 0;
    return inner->launch(
        inner, &part, is_last ? output_shapes : &node->output.shape, out_abandoned);
}

static Error *launch_all(
    const Plan *plan, const Launch *launch, const Shape *output_shapes, bool *out_abandoned) {
    const ExpansionState *state = plan_state(plan);
    const Expansion *expansion = state->expansion;
    for (uint32_t i = 0; i < expansion->constant_count; i++) {
        uint64_t to = launch->workspace + state->constant_offset + (uint64_t)i * DEVICE_ALIGNMENT;
        TRY(plan->device->class_->copy_from_host(plan->device, launch->stream, to,
            state->constants[i], dtype_bits(expansion->constants[i].dtype) / 8));
    }
    for (uint32_t i = 0; i < expansion->node_count && !*out_abandoned; i++)
        TRY_WRAP(launch_node(plan, launch, output_shapes, i, out_abandoned), "%s",
            expansion->nodes[i].operator_info->name);
    return NULL;
}

static Error *check_output(const PlanRequest *request, const Expansion *expansion) {
    const TensorSpec *made = &expansion->nodes[expansion->node_count - 1].output;
    if (made->dtype != request->outputs[0].dtype ||
        !shape_equal(&made->shape, &request->outputs[0].shape))
        FAIL(INTERNAL, "%s: its expansion has another output", request->operator_info->name);
    return NULL;
}

Error *expansion_plan_create(struct Device *device, const PlanRequest *request, Plan **out) {
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].layout != 0)
            FAIL(UNSUPPORTED, "%s: input %u is packed", request->operator_info->name, i);
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "expansion", sizeof(ExpansionState), &plan));
    plan->origin = PLAN_OF_EXPANSION;
    plan->destroy = destroy;
    ExpansionState *state = plan_state(plan);
    TRY(operator_expansion_create(request, &state->expansion));
    TRY(check_output(request, state->expansion));
    for (uint32_t i = 0; i < state->expansion->node_count; i++)
        TRY_WRAP(plan_node(device, request, state, i), "%s as plain operators",
            request->operator_info->name);
    for (uint32_t i = 0; i < state->expansion->constant_count; i++) {
        const ExpansionConstant *constant = &state->expansion->constants[i];
        if (!dtype_scalar_write(constant->dtype, constant->value, state->constants[i]))
            FAIL(UNSUPPORTED, "%s: a constant of element type %s", request->operator_info->name,
                dtype_name(constant->dtype));
    }
    TRY(lay_out(state, &plan->workspace_bytes));
    plan->launch = launch_all;
    plan->in_place = 0; /* the first step may write the output before the last reads the input */
    *out = TAKE(plan);
    return NULL;
}
