#pragma once
/* Bytes of tenants that are on their way into the home: no row is charged for them yet, although
 * they are on the disk. The HTTP server adds a body's bytes as they arrive, an upload those of the
 * chunks that it puts. A body's bytes are given back when its request ends, those of chunks when
 * their row is charged or they are deleted.
 *
 * A body and the chunks made of it both count until one of them is gone. So the bytes on their way
 * and the stored ones together stay within the quota store_bytes, whether an upload or a row grows
 * (tenants_charge), and a body needs room for its chunks beside it.
 *
 * Threads: any. */
#include <stdint.h>

#include "store/database/store.h"

/* The bytes that one request or upload has added. */
typedef struct InFlight {
    Store *store;
    TenantId tenant;
    uint64_t used, taken; /* `taken` grows in steps, so that not every piece asks the catalog */
    uint64_t settling;    /* the part of `taken` that is being settled */
} InFlight;

/* Begins an account. The store must outlive it. */
InFlight in_flight_begin(Store *store, TenantId tenant);
/* Adds bytes. Errors: EXHAUSTED the tenant's quota, with its figures; nothing was added. */
MUST_CHECK Error *in_flight_add(InFlight *flight, uint64_t bytes);
/* Gives all bytes back. Does nothing for an account without bytes or a zeroed one. */
void in_flight_end(InFlight *flight);

/* Called before a row is charged for the bytes added so far: the check of that row does not count
 * them. */
void in_flight_settle(InFlight *flight);

/* The bytes that all requests and uploads of the tenant have added. */
uint64_t in_flight_bytes(Store *store, TenantId tenant);
/* The part of these bytes that no row is being charged for: room that a new row may not use. */
uint64_t in_flight_unsettled_bytes(Store *store, TenantId tenant);
