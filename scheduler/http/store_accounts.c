#include "scheduler/http/store_accounts.h"

#include "store/tenants.h"
#include "store/tokens.h"

static Error *check_token(void *self, const char *text, Caller *out_caller) {
    static const CallerRole roles[TOKEN_ROLE_COUNT] = {
        [TOKEN_ROLE_USER] = CALLER_USER,
        [TOKEN_ROLE_ADMIN] = CALLER_ADMIN,
        [TOKEN_ROLE_NODE] = CALLER_NODE,
    };
    Token token;
    Error *error = tokens_check(self, text, &token);
    if (error_code(error) == ERROR_REFUSED) {
        error_free(error);
        FAIL(UNAUTHENTICATED, "the token is unknown");
    }
    TRY(error);
    *out_caller = (Caller){.tenant = token.tenant, .role = roles[token.role]};
    return NULL;
}

static Error *find_tenant(void *self, const char *name, TenantId *out_tenant) {
    return store_find_tenant(self, name, out_tenant);
}

static Error *store_bytes_left(void *self, TenantId id, uint64_t *out_bytes) {
    Tenant tenant;
    TRY(tenants_get(self, id, &tenant));
    int64_t quota = tenant.quotas[QUOTA_STORE_BYTES];
    *out_bytes = UINT64_MAX;
    if (quota >= 0)
        *out_bytes =
            (uint64_t)quota > tenant.bytes_stored ? (uint64_t)quota - tenant.bytes_stored : 0;
    return NULL;
}

Accounts store_accounts(Store *store) {
    static const AccountsClass class_ = {
        .check_token = check_token,
        .find_tenant = find_tenant,
        .store_bytes_left = store_bytes_left,
    };
    return (Accounts){.class_ = &class_, .self = store};
}
