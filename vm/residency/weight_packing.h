#pragma once
/* The bytes of a weight image whose weights are packed when they are read, so that only a few
 * packed weights are in memory at once: first writes to fresh memory take more time than packing.
 * Called by residency_image.c for a device that computes in host memory. Threads: a read by
 * several. */
#include "vm/residency/weight_layout.h"

typedef struct WeightPacking WeightPacking;

/* residency: needs its executable with the constants' bytes, devices, pools and packed weights
 * without their storages; outlives the packing, as the layout does. */
MUST_CHECK Error *weight_packing_create(
    const Residency *residency, const WeightLayout *layout, WeightPacking **out);
void weight_packing_release(WeightPacking *packing);
DEFINE_OWN(WeightPacking, weight_packing_release);
/* A WeightImageRead; context: the packing. Each byte is best read once and in about ascending
 * order. Errors: the device's. */
MUST_CHECK Error *weight_packing_read(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data);
