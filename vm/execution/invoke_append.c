/* Append in a storage with spare room: only the piece is written, after the existing bytes. */
#include "vm/execution/invoke_internal.h"

/* Whether all dimensions before the axis are 1, so that the piece follows the rest in memory. */
static bool is_outermost(const Invocation *invocation) {
    const uint32_t primitive = invocation->instruction->operands[0].index;
    const Attributes *attributes =
        invocation->execution->executable->primitives[primitive].attributes;
    const Shape *shape = &invocation->plan->outputs[0].shape;
    int64_t axis = attributes_int(attributes, "axis");
    if (axis < 0) axis += shape->rank;
    return shape_product(shape, 0, (uint32_t)axis) == 1;
}

bool invocation_is_append(const Invocation *invocation) {
    if (invocation->info->id != OPERATOR_APPEND) return false;
    const CallInput *inputs = invocation->inputs;
    const uint32_t bits = dtype_bits(invocation->plan->outputs[0].dtype);
    return inputs[0].tensor && inputs[1].tensor && bits > 0 && bits % 8 == 0 &&
           is_outermost(invocation) &&
           shape_count_unchecked(&invocation->plan->outputs[0].shape) > 0;
}

/* Whether the tensor may be extended in place. Which tensor ends at the filled bytes depends on the
 * program alone, as does the number of filled bytes: the storage is this execution's own. */
static bool may_extend(const Invocation *invocation, const Tensor *grown, uint64_t bytes) {
    const Storage *storage = grown->storage;
    return storage->append && !storage->sealed && storage->pool == invocation->pool &&
           grown->offset + tensor_bytes(grown) == storage->filled &&
           bytes <= storage->size - grown->offset;
}

static Error *copy_into(
    const Invocation *invocation, const Storage *to, uint64_t offset, const Tensor *from) {
    const uint64_t bytes = tensor_bytes(from);
    if (bytes == 0) return NULL;
    Device *device = memory_pool_get_device(invocation->pool);
    DeviceStream *stream = memory_pool_get_stream(invocation->pool);
    TRY(device->class_->copy(device, stream, to->address + offset, tensor_address(from), bytes));
    return stream ? run_ahead_add(&invocation->execution->ahead, invocation->pool, bytes) : NULL;
}

/* Finds the storage of the result: the grown tensor's, or a new one, which holds a copy of it. */
static Error *find_storage(const Invocation *invocation, uint64_t bytes, MemoryAnswer *out_answer,
    Storage **out, uint64_t *out_offset) {
    const Tensor *grown = invocation->inputs[0].tensor;
    if (may_extend(invocation, grown, bytes)) {
        *out_answer = (MemoryAnswer){.kind = MEMORY_GRANTED};
        *out = storage_retain(grown->storage);
        *out_offset = grown->offset;
        return NULL;
    }
    OWN(Storage, storage) = NULL;
    TRY(storage_create_append(invocation->pool, invocation->slot, bytes, out_answer, &storage));
    if (out_answer->kind != MEMORY_GRANTED) return NULL;
    TRY(copy_into(invocation, storage, 0, grown));
    *out = TAKE(storage);
    *out_offset = 0;
    return NULL;
}

Error *invocation_run_append(Invocation *invocation, Step *out_step) {
    const TensorSpec *spec = &invocation->plan->outputs[0];
    const Tensor *grown = invocation->inputs[0].tensor, *piece = invocation->inputs[1].tensor;
    MemoryAnswer answer;
    uint64_t bytes, offset = 0;
    OWN(Storage, storage) = NULL;
    TRY(shape_bytes(&spec->shape, spec->dtype, &bytes));
    TRY(find_storage(invocation, bytes, &answer, &storage, &offset));
    if (answer.kind != MEMORY_GRANTED) {
        execution_need_memory(invocation->execution, invocation->slot, answer.bytes, out_step);
        return NULL;
    }
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create(storage, offset, spec->dtype, &spec->shape, &tensor));
    TRY(copy_into(invocation, storage, offset + tensor_bytes(grown), piece));
    storage->filled = offset + bytes;
    invocation->outputs[0] = tensor;
    TRY(invocation_complete(invocation));
    (void)TAKE(tensor);
    invocation_store_outputs(invocation);
    return NULL;
}
