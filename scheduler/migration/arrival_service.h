#pragma once
/* The target's side of migrations: an arriving job, from the offer until this home owns the job or
 * the attempt is over. Called by the routes of arrivals (http/routes/route_arrivals.c, handler
 * threads) and by migration_settler.c. Threads: any.
 *
 * An attempt has a session in memory, which protects its chunks from gc and holds its decoded
 * tensors. A session is lost with the process; the source then offers the job again and sends only
 * the chunks that are missing. The durable record of an attempt is the arrival
 * (store/jobs/arrivals.h).
 *
 * source: the node that sent the message, as its token proves. Errors of all: NOT_FOUND no such
 * attempt is expected from that node; CONFLICT the attempt is over, or the job is here already. */
#include "scheduler/control/control.h"
#include "scheduler/migration/messages.h"

typedef struct ArrivalService ArrivalService;

enum { ARRIVALS_SILENCE_S = 600 }; /* a session ends when its source is silent so long */

/* Borrows control. */
MUST_CHECK Error *arrival_service_create(Control *control, ArrivalService **out_service);
void arrival_service_release(ArrivalService *arrivals);
DEFINE_OWN(ArrivalService, arrival_service_release);

/* Takes the offer of a job and opens a session. Durable on return. Errors: NOT_FOUND the tenant;
 * EXHAUSTED its store quota, or ARRIVAL_SESSIONS_MAX sessions; UNSUPPORTED the protocol. */
MUST_CHECK Error *arrival_service_offer(ArrivalService *arrivals, uint64_t source,
    const MigrationOffer *offer, MigrationOfferAnswer *out_answer);
/* Finds which of count chunks are missing here. out_bits: as in chunk_batch.h, 1 for a chunk to
 * send; room for count bits. */
MUST_CHECK Error *arrival_service_find_missing(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const ChunkRef *refs, size_t count, uint8_t *out_bits);
/* Stores a batch of chunks. Errors: CORRUPT a chunk's bytes do not match its name; EXHAUSTED. */
MUST_CHECK Error *arrival_service_take_chunks(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const void *batch, size_t size);
/* Prepares for a manifest whose chunks are all here, while the job still runs at the source: checks
 * the manifest, imports the model, decodes tensors. Errors: CORRUPT, INVALID the manifest. */
MUST_CHECK Error *arrival_service_rehearse(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, const void *manifest, size_t size);
/* Takes the last manifest: checks it, restores the execution and stores the job as in doubt.
 * Durable on return; a second call does nothing. suspended: the state that the job takes when it is
 * activated. */
MUST_CHECK Error *arrival_service_prepare(ArrivalService *arrivals, uint64_t source,
    const MigrationKey *key, bool suspended, const void *manifest, size_t size);
/* Makes the job this home's, after the source has given the job up. Durable on return; a second
 * call does nothing. */
MUST_CHECK Error *arrival_service_activate(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key);
/* Ends the attempt; the source keeps the job. Durable on return; does nothing for an attempt that
 * is not expected. */
MUST_CHECK Error *arrival_service_abort(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key);
/* Says what this home knows of an attempt: never NOT_FOUND. */
MUST_CHECK Error *arrival_service_find(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key, ArrivalAnswer *out_answer);
/* Ends the sessions whose source has been silent for ARRIVALS_SILENCE_S. */
void arrival_service_expire(ArrivalService *arrivals);
/* Whether the source has sent no message of this attempt for silence_ns, by the monotonic clock. An
 * attempt from before this process began counts as silent. */
bool arrival_service_is_quiet(
    ArrivalService *arrivals, uint64_t source, const MigrationKey *key, uint64_t silence_ns);
