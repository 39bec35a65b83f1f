#include "tests/scheduler/job_file_fixtures.h"

#include <stdio.h>

#include "serialize/array_bundle.h"

const char *job_file_path(const ControlFixture *fixture, const char *name) {
    static char path[192];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    return path;
}

static Error *remove_job(Connection *catalog, void *context) {
    return jobs_remove(catalog, TENANT_DEFAULT, *(const JobId *)context);
}

/* False: it ended before the request came, as it may where the cores are busy; it is removed. */
static bool suspend_before_end(ControlFixture *fixture, JobId id) {
    Error *error = control_suspend(fixture->control, TENANT_DEFAULT, id);
    if (!error) return true;
    assert_int_equal(error_code(error), ERROR_CONFLICT);
    error_free(error);
    assert_ok(catalog_run(fixture->catalog, remove_job, &id));
    return false;
}

void job_file_suspended(ControlFixture *fixture, int64_t rows, bool items, JobId *out_id) {
    const char *function = items ? "slow" : "forever";
    Job job;
    int tries = 0;
    do {
        assert_true(tries++ < 20);
        assert_ok(control_fixture_submit(fixture, function, rows, items, NULL, out_id));
        if (items)
            control_fixture_wait_outputs(fixture, *out_id, 1);
        else
            control_fixture_wait_progress(fixture, *out_id, 0);
    } while (!suspend_before_end(fixture, *out_id));
    assert_ok(jobs_get(fixture->store, TENANT_DEFAULT, *out_id, &job));
    if (items) assert_true(job.items_done > 0 && job.items_done < rows);
}

Error *job_file_export(ControlFixture *fixture, JobId id, bool owns, const char *path) {
    const JobExport wanted = {.tenant = TENANT_DEFAULT, .job = id, .owns = owns};
    return job_export_write(fixture->store, NULL, &wanted, path);
}

Error *job_file_import(
    ControlFixture *fixture, const char *path, bool with_outputs, JobId *out_id) {
    const JobImport wanted = {.tenant = TENANT_DEFAULT, .path = path, .with_outputs = with_outputs};
    return job_import_restore(fixture->control, fixture->store, NULL, &wanted, out_id);
}

void job_file_forge(const char *path, const JobFile *file, const Container *execution) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, container) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    assert_ok(job_file_write(file, execution, &manifest, &identity));
    assert_ok(file_output_create(path, &output));
    assert_ok(container_file_create(output, NULL, &container));
    assert_ok(container_file_finish(container, manifest.data, manifest.size));
    assert_ok(file_output_commit(output));
}

float job_file_first_input(const Container *container, const JobFile *file, int64_t *out_count) {
    ArrayList OWN_ARRAYS(inputs) = {0};
    assert_ok(array_bundle_read(file->inputs.bytes, file->inputs.size, file->inputs.chunks,
        file->inputs.chunk_count, NULL, CHUNK_VERIFY_SHA256, container_get_source(container),
        UINT64_MAX, &inputs));
    *out_count = inputs.count > 0 ? inputs.items[0].shape.dims[0] : 0;
    return *out_count > 0 ? *(const float *)inputs.items[0].data : 0;
}
