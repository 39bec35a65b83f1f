#pragma once
/* Keeps the weight images of residencies (vm/residency/weight_image.h) in the home's cache
 * (store/weights/weight_cache.h), since vm knows no files and store no executables. Called by
 * daemon.c and by the command line's run_machine.c. Threads: any. */
#include "store/weights/weight_cache.h"
#include "vm/residency/weight_image.h"

/* Borrows the cache, which outlives all images that are found. */
WeightImages cached_images(WeightCache *cache);
