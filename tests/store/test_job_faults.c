/* The faults of test_store_faults.c at each operation of what is done with jobs, through the
 * catalog's writer. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/store/fault_scenarios.h"
#include "tests/store/job_fixtures.h"

static void print_all(Store *store, TextBuilder *out) {
    fixture_print_state(store, out);
    fixture_print_jobs(store, out);
}

/* The work of a scenario with the job that prepare made. */
typedef struct Step {
    JobId job;
    JobContent content;
} Step;

static Error *first_job(Store *store, JobId *out) {
    OWN(JobList, list) = NULL;
    TRY(jobs_list(store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 1, &list));
    *out = list->items[0].id;
    return NULL;
}

static Error *run_step(Store *store, CatalogWork work) {
    OWN(Catalog, catalog) = NULL;
    OWN(ChunkUpload, upload) = NULL;
    Step step;
    ChunkRef ref;
    TRY(first_job(store, &step.job));
    TRY(chunk_upload_open(store, TENANT_DEFAULT, &upload));
    TRY(fixture_upload(upload, 500, 1, 900));
    fixture_make_chunk(500, 900, &ref, NULL);
    step.content = (JobContent){.bytes = "chunk", .size = 5, .chunks = &ref, .chunk_count = 1};
    TRY(job_content_stage(upload, TENANT_DEFAULT, &step.content));
    TRY(catalog_open(store, &catalog));
    return catalog_run(catalog, work, &step);
}

static Error *submit_first(Store *store) {
    JobId id = fixture_submit_release(store, TENANT_DEFAULT, JOB_RELEASE_CHECKPOINT);
    TRY(fixture_add_output(store, id, 0, "zero"));
    int64_t number;
    return fixture_add_checkpoint(store, id, "first", 1, 1, 1, &number);
}

static Error *submit_more(Connection *catalog, void *context) {
    Step *step = context;
    Job first;
    JobId id;
    TRY(job_row_read(catalog, TENANT_DEFAULT, step->job, &first));
    JobSubmission submission = fixture_submission(&first.executable, &step->content);
    submission.key = "key";
    return jobs_submit(catalog, TENANT_DEFAULT, &submission, &id, NULL);
}

static Error *run_submit(Store *store) { return run_step(store, submit_more); }

/* Outputs, the checkpoint behind them, the older one gone, and the new state. */
static Error *suspend(Connection *catalog, void *context) {
    const Step *step = context;
    int64_t number;
    TRY(job_outputs_add(catalog, TENANT_DEFAULT, step->job, 1, &step->content, 1, 2, NULL));
    TRY(job_checkpoints_add(catalog, TENANT_DEFAULT, step->job, &step->content, 2, 2, 1, &number));
    return jobs_transition(catalog, TENANT_DEFAULT, step->job, JOB_STATE_SUSPENDED, "by hand");
}

static Error *run_suspend(Store *store) { return run_step(store, suspend); }

static Error *fork_first(Connection *catalog, void *context) {
    const Step *step = context;
    JobCopy copy = {0}; /* one step */
    return jobs_fork(catalog, TENANT_DEFAULT, step->job, 0, &copy);
}

static Error *run_fork(Store *store) { return run_step(store, fork_first); }

static Error *end_and_remove(Connection *catalog, void *context) {
    const Step *step = context;
    TRY(jobs_transition(catalog, TENANT_DEFAULT, step->job, JOB_STATE_CANCELLED, NULL));
    return jobs_remove(catalog, TENANT_DEFAULT, step->job);
}

static Error *run_remove(Store *store) {
    OWN(Catalog, catalog) = NULL;
    Step step = {.content = {.size = 0}};
    TRY(first_job(store, &step.job));
    TRY(catalog_open(store, &catalog));
    return catalog_run(catalog, end_and_remove, &step);
}

/* A home of version 1 is opened, and becomes one of today's. */
static void make_old_home(const TestHome *home) {
    TestHome OWN_HOME(modern) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&modern);
        expect_ok(fixture_register(store, TENANT_DEFAULT, "a", 1, 2, 700, "prod", NULL));
    }
    fixture_make_version_1(&modern, home);
}

static const FaultScenario scenarios[] = {
    {"suspend", submit_first, run_suspend, NULL},
    {"migrate", NULL, NULL, make_old_home},
    {"submit", submit_first, run_submit, NULL},
    {"fork", submit_first, run_fork, NULL},
    {"remove", submit_first, run_remove, NULL},
};

/* The first ones write in every way that the others do. */
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios, FIRST = 2 };

static void run_scenarios(size_t count, KvfsFault fault, bool forever) {
    TEST_OF_ONE_THREAD();
    for (size_t i = 0; i < count; i++) fault_scenario_run(&scenarios[i], print_all, fault, forever);
}

static void test_jobs_survive_a_kill_at_every_operation(void **state) {
    (void)state;
    run_scenarios(SCENARIOS, KVFS_KILL, false);
}

static void test_jobs_survive_a_power_cut_at_every_operation(void **state) {
    (void)state;
    run_scenarios(SCENARIOS, KVFS_POWER, false);
}

static void test_jobs_are_unchanged_by_a_full_disk(void **state) {
    (void)state;
    run_scenarios(FIRST, KVFS_FULL, true);
    run_scenarios(FIRST, KVFS_SHORT, false);
}

static void test_jobs_survive_failing_writes_syncs_and_reads(void **state) {
    (void)state;
    run_scenarios(FIRST, KVFS_IO, false);
    run_scenarios(FIRST, KVFS_SYNC, false);
    run_scenarios(FIRST, KVFS_READ, false);
}

/* Submissions in flight together: the child tells through a pipe which ones were acknowledged. */
enum { IN_FLIGHT = 8, AT_MAX = 200 };

typedef struct Flight {
    CatalogRequest request; /* first: done gets its address */
    const JobSubmission *submission;
    JobId id;
    int pipe;
} Flight;

static Error *submit_flight(Connection *catalog, void *context) {
    Flight *flight = context;
    return jobs_submit(catalog, TENANT_DEFAULT, flight->submission, &flight->id, NULL);
}

static void acknowledge(CatalogRequest *request, Error *owned_error) {
    Flight *flight = (Flight *)request;
    bool works = !owned_error;
    error_free(owned_error); /* the parent counts acknowledgements only */
    if (works && write(flight->pipe, &flight->id, sizeof flight->id) != sizeof flight->id) _exit(3);
}

static Error *submit_flights(const TestHome *home, int pipe) {
    OWN(Store, store) = NULL;
    OWN(Catalog, catalog) = NULL;
    static Flight flights[IN_FLIGHT];
    JobId first;
    Job job;
    TRY(store_open(home->path, STORE_CREATE, &store));
    TRY(first_job(store, &first));
    TRY(jobs_get(store, TENANT_DEFAULT, first, &job));
    JobContent inputs = {.bytes = "x", .size = 1};
    TRY(job_content_stage(NULL, TENANT_DEFAULT, &inputs));
    JobSubmission submission = fixture_submission(&job.executable, &inputs);
    TRY(catalog_open(store, &catalog));
    for (int i = 0; i < IN_FLIGHT; i++) {
        flights[i] = (Flight){.submission = &submission, .pipe = pipe};
        flights[i].request =
            (CatalogRequest){.work = submit_flight, .context = &flights[i], .done = acknowledge};
        TRY(catalog_post(catalog, &flights[i].request));
    }
    catalog_close(TAKE(catalog)); /* while what the requests borrow is still there */
    return NULL;
}

static int fly(const TestHome *home, KvfsFault fault, uint64_t at, int pipe) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kvfs_arm(fault, at, false, at);
        error_free(submit_flights(home, pipe)); /* the parent counts acknowledgements only */
        _exit(kvfs_count() >= at);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_acknowledged(const TestHome *home, int pipe) {
    OWN(Store, store) = fixture_open(home);
    TextBuilder OWN_TEXT(text) = {0};
    JobId id;
    fixture_expect_clean(store);
    fixture_print_jobs(store, &text); /* whatever is there is whole */
    while (read(pipe, &id, sizeof id) == sizeof id) {
        Job job;
        expect_ok(jobs_get(store, TENANT_DEFAULT, id, &job));
    }
}

static void test_jobs_in_flight_are_there_once_they_are_acknowledged(void **state) {
    (void)state;
    kvfs_install();
    static const KvfsFault faults[] = {KVFS_KILL, KVFS_POWER, KVFS_FULL, KVFS_IO, KVFS_SYNC};
    TestHome OWN_HOME(template_home) = fixture_home_make();
    TestHome OWN_HOME(home) = fixture_home_make();
    {
        OWN(Store, store) = fixture_open(&template_home);
        (void)fixture_submit(store, TENANT_DEFAULT);
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        int status = 1;
        for (uint64_t at = 1 + i % FAULT_STEP; status != 0 && at < AT_MAX; at += FAULT_STEP) {
            int ends[2];
            fixture_home_copy(&template_home, &home);
            assert_int_equal(pipe(ends), 0);
            status = fly(&home, faults[i], at, ends[1]);
            (void)close(ends[1]);
            expect_acknowledged(&home, ends[0]);
            (void)close(ends[0]);
        }
        assert_int_equal(status, 0);
    }
}

TEST_GROUP(job_faults, cmocka_unit_test(test_jobs_survive_a_kill_at_every_operation),
    cmocka_unit_test(test_jobs_survive_a_power_cut_at_every_operation),
    cmocka_unit_test(test_jobs_are_unchanged_by_a_full_disk),
    cmocka_unit_test(test_jobs_survive_failing_writes_syncs_and_reads),
    cmocka_unit_test(test_jobs_in_flight_are_there_once_they_are_acknowledged))
