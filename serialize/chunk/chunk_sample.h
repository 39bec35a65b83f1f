#pragma once
/* Looks at a few thousand elements of a chunk to choose how it is stored. Caller: chunk.c. Pure: no
 * state, any thread; integer arithmetic only, so that the same bytes give the same choice on every
 * machine. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/byte_planes.h"
#include "serialize/chunk/chunk_format.h"

enum { CHUNK_SAMPLE_STRIPES = 8, CHUNK_SAMPLE_STRIPE_ELEMENTS = 512 };

typedef struct ChunkSample {
    uint32_t element_count; /* elements in the sample */
    uint32_t repeat_count;  /* sampled elements that are zero or equal to the one before */
    /* Order-0 entropy of each byte plane, as 1/65536 of its size: 65536 means incompressible. */
    uint32_t plane_entropy[BYTE_PLANES_MAX];
} ChunkSample;

/* Takes a sample. count: elements of the filter's size, at least 1. */
void chunk_sample_take(ChunkFilter filter, const uint8_t *raw, size_t count, ChunkSample *out);
