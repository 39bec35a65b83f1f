#include "tests/vm/relax/relax_paged_fixture.h"

static const int32_t *bounds_of(const Paged *paged, int64_t query) {
    return (const int32_t *)tensor_data(paged->tables.bounds) + query * PAGED_BOUNDS;
}

static void make(Paged *paged, PagedTables wanted) {
    bool made;
    assert_ok(paged_make_tables(paged_call(), paged, &wanted, &made));
    assert_true(made);
}

/* Two sequences, of which each query sees its own one up to itself. */
static void test_relax_paged_tables_name_keys(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 3);
    paged_fill(paged, 2, 1);
    const int64_t numbers[] = {1, 2}, counts[] = {1, 2};
    assert_ok(paged_begin(paged, numbers, counts, 2, NULL, 0));
    make(paged, (PagedTables){.context = true, .own = true});
    static const int32_t rows[] = {0, 1, 2, -1, 4, -2, -3},
                         bounds[3][5] = {{0, 0, 4, 4, 3}, {4, 4, 6, 7, 1}, {4, 4, 7, 7, 2}};
    assert_memory_equal(tensor_data(paged->tables.rows), rows, sizeof rows);
    for (uint32_t i = 0; i < 3; i++)
        assert_memory_equal(bounds_of(paged, i), bounds[i], sizeof bounds[i]);
    assert_null(paged->tables.tree);
    make(paged, (PagedTables){.own = true}); /* within the round */
    assert_int_equal(bounds_of(paged, 0)[0], -3);
    assert_int_equal(bounds_of(paged, 2)[2], 3);
    make(paged, (PagedTables){.context = true, .sliding = true});
    assert_int_equal(bounds_of(paged, 0)[1], 1); /* a window of 3 with the query itself */
    paged_destroy(paged);
}

/* A query of a tree sees its ancestors. */
static void test_relax_paged_tables_follow_trees(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 2);
    const int64_t number = 1, count = 3, parents[] = {-1, 0, 0};
    assert_ok(paged_begin(paged, &number, &count, 1, parents, 3));
    make(paged, (PagedTables){.context = true, .from_rows = true});
    static const uint8_t tree[] = {1, 0, 0, 1, 1, 0, 1, 0, 1};
    assert_memory_equal(tensor_data(paged->tables.tree), tree, sizeof tree);
    assert_int_equal(bounds_of(paged, 2)[3], 2);
    assert_int_equal(bounds_of(paged, 2)[4], 3); /* as deep as its sibling */
    paged_destroy(paged);
}

static void test_relax_paged_tables_hold_angles(void **state) {
    (void)state;
    PagedConfig config = paged_config();
    config.rope = PAGED_ROPE_INLINE;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    bool made;
    assert_ok(paged_make_angles(paged_call(), paged, false, 2, 300, &made));
    assert_int_equal(paged->angles[0]->shape.dims[0], 512);
    const float *angles = tensor_data(paged->angles[0]);
    float head[2] = {1, 0};
    paged_turn(&config, 2, 7, head);
    assert_true(angles[0] == 1 && angles[1] == 0);
    assert_true(angles[14] == head[0] && angles[15] == head[1]);
    const Tensor *kept = paged->angles[0];
    assert_ok(paged_make_angles(paged_call(), paged, false, 2, 512, &made));
    assert_ptr_equal(paged->angles[0], kept);
    paged_destroy(paged);
}

int test_relax_paged_tables(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_tables_name_keys),
        cmocka_unit_test(test_relax_paged_tables_follow_trees),
        cmocka_unit_test(test_relax_paged_tables_hold_angles),
    };
    return cmocka_run_group_tests_name("relax_paged_tables", tests, NULL, NULL);
}
