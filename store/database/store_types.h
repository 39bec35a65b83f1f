#pragma once
/* Names of the store that its own files and its callers share: the store, a connection, a tenant.
 * Included by headers that name them and need no function of the store. Pure: types. */
#include <stdint.h>

typedef struct Store Store;

/* The handle through which catalog work reads and writes rows (catalog.h), in the writer's thread.
 */
typedef struct Connection Connection;

/* A tenant's row in the catalog. A tenant never sees rows of other tenants. */
typedef int64_t TenantId;
enum {
    TENANT_DEFAULT = 1,    /* "default", in every store */
    TENANT_NAME_SIZE = 65, /* with the terminating NUL */
};

enum { EXECUTABLE_MANIFEST_SIZE_MAX = 64 << 20 }; /* as stored; the longest row of the catalog */
