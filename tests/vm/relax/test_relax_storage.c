#include "tests/vm/relax/relax_case_runner.h"
#include "kernels/tensor/storage.h"

static void test_relax_storage_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("storage");
}

static Value storage_of(int64_t bytes, int64_t device) {
    return relax_call("vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(device),
            value_dtype(DTYPE_UINT8), relax_string("global")));
}

static void test_relax_storage_knows_the_devices(void **state) {
    (void)state;
    static const int64_t devices[] = {0, 1, -1};
    for (uint32_t i = 0; i < 3; i++) {
        Value storage = storage_of(64, devices[i]);
        assert_int_equal(storage.storage->slot, i == 0);
        assert_int_equal(storage.storage->size, 64);
        value_release(&storage);
    }
    const int64_t bytes = 64;
    relax_refuses("device 2; the devices are 0, 1 and -1", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(2), value_dtype(DTYPE_UINT8),
            value_nil()));
    relax_refuses("memory scope texture; the only one is global", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &bytes), value_int(0), value_dtype(DTYPE_UINT8),
            relax_string("texture")));
}

static void test_relax_storage_refuses_sizes_that_do_not_fit(void **state) {
    (void)state;
    const int64_t one = 1, many[] = {INT64_C(1) << 40, INT64_C(1) << 21};
    static const int64_t offsets[] = {61, 64, -4, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        relax_refuses("", "vm.builtin.alloc_tensor",
            RELAX_ARGUMENTS(storage_of(64, 0), value_int(offsets[i]), relax_shape(1, &one),
                value_dtype(DTYPE_FLOAT32)));
    relax_refuses("the offset is -4", "vm.builtin.alloc_tensor",
        RELAX_ARGUMENTS(
            storage_of(64, 0), value_int(-4), relax_shape(1, &one), value_dtype(DTYPE_FLOAT32)));
    relax_refuses("", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(2, many), value_int(0), value_dtype(DTYPE_FLOAT64),
            value_nil()));
    relax_refuses("", "vm.builtin.alloc_storage",
        RELAX_ARGUMENTS(value_nil(), relax_shape(1, &one), value_int(0), value_dtype(DTYPE_STRING),
            value_nil()));
}

int test_relax_storage(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_storage_answers_as_tvm),
        cmocka_unit_test(test_relax_storage_knows_the_devices),
        cmocka_unit_test(test_relax_storage_refuses_sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("relax_storage", tests, NULL, NULL);
}
