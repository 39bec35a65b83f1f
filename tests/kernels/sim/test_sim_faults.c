#include "kernels/sim/sim_faults.h"

#include "tests/support/test_support.h"

static SimFaults faults_of(const char *text) {
    SimOptions options;
    SimFaults faults;
    assert_ok(sim_options_read(text, &options));
    sim_faults_init(&faults, &options);
    return faults;
}

/* Each kind is counted for itself, and fails once. */
static void test_sim_faults_fails_the_nth_call_once(void **state) {
    (void)state;
    SimFaults faults = faults_of("fail-alloc=2,fail-copy=1,fail-launch=3");
    assert_ok(sim_faults_check(&faults, SIM_CALL_ALLOC, "sim:0"));
    assert_fails_saying(
        EXHAUSTED, "sim:0: allocation 2", sim_faults_check(&faults, SIM_CALL_ALLOC, "sim:0"));
    assert_fails_saying(FAILED, "sim:0: copy 1", sim_faults_check(&faults, SIM_CALL_COPY, "sim:0"));
    for (int i = 0; i < 10; i++) {
        assert_ok(sim_faults_check(&faults, SIM_CALL_OTHER, "sim:0"));
        assert_ok(sim_faults_check(&faults, SIM_CALL_ALLOC, "sim:0"));
        assert_ok(sim_faults_check(&faults, SIM_CALL_COPY, "sim:0"));
    }
    assert_ok(sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:0"));
    assert_ok(sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:0"));
    assert_fails_saying(
        FAILED, "sim:0: launch 3", sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:0"));
    assert_ok(sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:0"));
}

static void test_sim_faults_of_a_lost_device_never_end(void **state) {
    (void)state;
    SimFaults faults = faults_of("lose-after=2,fail-alloc=1");
    assert_fails(EXHAUSTED, sim_faults_check(&faults, SIM_CALL_ALLOC, "sim:1"));
    for (int i = 0; i < 10; i++) assert_ok(sim_faults_check(&faults, SIM_CALL_COPY, "sim:1"));
    assert_ok(sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:1"));
    for (int i = 0; i < 3; i++) {
        assert_fails_saying(
            DEVICE_LOST, "sim:1 is lost", sim_faults_check(&faults, SIM_CALL_LAUNCH, "sim:1"));
        for (SimCall call = 0; call < SIM_CALL_COUNT; call++)
            assert_fails(DEVICE_LOST, sim_faults_check(&faults, call, "sim:1"));
    }
}

int test_sim_faults(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_faults_fails_the_nth_call_once),
        cmocka_unit_test(test_sim_faults_of_a_lost_device_never_end),
    };
    return cmocka_run_group_tests_name("sim_faults", tests, NULL, NULL);
}
