#include "vm/execution/snapshot.h"

#include "base/allocator.h"
#include "vm/execution/execution_state.h"
#include "vm/code/liveness.h"
#include "vm/code/live_registers.h"
#include "vm/execution/value_freeze.h"

typedef struct Taking {
    Execution *execution;
    Snapshot *snapshot;
    ValueFreezer *freezer; /* NULL if no object is mutable, so that references suffice */
    size_t register_capacity;
} Taking;

static Error *take_value(const Taking *taking, const Value *value, Value *out) {
    if (taking->freezer && value->tag == VALUE_OBJECT)
        return value_freezer_add(taking->freezer, value, out);
    *out = value_copy(*value);
    return NULL;
}

static Error *take_register(Taking *taking, uint32_t frame, uint32_t index, const Value *value) {
    Snapshot *snapshot = taking->snapshot;
    void *registers = snapshot->registers;
    TRY(memory_grow(&registers, snapshot->register_count, &taking->register_capacity,
        sizeof(SnapshotRegister)));
    snapshot->registers = registers;
    SnapshotRegister *to = &snapshot->registers[snapshot->register_count];
    TRY(take_value(taking, value, &to->value));
    to->frame = frame;
    to->index = index;
    snapshot->register_count++;
    return NULL;
}

static Error *take_frames(Taking *taking) {
    Execution *execution = taking->execution;
    Snapshot *snapshot = taking->snapshot;
    void *memory;
    TRY(memory_alloc(execution->frame_count, sizeof(Frame), &memory));
    snapshot->frames = memory;
    OWN(LiveRegisters, live) = NULL;
    TRY(live_registers_create(execution->executable, &live));
    for (uint32_t i = 0; i < execution->frame_count; i++) {
        const Frame *frame = &execution->frames[i];
        bool is_top = i + 1 == execution->frame_count;
        TRY(live_registers_find(live, frame->function, frame->pc, is_top));
        const Value *registers = execution->registers + frame->register_base;
        uint32_t count = execution->executable->functions[frame->function].register_count;
        for (uint32_t index = live_registers_next(live, 0); index < count;
             index = live_registers_next(live, index + 1))
            TRY(take_register(taking, i, index, &registers[index]));
        snapshot->frames[snapshot->frame_count] = *frame;
        snapshot->frames[snapshot->frame_count++].register_base = 0;
    }
    return NULL;
}

static Error *take_yields(Taking *taking) {
    Execution *execution = taking->execution;
    Snapshot *snapshot = taking->snapshot;
    void *memory;
    TRY(memory_alloc(execution->yield_count, sizeof(Value), &memory));
    snapshot->yields = memory;
    for (uint32_t i = 0; i < execution->yield_count; i++) {
        /* values are frozen when they are yielded */
        uint32_t at = (execution->yield_first + i) % execution->yield_capacity;
        snapshot->yields[snapshot->yield_count++] = value_copy(execution->yields[at]);
    }
    return NULL;
}

static Error *take_inputs(Taking *taking) {
    const Execution *execution = taking->execution;
    Snapshot *snapshot = taking->snapshot;
    void *memory;
    TRY(memory_alloc(execution->input_count, sizeof(SnapshotInput), &memory));
    snapshot->inputs = memory;
    for (uint32_t i = 0; i < execution->input_count; i++) {
        SnapshotInput *input = &snapshot->inputs[i];
        TRY(memory_copy_text(execution->inputs[i].name, &input->name));
        snapshot->input_count++;
        TRY(take_value(taking, &execution->inputs[i].value, &input->value));
    }
    return NULL;
}

static Error *take_all(Taking *taking) {
    Execution *execution = taking->execution;
    Snapshot *snapshot = taking->snapshot;
    snapshot->executable = executable_retain(execution->executable);
    snapshot->residency = residency_retain(execution->residency);
    snapshot->counters = execution->counters;
    snapshot->philox_key = execution->options.philox_key;
    snapshot->entry = execution->entry;
    TRY(take_frames(taking));
    TRY(take_value(taking, &execution->result, &snapshot->result));
    TRY(take_yields(taking));
    return take_inputs(taking);
}

/* Copies of mutable objects may be queued. So may the first values of an execution that was
 * restored or has not run yet. */
static Error *mark_ready(const Taking *taking) {
    const MemoryPool *pool = taking->execution->pools[SLOT_DEVICE];
    Device *device = memory_pool_get_device(pool);
    DeviceStream *stream = memory_pool_get_stream(pool);
    if (!stream) return NULL;
    TRY(device->class_->event_create(device, &taking->snapshot->ready));
    return device->class_->event_record(device, taking->snapshot->ready, stream);
}

Error *snapshot_take(Execution *execution, Snapshot **out) {
    if (execution->failed) FAIL(CONFLICT, "this execution has failed");
    void *memory;
    TRY(memory_alloc(1, sizeof(Snapshot), &memory));
    OWN(Snapshot, snapshot) = memory;
    Taking taking = {.execution = execution, .snapshot = snapshot};
    OWN(ValueFreezer, freezer) = NULL;
    if (execution->has_mutable) TRY(value_freezer_create(execution, FREEZE_SNAPSHOT, &freezer));
    taking.freezer = freezer;
    TRY(take_all(&taking));
    TRY(mark_ready(&taking));
    *out = TAKE(snapshot);
    return NULL;
}

void snapshot_release(Snapshot *snapshot) {
    if (!snapshot) return;
    if (snapshot->ready) {
        Device *device = snapshot->residency->devices[SLOT_DEVICE];
        device->class_->event_destroy(device, snapshot->ready);
    }
    for (uint32_t i = 0; i < snapshot->register_count; i++)
        value_release(&snapshot->registers[i].value);
    for (uint32_t i = 0; i < snapshot->yield_count; i++) value_release(&snapshot->yields[i]);
    for (uint32_t i = 0; i < snapshot->input_count; i++) {
        memory_free(snapshot->inputs[i].name);
        value_release(&snapshot->inputs[i].value);
    }
    value_release(&snapshot->result);
    memory_free(snapshot->registers);
    memory_free(snapshot->frames);
    memory_free(snapshot->yields);
    memory_free(snapshot->inputs);
    residency_release(snapshot->residency);
    executable_release(snapshot->executable);
    memory_free(snapshot);
}
