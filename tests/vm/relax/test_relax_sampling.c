#include "tests/vm/relax/relax_case_runner.h"
#include "kernels/tensor/tensor.h"

static void test_relax_sampling_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("sampling");
}

static Value row(void) { return relax_floats(2, (int64_t[]){1, 3}, (float[]){1, 2, 3}); }

static void test_relax_sampling_refuses_tokens_without_a_logit(void **state) {
    (void)state;
    static const int32_t tokens[] = {3, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        relax_refuses("and there are 3 logits", "vm.builtin.apply_repetition_penalty",
            RELAX_ARGUMENTS(row(), relax_int32s(1, &tokens[i]), value_float(1)));
        relax_refuses("and there are 3 logits", "vm.builtin.apply_presence_and_frequency_penalty",
            RELAX_ARGUMENTS(row(), relax_int32s(1, &tokens[i]), relax_int32s(1, &tokens[i]),
                value_float(1), value_float(1)));
    }
    relax_refuses("1 counts for 2 tokens", "vm.builtin.apply_presence_and_frequency_penalty",
        RELAX_ARGUMENTS(row(), relax_int32s(2, (int32_t[]){0, 1}), relax_int32s(1, tokens),
            value_float(1), value_float(1)));
}

/* Where TVM reads memory that is not there. */
static void test_relax_sampling_refuses_shapes_without_rows(void **state) {
    (void)state;
    const int64_t none[] = {2, 0}, one = 1;
    relax_refuses("the logits are not one row", "vm.builtin.sample_top_p_from_logits",
        RELAX_ARGUMENTS(
            relax_floats(0, none, (float[]){1}), value_float(1), value_float(1), value_float(0)));
    relax_refuses("the probabilities are not one row", "vm.builtin.sample_top_p_from_prob",
        RELAX_ARGUMENTS(relax_floats(2, none, NULL), value_float(1), value_float(0)));
    relax_refuses("not [b, n] with n above 0", "vm.builtin.multinomial_from_uniform",
        RELAX_ARGUMENTS(relax_floats(2, none, NULL), row()));
    relax_refuses("the probabilities have 1 dimensions", "vm.builtin.multinomial_from_uniform",
        RELAX_ARGUMENTS(relax_floats(1, &one, (float[]){1}), row()));
    relax_refuses("1 numbers for 3 rows", "vm.builtin.multinomial_from_uniform",
        RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){3, 1}, (float[]){1, 1, 1}),
            relax_floats(1, &one, (float[]){1})));
    relax_refuses("the temperature is 0", "vm.builtin.apply_softmax_with_temperature",
        RELAX_ARGUMENTS(row(), value_int(0)));
}

static void test_relax_sampling_writes_no_tensor_that_others_hold(void **state) {
    (void)state;
    Value logits = row();
    logits.tensor->storage->sealed = true;
    relax_refuses("may not be written", "vm.builtin.apply_softmax_with_temperature",
        RELAX_ARGUMENTS(value_copy(logits), value_int(1)));
    logits.tensor->storage->sealed = false;
    relax_refuses("may not be written", "vm.builtin.apply_softmax_with_temperature",
        RELAX_ARGUMENTS(value_copy(logits), value_int(1))); /* this test is the other holder */
    value_release(&logits);
}

/* Every logit is below the smallest float that softmax may begin with. */
static void test_relax_softmax_of_low_logits_has_a_sum_of_one(void **state) {
    (void)state;
    Value logits = relax_floats(1, (int64_t[]){2}, (float[]){-1000, -1000});
    Value holder = value_copy(logits);
    logits.tensor->storage->opaque = true;
    value_release(&(Value[1]){relax_call(
        "vm.builtin.apply_softmax_with_temperature", RELAX_ARGUMENTS(logits, value_int(1)))}[0]);
    assert_true(((float *)tensor_data(holder.tensor))[0] == 0.5f);
    value_release(&holder);
}

int test_relax_sampling(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_sampling_answers_as_tvm),
        cmocka_unit_test(test_relax_sampling_refuses_tokens_without_a_logit),
        cmocka_unit_test(test_relax_sampling_refuses_shapes_without_rows),
        cmocka_unit_test(test_relax_sampling_writes_no_tensor_that_others_hold),
        cmocka_unit_test(test_relax_softmax_of_low_logits_has_a_sum_of_one),
    };
    return cmocka_run_group_tests_name("relax_sampling", tests, NULL, NULL);
}
