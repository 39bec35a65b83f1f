#pragma once
/* The chunks of contents, in the caller's catalog transaction. A content is a row of lists, a list
 * up to 64 chunks in their order, and contents of a tenant share lists: what a checkpoint adds to
 * the catalog is what has changed since the one before, and its row of lists. Lists end where the
 * chunks say so, so that one chunk more does not move the ends of those behind it (Muthitacharoen
 * and others, A Low-bandwidth Network File System, SOSP 2001, section 3.1). A list that no content
 * has any more stays until gc. */
#include "base/digest.h"
#include "serialize/chunk/chunk.h"
#include "store/database/store_internal.h"

enum { CHUNK_LIST_LENGTH_MAX = 64, CHUNK_REF_PACKED_SIZE = DIGEST_SIZE + 4 };

/* As digests take a chunk in: its hash, then its raw size, little-endian. */
void chunk_ref_pack(const ChunkRef *ref, uint8_t out[CHUNK_REF_PACKED_SIZE]);

/* content has no chunks yet. */
MUST_CHECK Error *chunk_lists_insert(
    Connection *catalog, TenantId tenant, int64_t content, const ChunkRef *refs, size_t count);

/* expected: how many it should have. out_refs is memory_free'd by the caller.
 * Errors: CORRUPT others. */
MUST_CHECK Error *chunk_lists_read(Connection *catalog, int64_t content, uint64_t expected,
    ChunkRef **out_refs, size_t *out_count);

/* The list behind inout_id (0: the first), for fsck. out_sound: it is named after its chunks. */
MUST_CHECK Error *chunk_lists_check_next(
    Connection *catalog, int64_t *inout_id, bool *out_found, bool *out_sound);

/* The first list behind after (0: of all) that no content has. */
MUST_CHECK Error *chunk_lists_find_unused(
    Connection *catalog, int64_t after, bool *out_found, int64_t *out_id);
/* Those from first to last that no content has. */
MUST_CHECK Error *chunk_lists_delete_unused(Connection *catalog, int64_t first, int64_t last);
