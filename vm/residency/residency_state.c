#include "vm/residency/residency_state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "kernels/tensor/tensor.h"
#include "vm/native/native_functions.h"
#include "vm/residency/weight_image.h"

int residency_compare_keys(const void *left, const void *right) {
    const PackedWeight *a = left, *b = right;
    if (a->primitive != b->primitive) return a->primitive < b->primitive ? -1 : 1;
    if (a->input != b->input) return a->input < b->input ? -1 : 1;
    if (a->constant != b->constant) return a->constant < b->constant ? -1 : 1;
    return 0;
}

Error *residency_get_native(Residency *residency, const char *preload, NativeFunctions **out) {
    NativeFunctions *made, *before = NULL;
    *out = atomic_load(&residency->native);
    if (*out) return NULL;
    const Executable *executable = residency->executable;
    const Tensor *library = residency->constants[SLOT_HOST][executable->native_library];
    TRY_WRAP(native_functions_create(executable, library, preload, &made), "the native library");
    if (!atomic_compare_exchange_strong(&residency->native, &before, made)) {
        native_functions_release(made);
        made = before;
    }
    *out = made;
    return NULL;
}

/* Allocates memory that is never freed. Waiting for free memory would not help, so the answer
 * "needed" becomes EXHAUSTED. */
Error *residency_alloc_sealed(
    Residency *residency, uint8_t slot, uint64_t bytes, uint32_t constant, Storage **out) {
    MemoryAnswer answer;
    TRY(storage_create(residency->pools[slot], slot, bytes, &answer, out));
    if (answer.kind != MEMORY_GRANTED)
        FAIL(EXHAUSTED, "%s has no room for %" PRIu64 " bytes of constant %u",
            residency->devices[slot]->name, bytes, constant);
    (*out)->sealed = true;
    (*out)->constant_index = constant;
    residency->bytes[slot] += bytes;
    return NULL;
}

Error *residency_set_constant(Residency *residency, uint32_t index, Storage *storage) {
    const Constant *constant = &residency->executable->constants[index];
    const Tensor *plain = constant->value.tensor;
    Tensor *tensor;
    TRY(tensor_create(storage, 0, plain->dtype, &plain->shape, &tensor));
    residency->constants[constant->slot][index] = tensor;
    residency->constant_values[index] = value_object(OBJECT_TENSOR, tensor_retain(tensor));
    return NULL;
}

void residency_forget(Residency *residency) {
    uint32_t count = residency->executable->constant_count;
    for (uint32_t i = 0; residency->constant_values && i < count; i++) {
        value_release(&residency->constant_values[i]);
        residency->constant_values[i] = (Value){0};
    }
    for (uint32_t i = 0; i < residency->packed_count; i++)
        storage_release(TAKE(residency->packed[i].storage));
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) {
        for (uint32_t i = 0; residency->constants[slot] && i < count; i++)
            tensor_release(TAKE(residency->constants[slot][i]));
        residency->bytes[slot] = 0;
    }
    weight_image_release(TAKE(residency->image));
}

const PackedWeight *residency_find_weight(
    const Residency *residency, uint32_t primitive, uint32_t input, uint32_t constant) {
    if (residency->packed_count == 0) return NULL;
    PackedWeight key = {.primitive = primitive, .input = input, .constant = constant};
    return bsearch(&key, residency->packed, residency->packed_count, sizeof(PackedWeight),
        residency_compare_keys);
}

struct Storage *residency_find_packed(const Residency *residency, uint32_t primitive,
    uint32_t input, uint32_t constant, uint32_t *out_layout) {
    const PackedWeight *weight = residency_find_weight(residency, primitive, input, constant);
    if (!weight) return NULL;
    *out_layout = weight->layout;
    return weight->storage;
}

PackRequest residency_pack_request(const Executable *executable, const PackedWeight *weight) {
    const Primitive *primitive = &executable->primitives[weight->primitive];
    return (PackRequest){
        .operator_info = primitive->operator_info,
        .attributes = primitive->attributes,
        .input_index = weight->input,
        .constant = tensor_spec(executable->constants[weight->constant].value.tensor),
    };
}
