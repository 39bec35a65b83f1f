#include "tests/vm/relax/relax_paged_fixture.h"

static void test_relax_paged_read_rejects_every_truncation(void **state) {
    (void)state;
    PagedConfig config = paged_config();
    config.sliding = true;
    config.reserved = 1;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 4);
    paged->sequences[0].window = 4;
    paged->sequences[0].sink = 1;
    assert_ok(paged_fork(paged_call(), paged, 1, 2, 1));
    paged_fill(paged, 1, 3); /* slides, and keeps what its attention reads */
    assert_non_null(paged->turns[0].context);
    Value cache = paged_value(paged);
    relax_check_saving(&relax_paged, cache.opaque);
    value_release(&cache);
}

static void test_relax_paged_read_rejects_trees_that_are_none(void **state) {
    (void)state;
    PagedConfig config = paged_config();
    config.reserved = 1;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 2);
    const int64_t number = 1, count = 3, parents[] = {-1, 0, 0};
    assert_ok(paged_begin(paged, &number, &count, 1, parents, 3));
    Value cache = paged_value(paged);
    relax_check_saving(&relax_paged, cache.opaque);
    value_release(&cache);
}

int test_relax_paged_read(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_read_rejects_every_truncation),
        cmocka_unit_test(test_relax_paged_read_rejects_trees_that_are_none),
    };
    return cmocka_run_group_tests_name("relax_paged_read", tests, NULL, NULL);
}
