#pragma once
/* A weight image: all bytes that a residency holds of its executable's constants, packed and plain,
 * as one piece that a cache outside vm keeps between activations. With an image, an activation is a
 * copy to the device, or nothing at all if the device computes in host memory; without one, weights
 * are decoded and packed. Called by residency_image.c; the cache (WeightImages) is
 * scheduler/executor/cached_images.h. Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/refcount.h"
#include "base/worker_pool.h"

typedef struct WeightImageKey {
    Digest executable; /* the executable's identity */
    Digest layout;     /* digest of the layout, and of the determinism class that packed it */
    uint64_t size;     /* bytes; > 0 */
} WeightImageKey;

/* Provides size bytes at an offset: *out_data points to them, or to the buffer (WEIGHT_IMAGE_PIECE
 * bytes at least) filled with them. Threads: several at once. */
enum { WEIGHT_IMAGE_PIECE = 1 << 20 };
typedef Error *WeightImageRead(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data);

/* A cache of images. Threads: any. */
typedef struct WeightImages {
    void *context;
    /* Finds an image. *out_image NULL: there is none. out_data: key->size bytes aligned to
     * DEVICE_ALIGNMENT, until release. */
    void (*find)(
        void *context, const WeightImageKey *key, void **out_image, const uint8_t **out_data);
    void (*release)(void *image);
    /* Checks that these bytes equal the kept ones. Cheap for bytes that were checked before.
     * Errors: CORRUPT. */
    Error *(*check)(void *image, uint64_t offset, uint64_t size);
    /* Whether bytes could not be read since the image was found: results computed from them may be
     * wrong. */
    bool (*is_damaged)(const void *image);
    /* Drops an image whose content is wrong. */
    void (*discard)(void *context, const WeightImageKey *key);
    /* Keeps an image. *out_kept false: there is no room. pool: reads in its threads. */
    Error *(*keep)(void *context, const WeightImageKey *key, WeightImageRead *read,
        void *read_context, WorkerPool *pool, bool *out_kept);
} WeightImages;

/* An image that was found; counted. */
typedef struct WeightImage {
    Refcount refcount;
    WeightImages images;
    void *image;
    const uint8_t *data;
    uint64_t size;
} WeightImage;

/* *out NULL: there is no image. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *weight_image_find(
    const WeightImages *images, const WeightImageKey *key, WeightImage **out);
WeightImage *weight_image_retain(WeightImage *image);
void weight_image_release(WeightImage *image);
DEFINE_OWN(WeightImage, weight_image_release);
MUST_CHECK Error *weight_image_check(WeightImage *image, uint64_t offset, uint64_t size);
bool weight_image_is_damaged(const WeightImage *image);
