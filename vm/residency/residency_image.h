#pragma once
/* Fills a residency from its weight image, and makes the image of a residency that was filled
 * otherwise. Called by residency.c, resident_models.c and run_machine.c, on a thread that may wait.
 *
 * There is one image for each residency, not one for each constant: an activation is then one
 * sequential read and copies of some megabytes each, which keep a disk and a link busy. Each piece
 * is checked (once in a process) and copied by the same task, so a disk that reads ahead works
 * while the link copies: loading a model from disk takes about the time of the slower of the two,
 * not of their sum. */
#include "vm/residency/residency_state.h"
#include "vm/residency/weight_image.h"

/* needs_plain: per constant. *out_filled false: there is no image, or its content is wrong; the
 * residency is then as before. Errors: EXHAUSTED; the device's. */
MUST_CHECK Error *residency_image_load(Residency *residency, const uint8_t *needs_plain,
    const WeightImages *images, WorkerPool *pool, bool *out_filled);
/* Passes the bytes of a finished residency, read back from the device, to the cache. *out_kept
 * false: there is no room, or nothing to keep. */
MUST_CHECK Error *residency_image_keep(
    const Residency *residency, const WeightImages *images, WorkerPool *pool, bool *out_kept);
/* Makes the image of a residency without constants, unless the cache has it. The weights are packed
 * while the image is written. Devices: of host memory. Errors: IO, EXHAUSTED of the cache. */
MUST_CHECK Error *residency_image_prepare(const Residency *residency, const uint8_t *needs_plain,
    const WeightImages *images, WorkerPool *pool);
