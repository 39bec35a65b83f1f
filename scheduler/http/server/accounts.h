#pragma once
/* Who may come in: what the server asks about tokens and tenants, behind a vtable so that requests
 * can be tested and fuzzed without a store. */
#include "scheduler/http/server/http_request.h"

typedef struct AccountsClass {
    /* Whose token this is. Errors: UNAUTHENTICATED it is none. */
    Error *(*check_token)(void *self, const char *token, Caller *out_caller);
    /* Errors: NOT_FOUND. */
    Error *(*find_tenant)(void *self, const char *name, TenantId *out_tenant);
    /* What the tenant's store quota still allows; UINT64_MAX: no limit. Errors: EXHAUSTED nothing,
     * with its figure. */
    Error *(*store_bytes_left)(void *self, TenantId tenant, uint64_t *out_bytes);
    /* The tenant's quota host_bytes; UINT64_MAX: none. */
    Error *(*host_bytes)(void *self, TenantId tenant, uint64_t *out_bytes);
} AccountsClass;

typedef struct Accounts {
    const AccountsClass *class_;
    void *self;
} Accounts;
