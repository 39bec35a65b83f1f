#include <inttypes.h>
#include <string.h>

#include "vm/execution/execution_state.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_registry.h"

static Error *check_scope(const Value *scope) {
    if (scope->tag == VALUE_NIL || scope->string->size == 0) return NULL;
    if (strcmp(scope->string->text, "global") == 0) return NULL;
    FAIL(UNSUPPORTED, "memory scope %s; the only one is global", scope->string->text);
}

/* The devices of an execution are its own, 0, and the host, which is the last. */
static Error *slot_of_device(const Value *device, uint8_t *out_slot) {
    int64_t index = relax_int(device);
    if (index < -1 || index > 1)
        FAIL(INVALID, "device %" PRIi64 "; the devices are 0, 1 and -1, the host", index);
    *out_slot = index == 0 ? SLOT_DEVICE : SLOT_HOST;
    return NULL;
}

RELAX(alloc_storage) {
    RELAX_UNUSED();
    TRY(check_scope(&arguments[4]));
    uint8_t slot;
    TRY(slot_of_device(&arguments[2], &slot));
    uint64_t bytes;
    Shape shape;
    TRY(shape_object_get(arguments[1].shape, &shape));
    TRY(shape_bytes(&shape, arguments[3].dtype, &bytes));
    MemoryAnswer answer;
    Storage *storage;
    TRY(storage_create(call->pools[slot], slot, bytes, &answer, &storage));
    if (answer.kind != MEMORY_GRANTED) {
        call->memory = answer;
        call->memory_slot = slot;
        return NULL;
    }
    storage->opaque = true;
    *out_result = value_object(OBJECT_STORAGE, storage);
    return NULL;
}

RELAX(alloc_tensor) {
    RELAX_UNUSED();
    if (count > 4) TRY(check_scope(&arguments[4]));
    Storage *storage = arguments[0].storage;
    if (!storage->opaque) FAIL(INVALID, "argument 0 is not a storage of alloc_storage");
    int64_t offset = relax_int(&arguments[1]);
    if (offset < 0) FAIL(INVALID, "the offset is %" PRIi64, offset);
    Shape shape;
    Tensor *tensor;
    TRY(shape_object_get(arguments[2].shape, &shape));
    TRY(tensor_create(storage, (uint64_t)offset, arguments[3].dtype, &shape, &tensor));
    tensor_set_unwritten(tensor);
    *out_result = value_object(OBJECT_TENSOR, tensor);
    return NULL;
}

RELAX(memory_clear) {
    RELAX_UNUSED();
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) memory_pool_trim(call->pools[slot]);
    return NULL;
}
