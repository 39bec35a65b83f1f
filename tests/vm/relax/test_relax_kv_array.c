#include "tests/vm/relax/relax_case_runner.h"
#include "vm/relax/relax_opaque.h"

static void test_relax_kv_array_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("kv_array");
}

static Value cache_of(int64_t reserved, int64_t filled) {
    return relax_call("vm.builtin.attention_kv_cache_create",
        RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){2, 1}, (float[]){1, 2}),
            relax_shape(2, (int64_t[]){reserved, 1}), value_int(filled)));
}

static void test_relax_kv_array_refuses_counts_it_does_not_have(void **state) {
    (void)state;
    relax_refuses("9 rows count as filled, and there are 2", "vm.builtin.attention_kv_cache_create",
        RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){2, 1}, (float[]){1, 2}),
            relax_shape(2, (int64_t[]){16, 1}), value_int(9)));
    relax_refuses("0 rows to reserve", "vm.builtin.attention_kv_cache_create",
        RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){2, 1}, (float[]){1, 2}),
            relax_shape(2, (int64_t[]){0, 1}), value_int(-1)));
    relax_refuses("a cache without dimensions", "vm.builtin.attention_kv_cache_create",
        RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){2, 1}, (float[]){1, 2}),
            relax_shape(0, (int64_t[]){0}), value_int(-1)));
    static const struct {
        int64_t ring, sinks;
    } rings[] = {{-1, 0}, {4, 5}, {4, -1}, {INT64_MAX, 0}, {1, 0}};
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++)
        relax_refuses("a ring of", "vm.builtin.attention_kv_cache_window_override_with_sinks",
            RELAX_ARGUMENTS(cache_of(2, -1), relax_floats(2, (int64_t[]){1, 1}, (float[]){1}),
                value_int(rings[i].ring), value_int(rings[i].sinks)));
    relax_refuses("field 0: 3 rows to drop of 2", "vm.builtin.attention_kv_cache_array_popn",
        RELAX_ARGUMENTS(
            relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(cache_of(8, -1), cache_of(2, -1))),
            value_int(3)));
}

static void test_relax_kv_array_load_rejects_every_truncation(void **state) {
    (void)state;
    Value cache = cache_of(4, 1);
    relax_check_saving(&relax_kv_array, cache.opaque);
    value_release(&cache);
}

/* A ring that is larger than what is reserved grows: TVM writes behind its memory. */
static void test_relax_kv_array_rings_grow_to_their_size(void **state) {
    (void)state;
    static const float values[] = {1, 2, 3, 4, 5, 6};
    Value cache = cache_of(2, -1);
    for (uint32_t i = 0; i < 2; i++)
        cache = relax_call("vm.builtin.attention_kv_cache_window_override",
            RELAX_ARGUMENTS(cache, relax_floats(2, (int64_t[]){6, 1}, values), value_int(7)));
    Value view = relax_call("vm.builtin.attention_kv_cache_view", RELAX_ARGUMENTS(cache));
    assert_int_equal(view.tensor->shape.dims[0], 7);
    value_release(&view);
}

int test_relax_kv_array(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_kv_array_answers_as_tvm),
        cmocka_unit_test(test_relax_kv_array_refuses_counts_it_does_not_have),
        cmocka_unit_test(test_relax_kv_array_load_rejects_every_truncation),
        cmocka_unit_test(test_relax_kv_array_rings_grow_to_their_size),
    };
    return cmocka_run_group_tests_name("relax_kv_array", tests, NULL, NULL);
}
