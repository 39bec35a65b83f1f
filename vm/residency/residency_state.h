#pragma once
/* The constants, plans and packed weights of a residency, below residency.h: decoded code, inline
 * caches and weight images know a residency by this header. Counted by residency.h; the functions
 * that fill a residency run on the thread that makes it, the others on any. */
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
    /* Of the executable's native library; NULL until an execution needs one. */
    _Atomic(struct NativeFunctions *) native;
    uint64_t bytes[SLOT_COUNT]; /* held by constants and packed weights */
    struct WeightImage *image;  /* NULL, or the image that has the constants' bytes;
                                 * retained */
} Residency;

/* The packed form of a constant operand, or NULL. Sets out_layout with it. */
struct Storage *residency_find_packed(const Residency *residency, uint32_t primitive,
    uint32_t input, uint32_t constant, uint32_t *out_layout);
/* The packed form with its key; NULL if that constant is not packed. Borrowed. */
const PackedWeight *residency_find_weight(
    const Residency *residency, uint32_t primitive, uint32_t input, uint32_t constant);

/* The functions of the executable's native library, which must have one. The first caller's preload
 * is that of all: it is the node's. The functions live as long as the residency. Threads: any. */
MUST_CHECK Error *residency_get_native(
    Residency *residency, const char *preload, struct NativeFunctions **out);

/* ---- while one is filled ---- */

/* Compares two PackedWeight by their keys, for qsort and bsearch. */
int residency_compare_keys(const void *left, const void *right);
/* What a device is asked to pack. */
struct PackRequest residency_pack_request(const Executable *executable, const PackedWeight *weight);
/* Makes a sealed storage of a constant from the slot's pool. Errors: EXHAUSTED the device is
 * full. */
MUST_CHECK Error *residency_alloc_sealed(
    Residency *residency, uint8_t slot, uint64_t bytes, uint32_t constant, Storage **out);
/* Sets a plain constant's storage, where instructions look for it. */
MUST_CHECK Error *residency_set_constant(Residency *residency, uint32_t index, Storage *storage);
/* Releases all constants and packed weights; their keys stay. */
void residency_forget(Residency *residency);
