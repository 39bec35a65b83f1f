#include "tests/scheduler/service_fixtures.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/allocator.h"
#include "base/file.h"
#include "serialize/arrays/npz.h"
#include "store/accounts/tenants.h"
#include "tests/scheduler/executor_fixtures.h"

static Error *add_tenant(Connection *catalog, void *context) {
    return tenants_add(catalog, "stranger", context);
}

void service_fixture_init(ServiceFixture *fixture) {
    TenantId stranger;
    *fixture = (ServiceFixture){0};
    control_fixture_init(&fixture->node);
    assert_ok(catalog_run(fixture->node.catalog, add_tenant, &stranger));
    assert_ok(
        job_service_create(fixture->node.settings, fixture->node.catalog, NULL, &fixture->service));
    ControlOptions options = {.store = fixture->node.store,
        .catalog = fixture->node.catalog,
        .settings = fixture->node.settings,
        .devices = {"cpu", "sim:0"},
        .device_count = 2,
        .changed = job_service_changed,
        .listener = fixture->service};
    assert_ok(control_create(&options, &fixture->node.control));
    job_service_set_control(fixture->service, fixture->node.control);
    fixture->api = job_service_api(fixture->service);
    fixture->user = (Caller){.tenant = TENANT_DEFAULT, .role = CALLER_USER};
    fixture->admin = (Caller){.tenant = TENANT_DEFAULT, .role = CALLER_ADMIN};
    fixture->stranger = (Caller){.tenant = stranger, .role = CALLER_USER};
}

void service_fixture_deinit(ServiceFixture *fixture) {
    control_fixture_stop(&fixture->node);
    job_service_release(fixture->service);
    control_fixture_deinit(&fixture->node);
}

void service_fixture_inputs(int64_t rows, ByteWriter *out) {
    char folder[64], path[128];
    uint8_t *data;
    size_t size;
    ArrayList OWN_ARRAYS(arrays) = {0};
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    const Shape shape = {.rank = 2, .dims = {rows, 2}};
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/in.npz", folder);
    fixture_add_floats(&arrays, "a", &shape, 1);
    assert_ok(file_output_create(path, &output));
    assert_ok(npz_writer_create(output, &writer));
    assert_ok(npz_writer_add(writer, &arrays.items[0]));
    assert_ok(npz_writer_finish(writer));
    assert_ok(file_output_commit(output));
    assert_ok(file_read(path, 1 << 24, &data, &size));
    byte_write_bytes(out, data, size);
    assert_ok(byte_writer_check(out));
    memory_unmap(data, size);
    test_folder_remove(folder);
}

Error *service_fixture_submit(
    ServiceFixture *fixture, const char *function, int64_t rows, bool items, JobsApiJob *out_job) {
    ByteWriter OWN_BYTES(inputs) = {0};
    service_fixture_inputs(rows, &inputs);
    Submission OWN_SUBMISSION(submission) = {0};
    control_fixture_submission("m", function, &inputs, &submission);
    submission.policy.items = items;
    return fixture->api.class_->submit(fixture->api.self, &fixture->user, &submission, out_job);
}

void service_fixture_wait(ServiceFixture *fixture, const char *state, JobsApiJob *inout_job) {
    const struct timespec pause = {.tv_nsec = 3000000};
    for (int i = 0; i < 10000; i++) {
        char job[JOBS_API_ID_SIZE];
        memcpy(job, inout_job->job, sizeof job);
        assert_ok(fixture->api.class_->get(fixture->api.self, &fixture->user, job, inout_job));
        if (strcmp(inout_job->state, state) == 0) return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("the job is %s, not %s", inout_job->state, state);
}
