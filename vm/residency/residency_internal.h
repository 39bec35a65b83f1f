#pragma once
/* Functions that residency.c and residency_image.c share, on the thread that fills a residency. */
#include "vm/residency/residency.h"

/* Makes a sealed storage of a constant from the slot's pool. Errors: EXHAUSTED the device is
 * full. */
MUST_CHECK Error *residency_alloc_sealed(
    Residency *residency, uint8_t slot, uint64_t bytes, uint32_t constant, Storage **out);
/* Sets a plain constant's storage, where instructions look for it. */
MUST_CHECK Error *residency_set_constant(Residency *residency, uint32_t index, Storage *storage);
/* Releases all constants and packed weights; their keys stay. */
void residency_forget(Residency *residency);
