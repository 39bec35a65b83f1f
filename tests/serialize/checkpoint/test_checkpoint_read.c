#include "serialize/checkpoint/checkpoint.h"

#include "tests/serialize/checkpoint_fixtures.h"
#include "tests/serialize/section_mutation.h"
#include "vm/objects/value_equal.h"

/* Stopped anywhere, through bytes, to the end: the undisturbed run's result, yields and counters.
 */
static void test_checkpoint_read_goes_on_to_the_same_result(void **state) {
    (void)state;
    CheckpointExample straight;
    checkpoint_example_init(&straight, 0);
    Execution *expected = example_execution(straight.residency, 1000);
    for (uint64_t instructions = 0; instructions < 10; instructions++) {
        CheckpointExample example;
        Error *error;
        bool equal = false;
        checkpoint_example_init(&example, instructions);
        Execution *execution = checkpoint_example_finish(&example, example.container, &error);
        assert_ok(error);
        /* the closures' functions are indices: equal in both executables */
        assert_ok(
            value_equal(execution_get_result(execution), execution_get_result(expected), &equal));
        assert_true(equal);
        assert_int_equal(execution_get_counters(execution).instructions, 8);
        assert_int_equal(execution_get_counters(execution).yields, 1);
        assert_int_equal(execution_get_entry(execution), 0);
        Value yielded;
        uint64_t sequence;
        assert_true(execution_take_yield(execution, &yielded, &sequence));
        assert_int_equal(sequence, 0);
        value_release(&yielded);
        execution_release(execution);
        checkpoint_example_deinit(&example);
    }
    execution_release(expected);
    checkpoint_example_deinit(&straight);
}

static void test_checkpoint_read_refuses_another_executable(void **state) {
    (void)state;
    CheckpointExample example;
    Error *error;
    checkpoint_example_init(&example, 3);
    example.executable->identity.bytes[0] ^= 1;
    assert_null(checkpoint_example_finish(&example, example.container, &error));
    assert_fails_saying(INVALID, "another executable", error);
    checkpoint_example_deinit(&example);
}

typedef struct Mutations {
    const CheckpointExample *example;
    uint32_t rejected, accepted;
} Mutations;

/* Refused with a reason, or run to an end of some kind; never a crash, never our bug. */
static void run_mutated(const Container *mutated, void *context) {
    Mutations *mutations = context;
    Error *error;
    Execution *execution = checkpoint_example_finish(mutations->example, mutated, &error);
    if (error) {
        assert_true(error_code(error) != ERROR_INTERNAL);
        mutations->rejected++;
    } else
        mutations->accepted++;
    error_free(error);
    execution_release(execution);
}

static void test_checkpoint_read_survives_damage_with_repaired_checksums(void **state) {
    (void)state;
    static const SectionNumber sections[] = {SECTION_HEADER, SECTION_FRAMES, SECTION_REGISTERS,
        SECTION_OBJECTS, SECTION_COUNTERS, SECTION_YIELDS, SECTION_STATEFUL};
    CheckpointExample example;
    checkpoint_example_init(&example, 6);
    Mutations mutations = {.example = &example};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        section_mutate(example.container, sections[i], memory_store_source(&example.chunks),
            run_mutated, &mutations);
    assert_true(mutations.rejected > 500);
    assert_true(
        mutations.accepted > 0); /* other numbers in tensors are no damage that can be seen */
    checkpoint_example_deinit(&example);
}

/* One field of a section overwritten; everything else as it was. */
static void check_forged(const CheckpointExample *example, SectionNumber number, size_t at,
    uint32_t value, const char *says) {
    ByteReader reader;
    ByteWriter OWN_BYTES(bytes) = {0};
    Error *error;
    assert_ok(container_get_section(example->container, number, &reader));
    byte_write_bytes(&bytes, reader.data, reader.size);
    byte_patch_u32(&bytes, at, value);
    OWN(Container, forged) = section_replace(example->container, number, bytes.data, bytes.size,
        memory_store_source((MemoryStore *)(uintptr_t)&example->chunks));
    assert_null(checkpoint_example_finish(example, forged, &error));
    assert_fails_saying(CORRUPT, says, error);
}

static void test_checkpoint_read_rejects_forged_frames(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 4);
    check_forged(&example, SECTION_FRAMES, 0, 77, "function 77");        /* entry */
    check_forged(&example, SECTION_FRAMES, 8, 77, "frame 0");            /* function */
    check_forged(&example, SECTION_FRAMES, 12, 8, "instruction 8 of 8"); /* pc behind the end */
    check_forged(&example, SECTION_FRAMES, 12, 1, "alive");              /* another live set */
    check_forged(&example, SECTION_FRAMES, 16, 0, "nobody");             /* a return register */
    checkpoint_example_deinit(&example);
}

static void test_checkpoint_read_rejects_forged_liveness(void **state) {
    (void)state;
    CheckpointExample example;
    checkpoint_example_init(&example, 4);
    check_forged(&example, SECTION_REGISTERS, 8, 6, "alive"); /* register 1 as register 6 */
    check_forged(&example, SECTION_REGISTERS, 4, 1, "alive"); /* of another frame */
    check_forged(&example, SECTION_REGISTERS, 0, 1, "");      /* fewer of them */
    checkpoint_example_deinit(&example);
}

/* Objects refer to earlier ones only: a cycle has no form. */
static void test_checkpoint_read_rejects_references_forward(void **state) {
    (void)state;
    CheckpointExample example;
    ByteWriter OWN_BYTES(bytes) = {0};
    Error *error;
    checkpoint_example_init(&example, 4);
    byte_write_u32(&bytes, 1);
    byte_write_u8(&bytes, OBJECT_LIST);
    byte_write_u32(&bytes, 1);
    byte_write_u8(&bytes, VALUE_OBJECT);
    byte_write_u32(&bytes, 0); /* itself */
    OWN(Container, forged) = section_replace(example.container, SECTION_OBJECTS, bytes.data,
        bytes.size, memory_store_source(&example.chunks));
    assert_null(checkpoint_example_finish(&example, forged, &error));
    assert_fails_saying(CORRUPT, "reference to object 0", error);
    checkpoint_example_deinit(&example);
}

int test_checkpoint_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_read_goes_on_to_the_same_result),
        cmocka_unit_test(test_checkpoint_read_refuses_another_executable),
        cmocka_unit_test(test_checkpoint_read_survives_damage_with_repaired_checksums),
        cmocka_unit_test(test_checkpoint_read_rejects_forged_frames),
        cmocka_unit_test(test_checkpoint_read_rejects_forged_liveness),
        cmocka_unit_test(test_checkpoint_read_rejects_references_forward),
    };
    return cmocka_run_group_tests_name("checkpoint_read", tests, NULL, NULL);
}
