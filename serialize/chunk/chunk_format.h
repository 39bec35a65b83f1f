#pragma once
/* The format of a chunk: its sizes, the hash that names it, and the filters for its elements.
 * Included by the coders of chunks and by chunk.h, whose functions move chunks. */
#include <stdint.h>

#include "base/digest.h"

enum {
    CHUNK_SIZE = 1 << 20,         /* raw bytes of every chunk but the last of its data */
    CHUNK_APPEND_SIZE = 16 << 10, /* the same for storages that grow at their end */
    CHUNK_STORED_SIZE_MAX = CHUNK_SIZE + 4096,
};

typedef struct ChunkRef {
    Digest hash;       /* SHA-256 of the raw bytes */
    uint32_t raw_size; /* 1 … CHUNK_SIZE */
} ChunkRef;

/* The elements of a chunk's bytes, which choose the transformation before compression. The values
 * are stored in chunks (docs/formats.md). */
typedef enum ChunkFilter {
    CHUNK_FILTER_BYTES = 0,    /* no elements known: int8, bool, text */
    CHUNK_FILTER_FLOAT32 = 1,  /* 4 planes, upper 16 bits rotated */
    CHUNK_FILTER_BFLOAT16 = 2, /* 2 planes, rotated */
    CHUNK_FILTER_FLOAT16 = 3,  /* 2 planes */
    CHUNK_FILTER_WORD16 = 4,   /* 2, 4, 8 planes of other elements of that size */
    CHUNK_FILTER_WORD32 = 5,
    CHUNK_FILTER_WORD64 = 6,
} ChunkFilter;
