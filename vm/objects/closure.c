#include "vm/objects/closure.h"

#include "vm/objects/small_block.h"
#include "vm/instruction/opcode.h"

Error *closure_create(
    ObjectMeter *meter, uint32_t function, ClosureSide side, uint32_t count, Closure **out) {
    if (count > INSTRUCTION_OPERANDS_MAX)
        FAIL(INVALID, "a closure with %u bound values; there may be %d", count,
            INSTRUCTION_OPERANDS_MAX);
    if (side != CLOSURE_FIRST && side != CLOSURE_LAST)
        FAIL(INVALID, "a closure with side %u", (unsigned)side);
    uint64_t charge = sizeof(Closure) + (uint64_t)count * OBJECT_PLACE_BYTES;
    TRY(object_meter_charge(meter, charge));
    void *memory;
    Error *error = small_block_take(sizeof(Closure) + count * sizeof(Value), &memory);
    if (error) {
        object_meter_refund(meter, charge);
        return error;
    }
    Closure *closure = memory;
    refcount_init(&closure->refcount);
    closure->count = count;
    closure->function = function;
    closure->side = side;
    closure->meter = meter;
    for (uint32_t i = 0; i < count; i++) closure->bound[i] = value_nil();
    *out = closure;
    return NULL;
}

void closure_release(Closure *closure) {
    if (closure) value_release_object(value_object(OBJECT_CLOSURE, closure));
}
