#include "tests/vm/relax/relax_paged_fixture.h"

static void test_relax_paged_state_refuses_sizes(void **state) {
    (void)state;
    const uint8_t kinds[4] = {0};
    Paged *paged;
    static const int64_t wrong[] = {0, -1, INT64_MAX, INT64_MIN};
    for (uint32_t member = 0; member < 9; member++) {
        for (uint32_t i = 0; i < 4; i++) {
            PagedConfig config = paged_config();
            int64_t *const members[] = {&config.layers, &config.query_heads, &config.kv_heads,
                &config.key_size, &config.value_size, &config.reserved, &config.pages,
                &config.chunk, &config.page_size};
            *members[member] = wrong[i];
            assert_fails(INVALID, paged_create(&config, kinds, &paged));
        }
    }
    PagedConfig config = paged_config();
    config.pages = 1 << 24;
    config.page_size = 1 << 14;
    assert_fails(INVALID, paged_create(&config, kinds, &paged));
    config = paged_config();
    config.dtype = DTYPE_INT8;
    assert_fails(UNSUPPORTED, paged_create(&config, kinds, &paged));
    config = paged_config();
    config.rope = PAGED_ROPE_NORMAL;
    config.rope_theta = 0;
    assert_fails(INVALID, paged_create(&config, kinds, &paged));
    config = paged_config();
    config.value_size = 4;
    assert_fails_saying(
        INVALID, "keys of 2 elements and values of 4", paged_create(&config, kinds, &paged));
    config = paged_config();
    const uint8_t linear[] = {PAGED_LINEAR};
    assert_fails(UNSUPPORTED, paged_create(&config, linear, &paged));
}

static void test_relax_paged_state_clear_frees_all_pages(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 5);
    assert_int_equal(paged->free_count, 5);
    paged_clear(paged);
    assert_int_equal(paged->free_count, 8);
    assert_int_equal(paged->turn_count, 0);
    paged_destroy(paged);
}

int test_relax_paged_state(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_state_refuses_sizes),
        cmocka_unit_test(test_relax_paged_state_clear_frees_all_pages),
    };
    return cmocka_run_group_tests_name("relax_paged_state", tests, NULL, NULL);
}
