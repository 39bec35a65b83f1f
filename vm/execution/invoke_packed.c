#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"
#include "vm/execution/invoke_internal.h"

/* ---- inputs ---- */

/* Returns the error for an input that the fast checks refused. */
static Error *fail_input(
    const Invocation *invocation, uint32_t index, const Value *value, uint8_t wanted_slot) {
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "input %u is a %s, not a tensor", index, value_kind_name(value));
    const Tensor *tensor = value->tensor;
    if (!tensor->written) FAIL(INVALID, "input %u is not written", index);
    if (tensor->storage->slot != wanted_slot)
        FAIL(INVALID, "input %u is in slot %u, not in slot %u", index, tensor->storage->slot,
            wanted_slot);
    FAIL(INVALID, "input %u is in memory of %s, not of %s", index, tensor->storage->device->name,
        invocation->execution->residency->devices[wanted_slot]->name);
}

static inline bool is_empty(const Shape *shape) {
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0) return true;
    return false;
}

/* A value input is read at planning, from slot 0; at the launch it has no address. */
static inline Error *gather_input(Invocation *invocation, uint32_t index) {
    const DecodedOperand *operand = &invocation->instruction->operands[2 + index];
    CallInput *input = &invocation->inputs[index];
    *input = (CallInput){NULL, NULL};
    invocation->input_addresses[index] = 0;
    if (operand->absent) return NULL;
    if (operand->packed) {
        input->weight = operand->weight;
        invocation->input_addresses[index] = operand->weight->storage->address;
        return NULL;
    }
    const Value *value = operand_get(operand, invocation->registers);
    bool by_value = operator_reads_value(invocation->info, index);
    uint8_t slot = by_value ? SLOT_HOST : invocation->slot;
    if (!value_is(value, OBJECT_TENSOR)) return fail_input(invocation, index, value, slot);
    const Tensor *tensor = value->tensor;
    const Storage *storage = tensor->storage;
    if (!tensor->written || storage->slot != slot)
        return fail_input(invocation, index, value, slot);
    Device *device = invocation->execution->residency->devices[slot];
    if (storage->device != device && !device_shares_memory(storage->device, device))
        return fail_input(invocation, index, value, slot);
    input->tensor = tensor;
    if (!by_value && !is_empty(&tensor->shape))
        invocation->input_addresses[index] = storage->address + tensor->offset;
    return NULL;
}

static Error *find_plan(Invocation *invocation) {
    Execution *execution = invocation->execution;
    const DecodedInstruction *instruction = invocation->instruction;
    InlineCache *cache = &execution->current_sites[instruction->site];
    if (!inline_cache_matches(cache, invocation->inputs, invocation->input_count, invocation->info))
        TRY(inline_cache_fill(cache, execution->residency, invocation->slot,
            instruction->operands[0].index, invocation->inputs, invocation->input_count,
            invocation->output_count));
    invocation->cache = cache;
    invocation->plan = cache->plan;
    return NULL;
}

/* ---- launch ---- */

static void free_workspace(Invocation *invocation) {
    if (invocation->workspace)
        memory_pool_free(
            invocation->pool, invocation->workspace, invocation->plan->workspace_bytes);
    invocation->workspace = 0;
}

void invocation_drop(Invocation *invocation) { free_workspace(invocation); }

static Launch make_launch(const Invocation *invocation) {
    const Execution *execution = invocation->execution;
    return (Launch){
        .inputs = invocation->input_addresses,
        .outputs = invocation->output_addresses,
        .stream = memory_pool_get_stream(invocation->pool),
        .workspace = invocation->workspace,
        .threads = execution->options.threads,
        .philox_key = execution->options.philox_key,
        .philox_counter = execution->counters.philox,
    };
}

static Error *measure(Invocation *invocation) {
    const Plan *plan = invocation->plan;
    Launch launch = make_launch(invocation);
    if (launch.stream) invocation->execution->traffic.waits++;
    if (plan->measure) TRY(plan->measure(plan, &launch, invocation->shapes));
    int64_t count;
    for (uint32_t i = 0; i < invocation->output_count; i++)
        TRY(shape_count(&invocation->shapes[i], &count));
    if (!plan->measure_bytes) return NULL;
    return plan->measure_bytes(plan, &launch, invocation->shapes, invocation->bytes);
}

Error *invocation_prepare(Invocation *invocation, Step *out_step) {
    const Plan *plan = invocation->plan;
    invocation->workspace = 0;
    if (plan->workspace_bytes > 0) {
        MemoryAnswer answer;
        TRY(memory_pool_alloc(
            invocation->pool, plan->workspace_bytes, &answer, &invocation->workspace));
        if (answer.kind != MEMORY_GRANTED) {
            invocation->workspace = 0;
            execution_need_memory(invocation->execution, invocation->slot, answer.bytes, out_step);
            return NULL;
        }
    }
    for (uint32_t i = 0; i < invocation->output_count; i++)
        invocation->shapes[i] = plan->outputs[i].shape;
    if (!plan->measure && !plan->measure_bytes) return NULL;
    kernel_stop_scope.whole = true;
    Error *error = measure(invocation);
    kernel_stop_scope.whole = false;
    if (error) free_workspace(invocation);
    return error;
}

/* Roughly the bytes that a launch moves. */
static uint64_t operand_bytes(const Invocation *invocation) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < invocation->input_count; i++)
        if (invocation->inputs[i].tensor) bytes += tensor_bytes(invocation->inputs[i].tensor);
    for (uint32_t i = 0; i < invocation->output_count; i++)
        if (invocation->outputs[i]) bytes += tensor_bytes(invocation->outputs[i]);
    return bytes;
}

/* A queued kernel can be left half done only while its instruction has not ended. */
static bool waits_for_kernel(const Invocation *invocation, const DeviceStream *stream) {
    return invocation->cache->is_long &&
           (!stream || memory_pool_get_device(invocation->pool)->class_->stops_kernels);
}

static Error *wait_or_run_ahead(Invocation *invocation, DeviceStream *stream, bool waits) {
    RunAhead *ahead = &invocation->execution->ahead;
    if (!waits) return run_ahead_add(ahead, invocation->pool, operand_bytes(invocation));
    TRY(device_stream_synchronize(memory_pool_get_device(invocation->pool), stream));
    run_ahead_settle(ahead);
    return NULL;
}

Error *invocation_launch(Invocation *invocation, bool whole) {
    const Plan *plan = invocation->plan;
    Launch launch = make_launch(invocation);
    KernelStop *stop = invocation->execution->kernel_stop;
    const bool waits = waits_for_kernel(invocation, launch.stream);
    if (waits)
        kernel_stop_begin_kernel(stop, invocation->info->name, &invocation->cache->plan->took_ns);
    kernel_stop_scope.whole = whole && (!launch.stream || invocation->cache->is_long);
    Error *error = plan->launch(plan, &launch, invocation->shapes);
    kernel_stop_scope.whole = false;
    if (!error && launch.stream) error = wait_or_run_ahead(invocation, launch.stream, waits);
    if (waits) kernel_stop_end_kernel(stop, !error);
    free_workspace(invocation);
    return error;
}

static Error *check_output_finite(const Invocation *invocation, const Tensor *tensor) {
    uint64_t bytes = tensor_bytes(tensor), width = dtype_bits(tensor->dtype) / 8;
    if (!dtype_is_float(tensor->dtype) || bytes == 0 || width == 0) return NULL;
    void *memory;
    TRY(memory_map(bytes, &memory));
    Error *error = tensor_copy_to_host(tensor, memory);
    double real = 0;
    for (uint64_t at = 0; !error && at < bytes; at += width) {
        if (!dtype_scalar_read(tensor->dtype, (const char *)memory + at, &real)) break;
        if (real - real != 0)
            error = error_make(ERROR_FAILED, __FILE__, __LINE__,
                "%s gave %g at element %" PRIu64 " of its output", invocation->info->name, real,
                at / width);
    }
    memory_unmap(memory, bytes);
    return error;
}

Error *invocation_complete(Invocation *invocation) {
    Execution *execution = invocation->execution;
    if (execution->options.check_finite)
        for (uint32_t i = 0; i < invocation->output_count; i++)
            TRY(check_output_finite(invocation, invocation->outputs[i]));
    execution->counters.kernel_calls++;
    execution->counters.philox += invocation->plan->philox_draws;
    return NULL;
}

/* ---- the ALLOC form ---- */

static bool pair_in_place(const Plan *plan, uint32_t output, uint32_t input) {
    return input < 8 && (plan->in_place >> (output * 8 + input) & 1);
}

/* Whether the output may take over an input's storage: this is the instruction's last use of the
 * input, tensor and storage have no other holder, and no other operand of this instruction reads
 * the input but as such an input */
static bool may_reuse(const Invocation *invocation, uint32_t output, uint32_t input) {
    if (!pair_in_place(invocation->plan, output, input)) return false;
    const DecodedOperand *operands = &invocation->instruction->operands[2];
    const Tensor *tensor = invocation->inputs[input].tensor;
    if (!operands[input].last_use || !tensor || !tensor_is_sole(tensor)) return false;
    for (uint32_t i = 0; i < invocation->input_count; i++)
        if (i != input && !operands[i].constant && !operands[i].absent &&
            operands[i].index == operands[input].index &&
            !pair_in_place(invocation->plan, output, i))
            return false;
    for (uint32_t i = 0; i < output; i++)
        if (invocation->reused[i] == input) return false;
    return true;
}

static uint32_t choose_reuse(const Invocation *invocation, uint32_t output) {
    if (output >= 8 || (invocation->plan->in_place >> (output * 8) & 0xff) == 0) return INPUT_NONE;
    for (uint32_t input = 0; input < 8 && input < invocation->input_count; input++)
        if (may_reuse(invocation, output, input)) return input;
    return INPUT_NONE;
}

static void release_outputs(Invocation *invocation, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) tensor_release(invocation->outputs[i]);
}

/* The input's tensor if it has the result's form, otherwise another view of its storage. */
static Error *reuse_input(Invocation *invocation, uint32_t output, uint32_t input) {
    Tensor *tensor = (Tensor *)(uintptr_t)invocation->inputs[input].tensor;
    DType dtype = invocation->plan->outputs[output].dtype;
    const Shape *shape = &invocation->shapes[output];
    invocation->reused[output] = input;
    invocation->output_addresses[output] = invocation->input_addresses[input];
    if (tensor->dtype == dtype && shape_equal(&tensor->shape, shape)) {
        invocation->outputs[output] = tensor_retain(tensor);
        return NULL;
    }
    return tensor_create(tensor->storage, 0, dtype, shape, &invocation->outputs[output]);
}

/* A dead tensor of the size, in the slot; NULL when none is kept. */
static Tensor *take_recycled(Invocation *invocation, uint32_t index) {
    Execution *execution = invocation->execution;
    uint64_t bytes = index < 4 ? invocation->cache->output_bytes[index] : UINT64_MAX;
    for (uint32_t i = execution->recycled_count; i-- > 0;) {
        Tensor *tensor = execution->recycled[i];
        if (tensor->storage->size != bytes || tensor->storage->slot != invocation->slot) continue;
        execution->recycled[i] = execution->recycled[--execution->recycled_count];
        storage_forget_annotation(tensor->storage);
        tensor->dtype = invocation->plan->outputs[index].dtype;
        tensor->shape = invocation->shapes[index];
        return tensor;
    }
    return NULL;
}

/* Releases a value. A small tensor that only this register held is kept for a later output. */
static inline void recycle(Execution *execution, Value value) {
    if (value.tag != VALUE_OBJECT) return;
    if (value.kind == OBJECT_TENSOR && execution->recycled_count < EXECUTION_RECYCLED_MAX) {
        Tensor *tensor = value.tensor;
        const Storage *storage = tensor->storage;
        if (storage->size <= EXECUTION_RECYCLED_BYTES_MAX && storage->size > 0 &&
            storage->slot < SLOT_COUNT && storage->pool == execution->pools[storage->slot] &&
            tensor->written && tensor_is_sole(tensor)) {
            execution->recycled[execution->recycled_count++] = tensor;
            return;
        }
    }
    value_release_object(value);
}

static Error *create_tensor(Invocation *invocation, uint32_t index, DType dtype, const Shape *shape,
    MemoryAnswer *out_answer, Tensor **out) {
    if (dtype == DTYPE_STRING)
        return tensor_create_bytes_in_pool(invocation->pool, invocation->slot, dtype, shape,
            invocation->bytes[index], out_answer, out);
    return tensor_create_in_pool(invocation->pool, invocation->slot, dtype, shape, out_answer, out);
}

static Error *make_tensor(
    Invocation *invocation, uint32_t index, MemoryAnswer *out_answer, Tensor **out) {
    Tensor *tensor = take_recycled(invocation, index);
    if (tensor) {
        *out = tensor;
        return NULL;
    }
    DType dtype = invocation->plan->outputs[index].dtype;
    const Shape *shape = &invocation->shapes[index];
    Error *error = create_tensor(invocation, index, dtype, shape, out_answer, out);
    if (error_code(error) != ERROR_EXHAUSTED || !execution_flush_recycled(invocation->execution))
        return error;
    error_free(error); /* tries once more without the recycled tensors */
    return create_tensor(invocation, index, dtype, shape, out_answer, out);
}

/* A kernel that overwrites its input has to run to its end, so a long call does that only if there
 * is no memory for another output. */
static Error *make_output(Invocation *invocation, uint32_t index, MemoryAnswer *out_answer) {
    out_answer->kind = MEMORY_GRANTED;
    invocation->reused[index] = INPUT_NONE;
    uint32_t input = choose_reuse(invocation, index);
    if (input != INPUT_NONE && !invocation->cache->is_long)
        return reuse_input(invocation, index, input);
    Tensor *tensor = NULL;
    Error *error = make_tensor(invocation, index, out_answer, &tensor);
    if (input != INPUT_NONE &&
        (error_code(error) == ERROR_EXHAUSTED || out_answer->kind != MEMORY_GRANTED)) {
        error_free(error);
        out_answer->kind = MEMORY_GRANTED;
        return reuse_input(invocation, index, input);
    }
    TRY(error);
    invocation->outputs[index] = tensor;
    if (tensor)
        invocation->output_addresses[index] =
            is_empty(&tensor->shape) ? 0 : tensor->storage->address;
    return NULL;
}

/* Makes all outputs or none. */
static Error *make_outputs(Invocation *invocation, Step *out_step) {
    for (uint32_t i = 0; i < invocation->output_count; i++) {
        MemoryAnswer answer;
        Error *error = make_output(invocation, i, &answer);
        if (!error && answer.kind == MEMORY_GRANTED) continue;
        uint64_t held = invocation->plan->workspace_bytes;
        for (uint32_t made = 0; made < i; made++)
            if (invocation->reused[made] == INPUT_NONE)
                held += invocation->outputs[made]->storage->size;
        release_outputs(invocation, i);
        free_workspace(invocation);
        if (!error)
            execution_need_memory(
                invocation->execution, invocation->slot, held + answer.bytes, out_step);
        return error;
    }
    return NULL;
}

static bool writes_in_place(const Invocation *invocation) {
    for (uint32_t i = 0; i < invocation->output_count; i++)
        if (invocation->reused[i] != INPUT_NONE) return true;
    return false;
}

/* Releases inputs at their last use, then sets the destinations: an output's register may be an
 * input's. */
void invocation_store_outputs(Invocation *invocation) {
    Value *registers = invocation->registers;
    for (uint32_t i = 0; i < invocation->input_count; i++) {
        const DecodedOperand *operand = &invocation->instruction->operands[2 + i];
        if (!operand->last_use) continue;
        Value dead = registers[operand->index];
        registers[operand->index] = value_nil();
        recycle(invocation->execution, dead);
    }
    for (uint32_t i = 0; i < invocation->output_count; i++) {
        uint32_t index = invocation_output_operand(invocation, i)->index;
        Value old = registers[index];
        registers[index] = value_object(OBJECT_TENSOR, invocation->outputs[i]);
        recycle(invocation->execution, old);
    }
}

static Error *run_alloc(Invocation *invocation, Step *out_step) {
    TRY(invocation_prepare(invocation, out_step));
    if (*out_step == STEP_STOP) return NULL;
    TRY(make_outputs(invocation, out_step));
    if (*out_step == STEP_STOP) return NULL;
    for (uint32_t i = 0; i < invocation->output_count; i++)
        if (invocation->reused[i] != INPUT_NONE)
            storage_forget_annotation(invocation->outputs[i]->storage);
    Error *error = invocation_launch(invocation, !writes_in_place(invocation));
    if (!error) error = invocation_complete(invocation);
    if (error) {
        release_outputs(invocation, invocation->output_count);
        return error;
    }
    invocation_store_outputs(invocation);
    return NULL;
}

/* Output 0 is input 0 under another shape or element type; a tensor that only this register holds
 * is changed in place. */
static Error *run_view(Invocation *invocation) {
    const DecodedOperand *operand = &invocation->instruction->operands[2];
    Tensor *tensor = (Tensor *)(uintptr_t)invocation->inputs[0].tensor;
    const Shape *shape = &invocation->plan->outputs[0].shape;
    const DType dtype = invocation->plan->outputs[0].dtype;
    if (!tensor) FAIL(INTERNAL, "a view without a tensor");
    if (operand->last_use && refcount_is_sole(&tensor->refcount)) {
        invocation->outputs[0] = tensor_retain(tensor);
        tensor->shape = *shape;
        tensor->dtype = dtype;
    } else {
        TRY(tensor_view(tensor, dtype, shape, &invocation->outputs[0]));
    }
    invocation->execution->counters.kernel_calls++;
    invocation_store_outputs(invocation);
    return NULL;
}

/* ---- instrumentation ---- */

static uint32_t gather_arguments(const Invocation *invocation, Value *out_values) {
    const DecodedInstruction *instruction = invocation->instruction;
    uint32_t count = instruction->operand_count - 2u;
    if (instruction->flags & INSTRUCTION_ALLOC) count -= invocation->output_count;
    for (uint32_t i = 0; i < count; i++) {
        const DecodedOperand *operand = &instruction->operands[2 + i];
        bool given = !operand->absent && !operand->packed;
        out_values[i] = given ? *operand_get(operand, invocation->registers) : value_nil();
    }
    return count;
}

/* Outputs of the ALLOC form become nil; other outputs stay unchanged. */
static void skip(Invocation *invocation) {
    Value *registers = invocation->registers;
    const DecodedInstruction *instruction = invocation->instruction;
    bool alloc = instruction->flags & INSTRUCTION_ALLOC;
    uint32_t end = instruction->operand_count - (alloc ? invocation->output_count : 0);
    for (uint32_t i = 2; i < end; i++) operand_finish(&instruction->operands[i], registers);
    for (uint32_t i = 0; alloc && i < invocation->output_count; i++)
        value_release(&registers[invocation_output_operand(invocation, i)->index]);
}

static Error *run(Invocation *invocation, Step *out_step) {
    for (uint32_t i = 0; i < invocation->input_count; i++) TRY(gather_input(invocation, i));
    TRY(find_plan(invocation));
    if (!(invocation->instruction->flags & INSTRUCTION_ALLOC))
        return invocation_run_destinations(invocation, out_step);
    if (invocation->plan->view) return run_view(invocation);
    if (invocation_is_append(invocation)) return invocation_run_append(invocation, out_step);
    return run_alloc(invocation, out_step);
}

static Error *tell_after(const Invocation *invocation, const Value *arguments, uint32_t count) {
    const Execution *execution = invocation->execution;
    const uint32_t primitive = invocation->instruction->operands[0].index;
    TensorSpec specs[PLAN_INPUTS_MAX];
    Value results[PLAN_OUTPUTS_MAX];
    for (uint32_t i = 0; i < invocation->input_count; i++)
        specs[i] = call_input_spec(execution->residency, &invocation->inputs[i]);
    for (uint32_t i = 0; i < invocation->output_count; i++)
        results[i] = value_object(OBJECT_TENSOR, invocation->outputs[i]); /* borrowed */
    const InstrumentKernel kernel = {
        .name = invocation_is_append(invocation) ? "append" : invocation->plan->kernel_name,
        .operator_info = invocation->info,
        .attributes = execution->executable->primitives[primitive].attributes,
        .input_count = invocation->input_count,
        .inputs = specs,
    };
    return instrument_after(invocation->execution, invocation->info->name, arguments, count,
        results, invocation->output_count, &kernel);
}

/* Shows the call's results, copied before the run may end the last use of an out. */
static Error *run_instrumented(Invocation *invocation, Step *out_step) {
    Execution *execution = invocation->execution;
    Value arguments[PLAN_INPUTS_MAX + PLAN_OUTPUTS_MAX];
    uint32_t count = gather_arguments(invocation, arguments);
    bool skipped;
    TRY(instrument_before(execution, invocation->info->name, arguments, count, &skipped));
    if (skipped) {
        skip(invocation);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) arguments[i] = value_copy(arguments[i]);
    Error *error = run(invocation, out_step);
    if (!error && *out_step == STEP_NEXT) error = tell_after(invocation, arguments, count);
    for (uint32_t i = 0; i < count; i++) value_release(&arguments[i]);
    return error;
}

Error *instruction_invoke_packed(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    Invocation invocation; /* large: only the used members are set */
    invocation.execution = execution;
    invocation.instruction = instruction;
    invocation.registers = registers;
    invocation.info =
        execution->executable->primitives[instruction->operands[0].index].operator_info;
    invocation.slot = instruction->flags & INSTRUCTION_HOST ? SLOT_HOST : SLOT_DEVICE;
    invocation.pool = execution->pools[invocation.slot];
    invocation.output_count = instruction->output_count;
    invocation.input_count = instruction->operand_count - 2u - instruction->output_count;
    invocation.workspace = 0;
    if (__builtin_expect(execution->instrument != NULL, 0))
        return run_instrumented(&invocation, out_step);
    return run(&invocation, out_step);
}
