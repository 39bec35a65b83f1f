#include "kernels/operator/activation.h"

#include "kernels/operator/operator.h"
#include "tests/support/test_support.h"

static Error *read(const char *name, Activation *out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_text(attributes, "activation", name));
    TRY(attributes_check(attributes, operator_find("FusedMatMul")));
    return activation_of(attributes, out);
}

static void test_activation_names_are_found_again(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ACTIVATION_COUNT; i++) {
        Activation found = ACTIVATION_COUNT;
        assert_ok(read(activation_name((Activation)i), &found));
        assert_int_equal(found, i);
    }
}

static void test_activation_refuses_unknown_names(void **state) {
    (void)state;
    Activation found = ACTIVATION_RELU;
    assert_fails_saying(INVALID, "\"Relu\"", read("Relu", &found));
    assert_int_equal(found, ACTIVATION_RELU);
}

int test_activation(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activation_names_are_found_again),
        cmocka_unit_test(test_activation_refuses_unknown_names),
    };
    return cmocka_run_group_tests_name("activation", tests, NULL, NULL);
}
