#pragma once
/* A residency: an executable's constants (plain and packed) in the memory of a device, with the
 * plans made for them, shared by all executions there. Slot 0 is always a cpu device; slot 1 the
 * device that executions are bound to. Made by resident_models.c; counted, and any thread may use
 * one. */
#include "base/worker_pool.h"
#include "kernels/device/device.h"
#include "kernels/planning/plan_table.h"
#include "vm/code/executable.h"

enum { SLOT_HOST = 0, SLOT_DEVICE = 1, SLOT_COUNT = 2 };

/* A constant in the layout that its operator's kernel needs. */
typedef struct PackedWeight {
    uint32_t primitive, input, constant; /* the input that it is packed for; the key, ascending */
    uint32_t layout;                     /* from the device's pack_rule, as is bytes */
    uint64_t bytes;
    struct Storage *storage; /* sealed, on the device */
} PackedWeight;

typedef struct Residency {
    Refcount refcount; /* every execution writes it, and reads the rest at every call */
    uint8_t padding[64 - sizeof(Refcount)];
    Executable *executable;      /* retained */
    Device *devices[SLOT_COUNT]; /* borrowed: outlive the residency */
    PlanTable *plans[SLOT_COUNT];
    struct Tensor **constants[SLOT_COUNT]; /* per constant; NULL if it is not in that slot */
    PackedWeight *packed;                  /* sorted */
    uint32_t packed_count;
    /* Per constant: the value of an operand that names it; nil if only packed forms are used. */
    Value *constant_values;
    MemoryPool *pools[SLOT_COUNT];   /* of the constants' and packed weights' memory */
    struct DecodedCode *decoded;     /* decoded_code.h: filled on demand */
    struct PackedRegistry *builtins; /* for executions that bring no registry of their own */
    uint64_t bytes[SLOT_COUNT];      /* held by constants and packed weights */
    struct WeightImage *image;       /* NULL, or the image that has the constants' bytes;
                                      * retained */
} Residency;

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
/* Makes one from a source. *out NULL: only an image may be used, and there is none. */
MUST_CHECK Error *residency_create_from(Executable *executable, Device *host, Device *device,
    WorkerPool *pool, const ResidencySource *source, Residency **out);
/* Errors: DEVICE_LOST bytes of the image that holds the constants could not be read since: computed
 * results may be wrong, and only another residency helps. */
MUST_CHECK Error *residency_check(const Residency *residency);
Residency *residency_retain(Residency *residency);
void residency_release(Residency *residency);
DEFINE_OWN(Residency, residency_release);
/* The packed form of a constant operand, or NULL. Sets out_layout with it. */
struct Storage *residency_find_packed(const Residency *residency, uint32_t primitive,
    uint32_t input, uint32_t constant, uint32_t *out_layout);
/* The packed form with its key; NULL if that constant is not packed. Borrowed. */
const PackedWeight *residency_find_weight(
    const Residency *residency, uint32_t primitive, uint32_t input, uint32_t constant);
