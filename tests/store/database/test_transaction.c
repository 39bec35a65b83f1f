#include "store/database/transaction.h"
#include "tests/store/store_fixtures.h"

static Error *insert_tenant(Connection *catalog, const char *name) {
    char sql[128];
    (void)snprintf(sql, sizeof sql, "INSERT INTO tenants (name, created) VALUES ('%s', 0.0)", name);
    return connection_execute(catalog, sql);
}

static void test_transaction_that_is_not_committed_never_was(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId tenant;
    {
        Transaction OWN_TRANSACTION(transaction) = {0};
        expect_ok(transaction_begin(store, DATABASE_CATALOG, &transaction));
        expect_ok(insert_tenant(transaction.connection, "ada"));
    }
    expect_error(store_find_tenant(store, "ada", &tenant), ERROR_NOT_FOUND, "no tenant ada");
    {
        Transaction OWN_TRANSACTION(transaction) = {0};
        expect_ok(transaction_begin(store, DATABASE_CATALOG, &transaction));
        expect_ok(insert_tenant(transaction.connection, "ada"));
        expect_ok(transaction_commit(&transaction));
    }
    expect_ok(store_find_tenant(store, "ada", &tenant));
    assert_int_not_equal(tenant, TENANT_DEFAULT);
}

static void test_transaction_is_refused_after_a_failed_sync(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    atomic_store(&store->sync_failed, true);
    Transaction OWN_TRANSACTION(transaction) = {0};
    expect_error(transaction_begin(store, DATABASE_CATALOG, &transaction), ERROR_IO, "reopened");
    /* The lock is free again. */
    Transaction OWN_TRANSACTION(lock) = transaction_lock(store, DATABASE_CATALOG);
}

/* Somebody restored another home over this one: whoever opens it next has other files. */
static void test_transaction_writes_into_no_file_that_was_replaced(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (int i = 0; i < 2; i++) {
        Transaction OWN_TRANSACTION(transaction) = {0};
        expect_ok(transaction_begin(store, DATABASE_CATALOG, &transaction));
        expect_ok(insert_tenant(transaction.connection, i ? "bob" : "ada"));
        if (i == 0) {
            expect_ok(transaction_commit(&transaction));
            continue;
        }
        char old[200];
        (void)snprintf(old, sizeof old, "%s", fixture_path(&home, "catalog.old"));
        assert_int_equal(rename(fixture_path(&home, "catalog.db"), old), 0);
        expect_error(transaction_commit(&transaction), ERROR_IO, "removed or replaced");
        assert_int_equal(rename(old, fixture_path(&home, "catalog.db")), 0);
    }
}

TEST_GROUP(transaction, cmocka_unit_test(test_transaction_that_is_not_committed_never_was),
    cmocka_unit_test(test_transaction_is_refused_after_a_failed_sync),
    cmocka_unit_test(test_transaction_writes_into_no_file_that_was_replaced))
