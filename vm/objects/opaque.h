#pragma once
/* An opaque object: mutable state of a registered kind (KV caches, RNN state, Relax's shape heap).
 * Made by packed functions; printed, saved and loaded by vm/objects/ and serialize/checkpoint/.
 * Belongs to one execution and its thread.
 *
 * Because the state is mutable, an opaque object is copied at a snapshot's safepoint instead of
 * referenced. Large parts of a state may be values that the state holds: copies share them, and the
 * state replaces a value that has other holders before it changes what the value holds. */
#include "base/bytes.h"
#include "base/text.h"
#include "vm/objects/value.h"

typedef struct OpaqueKind {
    const char *name; /* stored in checkpoints */
    void (*destroy)(void *state);
    uint64_t (*bytes)(const void *state); /* bytes of memory of the state; it grows
                                           * only after opaque_charge */
    /* Makes a copy that later changes of the original do not affect. */
    Error *(*copy)(const void *state, void **out);
    Error *(*save)(const void *state, ByteWriter *writer);
    /* Parses a state; the bytes are not trusted. */
    Error *(*load)(ByteReader *reader, void **out);
    /* Gives the values that the state holds. `bytes` does not count what they hold, `copy` takes
     * references to them, `save` leaves them out, and after `load` they are nil. Borrowed. NULL:
     * the state holds none. */
    Value *(*values)(void *state, uint32_t *out_count);
    /* Checks the values that a file has; they are not trusted. Set with `values`. */
    Error *(*check_values)(const void *state);
    void (*print)(const void *state, TextBuilder *out); /* NULL: only the name is printed */
} OpaqueKind;

typedef struct Opaque {
    Refcount refcount;
    const OpaqueKind *kind; /* outlives the object */
    void *state;
    struct ObjectMeter *meter;
} Opaque;

/* Consumes the state, even on failure. meter: charged for the object and its copies; NULL: none.
 * Errors: EXHAUSTED. */
MUST_CHECK Error *opaque_create(
    struct ObjectMeter *meter, const OpaqueKind *kind, void *owned_state, Opaque **out);
void opaque_release(Opaque *opaque);
DEFINE_OWN(Opaque, opaque_release);
MUST_CHECK Error *opaque_copy(const Opaque *opaque, Opaque **out);
/* The values that the state holds; NULL and 0: none. Borrowed. */
Value *opaque_values(const Opaque *opaque, uint32_t *out_count);
/* Charges a state's growth to the object's meter, before the state grows: `bytes` of the kind gives
 * the new size from then on. Errors: EXHAUSTED. */
MUST_CHECK Error *opaque_charge(Opaque *opaque, uint64_t more_bytes);
/* Takes a charge back whose growth did not happen. */
void opaque_refund(Opaque *opaque, uint64_t bytes);

/* Relax's shape heap: a fixed number of int64 cells, all 0 at first. */
extern const OpaqueKind opaque_shape_heap;
enum { SHAPE_HEAP_CELLS_MAX = 1 << 20 };
typedef struct ShapeHeap {
    uint32_t count;
    int64_t cells[];
} ShapeHeap;
MUST_CHECK Error *shape_heap_create(uint32_t count, ShapeHeap **out);
