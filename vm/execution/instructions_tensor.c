#include <inttypes.h>
#include <string.h>

#include "vm/execution/instructions.h"
#include "vm/objects/scalar.h"
#include "vm/objects/shape_object.h"

/* Checks that an operand can be read as a tensor. */
Error *instruction_tensor_operand(
    const Execution *execution, const Value *value, uint32_t index, Tensor **out) {
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "operand %u is a %s, not a tensor", index, value_kind_name(value));
    if (!value->tensor->written) FAIL(INVALID, "operand %u is not written", index);
    if (!execution_owns_memory(execution, value->tensor))
        FAIL(INVALID, "operand %u is in memory of %s, which is not slot %u here", index,
            value->tensor->storage->device->name, value->tensor->storage->slot);
    *out = value->tensor;
    return NULL;
}

Error *instruction_shape_operand(const Value *value, Shape *out) {
    if (value_is(value, OBJECT_SHAPE)) return shape_object_get(value->shape, out);
    if (!value_is(value, OBJECT_TENSOR)) FAIL(INVALID, "a %s is no shape", value_kind_name(value));
    const Tensor *tensor = value->tensor;
    if (!tensor->written) FAIL(INVALID, "a shape that is not written");
    if (tensor->storage->slot != SLOT_HOST || !tensor->storage->device->class_->host_memory)
        FAIL(INVALID, "a shape that is not in slot 0");
    if (tensor->dtype != DTYPE_INT64 || tensor->shape.rank != 1)
        FAIL(INVALID, "a shape that is not a list of int64");
    if (tensor->shape.dims[0] > SHAPE_RANK_MAX)
        FAIL(INVALID, "a shape of rank %" PRIi64 "; there may be %d", tensor->shape.dims[0],
            SHAPE_RANK_MAX);
    Shape shape = {.rank = (uint32_t)tensor->shape.dims[0]};
    if (shape.rank > 0) memcpy(shape.dims, tensor_data(tensor), shape.rank * sizeof(int64_t));
    int64_t count;
    TRY(shape_count(&shape, &count));
    *out = shape;
    return NULL;
}

static Error *size_operand(const Value *value, const char *what, uint64_t *out) {
    if (value->tag != VALUE_INT)
        FAIL(INVALID, "%s is a %s, not an int", what, value_kind_name(value));
    if (value->integer < 0) FAIL(INVALID, "%s is %" PRIi64, what, value->integer);
    *out = (uint64_t)value->integer;
    return NULL;
}

static void finish_all(const DecodedInstruction *instruction, Value *registers) {
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        operand_finish(&instruction->operands[i], registers);
}

/* Ends an instruction that made an object: releases operands at their last use, then sets the
 * destination. */
static void finish(
    const DecodedInstruction *instruction, Value *registers, ObjectKind kind, void *owned_object) {
    finish_all(instruction, registers);
    register_set(registers, instruction->destination, value_object(kind, owned_object));
}

Error *instruction_alloc_storage(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const DecodedOperand *operands = instruction->operands;
    uint64_t size;
    TRY(size_operand(operand_get(&operands[0], registers), "the size", &size));
    uint8_t slot = (uint8_t)operands[2].constant->integer;
    MemoryAnswer answer;
    Storage *storage;
    TRY(storage_create(execution->pools[slot], slot, size, &answer, &storage));
    if (answer.kind != MEMORY_GRANTED) {
        execution_need_memory(execution, slot, answer.bytes, out_step);
        return NULL;
    }
    storage->opaque = true;
    execution->has_mutable = true;
    finish(instruction, registers, OBJECT_STORAGE, storage);
    return NULL;
}

/* The storage operand of an AllocTensor, and the offset in it. */
static Error *storage_operand(const Value *value, Storage **out) {
    if (!value_is(value, OBJECT_STORAGE))
        FAIL(INVALID, "operand 0 is a %s, not a storage", value_kind_name(value));
    if (!value->storage->opaque) FAIL(INVALID, "operand 0 is not a storage of AllocStorage");
    *out = value->storage;
    return NULL;
}

static Error *alloc_in_storage(
    const DecodedInstruction *instruction, Value *registers, const Shape *shape) {
    const DecodedOperand *operands = instruction->operands;
    Storage *storage;
    uint64_t offset;
    TRY(storage_operand(operand_get(&operands[0], registers), &storage));
    TRY(size_operand(operand_get(&operands[1], registers), "the offset", &offset));
    Tensor *tensor;
    TRY(tensor_create(storage, offset, (DType)operands[2].constant->integer, shape, &tensor));
    tensor_set_unwritten(tensor);
    finish(instruction, registers, OBJECT_TENSOR, tensor);
    return NULL;
}

Error *instruction_alloc_tensor(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)execution;
    (void)out_step;
    Shape shape = {.rank = instruction->operand_count - 3u};
    if (shape.rank > SHAPE_RANK_MAX)
        FAIL(INVALID, "a tensor of rank %u; there may be %d", shape.rank, SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < shape.rank; i++) {
        uint64_t dimension;
        TRY(size_operand(
            operand_get(&instruction->operands[3 + i], registers), "a dimension", &dimension));
        shape.dims[i] = (int64_t)dimension;
    }
    return alloc_in_storage(instruction, registers, &shape);
}

/* Makes a tensor with a storage of its own in slot 1, which counts as mutable until the tensor is
 * released. */
Error *instruction_alloc_tensor_reg(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const DecodedOperand *operands = instruction->operands;
    Shape shape;
    TRY(instruction_shape_operand(operand_get(&operands[3], registers), &shape));
    if (!operands[0].absent) return alloc_in_storage(instruction, registers, &shape);
    MemoryAnswer answer;
    Tensor *tensor;
    TRY(tensor_create_in_pool(execution->pools[SLOT_DEVICE], SLOT_DEVICE,
        (DType)operands[2].constant->integer, &shape, &answer, &tensor));
    if (answer.kind != MEMORY_GRANTED) {
        execution_need_memory(execution, SLOT_DEVICE, answer.bytes, out_step);
        return NULL;
    }
    tensor->storage->opaque = true;
    tensor_set_unwritten(tensor);
    execution->has_mutable = true;
    finish(instruction, registers, OBJECT_TENSOR, tensor);
    return NULL;
}

/* A tensor in host memory of this execution. *out stays NULL with STEP_STOP. */
static Error *host_tensor(
    Execution *execution, DType dtype, const Shape *shape, Tensor **out, Step *out_step) {
    MemoryAnswer answer;
    TRY(tensor_create_in_pool(execution->pools[SLOT_HOST], SLOT_HOST, dtype, shape, &answer, out));
    if (answer.kind != MEMORY_GRANTED)
        execution_need_memory(execution, SLOT_HOST, answer.bytes, out_step);
    return NULL;
}

Error *instruction_shape_of(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const Value *value = operand_get(&instruction->operands[0], registers);
    if (!value_is(value, OBJECT_TENSOR))
        FAIL(INVALID, "operand 0 is a %s, not a tensor", value_kind_name(value));
    Shape from = value->tensor->shape;
    Shape shape = shape_make(1, (int64_t[]){from.rank});
    Tensor *tensor = NULL;
    TRY(host_tensor(execution, DTYPE_INT64, &shape, &tensor, out_step));
    if (!tensor) return NULL;
    if (from.rank > 0) memcpy(tensor_data(tensor), from.dims, from.rank * sizeof(int64_t));
    finish(instruction, registers, OBJECT_TENSOR, tensor);
    return NULL;
}

Error *instruction_reshape_tensor(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    const DecodedOperand *operands = instruction->operands;
    Tensor *tensor, *view;
    Shape shape;
    TRY(instruction_tensor_operand(execution, operand_get(&operands[0], registers), 0, &tensor));
    TRY(instruction_shape_operand(operand_get(&operands[1], registers), &shape));
    TRY(tensor_reshape(tensor, &shape, &view));
    finish(instruction, registers, OBJECT_TENSOR, view);
    return NULL;
}

/* Counts a copy whose result has memory of its own. */
static void count_copy(Execution *execution, const Tensor *from, const Tensor *to) {
    ExecutionTraffic *traffic = &execution->traffic;
    if (device_shares_memory(from->storage->device, to->storage->device)) return;
    if (tensor_bytes(to) == 0) return;
    if (to->storage->slot == SLOT_HOST) {
        traffic->copies_to_host++;
        traffic->bytes_to_host += tensor_bytes(to);
        traffic->waits++;
    } else {
        traffic->copies_to_device++;
        traffic->bytes_to_device += tensor_bytes(to);
    }
}

Error *instruction_device_copy(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const DecodedOperand *operands = instruction->operands;
    Tensor *tensor, *copy = NULL;
    TRY(instruction_tensor_operand(execution, operand_get(&operands[0], registers), 0, &tensor));
    uint8_t slot = (uint8_t)operands[1].constant->integer;
    MemoryAnswer answer;
    /* strings are in host memory, even if code of unknown types says otherwise */
    if (tensor->dtype == DTYPE_STRING) slot = SLOT_HOST;
    TRY(execution_move_tensor(execution, tensor, slot, &answer, &copy));
    if (answer.kind != MEMORY_GRANTED) {
        execution_need_memory(execution, slot, answer.bytes, out_step);
        return NULL;
    }
    count_copy(execution, tensor, copy);
    finish(instruction, registers, OBJECT_TENSOR, copy);
    return NULL;
}

Error *instruction_read_scalar(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    (void)out_step;
    Tensor *tensor;
    TRY(instruction_tensor_operand(
        execution, operand_get(&instruction->operands[0], registers), 0, &tensor));
    if (tensor->storage->slot != SLOT_HOST) FAIL(INVALID, "operand 0 is not in slot 0");
    int64_t count = shape_count_unchecked(&tensor->shape);
    if (count != 1) FAIL(INVALID, "operand 0 has %" PRIi64 " elements, not one", count);
    Value scalar;
    TRY(scalar_read(tensor->dtype, tensor_data(tensor), &scalar));
    finish_all(instruction, registers);
    register_set(registers, instruction->destination, scalar);
    return NULL;
}

Error *instruction_make_tensor0(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const DecodedOperand *operands = instruction->operands;
    DType dtype = (DType)operands[1].constant->integer;
    uint64_t element = 0;
    TRY(scalar_write(operand_get(&operands[0], registers), dtype, &element));
    Shape shape = {0};
    Tensor *tensor = NULL;
    TRY(host_tensor(execution, dtype, &shape, &tensor, out_step));
    if (!tensor) return NULL;
    memcpy(tensor_data(tensor), &element, tensor_bytes(tensor));
    finish(instruction, registers, OBJECT_TENSOR, tensor);
    return NULL;
}
