#pragma once
/* The names of a storage's chunks, kept with it once they are known: what has not changed since is
 * neither hashed nor copied from its device again. They go when its bytes are overwritten.
 *
 * For values' storages, never opaque ones. Threads: any, while somebody holds the storage so that
 * nobody may overwrite it (a snapshot does). */
#include "kernels/tensor/storage.h"
#include "serialize/chunk/chunk.h"

/* How many of the first chunks of these bytes are known; their refs go to out_refs, which has room
 * for chunk_count(size, chunk_size). */
size_t storage_chunks_get(const Storage *storage, uint64_t offset, uint64_t size,
    uint32_t chunk_size, ChunkRef *out_refs);
/* refs: of all chunks of these bytes. What cannot be kept for want of memory is forgotten. */
void storage_chunks_note(
    Storage *storage, uint64_t offset, uint64_t size, uint32_t chunk_size, const ChunkRef *refs);
