#include "tests/vm/relax/relax_paged_fixture.h"
#include "vm/objects/shape_object.h"

static void test_relax_paged_queries_refuse_windows(void **state) {
    (void)state;
    PagedConfig config = paged_config();
    config.sliding = true;
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    paged_fill(paged, 1, 2);
    Value cache = paged_value(paged);
    static const int64_t wrong[][2] = {{0, 0}, {-1, 0}, {4, 4}, {4, -1}, {INT64_MAX, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        relax_refuses("a window of", "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq",
            RELAX_ARGUMENTS(
                value_copy(cache), value_int(1), value_int(wrong[i][0]), value_int(wrong[i][1])));
    Value nothing = relax_call("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq",
        RELAX_ARGUMENTS(value_copy(cache), value_int(1), value_int(4), value_int(1)));
    assert_int_equal(nothing.tag, VALUE_NIL);
    relax_refuses("sequence 1 has a window already",
        "vm.builtin.attention_kv_cache_enable_sliding_window_for_seq",
        RELAX_ARGUMENTS(value_copy(cache), value_int(1), value_int(4), value_int(1)));
    value_release(&cache);
}

static void test_relax_paged_queries_give_rows_as_runs(void **state) {
    (void)state;
    const PagedConfig config = paged_config();
    Paged *paged = paged_fixture(&config, PAGED_MHA);
    assert_ok(paged_add(paged, 1));
    Value cache = paged_value(paged);
    Value runs = relax_call("vm.builtin.kv_cache_disagg_prepare_recv",
        RELAX_ARGUMENTS(value_copy(cache), value_int(1), value_int(5)));
    const int64_t expected[] = {1, 0, 5};
    assert_int_equal(runs.shape->count, 3);
    assert_memory_equal(runs.shape->dims, expected, sizeof expected);
    value_release(&runs);
    relax_refuses("a cache that sends its pages", "vm.builtin.kv_cache_disagg_mark_send",
        RELAX_ARGUMENTS(value_copy(cache), value_int(1), relax_shape(0, expected), value_int(0)));
    relax_refuses("positions 3 to 3 of 5", "vm.builtin.attention_kv_cache_debug_get_kv",
        RELAX_ARGUMENTS(cache, value_int(1), value_int(3), value_int(3), relax_int32s(0, NULL),
            relax_int32s(0, NULL)));
}

int test_relax_paged_queries(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_paged_queries_refuse_windows),
        cmocka_unit_test(test_relax_paged_queries_give_rows_as_runs),
    };
    return cmocka_run_group_tests_name("relax_paged_queries", tests, NULL, NULL);
}
