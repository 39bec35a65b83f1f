#include "kernels/native/native_older.h"

#include <dlfcn.h>

#include "kernels/native/native_loader.h"
#include "tests/kernels/native/native_fixture.h"

static NativeLoaded *load(void) {
    NativeLoaded *loaded;
    const NativeImage image = native_image("older");
    assert_ok(native_loader_open(image.bytes, image.size, "", &loaded));
    return loaded;
}

static Error *call(NativeLoaded *loaded, const char *name, const AbiAny *arguments, uint32_t count,
    AbiAny *out_result) {
    NativeCallee callee;
    TRY(native_loader_find(loaded, name, &callee));
    return native_loader_call(&callee, arguments, count, out_result);
}

static AbiAny view(DLTensor *tensor) {
    return (AbiAny){.type = ABI_TENSOR_VIEW, .pointer = tensor};
}

static void test_older_functions_take_tensors(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = load();
    float from[] = {1, -2}, to[2] = {0};
    uint8_t bools[] = {1, 0};
    int64_t count = 2;
    DLTensor tensors[] = {{.data = from, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &count},
        {.data = to, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &count},
        {.data = bools, .ndim = 1, .dtype = {DLPACK_BOOL, 8, 1}, .shape = &count}};
    AbiAny result;
    assert_ok(call(loaded, "scale", (AbiAny[]){view(&tensors[0]), view(&tensors[1])}, 2, &result));
    assert_true(to[0] == 2 && to[1] == -7 && result.type == ABI_NONE);
    assert_ok(
        call(loaded, "scale_twice", (AbiAny[]){view(&tensors[0]), view(&tensors[1])}, 2, &result));
    assert_true(to[0] == 5 && to[1] == -22);
    assert_ok(call(loaded, "invert", (AbiAny[]){view(&tensors[2]), view(&tensors[2])}, 2, &result));
    assert_true(bools[0] == 0 && bools[1] == 1 && tensors[2].dtype.code == DLPACK_BOOL);
}

/* The dynamic loader knows libraries by names, and descriptors are used again. */
static void test_a_library_that_stays_loaded_is_not_taken_for_another(void **state) {
    (void)state;
    NativeCallee callee;
    NativeLoaded *sample = native_open();
    void *kept = dlopen(native_loader_path(sample), RTLD_LAZY | RTLD_NOLOAD);
    native_loader_close(sample);
    OWN(NativeLoaded, loaded) = load();
    assert_non_null(kept);
    assert_ok(native_loader_find(loaded, "scale", &callee));
    assert_true(callee.older && !callee.function);
    (void)dlclose(kept);
}

static void test_older_functions_take_and_give_scalars(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = load();
    AbiAny result;
    assert_ok(call(loaded, "sum",
        (AbiAny[]){{.type = ABI_INT, .integer = 2}, {.type = ABI_FLOAT, .real = 0.5}}, 2, &result));
    assert_true(result.type == ABI_FLOAT && result.real == 2.5);
    assert_ok(call(loaded, "sum",
        (AbiAny[]){{.type = ABI_BOOL, .integer = 1}, {.type = ABI_FLOAT, .real = 0.5}}, 2,
        &result));
    assert_true(result.real == 1.5);
}

static void test_older_functions_fail_with_their_texts(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = load();
    AbiAny result;
    const AbiAny nothing[2] = {{.type = ABI_NONE}, {.type = ABI_TEXT, .text = "text"}};
    assert_fails_saying(
        FAILED, "Assert fail: two tensors are wanted", call(loaded, "scale", nothing, 2, &result));
    assert_fails_saying(
        FAILED, "returned the error number -3", call(loaded, "sum", nothing, 2, &result));
    assert_fails_saying(FAILED,
        "tvm.contrib.cblas.matmul, which the code calls, is no function of the library",
        call(loaded, "call_nothing", NULL, 0, &result));
    assert_fails_saying(UNSUPPORTED, "gave a value of type 9, which is not passed on",
        call(loaded, "give_module", NULL, 0, &result));
    AbiShapeObject shape = {.head = {.type = ABI_SHAPE}};
    assert_fails_saying(UNSUPPORTED, "argument 0 is a shape",
        call(loaded, "sum", &(AbiAny){.type = ABI_SHAPE, .object = &shape.head}, 1, &result));
    assert_fails_saying(
        NOT_FOUND, "has no function other", call(loaded, "other", NULL, 0, &result));
}

int test_native_older(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_functions_take_tensors),
        cmocka_unit_test(test_a_library_that_stays_loaded_is_not_taken_for_another),
        cmocka_unit_test(test_older_functions_take_and_give_scalars),
        cmocka_unit_test(test_older_functions_fail_with_their_texts),
    };
    return cmocka_run_group_tests_name("native_older", tests, NULL, NULL);
}
