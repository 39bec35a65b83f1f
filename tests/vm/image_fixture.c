#include "tests/vm/image_fixture.h"

#include <string.h>

#include "base/allocator.h"

static bool is_key(const WeightImageKey *a, const WeightImageKey *b) {
    return a->size == b->size && digest_equal(&a->executable, &b->executable) &&
           digest_equal(&a->layout, &b->layout);
}

static void find(
    void *context, const WeightImageKey *key, void **out_image, const uint8_t **out_data) {
    OneImage *image = context;
    image->finds++;
    *out_image = NULL;
    if (!image->data || !is_key(key, &image->key)) return;
    image->held++;
    *out_image = image;
    *out_data = image->data;
}

static void release(void *context) { ((OneImage *)context)->held--; }

static Error *check(void *context, uint64_t offset, uint64_t size) {
    OneImage *image = context;
    image->checks++;
    if (offset > image->key.size || size > image->key.size - offset)
        FAIL(INTERNAL, "bytes outside the image");
    if (image->corrupt) FAIL(CORRUPT, "the image has changed");
    return NULL;
}

static bool is_damaged(const void *context) { return ((const OneImage *)context)->damaged; }

static void discard(void *context, const WeightImageKey *key) {
    OneImage *image = context;
    (void)key;
    image->discards++;
    one_image_deinit(image);
}

/* In pieces of an odd size, so that constants are cut. */
static Error *keep(void *context, const WeightImageKey *key, WeightImageRead *read,
    void *read_context, WorkerPool *pool, bool *out_kept) {
    enum { PIECE = 100 };
    OneImage *image = context;
    void *memory;
    (void)pool;
    *out_kept = false;
    if (image->full) return NULL;
    TRY(memory_map(key->size, &memory));
    image->data = memory;
    image->key = *key;
    for (uint64_t at = 0; at < key->size; at += PIECE) {
        char buffer[PIECE];
        const void *data;
        size_t size = key->size - at < PIECE ? (size_t)(key->size - at) : PIECE;
        TRY(read(read_context, at, size, buffer, &data));
        memcpy(image->data + at, data, size);
    }
    *out_kept = true;
    return NULL;
}

WeightImages one_image(OneImage *image) {
    return (WeightImages){.context = image,
        .find = find,
        .release = release,
        .check = check,
        .is_damaged = is_damaged,
        .discard = discard,
        .keep = keep};
}

void one_image_deinit(OneImage *image) {
    if (image->data) memory_unmap(image->data, image->key.size);
    image->data = NULL;
}
