#pragma once
/* Sends the chunks of one job's manifests to a target: of each manifest what the target lacks. It
 * remembers what the target has, so that the next manifest asks about what is new alone.
 *
 * Much is sent over two connections: while the target verifies a batch, the next one is read and on
 * its way. */
#include <stdatomic.h>

#include "scheduler/http/client/http_client.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/migration/messages.h"
#include "store/database/digest_set.h"
#include "store/accounts/nodes.h"

typedef struct ChunkSender {
    HttpClient *client; /* borrowed */
    const Node *target; /* borrowed; where a second connection goes; NULL: there is none */
    MigrationKey key;
    uint64_t bytes_per_s; /* 0: as fast as it goes */
    DigestSet known;      /* chunks that the target has */
    /* Asked now and then; true ends the sending with CANCELLED or INTERRUPTED. NULL: never. */
    bool (*interrupted)(void *context);
    void *interrupted_context;
    _Atomic uint64_t sent, round_bytes, round_sent;
} ChunkSender;

void chunk_sender_init(
    ChunkSender *sender, HttpClient *client, const MigrationKey *key, uint64_t bytes_per_s);
void chunk_sender_deinit(ChunkSender *sender);

/* Errors: as target_link.h; NOT_FOUND a chunk of the manifest is gone here. */
MUST_CHECK Error *chunk_sender_send(ChunkSender *sender, JobManifest *job_manifest);
/* What the target had may be gone: it is asked again. */
void chunk_sender_forget(ChunkSender *sender);

typedef struct ChunksSent {
    uint64_t bytes;                   /* on the wire, of all manifests */
    uint64_t round_bytes, round_sent; /* raw bytes of the present one's missing chunks */
} ChunksSent;
/* Threads: any. */
ChunksSent chunk_sender_get_sent(const ChunkSender *sender);
