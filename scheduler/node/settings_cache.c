#include "scheduler/node/settings_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "scheduler/node/model_loader.h"
#include "store/models/models.h"

enum {
    BUCKETS = 1024,
    ENTRIES_MAX = 4096, /* then all of them go */
};

typedef enum EntryKind {
    TENANT_BY_ID,
    TENANT_BY_NAME,
    TOKEN_BY_TEXT,
    TOKEN_BY_ID,
    MODEL_BY_NAME,
    OUTLINE_BY_IDENTITY, /* one for all tenants that have the executable */
} EntryKind;

typedef struct Entry {
    Digest key; /* of kind, tenant and text: secrets are not kept */
    EntryKind kind;
    union {
        Tenant tenant;
        TenantId id;
        Token token;
        struct {
            Digest identity;
            int64_t version;
            ModelBatching batching;
            bool unloaded;
        } model;
        Executable *outline;
    };
    struct Entry *next; /* in its bucket */
} Entry;

struct SettingsCache {
    Store *store;
    pthread_mutex_t mutex; /* guards the members below */
    uint64_t generation;
    size_t count;
    Entry *buckets[BUCKETS];
};

static Error *make_key(
    EntryKind kind, TenantId tenant, const void *name, size_t size, Digest *out) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u32(&bytes, (uint32_t)kind);
    byte_write_u64(&bytes, (uint64_t)tenant);
    byte_write_bytes(&bytes, name, size);
    TRY(byte_writer_check(&bytes));
    return digest_sha256(bytes.data, bytes.size, out);
}

static Entry **bucket_of(SettingsCache *cache, const Digest *key) {
    return &cache->buckets[(key->bytes[0] | key->bytes[1] << 8) % BUCKETS];
}

static void entry_free(Entry *entry) {
    if (entry->kind == OUTLINE_BY_IDENTITY) executable_release(entry->outline);
    memory_free(entry);
}

static void clear(SettingsCache *cache) {
    for (size_t i = 0; i < BUCKETS; i++) {
        for (Entry *entry = cache->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry_free(entry);
        }
        cache->buckets[i] = NULL;
    }
    cache->count = 0;
}

Error *settings_cache_create(Store *store, SettingsCache **out_cache) {
    void *memory;
    TRY(memory_alloc(1, sizeof(SettingsCache), &memory));
    SettingsCache *cache = memory;
    cache->store = store;
    cache->generation = store_settings_generation(store);
    (void)pthread_mutex_init(&cache->mutex, NULL);
    *out_cache = cache;
    return NULL;
}

void settings_cache_release(SettingsCache *cache) {
    if (!cache) return;
    clear(cache);
    (void)pthread_mutex_destroy(&cache->mutex);
    memory_free(cache);
}

Store *settings_cache_store(const SettingsCache *cache) { return cache->store; }

/* Copies a kept entry; out_generation: as of which an entry that is read instead may be kept. */
static bool find(SettingsCache *cache, const Digest *key, Entry *out, uint64_t *out_generation) {
    const Entry *entry;
    (void)pthread_mutex_lock(&cache->mutex);
    *out_generation = store_settings_generation(cache->store);
    if (cache->generation != *out_generation) clear(cache);
    cache->generation = *out_generation;
    for (entry = *bucket_of(cache, key); entry && !digest_equal(&entry->key, key);)
        entry = entry->next;
    if (entry) *out = *entry;
    if (entry && entry->kind == OUTLINE_BY_IDENTITY) (void)executable_retain(entry->outline);
    (void)pthread_mutex_unlock(&cache->mutex);
    return entry;
}

/* Keeps a copy, unless a commit changed something meanwhile or there is no memory for it. */
static void keep(SettingsCache *cache, const Entry *entry, uint64_t generation) {
    void *memory;
    Error *error = memory_alloc(1, sizeof *entry, &memory);
    if (error) {
        error_free(error); /* read again next time */
        return;
    }
    Entry *kept = memory;
    *kept = *entry;
    if (kept->kind == OUTLINE_BY_IDENTITY) (void)executable_retain(kept->outline);
    (void)pthread_mutex_lock(&cache->mutex);
    bool current = cache->generation == generation;
    for (const Entry *e = *bucket_of(cache, &kept->key); e && current; e = e->next)
        current = !digest_equal(&e->key, &kept->key); /* another thread was quicker */
    if (current) {
        if (cache->count == ENTRIES_MAX) clear(cache);
        Entry **bucket = bucket_of(cache, &kept->key);
        kept->next = *bucket;
        *bucket = kept;
        cache->count++;
    }
    (void)pthread_mutex_unlock(&cache->mutex);
    if (!current) entry_free(kept);
}

static Error *read_model(Store *store, TenantId tenant, const char *reference, Entry *out) {
    ModelVersion OWN_VERSION(version) = {0};
    TRY(models_find(store, tenant, reference, &version));
    out->model.identity = version.executable;
    out->model.version = version.version;
    out->model.batching = version.batching;
    out->model.unloaded = version.unloaded;
    return NULL;
}

static Error *read_entry(Store *store, TenantId tenant, const void *name, Entry *out) {
    switch (out->kind) {
    case TENANT_BY_ID:
        return tenants_get_settings(store, tenant, &out->tenant);
    case TENANT_BY_NAME:
        return store_find_tenant(store, name, &out->id);
    case TOKEN_BY_TEXT:
        return tokens_check(store, name, &out->token);
    case TOKEN_BY_ID:
        return tokens_find(store, *(const int64_t *)name, &out->token);
    case MODEL_BY_NAME:
        return read_model(store, tenant, name, out);
    case OUTLINE_BY_IDENTITY:
        return model_loader_read_outline(store, tenant, name, &out->outline);
    }
    FAIL(INTERNAL, "settings of kind %d", (int)out->kind);
}

/* name: a text, or an identity. out: the caller's own references. */
static Error *get(SettingsCache *cache, EntryKind kind, TenantId tenant, const void *name,
    size_t size, Entry *out) {
    uint64_t generation;
    Digest key;
    TRY(make_key(kind, kind == OUTLINE_BY_IDENTITY ? 0 : tenant, name, size, &key));
    if (find(cache, &key, out, &generation)) return NULL;
    Entry entry = {.key = key, .kind = kind};
    TRY(read_entry(cache->store, tenant, name, &entry));
    keep(cache, &entry, generation);
    *out = entry;
    return NULL;
}

Error *settings_cache_get_tenant(SettingsCache *cache, TenantId tenant, Tenant *out_tenant) {
    Entry entry;
    TRY(get(cache, TENANT_BY_ID, tenant, "", 0, &entry));
    *out_tenant = entry.tenant;
    return NULL;
}

Error *settings_cache_find_tenant(SettingsCache *cache, const char *name, TenantId *out_tenant) {
    Entry entry;
    TRY(get(cache, TENANT_BY_NAME, 0, name, strlen(name), &entry));
    *out_tenant = entry.id;
    return NULL;
}

Error *settings_cache_check_token(SettingsCache *cache, const char *text, Token *out_token) {
    Entry entry;
    TRY(get(cache, TOKEN_BY_TEXT, 0, text, strlen(text), &entry));
    *out_token = entry.token;
    return NULL;
}

Error *settings_cache_find_token(SettingsCache *cache, int64_t id, Token *out_token) {
    Entry entry;
    TRY(get(cache, TOKEN_BY_ID, 0, &id, sizeof id, &entry));
    *out_token = entry.token;
    return NULL;
}

/* The tenant has the identity, since the tenant's name stands for it. */
Error *settings_cache_get_version(
    SettingsCache *cache, TenantId tenant, const char *reference, SettingsModel *out_model) {
    Entry model, outline;
    TRY(get(cache, MODEL_BY_NAME, tenant, reference, strlen(reference), &model));
    TRY_WRAP(get(cache, OUTLINE_BY_IDENTITY, tenant, &model.model.identity,
                 sizeof model.model.identity, &outline),
        "%s", reference);
    *out_model = (SettingsModel){.version = model.model.version,
        .identity = model.model.identity,
        .outline = outline.outline,
        .batching = model.model.batching,
        .unloaded = model.model.unloaded};
    return NULL;
}

Error *settings_cache_get_model(SettingsCache *cache, TenantId tenant, const char *reference,
    Digest *out_identity, Executable **out_outline) {
    SettingsModel model;
    TRY(settings_cache_get_version(cache, tenant, reference, &model));
    *out_identity = model.identity;
    *out_outline = model.outline;
    return NULL;
}
