#pragma once
/* Bytes of tenants that are on their way into the home: no row is charged for them yet, and they
 * lie on the disk all the same. A server takes them as a body arrives, an upload as it puts chunks;
 * both give them back when the request ends, whatever became of it. By then the catalog has charged
 * what was stored.
 *
 * A body and the chunks that are made of it are counted apart: what is taken of a kind, with what
 * is stored, stays within the quota store_bytes. So a tenant never has more than twice its quota on
 * the disk, and that only while one of its requests is being answered.
 *
 * Threads: any. */
#include <stdint.h>

#include "store/in_flight_kind.h"
#include "store/store.h"

/* What one request or upload has taken. */
typedef struct InFlight {
    Store *store;
    TenantId tenant;
    InFlightKind kind;
    uint64_t used, taken; /* taken in steps, so that not every piece asks the catalog */
} InFlight;

/* Borrows the store. */
InFlight in_flight_begin(Store *store, TenantId tenant, InFlightKind kind);
/* Errors: EXHAUSTED the tenant's quota, with its figures; nothing was added then. */
MUST_CHECK Error *in_flight_add(InFlight *flight, uint64_t bytes);
/* Gives all of it back. Does nothing for one that has added nothing, or is zeroed. */
void in_flight_end(InFlight *flight);

/* What all requests, or all uploads, of the tenant have taken. */
uint64_t in_flight_bytes(Store *store, TenantId tenant, InFlightKind kind);
