#include "serialize/checkpoint/job_file.h"

#include <math.h>
#include <string.h>

#include "serialize/checkpoint/checkpoint_summary.h"
#include "tests/serialize/checkpoint_fixtures.h"
#include "tests/serialize/section_mutation.h"

/* A file with a chunk in its inputs and in its second output. */
typedef struct Example {
    CheckpointExample checkpoint;
    ChunkRef chunks[3];
    JobFileArrays outputs[2];
    JobFile file;
} Example;

static void example_init(Example *example) {
    *example = (Example){0};
    checkpoint_example_init(&example->checkpoint, 4);
    for (uint32_t i = 0; i < 3; i++) {
        memset(example->chunks[i].hash.bytes, (int)i + 1, DIGEST_SIZE);
        example->chunks[i].raw_size = 1000 + i;
    }
    example->outputs[0] = (JobFileArrays){.bytes = "first", .size = 5};
    example->outputs[1] = (JobFileArrays){"second", 6, &example->chunks[1], 2};
    example->file = (JobFile){.origin = {0xabcdef, 17, 3, JOB_FILE_RELEASE},
        .model = "m@2",
        .priority = 1,
        .release = 2,
        .items_total = 9,
        .items_done = 4,
        .deadline_s = 2.5,
        .policy = "policy",
        .policy_size = 6,
        .point = "here",
        .point_size = 4,
        .inputs = {"inputs", 6, example->chunks, 1},
        .outputs = example->outputs,
        .output_count = 2,
        .executable = "manifest",
        .executable_size = 8,
        .executable_identity = example->checkpoint.executable->identity};
}

static Container *write(const Example *example, const Container *execution) {
    ByteWriter OWN_BYTES(manifest) = {0};
    Container *container;
    Digest identity;
    assert_ok(job_file_write(&example->file, execution, &manifest, &identity));
    assert_ok(container_open_manifest(CONTAINER_CHECKPOINT, manifest.data, manifest.size,
        memory_store_source((MemoryStore *)(uintptr_t)&example->checkpoint.chunks), &container));
    return container;
}

static void check_arrays(const JobFileArrays *arrays, const JobFileArrays *expected) {
    assert_int_equal(arrays->size, expected->size);
    assert_memory_equal(arrays->bytes, expected->bytes, expected->size);
    assert_int_equal(arrays->chunk_count, expected->chunk_count);
    for (size_t i = 0; i < expected->chunk_count; i++) {
        assert_true(digest_equal(&arrays->chunks[i].hash, &expected->chunks[i].hash));
        assert_int_equal(arrays->chunks[i].raw_size, expected->chunks[i].raw_size);
    }
}

static void check_file(const JobFile *file, const JobFile *expected) {
    assert_memory_equal(&file->origin.node, &expected->origin.node, 8);
    assert_int_equal(file->origin.number, expected->origin.number);
    assert_int_equal(file->origin.epoch, expected->origin.epoch);
    assert_int_equal(file->origin.owner, expected->origin.owner);
    assert_string_equal(file->model, expected->model);
    assert_int_equal(file->priority, expected->priority);
    assert_int_equal(file->release, expected->release);
    assert_int_equal(file->items_total, expected->items_total);
    assert_int_equal(file->items_done, expected->items_done);
    assert_true(isnan(expected->deadline_s) ? isnan(file->deadline_s)
                                            : file->deadline_s == expected->deadline_s);
    assert_int_equal(file->policy_size, expected->policy_size);
    assert_memory_equal(file->point, expected->point, expected->point_size);
    check_arrays(&file->inputs, &expected->inputs);
    assert_int_equal(file->output_count, expected->output_count);
    for (size_t i = 0; i < expected->output_count; i++)
        check_arrays(&file->outputs[i], &expected->outputs[i]);
    assert_int_equal(file->executable_size, expected->executable_size);
    assert_true(digest_equal(&file->executable_identity, &expected->executable_identity));
}

static void test_job_file_round_trips_with_its_execution(void **state) {
    (void)state;
    Example example;
    ByteWriter OWN_BYTES(execution) = {0};
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    JobFile OWN_JOB_FILE(file) = {0};
    example_init(&example);
    OWN(Container, container) = write(&example, example.checkpoint.container);
    assert_true(job_file_is(container) && job_file_has_execution(container));
    assert_false(job_file_is(example.checkpoint.container));
    assert_ok(job_file_read(container, &file));
    check_file(&file, &example.file);
    /* the execution is the same, to its identity */
    assert_ok(job_file_get_execution(container, &execution));
    assert_int_equal(execution.size, example.checkpoint.manifest.size);
    assert_memory_equal(execution.data, example.checkpoint.manifest.data, execution.size);
    assert_ok(checkpoint_summary_read(container, &summary));
    assert_true(summary.has_execution && summary.instructions == 4);
    checkpoint_example_deinit(&example.checkpoint);
}

static void test_job_file_stands_between_two_runs(void **state) {
    (void)state;
    Example example;
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    JobFile OWN_JOB_FILE(file) = {0};
    example_init(&example);
    example.file.executable = NULL;
    example.file.executable_size = 0;
    example.file.deadline_s = NAN;
    example.file.items_total = -1;
    example.file.items_done = 0;
    example.file.inputs = (JobFileArrays){"", 0, NULL, 0};
    example.file.output_count = 0;
    OWN(Container, container) = write(&example, NULL);
    assert_true(job_file_is(container));
    assert_false(job_file_has_execution(container));
    assert_ok(job_file_read(container, &file));
    check_file(&file, &example.file);
    assert_null(file.executable);
    assert_ok(checkpoint_summary_read(container, &summary));
    assert_false(summary.has_execution);
    checkpoint_example_deinit(&example.checkpoint);
}

/* Numbers that no job has. */
static void test_job_file_refuses_what_no_job_is(void **state) {
    (void)state;
    static const struct {
        int64_t total, done;
        uint8_t release, owner;
        uint64_t node, number;
        int64_t epoch;
        double deadline_s;
    } cases[] = {
        {9, 10, 1, 1, 1, 1, 0, NAN},
        {9, -1, 1, 1, 1, 1, 0, NAN},
        {-2, 0, 1, 1, 1, 1, 0, NAN},
        {-1, 1, 1, 1, 1, 1, 0, NAN},
        {9, 1, 0, 1, 1, 1, 0, NAN},
        {9, 1, 3, 1, 1, 1, 0, NAN},
        {9, 1, 1, 0, 1, 1, 0, NAN},
        {9, 1, 1, 4, 1, 1, 0, NAN},
        {9, 1, 1, 1, 0, 1, 0, NAN},
        {9, 1, 1, 1, UINT64_C(1) << 48, 1, 0, NAN},
        {9, 1, 1, 1, 1, 0, 0, NAN},
        {9, 1, 1, 1, 1, UINT64_MAX, 0, NAN},
        {9, 1, 1, 1, 1, 1, -1, NAN},
        {9, 1, 1, 1, 1, 1, INT64_MAX, NAN},
        {9, 1, 1, 1, 1, 1, 0, INFINITY},
    };
    Example example;
    example_init(&example);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        JobFile file = {0};
        example.file.items_total = cases[i].total;
        example.file.items_done = cases[i].done;
        example.file.release = cases[i].release;
        example.file.origin = (JobFileOrigin){
            cases[i].node, cases[i].number, cases[i].epoch, (JobFileOwner)cases[i].owner};
        example.file.deadline_s = cases[i].deadline_s;
        OWN(Container, container) = write(&example, example.checkpoint.container);
        assert_fails(CORRUPT, job_file_read(container, &file));
        assert_null(file.memory);
    }
    checkpoint_example_deinit(&example.checkpoint);
}

static void read_mutated(const Container *mutated, void *context) {
    JobFile file = {0};
    size_t *accepted = context;
    Error *error = job_file_read(mutated, &file);
    if (!error) {
        assert_true(file.items_done <= file.items_total || file.items_total == -1);
        for (size_t i = 0; i < file.inputs.chunk_count; i++)
            assert_true(file.inputs.chunks[i].raw_size <= CHUNK_SIZE);
        job_file_deinit(&file);
        ++*accepted;
    }
    assert_true(!error || error_code(error) == ERROR_CORRUPT);
    error_free(error);
}

static void test_job_file_survives_damage_with_repaired_checksums(void **state) {
    (void)state;
    static const SectionNumber sections[] = {
        SECTION_JOB, SECTION_ORIGIN, SECTION_INPUTS, SECTION_OUTPUTS};
    Example example;
    size_t accepted = 0;
    example_init(&example);
    OWN(Container, container) = write(&example, example.checkpoint.container);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        section_mutate(container, sections[i], memory_store_source(&example.checkpoint.chunks),
            read_mutated, &accepted);
    assert_true(accepted > 0); /* another hash, another number of items */
    checkpoint_example_deinit(&example.checkpoint);
}

int test_job_file(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_file_round_trips_with_its_execution),
        cmocka_unit_test(test_job_file_stands_between_two_runs),
        cmocka_unit_test(test_job_file_refuses_what_no_job_is),
        cmocka_unit_test(test_job_file_survives_damage_with_repaired_checksums),
    };
    return cmocka_run_group_tests_name("job_file", tests, NULL, NULL);
}
