#include "tests/vm/relax/relax_case_runner.h"
#include "vm/relax/relax_rnn.h"

static Value create(int64_t layers, int64_t places, int64_t history) {
    Value functions = relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_nil()));
    Value first = relax_floats(1, (int64_t[]){2}, (float[]){1, 2});
    return relax_call("vm.builtin.rnn_state_create",
        RELAX_ARGUMENTS(value_int(layers), value_int(places), value_int(history), functions,
            value_copy(functions), relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(first))));
}

static void test_relax_rnn_state_load_rejects_every_truncation(void **state) {
    (void)state;
    Value rnn = create(2, 3, 2);
    Value nothing = relax_call(
        "vm.builtin.kv_state_add_sequence", RELAX_ARGUMENTS(value_copy(rnn), value_int(5)));
    assert_int_equal(nothing.tag, VALUE_NIL);
    relax_check_saving(&relax_rnn_state, rnn.opaque);
    value_release(&rnn);
}

static void test_relax_rnn_state_refuses_sizes(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1},
        {INT64_MAX, 1, 1}, {1, INT64_MAX, 1}, {1, 1, INT64_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        RnnState *rnn;
        assert_fails(INVALID, rnn_create(sizes[i][0], sizes[i][1], sizes[i][2], 1, &rnn));
    }
    RnnState *rnn;
    assert_fails(INVALID, rnn_create(1, 1, 1, 0, &rnn));
    assert_ok(rnn_create(4096, 1 << 16, 1 << 16, 1, &rnn));
    Shape shape = shape_make(2, (int64_t[]){1 << 20, 1 << 20});
    assert_fails_saying(INVALID, "value 0 takes more bytes than can be counted",
        rnn_set_value(rnn, 0, DTYPE_FLOAT32, &shape));
    rnn_destroy(rnn);
}

int test_relax_rnn_state(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_rnn_state_load_rejects_every_truncation),
        cmocka_unit_test(test_relax_rnn_state_refuses_sizes),
    };
    return cmocka_run_group_tests_name("relax_rnn_state", tests, NULL, NULL);
}
