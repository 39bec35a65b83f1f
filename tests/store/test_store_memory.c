/* SQLite's allocations fail, one after the other: the operation fails with OUT_OF_MEMORY or gets by
 * without, and the home has the old state or the new one. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/job_fixtures.h"

/* Every STRIDE-th allocation fails, one in each run: a sanitizer makes a run's fork long. */
#if defined(TEST_WITH_THREAD_SANITIZER) || defined(TEST_WITH_ADDRESS_SANITIZER)
enum { STRIDE = 331 };
#else
enum { STRIDE = 83 };
#endif
enum { NOT_REACHED = 0, WORKED = 1, OUT_OF_MEMORY = 2, OTHER = 3 };

static sqlite3_mem_methods system_methods;
static uint64_t allocation_count, fail_at;

static bool fails(void) { return ++allocation_count == fail_at; }

static void *failing_malloc(int size) { return fails() ? NULL : system_methods.xMalloc(size); }

static void *failing_realloc(void *old, int size) {
    return fails() ? NULL : system_methods.xRealloc(old, size);
}

/* Only while no connection is open. */
static void install_failing_memory(void) {
    sqlite3_mem_methods methods;
    if (sqlite3_shutdown() != SQLITE_OK) abort();
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_methods) != SQLITE_OK) abort();
    methods = system_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) abort();
    if (sqlite3_initialize() != SQLITE_OK) abort();
}

static Error *submit(Connection *catalog, void *context) {
    const Digest *executable = context;
    JobContent inputs = {.bytes = "x", .size = 1};
    JobId id;
    int64_t number;
    TRY(job_content_stage(NULL, TENANT_DEFAULT, &inputs));
    JobSubmission submission = fixture_submission(executable, &inputs);
    TRY(jobs_submit(catalog, TENANT_DEFAULT, &submission, &id, NULL));
    TRY(job_outputs_add(catalog, TENANT_DEFAULT, id, 0, &inputs, 1, 1, NULL));
    return job_checkpoints_add(catalog, TENANT_DEFAULT, id, &inputs, 1, 1, 1, &number);
}

static Error *submit_job(Store *store) {
    OWN(Catalog, catalog) = NULL;
    OWN(JobList, list) = NULL;
    ModelVersion OWN_VERSION(version) = {0};
    TRY(models_find(store, TENANT_DEFAULT, "a@prod", &version));
    TRY(catalog_open(store, &catalog));
    TRY(catalog_run(catalog, submit, &version.executable));
    return jobs_list(store, TENANT_DEFAULT, JOB_STATE_QUEUED, 0, 10, &list);
}

static Error *work(const TestHome *home) {
    OWN(Store, store) = NULL;
    GcResult result;
    TRY(store_open(home->path, STORE_CREATE, &store));
    TRY(models_remove(store, TENANT_DEFAULT, "b", NULL));
    TRY(fixture_register(store, TENANT_DEFAULT, "a", 2, 3, 600, "prod", NULL));
    TRY(submit_job(store));
    return gc_run(store, &result);
}

static int run_in_child(const TestHome *home, uint64_t at) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        install_failing_memory();
        allocation_count = 0;
        fail_at = at;
        Error *error = work(home);
        ErrorCode code = error_code(error);
        if (error && code != ERROR_OUT_OF_MEMORY) print_error("%s\n", error_message(error));
        error_free(error);
        if (code == ERROR_OUT_OF_MEMORY) _exit(OUT_OF_MEMORY);
        if (code != ERROR_NONE) _exit(OTHER);
        _exit(allocation_count < at ? NOT_REACHED : WORKED);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool has(Store *store, const char *reference) {
    ModelVersion OWN_VERSION(version) = {0};
    Error *error = models_find(store, TENANT_DEFAULT, reference, &version);
    bool found = !error;
    error_free(error);
    return found;
}

static void test_store_survives_failing_allocations(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    TestHome OWN_HOME(whole) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&whole);
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 3, 600, "prod", NULL));
        expect_ok(fixture_register(store, TENANT_DEFAULT, "b", 9, 3, 600, NULL, NULL));
    }
    int outcome = WORKED, failed = 0;
    for (uint64_t at = 1; outcome != NOT_REACHED; at += STRIDE) {
        fixture_home_copy(&whole, &home);
        outcome = run_in_child(&home, at);
        assert_int_not_equal(outcome, OTHER);
        failed += outcome == OUT_OF_MEMORY;
        OWN(Store, store) = fixture_open(&home);
        fixture_expect_clean(store);
        assert_true(has(store, "a@prod"));
        if (has(store, "a@2")) assert_false(has(store, "b")); /* the steps' order */
        if (outcome != OUT_OF_MEMORY) assert_true(has(store, "a@2"));
    }
    assert_true(failed > 10);
}

TEST_GROUP(store_memory, cmocka_unit_test(test_store_survives_failing_allocations))
