#pragma once
/* Sends the chunks of one job's manifests to a target: of each manifest those that the target
 * lacks. The sender remembers which chunks the target has, so that the next manifest asks about new
 * chunks alone. Called by departure_run.c, on the thread of that departure run.
 *
 * Many chunks are sent over two connections: while the target verifies a batch, the next batch is
 * read and sent. */
#include <stdatomic.h>

#include "scheduler/http/client/http_client.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/migration/messages.h"
#include "base/digest_set.h"
#include "store/accounts/nodes.h"

typedef struct ChunkSender {
    HttpClient *client; /* borrowed */
    const Node *target; /* borrowed; the node of a second connection; NULL: there is none */
    MigrationKey key;
    uint64_t bytes_per_s; /* upper bound; 0: none */
    DigestSet known;      /* chunks that the target has */
    /* Polled while chunks are sent; true ends the sending with CANCELLED or INTERRUPTED. NULL:
     * never. */
    bool (*interrupted)(void *context);
    void *interrupted_context;
    _Atomic uint64_t sent, round_bytes, round_sent;
} ChunkSender;

void chunk_sender_init(
    ChunkSender *sender, HttpClient *client, const MigrationKey *key, uint64_t bytes_per_s);
void chunk_sender_deinit(ChunkSender *sender);

/* Sends the chunks that the target lacks. Errors: as target_link.h; NOT_FOUND: a chunk of the
 * manifest is not in this store any more. */
MUST_CHECK Error *chunk_sender_send(ChunkSender *sender, JobManifest *job_manifest);
/* Forgets which chunks the target has, because the target may have lost them; the target is asked
 * again. */
void chunk_sender_forget(ChunkSender *sender);

typedef struct ChunksSent {
    uint64_t bytes;                   /* on the wire, for all manifests */
    uint64_t round_bytes, round_sent; /* raw bytes of the present manifest's missing chunks */
} ChunksSent;
/* Threads: any. */
ChunksSent chunk_sender_get_sent(const ChunkSender *sender);
