#include "store/accounts/nodes.h"

#include <string.h>

#include "store/database/job_id.h"
#include "tests/store/job_fixtures.h"

static Node make(const char *name, uint64_t number, const char *url, const char *fingerprint) {
    Node node = {.node = number};
    (void)snprintf(node.name, sizeof node.name, "%s", name);
    (void)snprintf(node.url, sizeof node.url, "%s", url);
    (void)snprintf(node.token, sizeof node.token, "layover-1-%s", name);
    (void)snprintf(node.fingerprint, sizeof node.fingerprint, "%s", fingerprint);
    return node;
}

static Error *add(Store *store, Node node) {
    return fixture_end(nodes_add(fixture_begin(store), &node));
}

static Error *remove_node(Store *store, const char *name) {
    return fixture_end(nodes_remove(fixture_begin(store), name));
}

static void test_nodes_are_found_by_name_and_number(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Node node;
    bool found;
    expect_ok(add(store, make("west", 0x3f9a0c72d1e4, "https://west:1", "sha256//x=")));
    expect_ok(add(store, make("east", JOB_ID_NODE_MAX, "http://127.0.0.1:2", "")));
    store_close(TAKE(store));
    store = fixture_open(&home);
    expect_ok(nodes_get(store, "west", &node));
    assert_int_equal(node.node, 0x3f9a0c72d1e4);
    assert_string_equal(node.url, "https://west:1");
    assert_string_equal(node.token, "layover-1-west");
    assert_string_equal(node.fingerprint, "sha256//x=");
    assert_true(node.created > 0);
    expect_ok(nodes_find(store, JOB_ID_NODE_MAX, &found, &node));
    assert_true(found);
    assert_string_equal(node.name, "east");
    assert_string_equal(node.fingerprint, "");
    expect_ok(nodes_find(store, 7, &found, &node));
    assert_false(found);
    expect_ok(nodes_find(store, UINT64_MAX, &found, &node));
    assert_false(found);
    expect_error(nodes_get(store, "WEST", &node), ERROR_NOT_FOUND, "no node WEST");
    OWN(NodeList, list) = NULL;
    expect_ok(nodes_list(store, &list));
    assert_int_equal(list->count, 2);
    assert_string_equal(list->items[0].name, "east");
    assert_string_equal(list->items[1].name, "west");
    fixture_expect_clean(store);
}

static void test_nodes_have_one_name_and_one_number(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Node node;
    expect_ok(add(store, make("west", 1, "https://west:1", "sha256//x=")));
    expect_error(add(store, make("west", 2, "https://w:1", "")), ERROR_CONFLICT, "another home");
    expect_error(add(store, make("east", 1, "https://w:1", "")), ERROR_CONFLICT, "as node west");
    /* the same home at another place, with another key */
    expect_ok(add(store, make("west", 1, "https://new:1", "sha256//y=")));
    expect_ok(nodes_get(store, "west", &node));
    assert_string_equal(node.url, "https://new:1");
    assert_string_equal(node.fingerprint, "sha256//y=");
    OWN(NodeList, list) = NULL;
    expect_ok(nodes_list(store, &list));
    assert_int_equal(list->count, 1);
}

static void test_nodes_refuse_what_is_none(void **state) {
    (void)state;
    static const char *const names[] = {"", "-x", "a b", "a/b", ".", "\xc3\xa4"};
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_error(add(store, make(names[i], 1, "https://w", "")), ERROR_INVALID, "is no name");
    expect_error(add(store, make("w", 0, "https://w", "")), ERROR_INVALID, "number");
    expect_error(
        add(store, make("w", JOB_ID_NODE_MAX + 1, "https://w", "")), ERROR_INVALID, "number");
    expect_error(add(store, make("w", 1, "", "")), ERROR_INVALID, "address");
    expect_error(add(store, make("w", 1, "https://\xff", "")), ERROR_INVALID, "address");
    OWN(NodeList, list) = NULL;
    expect_ok(nodes_list(store, &list));
    assert_int_equal(list->count, 0);
}

static void test_nodes_stay_while_jobs_are_on_their_way(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Node node;
    expect_ok(add(store, make("west", 5, "https://west:1", "")));
    expect_ok(add(store, make("east", 6, "https://east:1", "")));
    fixture_run_sql(&home, "catalog.db",
        "INSERT INTO arrivals (node, number, tenant, source, epoch, attempt, progress, suspended,"
        " touched) VALUES (9, 1, 1, 5, 0, 1, 0, 0, 1.0), (9, 2, 1, 5, 0, 1, 0, 0, 1.0)");
    expect_error(remove_node(store, "west"), ERROR_CONFLICT, "0 jobs are on their way to it and 2");
    expect_ok(nodes_get(store, "west", &node));
    expect_ok(remove_node(store, "east"));
    expect_error(remove_node(store, "east"), ERROR_NOT_FOUND, "no node east");
    fixture_run_sql(&home, "catalog.db", "DELETE FROM arrivals");
    expect_ok(remove_node(store, "west"));
    expect_error(nodes_get(store, "west", &node), ERROR_NOT_FOUND, "no node west");
    expect_ok(add(store, make("west", 8, "https://west:1", ""))); /* another home */
}

TEST_GROUP(nodes, cmocka_unit_test(test_nodes_are_found_by_name_and_number),
    cmocka_unit_test(test_nodes_have_one_name_and_one_number),
    cmocka_unit_test(test_nodes_refuse_what_is_none),
    cmocka_unit_test(test_nodes_stay_while_jobs_are_on_their_way))
