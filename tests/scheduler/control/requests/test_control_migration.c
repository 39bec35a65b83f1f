#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "scheduler/jobs/job_import.h"
#include "scheduler/jobs/job_manifest.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "tests/scheduler/control_fixtures.h"

enum { TARGET = 9 };

typedef struct Begin {
    JobId id;
    Departure departure;
} Begin;

static Error *begin_departure(Connection *catalog, void *context) {
    Begin *begin = context;
    return departures_begin(catalog, TENANT_DEFAULT, begin->id, "node9", TARGET, &begin->departure);
}

static void begin(ControlFixture *fixture, JobId id) {
    Begin wanted = {.id = id};
    assert_ok(catalog_run(fixture->catalog, begin_departure, &wanted));
}

static Job get(ControlFixture *fixture, JobId id) {
    Job job;
    assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, id, &job));
    return job;
}

static Error *stop(ControlFixture *fixture, JobId id) {
    return control_migration_stop(fixture->control, TENANT_DEFAULT, id, "goes to node9");
}

/* Stopped where it is, with a checkpoint, and nobody else moves it. */
static void test_control_stops_a_running_job_and_gives_it_away(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    Control *control = fixture.control;
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    begin(&fixture, id);
    assert_ok(stop(&fixture, id));
    Job job = get(&fixture, id);
    assert_int_equal(job.state, JOB_STATE_HELD);
    assert_true(job.checkpoint_created > 0);
    assert_fails(CONFLICT, stop(&fixture, id));
    assert_fails_saying(CONFLICT, "migrating", control_resume(control, TENANT_DEFAULT, id, NULL));
    assert_fails_saying(CONFLICT, "migrating", control_cancel(control, TENANT_DEFAULT, id));
    assert_fails(CONFLICT, control_suspend(control, TENANT_DEFAULT, id));
    assert_ok(control_migration_commit(control, TENANT_DEFAULT, id, "node9 owns it"));
    job = get(&fixture, id);
    assert_int_equal(job.state, JOB_STATE_MOVED);
    assert_string_equal(job.migrating, "node9");
    assert_fails(CONFLICT, control_migration_commit(control, TENANT_DEFAULT, id, NULL));
    assert_fails(CONFLICT, control_migration_revert(control, TENANT_DEFAULT, id, false, NULL));
    assert_fails(
        NOT_FOUND, control_migration_stop(control, TENANT_DEFAULT, (JobId){id.node, 77}, NULL));
    assert_ok(control_check(control));
}

typedef struct Cancelling {
    ControlFixture *fixture;
    JobId id;
} Cancelling;

static void *cancel(void *argument) {
    Cancelling *cancelling = argument;
    error_free(control_cancel(cancelling->fixture->control, TENANT_DEFAULT, cancelling->id));
    return NULL; /* it may be stopped by then */
}

/* Whichever comes first: a job that is cancelled has not moved. */
static void test_control_cancels_or_stops_a_job_but_never_both(void **state) {
    (void)state;
    enum { TIMES = 80 };
    ControlFixture OWN_CONTROL(fixture);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    for (int i = 0; i < TIMES; i++) {
        Cancelling cancelling = {.fixture = &fixture};
        pthread_t thread;
        assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &cancelling.id));
        begin(&fixture, cancelling.id);
        fixture_pause_ms(i % 3);
        assert_int_equal(pthread_create(&thread, NULL, cancel, &cancelling), 0);
        for (int k = 0; k < i * 5000; k++) atomic_signal_fence(memory_order_seq_cst);
        Error *error = stop(&fixture, cancelling.id);
        assert_int_equal(pthread_join(thread, NULL), 0);
        Job job = get(&fixture, cancelling.id);
        assert_int_equal(job.state, error ? JOB_STATE_CANCELLED : JOB_STATE_HELD);
        if (!error)
            assert_ok(control_migration_revert(
                fixture.control, TENANT_DEFAULT, cancelling.id, false, "it stays"));
        if (!error) assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, cancelling.id));
        error_free(error);
    }
    assert_ok(control_check(fixture.control));
}

static void test_control_takes_a_stopped_job_back(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    Control *control = fixture.control;
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    for (int i = 0; i < 3; i++) {
        begin(&fixture, id);
        assert_ok(stop(&fixture, id));
        assert_ok(control_migration_revert(control, TENANT_DEFAULT, id, false, "node9 is away"));
        assert_string_equal(get(&fixture, id).migrating, "");
    }
    assert_ok(control_suspend(control, TENANT_DEFAULT, id)); /* it ran */
    begin(&fixture, id);
    assert_ok(stop(&fixture, id));
    assert_ok(control_migration_revert(control, TENANT_DEFAULT, id, true, "node9 is away"));
    assert_int_equal(get(&fixture, id).state, JOB_STATE_SUSPENDED);
    assert_ok(control_resume(control, TENANT_DEFAULT, id, NULL));
    assert_ok(control_cancel(control, TENANT_DEFAULT, id));
}

/* After a restart, the job is held as it was, and either way is open. */
static void test_control_settles_a_held_job_after_a_restart(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId given, kept;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &given));
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &kept));
    begin(&fixture, given);
    begin(&fixture, kept);
    assert_ok(stop(&fixture, given));
    assert_ok(stop(&fixture, kept));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_migration_commit(fixture.control, TENANT_DEFAULT, given, "node9 has it"));
    assert_int_equal(get(&fixture, given).state, JOB_STATE_MOVED);
    assert_ok(
        control_migration_revert(fixture.control, TENANT_DEFAULT, kept, false, "node9 has it not"));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, kept)); /* it runs */
}

/* Another node took it over while this one was believed dead. */
static void test_control_gives_a_job_that_runs(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &id));
    assert_ok(control_migration_commit(fixture.control, TENANT_DEFAULT, id, "node9 took it over"));
    assert_int_equal(get(&fixture, id).state, JOB_STATE_MOVED);
    assert_ok(control_check(fixture.control));
}

static Error *offer(Connection *catalog, void *context) { return arrivals_offer(catalog, context); }

static Error *give_up(Connection *catalog, void *context) {
    const Arrival *arrival = context;
    bool removed;
    return arrivals_abort(
        catalog, arrival->job, arrival->source, arrival->epoch, arrival->attempt, &removed);
}

/* A job in doubt, as a manifest of the source's brings it. */
static Arrival arrive(ControlFixture *source, ControlFixture *fixture) {
    OWN(JobManifest, job_manifest) = NULL;
    OWN(JobImportState, import) = NULL;
    Arrival arrival = {.tenant = TENANT_DEFAULT, .source = 5, .attempt = 1};
    assert_ok(control_fixture_submit(source, "forever", 1, false, NULL, &arrival.job));
    assert_ok(control_suspend(source->control, TENANT_DEFAULT, arrival.job));
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = arrival.job};
    assert_ok(job_manifest_open(source->store, &wanted, &job_manifest));
    JobImportRequest job = {.tenant = TENANT_DEFAULT,
        .source = job_manifest_source(job_manifest),
        .verify = CHUNK_VERIFY_SHA256,
        .moves = true,
        .job = arrival.job};
    job.manifest = job_manifest_bytes(job_manifest, &job.manifest_size);
    assert_ok(job_import_open(fixture->store, NULL, &job, &import));
    assert_fails(
        CONFLICT, job_import_arrive(import, fixture->control, &arrival, NULL)); /* not offered */
    job_import_close(TAKE(import)); /* a submission is used once */
    assert_ok(job_import_open(fixture->store, NULL, &job, &import));
    assert_ok(catalog_run(fixture->catalog, offer, &arrival));
    assert_ok(job_import_arrive(import, fixture->control, &arrival, NULL));
    return arrival;
}

static void test_control_owns_or_drops_a_job_in_doubt(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture), OWN_CONTROL(source);
    Job job;
    control_fixture_init(&source);
    control_fixture_start(&source, NULL);
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    Control *control = fixture.control;
    Arrival ours = arrive(&source, &fixture), adopted = arrive(&source, &fixture),
            not_ours = arrive(&source, &fixture);
    job = get(&fixture, ours.job);
    assert_int_equal(job.state, JOB_STATE_IN_DOUBT);
    assert_int_equal(job.epoch, 1);
    assert_fails_saying(
        CONFLICT, "in_doubt", control_resume(control, TENANT_DEFAULT, ours.job, NULL));
    assert_fails_saying(CONFLICT, "in_doubt", control_cancel(control, TENANT_DEFAULT, ours.job));
    assert_fails(CONFLICT, control_migration_commit(control, TENANT_DEFAULT, ours.job, NULL));
    assert_ok(control_arrival_own(control, TENANT_DEFAULT, ours.job, false, 0, "node5 gave it up"));
    assert_fails(CONFLICT, control_arrival_own(control, TENANT_DEFAULT, ours.job, false, 0, NULL));
    assert_ok(control_suspend(control, TENANT_DEFAULT, ours.job)); /* it runs */
    assert_ok(control_arrival_abort(control, TENANT_DEFAULT, not_ours.job));
    assert_ok(catalog_run(fixture.catalog, give_up, &not_ours));
    assert_fails(NOT_FOUND, jobs_get(fixture.store, TENANT_DEFAULT, not_ours.job, &job));
    control_fixture_stop(&fixture);
    control_fixture_start(&fixture, NULL); /* it is still in doubt after a restart */
    assert_int_equal(get(&fixture, adopted.job).state, JOB_STATE_IN_DOUBT);
    assert_ok(control_arrival_own(
        fixture.control, TENANT_DEFAULT, adopted.job, true, 4, "node5 is dead"));
    job = get(&fixture, adopted.job);
    assert_int_equal(job.state, JOB_STATE_SUSPENDED);
    assert_int_equal(job.epoch, 4);
    assert_ok(control_resume(fixture.control, TENANT_DEFAULT, adopted.job, NULL));
    assert_ok(control_suspend(fixture.control, TENANT_DEFAULT, adopted.job)); /* in its new epoch */
}

int test_control_migration(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_stops_a_running_job_and_gives_it_away),
        cmocka_unit_test(test_control_cancels_or_stops_a_job_but_never_both),
        cmocka_unit_test(test_control_takes_a_stopped_job_back),
        cmocka_unit_test(test_control_settles_a_held_job_after_a_restart),
        cmocka_unit_test(test_control_gives_a_job_that_runs),
        cmocka_unit_test(test_control_owns_or_drops_a_job_in_doubt),
    };
    return cmocka_run_group_tests_name("control_migration", tests, NULL, NULL);
}
