#include "tests/scheduler/parcel_fixtures.h"

void parcel_fixture_init(ParcelFixture *fixture) {
    *fixture = (ParcelFixture){0};
    control_fixture_init(&fixture->from);
    control_fixture_start(&fixture->from, NULL);
    control_fixture_init(&fixture->to);
    control_fixture_start(&fixture->to, NULL);
    assert_ok(chunk_upload_open(fixture->to.store, TENANT_DEFAULT, &fixture->upload));
    assert_ok(chunk_reader_open(fixture->to.store, TENANT_DEFAULT, &fixture->reader));
}

void parcel_fixture_deinit(ParcelFixture *fixture) {
    job_parcel_close(fixture->parcel);
    chunk_reader_close(fixture->reader);
    chunk_upload_close(fixture->upload);
    control_fixture_deinit(&fixture->to);
    control_fixture_deinit(&fixture->from);
}

void parcel_fixture_open(ParcelFixture *fixture, JobId id) {
    const JobExport wanted = {.tenant = TENANT_DEFAULT, .job = id, .with_model = true};
    Job job;
    job_parcel_close(fixture->parcel);
    fixture->parcel = NULL;
    assert_ok(job_parcel_open(fixture->from.store, &wanted, &fixture->parcel));
    assert_ok(jobs_get(fixture->from.store, TENANT_DEFAULT, id, &job));
    fixture->wanted = (JobImport){.tenant = TENANT_DEFAULT,
        .source = chunk_reader_source(fixture->reader),
        .verify = CHUNK_VERIFY_XXH3,
        .moves = true,
        .job = id,
        .epoch = job.epoch};
    fixture->wanted.manifest = job_parcel_manifest(fixture->parcel, &fixture->wanted.manifest_size);
}

void parcel_fixture_send(ParcelFixture *fixture) {
    size_t count;
    const ChunkRef *chunks = job_parcel_chunks(fixture->parcel, &count);
    assert_ok(chunk_copy(chunks, count, NULL, CHUNK_VERIFY_SHA256,
        job_parcel_source(fixture->parcel), chunk_upload_sink(fixture->upload)));
    assert_ok(chunk_upload_flush(fixture->upload));
}

Error *parcel_fixture_import(ParcelFixture *fixture, JobId *out_id) {
    return job_import_restore(
        fixture->to.control, fixture->to.store, NULL, &fixture->wanted, out_id);
}
