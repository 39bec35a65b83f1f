#pragma once
/* Filling a residency from its weight image, and making the image of one that was filled
 * otherwise.
 *
 * One image a residency, not one a constant: an activation is then one sequential read and copies
 * of some megabytes each, which keep a disk and a link busy. Pieces are checked (once in a process)
 * and copied by the same task, so a disk that reads ahead works while the link copies: a model that
 * rests on disk comes in about the time of the slower of the two, not of their sum. */
#include "vm/residency/residency.h"
#include "vm/residency/weight_image.h"

/* needs_plain: per constant. *out_filled false: there is no image, or none that is right; the
 * residency is then as before. Errors: EXHAUSTED; the device's. */
MUST_CHECK Error *residency_image_load(Residency *residency, const uint8_t *needs_plain,
    const WeightImages *images, WorkerPool *pool, bool *out_filled);
/* Hands the bytes of a finished residency to whoever keeps them, reading them back from the device.
 * *out_kept false: there is no room, or nothing to keep. */
MUST_CHECK Error *residency_image_keep(
    const Residency *residency, const WeightImages *images, WorkerPool *pool, bool *out_kept);
