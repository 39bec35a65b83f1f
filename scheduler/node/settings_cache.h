#pragma once
/* Tenants, tokens and models for requests: read once and kept until a commit changes any of them
 * (store_settings_generation). So a submission of a known model by a known tenant reads nothing
 * from the store. Called by the HTTP server, scheduler/service/ and the control thread.
 *
 * A missing entry is not cached: the next request asks the store again. Threads: any. */
#include "store/database/store.h"
#include "store/accounts/tenants.h"
#include "store/accounts/tokens.h"
#include "store/models/models.h"
#include "vm/code/executable.h"

typedef struct SettingsCache SettingsCache;

/* store: borrowed. */
MUST_CHECK Error *settings_cache_create(Store *store, SettingsCache **out_cache);
void settings_cache_release(SettingsCache *cache);
DEFINE_OWN(SettingsCache, settings_cache_release);

/* The store that was passed to settings_cache_create. Borrowed. */
Store *settings_cache_store(const SettingsCache *cache);

/* Weight, quotas and name; the use of quotas is not current. Errors: NOT_FOUND. */
MUST_CHECK Error *settings_cache_get_tenant(
    SettingsCache *cache, TenantId tenant, Tenant *out_tenant);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *settings_cache_find_tenant(
    SettingsCache *cache, const char *name, TenantId *out_tenant);
/* Errors: REFUSED the token is not valid. */
MUST_CHECK Error *settings_cache_check_token(
    SettingsCache *cache, const char *text, Token *out_token);
/* The token with this number. Errors: REFUSED no such token, or it was revoked. */
MUST_CHECK Error *settings_cache_find_token(SettingsCache *cache, int64_t id, Token *out_token);
/* reference: NAME, NAME@3, NAME@alias. out_outline: the executable without its constants' data;
 * one reference to it. Errors: NOT_FOUND, INVALID; as model_loader_read_outline. */
MUST_CHECK Error *settings_cache_get_model(SettingsCache *cache, TenantId tenant,
    const char *reference, Digest *out_identity, Executable **out_outline);

/* A version of a model as requests to run it need it. */
typedef struct SettingsModel {
    int64_t version;
    Digest identity;
    Executable *outline; /* one reference: executable_release */
    ModelBatching batching;
    bool unloaded; /* inference requests are refused */
} SettingsModel;
/* The same, with all that is kept of the version that the reference names now. */
MUST_CHECK Error *settings_cache_get_version(
    SettingsCache *cache, TenantId tenant, const char *reference, SettingsModel *out_model);
