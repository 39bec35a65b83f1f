#include <stdio.h>

#include "tests/scheduler/migration_fixtures.h"

static char text[4096];

static int ask(MigrationNode *node, const char *token, HttpMethod method, JobId id,
    const char *verb, const char *json) {
    OWN(HttpClient, client) = NULL;
    HttpClientReply OWN_REPLY(reply) = {0};
    char name[JOB_ID_TEXT_SIZE], path[128];
    job_id_print(id, name);
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/%s", name, verb);
    const HttpClientOptions options = {.server = node->url, .token = token};
    const HttpClientCall call = {.method = method, .path = path, .json = json};
    assert_ok(http_client_open(&options, &client));
    Error *error = http_client_call(client, &call, &reply);
    (void)snprintf(
        text, sizeof text, "%s", error ? error_message(error) : text_builder_get(&reply.text));
    error_free(error);
    return reply.status;
}

static int migrate(MigrationNode *node, const char *token, JobId id, const char *json) {
    return ask(node, token, HTTP_METHOD_POST, id, "migrate", json);
}

static int look(MigrationNode *node, const char *token, JobId id) {
    return ask(node, token, HTTP_METHOD_GET, id, "migration", NULL);
}

static JobId submit(MigrationNode *node) {
    JobId id;
    assert_ok(control_fixture_submit(&node->home, "forever", 3, false, NULL, &id));
    return id;
}

static void test_route_migrations_move_a_job(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *west = &pair->west;
    JobId id = submit(west);
    assert_int_equal(look(west, west->user, id), 404);
    assert_int_equal(migrate(west, west->user, id, "{\"to\":\"east\",\"bandwidth\":1000000}"), 200);
    assert_non_null(strstr(text, "\"node\":\"east\""));
    (void)migration_wait(west, id);
    assert_int_equal(look(west, west->user, id), 200);
    assert_non_null(strstr(text, "\"phase\":\"moved\",\"over\":true,\"moved\":true"));
    assert_non_null(strstr(text, "\"error\":null"));
    assert_int_equal(migrate(west, west->user, id, "{\"to\":\"east\"}"), 409);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

static void test_route_migrations_refuse_with_the_reason(void **state) {
    (void)state;
    static const char *const bodies[] = {"{}", "{\"to\":7}", "{\"to\":\"east\",\"bandwidth\":-1}",
        "{\"to\":\"east\",\"more\":1}", "[]", "{"};
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *west = &pair->west;
    JobId id = submit(west);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(migrate(west, west->user, id, bodies[i]), 400);
    assert_int_equal(migrate(west, west->user, id, "{\"to\":\"north\"}"), 404);
    assert_int_equal(migrate(west, west->user, id, "{\"to\":\"../x\"}"), 404);
    assert_int_equal(migrate(west, NULL, id, "{\"to\":\"east\"}"), 401);
    assert_int_equal(migrate(west, west->token, id, "{\"to\":\"east\"}"), 403); /* a node's */
    assert_int_equal(migrate(west, west->user, (JobId){id.node, 9}, "{\"to\":\"east\"}"), 404);
    assert_int_equal(migrate(west, west->admin, (JobId){id.node, 9}, "{\"to\":\"east\"}"), 404);
    assert_string_equal(migration_node_job(west, id).migrating, "");
    migration_node_rest(west);
    assert_int_equal(migrate(west, west->user, id, "{\"to\":\"east\"}"), 400);
    assert_non_null(strstr(text, "moves no jobs"));
    assert_ok(control_cancel(west->home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

static Error *add_stranger(Connection *catalog, void *context) {
    TenantId stranger;
    Token token;
    TRY(tenants_add(catalog, "stranger", &stranger));
    return tokens_create(catalog, stranger, TOKEN_ROLE_USER, &token, context);
}

/* Another tenant's job is not there; an admin moves everybody's. */
static void test_route_migrations_are_for_the_jobs_tenant(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *west = &pair->west;
    char stranger[TOKEN_TEXT_SIZE];
    JobId id = submit(west);
    assert_ok(catalog_run(west->home.catalog, add_stranger, stranger));
    assert_int_equal(migrate(west, stranger, id, "{\"to\":\"east\"}"), 404);
    assert_int_equal(look(west, stranger, id), 404);
    assert_int_equal(
        ask(west, stranger, HTTP_METHOD_POST, id, "adopt", "{\"source_is_dead\":true}"), 403);
    assert_int_equal(migrate(west, west->admin, id, "{\"to\":\"east\"}"), 200);
    assert_int_equal(migration_wait(west, id).phase, MIGRATION_MOVED);
    assert_int_equal(look(west, stranger, id), 404);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

static void test_route_migrations_adopt_a_job_in_doubt(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationNode *east = &pair->east;
    MigrationHand OWN_HAND(hand);
    migration_node_rest(&pair->west);
    JobId id = submit(&pair->west);
    migration_hand_begin(&hand, &pair->west, east, id);
    migration_hand_go(&hand, MIGRATION_STEP_MOVED);
    migration_node_stop(&pair->west);
    static const char *const bodies[] = {"{}", "{\"source_is_dead\":false}",
        "{\"source_is_dead\":\"true\"}", "{\"source_is_dead\":true,\"more\":1}"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(ask(east, east->admin, HTTP_METHOD_POST, id, "adopt", bodies[i]), 400);
    assert_int_equal(migration_node_state(east, id), JOB_STATE_IN_DOUBT);
    static const char dead[] = "{\"source_is_dead\":true}";
    assert_int_equal(ask(east, east->admin, HTTP_METHOD_POST, id, "adopt", dead), 200);
    assert_non_null(strstr(text, "\"state\":\"queued\",\"epoch\":2"));
    assert_int_equal(ask(east, east->admin, HTTP_METHOD_POST, id, "adopt", dead), 409);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    assert_int_equal(migration_node_state(&pair->west, id), JOB_STATE_MOVED);
    assert_ok(control_cancel(east->home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

int test_route_migrations(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route_migrations_move_a_job),
        cmocka_unit_test(test_route_migrations_refuse_with_the_reason),
        cmocka_unit_test(test_route_migrations_are_for_the_jobs_tenant),
        cmocka_unit_test(test_route_migrations_adopt_a_job_in_doubt),
    };
    return cmocka_run_group_tests_name("route_migrations", tests, NULL, NULL);
}
