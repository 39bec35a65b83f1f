#pragma once
/* The chunks that were stored or found last, in memory: a checkpoint asks for every chunk that it
 * shares with the one before, and SQLite takes 2 us to find one in its index, 15 with its sizes.
 *
 * A chunk that is here is in the store: gc and fsck say what they delete and replace, and nobody
 * else does while the home has this owner.
 *
 * Threads: any. gc changes the store and this while it holds sweeping alone, so that who holds it
 * shared, from the answer to the pin, may rely on the answer. */
#include <stdbool.h>

#include "base/own.h"
#include "serialize/chunk/chunk.h"
#include "store/database/store.h"

typedef struct RecentChunks RecentChunks;

typedef struct ChunkSize {
    uint32_t raw, stored;
} ChunkSize;

/* Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *recent_chunks_create(RecentChunks **out_chunks);
void recent_chunks_release(RecentChunks *chunks);
DEFINE_OWN(RecentChunks, recent_chunks_release);
bool recent_chunks_find(
    RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize *out_size);
/* Only of a chunk that is committed. size.stored is not 0. */
void recent_chunks_note(RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize size);
void recent_chunks_forget(RecentChunks *chunks, TenantId tenant, const Digest *hash);
