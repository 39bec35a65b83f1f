#pragma once
/* The questions of a source to its target about one attempt (the other end is route_arrivals.c),
 * and those of a target to its source (the other end is route_migrations.c). Called by
 * departure_run.c, chunk_sender.c and migration_settler.c.
 *
 * Errors of all: UNREACHABLE no answer in time, or the connection broke; an error of the node,
 * under its code; CORRUPT an answer that cannot be parsed. Threads: one at a time for a client. */
#include "scheduler/http/client/http_client.h"
#include "scheduler/migration/messages.h"
#include "serialize/chunk/chunk.h"
#include "store/jobs/departures.h"

MUST_CHECK Error *target_link_offer(
    HttpClient *client, const MigrationOffer *offer, MigrationOfferAnswer *out_answer);
/* out_bits: as in chunk_batch.h; freed by memory_free. */
MUST_CHECK Error *target_link_find_missing(HttpClient *client, const MigrationKey *key,
    const ChunkRef *refs, size_t count, uint8_t **out_bits);
typedef struct ChunkSending {
    uint64_t bytes_per_s; /* upper bound; 0: none */
    /* Polled while chunks are sent; true ends the sending with INTERRUPTED. NULL: never. */
    bool (*interrupted)(void *context);
    void *context;
} ChunkSending;
MUST_CHECK Error *target_link_send_chunks(
    HttpClient *client, const MigrationKey *key, const ByteWriter *batch, const ChunkSending *how);
MUST_CHECK Error *target_link_rehearse(
    HttpClient *client, const MigrationKey *key, const void *manifest, size_t size);
/* limit_ms: for the question and its answer. */
MUST_CHECK Error *target_link_prepare(HttpClient *client, const MigrationKey *key, bool suspended,
    const void *manifest, size_t size, uint32_t limit_ms);
MUST_CHECK Error *target_link_activate(HttpClient *client, const MigrationKey *key);
MUST_CHECK Error *target_link_abort(HttpClient *client, const MigrationKey *key);
MUST_CHECK Error *target_link_find(
    HttpClient *client, const MigrationKey *key, ArrivalAnswer *out_answer);

MUST_CHECK Error *source_link_find_outcome(
    HttpClient *client, const MigrationKey *key, DepartureOutcome *out_outcome);

/* Tells the source that this node owns the job in that epoch. */
MUST_CHECK Error *source_link_fence(HttpClient *client, JobId job, int64_t epoch);

const char *departure_outcome_name(DepartureOutcome outcome);
