#pragma once
/* What fsck's two halves share: the catalog's side (fsck.c) and the chunks' (fsck_chunks.c). */
#include <stdbool.h>

#include "store/upkeep/fsck.h"
#include "store/database/store_internal.h"

typedef struct Fsck {
    Store *store;
    const FsckOptions *options;
    FsckResult *result;
} Fsck;

/* Puts an error among the result's. Errors: OUT_OF_MEMORY, also when the error itself is that. */
MUST_CHECK Error *fsck_note(Fsck *fsck, Error *owned_error);

/* Replaces or puts in a chunk from the other copy, if there is one that has it whole. A failure to
 * write is noted. */
MUST_CHECK Error *fsck_repair_chunk(
    Fsck *fsck, TenantId tenant, const ChunkRef *ref, bool *out_repaired);

/* Whether the store has this chunk, of this raw size; repaired if need be, else noted under the
 * name of who needs it. */
MUST_CHECK Error *fsck_check_present(
    Fsck *fsck, TenantId tenant, const ChunkRef *ref, const char *needed_by);

/* Every chunk decoded and hashed again. */
MUST_CHECK Error *fsck_check_chunks(Fsck *fsck);

/* Every content of every job, and what is counted about jobs and tenants. */
MUST_CHECK Error *fsck_check_jobs(Fsck *fsck);

/* Whether the store has each of the chunks: noted under the name of who needs them. */
MUST_CHECK Error *fsck_check_chunk_list(
    Fsck *fsck, TenantId tenant, const ChunkRef *chunks, size_t count, const char *needed_by);

/* Every job's row and every tenant's settings, as a daemon reads them when it starts. */
MUST_CHECK Error *fsck_check_rows(Fsck *fsck);
