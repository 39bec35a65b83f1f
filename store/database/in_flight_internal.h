#pragma once
/* The store's table for in_flight.h: how many bytes of each tenant are on their way into the home.
 * Part of Store. Threads: any; the table has a mutex. */
#include <pthread.h>

#include "store/database/store_types.h"

/* A tenant with bytes on their way. */
typedef struct InFlightTenant {
    TenantId tenant;
    uint64_t bytes, settling;
    struct InFlightTenant *next;
} InFlightTenant;

/* The list holds only tenants with such bytes, so it is short. */
typedef struct InFlightTable {
    pthread_mutex_t mutex;
    InFlightTenant *tenants; /* guarded by the mutex */
} InFlightTable;

void in_flight_table_init(InFlightTable *table);
void in_flight_table_deinit(InFlightTable *table);
