#include "scheduler/control/state/job_models.h"

#include "tests/scheduler/control/control_world.h"

/* Tenants share a model, unless they are isolated. */
static void test_job_models_are_shared_unless_tenants_are_isolated(void **state) {
    (void)state;
    static ControlWorld world;
    const Digest identity = {{1, 2, 3}};
    control_world_init(&world, 1);
    const uint64_t shared = control_model_number(world.control, 1, &identity);
    assert_int_equal(control_model_number(world.control, 2, &identity), shared);
    world.control->options.isolate = true;
    const uint64_t first = control_model_number(world.control, 1, &identity);
    assert_int_not_equal(control_model_number(world.control, 2, &identity), first);
    control_world_deinit(&world);
}

/* A model is added with the facts of its first job; later jobs are counted. */
static void test_job_models_count_their_jobs(void **state) {
    (void)state;
    static ControlWorld world;
    ControlModel *first, *second;
    control_world_init(&world, 1);
    assert_null(control_find_model(world.control, 7));
    const ControlModel facts = {.key = {0, 7}, .tenant = 1, .constant_bytes = 5},
                       later = {.key = {0, 7}, .tenant = 2, .constant_bytes = 6};
    assert_ok(control_use_model(world.control, &facts, &first));
    assert_ok(control_use_model(world.control, &later, &second));
    assert_ptr_equal(first, second);
    assert_ptr_equal(control_find_model(world.control, 7), first);
    assert_int_equal(first->job_count, 2);
    assert_int_equal(first->constant_bytes, 5);
    assert_int_equal(first->tenant, 2);
    control_world_deinit(&world);
}

int test_job_models(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_models_are_shared_unless_tenants_are_isolated),
        cmocka_unit_test(test_job_models_count_their_jobs),
    };
    return cmocka_run_group_tests_name("job_models", tests, NULL, NULL);
}
