#pragma once
/* The weight images of residencies (vm/residency/weight_image.h) kept in the home's cache
 * (store/weights/weight_cache.h): vm knows no files, the store no executables. */
#include "store/weights/weight_cache.h"
#include "vm/residency/weight_image.h"

/* Borrows the cache, which outlives everything that is found. */
WeightImages cached_images(WeightCache *cache);
