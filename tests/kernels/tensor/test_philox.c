#include "kernels/tensor/philox.h"

#include "tests/support/test_support.h"

/* The known answers of the Random123 distribution (kat_vectors, philox4x32, 10 rounds). */
static void test_philox_gives_the_published_answers(void **state) {
    (void)state;
    static const struct {
        uint64_t low, high, key;
        uint32_t words[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822,
            {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PhiloxBlock block = philox_block_wide(rows[i].key, rows[i].low, rows[i].high);
        assert_memory_equal(block.words, rows[i].words, sizeof block.words);
    }
}

static void test_philox_draws_are_the_words_of_blocks(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(philox_draw(9, i), philox_block(9, i / 4).words[i % 4]);
}

static void test_philox_unit_is_below_one(void **state) {
    (void)state;
    assert_true(philox_unit_f32(0) == 0);
    assert_true(philox_unit_f32(UINT32_MAX) < 1);
}

int test_philox(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_the_published_answers),
        cmocka_unit_test(test_philox_draws_are_the_words_of_blocks),
        cmocka_unit_test(test_philox_unit_is_below_one),
    };
    return cmocka_run_group_tests_name("philox", tests, NULL, NULL);
}
