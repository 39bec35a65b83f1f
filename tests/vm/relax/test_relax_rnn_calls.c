#include "tests/vm/relax/relax_case_runner.h"

static void test_relax_rnn_state_answers_as_tvm(void **state) {
    (void)state;
    relax_cases_run("rnn_state");
}

static Value state_of(void) {
    Value zero = relax_floats(1, (int64_t[]){2}, (float[]){1, 2});
    Value one = relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_nil()));
    return relax_call("vm.builtin.rnn_state_create",
        RELAX_ARGUMENTS(value_int(2), value_int(2), value_int(2), one, value_copy(one),
            relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(zero))));
}

static void test_relax_rnn_calls_refuse_what_is_outside(void **state) {
    (void)state;
    Value rnn = state_of();
    static const int64_t outside[] = {2, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        relax_refuses("layer", "vm.builtin.rnn_state_debug_get",
            RELAX_ARGUMENTS(value_copy(rnn), value_int(outside[i]), value_int(0), value_int(0)));
        relax_refuses("value", "vm.builtin.rnn_state_debug_get",
            RELAX_ARGUMENTS(value_copy(rnn), value_int(0), value_int(outside[i]), value_int(0)));
        relax_refuses("there is no sequence", "vm.builtin.rnn_state_debug_get",
            RELAX_ARGUMENTS(value_copy(rnn), value_int(0), value_int(0), value_int(outside[i])));
    }
    relax_refuses("no round has begun", "vm.builtin.rnn_state_get",
        RELAX_ARGUMENTS(value_copy(rnn), value_int(0), value_int(0),
            relax_floats(1, (int64_t[]){2}, (float[]){0, 0})));
    relax_refuses("is in the round twice", "vm.builtin.kv_state_begin_forward",
        RELAX_ARGUMENTS(
            value_copy(rnn), relax_shape(2, (int64_t[]){0, 0}), relax_shape(2, (int64_t[]){1, 1})));
    relax_refuses("argument 0 is a relax.rnn_state, not a relax.kv_array",
        "vm.builtin.attention_kv_cache_view", RELAX_ARGUMENTS(rnn));
}

int test_relax_rnn_calls(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_rnn_state_answers_as_tvm),
        cmocka_unit_test(test_relax_rnn_calls_refuse_what_is_outside),
    };
    return cmocka_run_group_tests_name("relax_rnn_calls", tests, NULL, NULL);
}
