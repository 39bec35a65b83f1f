#include <string.h>

#include "base/allocator.h"
#include "vm/execution/execution_state.h"

enum { FRAMES_MIN = 16, REGISTERS_MIN = 32 };

static Error *reserve_frames(Execution *execution) {
    if (execution->frame_count < execution->frame_capacity) return NULL;
    size_t capacity = execution->frame_capacity ? execution->frame_capacity * 2 : FRAMES_MIN;
    uint64_t more = (capacity - execution->frame_capacity) * sizeof(Frame);
    TRY(object_meter_charge(execution->meter, more));
    void *frames = execution->frames;
    Error *error = memory_resize(&frames, capacity, sizeof(Frame));
    if (error) {
        object_meter_refund(execution->meter, more);
        return error;
    }
    execution->frames = frames;
    execution->frame_capacity = capacity;
    return NULL;
}

static Error *reserve_registers(Execution *execution, size_t count) {
    /* even a program without registers has a file of them, so that its address is not NULL */
    if (execution->registers && count <= execution->register_capacity) return NULL;
    size_t old = execution->register_capacity, capacity = old ? old : REGISTERS_MIN;
    while (capacity < count) capacity *= 2;
    TRY(object_meter_charge(execution->meter, (capacity - old) * OBJECT_PLACE_BYTES));
    void *registers = execution->registers;
    Error *error = memory_resize(&registers, capacity, sizeof(Value));
    if (error) {
        object_meter_refund(execution->meter, (capacity - old) * OBJECT_PLACE_BYTES);
        return error;
    }
    execution->registers = registers;
    memset(execution->registers + old, 0, (capacity - old) * sizeof(Value));
    execution->register_capacity = capacity;
    return NULL;
}

Error *execution_prepare_function(Execution *execution, uint32_t function) {
    const DecodedFunction *decoded = execution->decoded[function];
    if (!decoded) {
        TRY(decoded_code_get(execution->residency->decoded, function, &decoded));
        TRY(decoded_code_take_sites(
            execution->residency->decoded, function, &execution->sites[function]));
        execution->decoded[function] = decoded;
    }
    return NULL;
}

Error *execution_push_frame(Execution *execution, uint32_t function, uint32_t return_register) {
    if (execution->frame_count >= execution->options.depth_limit)
        FAIL(FAILED, "calls nest deeper than %u frames", execution->options.depth_limit);
    if (!execution->decoded[function]) TRY(execution_prepare_function(execution, function));
    TRY(reserve_frames(execution));
    uint64_t base = 0;
    if (execution->frame_count > 0) {
        const Frame *caller = execution_top(execution);
        base =
            (uint64_t)caller->register_base + execution->decoded[caller->function]->register_count;
    }
    uint64_t end = base + execution->decoded[function]->register_count;
    if (end > UINT32_MAX) FAIL(EXHAUSTED, "frames need more than 2^32 registers");
    TRY(reserve_registers(execution, end));
    execution->frames[execution->frame_count++] = (Frame){
        .function = function,
        .register_base = (uint32_t)base,
        .return_register = return_register,
    };
    return NULL;
}

void execution_pop_frame(Execution *execution) {
    const Frame *frame = execution_top(execution);
    Value *registers = execution->registers + frame->register_base;
    uint32_t count = execution->decoded[frame->function]->register_count;
    for (uint32_t i = 0; i < count; i++) {
        if (registers[i].tag == VALUE_OBJECT) value_release_object(registers[i]);
        registers[i] = value_nil();
    }
    execution->frame_count--;
}
