#pragma once
/* Sends the chunks of one job's parcels to a target: of each parcel what the target lacks. It
 * remembers what the target has, so that the next parcel asks about what is new alone.
 *
 * Much is sent over two connections: while the target verifies a batch, the next one is read and on
 * its way. */
#include <stdatomic.h>

#include "scheduler/http/client/http_client.h"
#include "scheduler/jobs/job_parcel.h"
#include "scheduler/migration/messages.h"
#include "store/database/digest_set.h"
#include "store/accounts/nodes.h"

typedef struct ParcelSender {
    HttpClient *client; /* borrowed */
    const Node *target; /* borrowed; where a second connection goes; NULL: there is none */
    MigrationKey key;
    uint64_t bytes_per_s; /* 0: as fast as it goes */
    DigestSet known;      /* chunks that the target has */
    /* Asked now and then; true ends the sending with CANCELLED or INTERRUPTED. NULL: never. */
    bool (*interrupted)(void *context);
    void *interrupted_context;
    _Atomic uint64_t sent, parcel_bytes, parcel_sent;
} ParcelSender;

void parcel_sender_init(
    ParcelSender *sender, HttpClient *client, const MigrationKey *key, uint64_t bytes_per_s);
void parcel_sender_deinit(ParcelSender *sender);

/* Errors: as target_link.h; NOT_FOUND a chunk of the parcel is gone here. */
MUST_CHECK Error *parcel_sender_send(ParcelSender *sender, JobParcel *parcel);
/* What the target had may be gone: it is asked again. */
void parcel_sender_forget(ParcelSender *sender);

typedef struct ParcelSent {
    uint64_t bytes;                     /* on the wire, of all parcels */
    uint64_t parcel_bytes, parcel_sent; /* raw bytes of the present one's missing chunks */
} ParcelSent;
/* Threads: any. */
ParcelSent parcel_sender_get_sent(const ParcelSender *sender);
