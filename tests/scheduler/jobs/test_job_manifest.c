#include "scheduler/jobs/job_manifest.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint_summary.h"
#include "store/jobs/stored_content.h"
#include "tests/scheduler/manifest_fixtures.h"

enum { ROWS = 60, MANY_ROWS = 8192 };

static void test_job_manifest_goes_on_elsewhere_in_the_middle_of_a_batch(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobId id, made;
    Job job;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, ROWS, true, &id);
    manifest_fixture_open(&fixture, id);
    manifest_fixture_send(&fixture);
    assert_ok(manifest_fixture_import(&fixture, &made));
    assert_true(job_id_equal(id, made));
    control_fixture_wait(&fixture.to, made, JOB_STATE_SUCCEEDED, &job);
    assert_int_equal(job.epoch, 1);
    assert_int_equal(job.items_done, ROWS);
    assert_int_equal(job.output_count, ROWS);
    control_fixture_check(&fixture.to, made, ROWS, 2);
    assert_fails(CONFLICT, manifest_fixture_import(&fixture, &made)); /* once */
}

/* Inputs that begin with a later item go on beginning with it. */
static void test_job_manifest_of_a_job_from_a_file_keeps_its_first_item(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobId id, copy, made;
    Job first, job;
    int64_t count;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, ROWS, true, &id);
    assert_ok(jobs_get(fixture.from.store, TENANT_DEFAULT, id, &first));
    const char *path = job_file_path(&fixture.from, "job.lvc");
    assert_ok(job_file_export(&fixture.from, id, false, path));
    assert_ok(job_file_import(&fixture.from, path, true, &copy));
    assert_ok(control_suspend(fixture.from.control, TENANT_DEFAULT, copy));
    manifest_fixture_open(&fixture, copy);
    manifest_fixture_send(&fixture);
    {
        OWN(JobImportState, import) = NULL;
        OWN(Container, container) = NULL;
        assert_ok(job_import_open(fixture.to.store, NULL, &fixture.wanted, &import));
        assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, fixture.wanted.manifest,
            fixture.wanted.manifest_size, fixture.wanted.source, &container));
        const JobFile *file = job_import_get_file(import);
        assert_true(
            job_file_first_input(container, file, &count) == (float)(2 * first.items_done + 1));
        assert_int_equal(count, ROWS - first.items_done);
    }
    assert_ok(manifest_fixture_import(&fixture, &made));
    control_fixture_wait(&fixture.to, made, JOB_STATE_SUCCEEDED, &job);
    control_fixture_check(&fixture.to, made, ROWS, 2);
}

static uint64_t count_instructions(ManifestFixture *fixture) {
    OWN(JobImportState, import) = NULL;
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    assert_ok(job_import_open(fixture->to.store, NULL, &fixture->wanted, &import));
    assert_non_null(job_import_get_execution(import));
    assert_int_equal(job_import_get_file(import)->output_count, 0);
    assert_ok(checkpoint_summary_read(job_import_get_execution(import), &summary));
    return summary.instructions;
}

/* There and back: it never begins again, and takes no inputs along. */
static void test_job_manifest_goes_on_elsewhere_in_the_middle_of_a_run(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobId id, made;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, 3, false, &id);
    manifest_fixture_open(&fixture, id);
    manifest_fixture_send(&fixture);
    uint64_t before = count_instructions(&fixture);
    assert_ok(manifest_fixture_import(&fixture, &made));
    control_fixture_wait_progress(&fixture.to, made, before);
    assert_ok(control_suspend(fixture.to.control, TENANT_DEFAULT, made));
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = made};
    OWN(JobManifest, again) = NULL;
    assert_ok(job_manifest_open(fixture.to.store, &wanted, &again));
    fixture.wanted.manifest = job_manifest_bytes(again, &fixture.wanted.manifest_size);
    fixture.wanted.epoch = 1;
    assert_true(count_instructions(&fixture) > before);
}

/* Nothing is made anew: the chunks are those of the store, and each comes once. */
static void test_job_manifest_is_what_the_store_has(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobId id, made;
    Job job;
    size_t count, stored_count;
    manifest_fixture_init(&fixture);
    assert_ok(control_fixture_submit(&fixture.from, "four", MANY_ROWS, false, NULL, &id));
    control_fixture_wait(&fixture.from, id, JOB_STATE_SUCCEEDED, &job);
    manifest_fixture_open(&fixture, id); /* as it was before it began, with what was seen of it */
    const ChunkRef *chunks = job_manifest_chunks(fixture.job_manifest, &count);
    {
        OWN(StoredContent, inputs) = NULL;
        assert_ok(stored_content_open(
            fixture.from.store, TENANT_DEFAULT, id, JOB_CONTENT_INPUTS, 0, &inputs));
        const ChunkRef *stored = stored_content_chunks(inputs, &stored_count);
        assert_int_equal(count, 2);
        assert_int_equal(stored_count, 1);
        bool found = digest_equal(&chunks[0].hash, &stored->hash) ||
                     digest_equal(&chunks[1].hash, &stored->hash);
        assert_true(found);
    }
    assert_fails_saying(CORRUPT, "not in the store", manifest_fixture_import(&fixture, &made));
    manifest_fixture_send(&fixture);
    assert_ok(manifest_fixture_import(&fixture, &made));
    control_fixture_wait(&fixture.to, made, JOB_STATE_SUCCEEDED, &job);
    ArrayList OWN_ARRAYS(outputs) = {0};
    control_fixture_output(&fixture.to, made, 0, &outputs);
    const float *values = (const float *)outputs.items[0].data;
    for (int i = 0; i < 2 * MANY_ROWS; i++) assert_true(values[i] == 4 * (float)(i + 1));
}

/* A source that counts what is asked of it. */
typedef struct CountingSource {
    ChunkSource from;
    _Atomic size_t gets;
} CountingSource;

static Error *counting_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    CountingSource *source = self;
    source->gets++;
    return source->from.get(source->from.self, ref, inout_stored);
}

static Error *check_again(ManifestFixture *fixture) {
    OWN(JobImportState, import) = NULL;
    return job_import_open(fixture->to.store, NULL, &fixture->wanted, &import);
}

/* What was decoded once is not decoded again, and what could not be is. */
static void test_job_manifest_is_checked_again_without_its_chunks(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    DigestSet OWN_DIGEST_SET(checked) = {0};
    JobId id, made;
    Job job;
    manifest_fixture_init(&fixture);
    assert_ok(control_fixture_submit(&fixture.from, "four", MANY_ROWS, false, NULL, &id));
    control_fixture_wait(&fixture.from, id, JOB_STATE_SUCCEEDED, &job);
    manifest_fixture_open(&fixture, id);
    CountingSource source = {.from = fixture.wanted.source};
    fixture.wanted.source = (ChunkSource){counting_get, &source};
    fixture.wanted.checked = &checked;
    assert_fails(CORRUPT, check_again(&fixture)); /* the chunk did not come yet */
    assert_int_equal(source.gets, 1);
    assert_int_equal(checked.count, 0);
    manifest_fixture_send(&fixture);
    for (int i = 0; i < 3; i++) {
        assert_ok(check_again(&fixture));
        assert_int_equal(source.gets, 3);
        assert_int_equal(checked.count, 2);
    }
    assert_ok(manifest_fixture_import(&fixture, &made)); /* nor is it copied */
    assert_int_equal(source.gets, 3);
    control_fixture_wait(&fixture.to, made, JOB_STATE_SUCCEEDED, &job);
    fixture.wanted.checked = NULL;
    assert_ok(check_again(&fixture));
    assert_int_equal(source.gets, 5);
}

static void test_job_manifest_of_a_job_that_has_not_begun_is_its_inputs(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobId id, made;
    OWN(JobImportState, import) = NULL;
    manifest_fixture_init(&fixture);
    assert_ok(control_fixture_submit(&fixture.from, "forever", 3, false, NULL, &id));
    manifest_fixture_open(&fixture, id);
    assert_ok(job_import_open(fixture.to.store, NULL, &fixture.wanted, &import));
    assert_null(job_import_get_execution(import));
    assert_ok(job_import_stage(import));
    assert_ok(job_import_stage(import));
    assert_ok(job_import_submit(import, fixture.to.control, &made));
    assert_true(job_id_equal(id, made));
}

/* The manifest of the executable, too, for a node that lacks it. */
static void test_job_manifest_has_its_model_when_that_is_wanted(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    JobExportRequest wanted = {.tenant = TENANT_DEFAULT};
    JobFile OWN_JOB_FILE(file) = {0};
    OWN(Container, container) = NULL;
    size_t size, count;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, 3, false, &wanted.job);
    manifest_fixture_open(&fixture, wanted.job);
    const uint8_t *manifest = job_manifest_bytes(fixture.job_manifest, &size);
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, manifest, size,
        job_manifest_source(fixture.job_manifest), &container));
    assert_ok(job_file_read(container, &file));
    assert_non_null(file.executable);
    OWN(JobManifest, without) = NULL;
    assert_ok(job_manifest_open(fixture.from.store, &wanted, &without));
    (void)job_manifest_model_chunks(without, &count);
    assert_int_equal(count, 0);
    wanted.job.number++;
    OWN(JobManifest, none) = NULL;
    assert_fails(NOT_FOUND, job_manifest_open(fixture.from.store, &wanted, &none));
}

/* ---- forgeries ---- */

/* The manifest's manifest with another job section. */
static Error *try_forged(
    ManifestFixture *fixture, const JobFile *file, const Container *execution) {
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    JobId made;
    const JobImportRequest wanted = fixture->wanted;
    assert_ok(job_file_write(file, execution, &manifest, &identity));
    fixture->wanted.manifest = manifest.data;
    fixture->wanted.manifest_size = manifest.size;
    Error *error = manifest_fixture_import(fixture, &made);
    fixture->wanted = wanted;
    return error;
}

static Error *try_items_before(ManifestFixture *fixture, const JobFile *file,
    const Container *execution, uint64_t items_before) {
    ByteWriter OWN_BYTES(bytes) = {0};
    JobPolicy OWN_POLICY(policy) = {0};
    JobFile forged = *file;
    assert_ok(job_policy_read(file->policy, file->policy_size, &policy));
    policy.items_before = items_before;
    job_policy_write(&policy, &bytes);
    forged.policy = bytes.data;
    forged.policy_size = bytes.size;
    return try_forged(fixture, &forged, execution);
}

static void test_job_manifest_that_was_forged_is_refused(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(Container, container) = NULL;
    JobFile OWN_JOB_FILE(file) = {0};
    JobId id;
    OWN(JobList, jobs) = NULL;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, ROWS, true, &id);
    manifest_fixture_open(&fixture, id);
    manifest_fixture_send(&fixture);
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, fixture.wanted.manifest,
        fixture.wanted.manifest_size, fixture.wanted.source, &container));
    assert_ok(job_file_read(container, &file));
    uint64_t done = (uint64_t)file.items_done;
    uint64_t wrong[] = {1, done, done + 1, INT64_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails_saying(
            CORRUPT, "item", try_items_before(&fixture, &file, container, wrong[i]));
    JobFile forged = file;
    forged.origin.epoch++;
    assert_fails_saying(CORRUPT, "epoch", try_forged(&fixture, &forged, container));
    forged = file;
    forged.origin.number++;
    assert_fails_saying(CORRUPT, "epoch", try_forged(&fixture, &forged, container));
    forged.origin.owner = JOB_FILE_RELEASE;
    assert_fails_saying(CORRUPT, "not as a file", try_forged(&fixture, &forged, container));
    forged = file;
    forged.output_count--;
    assert_fails_saying(CORRUPT, "outputs", try_forged(&fixture, &forged, container));
    assert_ok(jobs_list(fixture.to.store, TENANT_DEFAULT, JOB_STATE_NONE, 0, 10, &jobs));
    assert_int_equal(jobs->count, 0);
}

/* A file cannot pretend to be sent by a node. */
static void test_job_manifest_is_no_file(void **state) {
    (void)state;
    ManifestFixture OWN_MANIFEST(fixture);
    OWN(Container, container) = NULL;
    JobFile OWN_JOB_FILE(file) = {0};
    JobId id, made;
    manifest_fixture_init(&fixture);
    control_fixture_suspended(&fixture.from, ROWS, true, &id);
    manifest_fixture_open(&fixture, id);
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, fixture.wanted.manifest,
        fixture.wanted.manifest_size, fixture.wanted.source, &container));
    assert_ok(job_file_read(container, &file));
    const char *path = job_file_path(&fixture.to, "forged.lvc");
    job_file_forge(path, &file, NULL);
    assert_fails_saying(CORRUPT, "not as a file", job_file_import(&fixture.to, path, true, &made));
}

int test_job_manifest(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_manifest_goes_on_elsewhere_in_the_middle_of_a_batch),
        cmocka_unit_test(test_job_manifest_of_a_job_from_a_file_keeps_its_first_item),
        cmocka_unit_test(test_job_manifest_goes_on_elsewhere_in_the_middle_of_a_run),
        cmocka_unit_test(test_job_manifest_is_what_the_store_has),
        cmocka_unit_test(test_job_manifest_is_checked_again_without_its_chunks),
        cmocka_unit_test(test_job_manifest_of_a_job_that_has_not_begun_is_its_inputs),
        cmocka_unit_test(test_job_manifest_has_its_model_when_that_is_wanted),
        cmocka_unit_test(test_job_manifest_that_was_forged_is_refused),
        cmocka_unit_test(test_job_manifest_is_no_file),
    };
    return cmocka_run_group_tests_name("job_manifest", tests, NULL, NULL);
}
