#include "vm/residency/residency_image.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "vm/residency/weight_layout.h"
#include "vm/residency/weight_packing.h"

enum {
    COPY_BYTES = 4 << 20
}; /* bytes of one task: large enough for a link, small enough for two threads */

/* ---- from an image ---- */

typedef struct Loading {
    Residency *residency;
    const WeightLayout *layout;
    WeightImage *image;
    Storage *wholes[SLOT_COUNT]; /* for each slot the storage with the image's bytes */
    bool copies;                 /* the device's constants are copied to the device */
} Loading;

static void release_image(void *image) { weight_image_release(image); }

/* Uses the image itself as the slot's memory. */
static Error *lend_memory(Loading *loading, uint8_t slot) {
    Residency *residency = loading->residency;
    WeightImage *image = loading->image;
    TRY(storage_create_foreign(residency->devices[slot], slot, (uint64_t)(uintptr_t)image->data,
        image->size, image, release_image, &loading->wholes[slot]));
    (void)weight_image_retain(image);
    loading->wholes[slot]->sealed = true;
    if (!residency->image) residency->image = weight_image_retain(image);
    return NULL;
}

static Error *make_wholes(Loading *loading) {
    const WeightLayout *layout = loading->layout;
    const Device *device = loading->residency->devices[SLOT_DEVICE];
    loading->copies = !device->class_->host_memory;
    if (layout->key.size > layout->device_bytes) TRY(lend_memory(loading, SLOT_HOST));
    if (!loading->copies) return lend_memory(loading, SLOT_DEVICE);
    return residency_alloc_sealed(loading->residency, SLOT_DEVICE, layout->device_bytes,
        STORAGE_NOT_CONSTANT, &loading->wholes[SLOT_DEVICE]);
}

static Error *place(const Loading *loading, const WeightItem *item) {
    OWN(Storage, storage) = NULL;
    Residency *residency = loading->residency;
    TRY(storage_create_within(loading->wholes[item->slot], item->offset, item->size, &storage));
    storage->constant_index = item->constant;
    if (item->packed == WEIGHT_ITEM_PLAIN)
        return residency_set_constant(residency, item->constant, storage);
    residency->packed[item->packed].storage = TAKE(storage);
    return NULL;
}

static Error *bring(void *context, size_t index) {
    const Loading *loading = context;
    uint64_t offset = (uint64_t)index * COPY_BYTES, size = loading->layout->key.size - offset;
    if (size > COPY_BYTES) size = COPY_BYTES;
    TRY(weight_image_check(loading->image, offset, size));
    if (!loading->copies || offset >= loading->layout->device_bytes) return NULL;
    if (size > loading->layout->device_bytes - offset)
        size = loading->layout->device_bytes - offset;
    Device *device = loading->residency->devices[SLOT_DEVICE];
    const Storage *whole = loading->wholes[SLOT_DEVICE];
    return device->class_->copy_from_host(device, storage_stream(whole), whole->address + offset,
        loading->image->data + offset, size);
}

static Error *load(Loading *loading, WorkerPool *pool) {
    const WeightLayout *layout = loading->layout;
    TRY(make_wholes(loading));
    for (uint32_t i = 0; i < layout->count; i++)
        TRY_WRAP(place(loading, &layout->items[i]), "constant %u", layout->items[i].constant);
    size_t tasks = (size_t)((layout->key.size + COPY_BYTES - 1) / COPY_BYTES);
    TRY(worker_pool_for_each(pool, tasks, bring, loading));
    if (weight_image_is_damaged(loading->image)) FAIL(CORRUPT, "the image became shorter");
    return NULL;
}

static Error *load_found(
    Loading *loading, const WeightImages *images, WorkerPool *pool, bool *out_filled) {
    Error *error = load(loading, pool);
    for (uint32_t slot = 0; slot < SLOT_COUNT; slot++) storage_release(loading->wholes[slot]);
    if (error) residency_forget(loading->residency);
    *out_filled = !error;
    if (error_code(error) != ERROR_CORRUPT) return error;
    error_free(error); /* the image is a cache: it is deleted and made again */
    images->discard(images->context, &loading->layout->key);
    return NULL;
}

static bool is_identified(const Executable *executable) {
    static const Digest none;
    return !digest_equal(&executable->identity, &none);
}

Error *residency_image_load(Residency *residency, const uint8_t *needs_plain,
    const WeightImages *images, WorkerPool *pool, bool *out_filled) {
    WeightLayout OWN_LAYOUT(layout) = {0};
    OWN(WeightImage, image) = NULL;
    *out_filled = false;
    if (!is_identified(residency->executable)) return NULL;
    TRY(weight_layout_make(residency, needs_plain, &layout));
    if (layout.key.size > 0) TRY(weight_image_find(images, &layout.key, &image));
    if (!image) return NULL;
    Loading loading = {.residency = residency, .layout = &layout, .image = image};
    return load_found(&loading, images, pool, out_filled);
}

/* ---- to an image ---- */

typedef struct Keeping {
    const Residency *residency;
    const WeightLayout *layout;
} Keeping;

static Error *read_item(void *context, const WeightItem *item, uint64_t offset, size_t size,
    void *buffer, const void **out_data) {
    const Keeping *keeping = context;
    const Residency *residency = keeping->residency;
    Device *device = residency->devices[item->slot];
    uint64_t address = item->packed == WEIGHT_ITEM_PLAIN
                           ? tensor_address(residency->constants[item->slot][item->constant])
                           : residency->packed[item->packed].storage->address;
    const bool here = device->class_->host_memory;
    *out_data = here ? (const void *)(uintptr_t)(address + offset) : buffer;
    return here ? NULL : device->class_->copy_to_host(device, NULL, buffer, address + offset, size);
}

static Error *read_image(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    Keeping *keeping = context;
    return weight_layout_read(keeping->layout, offset, size, buffer, read_item, keeping, out_data);
}

Error *residency_image_keep(
    const Residency *residency, const WeightImages *images, WorkerPool *pool, bool *out_kept) {
    WeightLayout OWN_LAYOUT(layout) = {0};
    void *needs_plain;
    uint32_t count = residency->executable->constant_count;
    *out_kept = false;
    if (!is_identified(residency->executable)) return NULL;
    TRY(memory_alloc(count, 1, &needs_plain));
    for (uint32_t i = 0; i < count; i++)
        ((uint8_t *)needs_plain)[i] =
            residency->constants[SLOT_HOST][i] || residency->constants[SLOT_DEVICE][i];
    Error *error = weight_layout_make(residency, needs_plain, &layout);
    memory_free(needs_plain);
    TRY(error);
    if (layout.key.size == 0) return NULL;
    Keeping keeping = {residency, &layout};
    return images->keep(images->context, &layout.key, read_image, &keeping, pool, out_kept);
}

/* Whether the cache has the image. One with wrong bytes is deleted. */
static Error *find_kept(const WeightImages *images, const WeightImageKey *key, bool *out_found) {
    OWN(WeightImage, image) = NULL;
    TRY(weight_image_find(images, key, &image));
    Error *error = image ? weight_image_check(image, 0, key->size) : NULL;
    *out_found = image && !error;
    if (error_code(error) != ERROR_CORRUPT) return error;
    error_free(error);
    images->discard(images->context, key);
    return NULL;
}

Error *residency_image_prepare(const Residency *residency, const uint8_t *needs_plain,
    const WeightImages *images, WorkerPool *pool) {
    WeightLayout OWN_LAYOUT(layout) = {0};
    OWN(WeightPacking, packing) = NULL;
    bool found, kept;
    if (!is_identified(residency->executable)) return NULL;
    TRY(weight_layout_make(residency, needs_plain, &layout));
    if (layout.key.size == 0) return NULL;
    TRY(find_kept(images, &layout.key, &found));
    if (found) return NULL;
    TRY(weight_packing_create(residency, &layout, &packing));
    return images->keep(images->context, &layout.key, weight_packing_read, packing, pool, &kept);
}
