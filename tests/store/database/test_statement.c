#include <sqlite3.h>
#include <string.h>

#include "store/database/store_connections_internal.h"
#include "tests/store/store_fixtures.h"

static void explain(Connection *connection, const StatementInfo *info) {
    TextBuilder OWN_TEXT(sql) = {0};
    text_appendf(&sql, "EXPLAIN QUERY PLAN %s", info->sql);
    expect_ok(text_builder_check(&sql));
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(connection->handle, text_builder_get(&sql), -1, &statement, NULL);
    assert_int_equal(code, SQLITE_OK);
    bool scans = false;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(statement, 3);
        bool sorts = strstr(detail, "TEMP B-TREE") != NULL;
        bool scan = strncmp(detail, "SCAN", 4) == 0;
        if ((scan || sorts) && !info->scans) fail_msg("%s: %s", info->name, detail);
        scans = scans || scan;
    }
    if (info->scans && !scans) fail_msg("%s is listed as scanning and does not", info->name);
    (void)sqlite3_finalize(statement);
}

static void test_statement_reaches_every_table_through_an_index(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        const StatementInfo *info = &statement_infos[i];
        if (info->databases & STATEMENT_IN_CATALOG)
            explain(store->writers[DATABASE_CATALOG].connection, info);
        if (info->databases & STATEMENT_IN_CHUNKS)
            explain(store->writers[DATABASE_CHUNKS].connection, info);
    }
}

/* A statement that is marked READ is prepared on readers, where it must not write. */
static void test_statement_use_is_what_sqlite_says(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (int kind = 0; kind < DATABASE_COUNT; kind++) {
        Connection *connection = store->writers[kind].connection;
        unsigned database = kind == DATABASE_CATALOG ? STATEMENT_IN_CATALOG : STATEMENT_IN_CHUNKS;
        for (int i = 0; i < STATEMENT_COUNT; i++) {
            const StatementInfo *info = &statement_infos[i];
            if (!(info->databases & database) || info->use != STATEMENT_READS) continue;
            sqlite3_stmt *statement;
            assert_int_equal(
                connection_get_statement(connection, (StatementId)i, &statement), SQLITE_OK);
            assert_true(sqlite3_stmt_readonly(statement));
        }
    }
}

TEST_GROUP(statement, cmocka_unit_test(test_statement_reaches_every_table_through_an_index),
    cmocka_unit_test(test_statement_use_is_what_sqlite_says))
