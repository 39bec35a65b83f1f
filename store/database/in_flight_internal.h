#pragma once
/* The store's part of in_flight.h: how many bytes of which tenant are on their way. */
#include <pthread.h>

#include "store/database/store.h"

/* A tenant that has bytes on their way. */
typedef struct InFlightTenant {
    TenantId tenant;
    uint64_t bytes, settling;
    struct InFlightTenant *next;
} InFlightTenant;

/* Tenants without such bytes have no place in the list, so it is short. */
typedef struct InFlightTable {
    pthread_mutex_t mutex;
    InFlightTenant *tenants; /* guarded by it */
} InFlightTable;

void in_flight_table_init(InFlightTable *table);
void in_flight_table_deinit(InFlightTable *table);
