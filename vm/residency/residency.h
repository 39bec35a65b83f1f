#pragma once
/* A residency: an executable's constants (plain and packed) in the memory of a device, with the
 * plans made for them, shared by all executions there. Slot 0 is always a cpu device; slot 1 the
 * device that executions are bound to. Made by resident_models.c; counted, and any thread may use
 * one. */
#include "base/worker_pool.h"
#include "vm/residency/residency_state.h"
#include "vm/residency/weight_image.h"

/* The source of constants. */
typedef struct ResidencySource {
    const struct WeightImages *images; /* tried first; NULL: none */
    /* The same executable with its constants' data, if the other one is an outline; NULL: the other
     * has its data, or only an image may be used. Borrowed for the call. */
    const Executable *data;
} ResidencySource;

/* Makes a residency: copies constants to the device if its memory is not the host's, and packs
 * those that the device's pack_rule names, on the pool's threads. Errors: EXHAUSTED, UNSUPPORTED.
 * Blocks: until everything is resident. executable: no outline. */
MUST_CHECK Error *residency_create(
    Executable *executable, Device *host, Device *device, WorkerPool *pool, Residency **out);
/* Makes the weight image of an executable for a cpu device, unless the cache has it, without the
 * memory for all packed weights. Errors: as residency_create; those of the cache. */
MUST_CHECK Error *residency_prepare(
    Executable *executable, Device *host, const WeightImages *images, WorkerPool *pool);
/* Makes one from a source. *out NULL: only an image may be used, and there is none. */
MUST_CHECK Error *residency_create_from(Executable *executable, Device *host, Device *device,
    WorkerPool *pool, const ResidencySource *source, Residency **out);
/* Errors: DEVICE_LOST bytes of the image that holds the constants could not be read since: computed
 * results may be wrong, and only another residency helps. */
MUST_CHECK Error *residency_check(const Residency *residency);
Residency *residency_retain(Residency *residency);
void residency_release(Residency *residency);
DEFINE_OWN(Residency, residency_release);
