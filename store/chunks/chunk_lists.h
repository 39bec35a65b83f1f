#pragma once
/* The chunks of contents, in the caller's catalog transaction. Callers: store/contents, store/jobs,
 * gc and fsck.
 *
 * A content has a row of lists; a list has up to 64 chunks in order. Contents of a tenant share
 * lists, so a checkpoint adds to the catalog only the lists that changed since the checkpoint
 * before. The chunks themselves decide where a list ends, so that one added chunk does not move the
 * later ends (Muthitacharoen and others, A Low-bandwidth Network File System, SOSP 2001, section
 * 3.1). A list that no content has any more stays until gc. */
#include "base/digest.h"
#include "serialize/chunk/chunk.h"
#include "store/database/store_connections_internal.h"

enum { CHUNK_LIST_LENGTH_MAX = 64, CHUNK_REF_PACKED_SIZE = DIGEST_SIZE + 4 };

/* Packs a reference for digests: the hash, then the raw size in little-endian order. */
void chunk_ref_pack(const ChunkRef *ref, uint8_t out[CHUNK_REF_PACKED_SIZE]);

/* Inserts the chunks of a content that has none yet. */
MUST_CHECK Error *chunk_lists_insert(
    Connection *catalog, TenantId tenant, int64_t content, const ChunkRef *refs, size_t count);

/* Reads the chunks of a content. expected: the number of chunks that the content should have.
 * out_refs: released by the caller with memory_free.
 * Errors: CORRUPT the number differs. */
MUST_CHECK Error *chunk_lists_read(Connection *catalog, int64_t content, uint64_t expected,
    ChunkRef **out_refs, size_t *out_count);

/* Checks the list behind inout_id (0: the first), for fsck. out_sound: the list's name matches its
 * chunks. */
MUST_CHECK Error *chunk_lists_check_next(
    Connection *catalog, int64_t *inout_id, bool *out_found, bool *out_sound);

/* Finds the first list behind after (0: of all) that no content has. */
MUST_CHECK Error *chunk_lists_find_unused(
    Connection *catalog, int64_t after, bool *out_found, int64_t *out_id);
/* Deletes the lists from first to last that no content has. */
MUST_CHECK Error *chunk_lists_delete_unused(Connection *catalog, int64_t first, int64_t last);
