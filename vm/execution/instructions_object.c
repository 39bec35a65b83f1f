#include <inttypes.h>

#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/execution/instructions.h"
#include "vm/objects/list.h"
#include "vm/objects/scalar.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/execution/value_freeze.h"

Error *instruction_alloc_adt(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    const DecodedOperand *operands = instruction->operands;
    uint32_t count = instruction->operand_count - 1u;
    Adt *adt;
    TRY(adt_create(execution->meter, operands[0].constant->integer, count, &adt));
    for (uint32_t i = 0; i < count; i++) adt->fields[i] = operand_take(&operands[1 + i], registers);
    register_set(registers, instruction->destination, value_object(OBJECT_ADT, adt));
    return NULL;
}

static Error *make_closure(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Value *out) {
    const DecodedOperand *operands = instruction->operands;
    uint32_t count = instruction->operand_count - 2u;
    Closure *closure;
    TRY(closure_create(execution->meter, operands[0].index,
        (ClosureSide)operands[1].constant->integer, count, &closure));
    for (uint32_t i = 0; i < count; i++)
        closure->bound[i] = operand_take(&operands[2 + i], registers);
    *out = value_object(OBJECT_CLOSURE, closure);
    return NULL;
}

static Error *make_closure_watched(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Value *out) {
    static const char name[] = "vm.builtin.make_closure";
    bool skip;
    TRY(instrument_before_closure(execution, name, instruction, 2, registers, &skip));
    if (skip) {
        for (uint32_t i = 2; i < instruction->operand_count; i++)
            operand_finish(&instruction->operands[i], registers);
        return NULL;
    }
    TRY(make_closure(execution, instruction, registers, out));
    const Closure *closure = out->closure;
    Error *error = instrument_after(execution, name, closure->bound, closure->count, out, 1, NULL);
    if (error) value_release(out);
    return error;
}

Error *instruction_alloc_closure(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    Value made = value_nil();
    if (__builtin_expect(execution->instrument != NULL, 0))
        TRY(make_closure_watched(execution, instruction, registers, &made));
    else
        TRY(make_closure(execution, instruction, registers, &made));
    register_set(registers, instruction->destination, made);
    return NULL;
}

static Error *field_index(const Value *value, uint32_t count, uint32_t *out) {
    if (value->tag != VALUE_INT)
        FAIL(INVALID, "operand 1 is a %s, not an int", value_kind_name(value));
    if (value->integer < 0 || value->integer >= count)
        FAIL(INVALID, "field %" PRIi64 " of %u", value->integer, count);
    *out = (uint32_t)value->integer;
    return NULL;
}

Error *instruction_get_field(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)execution;
    (void)out_step;
    const DecodedOperand *operands = instruction->operands;
    const Value *object = operand_get(&operands[0], registers);
    const Value *index_value = operand_get(&operands[1], registers);
    uint32_t count, index;
    Value field;
    if (value_is(object, OBJECT_SHAPE)) {
        TRY(field_index(index_value, object->shape->count, &index));
        field = value_int(object->shape->dims[index]);
    } else {
        if (!value_is(object, OBJECT_ADT) && !value_is(object, OBJECT_LIST))
            FAIL(INVALID, "operand 0 is a %s, not an adt, list or shape", value_kind_name(object));
        const Value *fields = value_children(object, &count);
        TRY(field_index(index_value, count, &index));
        field = value_copy(fields[index]);
    }
    operand_finish(&operands[0], registers);
    operand_finish(&operands[1], registers);
    register_set(registers, instruction->destination, field);
    return NULL;
}

Error *instruction_get_tag(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)execution;
    (void)out_step;
    const Value *object = operand_get(&instruction->operands[0], registers);
    if (!value_is(object, OBJECT_ADT))
        FAIL(INVALID, "operand 0 is a %s, not an adt", value_kind_name(object));
    int64_t tag = object->adt->tag;
    operand_finish(&instruction->operands[0], registers);
    register_set(registers, instruction->destination, value_int(tag));
    return NULL;
}

Error *instruction_list_new(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    uint32_t count = instruction->operand_count;
    List *list;
    TRY(list_create(execution->meter, count, &list));
    for (uint32_t i = 0; i < count; i++)
        list->items[i] = operand_take(&instruction->operands[i], registers);
    list->count = count;
    register_set(registers, instruction->destination, value_object(OBJECT_LIST, list));
    return NULL;
}

/* Appends in place if the operand is the list's last use and the list has no other holder. */
Error *instruction_list_append(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    const DecodedOperand *operands = instruction->operands;
    const Value *value = operand_get(&operands[0], registers);
    if (!value_is(value, OBJECT_LIST))
        FAIL(INVALID, "operand 0 is a %s, not a list", value_kind_name(value));
    List *list = value->list;
    bool in_place = refcount_is_sole(&list->refcount) &&
                    (operands[0].last_use || instruction->destination == operands[0].index) &&
                    operand_get(&operands[1], registers) != value;
    if (!in_place) {
        TRY(list_copy(list, execution->meter, list->count / 2 + 1, &list));
        Error *error = list_append(list, operand_take(&operands[1], registers));
        if (error) {
            list_release(list);
            return error;
        }
        operand_finish(&operands[0], registers);
        register_set(registers, instruction->destination, value_object(OBJECT_LIST, list));
        return NULL;
    }
    TRY(list_append(list, operand_take(&operands[1], registers)));
    registers[operands[0].index] = value_nil();
    register_set(registers, instruction->destination, value_object(OBJECT_LIST, list));
    return NULL;
}

Error *instruction_make_shape(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)execution;
    (void)out_step;
    Shape shape = {.rank = instruction->operand_count};
    if (shape.rank > SHAPE_RANK_MAX)
        FAIL(INVALID, "a shape of rank %u; there may be %d", shape.rank, SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < shape.rank; i++) {
        const Value *dimension = operand_get(&instruction->operands[i], registers);
        if (dimension->tag != VALUE_INT)
            FAIL(INVALID, "operand %u is a %s, not an int", i, value_kind_name(dimension));
        shape.dims[i] = dimension->integer;
    }
    ShapeObject *object;
    TRY(shape_object_create(&shape, &object));
    for (uint32_t i = 0; i < shape.rank; i++) operand_finish(&instruction->operands[i], registers);
    register_set(registers, instruction->destination, value_object(OBJECT_SHAPE, object));
    return NULL;
}

/* A yielded value must not change afterwards: mutable parts are copied. */
static Error *freeze_yielded(
    Execution *execution, const Value *value, Value *out_value, Step *out_step) {
    OWN(ValueFreezer, freezer) = NULL;
    TRY(value_freezer_create(execution, FREEZE_YIELD, &freezer));
    Error *error = value_freezer_add(freezer, value, out_value);
    uint8_t slot;
    uint64_t bytes;
    if (!error || !value_freezer_needs(freezer, &slot, &bytes)) return error;
    error_free(error); /* no failure: the instruction runs again when there is memory */
    execution_need_memory(execution, slot, bytes, out_step);
    return NULL;
}

Error *instruction_yield(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    if (execution->yield_count >= execution->options.yield_limit) {
        execution->stop_result = (RunResult){.kind = RUN_BLOCKED};
        *out_step = STEP_STOP;
        return NULL;
    }
    TRY(execution_reserve_yield(execution));
    const DecodedOperand *operand = &instruction->operands[0];
    Value value;
    if (execution->has_mutable) {
        TRY(freeze_yielded(execution, operand_get(operand, registers), &value, out_step));
        if (*out_step == STEP_STOP) return NULL;
        operand_finish(operand, registers);
    } else {
        value = operand_take(operand, registers);
    }
    uint32_t capacity = execution->yield_capacity;
    execution->yields[(execution->yield_first + execution->yield_count) % capacity] = value;
    execution->yield_count++;
    execution->counters.yields++;
    if (execution->ends_at_yields) execution_request_slice_end(execution);
    return NULL;
}

Error *instruction_fatal(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)execution;
    (void)registers;
    (void)out_step;
    FAIL(FAILED, "%s", instruction->operands[0].constant->string->text);
}

Error *instruction_test_value(const Value *value, int64_t *out) {
    if (value->tag == VALUE_BOOL || value->tag == VALUE_INT) {
        *out = value->tag == VALUE_BOOL ? value->boolean : value->integer;
        return NULL;
    }
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "a %s is no condition", value_kind_name(value));
    const Tensor *tensor = value->tensor;
    if (!tensor->written) FAIL(INVALID, "a condition that is not written");
    if (shape_count_unchecked(&tensor->shape) != 1)
        FAIL(INVALID, "a condition of %" PRIi64 " elements", shape_count_unchecked(&tensor->shape));
    if (tensor->storage->slot != SLOT_HOST || !tensor->storage->device->class_->host_memory)
        FAIL(INVALID, "a condition that is not in slot 0");
    if (tensor->dtype != DTYPE_BOOL && !dtype_is_integer(tensor->dtype))
        FAIL(INVALID, "a condition of element type %s", dtype_name(tensor->dtype));
    Value scalar;
    TRY(scalar_read(tensor->dtype, tensor_data(tensor), &scalar));
    return instruction_test_value(&scalar, out);
}
