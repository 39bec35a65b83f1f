#include "tests/vm/vm_fixture.h"
#include "vm/residency/inline_cache.h"

static void test_inline_cache_hits_only_the_same_inputs(void **state) {
    (void)state;
    VmMachine machine = vm_machine("primitive %add = Add\n", "cpu");
    Tensor *a = vm_floats(2, (float[]){1, 2}), *b = vm_floats(2, (float[]){3, 4}),
           *longer = vm_floats(3, (float[]){1, 2, 3}), *other = vm_ints(2, (int64_t[]){1, 2});
    const OperatorInfo *add = operator_find("Add");
    InlineCache cache = {0};
    CallInput inputs[2] = {{a, NULL}, {b, NULL}};
    assert_false(inline_cache_matches(&cache, inputs, 2, add));
    assert_ok(inline_cache_fill(&cache, machine.residency, SLOT_DEVICE, 0, inputs, 2, 1));
    assert_true(inline_cache_matches(&cache, inputs, 2, add));
    inputs[0].tensor = b; /* the same shape and type */
    assert_true(inline_cache_matches(&cache, inputs, 2, add));
    inputs[0].tensor = longer;
    assert_false(inline_cache_matches(&cache, inputs, 2, add));
    inputs[0].tensor = other;
    assert_false(inline_cache_matches(&cache, inputs, 2, add));
    inputs[0].tensor = NULL;
    assert_false(inline_cache_matches(&cache, inputs, 2, add));
    inline_cache_deinit(&cache);
    tensor_release(a);
    tensor_release(b);
    tensor_release(longer);
    tensor_release(other);
    vm_machine_deinit(&machine);
}

static void test_inline_cache_compares_values_that_shapes_depend_on(void **state) {
    (void)state;
    VmMachine machine = vm_machine("primitive %expand = Expand\n", "cpu");
    Tensor *a = vm_floats(1, (float[]){1}), *two = vm_ints(1, (int64_t[]){2}),
           *again = vm_ints(1, (int64_t[]){2}), *three = vm_ints(1, (int64_t[]){3});
    const OperatorInfo *expand = operator_find("Expand");
    InlineCache cache = {0};
    CallInput inputs[2] = {{a, NULL}, {two, NULL}};
    assert_ok(inline_cache_fill(&cache, machine.residency, SLOT_DEVICE, 0, inputs, 2, 1));
    inputs[1].tensor = again;
    assert_true(inline_cache_matches(&cache, inputs, 2, expand));
    inputs[1].tensor = three;
    assert_false(inline_cache_matches(&cache, inputs, 2, expand));
    assert_ok(inline_cache_fill(&cache, machine.residency, SLOT_DEVICE, 0, inputs, 2, 1));
    assert_int_equal(cache.plan->outputs[0].shape.dims[0], 3);
    inline_cache_deinit(&cache);
    tensor_release(a);
    tensor_release(two);
    tensor_release(again);
    tensor_release(three);
    vm_machine_deinit(&machine);
}

int test_inline_cache(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inline_cache_hits_only_the_same_inputs),
        cmocka_unit_test(test_inline_cache_compares_values_that_shapes_depend_on),
    };
    return cmocka_run_group_tests_name("inline_cache", tests, NULL, NULL);
}
