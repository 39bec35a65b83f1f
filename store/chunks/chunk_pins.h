#pragma once
/* What an upload has found or put and a sweep must leave alone. Uploads list their pins with the
 * store (chunk_upload.c); whoever deletes chunks asks them all (chunk_drop.c).
 *
 * Threads: digests change while store->sweeping is held shared, and are read while it is held
 * alone. */
#include "store/database/digest_set.h"
#include "store/database/store.h"

typedef struct ChunkPins {
    TenantId tenant;
    DigestSet digests;      /* -> sizes, packed */
    struct ChunkPins *next; /* in store->pins, guarded by store->pins_mutex */
} ChunkPins;
