#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "store/database/transaction.h"
#include "tests/store/job_fixtures.h"
#include "tests/store/kvfs.h"
#include "tests/store/small_disk.h"

/* Work: a note on a job, and then perhaps a failure. */
typedef struct Note {
    JobId job;
    const char *why;
    bool fails;
} Note;

static Error *add_note(Connection *catalog, void *context) {
    const Note *note = context;
    TRY(jobs_add_note(catalog, TENANT_DEFAULT, note->job, note->why));
    if (note->fails) FAIL(CONFLICT, "on purpose");
    return NULL;
}

static size_t count_notes(Store *store, JobId job) {
    return (size_t)fixture_get(store, TENANT_DEFAULT, job).event_count - 1;
}

static void test_catalog_run_returns_when_the_work_is_durable(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Note note = {fixture_submit(store, TENANT_DEFAULT), "one", false};
    OWN(Catalog, catalog) = NULL;
    expect_ok(catalog_open(store, &catalog));
    expect_ok(catalog_run(catalog, add_note, &note));
    assert_int_equal(count_notes(store, note.job), 1);
    note.fails = true;
    expect_error(catalog_run(catalog, add_note, &note), ERROR_CONFLICT, "on purpose");
    assert_int_equal(count_notes(store, note.job), 1);
    expect_error(catalog_run_directly(store, add_note, &note), ERROR_CONFLICT, "on purpose");
    note.fails = false;
    expect_ok(catalog_run_directly(store, add_note, &note));
    assert_int_equal(count_notes(store, note.job), 2);
    expect_ok(catalog_check(catalog));
}

/* Requests that are all posted before the writer gets at them: one group. */
typedef struct Posted {
    CatalogRequest request; /* first: done gets its address */
    Note note;
    ErrorCode code;
    atomic_bool is_done;
} Posted;

static void remember(CatalogRequest *request, Error *owned_error) {
    Posted *posted = (Posted *)request;
    posted->code = error_code(owned_error);
    error_free(owned_error); /* the code is all that is compared */
    atomic_store(&posted->is_done, true);
}

enum { POSTED = 12 };

/* Posts while the catalog's lock is held, so that all of them wait for it together. */
static void post_group(Store *store, Catalog *catalog, Posted posted[POSTED]) {
    Transaction lock = transaction_lock(store, DATABASE_CATALOG);
    for (int i = 0; i < POSTED; i++) {
        posted[i].request = (CatalogRequest){.work = add_note,
            .context = &posted[i].note,
            .frees = posted[i].request.frees,
            .done = remember};
        expect_ok(catalog_post(catalog, &posted[i].request));
    }
    transaction_end(&lock);
}

/* One that fails leaves nothing behind and takes nobody along. */
static void test_catalog_undoes_only_what_failed(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    static Posted posted[POSTED];
    JobId job = fixture_submit(store, TENANT_DEFAULT);
    OWN(Catalog, catalog) = NULL;
    expect_ok(catalog_open(store, &catalog));
    for (int i = 0; i < POSTED; i++)
        posted[i] = (Posted){.note = {job, i % 3 ? "kept" : "undone", i % 3 == 0}};
    post_group(store, catalog, posted);
    catalog_close(TAKE(catalog)); /* runs what was posted */
    for (int i = 0; i < POSTED; i++) {
        assert_true(atomic_load(&posted[i].is_done));
        assert_int_equal(posted[i].code, i % 3 ? ERROR_NONE : ERROR_CONFLICT);
    }
    OWN(JobEventList, events) = NULL;
    expect_ok(job_events_list(store, TENANT_DEFAULT, job, 1, &events));
    assert_int_equal(events->count, POSTED - POSTED / 3);
    for (size_t i = 0; i < events->count; i++) assert_string_equal(events->items[i].why, "kept");
    fixture_expect_clean(store);
}

static void test_catalog_says_when_the_disk_is_full_and_goes_on(void **state) {
    (void)state;
    kvfs_install();
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    static Posted posted[POSTED];
    JobId job = fixture_submit(store, TENANT_DEFAULT);
    OWN(Catalog, catalog) = NULL;
    expect_ok(catalog_open(store, &catalog));
    for (int i = 0; i < POSTED; i++) posted[i] = (Posted){.note = {job, "lost", i == 3}};
    kvfs_arm(KVFS_FULL, 1, true, 0);
    post_group(store, catalog, posted);
    for (int i = 0; i < POSTED; i++)
        while (!atomic_load(&posted[i].is_done)) (void)sched_yield();
    kvfs_arm(KVFS_NONE, 0, false, 0);
    /* Also the one that would have failed by itself: nothing of the group was kept. */
    for (int i = 0; i < POSTED; i++) assert_int_equal(posted[i].code, ERROR_EXHAUSTED);
    expect_ok(catalog_check(catalog));
    assert_int_equal(count_notes(store, job), 0);
    expect_ok(catalog_run(catalog, add_note, &posted[0].note)); /* somebody made room */
    assert_int_equal(count_notes(store, job), 1);
    fixture_expect_clean(store);
}

static void expect_final(KvfsFault fault) {
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Note note = {fixture_submit(store, TENANT_DEFAULT), "x", false};
    OWN(Catalog, catalog) = NULL;
    expect_ok(catalog_open(store, &catalog));
    kvfs_arm(fault, 1, false, 0);
    expect_error(catalog_run(catalog, add_note, &note), ERROR_IO, "catalog.db");
    kvfs_arm(KVFS_NONE, 0, false, 0);
    for (int i = 0; i < 3; i++)
        expect_error(catalog_run(catalog, add_note, &note), ERROR_IO, "catalog.db");
    expect_error(catalog_check(catalog), ERROR_IO, "catalog.db");
    catalog_close(TAKE(catalog));
    store_close(TAKE(store));
    store = fixture_open(&home);
    assert_true(count_notes(store, note.job) <= 1); /* it was never acknowledged */
    fixture_expect_clean(store);
}

/* Those that need room are refused, and those between them that make some are not. */
static void expect_room_for_what_makes_some(bool known) {
    TestHome OWN_SMALL_DISK(home) = small_disk_make(32);
    OWN(Store, store) = fixture_open(&home);
    static Posted posted[POSTED];
    JobId job = fixture_submit(store, TENANT_DEFAULT);
    OWN(Catalog, catalog) = NULL;
    expect_ok(catalog_open(store, &catalog));
    static char pages[8 << 10];
    memset(pages, 'x', sizeof pages - 1); /* it finds no place in the file as it is */
    Note note = {job, pages, false};
    small_disk_fill(&home);
    Error *error = NULL;
    while (!error) error = catalog_run(catalog, add_note, &note);
    expect_error(error, ERROR_EXHAUSTED, "no space left");
    if (!known) { /* a change that fits into the file: as far as the catalog knows there is room */
        note.why = "short";
        expect_ok(catalog_run(catalog, add_note, &note));
    }
    for (int i = 0; i < POSTED; i++)
        posted[i] =
            (Posted){.note = {job, i % 3 ? pages : "short", false}, .request.frees = i % 3 == 0};
    post_group(store, catalog, posted);
    catalog_close(TAKE(catalog));
    for (int i = 0; i < POSTED; i++)
        assert_int_equal(posted[i].code, i % 3 ? ERROR_EXHAUSTED : ERROR_NONE);
    fixture_expect_clean(store);
}

static void test_catalog_tells_what_makes_room_on_a_full_disk(void **state) {
    (void)state;
    expect_room_for_what_makes_some(true);
}

static void test_catalog_tells_what_makes_room_on_a_disk_not_known_to_be_full(void **state) {
    (void)state;
    expect_room_for_what_makes_some(false);
}

/* Success after a failed write or sync proves nothing: every later request fails. */
static void test_catalog_fails_for_good_after_an_io_error(void **state) {
    (void)state;
    kvfs_install();
    expect_final(KVFS_SYNC);
    expect_final(KVFS_IO);
}

static void test_catalog_takes_no_more_than_its_queue_holds(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    JobId job = fixture_submit(store, TENANT_DEFAULT);
    OWN(Catalog, catalog) = NULL;
    Posted *posted;
    size_t accepted = 0, refused = 0;
    expect_ok(catalog_open(store, &catalog));
    expect_ok(
        memory_alloc(CATALOG_QUEUE_MAX + 2 * CATALOG_GROUP_MAX, sizeof *posted, (void **)&posted));
    Transaction lock = transaction_lock(store, DATABASE_CATALOG);
    for (size_t i = 0; i < CATALOG_QUEUE_MAX + 2 * CATALOG_GROUP_MAX; i++) {
        posted[i].note = (Note){job, "x", true};
        posted[i].request =
            (CatalogRequest){.work = add_note, .context = &posted[i].note, .done = remember};
        Error *error = catalog_post(catalog, &posted[i].request);
        accepted += !error;
        refused += error_code(error) == ERROR_EXHAUSTED;
        error_free(error); /* counted */
    }
    transaction_end(&lock);
    assert_true(accepted >= CATALOG_QUEUE_MAX && refused >= CATALOG_GROUP_MAX);
    catalog_close(TAKE(catalog));
    memory_free(posted);
}

/* Many threads, each with jobs of its own: every acknowledged step is there, in its order. */
enum { THREADS = 6, STEPS = 40 };

typedef struct Caller {
    Catalog *catalog;
    const Digest *executable;
    const JobContent *inputs;
    JobId job;
    Error *error;
} Caller;

static Error *submit_work(Connection *catalog, void *context) {
    Caller *caller = context;
    JobSubmission submission = fixture_submission(caller->executable, caller->inputs);
    return jobs_submit(catalog, TENANT_DEFAULT, &submission, &caller->job, NULL);
}

static Error *suspend_work(Connection *catalog, void *context) {
    const Caller *caller = context;
    return jobs_transition(catalog, TENANT_DEFAULT, caller->job, JOB_STATE_SUSPENDED, NULL);
}

static Error *resume_work(Connection *catalog, void *context) {
    const Caller *caller = context;
    return jobs_transition(catalog, TENANT_DEFAULT, caller->job, JOB_STATE_QUEUED, NULL);
}

static void *call(void *context) {
    Caller *caller = context;
    caller->error = catalog_run(caller->catalog, submit_work, caller);
    for (int i = 0; i < STEPS && !caller->error; i++)
        caller->error = catalog_run(caller->catalog, i % 2 ? resume_work : suspend_work, caller);
    return NULL;
}

static void test_catalog_serves_many_threads_beside_direct_writers(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    OWN(Catalog, catalog) = NULL;
    pthread_t threads[THREADS];
    Caller callers[THREADS];
    GcResult result;
    Digest executable = fixture_add_executable(store, TENANT_DEFAULT);
    JobContent inputs = fixture_content(TENANT_DEFAULT, "inputs");
    expect_ok(catalog_open(store, &catalog));
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (Caller){catalog, &executable, &inputs, {0, 0}, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < 5; i++) {
        expect_ok(fixture_register(store, TENANT_DEFAULT, "beside", i, 3, 500, NULL, NULL));
        expect_ok(gc_run(store, &result));
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        expect_ok(callers[i].error);
        Job job = fixture_get(store, TENANT_DEFAULT, callers[i].job);
        assert_int_equal(job.event_count, STEPS + 1);
        assert_int_equal(job.state, JOB_STATE_QUEUED);
    }
    fixture_expect_clean(store);
}

TEST_GROUP(catalog, cmocka_unit_test(test_catalog_run_returns_when_the_work_is_durable),
    cmocka_unit_test(test_catalog_undoes_only_what_failed),
    cmocka_unit_test(test_catalog_says_when_the_disk_is_full_and_goes_on),
    cmocka_unit_test(test_catalog_tells_what_makes_room_on_a_full_disk),
    cmocka_unit_test(test_catalog_tells_what_makes_room_on_a_disk_not_known_to_be_full),
    cmocka_unit_test(test_catalog_fails_for_good_after_an_io_error),
    cmocka_unit_test(test_catalog_takes_no_more_than_its_queue_holds),
    cmocka_unit_test(test_catalog_serves_many_threads_beside_direct_writers))
