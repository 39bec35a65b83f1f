#include "tests/scheduler/manifest_fixtures.h"

void manifest_fixture_init(ManifestFixture *fixture) {
    *fixture = (ManifestFixture){0};
    control_fixture_init(&fixture->from);
    control_fixture_start(&fixture->from, NULL);
    control_fixture_init(&fixture->to);
    control_fixture_start(&fixture->to, NULL);
    assert_ok(chunk_upload_open(fixture->to.store, TENANT_DEFAULT, &fixture->upload));
    assert_ok(chunk_reader_open(fixture->to.store, TENANT_DEFAULT, &fixture->reader));
}

void manifest_fixture_deinit(ManifestFixture *fixture) {
    job_manifest_close(fixture->job_manifest);
    chunk_reader_close(fixture->reader);
    chunk_upload_close(fixture->upload);
    control_fixture_deinit(&fixture->to);
    control_fixture_deinit(&fixture->from);
}

void manifest_fixture_open(ManifestFixture *fixture, JobId id) {
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = id, .with_model = true};
    Job job;
    job_manifest_close(fixture->job_manifest);
    fixture->job_manifest = NULL;
    assert_ok(job_manifest_open(fixture->from.store, &wanted, &fixture->job_manifest));
    assert_ok(jobs_get(fixture->from.store, TENANT_DEFAULT, id, &job));
    fixture->wanted = (JobImportRequest){.tenant = TENANT_DEFAULT,
        .source = chunk_reader_source(fixture->reader),
        .verify = CHUNK_VERIFY_XXH3,
        .moves = true,
        .job = id,
        .epoch = job.epoch};
    fixture->wanted.manifest =
        job_manifest_bytes(fixture->job_manifest, &fixture->wanted.manifest_size);
}

void manifest_fixture_send(ManifestFixture *fixture) {
    size_t count;
    const ChunkRef *chunks = job_manifest_chunks(fixture->job_manifest, &count);
    assert_ok(chunk_copy(chunks, count, NULL, CHUNK_VERIFY_SHA256,
        job_manifest_source(fixture->job_manifest), chunk_upload_sink(fixture->upload)));
    assert_ok(chunk_upload_flush(fixture->upload));
}

Error *manifest_fixture_import(ManifestFixture *fixture, JobId *out_id) {
    return job_import_restore(
        fixture->to.control, fixture->to.store, NULL, &fixture->wanted, out_id);
}
