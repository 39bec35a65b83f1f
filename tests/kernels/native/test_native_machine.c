#include "kernels/native/native_machine.h"

#include "kernels/native/native_worker.h"
#include "tests/kernels/native/native_fixture.h"

/* Keeps the result's values; tensors' first items. */
typedef struct Kept {
    NativeReceiver base;
    NativeValue values[8];
    float first[8];
} Kept;

static Error *keep(NativeReceiver *base, const NativeValue *result) {
    Kept *kept = (Kept *)base;
    uint32_t open = 1;
    for (uint32_t i = 0; open; i++) {
        assert_true(i < 8);
        kept->values[i] = result[i];
        if (result[i].kind == NATIVE_TENSOR) kept->first[i] = *(const float *)result[i].tensor.data;
        open += (result[i].kind == NATIVE_TUPLE ? result[i].field_count : 0) - 1;
    }
    return NULL;
}

static NativeWorker *start(void) {
    NativeWorker *worker;
    const NativeImage image = native_image("sample");
    assert_ok(native_worker_start(&image, &worker));
    return worker;
}

static void test_a_machine_takes_and_gives_tuples(void **state) {
    (void)state;
    float a[] = {1.5F, 2}, b[] = {-4};
    Kept kept = {.base = {.receive = keep}};
    OWN(NativeWorker, worker) = start();
    /* r0 = (a,), r1 = b */
    NativeValue values[] = {{.kind = NATIVE_TUPLE, .field_count = 1}, native_floats(a, 2, false),
        native_floats(b, 1, false)};
    const NativeArgumentList list = {values, 3, 2};
    for (int i = 0; i < 2; i++) {
        assert_ok(native_worker_call(worker, "__vmtir__nest", &list, &kept.base));
        const NativeKind kinds[] = {
            NATIVE_TUPLE, NATIVE_TUPLE, NATIVE_TENSOR, NATIVE_TUPLE, NATIVE_TENSOR, NATIVE_INT};
        for (int k = 0; k < 6; k++) assert_int_equal(kept.values[k].kind, kinds[k]);
        assert_true(kept.first[2] == 1.5F && kept.first[4] == -4);
        assert_int_equal(kept.values[5].integer, 7);
    }
}

/* The pointers that the runtime has set are this program's again. */
static void test_a_machine_writes_its_arguments_and_keeps_this_programs_functions(void **state) {
    (void)state;
    float a[] = {1, 2, 3};
    Kept kept = {.base = {.receive = keep}};
    OWN(NativeWorker, worker) = start();
    NativeValue value = native_floats(a, 3, true);
    const NativeArgumentList list = {&value, 1, 1};
    assert_ok(native_worker_call(worker, "__vmtir__double_first", &list, &kept.base));
    assert_int_equal(kept.values[0].kind, NATIVE_NIL);
    assert_true(a[0] == 2 && a[2] == 6);
}

static void test_what_a_function_keeps_ends_its_worker(void **state) {
    (void)state;
    float a[] = {1};
    const int64_t dim = 5;
    Kept kept = {.base = {.receive = keep}};
    NativeValue values[] = {native_floats(a, 1, true), {.kind = NATIVE_SHAPE, .shape = {&dim, 1}}};
    for (int i = 0; i < 2; i++) {
        OWN(NativeWorker, worker) = start();
        const NativeArgumentList list = {&values[i], 1, 1};
        assert_fails_saying(CONFLICT, "keeps an argument after the call",
            native_worker_call(worker, "__vmtir__keep", &list, &kept.base));
        assert_false(native_worker_is_alive(worker));
    }
}

static void test_a_library_without_that_function_says_so(void **state) {
    (void)state;
    Kept kept = {.base = {.receive = keep}};
    OWN(NativeWorker, worker) = start();
    assert_fails_saying(NOT_FOUND, "the library's executable has no function nothing",
        native_worker_call(
            worker, "__vmtir__nothing", &(NativeArgumentList){NULL, 0, 0}, &kept.base));
    assert_true(native_worker_is_alive(worker));
}

static void test_a_machine_is_made_of_the_loaded_library(void **state) {
    (void)state;
    AbiObject *one, *two;
    OWN(NativeLoaded, loaded) = native_open();
    OWN(NativeMachine, machine) = NULL;
    assert_ok(native_machine_create(loaded, &machine));
    assert_ok(native_machine_find(machine, "__vmtir__nest", &one));
    assert_ok(native_machine_find(machine, "__vmtir__nest", &two));
    assert_ptr_equal(one, two);
    assert_fails(NOT_FOUND, native_machine_find(machine, "__vmtir__nothing", &two));
}

int test_native_machine(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_machine_takes_and_gives_tuples),
        cmocka_unit_test(test_a_machine_writes_its_arguments_and_keeps_this_programs_functions),
        cmocka_unit_test(test_what_a_function_keeps_ends_its_worker),
        cmocka_unit_test(test_a_library_without_that_function_says_so),
        cmocka_unit_test(test_a_machine_is_made_of_the_loaded_library),
    };
    return cmocka_run_group_tests_name("native_machine", tests, NULL, NULL);
}
