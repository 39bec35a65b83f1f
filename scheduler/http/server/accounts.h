#pragma once
/* The server's questions about tokens and tenants, as a table of functions, so that requests can be
 * tested and fuzzed without a store. Called by http_service.c, on handler threads and on the
 * threads of the sockets; store_accounts.h implements it. */
#include "scheduler/http/server/http_request.h"

typedef struct AccountsClass {
    /* Finds the caller of a token. Errors: UNAUTHENTICATED the token is not valid. */
    Error *(*check_token)(void *self, const char *token, Caller *out_caller);
    /* Finds the caller of a token by its number, for a session that the token began. Errors:
     * UNAUTHENTICATED the token was revoked. */
    Error *(*find_token)(void *self, int64_t token, Caller *out_caller);
    /* Errors: NOT_FOUND. */
    Error *(*find_tenant)(void *self, const char *name, TenantId *out_tenant);
    /* The bytes that the tenant's store quota still allows; UINT64_MAX: no limit. Errors: EXHAUSTED
     * no byte is left, with the quota's figure. */
    Error *(*store_bytes_left)(void *self, TenantId tenant, uint64_t *out_bytes);
    /* The tenant's quota host_bytes; UINT64_MAX: no quota. */
    Error *(*host_bytes)(void *self, TenantId tenant, uint64_t *out_bytes);
} AccountsClass;

typedef struct Accounts {
    const AccountsClass *class_;
    void *self;
} Accounts;
