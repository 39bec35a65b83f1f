#include "tests/vm/relax/relax_case_runner.h"
#include "vm/relax/relax_registry.h"

/* Values of every kind, as many as a call may see. */
static Value value_of(uint64_t *inout_random) {
    const int64_t dims[] = {2, 1};
    switch (test_random(inout_random) % 12) {
    case 0:
        return value_nil();
    case 1:
        return value_bool(true);
    case 2:
        return value_int((int64_t)(test_random(inout_random) % 5) - 1);
    case 3:
        return value_int((int64_t)test_random(inout_random));
    case 4:
        return value_float(0.25);
    case 5:
        return value_dtype(DTYPE_FLOAT32);
    case 6:
        return relax_string("a");
    case 7:
        return relax_shape(2, dims);
    case 8:
        return relax_floats(2, dims, (float[]){0.5f, 0.5f});
    case 9:
        return relax_int32s(2, (int32_t[]){0, 1});
    case 10:
        return relax_call("vm.builtin.make_tuple", RELAX_ARGUMENTS(value_int(1), value_int(0)));
    default:
        return relax_call(
            "vm.builtin.alloc_storage", RELAX_ARGUMENTS(value_nil(), relax_shape(2, dims),
                                            value_int(0), value_dtype(DTYPE_FLOAT32), value_nil()));
    }
}

/* Any arguments: a value or one sentence, no crash. A sanitizer's build sees the rest. */
static void test_relax_builtins_take_any_value_without_a_crash(void **state) {
    (void)state;
    uint64_t random = 32;
    for (uint32_t i = 0; i < relax_builtin_count(); i++) {
        for (uint32_t turn = 0; turn < 200; turn++) {
            Value arguments[8];
            uint32_t count = (uint32_t)(test_random(&random) % 8);
            for (uint32_t at = 0; at < count; at++) arguments[at] = value_of(&random);
            relax_try(relax_builtin_get(i)->name, arguments, count);
        }
    }
}

static void test_relax_builtins_have_known_letters(void **state) {
    (void)state;
    for (uint32_t i = 0; i < relax_builtin_count(); i++) {
        const RelaxBuiltin *builtin = relax_builtin_get(i);
        assert_int_equal(strncmp(builtin->name, "vm.builtin.", 11), 0);
        for (const char *c = builtin->signature; *c; c++)
            if (*c != '*' && *c != '[') assert_non_null(packed_letter_meaning(*c));
    }
}

int test_relax_registry(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relax_builtins_take_any_value_without_a_crash),
        cmocka_unit_test(test_relax_builtins_have_known_letters),
    };
    return cmocka_run_group_tests_name("relax_registry", tests, NULL, NULL);
}
