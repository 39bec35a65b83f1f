#include "serialize/checkpoint/checkpoint_summary.h"

#include "tests/serialize/checkpoint_fixtures.h"
#include "tests/serialize/section_mutation.h"

static void test_checkpoint_summary_tells_where_it_stands(void **state) {
    (void)state;
    CheckpointExample example;
    CheckpointSummary OWN_SUMMARY(summary) = {0};
    checkpoint_example_init(&example, 4);
    assert_ok(checkpoint_summary_read(example.container, &summary));
    assert_true(digest_equal(&summary.header.executable, &example.executable->identity));
    assert_int_equal(summary.frame_count, 1);
    assert_int_equal(summary.frames[0].pc, 4);
    assert_string_equal(summary.frames[0].function_name, "main");
    assert_non_null(strstr(summary.frames[0].instruction, "LoadConst"));
    assert_int_equal(summary.instructions, 4);
    assert_int_equal(summary.kernel_calls, 1);
    assert_int_equal(summary.live_count, 4);
    assert_string_equal(summary.live[0].kind, "tensor");
    assert_int_equal(summary.live[0].bytes, 12);
    assert_string_equal(summary.live[3].kind, "tensor");
    assert_int_equal(summary.live[3].bytes, 0); /* a constant */
    assert_int_equal(summary.tensor_bytes, 24); /* x and the sum */
    checkpoint_example_deinit(&example);
}

static void summarize(const Container *mutated, void *context) {
    (void)context;
    CheckpointSummary summary;
    Error *error = checkpoint_summary_read(mutated, &summary);
    if (!error) checkpoint_summary_deinit(&summary);
    assert_true(error_code(error) != ERROR_INTERNAL);
    error_free(error);
}

static void test_checkpoint_summary_survives_damage_with_repaired_checksums(void **state) {
    (void)state;
    static const SectionNumber sections[] = {SECTION_HEADER, SECTION_FRAMES, SECTION_REGISTERS,
        SECTION_OBJECTS, SECTION_COUNTERS, SECTION_LABELS};
    CheckpointExample example;
    checkpoint_example_init(&example, 6);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        section_mutate(
            example.container, sections[i], memory_store_source(&example.chunks), summarize, NULL);
    checkpoint_example_deinit(&example);
}

int test_checkpoint_summary(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checkpoint_summary_tells_where_it_stands),
        cmocka_unit_test(test_checkpoint_summary_survives_damage_with_repaired_checksums),
    };
    return cmocka_run_group_tests_name("checkpoint_summary", tests, NULL, NULL);
}
