#include "store/database/transaction_lock.h"
#include "tests/store/store_fixtures.h"

/* Somebody who asks for the lock once. */
typedef struct Asker {
    Store *store;
    DatabaseKind kind;
    int *next; /* guarded by the lock */
    int place;
    pthread_t thread;
} Asker;

static void *ask(void *context) {
    Asker *asker = context;
    Transaction OWN_TRANSACTION(lock) = transaction_lock(asker->store, asker->kind);
    asker->place = (*asker->next)++;
    return NULL;
}

static uint64_t count_waiting(Store *store, DatabaseKind kind) {
    StoreWriter *writer = &store->writers[kind];
    (void)pthread_mutex_lock(&writer->mutex);
    uint64_t count = writer->last_ticket - writer->serving;
    (void)pthread_mutex_unlock(&writer->mutex);
    return count;
}

/* Who gives it back and asks again at once comes after all who waited. */
static void test_transaction_lock_goes_to_who_asked_first(void **state) {
    (void)state;
    enum { ASKERS = 4 };
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Asker askers[ASKERS];
    int next = 0;
    Transaction lock = transaction_lock(store, DATABASE_CATALOG);
    for (uint64_t i = 0; i < ASKERS; i++) {
        askers[i] = (Asker){.store = store, .next = &next};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
        while (count_waiting(store, DATABASE_CATALOG) <= i) (void)sched_yield();
    }
    transaction_end(&lock);
    lock = transaction_lock(store, DATABASE_CATALOG);
    assert_int_equal(next, ASKERS);
    transaction_end(&lock);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].place, i);
    }
}

/* Nobody who wants to write waits for the log's copy. */
static void test_transaction_copies_the_log_while_nobody_waits(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    bool whole = true;
    int next = 0;
    Asker asker = {.store = store, .kind = DATABASE_CHUNKS, .next = &next};
    OWN(ChunkUpload, upload) = NULL;
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    expect_ok(fixture_upload(upload, 1, 3, 1000));
    expect_ok(chunk_upload_flush(upload));
    Transaction lock = transaction_lock(store, DATABASE_CHUNKS);
    assert_int_equal(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    while (count_waiting(store, DATABASE_CHUNKS) < 1) (void)sched_yield();
    expect_ok(transaction_copy_log(&lock, true, &whole));
    assert_false(whole);
    expect_ok(transaction_copy_log(&lock, false, &whole));
    assert_true(whole);
    transaction_end(&lock);
    assert_int_equal(pthread_join(asker.thread, NULL), 0);
    lock = transaction_lock(store, DATABASE_CHUNKS);
    expect_ok(transaction_copy_log(&lock, true, &whole));
    assert_true(whole);
    transaction_end(&lock);
}

TEST_GROUP(transaction_lock, cmocka_unit_test(test_transaction_lock_goes_to_who_asked_first),
    cmocka_unit_test(test_transaction_copies_the_log_while_nobody_waits))
