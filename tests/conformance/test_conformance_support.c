#include "tests/conformance/conformance_support.h"

#include "kernels/registry/device_registry.h"
#include "tests/conformance/case_table.h"
#include "tests/support/test_support.h"

static uint8_t ask(Device *device, const char *name, DType dtype, ConformanceSupport *out) {
    conformance_support_ask(device, operator_find(name), out);
    return out->served[dtype];
}

/* Cases are numbers: tests/kernels/test_cpu_string_*.c, test_cpu_regex_full_match.c,
 * test_cpu_tokenizer.c, test_cpu_string_hash.c and tests/programs/strings.lva look at these. */
static bool is_of_strings(OperatorId id) {
    return id == OPERATOR_STRING_CONCAT || id == OPERATOR_STRING_SPLIT ||
           id == OPERATOR_STRING_NORMALIZER || id == OPERATOR_REGEX_FULL_MATCH ||
           id == OPERATOR_TOKENIZER || id == OPERATOR_STRING_HASH;
}

/* An operator without a row would be tested nowhere. */
static void test_every_operator_has_a_case(void **state) {
    (void)state;
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const char *name = operator_get((OperatorId)id)->name;
        bool found = is_of_strings((OperatorId)id);
        for (uint32_t i = 0; i < case_table_count && !found; i++)
            found = case_table[i].reference && strcmp(case_table[i].operator_name, name) == 0;
        if (!found) fail_msg("%s has no row in cases.def", name);
    }
}

static void test_support_says_what_serves_a_call(void **state) {
    (void)state;
    OWN(Device, cpu) = NULL;
    OWN(Device, lacking) = NULL;
    ConformanceSupport support;
    assert_ok(device_open("cpu", &cpu));
    assert_ok(device_open("sim:0,lacks=*", &lacking));
    assert_int_equal(ask(cpu, "Sqrt", DTYPE_FLOAT32, &support), SERVED_BY_KERNEL);
    assert_string_equal(support.kernels[DTYPE_FLOAT32][0], "cpu.elementwise");
    assert_int_equal(support.served[DTYPE_INT32], 0); /* Sqrt has no integers */
    assert_int_equal(ask(cpu, "Flatten", DTYPE_INT8, &support), SERVED_AS_VIEW);
    assert_int_equal(
        ask(cpu, "Dropout", DTYPE_FLOAT32, &support), SERVED_BY_KERNEL | SERVED_AS_VIEW);
    assert_int_equal(ask(lacking, "Sqrt", DTYPE_FLOAT32, &support), SERVED_BY_HOST);
    assert_int_equal(ask(lacking, "FusedConv", DTYPE_FLOAT32, &support), SERVED_BY_EXPANSION);
    assert_int_equal(ask(lacking, "And", DTYPE_BOOL, &support), SERVED_BY_HOST);
    assert_int_equal(ask(lacking, "RandomNormal", DTYPE_BFLOAT16, &support), SERVED_BY_HOST);
}

int test_conformance_support(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator_has_a_case),
        cmocka_unit_test(test_support_says_what_serves_a_call),
    };
    return cmocka_run_group_tests_name("conformance_support", tests, NULL, NULL);
}
