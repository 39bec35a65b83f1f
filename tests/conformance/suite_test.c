#include "tests/conformance/suite_test.h"

static void report(const ConformanceFailure *failure, void *context) {
    (void)context;
    TextBuilder OWN_TEXT(text) = {0};
    conformance_failure_print(failure, &text);
    print_error("%s\n", text_builder_get(&text));
}

void suite_test(const char *spec, const char *check_name) {
    ConformanceDevice on;
    ConformanceTally tally = {0};
    const ConformanceCheckInfo *check = conformance_check_find(check_name);
    assert_non_null(check);
    assert_ok(conformance_device_open(spec, &on));
    conformance_suite_run(&on, check, NULL, report, NULL, &tally);
    conformance_device_deinit(&on);
    print_message("%s: %s: %u passed, %u failed, %u unsupported\n", spec, check_name, tally.passed,
        tally.failed, tally.unsupported);
    assert_int_equal(tally.failed, 0);
    assert_true(tally.passed > 0);
}
