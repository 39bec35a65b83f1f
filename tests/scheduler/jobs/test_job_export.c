#include "scheduler/jobs/job_export.h"

#include <unistd.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/scheduler/job_file_fixtures.h"

/* Only what the job still needs goes into the file: inputs from the next item on. */
static void test_job_export_holds_what_is_not_used_yet(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    OWN(Container, container) = NULL;
    JobFile OWN_JOB_FILE(file) = {0};
    JobId id;
    Job job;
    int64_t count;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 200, true, &id);
    assert_ok(jobs_get(fixture.store, TENANT_DEFAULT, id, &job));
    const char *path = job_file_path(&fixture, "job.lvc");
    assert_ok(job_file_export(&fixture, id, true, path));
    assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &container));
    assert_ok(job_file_read(container, &file));
    assert_int_equal(file.origin.number, id.number);
    assert_int_equal(file.origin.owner, JOB_FILE_RELEASE);
    assert_int_equal(file.items_done, job.items_done);
    assert_int_equal(file.items_total, 200);
    assert_int_equal(file.output_count, job.output_count);
    assert_true(job_file_first_input(container, &file, &count) == (float)(2 * job.items_done + 1));
    assert_int_equal(count, 200 - job.items_done);
    assert_true(job_file_has_execution(container));
}

static void test_job_export_of_a_single_run_has_inputs_only_before_it_begins(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    int64_t count;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    const char *path = job_file_path(&fixture, "job.lvc");
    for (int begun = 0; begun < 2; begun++) {
        OWN(Container, container) = NULL;
        JobFile OWN_JOB_FILE(file) = {0};
        if (begun)
            control_fixture_suspended(&fixture, 3, false, &id);
        else
            assert_ok(control_fixture_submit(&fixture, "forever", 3, false, NULL, &id));
        assert_ok(job_file_export(&fixture, id, false, path));
        assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &container));
        assert_ok(job_file_read(container, &file));
        assert_int_equal(job_file_has_execution(container), begun);
        (void)job_file_first_input(container, &file, &count);
        assert_int_equal(count, begun ? 0 : 3);
        if (!begun) assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, id));
    }
}

/* While it is read it is the file that is written, bit for bit. */
static void test_job_export_is_the_same_while_it_is_read(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    uint8_t *data[2];
    size_t size[2];
    HttpStream stream;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    control_fixture_suspended(&fixture, 200, true, &id);
    const char *path = job_file_path(&fixture, "job.lvc");
    for (int model = 0; model < 2; model++) {
        const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = id, .with_model = model};
        assert_ok(job_export_write(fixture.store, NULL, &wanted, path));
        assert_ok(file_read(path, SIZE_MAX >> 1, &data[0], &size[0]));
        assert_ok(job_export_open(fixture.store, NULL, &wanted, &stream));
        assert_ok(job_file_pull(&stream, path));
        assert_ok(file_read(path, SIZE_MAX >> 1, &data[1], &size[1]));
        assert_int_equal(size[1], size[0]);
        assert_memory_equal(data[1], data[0], size[0]);
        for (int i = 0; i < 2; i++) memory_unmap(data[i], size[i]);
    }
}

static void test_job_export_leaves_nothing_when_it_fails(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    JobId id;
    control_fixture_init(&fixture);
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 3, false, NULL, &id));
    const char *path = job_file_path(&fixture, "job.lvc");
    const JobExportRequest older = {.tenant = TENANT_DEFAULT, .job = id, .checkpoint = 4};
    const JobExportRequest strange = {.tenant = 99, .job = id};
    assert_fails(NOT_FOUND, job_export_write(fixture.store, NULL, &older, path));
    assert_fails(NOT_FOUND, job_export_write(fixture.store, NULL, &strange, path));
    assert_int_not_equal(access(path, F_OK), 0);
}

int test_job_export(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_export_holds_what_is_not_used_yet),
        cmocka_unit_test(test_job_export_of_a_single_run_has_inputs_only_before_it_begins),
        cmocka_unit_test(test_job_export_is_the_same_while_it_is_read),
        cmocka_unit_test(test_job_export_leaves_nothing_when_it_fails),
    };
    return cmocka_run_group_tests_name("job_export", tests, NULL, NULL);
}
