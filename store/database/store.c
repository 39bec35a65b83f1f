#include "store/database/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "store/database/recent_chunks.h"
#include "store/home/home.h"
#include "store/database/log_copier.h"
#include "store/home/reserve.h"
#include "store/database/schema_upgrade.h"
#include "store/database/store_connections_internal.h"
#include "store/database/transaction.h"

Error *store_default_home(char **out_home) {
    static const struct {
        const char *variable;
        const char *below;
    } places[] = {
        {"LAYOVER_HOME", ""}, {"XDG_DATA_HOME", "/layover"}, {"HOME", "/.local/share/layover"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (!value || !*value) continue;
        TextBuilder OWN_TEXT(path) = {0};
        text_appendf(&path, "%s%s", value, places[i].below);
        return text_builder_take(&path, out_home);
    }
    FAIL(NOT_FOUND, "no home: LAYOVER_HOME, XDG_DATA_HOME and HOME are not set; give --home DIR");
}

const char *store_home(const Store *store) { return store->home; }

uint64_t store_settings_generation(const Store *store) {
    return atomic_load(&store->settings_generation);
}

Error *store_take_room(Store *store) {
    for (DatabaseKind kind = 0; kind < DATABASE_COUNT; kind++) {
        Transaction OWN_TRANSACTION(transaction) = {0};
        TRY(transaction_begin(store, kind, &transaction));
        transaction.frees = true;
        TRY(transaction_commit(&transaction));
    }
    return NULL;
}

/* Reads both versions before it changes either file. chunks.db is made first, so a catalog without
 * chunks.db has lost it. If both files have this version, they are opened at their first use: three
 * connections are a third of a short process. */
static Error *open_databases(Store *store) {
    int64_t versions[DATABASE_COUNT];
    if (schema_upgrade_is_done(store->path, DATABASE_CATALOG) &&
        schema_upgrade_is_done(store->path, DATABASE_CHUNKS))
        return NULL;
    TRY(store_begin_writer(store, DATABASE_CATALOG, &versions[DATABASE_CATALOG]));
    TRY(store_begin_writer(store, DATABASE_CHUNKS, &versions[DATABASE_CHUNKS]));
    if (versions[DATABASE_CATALOG] > 0 && versions[DATABASE_CHUNKS] == 0)
        return store_lost_chunks();
    TRY(store_upgrade_writer(store, DATABASE_CHUNKS, versions[DATABASE_CHUNKS]));
    TRY(store_upgrade_writer(store, DATABASE_CATALOG, versions[DATABASE_CATALOG]));
    TRY(store_prepare_writer(store, DATABASE_CHUNKS));
    return store_prepare_writer(store, DATABASE_CATALOG);
}

static Error *open_home(Store *store, StoreFlags flags) {
    if (!(flags & STORE_CREATE) && !home_has(store->home, database_infos[DATABASE_CATALOG].file))
        FAIL(NOT_FOUND, "no store at %s", store->home);
    if (flags & STORE_CREATE) TRY(home_create(store->home));
    TRY(home_resolve(store->home, &store->path));
    TRY(home_lock(store->path, &store->lock));
    reserve_open(store->path);
    return error_wrap(open_databases(store), "%s", store->home);
}

/* The writer, gc, has priority: uploads take this lock often and briefly, and gc would wait forever
 * if they could overtake it. */
static void init_sweeping(Store *store) {
    pthread_rwlockattr_t attributes;
    (void)pthread_rwlockattr_init(&attributes);
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(&store->sweeping, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
}

Error *store_open(const char *home, StoreFlags flags, Store **out_store) {
    OWN(Store, store) = NULL;
    TRY(memory_alloc(1, sizeof *store, (void **)&store));
    store->lock = HOME_UNLOCKED;
    for (int i = 0; i < DATABASE_COUNT; i++) {
        store->writers[i].serving = 1; /* the first ticket's number */
        (void)pthread_mutex_init(&store->writers[i].mutex, NULL);
        (void)pthread_cond_init(&store->writers[i].turn, NULL);
    }
    (void)pthread_mutex_init(&store->readers_mutex, NULL);
    (void)pthread_mutex_init(&store->pins_mutex, NULL);
    init_sweeping(store);
    in_flight_table_init(&store->in_flight);
    TRY(recent_chunks_create(&store->recent_chunks));
    TRY(memory_copy_text(home, &store->home));
    TRY(open_home(store, flags));
    TRY(log_copier_open(store, &store->log_copier));
    *out_store = TAKE(store);
    return NULL;
}

void store_close(Store *store) {
    if (!store) return;
    log_copier_close(store->log_copier);
    for (int i = 0; i < DATABASE_COUNT; i++) {
        Connection *next;
        for (Connection *reader = store->idle_readers[i]; reader; reader = next) {
            next = reader->next;
            connection_close(reader);
        }
    }
    for (int i = 0; i < DATABASE_COUNT; i++) {
        connection_close(store->writers[i].connection);
        (void)pthread_cond_destroy(&store->writers[i].turn);
        (void)pthread_mutex_destroy(&store->writers[i].mutex);
    }
    (void)pthread_mutex_destroy(&store->readers_mutex);
    (void)pthread_mutex_destroy(&store->pins_mutex);
    (void)pthread_rwlock_destroy(&store->sweeping);
    in_flight_table_deinit(&store->in_flight);
    recent_chunks_release(store->recent_chunks);
    if (store->lock.folder >= 0) reserve_close(store->path);
    home_unlock(&store->lock);
    memory_free(store->home);
    memory_free(store->path);
    memory_free(store);
}

Error *store_find_tenant(Store *store, const char *name, TenantId *out_tenant) {
    OWN(Connection, reader) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &reader));
    Query OWN_QUERY(query) = query_start(reader, STATEMENT_FIND_TENANT);
    query_bind_text(&query, 1, name);
    bool found;
    int64_t tenant;
    TRY(query_find_i64(&query, &found, &tenant));
    if (!found) FAIL(NOT_FOUND, "no tenant %s", name);
    *out_tenant = tenant;
    return NULL;
}
