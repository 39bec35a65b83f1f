#include "vm/residency/weight_layout.h"

#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "kernels/tensor/tensor.h"

enum { LAYOUT_VERSION = 1 }; /* raised when the same list of items means other bytes */

static Error *add(WeightLayout *layout, uint64_t *inout_end, WeightItem item) {
    item.offset = *inout_end;
    if (!checked_add_u64(*inout_end, item.size, inout_end) ||
        !checked_align_u64(*inout_end, DEVICE_ALIGNMENT, inout_end))
        FAIL(EXHAUSTED, "more than 2^64 bytes of constants");
    layout->items[layout->count++] = item;
    return NULL;
}

static Error *add_plain(const Residency *residency, const uint8_t *needs_plain, uint8_t slot,
    WeightLayout *layout, uint64_t *inout_end) {
    const Executable *executable = residency->executable;
    for (uint32_t i = 0; i < executable->constant_count; i++) {
        const Constant *constant = &executable->constants[i];
        if (!needs_plain[i] || constant->slot != slot || !value_is(&constant->value, OBJECT_TENSOR))
            continue;
        TRY(add(layout, inout_end,
            (WeightItem){.constant = i,
                .packed = WEIGHT_ITEM_PLAIN,
                .slot = slot,
                .size = tensor_bytes(constant->value.tensor)}));
    }
    return NULL;
}

/* The digest covers the kernels that read the bytes, since a kernel decides about the bytes of its
 * operand. */
static Error *digest_items(const Residency *residency, WeightLayout *layout) {
    ByteWriter OWN_BYTES(writer) = {0};
    TextBuilder OWN_TEXT(class_text) = {0};
    Device *device = residency->devices[SLOT_DEVICE];
    device->class_->determinism_class(device, &class_text);
    TRY(text_builder_check(&class_text));
    byte_write_u32(&writer, LAYOUT_VERSION);
    byte_write_text(&writer, text_builder_get(&class_text));
    for (uint32_t i = 0; i < layout->count; i++) {
        const WeightItem *item = &layout->items[i];
        bool is_packed = item->packed != WEIGHT_ITEM_PLAIN;
        const PackedWeight none = {0};
        const PackedWeight *weight = is_packed ? &residency->packed[item->packed] : &none;
        byte_write_u32(&writer, item->constant);
        byte_write_u8(&writer, item->slot);
        byte_write_u8(&writer, is_packed);
        byte_write_u32(&writer, weight->primitive);
        byte_write_u32(&writer, weight->input);
        byte_write_u32(&writer, weight->layout);
        byte_write_u64(&writer, item->offset);
        byte_write_u64(&writer, item->size);
    }
    TRY(byte_writer_check(&writer));
    return digest_sha256(writer.data, writer.size, &layout->key.layout);
}

static Error *add_all(
    const Residency *residency, const uint8_t *needs_plain, WeightLayout *layout) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < residency->packed_count; i++) {
        const PackedWeight *weight = &residency->packed[i];
        TRY(add(layout, &end,
            (WeightItem){.constant = weight->constant,
                .packed = i,
                .slot = SLOT_DEVICE,
                .size = weight->bytes}));
    }
    TRY(add_plain(residency, needs_plain, SLOT_DEVICE, layout, &end));
    layout->device_bytes = end;
    TRY(add_plain(residency, needs_plain, SLOT_HOST, layout, &end));
    layout->key.executable = residency->executable->identity;
    layout->key.size = end;
    return digest_items(residency, layout);
}

Error *weight_layout_make(
    const Residency *residency, const uint8_t *needs_plain, WeightLayout *out) {
    WeightLayout layout = {0};
    void *memory;
    TRY(memory_alloc((size_t)residency->packed_count + residency->executable->constant_count,
        sizeof(WeightItem), &memory));
    layout.items = memory;
    Error *error = add_all(residency, needs_plain, &layout);
    if (error)
        weight_layout_deinit(&layout);
    else
        *out = layout;
    return error;
}

void weight_layout_deinit(WeightLayout *layout) {
    memory_free(layout->items);
    *layout = (WeightLayout){0};
}

uint32_t weight_layout_find(const WeightLayout *layout, uint64_t offset) {
    uint32_t low = 0, high = layout->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (layout->items[middle].offset + layout->items[middle].size <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Error *weight_layout_read(const WeightLayout *layout, uint64_t offset, size_t size, void *buffer,
    WeightItemRead *read, void *context, const void **out_data) {
    const uint64_t end = offset + size;
    uint64_t done = offset;
    *out_data = buffer;
    for (uint32_t i = weight_layout_find(layout, offset); i < layout->count; i++) {
        const WeightItem *item = &layout->items[i];
        const void *data;
        if (item->offset >= end) break;
        const uint64_t from = item->offset > offset ? item->offset : offset;
        const uint64_t item_end = item->offset + item->size, to = item_end < end ? item_end : end;
        uint8_t *place = (uint8_t *)buffer + (from - offset);
        if (to <= from) continue;
        TRY(read(context, item, from - item->offset, (size_t)(to - from), place, &data));
        if (from == offset && to == end) { /* needs no copy */
            *out_data = data;
            return NULL;
        }
        memset((uint8_t *)buffer + (done - offset), 0, (size_t)(from - done));
        if (data != place) memcpy(place, data, (size_t)(to - from));
        done = to;
    }
    memset((uint8_t *)buffer + (done - offset), 0, (size_t)(end - done));
    return NULL;
}
