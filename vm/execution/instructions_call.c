#include <string.h>

#include "base/allocator.h"
#include "vm/objects/closure.h"
#include "vm/execution/instructions.h"

/* Pushes a frame and fills its first registers from the caller's operands; operand `first` becomes
 * parameter `to`. Frames may move: the caller's registers are looked up again. */
static Error *push_call(Execution *execution, const DecodedInstruction *instruction,
    uint32_t function, uint32_t first, uint32_t to) {
    bool drop = instruction->flags & INSTRUCTION_NO_DST;
    uint32_t caller_base = execution_top(execution)->register_base;
    TRY(execution_push_frame(execution, function, drop ? REGISTER_NONE : instruction->destination));
    Value *caller = execution->registers + caller_base;
    Value *callee = execution->registers + execution_top(execution)->register_base;
    for (uint32_t i = first; i < instruction->operand_count; i++)
        callee[to + i - first] = operand_take(&instruction->operands[i], caller);
    return NULL;
}

Error *instruction_invoke(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)registers;
    TRY(push_call(execution, instruction, instruction->operands[0].index, 1, 0));
    *out_step = STEP_FRAME;
    return NULL;
}

/* Pushes the frame of a tail call above the frame that it replaces. */
static Error *push_tail_call(
    Execution *execution, const DecodedInstruction *instruction, uint32_t function, uint32_t to) {
    execution->options.depth_limit++; /* both frames exist for a moment */
    Error *error = push_call(execution, instruction, function, 1, to);
    execution->options.depth_limit--;
    return error;
}

/* The top frame takes the place of the frame below it, whose registers are released while the
 * arguments wait above them. count: the arguments. */
static void replace_frame(Execution *execution, uint32_t count) {
    Frame callee = *execution_top(execution);
    execution->frame_count--;
    Frame caller = *execution_top(execution);
    execution_pop_frame(execution);
    Value *file = execution->registers;
    if (count > 0)
        memmove(file + caller.register_base, file + callee.register_base, count * sizeof(Value));
    uint32_t moved_from = callee.register_base, moved_end = callee.register_base + count;
    if (moved_from < caller.register_base + count) moved_from = caller.register_base + count;
    for (uint32_t i = moved_from; i < moved_end; i++) file[i] = value_nil();
    execution->frames[execution->frame_count++] = (Frame){
        .function = callee.function,
        .register_base = caller.register_base,
        .return_register = caller.return_register,
    };
}

Error *instruction_tail_invoke(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)registers;
    TRY(push_tail_call(execution, instruction, instruction->operands[0].index, 0));
    replace_frame(execution, instruction->operand_count - 1u);
    *out_step = STEP_FRAME;
    return NULL;
}

Error *instruction_ret(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    Value value = operand_take(&instruction->operands[0], registers);
    uint32_t return_register = execution_top(execution)->return_register;
    execution_pop_frame(execution);
    if (execution->frame_count == 0) {
        execution->result = value;
        execution->finished = true;
        *out_step = STEP_FINISHED;
        return NULL;
    }
    if (__builtin_expect(execution->instrument != NULL, 0)) {
        Error *error = instrument_after_closure(execution, &value);
        if (error) value_release(&value);
        TRY(error);
    }
    Frame *caller = execution_top(execution);
    caller->pc++;
    if (return_register == REGISTER_NONE)
        value_release(&value);
    else
        register_set(execution->registers + caller->register_base, return_register, value);
    *out_step = STEP_FRAME;
    return NULL;
}

/* Last uses of the call's operands, once the call has happened. */
static void finish_operands(
    const DecodedInstruction *instruction, uint32_t first, Value *registers) {
    for (uint32_t i = first; i < instruction->operand_count; i++)
        operand_finish(&instruction->operands[i], registers);
}

/* A packed function asks for a VM function to run in its place: a tail call. */
static Error *push_tail(
    Execution *execution, const DecodedInstruction *instruction, PackedCall *call) {
    uint32_t function = call->tail_function, count = call->tail_argument_count;
    const Executable *executable = execution->executable;
    if (executable->functions[function].parameter_count != count)
        FAIL(INVALID, "%s takes %u arguments, not %u", executable->functions[function].name,
            executable->functions[function].parameter_count, count);
    bool drop = instruction->flags & INSTRUCTION_NO_DST;
    TRY(execution_push_frame(execution, function, drop ? REGISTER_NONE : instruction->destination));
    Value *callee = execution->registers + execution_top(execution)->register_base;
    for (uint32_t i = 0; i < count; i++) {
        callee[i] = call->tail_arguments[i];
        call->tail_arguments[i] = value_nil();
    }
    return NULL;
}

static void release_tail(PackedCall *call) {
    for (uint32_t i = 0; i < call->tail_argument_count; i++)
        value_release(&call->tail_arguments[i]);
    memory_free(call->tail_arguments);
    packed_object_release(call->tail_packed);
    call->tail_arguments = NULL;
    call->tail_argument_count = 0;
    call->tail_packed = NULL;
    call->tail_function = UINT32_MAX;
}

/* Whether a result needs to be accepted: an object that is, or may hold, a tensor or state, and
 * that is not the function's own first argument, which the execution has accepted. */
static inline bool is_new(const Value *result, const Value *arguments, uint32_t count) {
    if (result->tag != VALUE_OBJECT || result->kind == OBJECT_SHAPE) return false;
    return count == 0 || arguments[0].tag != VALUE_OBJECT || arguments[0].object != result->object;
}

/* Accepts the result of a packed function, which may be mutable, or a tensor outside the
 * execution's slots. */
static Error *accept_result(Execution *execution, const Value *result) {
    if (value_is(result, OBJECT_TENSOR)) {
        if (!execution_owns_memory(execution, result->tensor))
            FAIL(INVALID, "its result is a tensor outside this execution's devices");
        if (result->tensor->storage->opaque) execution->has_mutable = true;
    } else if (value_is(result, OBJECT_OPAQUE) || value_is(result, OBJECT_STORAGE) ||
               object_kind_is_container(result->kind)) {
        execution->has_mutable = true;
    }
    return NULL;
}

/* Marks a value, or the fields of a tuple, that lies in the bytes of a written tensor. */
static void share_with(const Tensor *written, const Value *value, uint32_t depth) {
    uint32_t count;
    if (value_is(value, OBJECT_ADT) && depth > 0) {
        const Value *fields = value_children(value, &count);
        for (uint32_t i = 0; i < count; i++) share_with(written, &fields[i], depth - 1);
    }
    if (!value_is(value, OBJECT_TENSOR) || value->tensor->storage != written->storage) return;
    Tensor *tensor = value->tensor;
    const uint64_t end = written->offset + tensor_bytes(written);
    if (tensor->offset >= written->offset && tensor->offset + tensor_bytes(tensor) <= end)
        tensor_set_written(tensor);
}

void execution_share_written(Execution *execution, const Tensor *written) {
    enum { FRAMES = 2, TUPLES_DEPTH = 4 };
    size_t end = execution->frame_count, first = end > FRAMES ? end - FRAMES : 0;
    for (size_t f = first; f < end; f++) {
        const Frame *frame = &execution->frames[f];
        const uint32_t count = execution->executable->functions[frame->function].register_count;
        for (uint32_t i = 0; i < count; i++)
            share_with(written, &execution->registers[frame->register_base + i], TUPLES_DEPTH);
    }
}

/* A function that does not mark what it writes counts as writing all tensors of AllocStorage. */
static void mark_written(const PackedCall *call, const Value *arguments, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (value_is(&arguments[i], OBJECT_TENSOR) && arguments[i].tensor->storage->opaque)
            packed_mark_written(call, arguments[i].tensor);
}

/* Whether the call asks for memory, or for another function, instead of giving a result. */
static inline bool asks(const PackedCall *call) {
    return call->memory.kind == MEMORY_NEEDED || call->tail_packed ||
           call->tail_function != UINT32_MAX;
}

static inline Error *call_unwatched(Execution *execution, const PackedEntry *entry,
    const Value *arguments, uint32_t count, Value *out_result) {
    PackedCall *call = &execution->call;
    TRY(packed_target_call(&entry->target, entry->name, call, arguments, count, out_result));
    if (!call->marks_written && call->memory.kind != MEMORY_NEEDED)
        mark_written(call, arguments, count);
    if (is_new(out_result, arguments, count))
        TRY_WRAP(accept_result(execution, out_result), "%s", entry->name);
    return NULL;
}

static Error *call_watched(Execution *execution, const PackedEntry *entry, const Value *arguments,
    uint32_t count, Value *out_result) {
    bool skip;
    TRY(instrument_before(execution, entry->name, arguments, count, &skip));
    if (skip) return NULL;
    TRY(call_unwatched(execution, entry, arguments, count, out_result));
    if (execution->call.memory.kind == MEMORY_NEEDED) return NULL;
    return instrument_after(execution, entry->name, arguments, count, out_result, 1, NULL);
}

/* Calls one packed function. *out_result stays nil where memory or a tail call is asked for. */
static inline Error *call_entry(Execution *execution, const PackedEntry *entry,
    const Value *arguments, uint32_t count, Value *out_result) {
    if (execution->instrument) return call_watched(execution, entry, arguments, count, out_result);
    return call_unwatched(execution, entry, arguments, count, out_result);
}

static PackedEntry entry_of(const PackedObject *packed) {
    return (PackedEntry){packed->target, packed->name};
}

/* Calls the packed functions that a packed function asks for in its place, one after the other.
 * *out_done: one of them gave a result; else memory or a function of bytecode is asked for. */
static Error *call_chain(Execution *execution, Value *out_result, bool *out_done) {
    PackedCall *call = &execution->call;
    const Executable *executable = execution->executable;
    *out_done = false;
    while (asks(call)) {
        if (call->memory.kind == MEMORY_NEEDED) return NULL;
        call->first_is_last_use = false;
        PackedCall now = *call;
        PackedEntry entry;
        if (now.tail_packed) {
            entry = entry_of(now.tail_packed);
        } else {
            if (now.tail_function >= executable->function_count)
                FAIL(INVALID, "a tail call of function %u", now.tail_function);
            if (executable->functions[now.tail_function].kind == FUNCTION_BYTECODE) return NULL;
            entry = execution->packed_entries[now.tail_function];
        }
        call->tail_packed = NULL;
        call->tail_function = UINT32_MAX;
        call->tail_arguments = NULL;
        call->tail_argument_count = 0;
        value_release(out_result);
        Error *error =
            call_entry(execution, &entry, now.tail_arguments, now.tail_argument_count, out_result);
        release_tail(&now);
        TRY(error);
    }
    *out_done = true;
    return NULL;
}

/* Ends a call: last uses, then the result. */
static inline void finish_call(const DecodedInstruction *instruction, uint32_t finish_from,
    Value *registers, Value *owned_result) {
    if (instruction->last_uses) finish_operands(instruction, finish_from, registers);
    if (instruction->flags & INSTRUCTION_NO_DST)
        value_release(owned_result);
    else
        register_set(registers, instruction->destination, *owned_result);
    *owned_result = value_nil();
}

/* A call that fails, or asks for memory or another function. */
static Error *finish_asking(Execution *execution, const DecodedInstruction *instruction,
    uint32_t finish_from, Error *owned_error, Value *owned_result, Step *out_step) {
    bool done;
    PackedCall *call = &execution->call;
    const uint32_t base = execution_top(execution)->register_base;
    Error *error = owned_error ? owned_error : call_chain(execution, owned_result, &done);
    if (!error && done) {
        finish_call(instruction, finish_from, execution->registers + base, owned_result);
    } else if (!error && call->memory.kind == MEMORY_NEEDED) {
        execution_need_memory(execution, call->memory_slot, call->memory.bytes, out_step);
    } else if (!error) {
        error = push_tail(execution, instruction, call);
        if (!error) {
            finish_operands(instruction, finish_from, execution->registers + base);
            *out_step = STEP_FRAME;
        }
    }
    release_tail(call);
    call->memory = (MemoryAnswer){0};
    value_release(owned_result);
    return error;
}

/* Arguments are borrowed values in scratch. finish_from: operands from there on are finished. */
static inline __attribute__((always_inline)) Error *call_packed(Execution *execution,
    const DecodedInstruction *instruction, const PackedEntry *entry, uint32_t count,
    uint32_t finish_from, Step *out_step) {
    Value result = value_nil();
    Error *error = call_entry(execution, entry, execution->scratch, count, &result);
    if (__builtin_expect(error || asks(&execution->call), 0))
        return finish_asking(execution, instruction, finish_from, error, &result, out_step);
    Value *registers = execution->registers + execution_top(execution)->register_base;
    finish_call(instruction, finish_from, registers, &result);
    return NULL;
}

/* Whether nothing reads an operand's register after the instruction as it is before it. */
static inline bool is_last_use(const DecodedInstruction *instruction, uint32_t index) {
    const DecodedOperand *operand = &instruction->operands[index];
    if (operand->constant) return false;
    return operand->last_use || (!(instruction->flags & INSTRUCTION_NO_DST) &&
                                    instruction->destination == operand->index);
}

Error *instruction_call(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const PackedEntry *entry = &execution->packed_entries[instruction->operands[0].index];
    if (!entry->target.function)
        return instruction_invoke(execution, instruction, registers, out_step);
    uint32_t count = instruction->operand_count - 1u;
    if (count > execution->scratch_capacity) TRY(execution_reserve_scratch(execution, count));
    for (uint32_t i = 0; i < count; i++)
        execution->scratch[i] = *operand_get(&instruction->operands[1 + i], registers);
    execution->call.first_is_last_use = count > 0 && is_last_use(instruction, 1);
    return call_packed(execution, instruction, entry, count, 1, out_step);
}

static Error *call_packed_object(Execution *execution, const DecodedInstruction *instruction,
    Value *registers, const PackedObject *packed, Step *out_step) {
    uint32_t count = instruction->operand_count - 1u;
    TRY(execution_reserve_scratch(execution, count));
    for (uint32_t i = 0; i < count; i++)
        execution->scratch[i] = *operand_get(&instruction->operands[1 + i], registers);
    const PackedEntry entry = entry_of(packed);
    execution->call.first_is_last_use = false;
    return call_packed(execution, instruction, &entry, count, 0, out_step);
}

/* A closure of a packed function: bound values and arguments side by side in scratch. */
static Error *call_packed_closure(Execution *execution, const DecodedInstruction *instruction,
    Value *registers, const Closure *closure, Step *out_step) {
    uint32_t count = instruction->operand_count - 1u;
    TRY(execution_reserve_scratch(execution, (size_t)count + closure->count));
    bool first = closure->side == CLOSURE_FIRST;
    Value *bound = first ? execution->scratch : execution->scratch + count;
    Value *arguments = first ? execution->scratch + closure->count : execution->scratch;
    for (uint32_t i = 0; i < closure->count; i++) bound[i] = closure->bound[i];
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = *operand_get(&instruction->operands[1 + i], registers);
    const PackedEntry *entry = &execution->packed_entries[closure->function];
    execution->call.first_is_last_use = false;
    return call_packed(execution, instruction, entry, count + closure->count, 0, out_step);
}

/* The closure in operand 0, and its function. */
static Error *find_closure(const Execution *execution, const Value *callee,
    const Closure **out_closure, const Function **out_function) {
    if (!value_is(callee, OBJECT_CLOSURE))
        FAIL(INVALID, "operand 0 is a %s, not a closure", value_kind_name(callee));
    const Closure *closure = callee->closure;
    if (closure->function >= execution->executable->function_count)
        FAIL(INVALID, "a closure of function %u", closure->function);
    *out_closure = closure;
    *out_function = &execution->executable->functions[closure->function];
    return NULL;
}

static Error *check_closure_arguments(
    const Closure *closure, const Function *function, uint32_t count) {
    if ((uint64_t)count + closure->count != function->parameter_count)
        FAIL(INVALID, "%s takes %u arguments, not %u bound and %u", function->name,
            function->parameter_count, closure->count, count);
    return NULL;
}

/* The register of a closure's first argument in the callee. */
static uint32_t first_argument(const Closure *closure) {
    return closure->side == CLOSURE_FIRST ? closure->count : 0;
}

/* Bound values go into the registers of the top frame, beside the arguments. */
static void copy_bound(Execution *execution, const Closure *closure, uint32_t count) {
    Value *registers = execution->registers + execution_top(execution)->register_base;
    const uint32_t to = closure->side == CLOSURE_FIRST ? 0 : count;
    for (uint32_t i = 0; i < closure->count; i++) registers[to + i] = value_copy(closure->bound[i]);
}

/* Arguments may move out of the caller's registers, so the closure is held meanwhile. */
Error *instruction_tail_invoke_closure(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const Value *callee = operand_get(&instruction->operands[0], registers);
    const Closure *closure;
    const Function *function;
    const uint32_t count = instruction->operand_count - 1u;
    TRY(find_closure(execution, callee, &closure, &function));
    if (function->kind == FUNCTION_PACKED)
        FAIL(INVALID, "%s is a packed function, which InvokeClosure calls", function->name);
    TRY(check_closure_arguments(closure, function, count));
    Value held = value_copy(*callee);
    Error *error =
        push_tail_call(execution, instruction, closure->function, first_argument(closure));
    if (!error) {
        copy_bound(execution, closure, count);
        replace_frame(execution, function->parameter_count);
        *out_step = STEP_FRAME;
    }
    value_release(&held);
    return error;
}

Error *instruction_invoke_closure(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const Value *callee = operand_get(&instruction->operands[0], registers);
    if (value_is(callee, OBJECT_PACKED_FUNCTION))
        return call_packed_object(
            execution, instruction, registers, callee->packed_function, out_step);
    const Closure *closure;
    const Function *function;
    TRY(find_closure(execution, callee, &closure, &function));
    if (function->kind == FUNCTION_PACKED)
        return call_packed_closure(execution, instruction, registers, closure, out_step);
    const uint32_t count = instruction->operand_count - 1u;
    TRY(check_closure_arguments(closure, function, count));
    if (__builtin_expect(execution->instrument != NULL, 0)) {
        bool skip;
        TRY(instrument_before_closure(
            execution, "vm.builtin.invoke_closure", instruction, 0, registers, &skip));
        Value nil = value_nil();
        if (skip) finish_call(instruction, 0, registers, &nil);
        if (skip) return NULL;
    }
    uint32_t caller_base = execution_top(execution)->register_base;
    TRY(push_call(execution, instruction, closure->function, 1, first_argument(closure)));
    copy_bound(execution, closure, count);
    operand_finish(&instruction->operands[0], execution->registers + caller_base);
    *out_step = STEP_FRAME;
    return NULL;
}
