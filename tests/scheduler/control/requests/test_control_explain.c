#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "scheduler/control/requests/control_explain.h"
#include "tests/scheduler/control_fixtures.h"

static void assert_says(const char *why, const char *words) {
    if (!strstr(why, words)) fail_msg("\"%s\" does not say \"%s\"", why, words);
}

static void wait_until_it_runs(ControlFixture *fixture, JobId job) {
    char why[JOB_WHY_SIZE];
    do assert_ok(control_explain(fixture->control, TENANT_DEFAULT, job, why));
    while (why[0]);
}

/* A slice is as long as the test: the second job waits for its turn behind the first. */
static void test_control_explain_names_what_has_the_device(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char why[JOB_WHY_SIZE], name[JOB_ID_TEXT_SIZE], words[128];
    JobId first, second;
    control_fixture_init(&fixture);
    fixture.quantum_ns = 3600 * SECOND_NS;
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &first));
    wait_until_it_runs(&fixture, first);
    assert_ok(control_fixture_submit(&fixture, "forever", 1, false, NULL, &second));
    assert_ok(control_explain(fixture.control, TENANT_DEFAULT, second, why));
    job_id_print(first, name);
    (void)snprintf(
        words, sizeof words, "waits for cpu, which runs job %s of class normal since 20", name);
    assert_says(why, words);
    assert_says(why, "whose turn it is by their shares");
    assert_null(strstr(why, "kernel"));
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, first));
    wait_until_it_runs(&fixture, second);
    assert_ok(control_explain(fixture.control, TENANT_DEFAULT, first, why)); /* it has ended */
    assert_string_equal(why, "");
}

/* What a job waits for names the long kernel of the job that has the device. */
static void test_control_explain_tells_of_kernels(void **state) {
    (void)state;
    ControlFixture OWN_CONTROL(fixture);
    char why[JOB_WHY_SIZE];
    JobId kernel, waiting;
    control_fixture_init(&fixture);
    fixture.quantum_ns = 3600 * SECOND_NS;
    control_fixture_start(&fixture, NULL);
    assert_ok(control_fixture_submit(&fixture, "kernel", 6000, false, NULL, &kernel));
    wait_until_it_runs(&fixture, kernel);
    assert_ok(control_fixture_submit(&fixture, "four", 1, false, NULL, &waiting));
    do assert_ok(control_explain(fixture.control, TENANT_DEFAULT, waiting, why));
    while (why[0] && !strstr(why, "kernel")); /* until the kernel has begun */
    assert_says(why, "; its kernel MatMul has computed for ");
    assert_ok(control_cancel(fixture.control, TENANT_DEFAULT, kernel));
    control_fixture_wait(&fixture, waiting, JOB_STATE_SUCCEEDED, &(Job){0});
}

int test_control_explain(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_explain_names_what_has_the_device),
        cmocka_unit_test(test_control_explain_tells_of_kernels),
    };
    return cmocka_run_group_tests_name("control_explain", tests, NULL, NULL);
}
