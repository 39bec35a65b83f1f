#include <string.h>

#include "store/database/row_costs.h"
#include "tests/store/removal_fixtures.h"

static void expect_events(Store *store, JobId id, const char *expected) {
    TextBuilder OWN_TEXT(text) = {0};
    fixture_print_events(store, TENANT_DEFAULT, id, &text);
    assert_string_equal(text_builder_get(&text), expected);
}

static Error *add_three(Store *store, JobId id, int64_t first, const char *const texts[3],
    int64_t items_done, JobOutputsResult *result) {
    JobContent contents[3];
    for (int i = 0; i < 3; i++) contents[i] = fixture_content(TENANT_DEFAULT, texts[i]);
    return fixture_end(job_outputs_add(
        fixture_begin(store), TENANT_DEFAULT, id, first, contents, 3, items_done, result));
}

static size_t count_listed(Store *store, JobId id, int64_t begin) {
    OWN(JobOutputList, list) = NULL;
    expect_ok(job_outputs_list(store, TENANT_DEFAULT, id, begin, &list));
    for (size_t i = 0; i < list->count; i++)
        assert_int_equal(list->items[i].sequence, begin + (int64_t)i);
    return list->count;
}

static void test_job_outputs_are_visible_once_they_are_logged(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobOutputsResult result;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 3, &result));
    assert_int_equal(result.added, 3);
    expect_ok(fixture_add_output(store, id, 3, ""));
    assert_int_equal(count_listed(store, id, 0), 4);
    assert_int_equal(count_listed(store, id, 3), 1);
    assert_int_equal(count_listed(store, id, 4), 0);
    assert_string_equal(fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 2), "c");
    assert_string_equal(fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 3), "");
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).items_done, 3);
    expect_events(store, id, "state queued, output queued 0-3, output queued 3-4");
    fixture_expect_clean(store);
}

/* A replay after a crash: what is equal is dropped, what differs is told and dropped. */
static void test_job_outputs_first_one_wins(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobOutputsResult result;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 3, NULL));
    uint64_t before = fixture_get(store, TENANT_DEFAULT, id).bytes_stored;
    expect_ok(add_three(store, id, 1, (const char *const[]){"b", "C", "d"}, 2, &result));
    assert_int_equal(result.dropped, 1);
    assert_int_equal(result.diverged, 1);
    assert_int_equal(result.added, 1);
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.output_count, 4);
    assert_int_equal(job.items_done, 3);
    assert_int_equal(job.bytes_stored, before + 1 + ROW_COST_CONTENT);
    assert_string_equal(fixture_read_text(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 2), "c");
    expect_events(store, id, "state queued, output queued 0-3, diverged queued, output queued 3-4");
    fixture_expect_clean(store);
}

static void test_job_outputs_leave_no_number_out(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_error(
        fixture_add_output(store, id, 1, "x"), ERROR_INVALID, "output 1, the next one is 0");
    expect_error(fixture_add_output(store, id, -1, "x"), ERROR_INVALID, "output -1");
    expect_error(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 11, NULL),
        ERROR_INVALID, "11 items");
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).output_count, 0);
}

static void test_job_outputs_of_checkpoint_release_wait_for_one(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(StoredContent, content) = NULL;
    int64_t number;
    JobId id = fixture_submit_release(store, TENANT_DEFAULT, JOB_RELEASE_CHECKPOINT);
    expect_ok(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 3, NULL));
    assert_int_equal(count_listed(store, id, 0), 0);
    expect_error(stored_content_open(store, TENANT_DEFAULT, id, JOB_CONTENT_OUTPUT, 0, &content),
        ERROR_NOT_FOUND, "has no output 0");
    expect_ok(fixture_add_checkpoint(store, id, "cp", 2, 2, 1, &number));
    assert_int_equal(count_listed(store, id, 0), 2);
    expect_events(store, id, "state queued, checkpoint queued 0-2");
    /* A crash: what nobody saw is forgotten and made again, differently if it likes. */
    expect_ok(fixture_rewind(store, id));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.output_count, 2);
    assert_int_equal(job.items_done, 2);
    fixture_expect_clean(store);
    expect_ok(fixture_add_output(store, id, 2, "other"));
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_SUCCEEDED, NULL)));
    assert_int_equal(count_listed(store, id, 0), 3);
    expect_events(store, id, "state queued, checkpoint queued 0-2, state succeeded 2-3");
    fixture_expect_clean(store);
}

static void test_job_outputs_rewind_leaves_what_was_seen(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 3, NULL));
    expect_ok(fixture_rewind(store, id));
    Job job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.output_count, 3);
    assert_int_equal(job.items_done, 3);
    /* Without any checkpoint it begins again. */
    id = fixture_submit_release(store, TENANT_DEFAULT, JOB_RELEASE_CHECKPOINT);
    expect_ok(add_three(store, id, 0, (const char *const[]){"a", "b", "c"}, 3, NULL));
    expect_ok(fixture_rewind(store, id));
    job = fixture_get(store, TENANT_DEFAULT, id);
    assert_int_equal(job.output_count, 0);
    assert_int_equal(job.items_done, 0);
    assert_int_equal(job.bytes_stored, 6 + ROW_COST_CONTENT + ROW_COST_JOB);
    fixture_expect_clean(store);
}

static int64_t count_pages(const TestHome *home) {
    return fixture_read_sql(home, "catalog.db", "PRAGMA page_count");
}

typedef struct ManyOutputs {
    JobId job;
    const JobContent *content;
    int64_t first, count;
} ManyOutputs;

static Error *add_many(Connection *catalog, const ManyOutputs *many) {
    for (int64_t i = 0; i < many->count; i++)
        TRY(job_outputs_add(
            catalog, TENANT_DEFAULT, many->job, many->first + i, many->content, 1, 0, NULL));
    return NULL;
}

/* Outputs without an element, one after the other: each is charged what it takes on the disk, and
 * no quota leaves room for more of them than that. */
static void test_job_outputs_without_bytes_cost_what_they_take(void **state) {
    (void)state;
    enum { ROWS = JOB_EVENTS_NEWEST - 100, PAGE = 4096, QUOTA = 1 << 20 };
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Tenant tenant;
    JobContent empty = {.size = 0};
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(job_content_stage(NULL, TENANT_DEFAULT, &empty));
    ManyOutputs many = {id, &empty, 0, ROWS};
    store_close(TAKE(store));
    const int64_t before = count_pages(&home);
    store = fixture_open(&home);
    expect_ok(fixture_end(add_many(fixture_begin(store), &many)));
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    store_close(TAKE(store));
    const int64_t each = (count_pages(&home) - before) * PAGE / ROWS;
    if (each > ROW_COST_CONTENT || each < ROW_COST_CONTENT / 2)
        fail_msg("a row takes %lld bytes, %d are charged", (long long)each, ROW_COST_CONTENT);
    assert_true(tenant.bytes_stored >= (uint64_t)ROWS * ROW_COST_CONTENT);
    store = fixture_open(&home);
    expect_ok(fixture_end(
        tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, QUOTA_STORE_BYTES, QUOTA)));
    many = (ManyOutputs){id, &empty, ROWS, 550000};
    expect_error(fixture_end(add_many(fixture_begin(store), &many)), ERROR_EXHAUSTED,
        "its quota store_bytes is 1048576");
    fixture_expect_clean(store);
}

static Error *set_quota(Store *store, QuotaId quota, int64_t value) {
    return fixture_end(tenants_set_quota(fixture_begin(store), TENANT_DEFAULT, quota, value));
}

static uint64_t output_bytes(Store *store) {
    Tenant tenant;
    expect_ok(tenants_get(store, TENANT_DEFAULT, &tenant));
    return tenant.output_bytes;
}

/* What outputs unpack to counts, also in a fork, and no more when the job goes. */
static void test_job_outputs_have_a_quota_of_their_own(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(ChunkUpload, upload) = NULL;
    ChunkRef refs[100];
    JobId fork;
    int64_t number;
    JobId id = fixture_submit(store, TENANT_DEFAULT);
    expect_ok(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    JobContent content = fixture_chunk_content(upload, TENANT_DEFAULT, 500, &refs[0]);
    for (int i = 1; i < 100; i++) refs[i] = refs[0]; /* the same bytes: stored once */
    content = (JobContent){.bytes = "x", .size = 1, .chunks = refs, .chunk_count = 100};
    expect_ok(job_content_stage(upload, TENANT_DEFAULT, &content));
    assert_true(content.bytes_raw > content.bytes_stored);
    expect_ok(set_quota(store, QUOTA_OUTPUT_BYTES, (int64_t)content.bytes_raw - 1));
    expect_error(fixture_end(job_outputs_add(
                     fixture_begin(store), TENANT_DEFAULT, id, 0, &content, 1, 1, NULL)),
        ERROR_EXHAUSTED, "its quota output_bytes is");
    assert_int_equal(output_bytes(store), 0);
    expect_ok(set_quota(store, QUOTA_OUTPUT_BYTES, 2 * (int64_t)content.bytes_raw));
    expect_ok(fixture_end(
        job_outputs_add(fixture_begin(store), TENANT_DEFAULT, id, 0, &content, 1, 1, NULL)));
    assert_int_equal(output_bytes(store), content.bytes_raw);
    expect_ok(fixture_add_checkpoint(store, id, "c", 1, 1, 1, &number));
    expect_ok(fixture_fork(store, id, 0, &fork));
    assert_int_equal(output_bytes(store), 2 * content.bytes_raw);
    expect_error(fixture_fork(store, id, 0, &fork), ERROR_EXHAUSTED, "output_bytes");
    fixture_expect_clean(store);
    expect_ok(fixture_end(
        jobs_transition(fixture_begin(store), TENANT_DEFAULT, id, JOB_STATE_CANCELLED, NULL)));
    expect_ok(fixture_end(jobs_remove(fixture_begin(store), TENANT_DEFAULT, id)));
    assert_int_equal(output_bytes(store), content.bytes_raw);
    chunk_upload_close(TAKE(upload));
    fixture_expect_clean(store);
}

/* Between two steps it is a job with fewer outputs, which nobody has seen. */
static void test_job_outputs_rewind_takes_bounded_steps(void **state) {
    (void)state;
    enum { OUTPUTS = 5000, SEEN = 100 };
    TestHome OWN_HOME(home) = fixture_home_make();
    CommitWatch watch;
    JobId id;
    int64_t row;
    bool done = false;
    {
        OWN(Store, first) = fixture_open(&home);
        id = fixture_submit_release(first, TENANT_DEFAULT, JOB_RELEASE_CHECKPOINT);
        row = fixture_get(first, TENANT_DEFAULT, id).row;
    }
    fixture_make_outputs(&home, row, OUTPUTS, SEEN);
    OWN(Store, store) = fixture_open(&home);
    commit_watch(store, &watch);
    int steps = 0;
    for (; !done; steps++) {
        expect_ok(fixture_end(job_outputs_rewind(fixture_begin(store), TENANT_DEFAULT, id, &done)));
        fixture_expect_clean(store);
        assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).outputs_visible, SEEN);
    }
    assert_in_range(watch.most, JOB_OUTPUTS_STEP_ROWS, JOB_OUTPUTS_STEP_ROWS + 10);
    commit_unwatch(&watch);
    assert_int_equal(steps, (OUTPUTS - SEEN + JOB_OUTPUTS_STEP_ROWS - 1) / JOB_OUTPUTS_STEP_ROWS);
    assert_int_equal(fixture_get(store, TENANT_DEFAULT, id).output_count, SEEN);
    assert_int_equal(output_bytes(store), 10 * SEEN);
}

TEST_GROUP(job_outputs, cmocka_unit_test(test_job_outputs_without_bytes_cost_what_they_take),
    cmocka_unit_test(test_job_outputs_are_visible_once_they_are_logged),
    cmocka_unit_test(test_job_outputs_first_one_wins),
    cmocka_unit_test(test_job_outputs_leave_no_number_out),
    cmocka_unit_test(test_job_outputs_of_checkpoint_release_wait_for_one),
    cmocka_unit_test(test_job_outputs_rewind_leaves_what_was_seen),
    cmocka_unit_test(test_job_outputs_rewind_takes_bounded_steps),
    cmocka_unit_test(test_job_outputs_have_a_quota_of_their_own))
