#include "scheduler/executor/cached_images.h"

_Static_assert((int)WEIGHT_IMAGE_PIECE == (int)WEIGHT_PIECE_SIZE, "a reader's buffer");

static WeightKey key_of(const WeightImageKey *key) {
    return (WeightKey){.executable = key->executable, .layout = key->layout, .size = key->size};
}

static void find(
    void *context, const WeightImageKey *key, void **out_image, const uint8_t **out_data) {
    CachedWeights *weights;
    WeightKey wanted = key_of(key);
    weight_cache_find(context, &wanted, &weights);
    *out_image = weights;
    if (weights) *out_data = cached_weights_data(weights);
}

static void release(void *image) { cached_weights_release(image); }

static Error *check(void *image, uint64_t offset, uint64_t size) {
    return cached_weights_check(image, offset, size);
}

static bool is_damaged(const void *image) { return cached_weights_is_damaged(image); }

static void discard(void *context, const WeightImageKey *key) {
    WeightKey unwanted = key_of(key);
    weight_cache_discard(context, &unwanted);
}

static Error *keep(void *context, const WeightImageKey *key, WeightImageRead *read,
    void *read_context, WorkerPool *pool, bool *out_kept) {
    WeightKey wanted = key_of(key);
    WeightReader reader = {read, read_context};
    return weight_cache_keep(context, &wanted, reader, pool, out_kept);
}

WeightImages cached_images(WeightCache *cache) {
    return (WeightImages){.context = cache,
        .find = find,
        .release = release,
        .check = check,
        .is_damaged = is_damaged,
        .discard = discard,
        .keep = keep};
}
