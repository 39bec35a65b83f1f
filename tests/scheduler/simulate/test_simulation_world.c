#include "scheduler/simulate/simulation.h"

#include "tests/support/test_support.h"

static Scenario scenario;

static void run(SimulationResult *out_result) {
    OWN(Checker, checker) = NULL;
    SimulationOptions options = {.seed = 11};
    assert_ok(scenario_check(&scenario));
    assert_ok(simulation_run(&scenario, &options, out_result, &checker));
    assert_int_equal(checker_violation_count(checker), 0);
}

static void begin(uint64_t jobs) {
    scenario_init(&scenario);
    scenario.device_groups = scenario.tenant_groups = scenario.model_groups = 1;
    scenario.job_groups = 1;
    scenario.jobs[0].count = jobs;
}

/* One device does one thing after the other: the virtual time is the sum. */
static void test_virtual_time_is_device_time(void **state) {
    (void)state;
    SimulationResult result;
    begin(50);
    scenario.jobs[0].device_us = (ScenarioRange){20000, 20000};
    run(&result);
    assert_int_equal(result.jobs_done, 50);
    assert_int_equal(result.virtual_ns, 50 * (uint64_t)20000000);
}

static void test_faults_lose_no_job(void **state) {
    (void)state;
    SimulationResult result;
    begin(100);
    scenario.devices[0].count = 4;
    scenario.devices[0].lost_every_ms = 500;
    scenario.devices[0].back_after_ms = 100;
    scenario.failed_moves = 50;
    scenario.jobs[0].device_us = (ScenarioRange){1000, 200000};
    scenario.jobs[0].checkpoint = 300;
    run(&result);
    assert_int_equal(result.jobs_done, 100);
}

static void test_every_end_of_a_job_is_counted(void **state) {
    (void)state;
    SimulationResult result;
    begin(300);
    scenario.jobs[0].device_us = (ScenarioRange){1000, 50000};
    scenario.jobs[0].fail = scenario.jobs[0].cancel = 300;
    scenario.tenants[0].limits[POLICY_QUOTA_QUEUED_JOBS] = 100;
    run(&result);
    assert_true(result.jobs_failed > 0 && result.jobs_cancelled > 0 && result.jobs_refused > 0);
    assert_int_equal(
        result.jobs_done + result.jobs_failed + result.jobs_cancelled + result.jobs_refused, 300);
}

int test_simulation_world(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_virtual_time_is_device_time),
        cmocka_unit_test(test_faults_lose_no_job),
        cmocka_unit_test(test_every_end_of_a_job_is_counted),
    };
    return cmocka_run_group_tests_name("simulation_world", tests, NULL, NULL);
}
