#include <unistd.h>

#include "store/database/transaction.h"
#include "tests/store/store_fixtures.h"

/* Says so when chunks.db goes between opening and writing. */
static void test_store_opens_a_database_when_it_is_needed(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    store_close(fixture_open(&home));
    OWN(Store, store) = fixture_open(&home);
    TenantId tenant;
    expect_ok(store_find_tenant(store, "default", &tenant));
    assert_null(store->writers[DATABASE_CATALOG].connection);
    assert_null(store->writers[DATABASE_CHUNKS].connection);
    expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, 500, NULL, NULL));
    assert_non_null(store->writers[DATABASE_CATALOG].connection);
    assert_non_null(store->writers[DATABASE_CHUNKS].connection);
    store_close(TAKE(store));
    store = fixture_open(&home);
    assert_int_equal(unlink(fixture_path(&home, "chunks.db")), 0);
    Transaction OWN_TRANSACTION(transaction) = {0};
    expect_error(transaction_begin(store, DATABASE_CHUNKS, &transaction), ERROR_CORRUPT,
        "chunks.db: missing");
    assert_null(store->writers[DATABASE_CHUNKS].connection);
}

static void test_store_lends_readers_again(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Connection *first, *second;
    expect_ok(store_borrow_reader(store, DATABASE_CATALOG, &first));
    expect_ok(store_borrow_reader(store, DATABASE_CATALOG, &second));
    assert_ptr_not_equal(first, second);
    store_return_reader(first);
    assert_int_equal(store->idle_reader_counts[DATABASE_CATALOG], 1);
    Connection *again;
    expect_ok(store_borrow_reader(store, DATABASE_CATALOG, &again));
    assert_ptr_equal(again, first);
    assert_int_equal(store->idle_reader_counts[DATABASE_CATALOG], 0);
    store_return_reader(again);
    store_return_reader(second);
    assert_int_equal(store->idle_reader_counts[DATABASE_CATALOG], 2);
}

TEST_GROUP(store_connections, cmocka_unit_test(test_store_opens_a_database_when_it_is_needed),
    cmocka_unit_test(test_store_lends_readers_again))
