#include "scheduler/simulate/scenario.h"

#include "tests/support/test_support.h"

#define GROUPS                                                                                     \
    "\"devices\":[{\"count\":3,\"memory_bytes\":1000}],\"tenants\":[{\"count\":2,\"weights\":"     \
    "[1,5],\"quotas\":{\"running_jobs\":4}}],\"models\":[{\"constant_bytes\":[1,9]}]"

static Scenario scenario;

static void test_scenario_parse_reads_every_kind_of_key(void **state) {
    (void)state;
    assert_ok(scenario_parse("{" GROUPS ",\"seed\":7,\"quantum_us\":5000,\"jobs\":[{\"count\":10,"
                             "\"classes\":{\"low\":1},\"device_us\":[5,6],\"weight\":3}]}",
        &scenario));
    assert_int_equal(scenario.seed, 7);
    assert_int_equal(scenario.config.quantum_ns, 5000000);
    assert_int_equal(scenario.device_count, 3);
    assert_int_equal(scenario.tenant_count, 2);
    assert_int_equal(scenario.tenants[0].weights[1], 5);
    assert_int_equal(scenario.tenants[0].limits[POLICY_QUOTA_RUNNING_JOBS], 4);
    assert_true(scenario.tenants[0].limits[POLICY_QUOTA_QUEUED_JOBS] == POLICY_NO_LIMIT);
    assert_int_equal(scenario.jobs[0].class_chances[POLICY_NORMAL], 0);
    assert_int_equal(scenario.jobs[0].class_chances[POLICY_LOW], 1);
    assert_int_equal(scenario.jobs[0].device_us.greatest, 6);
    assert_int_equal(scenario.jobs[0].tenant_count, 2);
}

static void test_scenario_parse_names_what_is_wrong(void **state) {
    (void)state;
    static const char *const wrongs[][2] = {{"", "JSON"}, {"[]", "object"}, {"{}", "devices"},
        {"{" GROUPS ",\"jobs\":[]}", "jobs"}, {"{" GROUPS ",\"jobs\":[{\"colour\":1}]}", "colour"},
        {"{" GROUPS ",\"jobs\":[{\"count\":-1}]}", "count"},
        {"{" GROUPS ",\"jobs\":[{\"count\":1e9}]}", "count"},
        {"{" GROUPS ",\"jobs\":[{\"device_us\":[2,1]}]}", "device_us"},
        {"{" GROUPS ",\"jobs\":[{\"device_us\":0}]}", "device_us"},
        {"{" GROUPS ",\"jobs\":[{\"classes\":{\"urgent\":1}}]}", "urgent"},
        {"{" GROUPS ",\"jobs\":[{\"tenant_first\":2}]}", "tenants"},
        {"{" GROUPS ",\"jobs\":[{}],\"quantum_us\":0}", "quantum_ns"},
        {"{" GROUPS ",\"jobs\":[{}],}", "JSON"}, {"{" GROUPS ",\"jobs\":[{}]} x", "JSON"}};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        assert_fails_saying(INVALID, wrongs[i][1], scenario_parse(wrongs[i][0], &scenario));
}

int test_scenario(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario_parse_reads_every_kind_of_key),
        cmocka_unit_test(test_scenario_parse_names_what_is_wrong),
    };
    return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
