#include "kernels/native/native_loader.h"

#include "kernels/native/native_runtime.h"

#include "tests/kernels/native/native_fixture.h"

static void test_a_loaded_library_computes_here(void **state) {
    (void)state;
    OWN(NativeLoaded, loaded) = native_open();
    NativeCallee callee;
    int64_t cells[] = {1, 2}, count = 2;
    DLTensor tensor = {
        .data = cells, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLInt, 64, 1}, .shape = &count};
    const AbiAny argument = {.type = ABI_TENSOR_VIEW, .pointer = &tensor};
    AbiAny result = {0};
    assert_ok(native_loader_find(loaded, "double_cells", &callee));
    assert_ok(native_loader_call(&callee, &argument, 1, &result));
    assert_true(cells[0] == 2 && cells[1] == 4);
    assert_fails_saying(
        NOT_FOUND, "no function nothing", native_loader_find(loaded, "nothing", &callee));
    assert_ok(native_loader_find(loaded, "refuse", &callee));
    assert_fails_saying(FAILED, "ValueError: the argument is not liked",
        native_loader_call(&callee, NULL, 0, &result));
    /* of the C library, which every library has */
    assert_fails_saying(
        NOT_FOUND, "no function getpid", native_loader_find(loaded, "getpid", &callee));
}

int test_native_loader(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_loaded_library_computes_here)};
    return cmocka_run_group_tests_name("native_loader", tests, NULL, NULL);
}
