#include <inttypes.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "vm/objects/closure.h"
#include "vm/execution/execution_state.h"
#include "vm/execution/snapshot.h"
#include "vm/instruction/instruction.h"
#include "vm/code/live_registers.h"
#include "vm/execution/stateful.h"
#include "vm/execution/value_freeze.h"

typedef struct Restoring {
    Execution *execution;
    const Snapshot *snapshot;
    LiveRegisters *live;
    ValueFreezer *freezer;
    uint32_t next_register; /* index into the snapshot's registers */
    /* Per function: bit 0 if it makes tail calls, bit 1 if one may lead to it:
     * it is called by name in one, or closures are made of it. */
    uint8_t *tails;
} Restoring;

static Instruction instruction_of(const Executable *executable, const Frame *frame) {
    return instruction_read(
        function_instruction(executable, &executable->functions[frame->function], frame->pc));
}

static Error *find_tails(Restoring *restoring) {
    const Executable *executable = restoring->execution->executable;
    void *memory;
    TRY(memory_alloc(executable->function_count, 1, &memory));
    restoring->tails = memory;
    for (uint32_t i = 0; i < executable->function_count; i++) {
        Frame frame = {.function = i};
        for (; frame.pc < executable->functions[i].instruction_count; frame.pc++) {
            Instruction instruction = instruction_of(executable, &frame);
            if (instruction.opcode == OPCODE_TAIL_INVOKE_CLOSURE) restoring->tails[i] |= 1;
            if (instruction.opcode == OPCODE_TAIL_INVOKE) restoring->tails[i] |= 1;
            if (instruction.opcode != OPCODE_TAIL_INVOKE &&
                instruction.opcode != OPCODE_ALLOC_CLOSURE)
                continue;
            restoring->tails[operand_value(instruction.operands[0])] |= 2;
        }
    }
    return NULL;
}

/* Whether a call of `callee` may leave a frame of `above` on top: itself, or after tail calls. */
static Error *may_lead_to(Restoring *restoring, uint32_t callee, uint32_t above, bool *out) {
    *out = callee == above;
    if (*out) return NULL;
    if (!restoring->tails) TRY(find_tails(restoring));
    *out = (restoring->tails[callee] & 1) && (restoring->tails[above] & 2);
    return NULL;
}

static Error *check_frame(const Restoring *restoring, uint32_t index) {
    const Executable *executable = restoring->execution->executable;
    const Frame *frame = &restoring->snapshot->frames[index];
    if (frame->function >= executable->function_count ||
        executable->functions[frame->function].kind != FUNCTION_BYTECODE)
        FAIL(CORRUPT, "frame %u: no function %u to run", index, frame->function);
    const Function *function = &executable->functions[frame->function];
    if (frame->pc >= function->instruction_count)
        FAIL(CORRUPT, "frame %u: instruction %u of %u in %s", index, frame->pc,
            function->instruction_count, function->name);
    if (index == 0 && frame->return_register != REGISTER_NONE)
        FAIL(CORRUPT, "frame 0 returns into register r%u of nobody", frame->return_register);
    return NULL;
}

/* Checks that the caller stands at a call that fits the frame above it. */
static Error *check_call(Restoring *restoring, uint32_t index) {
    const Executable *executable = restoring->execution->executable;
    const Frame *caller = &restoring->snapshot->frames[index];
    const Frame *above = &restoring->snapshot->frames[index + 1];
    Instruction call = instruction_of(executable, caller);
    if (!(opcode_infos[call.opcode].flags & OPCODE_FLAG_CALL))
        FAIL(CORRUPT, "frame %u waits at instruction %u of %s, which is no call", index, caller->pc,
            executable->functions[caller->function].name);
    bool fits = true;
    if (call.opcode != OPCODE_INVOKE_CLOSURE) {
        uint32_t callee = (uint32_t)operand_value(call.operands[0]);
        /* a packed function may ask for any function by a tail call */
        if (executable->functions[callee].kind == FUNCTION_BYTECODE)
            TRY(may_lead_to(restoring, callee, above->function, &fits));
    }
    uint32_t destination = REGISTER_NONE;
    if (instruction_has_destination(&call)) destination = head_destination(call.head);
    if (!fits || above->return_register != destination)
        FAIL(CORRUPT, "frame %u does not fit the call that frame %u waits at", index + 1, index);
    return NULL;
}

/* The snapshot's registers of a frame against the derived live set, into the execution's. */
static Error *restore_registers(Restoring *restoring, uint32_t index) {
    const Snapshot *snapshot = restoring->snapshot;
    const Frame *frame = &snapshot->frames[index];
    uint32_t count = restoring->execution->executable->functions[frame->function].register_count;
    TRY(live_registers_find(
        restoring->live, frame->function, frame->pc, index + 1 == snapshot->frame_count));
    for (uint32_t i = live_registers_next(restoring->live, 0); i < count;
         i = live_registers_next(restoring->live, i + 1)) {
        const SnapshotRegister *given = restoring->next_register < snapshot->register_count
                                            ? &snapshot->registers[restoring->next_register]
                                            : NULL;
        if (given && given->frame == index && given->index < i)
            FAIL(CORRUPT, "frame %u: register r%u is given but not alive", index, given->index);
        if (!given || given->frame != index || given->index != i)
            FAIL(CORRUPT, "frame %u: register r%u is alive but not given", index, i);
        restoring->next_register++;
        Execution *execution = restoring->execution;
        Value value;
        TRY_WRAP(value_freezer_add(restoring->freezer, &given->value, &value),
            "frame %u, register r%u", index, i);
        execution->registers[execution_top(execution)->register_base + i] = value;
    }
    return NULL;
}

static Error *restore_frames(Restoring *restoring) {
    const Snapshot *snapshot = restoring->snapshot;
    for (uint32_t i = 0; i < snapshot->frame_count; i++) TRY(check_frame(restoring, i));
    for (uint32_t i = 0; i + 1 < snapshot->frame_count; i++) TRY(check_call(restoring, i));
    for (uint32_t i = 0; i < snapshot->frame_count; i++) {
        const Frame *frame = &snapshot->frames[i];
        TRY_WRAP(
            execution_push_frame(restoring->execution, frame->function, frame->return_register),
            "frame %u", i);
        execution_top(restoring->execution)->pc = frame->pc;
        TRY(restore_registers(restoring, i));
    }
    if (restoring->next_register < snapshot->register_count) {
        const SnapshotRegister *extra = &snapshot->registers[restoring->next_register];
        FAIL(CORRUPT, "frame %u: register r%u is given but not alive", extra->frame, extra->index);
    }
    return NULL;
}

static Error *restore_yields(Restoring *restoring) {
    Execution *execution = restoring->execution;
    const Snapshot *snapshot = restoring->snapshot;
    if (snapshot->yield_count > snapshot->counters.yields ||
        snapshot->yield_count > execution->options.yield_limit)
        FAIL(CORRUPT, "%u values are queued of %" PRIu64 " yielded and a limit of %u",
            snapshot->yield_count, snapshot->counters.yields, execution->options.yield_limit);
    for (uint32_t i = 0; i < snapshot->yield_count; i++) {
        TRY(execution_reserve_yield(execution));
        TRY_WRAP(value_freezer_add(restoring->freezer, &snapshot->yields[i], &execution->yields[i]),
            "yield %u", i);
        execution->yield_count++;
    }
    return NULL;
}

static Error *restore_inputs(Restoring *restoring) {
    Execution *execution = restoring->execution;
    const Snapshot *snapshot = restoring->snapshot;
    if (snapshot->input_count > STATEFUL_INPUTS_MAX)
        FAIL(CORRUPT, "%u inputs; there may be %d", snapshot->input_count, STATEFUL_INPUTS_MAX);
    void *memory;
    TRY(memory_alloc(snapshot->input_count, sizeof(SnapshotInput), &memory));
    execution->inputs = memory;
    execution->input_capacity = snapshot->input_count;
    OWN(NameMap, names) = NULL;
    TRY(name_map_create(&names));
    for (uint32_t i = 0; i < snapshot->input_count; i++) {
        const SnapshotInput *from = &snapshot->inputs[i];
        SnapshotInput *to = &execution->inputs[i];
        if (name_map_find(names, from->name)) FAIL(CORRUPT, "input %s is given twice", from->name);
        TRY(name_map_set(names, from->name, names));
        TRY(memory_copy_text(from->name, &to->name));
        execution->input_count++;
        TRY_WRAP(value_freezer_add(restoring->freezer, &from->value, &to->value), "input %s",
            from->name);
    }
    return NULL;
}

static Error *restore(Restoring *restoring) {
    Execution *execution = restoring->execution;
    const Snapshot *snapshot = restoring->snapshot;
    TRY(live_registers_create(execution->executable, &restoring->live));
    TRY(value_freezer_create(execution, FREEZE_RESTORE, &restoring->freezer));
    if (snapshot->entry >= execution->executable->function_count)
        FAIL(CORRUPT, "function %u is not there", snapshot->entry);
    execution->entry = snapshot->entry;
    execution->counters = snapshot->counters;
    execution->options.philox_key = snapshot->philox_key;
    TRY(restore_frames(restoring));
    TRY(restore_yields(restoring));
    TRY(restore_inputs(restoring));
    if (snapshot->frame_count > 0) {
        if (snapshot->result.tag != VALUE_NIL)
            FAIL(CORRUPT, "a result before the end of the execution");
        return NULL;
    }
    /* a stateful execution may also be between two calls, with inputs and nothing finished */
    execution->finished = snapshot->input_count == 0 || snapshot->result.tag != VALUE_NIL;
    return value_freezer_add(restoring->freezer, &snapshot->result, &execution->result);
}

Error *execution_restore(Execution *execution, const Snapshot *snapshot) {
    if (execution->frame_count > 0 || execution->finished || execution->failed)
        FAIL(CONFLICT, "only an empty execution can be restored into");
    Restoring restoring = {.execution = execution, .snapshot = snapshot};
    Error *error = restore(&restoring);
    live_registers_release(restoring.live);
    value_freezer_release(restoring.freezer);
    memory_free(restoring.tails);
    if (error) execution->failed = true;
    return error;
}
