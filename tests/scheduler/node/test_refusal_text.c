#include "scheduler/node/refusal_text.h"

#include "tests/support/test_support.h"

static void test_refusal_text_names_the_figures(void **state) {
    (void)state;
    static const struct {
        PolicyAction action;
        const char *text;
    } cases[] = {
        {{.reason = POLICY_REASON_QUOTA, .quota = POLICY_QUOTA_QUEUED_JOBS, .used = 3, .limit = 2},
            "over the tenant's quota queued_jobs: 3 of 2"},
        {{.reason = POLICY_REASON_DEVICE_MEMORY, .used = UINT64_MAX, .limit = 7},
            "it needs 18446744073709551615 bytes of a device; the largest has 7"},
        {{.reason = POLICY_REASON_NO_DEVICE}, "there is no such device here"},
        {{.reason = POLICY_REASON_RETRIES},
            "its model or its state could not be loaded on any device"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[REFUSAL_TEXT_SIZE];
        refusal_text_print(&cases[i].action, text);
        assert_string_equal(text, cases[i].text);
    }
}

int test_refusal_text(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusal_text_names_the_figures),
    };
    return cmocka_run_group_tests_name("refusal_text", tests, NULL, NULL);
}
