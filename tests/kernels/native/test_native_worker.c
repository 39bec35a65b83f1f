#include "kernels/native/native_worker.h"

#include <pthread.h>
#include <time.h>

#include "kernels/device/kernel_stop.h"
#include "tests/kernels/native/native_fixture.h"

/* Keeps what can be kept of a result. */
typedef struct Kept {
    NativeReceiver base;
    NativeValue value;
    char text[64];
    int32_t items[8];
} Kept;

static Error *keep(NativeReceiver *base, const NativeValue *result) {
    Kept *kept = (Kept *)base;
    kept->value = *result;
    if (result->kind == NATIVE_STRING)
        memcpy(kept->text, result->string.data, result->string.size + 1);
    if (result->kind == NATIVE_TENSOR)
        memcpy(kept->items, result->tensor.data, native_tensor_bytes(&result->tensor));
    return NULL;
}

static NativeWorker *start(void) {
    NativeWorker *worker;
    const NativeImage image = native_image("sample");
    assert_ok(native_worker_start(&image, &worker));
    return worker;
}

static Kept call(
    NativeWorker *worker, const char *function, NativeValue *arguments, uint32_t count) {
    Kept kept = {.base = {.receive = keep}};
    assert_ok(native_worker_call(
        worker, function, &(NativeArgumentList){arguments, count, count}, &kept.base));
    return kept;
}

static void test_native_functions_write_their_outputs(void **state) {
    (void)state;
    float a[] = {1, 2, 3}, b[] = {10, 20, 30}, c[] = {0, 0, 0};
    NativeValue arguments[] = {
        native_floats(a, 3, false), native_floats(b, 3, false), native_floats(c, 3, true)};
    OWN(NativeWorker, worker) = start();
    assert_int_equal(call(worker, "add", arguments, 3).value.kind, NATIVE_NIL);
    assert_true(c[0] == 11 && c[1] == 22 && c[2] == 33);
    int64_t cells[] = {4, -5}, count = 2;
    NativeValue heap = {
        .kind = NATIVE_TENSOR, .tensor = {DTYPE_INT64, shape_make(1, &count), cells, 0, true, 0}};
    (void)call(worker, "double_cells", &heap, 1);
    assert_true(cells[0] == 8 && cells[1] == -10);
    NativeValue filled = native_floats(a, 3, true);
    (void)call(worker, "fill", &filled, 1);
    assert_true(a[0] == 7 && a[2] == 7);
}

static void test_native_functions_give_values(void **state) {
    (void)state;
    OWN(NativeWorker, worker) = start();
    NativeValue value = {.kind = NATIVE_INT, .integer = -3};
    assert_int_equal(call(worker, "same", &value, 1).value.integer, -3);
    Kept kept = call(worker, "count", &value, 1);
    assert_int_equal(kept.value.kind, NATIVE_TENSOR);
    assert_int_equal(kept.value.tensor.dtype, DTYPE_INT32);
    assert_true(kept.items[0] == -3 && kept.items[2] == -1);
    assert_string_equal(call(worker, "name", NULL, 0).text, "a longer text");
    value = (NativeValue){.kind = NATIVE_FLOAT, .real = 0.25};
    assert_true(call(worker, "same", &value, 1).value.real == 0.25);
    value = (NativeValue){.kind = NATIVE_DTYPE, .dtype = DTYPE_BFLOAT16};
    assert_int_equal(call(worker, "same", &value, 1).value.dtype, DTYPE_BFLOAT16);
    value = (NativeValue){.kind = NATIVE_BOOL, .integer = 1};
    assert_int_equal(call(worker, "same", &value, 1).value.kind, NATIVE_BOOL);
}

static void refuse(NativeWorker *worker, ErrorCode code, const char *text, const char *function,
    NativeValue *arguments, uint32_t count) {
    Kept kept = {.base = {.receive = keep}};
    test_assert_fails(native_worker_call(worker, function,
                          &(NativeArgumentList){arguments, count, count}, &kept.base),
        code, text, function, __FILE__, __LINE__);
}

static void test_failing_functions_leave_tensors_and_worker_as_they_were(void **state) {
    (void)state;
    float items[] = {1, 2, 3};
    NativeValue tensor = native_floats(items, 3, true);
    OWN(NativeWorker, worker) = start();
    refuse(worker, ERROR_FAILED, "ValueError: the argument is not liked", "refuse", &tensor, 1);
    refuse(worker, ERROR_FAILED, "returned the error number -7", "refuse_silently", &tensor, 1);
    refuse(worker, ERROR_FAILED, "outside its tensor of 12 bytes", "write_behind", &tensor, 1);
    refuse(worker, ERROR_FAILED, "outside its tensor of 12 bytes", "write_before", &tensor, 1);
    refuse(worker, ERROR_NOT_FOUND, "no function nothing", "nothing", &tensor, 1);
    refuse(worker, ERROR_UNSUPPORTED, "a value of type 68", "give_function", NULL, 0);
    assert_true(items[0] == 1 && items[1] == 2 && items[2] == 3);
    (void)call(worker, "write", &tensor, 1);
    assert_true(items[0] == 2);
    assert_true(native_worker_is_alive(worker));
}

static void test_a_worker_that_ends_is_an_error_of_the_call(void **state) {
    (void)state;
    float items[] = {1};
    NativeValue tensor = native_floats(items, 1, true);
    OWN(NativeWorker, killed) = start();
    refuse(killed, ERROR_FAILED, "was ended by signal 9", "crash", &tensor, 1);
    assert_false(native_worker_is_alive(killed));
    OWN(NativeWorker, left) = start();
    refuse(left, ERROR_FAILED, "ended with exit code 3", "leave", &tensor, 1);
}

static Error *ask_again(NativeReceiver *base, const NativeValue *result) {
    (void)result;
    base->again = true;
    return NULL;
}

static void test_a_call_that_is_made_again_has_no_effect(void **state) {
    (void)state;
    float items[] = {1};
    NativeValue tensor = native_floats(items, 1, true);
    NativeReceiver receiver = {.receive = ask_again};
    OWN(NativeWorker, worker) = start();
    assert_ok(native_worker_call(worker, "write", &(NativeArgumentList){&tensor, 1, 1}, &receiver));
    assert_true(items[0] == 1);
}

static void test_kept_bytes_cannot_be_written(void **state) {
    (void)state;
    float items[] = {1, 2}, out[] = {0, 0};
    NativeValue arguments[] = {native_floats(items, 2, false), native_floats(items, 2, false),
        native_floats(out, 2, true)};
    arguments[0].tensor.key = arguments[1].tensor.key = 5;
    OWN(NativeWorker, worker) = start();
    (void)call(worker, "add", arguments, 3);
    assert_true(out[0] == 2 && out[1] == 4);
    (void)call(worker, "add", arguments, 3);
    /* by a signal, or by the sanitizer that takes the signal */
    refuse(worker, ERROR_FAILED, "its process ", "write", arguments, 1);
    assert_true(items[0] == 1);
}

/* Throws the execution away while its native function runs. */
static void *discard(void *argument) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    (void)nanosleep(&pause, NULL);
    kernel_stop_want(argument, KERNEL_STOP_DISCARD);
    return NULL;
}

static void test_a_function_that_never_returns_ends_with_its_execution(void **state) {
    (void)state;
    KernelStop stop;
    pthread_t thread;
    Kept kept = {.base = {.receive = keep}};
    OWN(NativeWorker, worker) = start();
    kernel_stop_init(&stop);
    kernel_stop_scope.stop = &stop;
    assert_int_equal(pthread_create(&thread, NULL, discard, &stop), 0);
    assert_fails(ABANDONED,
        native_worker_call(worker, "never_return", &(NativeArgumentList){NULL, 0, 0}, &kept.base));
    (void)pthread_join(thread, NULL);
    kernel_stop_scope.stop = NULL;
    kernel_stop_deinit(&stop);
    assert_false(native_worker_is_alive(worker));
}

static void test_what_is_no_library_is_refused(void **state) {
    (void)state;
    NativeWorker *worker;
    NativeImage image = native_image("sample");
    image.bytes = "no library at all";
    image.size = 17;
    assert_fails_saying(UNSUPPORTED,
        "the native library sample.so: cannot be loaded: ", native_worker_start(&image, &worker));
    image = native_image("sample");
    image.preload = "/nowhere/lib.so";
    assert_fails_saying(
        UNSUPPORTED, "\"/nowhere/lib.so\" cannot be loaded", native_worker_start(&image, &worker));
    image.preload = "";
    assert_fails_saying(UNSUPPORTED, "it needs the function TVMFFIErrorSetRaisedFromCStr",
        native_worker_start(&image, &worker));
}

int test_native_worker(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_native_functions_write_their_outputs),
        cmocka_unit_test(test_native_functions_give_values),
        cmocka_unit_test(test_failing_functions_leave_tensors_and_worker_as_they_were),
        cmocka_unit_test(test_a_worker_that_ends_is_an_error_of_the_call),
        cmocka_unit_test(test_a_call_that_is_made_again_has_no_effect),
        cmocka_unit_test(test_kept_bytes_cannot_be_written),
        cmocka_unit_test(test_a_function_that_never_returns_ends_with_its_execution),
        cmocka_unit_test(test_what_is_no_library_is_refused),
    };
    return cmocka_run_group_tests_name("native_worker", tests, NULL, NULL);
}
