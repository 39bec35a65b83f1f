#include "scheduler/jobs/job_import_check.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/arrays/array_bundle.h"
#include "tests/scheduler/executor_fixtures.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/serialize/section_mutation.h"

enum { ROWS = 40, FIRST_FRAME = 8 /* of the frames section */ };

/* A file of a suspended batch job, open, and where its forgeries go. */
typedef struct Forger {
    ControlFixture fixture;
    Container *container;
    JobFile file;
    char forged[192];
    size_t accepted;
} Forger;

static void forger_init(Forger *forger) {
    JobId id;
    *forger = (Forger){0};
    control_fixture_init(&forger->fixture);
    control_fixture_start(&forger->fixture, NULL);
    control_fixture_suspended(&forger->fixture, ROWS, true, &id);
    const char *path = job_file_path(&forger->fixture, "job.lvc");
    assert_ok(job_file_export(&forger->fixture, id, false, path));
    assert_ok(container_open_path(CONTAINER_CHECKPOINT, path, &forger->container));
    assert_ok(job_file_read(forger->container, &forger->file));
    path = job_file_path(&forger->fixture, "forged.lvc");
    memcpy(forger->forged, path, strlen(path) + 1);
}

static void forger_deinit(Forger *forger) {
    job_file_deinit(&forger->file);
    container_release(forger->container);
    control_fixture_deinit(&forger->fixture);
}
#define OWN_FORGER(name) __attribute__((cleanup(forger_deinit))) name

static Error *try_file(Forger *forger, const JobFile *file, bool with_execution) {
    JobId made;
    job_file_forge(forger->forged, file, with_execution ? forger->container : NULL);
    return job_file_import(&forger->fixture, forger->forged, true, &made);
}

/* One array of one item. */
static void make_row(const char *name, DType dtype, int64_t items, ArrayBundle *out) {
    ArrayList OWN_ARRAYS(arrays) = {0};
    NamedArray array = {0};
    const Shape shape = {.rank = 2, .dims = {items, 2}};
    assert_ok(named_array_init(&array, name, dtype, &shape));
    if (dtype == DTYPE_BOOL) array.data[0] = 7;
    assert_ok(array_list_add(&arrays, &array));
    assert_ok(array_bundle_write(&arrays, NULL, (ChunkSink){0}, out));
}

static JobFileArrays arrays_of(const ArrayBundle *bundle) {
    return (JobFileArrays){.bytes = bundle->bytes.data, .size = bundle->bytes.size};
}

static void test_job_import_refuses_counts_that_contradict_each_other(void **state) {
    (void)state;
    Forger OWN_FORGER(forger);
    forger_init(&forger);
    JobFile file = forger.file;
    file.items_total++;
    assert_fails_saying(CORRUPT, "items", try_file(&forger, &file, true));
    file = forger.file;
    file.items_done--;
    assert_fails_saying(CORRUPT, "items", try_file(&forger, &file, true));
    file = forger.file;
    file.output_count--;
    assert_fails_saying(CORRUPT, "outputs", try_file(&forger, &file, true));
    file = forger.file;
    file.items_total = -1;
    file.items_done = 0;
    assert_fails_saying(CORRUPT, "another kind", try_file(&forger, &file, true));
    file = forger.file;
    file.priority = 200;
    assert_fails_saying(CORRUPT, "priority", try_file(&forger, &file, true));
    file = forger.file;
    file.executable_identity.bytes[0] ^= 1;
    assert_fails_saying(NOT_FOUND, "executable", try_file(&forger, &file, false));
}

static void test_job_import_refuses_outputs_that_do_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *name, *why;
        DType dtype;
        int64_t items;
    } rows[] = {
        {"z", "after y", DTYPE_FLOAT32, 1},
        {"y", "cannot be appended", DTYPE_INT32, 1},
        {"y", "items instead of", DTYPE_FLOAT32, 2},
        {"yield.0", "runs", DTYPE_FLOAT32, 1}, /* a yield in the place of an output */
        {"yield.7", "after y", DTYPE_FLOAT32, 1},
        {"b", "bool", DTYPE_BOOL, 1},
    };
    Forger OWN_FORGER(forger);
    void *memory;
    forger_init(&forger);
    JobFile file = forger.file;
    assert_ok(memory_alloc(file.output_count, sizeof(JobFileArrays), &memory));
    JobFileArrays *outputs = memory;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ArrayBundle OWN_BUNDLE(row) = {0};
        make_row(rows[i].name, rows[i].dtype, rows[i].items, &row);
        memcpy(outputs, file.outputs, file.output_count * sizeof *outputs);
        outputs[0] = arrays_of(&row);
        JobFile forged = file;
        forged.outputs = outputs;
        Error *error = try_file(&forger, &forged, true);
        assert_int_equal(
            error_code(error), rows[i].dtype == DTYPE_BOOL ? ERROR_INVALID : ERROR_CORRUPT);
        assert_non_null(strstr(error_message(error), rows[i].why));
        error_free(error);
    }
    memory_free(outputs);
}

static void test_job_import_refuses_inputs_that_the_function_does_not_take(void **state) {
    (void)state;
    Forger OWN_FORGER(forger);
    forger_init(&forger);
    int64_t left = forger.file.items_total - forger.file.items_done;
    static const struct {
        const char *name;
        DType dtype;
        int64_t more;
    } inputs[] = {{"b", DTYPE_FLOAT32, 0}, {"a", DTYPE_INT64, 0}, {"a", DTYPE_FLOAT32, 1}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        ArrayBundle OWN_BUNDLE(bundle) = {0};
        make_row(inputs[i].name, inputs[i].dtype, left + inputs[i].more, &bundle);
        JobFile file = forger.file;
        file.inputs = arrays_of(&bundle);
        Error *error = try_file(&forger, &file, true);
        assert_true(error_code(error) == ERROR_INVALID || error_code(error) == ERROR_CORRUPT);
        error_free(error);
    }
    ChunkRef missing = {.raw_size = 1 << 20};
    JobFile file = forger.file;
    file.inputs.chunks = &missing;
    file.inputs.chunk_count = 1;
    assert_fails(CORRUPT, try_file(&forger, &file, true));
}

static void try_mutation(const Container *mutated, void *context) {
    Forger *forger = context;
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    JobId id;
    ByteReader manifest = container_get_manifest(mutated);
    assert_ok(file_output_create(forger->forged, &output));
    assert_ok(container_file_create(output, NULL, &file));
    assert_ok(container_file_finish(file, manifest.data, manifest.size));
    assert_ok(file_output_commit(output));
    Error *error = job_file_import(&forger->fixture, forger->forged, true, &id);
    ErrorCode code = error_code(error);
    if (!error) {
        Job job;
        forger->accepted++;
        error_free(control_cancel(forger->fixture.control, TENANT_DEFAULT, id)); /* or it failed */
        assert_ok(jobs_get(forger->fixture.store, TENANT_DEFAULT, id, &job));
        assert_true(job.items_done <= job.items_total);
    }
    assert_true(code != ERROR_INTERNAL && code != ERROR_IO);
    error_free(error);
    assert_ok(control_check(forger->fixture.control));
}

/* One byte of a section is another, with checksums that are right: refused, or a job like others.
 */
static void test_job_import_survives_every_changed_byte(void **state) {
    (void)state;
    TEST_OF_ONE_THREAD();
    static const SectionNumber sections[] = {SECTION_JOB, SECTION_ORIGIN, SECTION_INPUTS};
    Forger OWN_FORGER(forger);
    forger_init(&forger);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        section_mutate(forger.container, sections[i], container_get_source(forger.container),
            try_mutation, &forger);
    assert_true(forger.accepted > 0);
}

/* The frames section of a job that was suspended within an item: between two items the execution
 * has no frame. */
static void begin_within_item(Forger *forger, ByteWriter *out_frames) {
    for (int tries = 0; tries < 20; tries++) {
        ByteReader reader;
        forger_init(forger);
        assert_ok(container_get_section(forger->container, SECTION_FRAMES, &reader));
        if (reader.size > FIRST_FRAME) {
            byte_write_bytes(out_frames, reader.data, reader.size);
            return;
        }
        forger_deinit(forger);
    }
    fail_msg("the job is always suspended between two items");
}

/* An execution that its code cannot have is noticed when it goes on, and its job fails. */
static void test_job_import_of_an_execution_that_cannot_be_fails_as_a_job(void **state) {
    (void)state;
    Forger OWN_FORGER(forger) = {0};
    ByteWriter OWN_BYTES(frames) = {0};
    JobId id;
    Job job;
    begin_within_item(&forger, &frames);
    byte_patch_u32(&frames, FIRST_FRAME + 4, 100000); /* its pc */
    OWN(Container, forged) = section_replace(forger.container, SECTION_FRAMES, frames.data,
        frames.size, container_get_source(forger.container));
    job_file_forge(forger.forged, &forger.file, forged);
    assert_ok(job_file_import(&forger.fixture, forger.forged, true, &id));
    control_fixture_wait(&forger.fixture, id, JOB_STATE_FAILED, &job);
    assert_ok(control_check(forger.fixture.control));
}

int test_job_import_check(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_import_refuses_counts_that_contradict_each_other),
        cmocka_unit_test(test_job_import_refuses_outputs_that_do_not_fit),
        cmocka_unit_test(test_job_import_refuses_inputs_that_the_function_does_not_take),
        cmocka_unit_test(test_job_import_survives_every_changed_byte),
        cmocka_unit_test(test_job_import_of_an_execution_that_cannot_be_fails_as_a_job),
    };
    return cmocka_run_group_tests_name("job_import_check", tests, NULL, NULL);
}
