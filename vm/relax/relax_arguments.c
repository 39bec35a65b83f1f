#include "vm/relax/relax_arguments.h"

#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

double relax_number(const Value *value) {
    if (value->tag == VALUE_FLOAT) return value->real;
    return (double)relax_int(value);
}

Error *relax_index(const Value *value, const char *what, uint64_t limit, uint64_t *out) {
    int64_t index = relax_int(value);
    if (index < 0 || (uint64_t)index >= limit)
        FAIL(INVALID, "%s %" PRIi64 " of %" PRIu64, what, index, limit);
    *out = (uint64_t)index;
    return NULL;
}

Error *relax_wrap(Error *owned_error, const Value *context) {
    if (!owned_error || !value_is(context, OBJECT_STRING)) return owned_error;
    size_t size = context->string->size;
    while (size > 0 && context->string->text[size - 1] == ' ') size--;
    if (size == 0) return owned_error;
    return error_wrap(owned_error, "%.*s", (int)size, context->string->text);
}

Error *relax_new_tensor(
    PackedCall *call, uint8_t slot, DType dtype, const Shape *shape, Tensor **out) {
    *out = NULL;
    MemoryAnswer answer;
    TRY(tensor_create_in_pool(call->pools[slot], slot, dtype, shape, &answer, out));
    if (answer.kind != MEMORY_GRANTED) {
        call->memory = answer;
        call->memory_slot = slot;
        return NULL;
    }
    return NULL;
}

Error *relax_readable(const PackedCall *call, const char *name, const Tensor *tensor) {
    if (!tensor->written) FAIL(INVALID, "%s is not written", name);
    if (tensor->dtype == DTYPE_STRING) FAIL(INVALID, "%s is a tensor of strings", name);
    if (call->execution && !execution_owns_memory(call->execution, tensor))
        FAIL(INVALID, "%s is in memory of %s, which is not slot %u here", name,
            tensor->storage->device->name, tensor->storage->slot);
    return NULL;
}

Error *relax_host_bytes(const PackedCall *call, const char *name, const Tensor *tensor,
    const void **out_bytes, void **out_owned) {
    *out_owned = NULL;
    TRY(relax_readable(call, name, tensor));
    if (tensor->storage->device->class_->host_memory) {
        *out_bytes = tensor_data(tensor);
        return NULL;
    }
    void *copy;
    TRY(memory_alloc(1, tensor_bytes(tensor), &copy));
    Error *error = tensor_copy_to_host(tensor, copy);
    if (error) {
        memory_free(copy);
        return error;
    }
    *out_bytes = *out_owned = copy;
    return NULL;
}

void relax_free_memory(void **block) { memory_free(*block); }

/* The ints of a tensor [n]. */
static Error *ints_of_tensor(
    const PackedCall *call, const char *name, const Tensor *tensor, int64_t *to) {
    const void *bytes;
    OWN_MEMORY(owned) = NULL;
    TRY(relax_host_bytes(call, name, tensor, &bytes, &owned));
    for (int64_t i = 0; i < tensor->shape.dims[0]; i++) {
        if (tensor->dtype == DTYPE_INT16)
            to[i] = ((const int16_t *)bytes)[i];
        else if (tensor->dtype == DTYPE_INT32)
            to[i] = ((const int32_t *)bytes)[i];
        else
            to[i] = ((const int64_t *)bytes)[i];
    }
    return NULL;
}

static bool is_int_tensor(const Value *value) {
    if (!value_is(value, OBJECT_TENSOR) || value->tensor->shape.rank != 1) return false;
    DType dtype = value->tensor->dtype;
    return dtype == DTYPE_INT16 || dtype == DTYPE_INT32 || dtype == DTYPE_INT64;
}

Error *relax_ints(const PackedCall *call, const char *name, const Value *value, int64_t **out_owned,
    uint32_t *out_count) {
    uint32_t fields = 0;
    uint64_t total;
    const Value *children = relax_is_tuple(value) ? value_children(value, &fields) : NULL;
    if (value_is(value, OBJECT_SHAPE))
        total = value->shape->count;
    else if (relax_is_tuple(value))
        total = fields;
    else if (is_int_tensor(value))
        total = (uint64_t)value->tensor->shape.dims[0];
    else
        FAIL(INVALID, "%s is a %s, not a sequence of ints", name, value_kind_name(value));
    if (total > ADT_FIELDS_MAX)
        FAIL(INVALID, "%s has %" PRIu64 " ints; there may be %d", name, total, ADT_FIELDS_MAX);
    void *memory;
    TRY(memory_alloc(total, sizeof(int64_t), &memory));
    OWN_MEMORY(owned) = memory;
    int64_t *ints = memory;
    for (uint32_t i = 0; i < total && !value_is(value, OBJECT_TENSOR); i++) {
        if (children && children[i].tag != VALUE_INT)
            FAIL(INVALID, "item %u of %s is a %s, not an int", i, name,
                value_kind_name(&children[i]));
        ints[i] = children ? children[i].integer : value->shape->dims[i];
    }
    if (value_is(value, OBJECT_TENSOR)) TRY(ints_of_tensor(call, name, value->tensor, ints));
    *out_owned = TAKE(owned);
    *out_count = (uint32_t)total;
    return NULL;
}

Error *relax_new_shape(const int64_t *dims, uint64_t rank, Value *out) {
    ShapeObject *object;
    TRY(shape_object_create_of(dims, rank, &object));
    *out = value_object(OBJECT_SHAPE, object);
    return NULL;
}

void relax_bytes_close(RelaxBytes *bytes) { memory_free(bytes->owned); }

Error *relax_check_written(const PackedCall *call, const char *name, const Tensor *tensor) {
    if (tensor->dtype == DTYPE_STRING) FAIL(INVALID, "%s is a tensor of strings", name);
    if (!tensor->storage->opaque && !tensor_is_sole(tensor))
        FAIL(INVALID,
            "%s is an input, a constant or held twice, and may not be written: use a tensor of "
            "alloc_tensor",
            name);
    if (call->execution && !execution_owns_memory(call->execution, tensor))
        FAIL(INVALID, "%s is in memory of %s, which is not slot %u here", name,
            tensor->storage->device->name, tensor->storage->slot);
    return NULL;
}

Error *relax_open_written(
    const PackedCall *call, const char *name, Tensor *tensor, bool read, RelaxBytes *out) {
    *out = (RelaxBytes){.tensor = tensor};
    TRY(relax_check_written(call, name, tensor));
    if (read) TRY(relax_readable(call, name, tensor));
    storage_forget_annotation(tensor->storage);
    if (tensor->storage->device->class_->host_memory) {
        out->bytes = tensor_data(tensor);
        return NULL;
    }
    TRY(memory_alloc(1, tensor_bytes(tensor), &out->owned));
    out->bytes = out->owned;
    return read ? tensor_copy_to_host(tensor, out->bytes) : NULL;
}

Error *relax_store(const PackedCall *call, const RelaxBytes *bytes) {
    if (bytes->owned && tensor_bytes(bytes->tensor) > 0)
        TRY(tensor_copy_from_host(bytes->tensor, bytes->owned));
    packed_mark_written(call, bytes->tensor);
    return NULL;
}

Error *relax_expect_dtype(const char *name, const Tensor *tensor, DType dtype) {
    if (tensor->dtype == dtype) return NULL;
    FAIL(INVALID, "%s is %s, not %s", name, dtype_name(tensor->dtype), dtype_name(dtype));
}

Error *relax_new_ints(const PackedCall *call, const int64_t *ints, uint64_t count, Value *out) {
    if (count <= SHAPE_OBJECT_COUNT_MAX) return relax_new_shape(ints, count, out);
    if (count > ADT_FIELDS_MAX)
        FAIL(INVALID, "%" PRIu64 " ints; there may be %d", count, ADT_FIELDS_MAX);
    Adt *tuple;
    TRY(adt_create(call->meter, 0, (uint32_t)count, &tuple));
    for (uint64_t i = 0; i < count; i++) tuple->fields[i] = value_int(ints[i]);
    *out = value_object(OBJECT_ADT, tuple);
    return NULL;
}
