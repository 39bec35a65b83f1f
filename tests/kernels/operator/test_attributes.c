#include "kernels/operator/attributes.h"

#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"
#include "tests/support/test_support.h"

static void test_attributes_check_fills_defaults(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_int(attributes, "transB", 1));
    assert_ok(attributes_check(attributes, operator_find("Gemm")));
    assert_int_equal(attributes_int(attributes, "transB"), 1);
    assert_int_equal(attributes_int(attributes, "transA"), 0);
    assert_true(attributes_float(attributes, "alpha") == 1);
}

/* ONNX's floats have 32 bits: a default is the same number as the same value from a file. */
static void test_attributes_defaults_are_float32_values(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_check(attributes, operator_find("LeakyRelu")));
    assert_true(attributes_float(attributes, "alpha") == (double)0.01f);
}

static void test_attributes_float_at_counts_in_the_declarations_order(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_float(attributes, "beta", 0.75));
    assert_ok(attributes_set_float(attributes, "alpha", 0.25));
    assert_ok(attributes_check(attributes, operator_find("HardSigmoid")));
    assert_true(attributes_float_at(attributes, 0) == 0.25);
    assert_true(attributes_float_at(attributes, 1) == 0.75);
}

static void test_attributes_setting_twice_replaces(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_text(attributes, "x", "one"));
    assert_ok(attributes_set_int(attributes, "x", 2));
    assert_ok(attributes_set_text(attributes, "mode", "edge"));
    assert_ok(attributes_set_text(attributes, "mode", "reflect"));
    assert_true(attributes_has(attributes, "mode"));
    assert_false(attributes_has(attributes, "Mode"));
}

static void test_attributes_lists_keep_their_elements(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    const int64_t perm[] = {2, 0, 1};
    const char *const names[] = {"Sigmoid", "Tanh", "Tanh"};
    uint32_t count;
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_texts(attributes, "activations", names, 3));
    assert_ok(attributes_check(attributes, operator_find("LSTM")));
    assert_int_equal(attributes_text_count(attributes, "activations"), 3);
    assert_string_equal(attributes_string_at(attributes, "activations", 1), "Tanh");
    assert_null(attributes_string_at(attributes, "activations", 3));
    assert_null(attributes_floats(attributes, "activation_alpha", &count));
    assert_int_equal(count, 0);
    OWN(Attributes, transpose) = NULL;
    assert_ok(attributes_create(&transpose));
    assert_ok(attributes_set_ints(transpose, "perm", perm, 3));
    assert_ok(attributes_check(transpose, operator_find("Transpose")));
    assert_memory_equal(attributes_ints(transpose, "perm", &count), perm, sizeof perm);
    assert_int_equal(count, 3);
}

static void test_attributes_refuse_wrong_names_and_too_many(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    char name[80];
    assert_ok(attributes_create(&attributes));
    assert_fails(INVALID, attributes_set_int(attributes, "", 1));
    assert_fails(INVALID, attributes_set_int(attributes, "a b", 1));
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    assert_fails(INVALID, attributes_set_int(attributes, name, 1));
    for (uint32_t i = 0; i < ATTRIBUTES_COUNT_MAX; i++) {
        name[0] = (char)('a' + i % 26);
        name[1] = (char)('a' + i / 26);
        name[2] = 0;
        assert_ok(attributes_set_int(attributes, name, i));
    }
    assert_fails(INVALID, attributes_set_int(attributes, "another", 1));
    assert_fails(INVALID, attributes_set_dtype(attributes, "aa", (DType)999));
    assert_fails(
        INVALID, attributes_set_ints(attributes, "aa", (int64_t[]){0}, ATTRIBUTE_LIST_MAX + 1));
}

static void test_attributes_tensor_is_retained(void **state) {
    (void)state;
    OWN(Attributes, attributes) = NULL;
    OWN(Tensor, tensor) = NULL;
    Shape shape = {.rank = 1, .dims = {1}};
    assert_ok(tensor_create_on_host(device_host(), DTYPE_FLOAT32, &shape, &tensor));
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_set_tensor(attributes, "value", tensor));
    assert_ok(attributes_check(attributes, operator_find("ConstantOfShape")));
    assert_ptr_equal(attributes_tensor(attributes, "value"), tensor);
    assert_false(tensor_is_sole(tensor));
}

static void test_attributes_that_another_operator_has_too_are_copied(void **state) {
    (void)state;
    const char *text = "{activation=\"relu\", activation_alpha=0.5, auto_pad=\"VALID\", group=2, "
                       "strides=[2, 1]}";
    OWN(Attributes, from) = NULL;
    OWN(Attributes, to) = NULL;
    const OperatorInfo *conv = operator_find("Conv");
    uint32_t count;
    assert_ok(attributes_parse(&text, &from));
    assert_ok(attributes_create(&to));
    assert_ok(attributes_copy_declared(from, conv, to));
    assert_ok(attributes_check(to, conv));
    assert_false(attributes_has(to, "activation"));
    assert_string_equal(attributes_text(to, "auto_pad"), "VALID");
    assert_int_equal(attributes_int(to, "group"), 2);
    assert_int_equal(attributes_ints(to, "strides", &count)[1], 1);
    assert_int_equal(count, 2);
    assert_false(attributes_has(to, "pads"));
}

int test_attributes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_check_fills_defaults),
        cmocka_unit_test(test_attributes_defaults_are_float32_values),
        cmocka_unit_test(test_attributes_float_at_counts_in_the_declarations_order),
        cmocka_unit_test(test_attributes_setting_twice_replaces),
        cmocka_unit_test(test_attributes_lists_keep_their_elements),
        cmocka_unit_test(test_attributes_refuse_wrong_names_and_too_many),
        cmocka_unit_test(test_attributes_tensor_is_retained),
        cmocka_unit_test(test_attributes_that_another_operator_has_too_are_copied),
    };
    return cmocka_run_group_tests_name("attributes", tests, NULL, NULL);
}
