#include "tests/vm/vm_fixture.h"
#include "vm/execution/time_evaluator.h"

static uint64_t tick(void *self) { return *(uint64_t *)self += 100; }

/* The first two rounds take 100 ns, the others 200. */
static uint64_t tick_longer(void *self) {
    uint64_t *now = self;
    return *now += *now < 400 ? 100 : 200;
}

static void test_time_evaluator_divides_rounds_by_runs(void **state) {
    (void)state;
    VmMachine machine = vm_machine("function f() exported {\n Yield 1\n Ret 1\n}\n", "cpu");
    uint64_t now = 0;
    Clock clock = {.monotonic_ns = tick, .self = &now};
    TimeEvaluation evaluation;
    TimeEvaluatorOptions options = {.rounds = 3, .runs = 10};
    double times[3] = {0};
    assert_ok(time_evaluator_run(
        machine.residency, NULL, 0, NULL, 0, clock, options, &evaluation, times));
    assert_true(times[0] == 10 && times[1] == 10 && times[2] == 10);
    assert_int_equal(evaluation.rounds, 3);
    assert_true(evaluation.min_ns == 10 && evaluation.median_ns == 10 && evaluation.max_ns == 10);
    options.round_min_ns = 101; /* a round of the clock takes 100 */
    options.runs = 3;
    now = 0;
    clock.monotonic_ns = tick_longer;
    assert_ok(
        time_evaluator_run(machine.residency, NULL, 0, NULL, 0, clock, options, &evaluation, NULL));
    assert_int_equal(evaluation.runs, 12);
    options.rounds = 20000;
    assert_fails(INVALID,
        time_evaluator_run(machine.residency, NULL, 0, NULL, 0, clock, options, &evaluation, NULL));
    vm_machine_deinit(&machine);
}

static void test_time_evaluator_chooses_runs_and_drains_yields(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("function f() exported {\n Yield 1\n Yield 2\n Ret 1\n}\n", "cpu");
    ExecutionOptions execution_options = {.yield_limit = 1};
    TimeEvaluation evaluation;
    TimeEvaluatorOptions options = {.rounds = 2, .round_min_ns = 100000};
    assert_ok(time_evaluator_run(machine.residency, &execution_options, 0, NULL, 0, clock_real(),
        options, &evaluation, NULL));
    assert_true(evaluation.runs >= 1 && evaluation.min_ns > 0);
    vm_machine_deinit(&machine);
}

static void test_time_evaluator_gives_back_errors(void **state) {
    (void)state;
    VmMachine machine =
        vm_machine("function f() exported {\n IntOp div, 1, 0 -> r0\n Ret 1\n}\n", "cpu");
    TimeEvaluation evaluation;
    assert_fails(FAILED, time_evaluator_run(machine.residency, NULL, 0, NULL, 0, clock_real(),
                             (TimeEvaluatorOptions){0}, &evaluation, NULL));
    vm_machine_deinit(&machine);
}

int test_time_evaluator(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_evaluator_divides_rounds_by_runs),
        cmocka_unit_test(test_time_evaluator_chooses_runs_and_drains_yields),
        cmocka_unit_test(test_time_evaluator_gives_back_errors),
    };
    return cmocka_run_group_tests_name("time_evaluator", tests, NULL, NULL);
}
