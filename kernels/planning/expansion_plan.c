#include "kernels/planning/expansion_plan.h"

#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/device/device.h"
#include "kernels/shape_rules/operator_expansion.h"

/* The place of a value during a launch. */
typedef enum PlaceKind {
    PLACE_NOWHERE = 0, /* the value has no bytes, or only shape rules read it */
    PLACE_INPUT,       /* the call's own operands */
    PLACE_OUTPUT,
    PLACE_WORKSPACE,
} PlaceKind;

typedef struct Place {
    PlaceKind kind;
    uint32_t index;  /* of the input or output */
    uint64_t offset; /* in the workspace */
    uint64_t bytes;
} Place;

typedef struct ExpansionState {
    Expansion *expansion;
    Plan **plans;          /* one for each node */
    Place *places;         /* one for each value */
    uint64_t inner_offset; /* the plans' own workspace */
} ExpansionState;

static void destroy(Plan *plan) {
    ExpansionState *state = plan_state(plan);
    for (uint32_t i = 0; state->plans && i < state->expansion->node_count; i++)
        plan_release(state->plans[i]);
    memory_free(state->plans);
    memory_free(state->places);
    operator_expansion_release(state->expansion);
    plan_free(plan);
}

static Error *plan_node(struct Device *device, ExpansionState *state, uint32_t index) {
    PlanRequest *request;
    TRY(operator_expansion_request(state->expansion, &state->expansion->nodes[index], &request));
    Error *error = device->class_->plan(device, request, &state->plans[index]);
    memory_free(request);
    return error;
}

/* ---- the places of values ---- */

/* A piece of the workspace that several values use one after the other. */
typedef struct Slot {
    uint64_t offset;
    uint64_t bytes;
    uint32_t busy_until; /* node */
} Slot;

typedef struct Layout {
    const Expansion *expansion;
    uint32_t *roots;    /* for each value: the value itself, or the value that it is a view of */
    uint32_t *last_use; /* for each root: the last node that uses it */
    bool *as_data;      /* for each root: true when a launch reads it, not only a shape rule */
    Slot *slots;
    uint32_t slot_count;
    uint64_t end;
} Layout;

static void layout_deinit(Layout *layout) {
    memory_free(layout->roots);
    memory_free(layout->last_use);
    memory_free(layout->as_data);
    memory_free(layout->slots);
}

static Error *layout_init(Layout *layout, const Expansion *expansion) {
    const size_t count = expansion->value_count + 1;
    void *block;
    *layout = (Layout){.expansion = expansion};
    TRY(memory_alloc(count, sizeof(uint32_t), &block));
    layout->roots = block;
    TRY(memory_alloc(count, sizeof(uint32_t), &block));
    layout->last_use = block;
    TRY(memory_alloc(count, sizeof(bool), &block));
    layout->as_data = block;
    TRY(memory_alloc(count, sizeof(Slot), &block));
    layout->slots = block;
    return NULL;
}

static void read_uses(Layout *layout, Plan *const *plans) {
    const Expansion *expansion = layout->expansion;
    for (uint32_t i = 0; i < expansion->value_count; i++) layout->roots[i] = i;
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        const ExpansionNode *node = &expansion->nodes[i];
        if (plans[i]->view) layout->roots[node->first_output] = layout->roots[node->inputs[0]];
        for (uint32_t j = 0; j < node->output_count; j++)
            layout->last_use[layout->roots[node->first_output + j]] = i;
        for (uint32_t j = 0; j < node->input_count; j++) {
            if (node->inputs[j] == EXPANSION_ABSENT) continue;
            if (operator_reads_value(node->operator_info, j)) continue;
            layout->last_use[layout->roots[node->inputs[j]]] = i;
            layout->as_data[layout->roots[node->inputs[j]]] = true;
        }
    }
    for (uint32_t i = 0; i < expansion->output_count; i++)
        layout->as_data[layout->roots[expansion->outputs[i]]] = true;
}

static Error *take_slot(Layout *layout, uint64_t bytes, uint32_t from, uint32_t until, Place *out) {
    uint32_t best = layout->slot_count;
    if (!checked_align_u64(bytes, DEVICE_ALIGNMENT, &bytes))
        FAIL(INVALID, "an intermediate value is too large");
    for (uint32_t i = 0; i < layout->slot_count; i++) {
        const Slot *slot = &layout->slots[i];
        if (slot->bytes < bytes || slot->busy_until >= from) continue;
        if (best == layout->slot_count || slot->bytes < layout->slots[best].bytes) best = i;
    }
    if (best == layout->slot_count) {
        layout->slots[layout->slot_count++] = (Slot){layout->end, bytes, 0};
        if (!checked_add_u64(layout->end, bytes, &layout->end))
            FAIL(INVALID, "the intermediate values are too large");
    }
    layout->slots[best].busy_until = until;
    out->kind = PLACE_WORKSPACE;
    out->offset = layout->slots[best].offset;
    return NULL;
}

/* A value that a node makes is written directly to the output that shows it or a view of it. A
 * second output of the same value, and outputs that show inputs, are copied at the end. */
static void place_outputs(const Layout *layout, Place *places) {
    const Expansion *expansion = layout->expansion;
    for (uint32_t i = 0; i < expansion->output_count; i++) {
        const uint32_t root = layout->roots[expansion->outputs[i]];
        Place *place = &places[root];
        if (expansion->values[root].source != EXPANSION_RESULT || place->kind) continue;
        place->kind = PLACE_OUTPUT;
        place->index = i;
    }
}

/* Constants keep their places during the whole launch. */
static Error *place_constants(Layout *layout, Place *places) {
    const Expansion *expansion = layout->expansion;
    for (uint32_t i = 0; i < expansion->value_count; i++) {
        if (expansion->values[i].source == EXPANSION_INPUT)
            places[i].kind = PLACE_INPUT, places[i].index = i;
        else if (expansion->values[i].source == EXPANSION_CONSTANT && layout->as_data[i] &&
                 places[i].bytes > 0)
            TRY(take_slot(layout, places[i].bytes, 0, UINT32_MAX, &places[i]));
    }
    return NULL;
}

static Error *place_results(Layout *layout, Place *places) {
    const Expansion *expansion = layout->expansion;
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        const ExpansionNode *node = &expansion->nodes[i];
        for (uint32_t j = 0; j < node->output_count; j++) {
            const uint32_t value = node->first_output + j;
            Place *place = &places[value];
            if (layout->roots[value] != value || place->kind || place->bytes == 0) continue;
            /* node i reads while it writes, so a slot is free only after the last node that reads
             * the value */
            TRY(take_slot(layout, place->bytes, i + 1, layout->last_use[value] + 1, place));
        }
    }
    return NULL;
}

static Error *place_all(Layout *layout, ExpansionState *state, uint64_t *out_bytes) {
    const Expansion *expansion = layout->expansion;
    for (uint32_t i = 0; i < expansion->value_count; i++) {
        const TensorSpec *spec = &expansion->values[i].spec;
        if (spec->present) TRY(shape_bytes(&spec->shape, spec->dtype, &state->places[i].bytes));
    }
    read_uses(layout, state->plans);
    place_outputs(layout, state->places);
    TRY(place_constants(layout, state->places));
    TRY(place_results(layout, state->places));
    for (uint32_t i = 0; i < expansion->value_count; i++)
        state->places[i] = state->places[layout->roots[i]];
    uint64_t inner = 0;
    for (uint32_t i = 0; i < expansion->node_count; i++)
        if (state->plans[i]->workspace_bytes > inner) inner = state->plans[i]->workspace_bytes;
    state->inner_offset = layout->end;
    if (!checked_add_u64(layout->end, inner, out_bytes))
        FAIL(INVALID, "the workspace is too large");
    return NULL;
}

static Error *lay_out(ExpansionState *state, uint64_t *out_bytes) {
    Layout layout;
    Error *error = layout_init(&layout, state->expansion);
    if (!error) error = place_all(&layout, state, out_bytes);
    layout_deinit(&layout);
    return error;
}

/* ---- the launch ---- */

static uint64_t value_address(const ExpansionState *state, const Launch *launch, uint32_t value) {
    const Place *place = &state->places[value];
    switch (place->kind) {
    case PLACE_NOWHERE:
        return 0;
    case PLACE_INPUT:
        return launch->inputs[place->index];
    case PLACE_OUTPUT:
        return launch->outputs[place->index];
    case PLACE_WORKSPACE:
        return launch->workspace + place->offset;
    }
    return 0;
}

static Error *launch_node(const ExpansionState *state, const Launch *launch, uint32_t index) {
    const Expansion *expansion = state->expansion;
    const ExpansionNode *node = &expansion->nodes[index];
    const Plan *inner = state->plans[index];
    uint64_t inputs[PLAN_INPUTS_MAX], outputs[PLAN_OUTPUTS_MAX];
    Shape shapes[PLAN_OUTPUTS_MAX];
    if (inner->view) return NULL;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const bool is_data =
            node->inputs[i] != EXPANSION_ABSENT && !operator_reads_value(node->operator_info, i);
        inputs[i] = is_data ? value_address(state, launch, node->inputs[i]) : 0;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        outputs[i] = value_address(state, launch, node->first_output + i);
        shapes[i] = expansion->values[node->first_output + i].spec.shape;
    }
    Launch part = *launch;
    part.inputs = inputs;
    part.outputs = outputs;
    part.workspace = inner->workspace_bytes ? launch->workspace + state->inner_offset : 0;
    return inner->launch(inner, &part, shapes);
}

static Error *write_constants(const Plan *plan, const Launch *launch) {
    const ExpansionState *state = plan_state(plan);
    const Expansion *expansion = state->expansion;
    for (uint32_t i = 0; i < expansion->value_count; i++) {
        const ExpansionValue *value = &expansion->values[i];
        const Place *place = &state->places[i];
        if (value->source != EXPANSION_CONSTANT || place->kind != PLACE_WORKSPACE) continue;
        TRY(plan->device->class_->copy_from_host(plan->device, launch->stream,
            launch->workspace + place->offset, value->bytes, place->bytes));
    }
    return NULL;
}

static Error *copy_outputs(const Plan *plan, const Launch *launch) {
    const ExpansionState *state = plan_state(plan);
    for (uint32_t i = 0; i < state->expansion->output_count; i++) {
        const uint32_t value = state->expansion->outputs[i];
        const Place *place = &state->places[value];
        if (place->bytes == 0 || (place->kind == PLACE_OUTPUT && place->index == i)) continue;
        TRY(plan->device->class_->copy(plan->device, launch->stream, launch->outputs[i],
            value_address(state, launch, value), place->bytes));
    }
    return NULL;
}

static Error *launch_all(const Plan *plan, const Launch *launch, const Shape *output_shapes) {
    const ExpansionState *state = plan_state(plan);
    const Expansion *expansion = state->expansion;
    Launch part = *launch;
    (void)output_shapes;
    TRY(write_constants(plan, launch));
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        TRY_WRAP(launch_node(state, &part, i), "%s", expansion->nodes[i].operator_info->name);
        part.philox_counter += state->plans[i]->philox_draws;
    }
    return copy_outputs(plan, launch);
}

/* ---- the plan ---- */

static Error *check_outputs(const PlanRequest *request, const Expansion *expansion) {
    for (uint32_t i = 0; i < request->output_count; i++) {
        const TensorSpec *made = &expansion->values[expansion->outputs[i]].spec;
        if (made->dtype != request->outputs[i].dtype ||
            !shape_equal(&made->shape, &request->outputs[i].shape))
            FAIL(INTERNAL, "%s: its expansion has another output %u", request->operator_info->name,
                i);
    }
    return NULL;
}

static Error *plan_nodes(struct Device *device, const PlanRequest *request, Plan *plan) {
    ExpansionState *state = plan_state(plan);
    void *block;
    TRY(operator_expansion_create(request, &state->expansion));
    const Expansion *expansion = state->expansion;
    TRY(check_outputs(request, expansion));
    TRY(memory_alloc(expansion->node_count + 1, sizeof(Plan *), &block));
    state->plans = block;
    TRY(memory_alloc(expansion->value_count + 1, sizeof(Place), &block));
    state->places = block;
    for (uint32_t i = 0; i < expansion->node_count; i++) {
        TRY_WRAP(
            plan_node(device, state, i), "%s as plain operators", request->operator_info->name);
        plan->philox_draws += state->plans[i]->philox_draws;
    }
    return lay_out(state, &plan->workspace_bytes);
}

Error *expansion_plan_create(struct Device *device, const PlanRequest *request, Plan **out) {
    for (uint32_t i = 0; i < request->input_count; i++)
        if (request->inputs[i].layout != 0)
            FAIL(UNSUPPORTED, "%s: input %u is packed", request->operator_info->name, i);
    OWN(Plan, plan) = NULL;
    TRY(plan_create(device, request, "expansion", sizeof(ExpansionState), &plan));
    plan->origin = PLAN_OF_EXPANSION;
    plan->destroy = destroy;
    plan->launch = launch_all;
    /* not in place: the first step may write the output before the last step reads the input */
    plan->in_place = 0;
    TRY(plan_nodes(device, request, plan));
    *out = TAKE(plan);
    return NULL;
}
