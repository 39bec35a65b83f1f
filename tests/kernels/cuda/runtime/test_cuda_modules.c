#include "kernels/cuda/runtime/cuda_modules.h"

#include <stdio.h>

#include "tests/kernels/fixtures/cuda_device_fixture.h"

enum { THREADS = 8, SOURCE_MAX = 160 };

static void source_of(const char *name, char out[SOURCE_MAX]) {
    (void)snprintf(out, SOURCE_MAX,
        "#include \"kernels/cuda/device/device_language.h\"\n"
        "KERNEL(%s, CudaPointwiseOperands) { (void)p; }\n",
        name);
}

typedef struct Asker {
    pthread_t thread;
    CudaDevice *device;
    const char *name;
    CUfunction function;
} Asker;

static void *ask(void *argument) {
    Asker *asker = argument;
    char source[SOURCE_MAX];
    source_of(asker->name, source);
    assert_ok(cuda_modules_get(
        asker->device, asker->device->modules, asker->name, source, &asker->function));
    return NULL;
}

/* The fake driver gives each function that it looks up a handle of its own: equal ones were looked
 * up once. */
static void test_cuda_modules_compiles_a_source_once(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    Asker askers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (Asker){.device = cuda_device(base), .name = i % 2 ? "odd" : "even"};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    assert_non_null(askers[0].function);
    assert_ptr_not_equal(askers[0].function, askers[1].function);
    for (int i = 2; i < THREADS; i++) assert_ptr_equal(askers[i].function, askers[i % 2].function);
}

static void test_cuda_modules_try_anew_what_failed(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CUfunction function = NULL;
    char source[SOURCE_MAX];
    source_of("known", source);
    for (int i = 0; i < 2; i++)
        assert_fails_saying(FAILED, "unknown type name",
            cuda_modules_get(device, device->modules, "broken", "this is no C", &function));
    /* the entry is not in the module */
    assert_fails_saying(FAILED, "a kernel compiled for SM 90: cuda:0: unknown",
        cuda_modules_get(device, device->modules, "unknown", source, &function));
    assert_null(function);
    assert_ok(cuda_modules_get(device, device->modules, "known", source, &function));
    assert_non_null(function);
}

/* What a driver answers for an image that is not for its GPU. */
static void test_cuda_modules_say_when_an_image_does_not_load(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CUfunction function = NULL;
    /* the fake's image is a library of the host: one that needs what is nowhere does not load */
    assert_fails_saying(FAILED,
        "a kernel compiled for SM 90: cuda:0: cuModuleLoadData: no kernel image is available",
        cuda_modules_get(device, device->modules, "k",
            "extern int nowhere(void); int (*const needed)(void) = nowhere;", &function));
    assert_null(function);
}

/* What is there stays, and serves on. */
static void test_cuda_modules_have_room_for_so_many(void **state) {
    (void)state;
    OWN(Device, base) = cuda_device_fixture_get("");
    CudaDevice *device = cuda_device(base);
    CudaModules *modules = NULL;
    CudaNvrtc nvrtc;
    CUfunction functions[2] = {NULL, NULL}, none = NULL;
    char sources[2][SOURCE_MAX];
    source_of("first", sources[0]);
    source_of("second", sources[1]);
    assert_ok(cuda_nvrtc_open(90, 13000, &nvrtc));
    assert_ok(cuda_modules_create(&nvrtc, 1, &modules));
    assert_ok(cuda_modules_get(device, modules, "first", sources[0], &functions[0]));
    assert_ok(cuda_modules_get(device, modules, "second", sources[1], &none));
    assert_null(none);
    assert_ok(cuda_modules_get(device, modules, "first", sources[0], &functions[1]));
    assert_ptr_equal(functions[0], functions[1]);
    CUDA_SCOPE(scope);
    assert_ok(cuda_scope_enter(device, &scope));
    cuda_modules_release(device, modules);
}

int test_cuda_modules(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_modules_compiles_a_source_once),
        cmocka_unit_test(test_cuda_modules_try_anew_what_failed),
        cmocka_unit_test(test_cuda_modules_have_room_for_so_many),
        cmocka_unit_test(test_cuda_modules_say_when_an_image_does_not_load),
    };
    return cmocka_run_group_tests_name("cuda_modules", tests, NULL, NULL);
}
