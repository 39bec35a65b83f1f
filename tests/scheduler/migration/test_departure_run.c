#include "scheduler/migration/departure_run.h"

#include <stdio.h>

#include "scheduler/node/model_loader.h"
#include "store/models/stored_executable.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"
#include "tests/scheduler/peer_proxy.h"
#include "vm/assembly/assembly.h"

enum { ROWS = 40 };

static JobId submit(MigrationNode *node, const char *function, int64_t rows, bool items) {
    JobId id;
    assert_ok(control_fixture_submit(&node->home, function, rows, items, NULL, &id));
    return id;
}

static MigrationStatus assert_moves(MigrationPair *pair, JobId id) {
    MigrationStatus status = migration_move(&pair->west, id, "east");
    if (status.phase != MIGRATION_MOVED) fail_msg("it did not move: %s", status.error);
    assert_string_equal(status.error, "");
    assert_int_equal(migration_node_state(&pair->west, id), JOB_STATE_MOVED);
    assert_int_equal(migration_node_job(&pair->east, id).epoch, 1);
    return status;
}

static void assert_ends(MigrationPair *pair, JobId id, int64_t count, float factor) {
    Job job;
    control_fixture_wait(&pair->east.home, id, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.output_count, count);
    control_fixture_check(&pair->east.home, id, count, factor);
    migration_pair_check(pair);
}

static void test_departure_run_moves_a_job_that_runs(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId id = submit(&pair->west, "forever", 1, false);
    control_fixture_wait_progress(&pair->west.home, id, 0);
    MigrationStatus moved = assert_moves(pair, id);
    assert_true(moved.downtime_ms > 0);
    assert_true(moved.round >= 1);
    assert_true(migration_node_job(&pair->east, id).checkpoint_created > 0);
    control_fixture_wait_progress(&pair->east.home, id, 0);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

/* Outputs so far come along, and the rest is made there. */
static void test_departure_run_moves_a_batch_in_its_middle(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId id = submit(&pair->west, "slow", ROWS, true);
    control_fixture_wait_outputs(&pair->west.home, id, 2);
    (void)assert_moves(pair, id);
    assert_ends(pair, id, ROWS, 2);
}

static void test_departure_run_moves_a_suspended_job_that_stays_suspended(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId id;
    control_fixture_suspended(&pair->west.home, ROWS, true, &id);
    (void)assert_moves(pair, id);
    assert_int_equal(migration_node_state(&pair->east, id), JOB_STATE_SUSPENDED);
    assert_ok(control_resume(pair->east.home.control, TENANT_DEFAULT, id, NULL));
    assert_ends(pair, id, ROWS, 2);
}

static void test_departure_run_moves_a_job_that_waits(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId first = submit(&pair->west, "forever", 1, false);
    JobId id = submit(&pair->west, "forever", 2, false);
    (void)assert_moves(pair, id);
    control_fixture_wait_progress(&pair->east.home, id, 0);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    assert_ok(control_cancel(pair->west.home.control, TENANT_DEFAULT, first));
    migration_pair_check(pair);
}

static void register_another(Store *store) {
    static const char program[] = "constant @x = float32[2] {1, -2}\n"
                                  "function main(a: float32[n, 2]) -> (y: any) exported {\n"
                                  "head:\n    Yield @x\n    Goto head\n}\n";
    OWN(Executable, executable) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    assert_ok(assembly_parse(program, sizeof program - 1, &executable));
    assert_ok(
        model_loader_register(store, TENANT_DEFAULT, NULL, "m", executable, NULL, 0, &version));
}

/* A model that the target lacks comes along, once. */
static void test_departure_run_brings_the_model_that_is_missing(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    register_another(pair->west.home.store);
    for (int i = 0; i < 2; i++) {
        OWN(StoredExecutable, stored) = NULL;
        JobId id = submit(&pair->west, "main", 1, false);
        Job job = migration_node_job(&pair->west, id);
        Error *error =
            stored_executable_open(pair->east.home.store, TENANT_DEFAULT, &job.executable, &stored);
        assert_int_equal(error_code(error), i ? ERROR_NONE : ERROR_NOT_FOUND);
        error_free(error);
        (void)assert_moves(pair, id);
        job = migration_node_job(&pair->east, id);
        assert_int_equal(job.state, JOB_STATE_QUEUED);
        control_fixture_wait_outputs(&pair->east.home, id, job.output_count + 1);
        assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    }
    migration_pair_check(pair);
}

/* What the target's tenant has already is not sent: a second job with the same large input. */
static void test_departure_run_sends_no_chunk_that_is_there(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId first = submit(&pair->west, "forever", 300000, false),
          second = submit(&pair->west, "forever", 300000, false);
    assert_ok(control_suspend(pair->west.home.control, TENANT_DEFAULT, first));
    assert_ok(control_suspend(pair->west.home.control, TENANT_DEFAULT, second));
    uint64_t sent = assert_moves(pair, first).bytes_sent;
    assert_true(sent > 100000);
    assert_int_equal(assert_moves(pair, second).bytes_sent, 0);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, first));
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, second));
    migration_pair_check(pair);
}

/* ---- what does not come of it ---- */

static Error *change_url(Connection *catalog, void *context) { return nodes_add(catalog, context); }

/* West speaks to east through it from here on. */
static PeerProxy *go_through(MigrationPair *pair) {
    Node node;
    PeerProxy *proxy = peer_proxy_start(pair->east.address);
    assert_ok(nodes_get(pair->west.home.store, "east", &node));
    (void)snprintf(node.url, sizeof node.url, "%s", proxy->url);
    assert_ok(catalog_run(pair->west.home.catalog, change_url, &node));
    return proxy;
}

/* It goes on here, and says why it stayed. */
static void assert_stays(MigrationPair *pair, JobId id, const char *why) {
    MigrationStatus status = migration_move(&pair->west, id, "east");
    assert_int_equal(status.phase, MIGRATION_ABORTED);
    if (!strstr(status.error, why)) fail_msg("%s instead of %s", status.error, why);
    Job job = migration_node_job(&pair->west, id);
    assert_true(job.state == JOB_STATE_QUEUED || job.state == JOB_STATE_SUSPENDED);
    assert_string_equal(job.migrating, "");
    assert_int_equal(job.epoch, 0);
    assert_false(migration_node_departs(&pair->west, id));
}

static Error *set_quota(Connection *catalog, void *context) {
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_STORE_BYTES, *(int64_t *)context);
}

static void test_departure_run_says_why_the_target_refuses(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    migration_node_hurry(&pair->west);
    int64_t quota = 1;
    JobId id = submit(&pair->west, "forever", 100000, false);
    assert_ok(catalog_run(pair->east.home.catalog, set_quota, &quota));
    assert_stays(pair, id, "store_bytes");
    quota = QUOTA_UNLIMITED;
    assert_ok(catalog_run(pair->east.home.catalog, set_quota, &quota));
    migration_node_hide(&pair->east);
    assert_stays(pair, id, "127.0.0.1");
    migration_node_rest(&pair->east);
    migration_node_show(&pair->east);
    assert_stays(pair, id, "takes no jobs");
    migration_node_stop(&pair->east);
    migration_node_start(&pair->east);
    (void)assert_moves(pair, id);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

/* Any one request or answer may be lost: it is asked again, and nothing happens twice. */
static void test_departure_run_asks_again_when_an_answer_is_lost(void **state) {
    (void)state;
    static const char *const verbs[] = {
        "POST /v1/peer/arrivals/", "/missing", "/chunks", "/rehearsal", "/prepare", "/activate"};
    OWN_PAIR(pair) = migration_pair_open();
    PeerProxy *OWN_PROXY(proxy) = go_through(pair);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        for (int lost = PEER_LOSES_REQUEST; lost <= PEER_LOSES_ANSWER; lost++) {
            JobId id = submit(&pair->west, "forever", 100000 + 10 * (int64_t)i + lost, false);
            peer_proxy_set(proxy, verbs[i], (PeerAction)lost, 1, 0, NULL);
            (void)assert_moves(pair, id);
            assert_int_equal(proxy->applied, 1);
            assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
        }
    migration_pair_check(pair);
}

static void restart(void *context) {
    MigrationNode *node = context;
    migration_node_stop(node);
    migration_node_start(node);
}

/* The target loses what it had in memory before each kind of message, or before its answer. */
static void test_departure_run_goes_on_when_the_target_came_back(void **state) {
    (void)state;
    static const char *const verbs[] = {
        "/missing", "/chunks", "/rehearsal", "/prepare", "GET /v1/peer/arrivals/", "/activate"};
    OWN_PAIR(pair) = migration_pair_open();
    PeerProxy *OWN_PROXY(proxy) = go_through(pair);
    proxy->before = restart;
    proxy->context = &pair->east;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        JobId id = submit(&pair->west, "forever", 100000 + (int64_t)i, false);
        bool asks = verbs[i][0] == 'G'; /* after an answer to prepare was lost */
        if (asks) {
            proxy->before = NULL;
            peer_proxy_set(proxy, "/prepare", PEER_LOSES_ANSWER, 1, 0, NULL);
        } else {
            peer_proxy_set(proxy, verbs[i], PEER_LOSES_REQUEST, 1, 0, NULL);
        }
        (void)assert_moves(pair, id);
        assert_int_equal(proxy->applied, 1);
        assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
        proxy->before = restart;
    }
    migration_pair_check(pair);
}

/* While the link is cut for longer than anybody waits. */
static void test_departure_run_gives_up_in_time(void **state) {
    (void)state;
    static const char *const verbs[] = {
        "POST /v1/peer/arrivals/", "/missing", "/chunks", "/rehearsal", "/prepare"};
    OWN_PAIR(pair) = migration_pair_open();
    migration_node_hurry(&pair->west);
    PeerProxy *OWN_PROXY(proxy) = go_through(pair);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        for (int lost = PEER_LOSES_REQUEST; lost <= PEER_LOSES_ANSWER; lost++) {
            JobId id = submit(&pair->west, "forever", 200000 + 10 * (int64_t)i + lost, false);
            peer_proxy_set(proxy, verbs[i], (PeerAction)lost, 1 << 20, 0, NULL);
            if (lost == PEER_LOSES_ANSWER && strstr("/chunks/prepare", verbs[i]))
                (void)assert_moves(pair, id); /* the target says what it has when it is asked */
            else
                assert_stays(pair, id, "127.0.0.1");
            peer_proxy_set(proxy, NULL, PEER_FORWARDS, 0, 0, NULL);
            bool moved = migration_node_state(&pair->west, id) == JOB_STATE_MOVED;
            assert_ok(control_cancel(
                (moved ? &pair->east : &pair->west)->home.control, TENANT_DEFAULT, id));
        }
    migration_pair_settle(pair);
    migration_pair_check(pair);
}

/* It has moved, though the target does not know it yet: nothing takes it back. */
static void test_departure_run_tells_the_target_until_it_knows(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    migration_node_hurry(&pair->west);
    PeerProxy *OWN_PROXY(proxy) = go_through(pair);
    JobId id = submit(&pair->west, "forever", 3, false);
    peer_proxy_set(proxy, "/activate", PEER_LOSES_REQUEST, 1 << 20, 0, NULL);
    MigrationStatus status = migration_move(&pair->west, id, "east");
    assert_int_equal(status.phase, MIGRATION_MOVED);
    assert_true(strstr(status.error, "127.0.0.1") != NULL);
    assert_int_equal(migration_node_state(&pair->west, id), JOB_STATE_MOVED);
    assert_true(migration_node_departs(&pair->west, id));
    peer_proxy_set(proxy, NULL, PEER_FORWARDS, 0, 0, NULL);
    migration_pair_settle(pair);
    assert_int_equal(migration_node_state(&pair->east, id), JOB_STATE_QUEUED);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

/* A target that lies ends the attempt, whatever it says; the job goes on here. */
static void test_departure_run_survives_a_target_that_lies(void **state) {
    (void)state;
    static const struct {
        const char *part, *says, *why;
        int status;
    } lies[] = {
        {"POST /v1/peer/arrivals/", "garbage", "its answer", 200},
        {"POST /v1/peer/arrivals/", "[]", "its answer", 200},
        {"POST /v1/peer/arrivals/", "{\"executable\":7}", "its answer", 200},
        {"POST /v1/peer/arrivals/", "{\"error\":\"no\"}", "", 403},
        {"POST /v1/peer/arrivals/", "", "", 500},
        {"/missing", "", "its answer", 200},
        {"/missing", "{}", "its answer", 200},
        {"/missing", "{\"missing\":\"\"}", "digits", 200},
        {"/missing", "{\"missing\":\"11111111111111111111\"}", "digits", 200},
        {"/missing", "{\"missing\":\"x\"}", "", 200},
        {"/missing", "{\"missing\":\"0\"}", "", 200}, /* it has them all */
        {"/chunks", "garbage", "its answer", 200},
        {"/rehearsal", "{", "its answer", 200},
        {"/prepare", "{\"error\":{\"code\":\"CORRUPT\",\"message\":\"no\"}}", "", 400},
        {"/prepare", "\x01", "its answer", 200},
    };
    OWN_PAIR(pair) = migration_pair_open();
    PeerProxy *OWN_PROXY(proxy) = go_through(pair);
    JobId id = submit(&pair->west, "forever", 100000, false);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        peer_proxy_set(proxy, lies[i].part, PEER_SAYS, 1 << 20, lies[i].status, lies[i].says);
        MigrationStatus status = migration_move(&pair->west, id, "east");
        if (status.phase != MIGRATION_ABORTED || !strstr(status.error, lies[i].why) ||
            !*status.error)
            fail_msg("case %zu: %s", i, status.error);
        assert_true(proxy->applied > 0);
        assert_int_equal(migration_node_state(&pair->west, id), JOB_STATE_QUEUED);
        assert_int_equal(migration_node_state(&pair->east, id), JOB_STATE_NONE);
    }
    peer_proxy_set(proxy, NULL, PEER_FORWARDS, 0, 0, NULL);
    (void)assert_moves(pair, id);
    assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

int test_departure_run(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_departure_run_brings_the_model_that_is_missing),
        cmocka_unit_test(test_departure_run_sends_no_chunk_that_is_there),
        cmocka_unit_test(test_departure_run_says_why_the_target_refuses),
        cmocka_unit_test(test_departure_run_asks_again_when_an_answer_is_lost),
        cmocka_unit_test(test_departure_run_goes_on_when_the_target_came_back),
        cmocka_unit_test(test_departure_run_gives_up_in_time),
        cmocka_unit_test(test_departure_run_tells_the_target_until_it_knows),
        cmocka_unit_test(test_departure_run_survives_a_target_that_lies),
        cmocka_unit_test(test_departure_run_moves_a_job_that_runs),
        cmocka_unit_test(test_departure_run_moves_a_batch_in_its_middle),
        cmocka_unit_test(test_departure_run_moves_a_suspended_job_that_stays_suspended),
        cmocka_unit_test(test_departure_run_moves_a_job_that_waits),
    };
    return cmocka_run_group_tests_name("departure_run", tests, NULL, NULL);
}
