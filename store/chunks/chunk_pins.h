#pragma once
/* The chunks that an upload has found or put, which a sweep must not delete. Each upload adds its
 * pins to the store's list (chunk_upload.c); before a chunk is deleted, all pins of the list are
 * asked (chunk_drop.c).
 *
 * Threads: digests change while store->sweeping is held shared, and are read while it is held
 * alone. */
#include "base/digest_set.h"
#include "store/database/store.h"

typedef struct ChunkPins {
    TenantId tenant;
    DigestSet digests;      /* -> sizes, packed */
    struct ChunkPins *next; /* in store->pins, guarded by store->pins_mutex */
} ChunkPins;
