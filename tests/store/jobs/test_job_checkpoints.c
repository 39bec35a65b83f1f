#include <string.h>

#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static void test_job_checkpoints_keep_the_newest(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(JobCheckpointList, list) = NULL;
    JobCheckpoint checkpoint;
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_error(job_checkpoints_get(store, TENANT_DEFAULT, id, 0, &checkpoint), ERROR_NOT_FOUND,
        "has no checkpoint");
    expect_ok(fixture_add_output(store, id, 0, "o"));
    for (int64_t i = 1; i <= 5; i++) {
        expect_ok(fixture_add_checkpoint(store, id, "12345", i, i > 2, 3, &number));
        assert_int_equal(number, i);
    }
    expect_ok(job_checkpoints_list(store, TENANT_DEFAULT, id, &list));
    assert_int_equal(list->count, 3);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(list->items[i].number, i + 3);
        assert_int_equal(list->items[i].items_done, i + 3);
        assert_int_equal(list->items[i].outputs, 1);
        assert_int_equal(list->items[i].bytes_stored, 5 + ROW_COST_CONTENT);
    }
    expect_ok(job_checkpoints_get(store, TENANT_DEFAULT, id, 0, &checkpoint));
    assert_int_equal(checkpoint.number, 5);
    expect_ok(job_checkpoints_get(store, TENANT_DEFAULT, id, 4, &checkpoint));
    assert_int_equal(checkpoint.number, 4);
    expect_error(job_checkpoints_get(store, TENANT_DEFAULT, id, 2, &checkpoint), ERROR_NOT_FOUND,
        "has no checkpoint 2");
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.items_done, 5);
    assert_true(job.checkpoint_created > 1e9);
    assert_int_equal(job.bytes_stored, 6 + 1 + 15 + 5 * ROW_COST_CONTENT + ROW_COST_JOB);
    fixture_expect_clean(store);
}

static int64_t count_kept(Store *store, JobId id) {
    OWN(JobCheckpointList, list) = NULL;
    expect_ok(job_checkpoints_list(store, TENANT_DEFAULT, id, &list));
    return (int64_t)list->count;
}

static int64_t count_of_tenant(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant.checkpoints;
}

/* A job's newest is stored whatever the quota; its older ones make room, and new jobs are refused.
 */
static void test_job_checkpoints_stay_within_their_quota(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(JobEventList, events) = NULL;
    int64_t number;
    JobId first = fixture_submit(store, TENANT_DEFAULT), second, fork;
    second = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(
        fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_CHECKPOINTS, 4)));
    for (int64_t i = 1; i <= 3; i++)
        expect_ok(fixture_add_checkpoint(store, first, "1", i, 0, 3, &number));
    assert_int_equal(count_of_tenant(store), 3);
    for (int64_t i = 1; i <= 3; i++)
        expect_ok(fixture_add_checkpoint(store, second, "2", i, 0, 3, &number));
    assert_int_equal(count_kept(store, first), 3);
    assert_int_equal(count_kept(store, second), 1);
    assert_int_equal(count_of_tenant(store), 4);
    expect_ok(job_events_list(store, TENANT_DEFAULT, second, 0, &events));
    assert_non_null(strstr(events->items[events->count - 1].why,
        "beyond its quota checkpoints: 1 of this job's checkpoints stay, not 3"));
    expect_error(fixture_fork(store, first, 0, &fork), ERROR_EXHAUSTED,
        "its quota checkpoints is 4, and this would make it 5");
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, first, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, first)));
    assert_int_equal(count_of_tenant(store), 1);
    expect_ok(fixture_fork(store, second, 0, &fork));
    assert_int_equal(count_of_tenant(store), 2);
    fixture_expect_clean(store);
}

/* Checkpoints may go beyond store_bytes, but only with what a job needs to go on. */
static void test_job_checkpoints_beyond_the_store_quota_are_the_newest(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    for (int64_t i = 1; i <= 2; i++)
        expect_ok(fixture_add_checkpoint(store, id, "12345", i, 0, 9, &number));
    assert_int_equal(count_kept(store, id), 2);
    expect_ok(
        fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, 1)));
    for (int64_t i = 3; i <= 4; i++)
        expect_ok(fixture_add_checkpoint(store, id, "12345", i, 0, 9, &number));
    assert_int_equal(count_kept(store, id), 1);
    assert_int_equal(number, 4);
    fixture_expect_clean(store);
}

static void test_job_checkpoints_refuse_what_is_not_there(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_error(fixture_add_checkpoint(store, id, "x", 1, 1, 1, &number), ERROR_INVALID,
        "behind 1 outputs, 0 are stored");
    expect_error(fixture_add_checkpoint(store, id, "x", 1, -1, 1, &number), ERROR_INVALID, "-1");
    expect_error(fixture_add_checkpoint(store, id, "x", 11, 0, 1, &number), ERROR_INVALID, "11");
    expect_error(fixture_add_checkpoint(store, id, "x", -1, 0, 1, &number), ERROR_INVALID, "-1");
    expect_error(
        fixture_add_checkpoint(store, id, "x", 1, 0, 0, &number), ERROR_INVALID, "0 check");
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).checkpoint_last, 0);
    fixture_expect_clean(store);
}

/* Outputs, the checkpoint behind them and the state in one piece of work. */
static void test_job_checkpoints_commit_with_their_outputs_or_not_at_all(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId id = fixture_submit_release(store, TENANT_DEFAULT, JOB_RELEASE_CHECKPOINT);
    JobContent content = fixture_content(TENANT_DEFAULT, "o");
    for (int whole = 0; whole < 2; whole++) {
        Connection *catalog = fixture_begin(store);
        expect_ok(job_outputs_add(catalog, TENANT_DEFAULT, id, 0, &content, 1, 1, NULL));
        expect_ok(job_checkpoints_add(catalog, TENANT_DEFAULT, id, &content, 1, 1, 1, &number));
        Error *error = jobs_transition(
            catalog, TENANT_DEFAULT, id, whole ? JOB_STATE_SUSPENDED : JOB_STATE_IN_DOUBT, NULL);
        error = fixture_end(error);
        if (whole)
            expect_ok(error);
        else
            expect_error(error, ERROR_CONFLICT, "can't become in_doubt");
        Job job = fixture_get(store, TENANT_DEFAULT, id);
        assert_int_equal(job.checkpoint_last, whole);
        assert_int_equal(job.outputs_visible, whole);
        assert_int_equal(job.state, whole ? JOB_STATE_SUSPENDED : JOB_STATE_QUEUED);
    }
    fixture_expect_clean(store);
}

/* A tenant over its quota may still save its work. */
static void test_job_checkpoints_are_beyond_quotas(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(
        fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, 1)));
    expect_error(fixture_add_output(store, id, 0, "x"), ERROR_EXHAUSTED, "store_bytes is 1");
    expect_ok(fixture_add_checkpoint(store, id, "x", 1, 0, 1, &number));
    fixture_expect_clean(store);
}

TEST_GROUP(job_checkpoints, cmocka_unit_test(test_job_checkpoints_keep_the_newest),
    cmocka_unit_test(test_job_checkpoints_stay_within_their_quota),
    cmocka_unit_test(test_job_checkpoints_beyond_the_store_quota_are_the_newest),
    cmocka_unit_test(test_job_checkpoints_refuse_what_is_not_there),
    cmocka_unit_test(test_job_checkpoints_commit_with_their_outputs_or_not_at_all),
    cmocka_unit_test(test_job_checkpoints_are_beyond_quotas))
