#pragma once
/* The target's side of migrations: what comes in, until the job is ours or the attempt is over.
 *
 * An attempt has a session in memory: its chunks are safe from gc, its tensors are decoded. The
 * session is lost with the process; the source then offers again, and only what did not come is
 * sent. What is durable is the arrival (store/jobs/arrivals.h).
 *
 * source: the node that speaks, as its token proves. Errors of all: NOT_FOUND no such attempt is
 * expected from that node; CONFLICT it is over, or the job is here. Threads: any. */
#include "scheduler/control/control.h"
#include "scheduler/migration/messages.h"

typedef struct ArrivalService ArrivalService;

enum {
    ARRIVALS_MAX = 64, /* at once */
    ARRIVALS_SILENCE_S = 600,
};

/* Everything is borrowed. */
MUST_CHECK Error *arrival_service_create(Control *control, ArrivalService **out_service);
void arrival_service_release(ArrivalService *arrivals);
DEFINE_OWN(ArrivalService, arrival_service_release);

/* Durable on return. Errors: NOT_FOUND the tenant; EXHAUSTED its store quota, or too many at once;
 * UNSUPPORTED the protocol. */
MUST_CHECK Error *arrival_service_offer(ArrivalService *arrivals, uint64_t source,
    const MigrationOffer *offer, MigrationOfferAnswer *out_answer);
/* out_bits: by chunk_batch.h; 1: it is to be sent. Room for all. */
MUST_CHECK Error *arrival_service_find_missing(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const ChunkRef *refs, size_t count, uint8_t *out_bits);
/* A batch of chunks. Errors: CORRUPT one is not what its name says; EXHAUSTED. */
MUST_CHECK Error *arrival_service_take_chunks(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const void *batch, size_t size);
/* A manifest whose chunks are all here, though the job runs on: it is checked, the model is taken,
 * tensors are decoded. Errors: CORRUPT, INVALID the manifest. */
MUST_CHECK Error *arrival_service_rehearse(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const void *manifest, size_t size);
/* The last one: checked, tried out, stored; the job is in doubt. Durable on return; the second time
 * it does nothing. suspended: what it becomes. */
MUST_CHECK Error *arrival_service_prepare(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, bool suspended, const void *manifest, size_t size);
/* The source gave it up: it is ours. Durable on return; the second time it does nothing. */
MUST_CHECK Error *arrival_service_activate(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key);
/* The source keeps it. Durable on return; nothing happens to what is not expected. */
MUST_CHECK Error *arrival_service_abort(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key);
/* What is known of an attempt: never NOT_FOUND. */
MUST_CHECK Error *arrival_service_find(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key, ArrivalAnswer *out_answer);
/* Ends sessions that were not heard of for ARRIVALS_SILENCE_S. */
void arrival_service_expire(ArrivalService *arrivals);
/* Whether the source was not heard of it for so long, by the monotonic clock. What came before this
 * process began is quiet. */
bool arrival_service_is_quiet(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key, uint64_t silence_ns);
