#pragma once
/* A residency: an executable's constants (plain and packed) in the memory of a device, shared by
 * all executions there, with the plans made for them. Slot 0 is always a cpu device; slot 1 the
 * device that executions are bound to. */
#include "base/worker_pool.h"
#include "kernels/device/device.h"
#include "kernels/planning/plan_table.h"
#include "vm/code/executable.h"

enum { SLOT_HOST = 0, SLOT_DEVICE = 1, SLOT_COUNT = 2 };

/* A constant in the layout that its operator's kernel wants. */
typedef struct PackedWeight {
    uint32_t primitive, input, constant; /* what it is for; the key, ascending */
    uint32_t layout;                     /* from the device's pack_rule, as is the next one */
    uint64_t bytes;
    struct Storage *storage; /* sealed, on the device */
} PackedWeight;

typedef struct Residency {
    Refcount refcount; /* every execution writes it, and reads the rest at every call */
    uint8_t padding[64 - sizeof(Refcount)];
    Executable *executable;      /* retained */
    Device *devices[SLOT_COUNT]; /* borrowed: outlive the residency */
    PlanTable *plans[SLOT_COUNT];
    struct Tensor **constants[SLOT_COUNT]; /* per constant; NULL where it is not in that slot */
    PackedWeight *packed;                  /* sorted */
    uint32_t packed_count;
    /* Per constant: what an operand naming it stands for; nil where only packed forms are used. */
    Value *constant_values;
    MemoryPool *pools[SLOT_COUNT];   /* of the constants' and packed weights' memory */
    struct DecodedCode *decoded;     /* decoded_code.h: filled on demand */
    struct PackedRegistry *builtins; /* of executions that bring no registry of their own */
    uint64_t bytes[SLOT_COUNT];      /* held by constants and packed weights */
    struct WeightImage *image;       /* NULL, or the image that constants lie in; retained */
} Residency;

/* Where constants come from. */
typedef struct ResidencySource {
    const struct WeightImages *images; /* asked first; NULL: there are none */
    /* The same executable with its constants' data, where the other is an outline; NULL: it is not,
     * or only an image will do. Borrowed for the call. */
    const Executable *data;
} ResidencySource;

/* Copies constants to the device where it is not the host's memory, packs what the device's
 * pack_rule names, on the pool's threads. Errors: EXHAUSTED, UNSUPPORTED. Blocks: until everything
 * is resident. executable: no outline. */
MUST_CHECK Error *residency_create(
    Executable *executable, Device *host, Device *device, WorkerPool *pool, Residency **out);
/* The same from a source. *out NULL: only an image would do, and there is none. */
MUST_CHECK Error *residency_create_from(Executable *executable, Device *host, Device *device,
    WorkerPool *pool, const ResidencySource *source, Residency **out);
/* Errors: DEVICE_LOST bytes of the image that its constants lie in could not be read since: what
 * was computed with them may be wrong, and nothing but another residency will help. */
MUST_CHECK Error *residency_check(const Residency *residency);
Residency *residency_retain(Residency *residency);
void residency_release(Residency *residency);
DEFINE_OWN(Residency, residency_release);
/* The packed form of a constant operand, or NULL. out_layout is set with it. */
struct Storage *residency_find_packed(const Residency *residency, uint32_t primitive,
    uint32_t input, uint32_t constant, uint32_t *out_layout);
/* The same with its key; NULL when that constant is not packed. Borrowed. */
const PackedWeight *residency_find_weight(
    const Residency *residency, uint32_t primitive, uint32_t input, uint32_t constant);
