#include "kernels/process/process_handles.h"

#include <pthread.h>

#include "base/own.h"
#include "kernels/registry/device_registry.h"
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

typedef struct Bench {
    Device *device;
    ProcessHandles *handles;
} Bench;

static void init(Bench *bench) {
    assert_ok(device_open("sim:0", &bench->device));
    assert_ok(process_handles_create(bench->device, &bench->handles));
}

static void deinit(Bench *bench) {
    process_handles_release(bench->handles);
    device_close(bench->device);
}

static Plan *make_plan(Device *device) {
    static const double values[] = {1, 2, 3};
    DeviceCall call = {.device = device, .operator_name = "Relu", .input_count = 1};
    Plan *plan;
    call.inputs[0] = device_tensor(DTYPE_FLOAT32, values, 1, 3);
    assert_ok(device_call_plan(&call, &plan));
    tensor_release(call.inputs[0]);
    return plan;
}

/* Whichever comes first, the release or the last launch. */
static void test_process_handles_go_with_their_last_use(void **state) {
    (void)state;
    Bench bench;
    uint64_t id;
    Plan *found;
    init(&bench);
    for (uint64_t before = 0; before <= 3; before++) {
        Plan *plan = make_plan(bench.device);
        assert_ok(process_handles_add_plan(bench.handles, plan_retain(plan), &id));
        for (uint64_t i = 0; i < before; i++) process_handles_count_use(bench.handles, id);
        process_handles_drop(bench.handles, id, 3);
        for (uint64_t i = before; i < 3; i++) {
            assert_ok(process_handles_get_plan(bench.handles, id, &found));
            assert_ptr_equal(found, plan);
            process_handles_count_use(bench.handles, id);
        }
        assert_fails(CORRUPT, process_handles_get_plan(bench.handles, id, &found));
        assert_int_equal(atomic_load(&plan->refcount.count), 1);
        plan_release(plan);
    }
    deinit(&bench);
}

static void test_process_handles_know_no_others(void **state) {
    (void)state;
    Bench bench;
    uint64_t id, other;
    Plan *plan;
    DeviceEvent *event;
    init(&bench);
    assert_fails(CORRUPT, process_handles_get_plan(bench.handles, 0, &plan));
    assert_ok(process_handles_add_plan(bench.handles, make_plan(bench.device), &id));
    assert_fails(CORRUPT, process_handles_get_event(bench.handles, id, &event));
    process_handles_drop(bench.handles, id, 0);
    assert_ok(process_handles_add_plan(bench.handles, make_plan(bench.device), &other));
    assert_int_not_equal(id, other); /* in the same place */
    assert_fails(CORRUPT, process_handles_get_plan(bench.handles, id, &plan));
    assert_fails(CORRUPT, process_handles_get_plan(bench.handles, UINT64_MAX, &plan));
    process_handles_drop(bench.handles, id, 0);
    process_handles_count_use(bench.handles, id);
    assert_ok(process_handles_get_plan(bench.handles, other, &plan));
    deinit(&bench);
}

typedef struct Waiter {
    ProcessHandles *handles;
    uint64_t id, number;
    atomic_bool done;
} Waiter;

static void *wait_recorded(void *argument) {
    Waiter *waiter = argument;
    process_handles_wait_recorded(waiter->handles, waiter->id, waiter->number);
    atomic_store(&waiter->done, true);
    return NULL;
}

static void test_process_handles_wait_for_the_recording(void **state) {
    (void)state;
    Bench bench;
    DeviceEvent *event;
    pthread_t threads[2];
    init(&bench);
    Waiter waiters[2] = {{bench.handles, 0, 2, false}, {bench.handles, 0, 9, false}};
    assert_ok(bench.device->class_->event_create(bench.device, &event));
    assert_ok(process_handles_add_event(bench.handles, event, &waiters[0].id));
    waiters[1].id = waiters[0].id;
    process_handles_set_recorded(bench.handles, waiters[0].id, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_recorded, &waiters[i]), 0);
    assert_false(atomic_load(&waiters[0].done));
    process_handles_set_recorded(bench.handles, waiters[0].id, 2);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_false(atomic_load(&waiters[1].done));
    process_handles_end(bench.handles); /* nobody is left to record it */
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    deinit(&bench);
}

int test_process_handles(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_handles_go_with_their_last_use),
        cmocka_unit_test(test_process_handles_know_no_others),
        cmocka_unit_test(test_process_handles_wait_for_the_recording),
    };
    return cmocka_run_group_tests_name("process_handles", tests, NULL, NULL);
}
