#pragma once
/* The place of each constant of a residency in its weight image: first the bytes for the device,
 * packed forms before plain constants, then those that stay in host memory; each aligned to
 * DEVICE_ALIGNMENT. The layout follows from the executable and the device's pack rules alone.
 * Called by residency_image.c. Pure: no state. */
#include "vm/residency/residency_state.h"
#include "vm/residency/weight_image.h"

#define WEIGHT_ITEM_PLAIN UINT32_MAX

typedef struct WeightItem {
    uint32_t constant;
    uint32_t packed; /* index in Residency.packed, or WEIGHT_ITEM_PLAIN */
    uint8_t slot;
    uint64_t offset, size;
} WeightItem;

typedef struct WeightLayout {
    WeightItem *items; /* by offset */
    uint32_t count;
    uint64_t device_bytes; /* the first bytes, which go to the device */
    WeightImageKey key;
} WeightLayout;

/* residency: needs its executable, devices, and packed weights without their storages. needs_plain:
 * per constant. Errors: OUT_OF_MEMORY; EXHAUSTED more than 2^64 bytes. */
MUST_CHECK Error *weight_layout_make(
    const Residency *residency, const uint8_t *needs_plain, WeightLayout *out);
void weight_layout_deinit(WeightLayout *layout);
#define OWN_LAYOUT(name) __attribute__((cleanup(weight_layout_deinit))) name
/* The first item that ends after the offset; count if there is none. */
uint32_t weight_layout_find(const WeightLayout *layout, uint64_t offset);

/* Provides size bytes of an item at an offset in it: *out_data points to them, or to the buffer
 * filled with them. */
typedef Error *WeightItemRead(void *context, const WeightItem *item, uint64_t offset, size_t size,
    void *buffer, const void **out_data);
/* Provides size bytes of the image at an offset, as a WeightImageRead. Gaps between items are zero,
 * so that the same weights make the same file. */
MUST_CHECK Error *weight_layout_read(const WeightLayout *layout, uint64_t offset, size_t size,
    void *buffer, WeightItemRead *read, void *context, const void **out_data);
