#pragma once
/* The sizes of the chunks that were stored or found last, in memory.
 *
 * SQLite finds a chunk's id in the index alone; for its sizes it would read the page of 64 KiB that
 * its row begins in, and a checkpoint asks for every chunk that it shares with the one before. An
 * id is never given twice (schema/chunks_0001_initial.sql), so nothing here becomes wrong but by
 * fsck, which replaces a damaged chunk under its id and forgets everything here.
 *
 * Threads: any. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/own.h"

typedef struct ChunkSizes ChunkSizes;

typedef struct ChunkSize {
    uint32_t raw, stored;
} ChunkSize;

/* Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *chunk_sizes_create(ChunkSizes **out_sizes);
void chunk_sizes_release(ChunkSizes *sizes);
DEFINE_OWN(ChunkSizes, chunk_sizes_release);
bool chunk_sizes_find(ChunkSizes *sizes, int64_t id, ChunkSize *out_size);
/* Only of a chunk that is committed: an id that was rolled back is given again. */
void chunk_sizes_note(ChunkSizes *sizes, int64_t id, ChunkSize size);
void chunk_sizes_forget(ChunkSizes *sizes);
