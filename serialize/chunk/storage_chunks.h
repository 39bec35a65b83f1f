#pragma once
/* The names of a storage's chunks, kept with the storage once they are known. Chunks that have not
 * changed are neither hashed nor copied from the device again. The names are dropped when the bytes
 * are overwritten. Callers: checkpoint_write.c, checkpoint_storage.c.
 *
 * For values' storages, never opaque ones. Threads: any, while the caller (a snapshot) holds the
 * storage so that its bytes cannot be overwritten. */
#include "kernels/tensor/storage.h"
#include "serialize/chunk/chunk.h"

/* Returns how many of the first chunks of these bytes are known, and writes their references to
 * out_refs, which has room for chunk_count(size, chunk_size). */
size_t storage_chunks_get(const Storage *storage, uint64_t offset, uint64_t size,
    uint32_t chunk_size, ChunkRef *out_refs);
/* Keeps the names. refs: of all chunks of these bytes. Without memory for them they are dropped. */
void storage_chunks_note(
    Storage *storage, uint64_t offset, uint64_t size, uint32_t chunk_size, const ChunkRef *refs);
