#include <string.h>

#include "store/jobs/departures.h"
#include "store/database/row_costs.h"
#include "tests/store/job_fixtures.h"

static void test_jobs_get_answers_what_was_submitted(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    ByteWriter OWN_BYTES(policy) = {0};
    TenantId tenant;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_true(job_id_equal(job.id, id));
    assert_int_equal(job.tenant, TENANT_DEFAULT);
    assert_int_equal(job.state, JOB_STATE_QUEUED);
    assert_int_equal(job.priority, 1);
    assert_int_equal(job.items_total, 10);
    assert_int_equal(job.items_done, 0);
    assert_string_equal(job.model, "m@1");
    assert_true(job.submitted > 1e9 && isnan(job.started) && isnan(job.finished));
    assert_true(isnan(job.deadline) && isnan(job.checkpoint_created));
    assert_int_equal(job.bytes_stored, 6 + ROW_COST_CONTENT + ROW_COST_JOB);
    expect_ok(jobs_get_policy(store, TENANT_DEFAULT, id, &policy));
    assert_memory_equal(policy.data, "policy", 6);
    expect_ok(jobs_find_tenant(store, id, &tenant));
    assert_int_equal(tenant, TENANT_DEFAULT);
    fixture_expect_clean(store);
}

static size_t count_jobs(Store *store, TenantId tenant, JobState state) {
    OWN(JobList, list) = NULL;
    expect_ok(jobs_list(store, tenant, state, 0, JOBS_LISTED_MAX, &list));
    for (size_t i = 0; i < list->count; i++) {
        assert_true(state == JOB_STATE_NONE || list->items[i].state == state);
        assert_true(tenant == JOBS_OF_ALL_TENANTS || list->items[i].tenant == tenant);
    }
    return list->count;
}

static void test_jobs_list_finds_by_tenant_and_state(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    (void)fixture_submit(store, TENANT_DEFAULT);
    JobId b = fixture_submit(store, TENANT_DEFAULT), c = fixture_submit(store, ada);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, b, JOB_STATE_FAILED, "no")));
    expect_ok(
        fixture_end(jobs_transition(fixture_begin(store), ada, c, JOB_STATE_SUSPENDED, NULL)));
    assert_int_equal(count_jobs(store, TENANT_DEFAULT, JOB_STATE_NONE), 2);
    assert_int_equal(count_jobs(store, TENANT_DEFAULT, JOB_STATE_QUEUED), 1);
    assert_int_equal(count_jobs(store, TENANT_DEFAULT, JOB_STATE_FAILED), 1);
    assert_int_equal(count_jobs(store, TENANT_DEFAULT, JOB_STATE_SUSPENDED), 0);
    assert_int_equal(count_jobs(store, ada, JOB_STATE_SUSPENDED), 1);
    assert_int_equal(count_jobs(store, JOBS_OF_ALL_TENANTS, JOB_STATE_NONE), 3);
    assert_int_equal(count_jobs(store, JOBS_OF_ALL_TENANTS, JOB_STATE_FAILED), 1);
}

/* Every job is on one page, also when the last one of a page is removed before the next is asked.
 */
static void test_jobs_list_goes_on_page_by_page(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    for (int i = 0; i < 5; i++) (void)fixture_submit(store, TENANT_DEFAULT);
    int64_t after = 0;
    size_t seen = 0;
    for (;;) {
        OWN(JobList, page) = NULL;
        expect_ok(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, after, 2, &page));
        if (page->count == 0) break;
        seen += page->count;
        assert_true(page->items[0].row > after);
        const Job *last = &page->items[page->count - 1];
        after = last->row;
        expect_ok(fixture_end(jobs_transition(
            fixture_begin(store), TENANT_DEFAULT, last->id, JOB_STATE_CANCELLED, NULL)));
        expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, last->id)));
    }
    assert_int_equal(seen, 5);
}

/* Each function, asked for another tenant's job: the code and the words for one that never was. */
static void test_jobs_of_another_tenant_do_not_exist(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId eve = fixture_add_tenant(store, "eve");
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    int64_t number;
    expect_ok(fixture_add_output(store, id, 0, "secret"));
    expect_ok(fixture_add_checkpoint(store, id, "secret", 1, 1, 3, &number));
    JobContent content = fixture_content(eve, "eve's");
    JobProgress progress = {-1, NAN, NAN, NULL};
    char none[64];
    char name[JOB_ID_TEXT_SIZE];
    job_id_print(id, name);
    (void)snprintf(none, sizeof none, "no job %s", name);
    Job job;
    ByteWriter OWN_BYTES(policy) = {0};
    OWN(JobEventList, events) = NULL;
    OWN(JobOutputList, outputs) = NULL;
    OWN(JobCheckpointList, checkpoints) = NULL;
    JobCheckpoint checkpoint;
    Departure departure;
    JobCopy copy = {0};
    bool done;
    OWN(StoredContent, stored) = NULL;
    expect_error(jobs_get(store, eve, id, &job), ERROR_NOT_FOUND, none);
    expect_error(jobs_get_policy(store, eve, id, &policy), ERROR_NOT_FOUND, none);
    expect_error(job_events_list(store, eve, id, 0, &events), ERROR_NOT_FOUND, none);
    expect_error(job_outputs_list(store, eve, id, 0, &outputs), ERROR_NOT_FOUND, none);
    expect_error(job_checkpoints_list(store, eve, id, &checkpoints), ERROR_NOT_FOUND, none);
    expect_error(job_checkpoints_get(store, eve, id, 0, &checkpoint), ERROR_NOT_FOUND, none);
    for (int kind = JOB_CONTENT_INPUTS; kind <= JOB_CONTENT_CHECKPOINT; kind++)
        for (int64_t i = 0; i < 2; i++)
            expect_error(stored_content_open(store, eve, id, (JobContentKind)kind, i, &stored),
                ERROR_NOT_FOUND, none);
    Connection *catalog = fixture_begin(store);
    expect_error(
        jobs_transition(catalog, eve, id, JOB_STATE_CANCELLED, NULL), ERROR_NOT_FOUND, none);
    expect_error(jobs_set_progress(catalog, eve, id, &progress), ERROR_NOT_FOUND, none);
    expect_error(jobs_add_note(catalog, eve, id, "was here"), ERROR_NOT_FOUND, none);
    expect_error(departures_begin(catalog, eve, id, "n2", 2, &departure), ERROR_NOT_FOUND, none);
    expect_error(departures_abort(catalog, eve, id, 1, NULL), ERROR_NOT_FOUND, none);
    expect_error(departures_end(catalog, eve, id, 1), ERROR_NOT_FOUND, none);
    expect_error(jobs_remove(catalog, eve, id), ERROR_NOT_FOUND, none);
    expect_error(jobs_drop_contents(catalog, eve, id), ERROR_NOT_FOUND, none);
    expect_error(jobs_fork(catalog, eve, id, 0, &copy), ERROR_NOT_FOUND, none);
    expect_error(
        job_outputs_add(catalog, eve, id, 1, &content, 1, -1, NULL), ERROR_NOT_FOUND, none);
    expect_error(job_outputs_rewind(catalog, eve, id, &done), ERROR_NOT_FOUND, none);
    expect_error(
        job_checkpoints_add(catalog, eve, id, &content, 1, 1, 1, &number), ERROR_NOT_FOUND, none);
    expect_ok(fixture_end(NULL));
    assert_int_equal(count_jobs(store, eve, JOB_STATE_NONE), 0);
    /* And the words for one that does not exist at all. */
    JobId nobody = {id.node, id.number + 100};
    job_id_print(nobody, name);
    (void)snprintf(none, sizeof none, "no job %s", name);
    expect_error(jobs_get(store, TENANT_DEFAULT, nobody, &job), ERROR_NOT_FOUND, none);
    TenantId tenant;
    expect_error(jobs_find_tenant(store, nobody, &tenant), ERROR_NOT_FOUND, none);
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).event_count, 3);
    fixture_expect_clean(store);
}

/* Each state once, and queued twice: those on the way to it are counted in it alone. */
static void move(Store *store, JobId id, JobState state) {
    expect_ok(fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, NULL)));
}

/* Each state once, and queued twice: those on the way to it are counted in it alone. */

static void test_jobs_count_knows_every_state(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    size_t counts[JOB_STATE_COUNT];
    expect_ok(jobs_count(store, counts));
    for (int i = 0; i < JOB_STATE_COUNT; i++) assert_int_equal(counts[i], 0);
    JobId other = fixture_submit(store, fixture_add_tenant(store, "ada"));
    assert_true(other.number > 0);
    fixture_submit(store, TENANT_DEFAULT);
    for (int i = 1; i < JOB_STATE_COUNT; i++)
        if (job_state_allows(JOB_STATE_QUEUED, (JobState)i))
            move(store, fixture_submit(store, TENANT_DEFAULT), (JobState)i);
    expect_ok(jobs_count(store, counts));
    assert_int_equal(counts[JOB_STATE_QUEUED], 2);
    for (int i = 1; i < JOB_STATE_COUNT; i++)
        if (i != JOB_STATE_QUEUED)
            assert_int_equal(counts[i], job_state_allows(JOB_STATE_QUEUED, (JobState)i));
}

TEST_GROUP(jobs, cmocka_unit_test(test_jobs_get_answers_what_was_submitted),
    cmocka_unit_test(test_jobs_list_finds_by_tenant_and_state),
    cmocka_unit_test(test_jobs_list_goes_on_page_by_page),
    cmocka_unit_test(test_jobs_of_another_tenant_do_not_exist),
    cmocka_unit_test(test_jobs_count_knows_every_state))
