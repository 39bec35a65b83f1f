#include "vm/execution/invoke_internal.h"

/* Relay's destination passing: the outs are tensors that the program allocated. They must have
 * exactly the plan's shape and element type, lie in a storage that may be written, and share no
 * byte with an input or another out, except whole extents if the plan works in place. */

typedef struct Extent {
    uint64_t start, end; /* [start, end); empty for zero-size tensors */
} Extent;

static Extent extent_of(const Tensor *tensor) {
    uint64_t start = tensor_address(tensor);
    return (Extent){start, start + (start ? tensor_bytes(tensor) : 0)};
}
static bool extents_meet(Extent a, Extent b) { return a.start < b.end && b.start < a.end; }
static bool extents_equal(Extent a, Extent b) { return a.start == b.start && a.end == b.end; }

static Error *fail_shape(const Invocation *invocation, uint32_t index, const Tensor *tensor) {
    TextBuilder OWN_TEXT(text) = {0};
    text_append(&text, dtype_name(tensor->dtype));
    shape_print(&tensor->shape, &text);
    text_appendf(&text, ", not %s", dtype_name(invocation->plan->outputs[index].dtype));
    shape_print(&invocation->shapes[index], &text);
    FAIL(INVALID, "out %u is %s", index, text_builder_get(&text));
}

static Error *gather_output(Invocation *invocation, uint32_t index) {
    const Value *value =
        operand_get(invocation_output_operand(invocation, index), invocation->registers);
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "out %u is a %s, not a tensor", index, value_kind_name(value));
    Tensor *tensor = value->tensor;
    const Storage *storage = tensor->storage;
    if (storage->slot != invocation->slot || !execution_owns_memory(invocation->execution, tensor))
        FAIL(INVALID, "out %u is in slot %u, not in slot %u", index, storage->slot,
            invocation->slot);
    if (storage->sealed || !storage->opaque)
        FAIL(INVALID, "out %u may not be written: it is not in a storage of AllocStorage", index);
    invocation->outputs[index] = tensor;
    invocation->output_addresses[index] = tensor_address(tensor);
    return NULL;
}

static Error *check_output(const Invocation *invocation, uint32_t index) {
    const Tensor *tensor = invocation->outputs[index];
    if (tensor->dtype != invocation->plan->outputs[index].dtype ||
        !shape_equal(&tensor->shape, &invocation->shapes[index]))
        return fail_shape(invocation, index, tensor);
    Extent extent = extent_of(tensor);
    for (uint32_t i = 0; i < index; i++)
        if (extents_meet(extent, extent_of(invocation->outputs[i])))
            FAIL(INVALID, "outs %u and %u overlap", i, index);
    for (uint32_t i = 0; i < invocation->input_count; i++) {
        const Tensor *input = invocation->inputs[i].tensor;
        if (!input || invocation->input_addresses[i] == 0) continue;
        Extent read = extent_of(input);
        if (!extents_meet(extent, read)) continue;
        bool in_place = index < 8 && i < 8 && (invocation->plan->in_place >> (index * 8 + i) & 1) &&
                        extents_equal(extent, read);
        if (!in_place) FAIL(INVALID, "out %u overlaps input %u", index, i);
    }
    return NULL;
}

/* True when no output shares a byte with an input. */
static bool is_apart(const Invocation *invocation) {
    for (uint32_t i = 0; i < invocation->output_count; i++) {
        const Extent written = extent_of(invocation->outputs[i]);
        for (uint32_t k = 0; k < invocation->input_count; k++) {
            const Tensor *input = invocation->inputs[k].tensor;
            if (input && invocation->input_addresses[k] && extents_meet(written, extent_of(input)))
                return false;
        }
    }
    return true;
}

/* A view has no kernel: its bytes are copied into the given tensor. */
static Error *copy_view(Invocation *invocation) {
    Device *device = invocation->execution->residency->devices[invocation->slot];
    uint64_t bytes = tensor_bytes(invocation->outputs[0]);
    if (bytes == 0) return NULL;
    return device->class_->copy(device, memory_pool_get_stream(invocation->pool),
        invocation->output_addresses[0], invocation->input_addresses[0], bytes);
}

static Error *launch(Invocation *invocation, Step *out_step) {
    /* the size of strings is known only after they are computed */
    if (invocation->plan->measure_bytes) FAIL(UNSUPPORTED, "strings into a given tensor");
    if (invocation->plan->view) {
        invocation->shapes[0] = invocation->plan->outputs[0].shape;
        invocation->workspace = 0;
    } else {
        TRY(invocation_prepare(invocation, out_step));
        if (*out_step == STEP_STOP) return NULL;
    }
    Error *error = NULL;
    for (uint32_t i = 0; !error && i < invocation->output_count; i++)
        error = check_output(invocation, i);
    if (error) {
        invocation_drop(invocation);
        return error;
    }
    for (uint32_t i = 0; i < invocation->output_count; i++)
        storage_forget_annotation(invocation->outputs[i]->storage);
    if (invocation->plan->view) return copy_view(invocation);
    return invocation_launch(invocation, is_apart(invocation));
}

Error *invocation_run_destinations(Invocation *invocation, Step *out_step) {
    for (uint32_t i = 0; i < invocation->output_count; i++) TRY(gather_output(invocation, i));
    TRY(launch(invocation, out_step));
    if (*out_step == STEP_STOP) return NULL;
    for (uint32_t i = 0; i < invocation->output_count; i++)
        tensor_set_written(invocation->outputs[i]);
    TRY(invocation_complete(invocation));
    const DecodedInstruction *instruction = invocation->instruction;
    for (uint32_t i = 2; i < instruction->operand_count; i++)
        operand_finish(&instruction->operands[i], invocation->registers);
    return NULL;
}
