#include "store/database/query.h"

#include <math.h>

#include "store/database/store_connections_internal.h"
#include "tests/store/store_fixtures.h"

static void test_query_refuses_columns_of_another_type(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Query OWN_QUERY(query) =
        query_start(store->writers[DATABASE_CATALOG].connection, STATEMENT_FIND_TENANT);
    query_bind_text(&query, 1, "default");
    bool row;
    char text[8];
    double number;
    Digest digest;
    const uint8_t *data;
    size_t size;
    int64_t integer;
    expect_ok(query_next(&query, &row));
    assert_true(row);
    expect_error(query_text(&query, 0, text, sizeof text), ERROR_CORRUPT, "column id");
    expect_error(query_f64(&query, 0, &number), ERROR_CORRUPT, "wrong type");
    expect_error(query_digest(&query, 0, &digest), ERROR_CORRUPT, "wrong type");
    expect_error(query_blob(&query, 0, &data, &size), ERROR_CORRUPT, "run fsck");
    expect_ok(query_i64(&query, 0, &integer));
    assert_int_equal(integer, TENANT_DEFAULT);
}

static void test_query_reports_a_failed_binding(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Query OWN_QUERY(query) =
        query_start(store->writers[DATABASE_CATALOG].connection, STATEMENT_FIND_TENANT);
    query_bind_i64(&query, 9, 1);
    bool row;
    expect_error(query_next(&query, &row), ERROR_INTERNAL, "catalog.db");
}

static void test_query_insert_answers_the_new_row(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Connection *catalog = store->writers[DATABASE_CATALOG].connection;
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_TENANT);
    int64_t row;
    query_bind_text(&query, 1, "ada");
    query_bind_f64(&query, 2, 1.5);
    expect_ok(query_insert(&query, &row));
    assert_int_equal(row, TENANT_DEFAULT + 1);
}

/* NaN goes in as NULL and comes out as NaN; anything else is what it is. */
static void test_query_optional_numbers_may_be_missing(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Connection *catalog = store->writers[DATABASE_CATALOG].connection;
    Query query = {catalog, NULL, SQLITE_OK};
    assert_int_equal(
        sqlite3_prepare_v2(catalog->handle, "SELECT ?1, ?2, 'text'", -1, &query.statement, NULL),
        SQLITE_OK);
    sqlite3_stmt *statement = query.statement;
    query_bind_optional_f64(&query, 1, NAN);
    query_bind_optional_f64(&query, 2, 2.5);
    bool row;
    double first, second;
    expect_ok(query_next(&query, &row));
    assert_true(query_is_null(&query, 0));
    assert_false(query_is_null(&query, 1));
    expect_ok(query_optional_f64(&query, 0, &first));
    expect_ok(query_optional_f64(&query, 1, &second));
    assert_true(isnan(first) && second == 2.5);
    expect_error(query_optional_f64(&query, 2, &first), ERROR_CORRUPT, "wrong type");
    query_finish(&query);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
}

TEST_GROUP(query, cmocka_unit_test(test_query_refuses_columns_of_another_type),
    cmocka_unit_test(test_query_reports_a_failed_binding),
    cmocka_unit_test(test_query_insert_answers_the_new_row),
    cmocka_unit_test(test_query_optional_numbers_may_be_missing))
