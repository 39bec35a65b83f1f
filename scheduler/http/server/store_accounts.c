#include "scheduler/http/server/store_accounts.h"

static Error *take_token(Error *owned_error, const Token *token, Caller *out_caller) {
    static const CallerRole roles[TOKEN_ROLE_COUNT] = {
        [TOKEN_ROLE_USER] = CALLER_USER,
        [TOKEN_ROLE_ADMIN] = CALLER_ADMIN,
        [TOKEN_ROLE_NODE] = CALLER_NODE,
    };
    if (error_code(owned_error) == ERROR_REFUSED) {
        error_free(owned_error);
        FAIL(UNAUTHENTICATED, "the token is unknown");
    }
    TRY(owned_error);
    *out_caller = (Caller){.tenant = token->tenant,
        .role = roles[token->role],
        .token = token->id,
        .node = token->node};
    return NULL;
}

static Error *check_token(void *self, const char *text, Caller *out_caller) {
    Token token;
    return take_token(settings_cache_check_token(self, text, &token), &token, out_caller);
}

static Error *find_token(void *self, int64_t id, Caller *out_caller) {
    Token token;
    return take_token(settings_cache_find_token(self, id, &token), &token, out_caller);
}

static Error *find_tenant(void *self, const char *name, TenantId *out_tenant) {
    return settings_cache_find_tenant(self, name, out_tenant);
}

static Error *store_bytes_left(void *self, TenantId id, uint64_t *out_bytes) {
    Tenant tenant;
    TRY(settings_cache_get_tenant(self, id, &tenant));
    if (tenant.quotas[QUOTA_STORE_BYTES] == QUOTA_UNLIMITED) {
        *out_bytes = UINT64_MAX;
        return NULL;
    }
    TRY(tenants_get_settings(settings_cache_store(self), id, &tenant)); /* what is used now */
    const uint64_t quota = (uint64_t)tenant.quotas[QUOTA_STORE_BYTES];
    if (quota <= tenant.bytes_stored)
        FAIL(EXHAUSTED, "tenant %s: its quota store_bytes is %llu, and %llu are stored",
            tenant.name, (unsigned long long)quota, (unsigned long long)tenant.bytes_stored);
    *out_bytes = quota - tenant.bytes_stored;
    return NULL;
}

static Error *host_bytes(void *self, TenantId id, uint64_t *out_bytes) {
    Tenant tenant;
    TRY(settings_cache_get_tenant(self, id, &tenant));
    const int64_t quota = tenant.quotas[QUOTA_HOST_BYTES];
    *out_bytes = quota == QUOTA_UNLIMITED ? UINT64_MAX : (uint64_t)quota;
    return NULL;
}

Accounts store_accounts(SettingsCache *settings) {
    static const AccountsClass class_ = {
        .check_token = check_token,
        .find_token = find_token,
        .find_tenant = find_tenant,
        .store_bytes_left = store_bytes_left,
        .host_bytes = host_bytes,
    };
    return (Accounts){.class_ = &class_, .self = settings};
}
