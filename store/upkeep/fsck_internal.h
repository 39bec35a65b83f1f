#pragma once
/* The parts of fsck: the catalog (fsck.c), chunks (fsck_chunks.c), jobs (fsck_jobs.c) and rows
 * (fsck_rows.c). Threads: the one that runs fsck_run. */
#include <stdbool.h>

#include "store/upkeep/fsck.h"
#include "store/database/store_connections_internal.h"

typedef struct Fsck {
    Store *store;
    const FsckOptions *options;
    FsckResult *result;
} Fsck;

/* Adds an error to the result. Errors: OUT_OF_MEMORY, also when the error itself is that. */
MUST_CHECK Error *fsck_note(Fsck *fsck, Error *owned_error);

/* Replaces or adds a chunk from the other copy, if that copy has the whole chunk. A failed write is
 * added to the result. */
MUST_CHECK Error *fsck_repair_chunk(
    Fsck *fsck, TenantId tenant, const ChunkRef *ref, bool *out_repaired);

/* Checks that the store has a chunk with this raw size. A missing chunk is repaired if possible.
 * Otherwise it is added to the result under the name of its user. */
MUST_CHECK Error *fsck_check_present(
    Fsck *fsck, TenantId tenant, const ChunkRef *ref, const char *needed_by);

/* Decodes and hashes every chunk. */
MUST_CHECK Error *fsck_check_chunks(Fsck *fsck);

/* Checks every content of every job, and the counts of jobs and tenants. */
MUST_CHECK Error *fsck_check_jobs(Fsck *fsck);

/* Checks that the store has each of the chunks; a missing one is reported under the name of its
 * user. */
MUST_CHECK Error *fsck_check_chunk_list(
    Fsck *fsck, TenantId tenant, const ChunkRef *chunks, size_t count, const char *needed_by);

/* Checks every job's row and every tenant's settings as a starting daemon reads them. */
MUST_CHECK Error *fsck_check_rows(Fsck *fsck);
