#pragma once
/* Splits the elements of a chunk into byte planes, so that similar bytes stand together, and merges
 * them again. Callers: chunk.c, chunk_sample.c. Pure: no state, any thread. */
#include <stddef.h>
#include <stdint.h>

#include "serialize/chunk/chunk_format.h"

enum { BYTE_PLANES_MAX = 8 };

/* Returns the bytes of an element, which is the number of planes: 1 (no planes), 2, 4, 8. */
uint32_t byte_planes_count(ChunkFilter filter);

/* Splits elements: plane p gets byte p (0: lowest) of each of count elements, after the filter's
 * rotation:
 *      FLOAT32   the upper 16 bits rotated left by 1, so that plane 3 is the whole exponent and
 *                values that were bfloat16 before leave planes 0 and 1 zero
 *      BFLOAT16  all 16 bits rotated left by 1
 *
 * filter: not CHUNK_FILTER_BYTES.
 * planes: byte_planes_count planes of count bytes each, apart from each other and from the
 *         elements. Elements need no alignment. The result is the same on every machine, whatever
 *         its instructions. */
void byte_planes_split(
    ChunkFilter filter, const void *elements, size_t count, uint8_t *const planes[BYTE_PLANES_MAX]);
void byte_planes_merge(ChunkFilter filter, const uint8_t *const planes[BYTE_PLANES_MAX],
    size_t count, void *out_elements);

/* The same functions without special instructions. Tests compare the fast ones with them. */
void byte_planes_split_portable(
    ChunkFilter filter, const void *elements, size_t count, uint8_t *const planes[BYTE_PLANES_MAX]);
void byte_planes_merge_portable(ChunkFilter filter, const uint8_t *const planes[BYTE_PLANES_MAX],
    size_t count, void *out_elements);
