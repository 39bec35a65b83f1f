#pragma once
/* Bytes of tenants that are on their way into the home: no row is charged for them yet, and they
 * lie on the disk all the same. A server takes them as a body arrives, an upload as it puts chunks.
 * A body gives them back when its request ends, chunks when their row is charged or they are
 * deleted.
 *
 * A body and the chunks that are made of it count both, until one of them is gone: what is taken
 * and what is stored stay within the quota store_bytes together, whether an upload or a row is what
 * grows (tenants_charge). So a body of a tenant needs room for its chunks beside it.
 *
 * Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

/* What one request or upload has taken. */
typedef struct InFlight {
    Store *store;
    TenantId tenant;
    uint64_t used, taken; /* taken in steps, so that not every piece asks the catalog */
    uint64_t settling;    /* of what is taken */
} InFlight;

/* Borrows the store. */
InFlight in_flight_begin(Store *store, TenantId tenant);
/* Errors: EXHAUSTED the tenant's quota, with its figures; nothing was added then. */
MUST_CHECK Error *in_flight_add(InFlight *flight, uint64_t bytes);
/* Gives all of it back. Does nothing for one that has added nothing, or is zeroed. */
void in_flight_end(InFlight *flight);

/* What was added so far is about to be charged as a row: the check of that row does not count it.
 */
void in_flight_settle(InFlight *flight);

/* What all requests and uploads of the tenant have taken. */
uint64_t in_flight_bytes(Store *store, TenantId tenant);
/* Of that, what no row that is being written is charged for: room that a row may not have. */
uint64_t in_flight_unsettled_bytes(Store *store, TenantId tenant);
