#include "kernels/cpu/dnnl/cpu_dnnl.h"

#include "base/library/shared_library.h"
#include "tests/kernels/fixtures/kernel_call.h"

/* Bands follow the shapes alone, and each is worth a thread. */
static void test_dnnl_bands_depend_on_the_work_only(void **state) {
    (void)state;
    const CpuRules rules = {.values = {
                                [CPU_RULE_DNNL_BANDS_TWO] = 4000000,
                                [CPU_RULE_DNNL_BANDS_FOUR] = 64000000,
                                [CPU_RULE_DNNL_BAND_MAX] = 1000000000,
                            }};
    assert_int_equal(cpu_dnnl_band_count(&rules, 1e3, 1000), 1);
    assert_int_equal(cpu_dnnl_band_count(&rules, 5e6, 1000), 2);
    assert_int_equal(cpu_dnnl_band_count(&rules, 1e9, 1000), 4);
    assert_int_equal(cpu_dnnl_band_count(&rules, 1e9, 7), 2); /* two rows a band at least */
    assert_int_equal(cpu_dnnl_band_count(&rules, 1e9, 3), 1);
    /* a band takes 50 ms at most, where there is something to cut */
    assert_int_equal(cpu_dnnl_band_count(&rules, 4.1e9, 1000), 8);
    assert_int_equal(cpu_dnnl_band_count(&rules, 4.1e9, 8), 4);
    assert_false(cpu_dnnl_is_long(&rules, 4.1e9, 8));
    assert_true(cpu_dnnl_is_long(&rules, 4.1e9, 4));
    assert_true(cpu_dnnl_band_count(&rules, 1e30, INT64_MAX) <= DNNL_BANDS_MAX);
}

static void test_dnnl_plain_form_is_compact(void **state) {
    (void)state;
    const int64_t dims[3] = {2, 3, 5};
    assert_ok(cpu_dnnl_open());
    const dnnl_memory_desc_t form = cpu_dnnl_plain(3, dims);
    assert_int_equal(dnnl.memory_desc_get_size(&form), 2 * 3 * 5 * sizeof(float));
    assert_int_equal(form.format_desc.blocking.strides[0], 15);
    assert_int_equal(form.format_desc.blocking.strides[1], 5);
    assert_int_equal(form.format_desc.blocking.strides[2], 1);
}

typedef struct Asked {
    __typeof__(&dnnl_primitive_attr_get_post_ops) get_post_ops;
    __typeof__(&dnnl_post_ops_len) length;
} Asked;

/* An attribute set for every activation that fused operators know. */
static void test_dnnl_takes_every_activation(void **state) {
    (void)state;
    static const SharedLibraryFunction functions[] = {
        {"dnnl_primitive_attr_get_post_ops", offsetof(Asked, get_post_ops)},
        {"dnnl_post_ops_len", offsetof(Asked, length)},
    };
    Asked asked;
    assert_ok(cpu_dnnl_open());
    assert_ok(shared_library_open(DNNL_FILE, functions, 2, &asked));
    for (Activation activation = ACTIVATION_NONE; activation < ACTIVATION_COUNT; activation++) {
        const DnnlEpilogue epilogue = {activation, 0.5, 2, 1, activation % 2 == 0};
        dnnl_primitive_attr_t attributes;
        const_dnnl_post_ops_t post_ops;
        assert_ok(cpu_dnnl_attributes(&epilogue, &attributes));
        assert_int_equal(asked.get_post_ops(attributes, &post_ops), dnnl_success);
        const bool scales = activation == ACTIVATION_SCALED_HARD_SWISH;
        const int expected = (activation != ACTIVATION_NONE) + scales + (activation % 2 == 0);
        assert_int_equal(asked.length(post_ops), expected);
        (void)dnnl.primitive_attr_destroy(attributes);
    }
}

int test_cpu_dnnl(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dnnl_bands_depend_on_the_work_only),
        cmocka_unit_test(test_dnnl_plain_form_is_compact),
        cmocka_unit_test(test_dnnl_takes_every_activation),
    };
    return cmocka_run_group_tests_name("cpu_dnnl", tests, NULL, NULL);
}
