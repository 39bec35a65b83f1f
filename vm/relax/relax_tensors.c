#include <inttypes.h>

#include "base/allocator.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_registry.h"

RELAX(copy) {
    RELAX_UNUSED();
    *out_result = value_copy(arguments[0]);
    return NULL;
}

RELAX(null_value) {
    RELAX_UNUSED();
    return NULL;
}

RELAX(reshape) {
    RELAX_UNUSED();
    Tensor *tensor = arguments[0].tensor, *view;
    TRY(relax_readable(call, "the tensor", tensor));
    Shape shape;
    TRY(shape_object_get(arguments[1].shape, &shape));
    TRY(tensor_reshape(tensor, &shape, &view));
    *out_result = value_object(OBJECT_TENSOR, view);
    return NULL;
}

/* A copy with a storage of its own. *out_result stays nil where memory is needed. */
static Error *copy_tensor(PackedCall *call, Tensor *tensor, uint8_t slot, Value *out_result) {
    TRY(relax_readable(call, "the tensor", tensor));
    Tensor *copy;
    TRY(relax_new_tensor(call, slot, tensor->dtype, &tensor->shape, &copy));
    if (!copy) return NULL;
    uint64_t bytes = tensor_bytes(tensor);
    Error *error =
        bytes > 0 ? device_transfer(tensor_place(copy), tensor_place(tensor), bytes) : NULL;
    if (error) {
        tensor_release(copy);
        return error;
    }
    *out_result = value_object(OBJECT_TENSOR, copy);
    return NULL;
}

RELAX(ensure_zero_offset) {
    RELAX_UNUSED();
    Tensor *tensor = arguments[0].tensor;
    if (tensor->offset > 0) return copy_tensor(call, tensor, tensor->storage->slot, out_result);
    *out_result = value_copy(arguments[0]);
    return NULL;
}

enum { DEVICE_TYPE_CPU = 1, DEVICE_TYPE_MAX = 17 }; /* DLPack's */

RELAX(to_device) {
    RELAX_UNUSED();
    int64_t type = relax_int(&arguments[1]), id = relax_int(&arguments[2]);
    if (type < DEVICE_TYPE_CPU || type > DEVICE_TYPE_MAX)
        FAIL(INVALID, "device type %" PRIi64 "; the types are 1 to %d", type, DEVICE_TYPE_MAX);
    if (id != 0)
        FAIL(UNSUPPORTED, "device %" PRIi64 "; an execution has one device of each kind", id);
    uint8_t slot = type == DEVICE_TYPE_CPU ? SLOT_HOST : SLOT_DEVICE;
    return copy_tensor(call, arguments[0].tensor, slot, out_result);
}

/* The first element of an integer or bool tensor is not 0. */
static Error *read_condition(const PackedCall *call, const Tensor *tensor, bool *out) {
    if (!dtype_is_integer(tensor->dtype) && tensor->dtype != DTYPE_BOOL)
        FAIL(INVALID, "the condition is %s, not an integer or bool", dtype_name(tensor->dtype));
    uint32_t bits = dtype_bits(tensor->dtype);
    if (bits < 8)
        FAIL(UNSUPPORTED, "the condition is %s, of less than a byte", dtype_name(tensor->dtype));
    if (shape_count_unchecked(&tensor->shape) < 1) FAIL(INVALID, "the condition has no element");
    TRY(relax_readable(call, "the condition", tensor));
    uint8_t element[8] = {0};
    TRY(tensor_copy_part_to_host(tensor, 0, bits / 8, element));
    *out = false;
    for (uint32_t i = 0; i < bits / 8; i++) *out = *out || element[i];
    return NULL;
}

RELAX(read_if_cond) {
    RELAX_UNUSED();
    const Value *value = &arguments[0];
    bool condition;
    if (value->tag == VALUE_BOOL || value->tag == VALUE_INT)
        condition = relax_int(value) != 0;
    else if (value_is(value, OBJECT_TENSOR))
        TRY(read_condition(call, value->tensor, &condition));
    else
        FAIL(INVALID, "the condition is a %s, not a bool, an int or a tensor",
            value_kind_name(value));
    *out_result = value_bool(condition);
    return NULL;
}
