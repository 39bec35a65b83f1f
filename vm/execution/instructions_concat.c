#include <inttypes.h>

#include "base/checked.h"
#include "kernels/tensor/string_tensor.h"
#include "vm/execution/instructions.h"
#include "vm/objects/list.h"

/* The destination of the pieces: [outer, their sum along the axis, inner], copied row by row. */
typedef struct Joined {
    Shape shape;
    DType dtype;
    uint64_t outer;
    uint64_t row_bytes; /* of the result: one outer step; 0: strings */
} Joined;

static Error *piece(
    const Execution *execution, const List *list, uint32_t index, uint8_t slot, Tensor **out) {
    const Value *item = &list->items[index];
    if (!value_is(item, OBJECT_TENSOR))
        FAIL(INVALID, "item %u is a %s, not a tensor", index, value_kind_name(item));
    if (!item->tensor->written) FAIL(INVALID, "item %u is not written", index);
    if (item->tensor->storage->slot != slot || !execution_owns_memory(execution, item->tensor))
        FAIL(INVALID, "item %u is in slot %u, not in slot %u", index, item->tensor->storage->slot,
            slot);
    *out = item->tensor;
    return NULL;
}

static bool joins(
    const Shape *first, const Shape *next, uint32_t axis, bool stack, int64_t *out_length) {
    *out_length = 1;
    return stack ? shape_equal(first, next) : shape_join_length(first, next, axis, out_length);
}

/* The piece that all others must match: the first with elements, or the first if none has any. */
static Error *first_piece(
    const Execution *execution, const List *list, uint8_t slot, Tensor **out) {
    Tensor *first, *found;
    TRY(piece(execution, list, 0, slot, &first));
    found = first;
    for (uint32_t i = 1; i < list->count && shape_count_unchecked(&found->shape) == 0; i++)
        TRY(piece(execution, list, i, slot, &found));
    *out = shape_count_unchecked(&found->shape) ? found : first;
    return NULL;
}

static Error *plan_join(const Execution *execution, const List *list, uint8_t slot,
    int64_t given_axis, bool stack, Joined *out, uint32_t *out_axis) {
    if (list->count == 0) FAIL(INVALID, "an empty list");
    Tensor *first, *next;
    TRY(first_piece(execution, list, slot, &first));
    uint32_t axis, rank = first->shape.rank + stack;
    if (rank > SHAPE_RANK_MAX) FAIL(INVALID, "rank %u; there may be %d", rank, SHAPE_RANK_MAX);
    TRY(shape_axis(given_axis, rank, &axis));
    int64_t along = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        TRY(piece(execution, list, i, slot, &next));
        int64_t length;
        if (next->dtype != first->dtype ||
            !joins(&first->shape, &next->shape, axis, stack, &length))
            FAIL(INVALID, "item %u does not fit item 0", i);
        if (!checked_add_i64(along, length, &along)) FAIL(INVALID, "too many items");
    }
    Shape shape = {.rank = rank};
    for (uint32_t i = 0, from = 0; i < rank; i++)
        shape.dims[i] = stack && i == axis ? 0 : first->shape.dims[from++];
    shape.dims[axis] = along;
    int64_t count;
    TRY(shape_count(&shape, &count));
    if (dtype_bits(first->dtype) % 8 != 0) /* strings have 0 */
        FAIL(UNSUPPORTED, "joining tensors of %s", dtype_name(first->dtype));
    *out = (Joined){.shape = shape, .dtype = first->dtype};
    out->outer = (uint64_t)shape_product(&shape, 0, axis);
    out->row_bytes = (uint64_t)shape_product(&shape, axis, rank) * (dtype_bits(first->dtype) / 8);
    *out_axis = axis;
    return NULL;
}

static Error *copy_pieces(const List *list, const Joined *joined, Tensor *to) {
    Device *device = to->storage->device;
    uint64_t start = tensor_address(to);
    for (uint32_t i = 0; i < list->count; i++) {
        const Tensor *from = list->items[i].tensor;
        uint64_t bytes = tensor_bytes(from);
        if (bytes == 0) continue;
        uint64_t piece_bytes = bytes / joined->outer;
        for (uint64_t row = 0; row < joined->outer; row++)
            TRY(device->class_->copy(device, storage_stream(to->storage),
                start + row * joined->row_bytes, tensor_address(from) + row * piece_bytes,
                piece_bytes));
        start += piece_bytes;
    }
    return NULL;
}

/* ---- strings, which are in host memory ---- */

static Error *measure_strings(const List *list, const Joined *joined, uint64_t *out_bytes) {
    uint64_t bytes = string_tensor_head_bytes(shape_count_unchecked(&joined->shape));
    for (uint32_t i = 0; i < list->count; i++) {
        const Tensor *from = list->items[i].tensor;
        const uint64_t head = string_tensor_head_bytes(shape_count_unchecked(&from->shape));
        if (!checked_add_u64(bytes, tensor_bytes(from) - head, &bytes))
            FAIL(INVALID, "too many bytes of strings");
    }
    *out_bytes = bytes;
    return NULL;
}

static void copy_strings(const List *list, const Joined *joined, Tensor *to) {
    StringWriter writer =
        string_writer_open(tensor_data(to), shape_count_unchecked(&joined->shape));
    for (uint64_t row = 0; row < joined->outer; row++)
        for (uint32_t i = 0; i < list->count; i++) {
            const Tensor *from = list->items[i].tensor;
            const int64_t count = shape_count_unchecked(&from->shape);
            const int64_t piece = count / (int64_t)joined->outer;
            for (int64_t at = 0; at < piece; at++) {
                string_writer_add(
                    &writer, string_tensor_at(tensor_data(from), count, (int64_t)row * piece + at));
                string_writer_end(&writer);
            }
        }
}

static Error *create(Execution *execution, const List *list, const Joined *joined, uint8_t slot,
    MemoryAnswer *out_answer, Tensor **out) {
    uint64_t bytes;
    MemoryPool *pool = execution->pools[slot];
    if (joined->dtype != DTYPE_STRING)
        return tensor_create_in_pool(pool, slot, joined->dtype, &joined->shape, out_answer, out);
    TRY(measure_strings(list, joined, &bytes));
    return tensor_create_bytes_in_pool(
        pool, slot, joined->dtype, &joined->shape, bytes, out_answer, out);
}

Error *instruction_list_concat(
    Execution *execution, const DecodedInstruction *instruction, Value *registers, Step *out_step) {
    const DecodedOperand *operands = instruction->operands;
    const Value *value = operand_get(&operands[0], registers);
    if (!value_is(value, OBJECT_LIST))
        FAIL(INVALID, "operand 0 is a %s, not a list", value_kind_name(value));
    uint8_t slot = instruction->flags & INSTRUCTION_HOST ? SLOT_HOST : SLOT_DEVICE;
    Joined joined;
    uint32_t axis;
    TRY(plan_join(execution, value->list, slot, operands[1].constant->integer,
        operands[2].constant->integer == 1, &joined, &axis));
    MemoryAnswer answer;
    OWN(Tensor, tensor) = NULL;
    TRY(create(execution, value->list, &joined, slot, &answer, &tensor));
    if (answer.kind != MEMORY_GRANTED) {
        execution_need_memory(execution, slot, answer.bytes, out_step);
        return NULL;
    }
    const bool any = shape_count_unchecked(&joined.shape) > 0;
    if (any && joined.dtype == DTYPE_STRING)
        copy_strings(value->list, &joined, tensor);
    else if (any)
        TRY(copy_pieces(value->list, &joined, tensor));
    execution->counters.kernel_calls++;
    operand_finish(&operands[0], registers);
    register_set(registers, instruction->destination, value_object(OBJECT_TENSOR, TAKE(tensor)));
    return NULL;
}
