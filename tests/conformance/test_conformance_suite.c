#include "tests/conformance/suite_test.h"

/* What the suite makes of answers, with checks that answer one thing. */
static Error *works(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    (void)on;
    (void)row;
    (void)dtype;
    return NULL;
}

static Error *refuses(const ConformanceDevice *on, const ConformanceCase *row, DType dtype) {
    (void)on;
    (void)row;
    (void)dtype;
    FAIL(UNSUPPORTED, "no kernel");
}

static bool applies(const ConformanceDevice *on, const ConformanceCase *row) {
    (void)on;
    return row->reference != NULL;
}

static void keep_last(const ConformanceFailure *failure, void *context) {
    TextBuilder *last = context;
    text_builder_deinit(last);
    *last = (TextBuilder){0};
    conformance_failure_print(failure, last);
}

static ConformanceTally run(ConformanceCheck *check, const char *name, TextBuilder *last) {
    ConformanceDevice on;
    ConformanceTally tally = {0};
    static const ConformanceUnsupported rows[] = {
        {"*", "ConvTranspose", "float64", "of some reason"},
        {"cuda", "Sqrt", "float", "of another device"},
        {0},
    };
    ConformanceCheckInfo info = {"answers", "", check, applies, rows};
    assert_ok(conformance_device_open("sim:2", &on));
    conformance_suite_run(&on, &info, name, keep_last, last, &tally);
    conformance_device_deinit(&on);
    return tally;
}

static void test_a_refusal_that_is_not_listed_is_a_failure(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(last) = {0};
    ConformanceTally tally = run(refuses, "Sqrt", &last);
    assert_int_equal(tally.failed, 4);
    assert_int_equal(tally.passed + tally.unsupported, 0);
    const char *text = text_builder_get(&last);
    assert_non_null(strstr(text, "sim:2: answers: Sqrt {} (bfloat16[70]) bfloat16: no kernel"));
}

/* ConvTranspose is listed for float64 alone, which three of its cases have. */
static void test_a_listed_refusal_is_counted_as_such(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(last) = {0};
    ConformanceTally tally = run(refuses, "ConvTranspose", &last);
    assert_int_equal(tally.unsupported, 3);
    assert_true(tally.failed > 1);
}

static void test_a_listed_call_that_works_is_a_failure(void **state) {
    (void)state;
    TextBuilder OWN_TEXT(last) = {0};
    ConformanceTally tally = run(works, "ConvTranspose", &last);
    assert_int_equal(tally.failed, 3);
    assert_true(tally.passed > 1);
    assert_non_null(strstr(text_builder_get(&last), "works, but unsupported.def lists it"));
}

/* The first element that differs is named, with the kernel that made it. */
static void test_a_wrong_value_is_named(void **state) {
    (void)state;
    ConformanceDevice on;
    ConformanceRun run;
    assert_ok(conformance_device_open("cpu", &on));
    const ConformanceCase *row = case_table;
    conformance_prepare(on.device, row, DTYPE_FLOAT32, &run);
    assert_ok(device_call_run(&run.call, run.outputs, &run.kernel_name));
    assert_ok(conformance_compare(&run, row, DTYPE_FLOAT32));
    ((float *)tensor_data(run.outputs[0]))[5] = 1000;
    assert_fails_saying(INTERNAL, "output 0: element 5 of 24 is 1000, not ",
        conformance_compare(&run, row, DTYPE_FLOAT32));
    conformance_run_deinit(&run);
    conformance_device_deinit(&on);
}

int test_conformance_suite(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_that_is_not_listed_is_a_failure),
        cmocka_unit_test(test_a_listed_refusal_is_counted_as_such),
        cmocka_unit_test(test_a_listed_call_that_works_is_a_failure),
        cmocka_unit_test(test_a_wrong_value_is_named),
    };
    return cmocka_run_group_tests_name("conformance_suite", tests, NULL, NULL);
}
