#include "store/database/catalog.h"

#include "base/allocator.h"
#include "base/thread.h"
#include "store/database/transaction.h"

struct Catalog {
    Store *store;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t arrived;
    CatalogRequest *first, **last; /* the queue */
    size_t count;
    bool closing;
    Error *failure; /* the error that ended the writer's work */
    /* used by the writer: the last group, or the last one that needed room, found the disk full */
    bool full;
};

/* A group of requests and their results. */
typedef struct Group {
    CatalogRequest *requests[CATALOG_GROUP_MAX];
    Error *errors[CATALOG_GROUP_MAX];
    size_t count;
    bool frees; /* all requests free room */
} Group;

/* Runs one piece of work in its savepoint.
 *
 * out_error: the error of this work alone.
 * Errors: the group's transaction cannot continue. */
static Error *run_part(Connection *connection, const CatalogRequest *request, Error **out_error) {
    TRY(query_run_alone(connection, STATEMENT_BEGIN_PART));
    Error *error = request->work(connection, request->context);
    /* SQLite rolls the whole transaction back when the disk is full, a write fails or memory runs
     * out. */
    if (sqlite3_get_autocommit(connection->handle)) {
        if (!error) FAIL(INTERNAL, "catalog.db: a piece of work ended the group's transaction");
        return error;
    }
    Error *failure = error ? query_run_alone(connection, STATEMENT_UNDO_PART) : NULL;
    if (!failure) failure = query_run_alone(connection, STATEMENT_KEEP_PART);
    if (failure)
        error_free(error); /* the error that stops the whole group counts */
    else
        *out_error = error;
    return failure;
}

static Error *run_parts(Connection *connection, Group *group) {
    for (size_t i = 0; i < group->count; i++)
        TRY(run_part(connection, group->requests[i], &group->errors[i]));
    return NULL;
}

static Error *run_transaction(Store *store, Group *group) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    transaction.frees = group->frees;
    TRY(run_parts(transaction.connection, group));
    return transaction_commit(&transaction);
}

Error *catalog_check(Catalog *catalog) {
    (void)pthread_mutex_lock(&catalog->mutex);
    Error *error = error_copy(catalog->failure);
    (void)pthread_mutex_unlock(&catalog->mutex);
    return error;
}

static void remember_failure(Catalog *catalog, const Error *error) {
    (void)pthread_mutex_lock(&catalog->mutex);
    if (!catalog->failure) catalog->failure = error_copy(error);
    (void)pthread_mutex_unlock(&catalog->mutex);
}

/* Reports to a request the error of its work, or of the whole transaction. */
static void finish(Group *group, size_t i, const Error *failure) {
    Error *error = TAKE(group->errors[i]);
    if (failure) {
        error_free(error); /* the group's transaction was rolled back */
        error = error_copy(failure);
    }
    group->requests[i]->done(group->requests[i], error);
}

static Error *try_group(Catalog *catalog, Group *group) {
    Error *failure = run_transaction(catalog->store, group);
    /* A commit that failed may or may not be in the log. */
    if (error_code(failure) == ERROR_IO) remember_failure(catalog, failure);
    if (failure || !group->frees) catalog->full = error_code(failure) == ERROR_EXHAUSTED;
    return failure;
}

/* Refuses the requests that need room. The others stay in the group, to be run again. */
static void refuse_growing(Group *group, const Error *failure) {
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (!group->requests[i]->frees) {
            finish(group, i, failure);
            continue;
        }
        error_free(TAKE(group->errors[i]));
        group->requests[kept++] = group->requests[i];
    }
    group->count = kept;
    group->frees = true;
}

static void run_group(Catalog *catalog, Group *group) {
    Error *failure = catalog_check(catalog);
    if (!failure) failure = try_group(catalog, group);
    if (error_code(failure) == ERROR_EXHAUSTED && !group->frees) {
        refuse_growing(group, failure);
        if (group->count > 0) {
            error_free(failure);
            failure = try_group(catalog, group);
        }
    }
    for (size_t i = 0; i < group->count; i++) finish(group, i, failure);
    error_free(failure); /* each request got a copy */
}

/* While the disk is known to be full, requests that make room and requests that need some are in
 * different groups, so that no group is run twice. */
static bool belongs(const Catalog *catalog, const Group *group) {
    if (group->count == CATALOG_GROUP_MAX || !catalog->first) return false;
    return group->count == 0 || !catalog->full || catalog->first->frees == group->frees;
}

static bool take_group(Catalog *catalog, Group *group) {
    (void)pthread_mutex_lock(&catalog->mutex);
    while (!catalog->first && !catalog->closing)
        (void)pthread_cond_wait(&catalog->arrived, &catalog->mutex);
    group->count = 0;
    group->frees = true;
    while (belongs(catalog, group)) {
        group->frees &= catalog->first->frees;
        group->requests[group->count++] = catalog->first;
        catalog->first = catalog->first->next;
    }
    if (!catalog->first) catalog->last = &catalog->first;
    catalog->count -= group->count;
    (void)pthread_mutex_unlock(&catalog->mutex);
    return group->count > 0;
}

static void *run_writer(void *context) {
    Catalog *catalog = context;
    Group group = {.count = 0};
    (void)pthread_setname_np(pthread_self(), "catalog");
    while (take_group(catalog, &group)) run_group(catalog, &group);
    return NULL;
}

Error *catalog_open(Store *store, Catalog **out_catalog) {
    Catalog *catalog;
    TRY(memory_alloc(1, sizeof *catalog, (void **)&catalog));
    catalog->store = store;
    catalog->last = &catalog->first;
    (void)pthread_mutex_init(&catalog->mutex, NULL);
    (void)pthread_cond_init(&catalog->arrived, NULL);
    if (!thread_start(&catalog->thread, "catalog", run_writer, catalog)) {
        memory_free(catalog);
        FAIL(EXHAUSTED, "catalog.db: no thread to write with");
    }
    *out_catalog = catalog;
    return NULL;
}

void catalog_close(Catalog *catalog) {
    if (!catalog) return;
    (void)pthread_mutex_lock(&catalog->mutex);
    catalog->closing = true;
    (void)pthread_cond_signal(&catalog->arrived);
    (void)pthread_mutex_unlock(&catalog->mutex);
    (void)pthread_join(catalog->thread, NULL);
    (void)pthread_cond_destroy(&catalog->arrived);
    (void)pthread_mutex_destroy(&catalog->mutex);
    error_free(catalog->failure); /* callers got copies */
    memory_free(catalog);
}

Error *catalog_post(Catalog *catalog, CatalogRequest *request) {
    request->next = NULL;
    (void)pthread_mutex_lock(&catalog->mutex);
    bool room = catalog->count < CATALOG_QUEUE_MAX;
    if (room) {
        *catalog->last = request;
        catalog->last = &request->next;
        if (catalog->count++ == 0) (void)pthread_cond_signal(&catalog->arrived);
    }
    (void)pthread_mutex_unlock(&catalog->mutex);
    if (!room) FAIL(EXHAUSTED, "%d changes wait to be written already", CATALOG_QUEUE_MAX);
    return NULL;
}

/* A thread that waits for its request. */
typedef struct Waiter {
    CatalogRequest request;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool is_done;
    Error *error;
} Waiter;

static void wake(CatalogRequest *request, Error *owned_error) {
    Waiter *waiter = (Waiter *)request; /* the request is the first member */
    (void)pthread_mutex_lock(&waiter->mutex);
    waiter->error = owned_error;
    waiter->is_done = true;
    (void)pthread_cond_signal(&waiter->ended);
    (void)pthread_mutex_unlock(&waiter->mutex);
}

static Error *run_and_wait(Catalog *catalog, CatalogWork work, void *context, bool frees) {
    Waiter waiter = {.request = {.work = work, .context = context, .frees = frees, .done = wake},
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .ended = PTHREAD_COND_INITIALIZER};
    TRY(catalog_post(catalog, &waiter.request));
    (void)pthread_mutex_lock(&waiter.mutex);
    while (!waiter.is_done) (void)pthread_cond_wait(&waiter.ended, &waiter.mutex);
    (void)pthread_mutex_unlock(&waiter.mutex);
    (void)pthread_cond_destroy(&waiter.ended);
    (void)pthread_mutex_destroy(&waiter.mutex);
    return waiter.error;
}

Error *catalog_run(Catalog *catalog, CatalogWork work, void *context) {
    return run_and_wait(catalog, work, context, false);
}

Error *catalog_run_freeing(Catalog *catalog, CatalogWork work, void *context) {
    return run_and_wait(catalog, work, context, true);
}

Error *catalog_run_directly(Store *store, CatalogWork work, void *context) {
    Transaction OWN_TRANSACTION(transaction) = {0};
    TRY(transaction_begin(store, DATABASE_CATALOG, &transaction));
    TRY(work(transaction.connection, context));
    return transaction_commit(&transaction);
}
