#include "tests/vm/relax/relax_case_runner.h"
#include <stdio.h>

static void test_relax_kv_state_refuses_what_has_no_sequences(void **state) {
    (void)state;
    static const char *const names[] = {"clear", "end_forward"};
    for (size_t i = 0; i < 2; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "vm.builtin.kv_state_%s", names[i]);
        relax_refuses(
            "argument 0 is a int, not a state or cache", name, RELAX_ARGUMENTS(value_int(1)));
        Value cache = relax_call("vm.builtin.attention_kv_cache_create",
            RELAX_ARGUMENTS(relax_floats(2, (int64_t[]){2, 1}, (float[]){1, 2}),
                relax_shape(2, (int64_t[]){2, 1}), value_int(-1)));
        relax_refuses("a relax.kv_array, which has no sequences", name, RELAX_ARGUMENTS(cache));
    }
}

int test_relax_kv_state(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_kv_state_refuses_what_has_no_sequences),
    };
    return cmocka_run_group_tests_name("relax_kv_state", tests, NULL, NULL);
}
