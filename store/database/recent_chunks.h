#pragma once
/* A memory cache of the chunks that were stored or found last. A checkpoint looks up every chunk
 * that it shares with the one before; SQLite takes 2 us to find a chunk in its index, 15 us with
 * the sizes. Callers: store/chunks (uploads, deletion), fsck; store.c owns the cache.
 *
 * A cached chunk is in the store: gc and fsck report every chunk that they delete or replace, and
 * no other code deletes chunks while this process owns the home.
 *
 * Threads: any. gc changes the store and the cache while it holds `sweeping` alone. A caller that
 *          holds `sweeping` shared from the lookup until it has pinned the chunk may rely on the
 *          answer. */
#include <stdbool.h>

#include "base/own.h"
#include "serialize/chunk/chunk.h"
#include "store/database/store_types.h"

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
/* Adds a chunk, if there is memory for it. The chunk must be committed, and size.stored must not be
 * 0. */
void recent_chunks_note(RecentChunks *chunks, TenantId tenant, const Digest *hash, ChunkSize size);
void recent_chunks_forget(RecentChunks *chunks, TenantId tenant, const Digest *hash);
