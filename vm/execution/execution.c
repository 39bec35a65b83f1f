#include "vm/execution/execution.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/device/float_environment.h"
#include "vm/execution/execution_state.h"
#include "vm/instruction/instruction.h"
#include "vm/execution/interpreter.h"

enum { SCRATCH_MIN = 64 };

static void set_defaults(ExecutionOptions *options) {
    if (options->depth_limit == 0) options->depth_limit = EXECUTION_DEPTH_DEFAULT;
    if (options->depth_limit > INT32_MAX) options->depth_limit = INT32_MAX;
    if (options->yield_limit == 0) options->yield_limit = EXECUTION_YIELDS_DEFAULT;
    if (options->threads == 0) options->threads = 1;
}

static Error *create_pools(Execution *execution) {
    Residency *residency = execution->residency;
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
        TRY(memory_pool_create(residency->devices[slot],
            execution->options.memory_limit_bytes[slot], &execution->pools[slot]));
        if (execution->options.naive_memory[slot])
            memory_pool_set_naive(execution->pools[slot]);
        else if (execution->options.reserves[slot])
            memory_pool_set_reserve(execution->pools[slot], execution->options.reserves[slot]);
    }
    uint64_t limit = execution->options.memory_limit_bytes[SLOT_HOST];
    if (limit == 0) TRY(device_total_bytes(residency->devices[SLOT_HOST], &limit));
    return object_meter_create(limit, &execution->meter);
}

/* Finds a packed function that no host has in the executable's native library. */
static Error *find_native(Execution *execution, uint32_t index) {
    NativeFunctions *native;
    const char *name = execution->executable->functions[index].name;
    PackedEntry *entry = &execution->packed_entries[index];
    if (execution->executable->native_library == EXECUTABLE_NO_LIBRARY)
        FAIL(NOT_FOUND, "there is no packed function %s", name);
    if (!execution->options.native.allowed)
        FAIL(REFUSED,
            "%s is native code of the model's library, which may run only where it is allowed",
            name);
    TRY(residency_get_native(execution->residency, execution->options.native.preload, &native));
    native_functions_get(native, index, &entry->target.function, &entry->target.context);
    entry->target.arity = -1;
    return NULL;
}

/* Finds the packed functions that the executable names. */
static Error *find_packed(Execution *execution) {
    const Executable *executable = execution->executable;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        if (function->kind != FUNCTION_PACKED) continue;
        PackedEntry *entry = &execution->packed_entries[i];
        entry->name = function->name;
        const PackedTarget *known = packed_registry_find(execution->packed, function->name);
        if (known)
            entry->target = *known;
        else
            TRY(find_native(execution, i));
    }
    return NULL;
}

/* Whether the execution holds a registry of its own. The residency's lives as long as the residency
 * and is not counted, which would be a count that all executions share. */
static bool has_own_registry(const Execution *execution) {
    return execution->packed != execution->residency->builtins;
}

static Error *create_tables(Execution *execution) {
    uint32_t count = execution->executable->function_count;
    void *memory;
    TRY(memory_alloc(count, sizeof(PackedEntry), &memory));
    execution->packed_entries = memory;
    TRY(memory_alloc(count, sizeof(DecodedFunction *), &memory));
    execution->decoded = memory;
    TRY(memory_alloc(count, sizeof(InlineCache *), &memory));
    execution->sites = memory;
    return execution_reserve_scratch(execution, SCRATCH_MIN);
}

static void init_call(Execution *execution) {
    execution->call = (PackedCall){
        .execution = execution,
        .meter = execution->meter,
        .registry = execution->packed,
        .pools = {execution->pools[SLOT_HOST], execution->pools[SLOT_DEVICE]},
        .tail_function = UINT32_MAX,
        .share_written = execution_share_written,
    };
}

Error *execution_create_empty(
    Residency *residency, const ExecutionOptions *options, Execution **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Execution), &memory));
    OWN(Execution, execution) = memory;
    execution->residency = residency_retain(residency);
    kernel_stop_init(&execution->own_stop);
    execution->executable = residency->executable;
    if (options) execution->options = *options;
    set_defaults(&execution->options);
    execution->kernel_stop = execution->options.kernel_stop;
    if (!execution->kernel_stop) execution->kernel_stop = &execution->own_stop;
    execution->packed = execution->options.packed ? execution->options.packed : residency->builtins;
    if (has_own_registry(execution)) (void)packed_registry_retain(execution->packed);
    execution->options.packed = execution->packed;
    TRY(create_pools(execution));
    TRY(create_tables(execution));
    TRY(find_packed(execution));
    init_call(execution);
    *out = TAKE(execution);
    return NULL;
}

static Error *start(
    Execution *execution, uint32_t function, const Value *arguments, uint32_t argument_count) {
    const Executable *executable = execution->executable;
    if (function >= executable->function_count ||
        executable->functions[function].kind != FUNCTION_BYTECODE)
        FAIL(INVALID, "function %u is not one that can be run", function);
    execution->entry = function;
    void *memory;
    TRY(memory_alloc(argument_count, sizeof(Value), &memory));
    Value *values = memory;
    Error *error = execution_bind_all(execution, function, arguments, argument_count, values);
    if (!error) error = execution_push_frame(execution, function, REGISTER_NONE);
    for (uint32_t i = 0; i < argument_count; i++) {
        if (!error)
            execution->registers[i] = values[i];
        else
            value_release(&values[i]);
    }
    memory_free(values);
    return error;
}

Error *execution_create(Residency *residency, const ExecutionOptions *options, uint32_t function,
    const Value *arguments, uint32_t argument_count, Execution **out) {
    OWN(Execution, execution) = NULL;
    TRY(execution_create_empty(residency, options, &execution));
    TRY(start(execution, function, arguments, argument_count));
    *out = TAKE(execution);
    return NULL;
}

static void release_sites(Execution *execution) {
    for (uint32_t i = 0; execution->sites && i < execution->executable->function_count; i++)
        decoded_code_leave_sites(execution->residency->decoded, i, execution->sites[i]);
    memory_free(execution->sites);
}

void execution_release(Execution *execution) {
    if (!execution) return;
    while (execution->frame_count > 0) execution_pop_frame(execution);
    (void)execution_flush_recycled(execution);
    value_release(&execution->result);
    Value yielded;
    uint64_t sequence;
    while (execution_take_yield(execution, &yielded, &sequence)) value_release(&yielded);
    for (uint32_t i = 0; i < execution->input_count; i++) {
        memory_free(execution->inputs[i].name);
        value_release(&execution->inputs[i].value);
    }
    memory_free(execution->inputs);
    release_sites(execution);
    memory_free(execution->decoded);
    memory_free(execution->packed_entries);
    memory_free(execution->yields);
    memory_free(execution->scratch);
    memory_free(execution->frames);
    memory_free(execution->registers);
    if (execution->meter)
        object_meter_refund(
            execution->meter, execution->frame_capacity * sizeof(Frame) +
                                  execution->register_capacity * OBJECT_PLACE_BYTES);
    object_meter_release(execution->meter);
    run_ahead_deinit(&execution->ahead, execution->residency->devices[SLOT_DEVICE]);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_release(execution->pools[slot]);
    if (has_own_registry(execution)) packed_registry_release(execution->packed);
    residency_release(execution->residency);
    kernel_stop_deinit(&execution->own_stop);
    memory_free(execution);
}

bool execution_flush_recycled(Execution *execution) {
    bool any = execution->recycled_count > 0;
    while (execution->recycled_count > 0)
        tensor_release(execution->recycled[--execution->recycled_count]);
    return any;
}

Error *execution_reserve_scratch(Execution *execution, size_t count) {
    if (count <= execution->scratch_capacity) return NULL;
    void *scratch = execution->scratch;
    TRY(memory_resize(&scratch, count, sizeof(Value)));
    execution->scratch = scratch;
    execution->scratch_capacity = count;
    return NULL;
}

/* "function f, instruction 12 (InvokePacked MatMul)" around an instruction's error. */
static Error *locate(Execution *execution, Error *owned_error) {
    const Frame *frame = execution_top(execution);
    const Executable *executable = execution->executable;
    const Function *function = &executable->functions[frame->function];
    Instruction instruction =
        instruction_read(function_instruction(executable, function, frame->pc));
    const char *mnemonic = opcode_infos[instruction.opcode].mnemonic;
    if (instruction.opcode != OPCODE_INVOKE_PACKED)
        return error_wrap(
            owned_error, "function %s, instruction %u (%s)", function->name, frame->pc, mnemonic);
    return error_wrap(owned_error, "function %s, instruction %u (%s %s)", function->name, frame->pc,
        mnemonic,
        executable->primitives[operand_value(instruction.operands[0])].operator_info->name);
}

/* Waits for queued work, so that nothing is queued between two runs: the device is free for others,
 * and any thread may read the results. */
static Error *finish_queued(Execution *execution) {
    const MemoryPool *pool = execution->pools[SLOT_DEVICE];
    Device *device = memory_pool_get_device(pool);
    TRY_WRAP(device_stream_synchronize(device, memory_pool_get_stream(pool)),
        "kernels queued on %s", device->name);
    run_ahead_settle(&execution->ahead);
    return NULL;
}

/* An abandoned instruction has not happened; the stop that it was abandoned for has. Handlers
 * change nothing before the last step that can fail, if a kernel may be abandoned. */
static Error *take_abandonment(Execution *execution, Error *error, RunResult *out_result) {
    if (error_code(error) != ERROR_ABANDONED) return error;
    if (atomic_load(&execution->kernel_stop->wanted) & KERNEL_STOP_DISCARD) return error;
    error_free(error); /* a worker process's is on the heap */
    const uint32_t stop = atomic_exchange(&execution->stop, 0);
    kernel_stop_clear(execution->kernel_stop);
    out_result->kind = stop & STOP_SLICE_END ? RUN_SLICE_ENDED : RUN_SUSPENDED;
    return NULL;
}

/* Interprets under the execution's stop; an instruction marks when its kernel may be abandoned. */
static Error *interpret(Execution *execution, Budget budget, RunResult *out_result) {
    FloatEnvironment environment;
    float_environment_enter(&environment);
    const KernelStopScope outer = kernel_stop_scope;
    kernel_stop_scope = (KernelStopScope){.stop = execution->kernel_stop, .pauses = true};
    Error *error = interpreter_run(execution, budget, out_result);
    kernel_stop_scope = outer;
    float_environment_leave(&environment);
    return take_abandonment(execution, error, out_result);
}

/* A suspended execution may stay so for long: its idle blocks go back to the devices. A budget of
 * instructions only steps. */
static void give_idle_memory_back(Execution *execution) {
    (void)execution_flush_recycled(execution);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_trim(execution->pools[slot]);
}

Error *execution_run(Execution *execution, Budget budget, RunResult *out_result) {
    if (execution->failed) FAIL(CONFLICT, "this execution has failed");
    if (execution->finished) {
        *out_result = (RunResult){.kind = RUN_FINISHED};
        return NULL;
    }
    if (execution->frame_count == 0) FAIL(CONFLICT, "nothing was called");
    RunResult result = {0};
    Error *error = interpret(execution, budget, &result);
    if (error) error = locate(execution, error);
    Error *queued = finish_queued(execution);
    if (error)
        error_free(queued); /* the first error is returned */
    else
        error = queued;
    /* checked before the result is used */
    if (!error) error = residency_check(execution->residency);
    if (error) {
        execution->failed = true;
        return error;
    }
    if (result.kind == RUN_SUSPENDED && budget.instructions == 0) give_idle_memory_back(execution);
    *out_result = result;
    return NULL;
}

void execution_request_suspend(Execution *execution) {
    atomic_fetch_or_explicit(&execution->stop, STOP_SUSPEND, memory_order_release);
    kernel_stop_want(execution->kernel_stop, KERNEL_STOP_ABANDON);
}

void execution_request_slice_end(Execution *execution) {
    atomic_fetch_or_explicit(&execution->stop, STOP_SLICE_END, memory_order_release);
}

void execution_withdraw_slice_end(Execution *execution) {
    atomic_fetch_and_explicit(&execution->stop, ~(uint32_t)STOP_SLICE_END, memory_order_acq_rel);
}

const Value *execution_get_result(const Execution *execution) { return &execution->result; }

Error *execution_reserve_yield(Execution *execution) {
    enum { CAPACITY_MIN = 16 };
    uint32_t count = execution->yield_count, limit = execution->options.yield_limit;
    if (count < execution->yield_capacity) return NULL;
    uint32_t capacity = count < CAPACITY_MIN / 2 ? CAPACITY_MIN : count * 2;
    if (capacity > limit || capacity < count) capacity = limit;
    void *memory;
    TRY(memory_alloc(capacity, sizeof(Value), &memory));
    Value *yields = memory;
    for (uint32_t i = 0; i < count; i++)
        yields[i] = execution->yields[(execution->yield_first + i) % count];
    memory_free(execution->yields);
    execution->yields = yields;
    execution->yield_first = 0;
    execution->yield_capacity = capacity;
    return NULL;
}

uint32_t execution_count_yields(const Execution *execution) { return execution->yield_count; }

void execution_end_at_yields(Execution *execution, bool ends) { execution->ends_at_yields = ends; }

bool execution_take_yield(Execution *execution, Value *out_value, uint64_t *out_sequence) {
    if (execution->yield_count == 0) return false;
    *out_value = execution->yields[execution->yield_first];
    *out_sequence = execution->counters.yields - execution->yield_count;
    execution->yields[execution->yield_first] = value_nil();
    execution->yield_first = (execution->yield_first + 1) % execution->yield_capacity;
    execution->yield_count--;
    return true;
}

ExecutionCounters execution_get_counters(const Execution *execution) { return execution->counters; }

ExecutionTraffic execution_get_traffic(const Execution *execution) { return execution->traffic; }
Residency *execution_get_residency(const Execution *execution) { return execution->residency; }
MemoryPool *execution_get_pool(const Execution *execution, uint8_t slot) {
    return execution->pools[slot];
}
PackedRegistry *execution_get_packed(const Execution *execution) { return execution->packed; }
ObjectMeter *execution_get_meter(const Execution *execution) { return execution->meter; }
uint64_t execution_get_peak_bytes(const Execution *execution) {
    uint64_t bytes = object_meter_peak_bytes(execution->meter);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++)
        bytes += memory_pool_peak_bytes(execution->pools[slot]);
    return bytes;
}
uint32_t execution_get_entry(const Execution *execution) { return execution->entry; }
uint32_t execution_get_depth(const Execution *execution) {
    return (uint32_t)execution->frame_count;
}
Frame execution_get_frame(const Execution *execution, uint32_t index) {
    return execution->frames[index];
}
