#include "kernels/native/native_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/kernels/native/native_fixture.h"

static Error *ignore(NativeReceiver *base, const NativeValue *result) {
    (void)base;
    assert_int_equal(result->kind, NATIVE_NIL);
    return NULL;
}

static void add_once(NativeLibrary *library, float from) {
    float a[] = {from, 2}, c[] = {0, 0};
    NativeReceiver receiver = {.receive = ignore};
    NativeValue arguments[] = {
        native_floats(a, 2, false), native_floats(a, 2, false), native_floats(c, 2, true)};
    assert_ok(
        native_library_call(library, "add", &(NativeArgumentList){arguments, 3, 3}, &receiver));
    assert_true(c[0] == 2 * from && c[1] == 4);
}

static void *add_often(void *argument) {
    for (int i = 0; i < 50; i++) add_once(argument, (float)i);
    return NULL;
}

static void test_calls_of_several_threads_have_workers_of_their_own(void **state) {
    (void)state;
    pthread_t threads[3];
    const NativeImage image = native_image("sample");
    OWN(NativeLibrary, library) = NULL;
    assert_ok(native_library_create(&image, &library));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_often, library), 0);
    for (int i = 0; i < 3; i++) (void)pthread_join(threads[i], NULL);
    add_once(library, 100);
}

static void test_a_worker_that_ended_is_replaced(void **state) {
    (void)state;
    NativeReceiver receiver = {.receive = ignore};
    const NativeImage image = native_image("sample");
    OWN(NativeLibrary, library) = NULL;
    assert_ok(native_library_create(&image, &library));
    assert_fails_saying(FAILED, "the native function crash: its process was ended by signal 9",
        native_library_call(library, "crash", &(NativeArgumentList){NULL, 0, 0}, &receiver));
    add_once(library, 1);
}

int test_native_library(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_of_several_threads_have_workers_of_their_own),
        cmocka_unit_test(test_a_worker_that_ended_is_replaced),
    };
    return cmocka_run_group_tests_name("native_library", tests, NULL, NULL);
}
