#include "tests/scheduler/job_file_fixtures.h"

#include <stdio.h>

#include "base/file.h"
#include "serialize/arrays/array_bundle.h"
#include "tests/scheduler/stream_fixtures.h"

const char *job_file_path(const ControlFixture *fixture, const char *name) {
    static char path[192];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    return path;
}

Error *job_file_pull(HttpStream *stream, const char *path) {
    ByteWriter OWN_BYTES(file) = {0};
    TRY(stream_pull(stream, NULL, &file));
    return file_write_atomic(path, file.data, file.size);
}

/* By both ways, by turns. */
Error *job_file_export(ControlFixture *fixture, JobId id, bool owns, const char *path) {
    static unsigned turn;
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = id, .owns = owns};
    HttpStream stream;
    if (turn++ % 2) return job_export_write(fixture->store, NULL, &wanted, path);
    TRY(job_export_open(fixture->store, NULL, &wanted, &stream));
    assert_non_null(stream.pull);
    return job_file_pull(&stream, path);
}

Error *job_file_import(
    ControlFixture *fixture, const char *path, bool with_outputs, JobId *out_id) {
    const JobImportRequest wanted = {
        .tenant = TENANT_DEFAULT, .path = path, .with_outputs = with_outputs};
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
