#include "tests/vm/relax/relax_paged_fixture.h"

static void test_relax_paged_blocks_share_whole_pages(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 5);
    assert_ok(paged_fork(paged_call(), paged, 1, 2, -1)); /* two pages are shared, one is copied */
    assert_int_equal(paged->free_count, 4);
    int32_t one[5], two[5];
    paged_rows(paged, &paged->sequences[0], one);
    paged_rows(paged, &paged->sequences[1], two);
    assert_memory_equal(one, two, 4 * sizeof(int32_t));
    assert_int_not_equal(one[4], two[4]);
    assert_true(paged_peek(paged, one[4]) == 5 && paged_peek(paged, two[4]) == 5);
    assert_ok(paged_remove(paged, 1));
    assert_int_equal(paged->free_count, 5);
    assert_ok(paged_remove(paged, 2));
    assert_int_equal(paged->free_count, 8);
    paged_destroy(paged);
}

static void test_relax_paged_blocks_pop_into_shared_pages(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 6);
    assert_ok(paged_fork(paged_call(), paged, 1, 2, -1));
    assert_ok(paged_pop(paged_call(), paged, 1, 3));
    uint32_t place;
    assert_ok(paged_find(paged, 1, &place));
    assert_int_equal(paged->sequences[place].length, 3);
    assert_ok(paged_find(paged, 2, &place));
    assert_int_equal(paged->sequences[place].length, 6);
    assert_ok(paged_pop(paged_call(), paged, 2, 6));
    assert_ok(paged_pop(paged_call(), paged, 1, 3));
    assert_int_equal(paged->free_count, 8);
    paged_destroy(paged);
}

static void test_relax_paged_blocks_refuse_what_does_not_fit(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 3);
    static const int64_t positions[] = {4, -2, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < 4; i++)
        assert_fails_saying(INVALID, "of 3", paged_fork(paged_call(), paged, 1, 2, positions[i]));
    assert_fails(NOT_FOUND, paged_fork(paged_call(), paged, 7, 2, 0));
    assert_fails(CONFLICT, paged_fork(paged_call(), paged, 1, 1, 0));
    assert_fails_saying(INVALID, "has 3 positions", paged_pop(paged_call(), paged, 1, 4));
    assert_fails_saying(INVALID, "has 3 positions", paged_pop(paged_call(), paged, 1, INT64_MIN));
    for (int64_t number = 100; paged->free_count > 0 && number < 122; number++) {
        Error *error = paged_add(paged, number);
        if (error) {
            assert_int_equal(error_code(error), ERROR_EXHAUSTED);
            assert_non_null(strstr(error_message(error), "all 22 places are taken"));
            error_free(error);
            paged_destroy(paged);
            return;
        }
    }
    fail_msg("more sequences than places");
}

int test_relax_paged_blocks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_blocks_share_whole_pages),
        cmocka_unit_test(test_relax_paged_blocks_pop_into_shared_pages),
        cmocka_unit_test(test_relax_paged_blocks_refuse_what_does_not_fit),
    };
    return cmocka_run_group_tests_name("relax_paged_blocks", tests, NULL, NULL);
}
