#include <string.h>

#include "scheduler/migration/node_drain.h"
#include "tests/scheduler/migration_fixtures.h"

enum { JOBS = 6 };

static void await_end(NodeDrain *drain, NodeDrainStatus *out_status) {
    do {
        fixture_pause_ms(2);
        node_drain_get_status(drain, out_status);
    } while (!out_status->over);
}

static void submit_some(MigrationNode *node, JobId ids[JOBS]) {
    for (int i = 0; i < JOBS; i++)
        assert_ok(control_fixture_submit(&node->home, "forever", 1, false, NULL, &ids[i]));
}

static void cancel_all(MigrationPair *pair, const JobId ids[JOBS]) {
    for (int i = 0; i < JOBS; i++) {
        bool east = migration_node_state(&pair->west, ids[i]) == JOB_STATE_MOVED;
        MigrationNode *node = east ? &pair->east : &pair->west;
        assert_ok(control_cancel(node->home.control, TENANT_DEFAULT, ids[i]));
    }
}

/* All that is unfinished goes, and nothing new is taken before the drain is ended. */
static void test_node_drain_drains_a_node(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN(NodeDrain, drain) = NULL;
    NodeDrainStatus status;
    JobId ids[JOBS], refused;
    Job job;
    Control *control = pair->west.home.control;
    assert_ok(node_drain_create(pair->west.migrations, control, pair->west.number, &drain));
    node_drain_get_status(drain, &status);
    assert_true(status.over && !status.draining);
    submit_some(&pair->west, ids);
    assert_ok(control_suspend(control, TENANT_DEFAULT, ids[1]));
    assert_ok(control_cancel(control, TENANT_DEFAULT, ids[2]));
    assert_fails(NOT_FOUND, node_drain_begin(drain, "nowhere"));
    node_drain_get_status(drain, &status);
    assert_false(status.draining);
    assert_ok(node_drain_begin(drain, "east"));
    await_end(drain, &status);
    assert_true(status.draining);
    assert_int_equal(status.jobs, JOBS - 1);
    assert_int_equal(status.moved, JOBS - 1);
    assert_int_equal(status.stayed, 0);
    assert_string_equal(status.error, "");
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(migration_node_state(&pair->west, ids[i]),
            i == 2 ? JOB_STATE_CANCELLED : JOB_STATE_MOVED);
    job = migration_node_job(&pair->east, ids[1]);
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_fails_saying(UNREACHABLE, "being drained",
        control_fixture_submit(&pair->west.home, "four", 1, false, NULL, &refused));
    MigrationStatus back = migration_move(&pair->east, ids[0], "west");
    assert_int_equal(back.phase, MIGRATION_ABORTED);
    assert_non_null(strstr(back.error, "being drained"));
    node_drain_end(drain);
    node_drain_get_status(drain, &status);
    assert_false(status.draining);
    assert_ok(control_fixture_submit(&pair->west.home, "four", 1, false, NULL, &refused));
    control_fixture_wait(&pair->west.home, refused, JOB_STATE_SUCCEEDED, &job);
    for (int i = 0; i < JOBS; i++)
        if (i != 2) assert_ok(control_cancel(pair->east.home.control, TENANT_DEFAULT, ids[i]));
    migration_pair_check(pair);
}

/* To whoever answers; nobody does: nothing is refused. */
static void test_node_drain_needs_a_node_that_answers(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    migration_node_hurry(&pair->west);
    OWN(NodeDrain, drain) = NULL;
    NodeDrainStatus status;
    JobId id;
    Job job;
    Control *control = pair->west.home.control;
    assert_ok(node_drain_create(pair->west.migrations, control, pair->west.number, &drain));
    migration_node_hide(&pair->east);
    assert_fails_saying(UNREACHABLE, "no node answers", node_drain_begin(drain, NULL));
    assert_ok(control_fixture_submit(&pair->west.home, "four", 1, false, NULL, &id));
    control_fixture_wait(&pair->west.home, id, JOB_STATE_SUCCEEDED, &job);
    assert_ok(control_fixture_submit(&pair->west.home, "forever", 1, false, NULL, &id));
    assert_ok(node_drain_begin(drain, "east")); /* by name: it is tried, and stays */
    await_end(drain, &status);
    assert_int_equal(status.moved, 0);
    assert_int_equal(status.stayed, 1);
    assert_true(strlen(status.error) > 0);
    assert_ok(control_cancel(control, TENANT_DEFAULT, id)); /* it went on here */
    migration_node_show(&pair->east);
    migration_pair_check(pair);
}

typedef struct Movers {
    size_t count;
} Movers;

static Error *count_mover(void *context, JobId job, const char *node) {
    (void)job;
    assert_string_equal(node, "east");
    ((Movers *)context)->count++;
    return NULL;
}

/* Until neither has more for each device than the other; the same again moves nothing. The peers
 * of this fixture say that they have one device and no jobs. */
static void test_node_drain_rebalances(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    OWN(NodeDrain, drain) = NULL;
    Movers movers = {0};
    JobId ids[JOBS];
    Control *control = pair->west.home.control;
    assert_ok(node_drain_create(pair->west.migrations, control, pair->west.number, &drain));
    assert_ok(node_drain_rebalance(drain, count_mover, &movers));
    assert_int_equal(movers.count, 0);
    submit_some(&pair->west, ids);
    assert_ok(node_drain_rebalance(drain, count_mover, &movers));
    assert_int_equal(movers.count, JOBS / 2);
    for (int i = 0; i < JOBS; i++)
        if (migration_node_departs(&pair->west, ids[i])) (void)migration_wait(&pair->west, ids[i]);
    size_t moved = 0;
    for (int i = 0; i < JOBS; i++)
        moved += migration_node_state(&pair->west, ids[i]) == JOB_STATE_MOVED;
    assert_int_equal(moved, JOBS / 2);
    cancel_all(pair, ids);
    migration_pair_check(pair);
}

int test_node_drain(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_drain_drains_a_node),
        cmocka_unit_test(test_node_drain_needs_a_node_that_answers),
        cmocka_unit_test(test_node_drain_rebalances),
    };
    return cmocka_run_group_tests_name("node_drain", tests, NULL, NULL);
}
