#include "store/jobs/verifications.h"

#include <string.h>

#include "tests/store/job_fixtures.h"

static Error *begin(Store *store, TenantId tenant, JobId job, int64_t checkpoint, JobId *out) {
    const VerificationRequest request = {
        .job = job, .checkpoint = checkpoint, .priority = 2, .policy = "other", .policy_size = 5};
    JobCopy OWN_JOB_COPY(copy) = {0};
    while (!copy.done)
        TRY(fixture_end(verifications_begin(fixture_begin(store), tenant, &request, &copy)));
    *out = copy.id;
    return NULL;
}

static Error *end(Store *store, const Verification *judged) {
    return fixture_end(verifications_end(fixture_begin(store), TENANT_DEFAULT, judged));
}

static void enter(Store *store, JobId id, JobState state, const char *why) {
    expect_ok(fixture_end(jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, state, why)));
}

static Verification look(Store *store, JobId replay) {
    Verification it;
    expect_ok(verifications_get(store, TENANT_DEFAULT, replay, &it));
    return it;
}

static void expect_gone(Store *store, JobId replay) {
    Verification it;
    Job job;
    expect_error(verifications_get(store, TENANT_DEFAULT, replay, &it), ERROR_NOT_FOUND, "no job ");
    expect_error(jobs_get(store, TENANT_DEFAULT, replay, &job), ERROR_NOT_FOUND, "no job ");
}

/* Its newest event. */
static void expect_event(Store *store, JobId id, JobEventKind kind, const char *words) {
    OWN(JobEventList, events) = NULL;
    expect_ok(job_events_list(store, TENANT_DEFAULT, id, 0, &events));
    const JobEvent *event = &events->items[events->count - 1];
    assert_int_equal(event->kind, kind);
    assert_string_equal(event->why, words);
}

/* Outputs zero to two, a checkpoint behind zero. */
static JobId make_job(Store *store) {
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(fixture_add_output(store, id, 0, "zero"));
    expect_ok(fixture_add_checkpoint(store, id, "first", 1, 1, 5, &number));
    expect_ok(fixture_add_output(store, id, 1, "one"));
    expect_ok(fixture_add_output(store, id, 2, "two"));
    return id;
}

/* The job runs on; what it made since is not waited for. */
static void test_verifications_find_equal_outputs_of_a_running_job(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId replay, id = make_job(store);
    ByteWriter OWN_BYTES(policy) = {0};
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &replay));
    expect_ok(fixture_add_output(store, id, 3, "three"));
    Verification it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_RUNNING);
    assert_int_equal(it.replay.priority, 2);
    assert_true(isnan(it.replay.deadline));
    expect_ok(jobs_get_policy(store, TENANT_DEFAULT, replay, &policy));
    assert_memory_equal(policy.data, "other", 5);
    assert_true(it.has_job && job_id_equal(it.job.id, id));
    assert_int_equal(it.checkpoint, 1);
    assert_int_equal(it.output_begin, 1);
    assert_int_equal(it.output_end, 3);
    assert_int_equal(it.compared, 0);
    expect_ok(fixture_add_output(store, replay, 1, "one"));
    it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_RUNNING);
    assert_int_equal(it.compared, 1);
    expect_ok(fixture_add_output(store, replay, 2, "two"));
    it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_EQUAL);
    assert_int_equal(it.compared, 2);
    assert_int_equal(it.sequence, -1);
    expect_error(end(store, &it), ERROR_CONFLICT, "whose replay is queued");
    enter(store, replay, JOB_STATE_CANCELLED, NULL);
    it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_EQUAL);
    expect_ok(end(store, &it));
    expect_gone(store, replay);
    expect_error(end(store, &it), ERROR_NOT_FOUND, "no job ");
    expect_event(store, id, JOB_EVENT_NOTE,
        "verified from checkpoint 1: outputs 1 to 2 came out the same again");
    fixture_expect_clean(store);
}

static void test_verifications_find_the_first_output_that_differs(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId replay, id = make_job(store);
    expect_ok(fixture_add_output(store, id, 3, "three"));
    expect_ok(begin(store, TENANT_DEFAULT, id, 1, &replay));
    expect_ok(fixture_add_output(store, replay, 1, "one"));
    expect_ok(fixture_add_output(store, replay, 2, "TWO"));
    Verification it = look(store, replay); /* the replay need not go on */
    assert_int_equal(it.state, VERIFICATION_DIFFERS);
    assert_int_equal(it.sequence, 2);
    enter(store, replay, JOB_STATE_CANCELLED, NULL);
    it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_DIFFERS);
    expect_ok(end(store, &it));
    expect_event(store, id, JOB_EVENT_DIVERGED,
        "output 2 came out differently when it was computed again from checkpoint 1; the first "
        "one stays");
    assert_string_equal(fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 2), "two");
    fixture_expect_clean(store);
}

/* The digest beside them still is that of the first bytes. */
static void test_verifications_look_at_the_bytes_themselves(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId replay, id = make_job(store);
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &replay));
    fixture_run_sql(&home, "catalog.db",
        "UPDATE contents SET bytes = x'7477aa' WHERE kind = 2 AND sequence = 2");
    expect_ok(fixture_add_output(store, replay, 1, "one"));
    expect_ok(fixture_add_output(store, replay, 2, "two"));
    Verification it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_DIFFERS);
    assert_int_equal(it.sequence, 2);
}

/* A job that is whole has an end, too: the replay has to find the same one. */
static void test_verifications_want_the_whole_of_a_job_that_succeeded(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId same, fewer, more, id = make_job(store);
    enter(store, id, JOB_STATE_SUCCEEDED, NULL);
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &same));
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &fewer));
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &more));
    const JobId replays[] = {same, fewer, more};
    for (size_t i = 0; i < 3; i++) expect_ok(fixture_add_output(store, replays[i], 1, "one"));
    expect_ok(fixture_add_output(store, same, 2, "two"));
    expect_ok(fixture_add_output(store, more, 2, "two"));
    assert_int_equal(look(store, same).state, VERIFICATION_RUNNING);
    expect_ok(fixture_add_output(store, more, 3, "three"));
    for (size_t i = 0; i < 3; i++) enter(store, replays[i], JOB_STATE_SUCCEEDED, NULL);
    assert_int_equal(look(store, same).state, VERIFICATION_EQUAL);
    Verification it = look(store, fewer);
    assert_int_equal(it.state, VERIFICATION_DIFFERS);
    assert_int_equal(it.sequence, 2);
    it = look(store, more);
    assert_int_equal(it.state, VERIFICATION_DIFFERS);
    assert_int_equal(it.sequence, 3);
    expect_ok(end(store, &it));
    expect_gone(store, more);
}

static void test_verifications_fail_with_their_replay(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId replay, other, id = make_job(store);
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &replay));
    enter(store, replay, JOB_STATE_FAILED, "no memory");
    Verification it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_FAILED);
    assert_string_equal(it.why, "the replay failed: no memory");
    expect_ok(end(store, &it));
    expect_event(
        store, id, JOB_EVENT_NOTE, "not verified from checkpoint 1: the replay failed: no memory");
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &other));
    enter(store, id, JOB_STATE_CANCELLED, NULL);
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    it = look(store, other);
    assert_int_equal(it.state, VERIFICATION_FAILED);
    assert_false(it.has_job);
    enter(store, other, JOB_STATE_CANCELLED, NULL);
    expect_ok(end(store, &it));
    expect_gone(store, other);
    fixture_expect_clean(store);
}

/* What went into a file keeps its tombstone, which replays nothing any more. */
static void test_verifications_leave_tombstones(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId replay, id = make_job(store);
    expect_ok(begin(store, TENANT_DEFAULT, id, 0, &replay));
    enter(store, replay, JOB_STATE_SUSPENDED, NULL);
    enter(store, replay, JOB_STATE_RELEASED, NULL);
    Verification it = look(store, replay);
    assert_int_equal(it.state, VERIFICATION_FAILED);
    expect_ok(end(store, &it));
    expect_error(
        verifications_get(store, TENANT_DEFAULT, replay, &it), ERROR_NOT_FOUND, "replays no other");
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, replay).state, JOB_STATE_RELEASED);
}

static void test_verifications_refuse_what_cannot_be_compared(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Verification it;
    int64_t number;
    JobId replay, id = fixture_submit(store, TENANT_DEFAULT);
    TenantId eve = fixture_add_tenant(store, "eve");
    expect_error(begin(store, TENANT_DEFAULT, id, 0, &replay), ERROR_NOT_FOUND,
        "has no checkpoint to replay it from");
    expect_ok(fixture_add_checkpoint(store, id, "first", 1, 0, 5, &number));
    expect_error(begin(store, TENANT_DEFAULT, id, 0, &replay), ERROR_CONFLICT,
        "has no output stored behind checkpoint 1");
    expect_ok(fixture_add_output(store, id, 0, "zero"));
    expect_error(
        begin(store, TENANT_DEFAULT, id, 7, &replay), ERROR_NOT_FOUND, "has no checkpoint 7");
    expect_error(begin(store, eve, id, 0, &replay), ERROR_NOT_FOUND, "no job ");
    expect_error(
        verifications_get(store, TENANT_DEFAULT, id, &it), ERROR_NOT_FOUND, "replays no other");
    expect_ok(begin(store, TENANT_DEFAULT, id, 1, &replay));
    expect_error(verifications_get(store, eve, replay, &it), ERROR_NOT_FOUND, "no job ");
    enter(store, id, JOB_STATE_SUSPENDED, NULL);
    enter(store, id, JOB_STATE_RELEASED, NULL);
    expect_error(begin(store, TENANT_DEFAULT, id, 0, &replay), ERROR_CONFLICT,
        "is released; it is verified where it went");
    fixture_expect_clean(store);
}

static void test_verifications_are_listed_page_by_page(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    VerificationName names[2];
    JobId replays[3], id = make_job(store);
    size_t count;
    for (size_t i = 0; i < 3; i++) expect_ok(begin(store, TENANT_DEFAULT, id, 0, &replays[i]));
    expect_ok(verifications_list(store, 0, 2, names, &count));
    assert_int_equal(count, 2);
    assert_true(job_id_equal(names[0].replay, replays[0]));
    assert_int_equal(names[1].tenant, TENANT_DEFAULT);
    expect_ok(verifications_list(store, names[1].row, 2, names, &count));
    assert_int_equal(count, 1);
    assert_true(job_id_equal(names[0].replay, replays[2]));
}

TEST_GROUP(verifications, cmocka_unit_test(test_verifications_find_equal_outputs_of_a_running_job),
    cmocka_unit_test(test_verifications_find_the_first_output_that_differs),
    cmocka_unit_test(test_verifications_look_at_the_bytes_themselves),
    cmocka_unit_test(test_verifications_want_the_whole_of_a_job_that_succeeded),
    cmocka_unit_test(test_verifications_fail_with_their_replay),
    cmocka_unit_test(test_verifications_leave_tombstones),
    cmocka_unit_test(test_verifications_refuse_what_cannot_be_compared),
    cmocka_unit_test(test_verifications_are_listed_page_by_page))
