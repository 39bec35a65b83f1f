#include "tests/vm/relax/relax_paged_fixture.h"

static void test_relax_paged_round_refuses_counts(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    assert_ok(paged_add(paged, 1));
    static const int64_t counts[] = {0, -1, 17, INT64_MAX, INT64_MIN};
    const int64_t number = 1, other = 2, one = 1, many = 16;
    for (uint32_t i = 0; i < 5; i++)
        assert_fails_saying(
            INVALID, "a round has 1 to 16", paged_begin(paged, &number, &counts[i], 1, NULL, 0));
    assert_fails(NOT_FOUND, paged_begin(paged, &other, &one, 1, NULL, 0));
    assert_fails_saying(
        INVALID, "a round without sequences", paged_begin(paged, NULL, NULL, 0, NULL, 0));
    assert_ok(paged_begin(paged, &number, &many, 1, NULL, 0));
    assert_fails_saying(
        EXHAUSTED, "no page of the cache is free", paged_begin(paged, &number, &one, 1, NULL, 0));
    paged_destroy(paged);
}

static void test_relax_paged_round_refuses_trees(void **state) {
    (void)state;
    PagedConfig config = paged_config();
    config.chunk = 600;
    config.pages = 400;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    assert_ok(paged_add(paged, 1));
    static int64_t parents[257];
    for (int64_t i = 0; i < 257; i++) parents[i] = i - 1;
    const int64_t number = 1, many = 257, one = 1, leaf = 1, none = -2;
    assert_fails_saying(INVALID, "a tree of 257 positions; there may be 256",
        paged_begin(paged, &number, &many, 1, parents, 257));
    assert_ok(paged_begin(paged, &number, &one, 1, parents, 1));
    assert_fails(CONFLICT, paged_begin(paged, &number, &one, 1, NULL, 0));
    assert_fails_saying(
        INVALID, "leaf 1 of a tree of 1", paged_commit(paged_call(), paged, &number, &leaf, 1));
    assert_fails_saying(
        INVALID, "leaf -2 of a tree of 1", paged_commit(paged_call(), paged, &number, &none, 1));
    paged_destroy(paged);
}

/* A path through the tree moves to the front of it. */
static void test_relax_paged_round_commits_a_path(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 1);
    const int64_t number = 1, count = 4, parents[] = {-1, -1, 1, 2}, leaf = 3;
    assert_ok(paged_begin(paged, &number, &count, 1, parents, 4));
    for (int64_t i = 0; i < count; i++) paged_put(paged, paged->rows[i], (float)(100 + i), 0);
    assert_ok(paged_commit(paged_call(), paged, &number, &leaf, 1));
    assert_int_equal(paged->sequences[0].length, 4);
    int32_t rows[4];
    paged_rows(paged, &paged->sequences[0], rows);
    for (int64_t i = 1; i < 4; i++) assert_true(paged_peek(paged, rows[i]) == (float)(100 + i));
    paged_destroy(paged);
}

int test_relax_paged_round(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_round_refuses_counts),
        cmocka_unit_test(test_relax_paged_round_refuses_trees),
        cmocka_unit_test(test_relax_paged_round_commits_a_path),
    };
    return cmocka_run_group_tests_name("relax_paged_round", tests, NULL, NULL);
}
