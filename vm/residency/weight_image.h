#pragma once
/* A weight image: everything that a residency holds of its executable's constants, packed forms and
 * plain ones, as one piece of bytes that somebody outside keeps between activations. With one, an
 * activation is a copy to the device, or nothing at all where the device computes in host memory;
 * without one, weights are decoded and packed. */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/refcount.h"
#include "base/worker_pool.h"

typedef struct WeightImageKey {
    Digest executable; /* its identity */
    Digest layout;     /* of what stands where, and of the determinism class that packed it */
    uint64_t size;     /* bytes; > 0 */
} WeightImageKey;

/* Gives size bytes at an offset: in *out_data, or in the buffer (WEIGHT_IMAGE_PIECE bytes at
 * least), which *out_data then is. Threads: several at once. */
enum { WEIGHT_IMAGE_PIECE = 1 << 20 };
typedef Error *WeightImageRead(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data);

/* Who keeps images. Threads: any. */
typedef struct WeightImages {
    void *context;
    /* *out_image NULL: there is none. out_data: key->size bytes aligned to DEVICE_ALIGNMENT, until
     * release. */
    void (*find)(
        void *context, const WeightImageKey *key, void **out_image, const uint8_t **out_data);
    void (*release)(void *image);
    /* These bytes are what was kept. Cheap when it was asked before. Errors: CORRUPT. */
    Error *(*check)(void *image, uint64_t offset, uint64_t size);
    /* Bytes could not be read since: what was made of them may be wrong. */
    bool (*is_damaged)(const void *image);
    /* It is not what it should be. */
    void (*discard)(void *context, const WeightImageKey *key);
    /* *out_kept false: there is no room. pool: reads in its threads. */
    Error *(*keep)(void *context, const WeightImageKey *key, WeightImageRead *read,
        void *read_context, WorkerPool *pool, bool *out_kept);
} WeightImages;

/* One that was found: counted. */
typedef struct WeightImage {
    Refcount refcount;
    WeightImages images;
    void *image;
    const uint8_t *data;
    uint64_t size;
} WeightImage;

/* *out NULL: there is none. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *weight_image_find(
    const WeightImages *images, const WeightImageKey *key, WeightImage **out);
WeightImage *weight_image_retain(WeightImage *image);
void weight_image_release(WeightImage *image);
DEFINE_OWN(WeightImage, weight_image_release);
MUST_CHECK Error *weight_image_check(WeightImage *image, uint64_t offset, uint64_t size);
bool weight_image_is_damaged(const WeightImage *image);
