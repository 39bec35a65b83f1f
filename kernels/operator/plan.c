#include "kernels/operator/plan.h"

#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"

enum { STATE_ALIGNMENT = 16, IN_PLACE_INDEX_MAX = 8 };

typedef struct PlanBlock {
    Plan plan;
    TensorSpec outputs[]; /* output_count, then the state */
} PlanBlock;

static size_t state_offset(uint32_t output_count) {
    size_t end = sizeof(PlanBlock) + output_count * sizeof(TensorSpec);
    return (end + STATE_ALIGNMENT - 1) & ~(size_t)(STATE_ALIGNMENT - 1);
}

/* "0<0 0<1": the pairs of the operator's row whose two tensors have the same extent. */
static uint64_t in_place_pairs(const PlanRequest *request) {
    const char *text = request->operator_info->in_place;
    uint64_t pairs = 0;
    for (; text[0] >= '0' && text[0] <= '7' && text[1] == '<'; text += text[3] == ' ' ? 4 : 3) {
        uint32_t output = (uint32_t)(text[0] - '0'), input = (uint32_t)(text[2] - '0');
        if (output >= request->output_count || input >= request->input_count) continue;
        const TensorSpec *to = &request->outputs[output], *from = &request->inputs[input];
        if (!from->present || from->layout != 0) continue;
        if (!shape_equal(&to->shape, &from->shape)) continue;
        if (dtype_bits(to->dtype) != dtype_bits(from->dtype)) continue;
        if (to->dtype == DTYPE_STRING) continue; /* strings of equal shapes have different sizes */
        pairs |= (uint64_t)1 << (output * IN_PLACE_INDEX_MAX + input);
    }
    return pairs;
}

Error *plan_request_input_bytes(const PlanRequest *request, uint32_t index, uint64_t *out) {
    const TensorSpec *input = &request->inputs[index];
    *out = 0;
    if (!input->present || operator_reads_value(request->operator_info, index)) return NULL;
    return shape_bytes(&input->shape, input->dtype, out);
}

Error *plan_create(struct Device *device, const PlanRequest *request, const char *kernel_name,
    size_t state_size, Plan **out) {
    size_t size;
    if (!checked_add_size(state_offset(request->output_count), state_size, &size))
        FAIL(INTERNAL, "a plan state of %zu bytes", state_size);
    void *block;
    TRY(memory_alloc_lines(1, size, &block));
    PlanBlock *made = block;
    memcpy(made->outputs, request->outputs, request->output_count * sizeof(TensorSpec));
    Plan *plan = &made->plan;
    refcount_init(&plan->refcount);
    plan->device = device;
    plan->kernel_name = kernel_name;
    plan->input_count = request->input_count;
    plan->output_count = request->output_count;
    plan->in_place = in_place_pairs(request);
    plan->outputs = made->outputs;
    plan->destroy = plan_free;
    *out = plan;
    return NULL;
}

Error *plan_create_view(struct Device *device, const PlanRequest *request, Plan **out) {
    Plan *plan;
    TRY(plan_create(device, request, "view", 0, &plan));
    plan->view = true;
    *out = plan;
    return NULL;
}

void *plan_state(const Plan *plan) { return (char *)plan + state_offset(plan->output_count); }

Plan *plan_retain(Plan *plan) {
    refcount_retain(&plan->refcount);
    return plan;
}

void plan_free(Plan *plan) { memory_free(plan); }

void plan_release(Plan *plan) {
    if (plan && refcount_release(&plan->refcount)) plan->destroy(plan);
}
